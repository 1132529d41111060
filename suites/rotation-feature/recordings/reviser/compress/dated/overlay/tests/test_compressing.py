import gzip

from rotor.names import generations

NOW = ("--now", "2026-03-02T10:15:00")
NAME = "app.log-20260302T101500"


def test_the_plan_says_that_it_compresses(logs, run):
    assert f"app: compress {NAME}\n" in run("run", "--dry-run", *NOW).stdout


def test_a_generation_is_compressed_and_the_plain_one_gone(logs, run):
    run("run", *NOW)
    assert gzip.decompress((logs / f"{NAME}.gz").read_bytes()) == b"x" * 100
    assert not (logs / NAME).exists()


def test_both_kinds_are_generations_in_the_order_of_their_times(logs):
    for name in ("app.log-20260301T000000", "app.log-20260302T000000.gz"):
        (logs / name).touch()
    assert [one.compressed for one in generations(logs / "app.log")] == [True, False]


def test_cat_prints_a_log_with_all_its_generations(logs, run):
    (logs / "app.log-20260301T000000").write_text("plain ")
    run("run", *NOW)
    (logs / "app.log").write_text(" now")
    assert run("cat", "app").stdout == "plain " + "x" * 100 + " now"


def test_cat_of_what_is_no_section_is_a_mistake(logs, run):
    assert "no section [web]" in run("cat", "web", status=2).stderr
