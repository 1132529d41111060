"""Random trees for property tests: awkward names, line ends, modes, links and binary files."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st

from trialbook.storage.repository import EXECUTABLE, REGULAR, SYMLINK, Store, TreeEntry
from trialbook.storage.trees import edit_tree, replace_with

Files: TypeAlias = dict[bytes, tuple[int, bytes]]

NAMES = [
    b"a",
    b"b",
    b"c.txt",
    b"a b",
    b'q"x',
    b"\xe9",
    b"tab\t",
    "ü".encode(),
    b"new\nline",
    b"-rf",
]
NAMES += [b"-rf", b" lead", b"trail ", b"back\\slash", b"=", b"@@", b"a\x01"]
LINES = [b"one\n", b"two\n", b"\n", b"three\r\n", b"+plus\n", b"-- \n", b"@@ -1 +1 @@\n", b" \n"]
LINES += [b"\xff\xfe\n", b"diff --git a/x b/x\n", b"\\ No newline at end of file\n", b"lone\rcr\n"]

_paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(b"/".join)
_text = st.builds(
    lambda lines, end: b"".join(lines) + end,
    st.lists(st.sampled_from(LINES), max_size=30),
    st.sampled_from([b"", b"", b"no newline", b"\r"]),
)
_binary = st.one_of(
    st.binary(max_size=200).map(lambda data: b"\0" + data),
    # Long enough, and alike enough, for git to write a delta.
    st.binary(min_size=1, max_size=20).map(lambda data: b"\0" + data * 40),
    st.binary(max_size=8).map(lambda data: bytes(range(256)) * 8 + data + bytes(range(256)) * 8),
)
_target = st.sampled_from([b"a", b"../x", b"/etc/passwd", b"loop", b"with space", b"\xe9"])
_files = st.one_of(
    st.tuples(st.sampled_from([REGULAR, EXECUTABLE]), st.one_of(_text, _binary)),
    st.tuples(st.just(SYMLINK), _target),
)


def _fitting(files: Files) -> Files:
    """Without the paths that would need a folder where another one has a file."""
    return {
        path: content
        for path, content in files.items()
        if not any(path.startswith(other + b"/") for other in files)
    }


trees = st.dictionaries(_paths, _files, max_size=8).map(_fitting)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Files, Files]:
    """A tree and what became of it: files kept, moved, edited, deleted, added."""
    before = draw(trees)
    after: Files = dict(draw(trees))
    for path, (mode, data) in before.items():
        fate = draw(st.sampled_from(["keep", "keep", "move", "edit", "mode", "delete"]))
        if fate == "keep":
            after[path] = (mode, data)
        elif fate == "move":
            after[draw(_paths)] = (mode, data)
        elif fate == "edit" and mode != SYMLINK:
            at = draw(st.integers(0, len(data)))
            after[path] = (mode, data[:at] + draw(st.sampled_from(LINES)) + data[at:])
        elif fate == "mode" and mode != SYMLINK:
            after[path] = (EXECUTABLE if mode == REGULAR else REGULAR, data)
    return before, _fitting(after)


def store_tree(store: Store, files: Files) -> str:
    """Put a tree into a store."""
    edits = {
        path: replace_with(TreeEntry(path.rpartition(b"/")[2], mode, store.add_blob(data)))
        for path, (mode, data) in files.items()
    }
    return edit_tree(store, store.add_tree([]), edits)
