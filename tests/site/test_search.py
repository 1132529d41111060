"""What the search box looks through: data only, wherever it is put; every address is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tests.recorded import HOSTILE
from tests.site.conftest import build

from trialbook.site.search import headings, search_of_findings

STATEMENT = re.compile(
    r"\(window\.trialbookSearch = window\.trialbookSearch \|\| \{\}\)"
    r'\["(assets/search[-\w/.=]*\.js)"\] = (\{.*\});\n'
)
REPOSITORY = Path(__file__).parents[2]


class Ids(HTMLParser):
    """The ids of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value or "" for name, value in attrs if name == "id"}


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The name that a file gives itself, and its value."""
    found = STATEMENT.fullmatch(path.read_text(encoding="ascii"))
    assert found is not None, path
    return found[1], json.loads(found[2])


def files(site: Path, start: str = "assets/search-index.js") -> Iterator[dict[str, Any]]:
    """The values that the script would read, from the first file on."""
    name, value = read(site / start)
    assert name == start
    yield value
    for other in value.get("files", ()):
        yield from files(site, other)


def addresses(site: Path) -> Iterator[str]:
    for value in files(site):
        yield from (entry[3] for entry in value.get("entries", ()))
        for task, configuration, repetition, rerun, _ in value.get("trials", ()):
            name = f"r{repetition}.rerun{rerun}" if rerun else f"r{repetition}"
            places = value["tasks"][task][1], value["configurations"][configuration][1]
            yield "/".join((value["folder"], *places, f"{name}.html"))


def test_every_address_is_a_page_of_the_site_and_every_fragment_is_on_it(site: Path) -> None:
    seen: dict[str, set[str]] = {}
    count = 0
    for address in addresses(site):
        path, _, fragment = address.partition("#")
        assert (site / path).is_file(), address
        if fragment:
            if path not in seen:
                seen[path] = Ids(site / path).found
            assert fragment in seen[path], address
        count += 1
    assert count > 50


def test_every_trial_of_the_site_is_found_once(site: Path) -> None:
    folders = {value["folder"] for value in files(site) if "folder" in value}
    trials = [a for a in addresses(site) if any(a.startswith(f"{one}/") for one in folders)]
    trials = [address for address in trials if not address.endswith("/index.html")]
    pages = {
        path.relative_to(site).as_posix()
        for path in (site / "runs").rglob("r[0-9]*.html")
        if re.fullmatch(r"r\d+(\.rerun\d+)?\.html", path.name)
    }
    assert sorted(trials) == sorted(pages)


def test_nothing_in_the_index_ends_a_script_or_acts(site: Path) -> None:
    for path in (site / "assets").rglob("search-*.js"):
        data = path.read_bytes()
        assert data.isascii(), path
        assert not re.search(rb"[<>&\x00-\x09\x0b-\x1f\x7f]", data.replace(b" || ", b"")), path


def test_hostile_findings_are_data_on_one_line() -> None:
    separators = "a\u2028b\u2029c</script><!--\u202e"
    [file] = search_of_findings([(HOSTILE, separators, "findings/index.html#f-1")])
    text = file.data.decode("ascii")
    assert text.count("\n") == 1
    for word in ("<", ">", "\\u2028", "\\u2029", "\\u202e"):
        assert word not in text.replace("\\\\u", "")
    value = json.loads(STATEMENT.fullmatch(text)[2])  # type: ignore[index]
    [[kind, title, detail, address]] = value["entries"]
    assert (kind, address) == ("Finding", "findings/index.html#f-1")
    assert "<script>alert(1)</script>" in title
    assert detail.startswith("a b c</script>")


def test_a_large_ledger_is_found_in_files_below_a_megabyte() -> None:
    found = [("x" * 300, "y" * 300, f"findings/index.html#f-{n}") for n in range(10_000)]
    made = list(search_of_findings(found))
    assert len(made) > 1
    assert all(len(file.data) < 1_000_000 for file in made)
    named = [json.loads(STATEMENT.fullmatch(one.data.decode())[2]) for one in made]  # type: ignore[index]
    [listing] = [value for value in named if value.get("files")]
    assert sorted(listing["files"]) == sorted(one.path for one in made if one.path != made[-1].path)
    assert sum(len(value["entries"]) for value in named) == 10_000


def test_headings_get_the_anchors_that_their_page_gives_them(tmp_path: Path) -> None:
    build(REPOSITORY, tmp_path / "site")
    for address in addresses(tmp_path / "site"):
        path, _, fragment = address.partition("#")
        if fragment and path.startswith("docs/"):
            assert fragment in Ids(tmp_path / "site" / path).found, address


def test_headings_in_code_are_none() -> None:
    source = "# One\n\n## Two `x`\n\n```sh\n## no\n```\n\n### Three [a](b.md) ##\n\n## Two `x`\n"
    assert list(headings(source)) == [
        ("Two x", "two-x"),
        ("Three a", "three-a-b-md"),
        ("Two x", "two-x-2"),
    ]
