import gzip


def test_a_log_that_is_set_aside_is_compressed(logs, run):
    assert "app: compress app.log.1\n" in run("run").stdout
    assert gzip.decompress((logs / "app.log.1.gz").read_bytes()) == b"x" * 100
    assert not (logs / "app.log.1").exists()


def test_compressed_generations_move_up(logs, run):
    run("run")
    (logs / "app.log").write_text("y" * 100)
    run("run")
    assert gzip.decompress((logs / "app.log.2.gz").read_bytes()) == b"x" * 100


def test_cat_prints_the_oldest_first(logs, run):
    run("run")
    (logs / "app.log").write_text("now")
    (logs / "app.log.2").write_text("before ")
    assert run("cat", "app").stdout == "before " + "x" * 100 + "now"


def test_cat_of_an_unknown_section_is_refused(logs, run):
    assert run("cat", "web", status=2).stderr == "rotor: rotor.ini: there is no section [web]\n"
