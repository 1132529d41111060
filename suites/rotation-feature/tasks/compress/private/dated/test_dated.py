"""Generations that keep their names."""

APP = "[app]\npath = app.log\nsize = 1k\nkeep = 2\n"


def test_a_generation_is_named_by_its_time_and_stays(rotor):
    rotor.rotate(1, "first\n")
    assert rotor.names() == ["app.log", "app.log-20260302T101501.gz"]
    before = (rotor.folder / "app.log-20260302T101501.gz").stat()
    said = rotor.rotate(2, "second\n")
    assert rotor.names() == ["app.log", "app.log-20260302T101501.gz", "app.log-20260302T101502.gz"]
    after = (rotor.folder / "app.log-20260302T101501.gz").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert "app: compress app.log-20260302T101502\n" in said
    assert "101501" not in said


def test_without_compression_the_name_has_no_ending(rotor):
    rotor.configure(f"{APP}compress = no\n")
    rotor.rotate(1, "plain\n")
    assert rotor.names() == ["app.log", "app.log-20260302T101501"]


def test_the_oldest_are_removed(rotor):
    for second in (1, 2, 3):
        said = rotor.rotate(second)
    assert "remove app.log-20260302T101501.gz" in said
    assert rotor.names() == ["app.log", "app.log-20260302T101502.gz", "app.log-20260302T101503.gz"]


def test_list_and_cat_go_by_the_times_in_the_names(rotor):
    rotor.fill("app.log-20260302T101502", "second\n")
    rotor.fill("app.log-20260302T101501.gz", "first\n")
    rotor.fill("app.log-20251231T235959.gz", "before\n")
    assert rotor.run("cat", "app") == "before\nfirst\nsecond\n"
    assert [line.split()[1] for line in rotor.run("list").splitlines()] == [
        "app.log-20260302T101502",
        "app.log-20260302T101501.gz",
        "app.log-20251231T235959.gz",
    ]


def test_numbered_files_are_left_alone(rotor):
    rotor.fill("app.log.1.gz", "old\n")
    rotor.fill("app.log.2", "older\n")
    for second in (1, 2, 3):
        rotor.rotate(second, f"{second}\n")
    assert (rotor.text("app.log.1.gz"), rotor.text("app.log.2")) == ("old\n", "older\n")
    assert rotor.run("cat", "app") == "2\n3\n"
    assert "app.log.1" not in rotor.run("list")


def test_a_name_that_is_taken_stops_the_run_before_anything_is_done(rotor):
    rotor.configure(f"{APP}[web]\npath = web.log\nsize = 1k\n")
    for ending in ("", ".gz"):
        rotor.fill(f"web.log-20260302T101500{ending}", "taken\n")
        rotor.fill("app.log", "x" * 2000)
        rotor.fill("web.log", "y" * 2000)
        before = rotor.names()
        assert "web.log-20260302T101500" in rotor.refused("run", "--now", "2026-03-02T10:15:00")
        assert rotor.names() == before
        assert rotor.text("app.log") == "x" * 2000
        (rotor.folder / f"web.log-20260302T101500{ending}").unlink()


def test_a_log_of_a_quarter_megabyte_is_set_aside(rotor):
    rotor.configure("[proxy]\npath = proxy.log\nsize = 0.25M\n")
    rotor.fill("proxy.log", "x" * 300_000)
    rotor.run("run", "--now", "2026-03-02T10:15:00")
    assert rotor.names() == ["proxy.log", "proxy.log-20260302T101500.gz"]
