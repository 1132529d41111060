import pytest


@pytest.fixture
def configure(tmp_path):
    """Puts lines around those of the section [app]."""
    path = tmp_path / "rotor.ini"

    def write(app="", defaults=""):
        path.write_text(f"[defaults]\n{defaults}\n[app]\npath = logs/app.log\nsize = 100\n{app}\n")

    return write


def test_a_log_can_be_set_aside_as_it_is(logs, run, configure):
    configure(app="compress = no")
    assert "compress" not in run("run", "--now", "2026-03-02T10:15:00").stdout
    assert (logs / "app.log-20260302T101500").read_text() == "x" * 100


def test_a_section_wins_over_the_defaults(logs, run, configure):
    configure(defaults="keep = 7\nlevel = 1", app="level = 9")
    assert run("check").stdout == "app: app.log from 100, keep 7, gzip 9\n"


@pytest.mark.parametrize("line", ["compress = perhaps", "level = 0", "level = 10", "colour = red"])
def test_a_mistake_in_a_section_is_told(logs, run, configure, line):
    configure(app=line)
    assert run("run", status=2).stderr.startswith("rotor: rotor.ini: [app]: ")


@pytest.mark.parametrize("line", ["compress = perhaps", "level = 0", "path = x", "colour = red"])
def test_a_mistake_in_the_defaults_is_told_as_theirs(logs, run, configure, line):
    configure(defaults=line)
    assert run("run", status=2).stderr.startswith("rotor: rotor.ini: [defaults]: ")
