"""Settings of compression. What is asked here stays true in every later session."""

import gzip
import random

import pytest

APP = "[app]\npath = app.log\nsize = 1k\n"


def set_aside(rotor):
    """The name of the only generation that there is."""
    (name,) = [name for name in rotor.names() if name != "app.log"]
    return name


def test_compressing_is_what_happens_if_nothing_is_said(rotor):
    rotor.configure(APP)
    rotor.rotate()
    assert set_aside(rotor).endswith(".gz")
    assert rotor.run("check") == "app: app.log from 1.0k, keep 3, gzip 6\n"


def test_a_log_can_be_set_aside_as_it_is(rotor):
    rotor.configure(f"{APP}compress = no\n")
    assert "compress" not in rotor.rotate(text="plain\n")
    assert not set_aside(rotor).endswith(".gz")
    assert rotor.text(set_aside(rotor)) == "plain\n"
    assert rotor.run("check") == "app: app.log from 1.0k, keep 3, plain\n"


def test_generations_of_both_kinds_are_of_one_log(rotor):
    rotor.rotate(1, "first\n")
    rotor.configure(f"{APP}keep = 2\ncompress = no\n")
    rotor.rotate(2, "second\n")
    assert rotor.run("cat", "app") == "first\nsecond\n"
    rotor.rotate(3, "third\n")
    assert rotor.run("cat", "app") == "second\nthird\n"


def test_the_level_is_what_gzip_works_with(rotor):
    pick = random.Random(7)
    text = "".join(pick.choice("abcdefgh") * pick.randint(1, 9) for _ in range(20000))
    sizes = {}
    for level in (1, 9):
        rotor.configure(f"{APP}level = {level}\n")
        rotor.rotate(level, text)
        (name,) = [name for name in rotor.names() if name != "app.log"]
        sizes[level] = len((rotor.folder / name).read_bytes())
        assert gzip.decompress((rotor.folder / name).read_bytes()).decode() == text
        (rotor.folder / name).unlink()
    assert sizes[9] < sizes[1]


def test_a_section_wins_over_the_defaults(rotor):
    rotor.configure(
        "[defaults]\nkeep = 5\nlevel = 2\ncompress = no\n"
        f"{APP}compress = yes\n[web]\npath = web.log\nsize = 2k\nkeep = 1\n"
    )
    assert rotor.run("check").splitlines() == [
        "app: app.log from 1.0k, keep 5, gzip 2, not there",
        "web: web.log from 2.0k, keep 1, plain, not there",
    ]


@pytest.mark.parametrize("section", ["app", "defaults"])
@pytest.mark.parametrize(
    ("key", "value"),
    [("compress", "perhaps"), ("level", "0"), ("level", "10"), ("level", "much"), ("colour", "red")],
    ids=["compress", "level-too-low", "level-too-high", "level-no-number", "unknown-key"],
)
def test_what_cannot_be_is_refused(rotor, section, key, value):
    text = {"app": "", "defaults": "", section: f"{key} = {value}\n"}
    rotor.configure(f"[defaults]\n{text['defaults']}{APP}{text['app']}")
    rotor.fill("app.log", "x" * 2000)
    said = rotor.refused("run")
    assert said.startswith(f"rotor: rotor.ini: [{section}]: ")
    assert key in said
    assert rotor.names() == ["app.log"]


def test_defaults_have_no_path(rotor):
    rotor.configure(f"[defaults]\npath = a.log\n{APP}")
    assert rotor.refused("check").startswith("rotor: rotor.ini: [defaults]: ")
