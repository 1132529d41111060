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


def test_a_log_can_be_set_aside_as_it_is(logs, run, tmp_path):
    ini = tmp_path / "rotor.ini"
    ini.write_text(ini.read_text() + "compress = no\n")
    run("run")
    assert (logs / "app.log.1").read_text() == "x" * 100


def test_a_section_wins_over_the_defaults(logs, run, tmp_path):
    ini = tmp_path / "rotor.ini"
    ini.write_text("[defaults]\nkeep = 7\nlevel = 1\n" + ini.read_text() + "level = 9\n")
    assert run("check").stdout == "app: app.log from 100, keep 2, gzip 9\n"


def test_levels_end_at_nine(logs, run, tmp_path):
    ini = tmp_path / "rotor.ini"
    ini.write_text(ini.read_text() + "level = 10\n")
    assert run("run", status=2).stderr.startswith("rotor: rotor.ini: [app]: level: '10' is no number")
