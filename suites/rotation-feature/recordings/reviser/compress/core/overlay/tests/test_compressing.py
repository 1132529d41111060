import gzip

from rotor.names import generations


def test_the_plan_says_that_it_compresses(logs, run):
    assert "app: compress app.log.1\n" in run("run", "--dry-run").stdout


def test_a_generation_is_compressed_and_the_plain_one_gone(logs, run):
    run("run")
    assert gzip.decompress((logs / "app.log.1.gz").read_bytes()) == b"x" * 100
    assert not (logs / "app.log.1").exists()


def test_both_kinds_are_generations(logs):
    for name in ("app.log.2", "app.log.1.gz"):
        (logs / name).touch()
    assert [one.compressed for one in generations(logs / "app.log")] == [True, False]


def test_cat_prints_a_log_with_all_its_generations(logs, run):
    (logs / "app.log.1").write_text("plain ")
    run("run")
    (logs / "app.log").write_text(" now")
    assert run("cat", "app").stdout == "plain " + "x" * 100 + " now"


def test_cat_of_what_is_no_section_is_a_mistake(logs, run):
    assert "no section [web]" in run("cat", "web", status=2).stderr
