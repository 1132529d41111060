"""Builds the static site of a ledger: same ledger, same bytes; only what changed is made again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook import __version__
from trialbook.errors import Problem, UserError
from trialbook.registry import Registry
from trialbook.site.crew import Chunk, Crew
from trialbook.site.folder import SiteFolder, theme_assets
from trialbook.site.groups import Group, Groups, is_shown
from trialbook.site.intact import Intact, Seen
from trialbook.site.keys import key_of, program_key
from trialbook.site.ledger_view import LedgerView
from trialbook.site.links import LinkCheck
from trialbook.site.manifest import GroupHead, UnitRecord, pack_group, record_digest
from trialbook.site.plugin_pages import Source, named_fault, page_key, plugin_sources
from trialbook.site.settings import SiteSettings, load_settings
from trialbook.site.units import File, Made
from trialbook.site.workshop import SCOPES, Done, Setting, Unit, Workshop
from trialbook.storage.reader import Reader

Progress = Callable[[str, int, int], None]
"""Called with what is made, how many pages of it are there, and how many there will be."""

_ASSETS, _PLUGIN = "assets", "plugin"
_SMALL_CHUNK, _CHUNK, _LARGE_CHUNK = 4, 200, 1000
_RUNS_EACH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How to build: in how many processes, with which cache, and who is told how far it is.

    Without a ``cache`` folder everything is right, and slower when it is built again.
    """

    jobs: int = 1
    cache: Path | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSummary:
    """What a build did.

    ``made`` and ``kept`` count units; ``written`` and ``removed`` files. ``problems`` are links
    that lead nowhere, and rubrics that cannot be read.
    """

    output: Path
    pages: int
    made: int
    kept: int
    written: int
    removed: int
    problems: tuple[Problem, ...]


def build_site(
    root: Path,
    reader: Reader,
    output: Path,
    *,
    registry: Registry,
    options: BuildOptions | None = None,
) -> SiteSummary:
    """Build the whole site of a ledger into a folder, or what changed of it since the last time.

    Args:
        root: The ledger's root.
        reader: The ledger at one commit.
        output: Where the site goes: a folder that is empty, not there, or a site built before.
        registry: Where plugins that bring pages are found.
        options: How to build.

    Raises:
        UserError: a folder with other things in it, a faulty ``site.yaml`` or template.
        RecordError: a record that cannot be read.
        EnvironmentProblem: a plugin failed, a process was killed, a file cannot be written.
    """
    options = options or BuildOptions()
    view = LedgerView(root, reader, registry)
    sources = plugin_sources(root, registry)
    site = _site(load_settings(root), sources, view)
    folder = SiteFolder.open(output)
    setting = Setting(
        root=root,
        head=reader.head,
        cache=options.cache,
        output=output,
        templates=tuple(one.templates for one in sources if one.templates is not None),
        site=site,
    )
    folder.begin()
    workshop = Workshop(setting, view)
    crew = Crew(setting, registry, workshop, options.jobs)
    try:
        build = _Build(folder, Intact(output, options.cache), crew, options)
        fingerprint = key_of(program_key(root, registry, setting.templates), repr(site))
        _put_own(build, workshop, sources, fingerprint)
        groups = Groups(view, fingerprint)
        build.make("pages of runs", groups.of_runs())
        # Only now: what is counted about runs was kept by those who made their pages.
        build.make("pages above them", groups.above())
        return build.finish(view.faulty_rubrics)
    finally:
        crew.close()
        workshop.close()


def _site(settings: SiteSettings, sources: Sequence[Source], view: LedgerView) -> dict[str, object]:
    """What every page knows of the site: name, navigation, program."""
    own = [
        {"label": part.navigation.label, "path": part.navigation.path}
        for part in SCOPES["site"]
        if part.navigation is not None and is_shown(part, view)
    ]
    brought = [
        {"label": page.navigation, "path": page.path}
        for source in sources
        for page in source.pages
        if page.navigation
    ]
    return {
        "title": settings.title,
        "description": settings.description,
        "navigation": [*own, *brought],
        "version": __version__,
    }


