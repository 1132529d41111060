"""The core of compression. What is asked here stays true in every later session."""

import json


def test_a_log_that_is_set_aside_is_compressed(rotor):
    rotor.rotate(text="what was written\n")
    (name,) = [name for name in rotor.names() if name != "app.log"]
    assert name.endswith(".gz")
    assert rotor.text(name) == "what was written\n"
    assert rotor.text("app.log") == ""


def test_a_log_below_its_limit_stays(rotor):
    rotor.fill("app.log", "x" * 1023)
    assert rotor.run("run") == "nothing is due\n"
    assert rotor.names() == ["app.log"]


def test_no_more_are_kept_than_the_rule_says(rotor):
    for second in range(4):
        rotor.rotate(second, f"{second}\n")
    kept = [rotor.text(name) for name in rotor.names() if name != "app.log"]
    assert sorted(kept) == ["2\n", "3\n"]


def test_compressing_stands_in_the_plan_and_in_the_journal(rotor):
    rotor.fill("app.log", "x" * 2000)
    now = ("--now", "2026-03-02T10:15:00")
    planned = rotor.run("run", "--dry-run", *now)
    assert "app: compress app.log" in planned
    assert rotor.names() == ["app.log"]
    assert rotor.run("run", *now) == planned
    (line,) = (rotor.folder / "rotor.journal").read_text().splitlines()
    assert [f"app: {one}" for one in json.loads(line)["done"]] == planned.splitlines()


def test_cat_prints_everything_from_the_oldest_to_the_log_itself(rotor):
    rotor.rotate(1, "first\n")
    rotor.rotate(2, "second ü\n")
    rotor.fill("app.log", "now, without an end of line")
    assert rotor.run("cat", "app") == "first\nsecond ü\nnow, without an end of line"


def test_cat_gives_bytes_as_they_are(rotor):
    data = bytes(range(256)) + b"\r\n"
    (rotor.folder / "app.log").write_bytes(data)
    rotor.run("run", "--force")
    assert rotor.ended("cat", "app").stdout == data


def test_cat_of_what_is_no_section_is_refused(rotor):
    assert "web" in rotor.refused("cat", "web")


def test_cat_of_a_log_that_is_not_there_prints_nothing(rotor):
    assert rotor.run("cat", "app") == ""


def test_list_prints_generations_with_their_sizes_newest_first(rotor):
    rotor.rotate(1, "x" * 5000)
    rotor.rotate(2, "y" * 9000)
    lines = rotor.run("list").splitlines()
    assert lines[0] == "app app.log 0"
    sizes = [int(line.split()[2]) for line in lines[1:]]
    files = [line.split()[1] for line in lines[1:]]
    assert sizes == [(rotor.folder / name).stat().st_size for name in files]
    assert [rotor.text(name)[0] for name in files] == ["y", "x"]
