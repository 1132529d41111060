"""Which commit added what, found by comparing trees; git's history is only walked as far as needed.

Parts that are the same in a parent are never opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbook.storage.repository import DIRECTORY, Store, TreeEntry


def additions(store: Store, head: str, folder: bytes) -> dict[bytes, str]:
    """The commit that added each file below a folder, by the file's path in the folder.

    The walk ends where the folder begins. At a merge that only took over what one side had, that
    side is followed alone. For a path that was removed and added again, the newest time counts.
    """
    added: dict[bytes, str] = {}
    now = _folder(store, head, folder)
    if now is None:
        return added
    pending = [(head, now)]
    seen = {head}
    while pending:
        commit, tree = pending.pop(0)
        before = [
            (parent, inside)
            for parent in store.commit(commit).parents
            if (inside := _parent_folder(store, parent, folder)) is not None
        ]
        same = [(parent, inside) for parent, inside in before if inside == tree]
        if not same:
            for path in _new(store, tree, [inside for _, inside in before], b""):
                added.setdefault(path, commit)
        for parent, inside in same[:1] or before:
            if parent not in seen:
                seen.add(parent)
                pending.append((parent, inside))
    there = {path for path, _ in store.walk(now)}
    return {path: commit for path, commit in added.items() if path in there}


def _folder(store: Store, commit: str, folder: bytes) -> str | None:
    entry = store.lookup(folder, store.commit(commit).tree)
    return entry.oid if entry is not None and entry.mode == DIRECTORY else None


def _parent_folder(store: Store, commit: str, folder: bytes) -> str | None:
    # A shallow clone names parents that it does not have: its history begins there.
    return _folder(store, commit, folder) if commit in store else None


def _new(store: Store, tree: str, before: Sequence[str], prefix: bytes) -> Iterator[bytes]:
    """Paths of files that none of the trees ``before`` has."""
    others = [{entry.name: entry for entry in store.tree(oid)} for oid in before]
    for entry in store.tree(tree):
        there = [found for other in others if (found := other.get(entry.name)) is not None]
        if any(found.oid == entry.oid for found in there):
            continue
        if entry.mode == DIRECTORY:
            folders = [found.oid for found in there if found.mode == DIRECTORY]
            yield from _new(store, entry.oid, folders, prefix + entry.name + b"/")
        elif not any(_is_file(found) for found in there):
            yield prefix + entry.name


def _is_file(entry: TreeEntry) -> bool:
    return entry.mode != DIRECTORY