def _put_own(
    build: _Build, workshop: Workshop, sources: Sequence[Source], fingerprint: str
) -> None:
    """The files of the theme, and the pages of plugins: what is not asked of the ledger."""
    assets = [File(path, data) for path, data in theme_assets()]
    build.put(_ASSETS, workshop, [(f"asset {one.path}", key_of(one.data), one) for one in assets])
    for source in sources:
        pages: list[tuple[str, str, Made]] = []
        for page in source.pages:
            known = page_key(page)
            key = "" if known is None else key_of(fingerprint, known)
            pages.append((f"page {page.path}", key, page))
        try:
            build.put(f"{_PLUGIN} {source.plugin.name}", workshop, pages)
        except UserError as error:
            raise named_fault(source, error) from error


@dataclass(slots=True)
class _Group:
    """A group in the making: its key, what is there of it, and how many chunks are to come."""

    key: str
    units: list[UnitRecord] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    chunks: int = 0


class _Build:
    """One build: what is kept, what is made, and what comes of it in the end."""

    def __init__(
        self, folder: SiteFolder, intact: Intact, crew: Crew, options: BuildOptions
    ) -> None:
        self._folder = folder
        self._intact = intact
        self._crew = crew
        self._options = options
        self._heads: dict[str, GroupHead] = {}
        self._open: dict[str, _Group] = {}
        self._owners: dict[str, str] = {}
        self._fresh: set[str] = set()
        self._links: dict[str, set[str]] = {}
        self._made = self._kept = self._written = 0

    def put(self, name: str, workshop: Workshop, things: Sequence[tuple[str, str, Made]]) -> None:
        """A group of single files and pages that are at hand, each with its name and key."""
        key = key_of(tuple((unit, key) for unit, key, _ in things))
        before = workshop.written
        kept = self._known(name, {unit: key for unit, key, _ in things})
        group = self._begun(name, key, kept)
        for unit, own_key, made in things:
            if unit not in kept:
                group.units.append(workshop.put(unit, own_key, [made], group.seen))
                self._made += 1
        self._written += workshop.written - before
        self._close(name)

    def make(self, stage: str, groups: Iterable[Group]) -> None:
        """Keep the groups that are as they were, and make what is missing of the others."""
        waiting: list[tuple[Group, list[Unit]]] = []
        for group in groups:
            if self._keep(group):
                continue
            units = group.units()
            kept = self._known(group.name, {unit.name: unit.key for unit in units})
            self._begun(group.name, group.key, kept)
            missing = [unit for unit in units if unit.name not in kept]
            if missing:
                waiting.append((group, missing))
            else:
                self._close(group.name)
        chunks = self._chunks(waiting)
        total = sum(len(chunk.units) for chunk in chunks)
        done = 0
        for name, made in self._crew.make(chunks):
            self._add(name, made)
            done += len(made.units)
            if self._options.progress is not None:
                self._options.progress(stage, done, total)

    def finish(self, faulty: Sequence[Problem]) -> SiteSummary:
        """Check the links, and make this what the folder is."""
        broken = self._broken()
        problems = [
            Problem(path=page, message=f"a link leads to {target}, which the site does not have")
            for page, target in broken
        ]
        removed = self._folder.finish(self._owners.keys(), self._heads)
        self._intact.save(self._heads)
        return SiteSummary(
            output=self._folder.path,
            pages=sum(path.endswith(".html") for path in self._owners),
            made=self._made,
            kept=self._kept,
            written=self._written,
            removed=removed,
            problems=tuple(sorted({*problems, *faulty})),
        )

    def _chunks(self, waiting: Sequence[tuple[Group, list[Unit]]]) -> list[Chunk]:
        """The units to be made in parts that one process does at once.

        A run is best left whole, since what its pages have in common is read once then.
        """
        jobs = self._options.jobs
        many = jobs == 1 or len(waiting) >= _RUNS_EACH * jobs
        chunks = []
        for group, missing in waiting:
            size = _SMALL_CHUNK if group.run is None else _LARGE_CHUNK if many else _CHUNK
            parts = [tuple(missing[at : at + size]) for at in range(0, len(missing), size)]
            self._open[group.name].chunks = len(parts)
            chunks += [Chunk(group.name, part) for part in parts]
        return chunks

    # --- parts ---------------------------------------------------------------------------------

    def _keep(self, group: Group) -> bool:
        """Take over a group as a whole if it is as it was."""
        head = self._folder.memory.groups.get(group.name)
        if head is None or head.key != group.key:
            return False
        paths = self._intact.paths(group.name, head.record)
        if paths is None:
            return False
        self._own(group.name, paths)
        self._heads[group.name] = head
        self._kept += 1
        return True

    def _known(self, name: str, keys: Mapping[str, str]) -> dict[str, UnitRecord]:
        """Units of a group that are as they were, by name."""
        memory = self._folder.memory
        head = memory.groups.get(name)
        if head is None:
            return {}
        same = [unit for unit in memory.units(name) if unit.key and keys.get(unit.name) == unit.key]
        files = [file for unit in same for file in unit.files]
        seen = self._intact.seen(name, head.record, files)
        self._seen = seen
        memory.forget(name)
        return {unit.name: unit for unit in same if all(file.path in seen for file in unit.files)}

    def _begun(self, name: str, key: str, kept: Mapping[str, UnitRecord]) -> _Group:
        group = self._open[name] = _Group(key)
        for unit in kept.values():
            group.units.append(unit)
            group.seen += [self._seen[file.path] for file in unit.files]
        self._kept += len(kept)
        return group

    def _add(self, name: str, made: Done) -> None:
        group = self._open[name]
        group.units += made.units
        group.seen += made.seen
        self._made += len(made.units)
        self._written += made.written
        group.chunks -= 1
        if not group.chunks:
            self._close(name)

    def _close(self, name: str) -> None:
        """A group is complete: put down what it is."""
        group = self._open.pop(name)
        files = [file for unit in group.units for file in unit.files]
        paths = {file.path for file in files}
        self._own(name, [file.path for file in files])
        self._fresh |= paths
        data = pack_group(group.units)
        record = record_digest(data)
        self._links[name] = links = {link for file in files for link in file.links}
        outward = sorted(link for link in links if link.partition("#")[0] not in paths)
        self._folder.write_record(name, data)
        self._intact.note(name, record, sorted(group.seen))
        self._heads[name] = GroupHead(key=group.key, record=record, outward=tuple(outward))

    def _own(self, name: str, paths: Iterable[str]) -> None:
        for path in paths:
            if path in self._owners:
                raise UserError(
                    f"two pages want to be at {path!r}",
                    hint="`trialbook plugins` lists what brings pages",
                )
            self._owners[path] = name

    def _broken(self) -> list[tuple[str, str]]:
        """Every page with a link that leads nowhere, and the link."""
        check = LinkCheck(self._folder.path, self._owners)
        before = self._folder.memory.groups
        found: list[tuple[str, str]] = []
        for name, head in self._heads.items():
            kept = before.get(name) is head
            if kept and not head.broken and not self._suspect(head, check):
                continue
            if not kept and all(map(check.leads, sorted(self._links[name]))):
                continue
            links = {
                file.path: file.links
                for unit in self._folder.units(name, head)
                for file in unit.files
                if file.links
            }
            broken = check.broken(links)
            found += broken
            if bool(broken) != head.broken:
                self._heads[name] = replace(head, broken=bool(broken))
        return sorted(found)

    def _suspect(self, head: GroupHead, check: LinkCheck) -> bool:
        """Whether a group that was kept may have a link that leads nowhere by now."""
        for link in head.outward:
            path, place, _ = link.partition("#")
            if path not in self._owners or (
                place and path in self._fresh and not check.leads(link)
            ):
                return True
        return False
