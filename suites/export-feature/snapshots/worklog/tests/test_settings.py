import pytest

from worklog.errors import WorklogError
from worklog.settings import Settings, load


def test_without_a_file_the_defaults_hold(tmp_path):
    assert load(tmp_path) == Settings()


def test_values_are_read(tmp_path):
    (tmp_path / "worklog.toml").write_text('log = "hours"\n[report]\nby = "tag"\ndepth = 2\n')
    found = load(tmp_path)
    assert found.log == tmp_path / "hours"
    assert (found.report.by, found.report.depth) == ("tag", 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("log = 1", "worklog.toml: log: has to be text"),
        ("lag = 'x'", "worklog.toml: lag: is not known"),
        ("report = 1", "worklog.toml: report: has to be a table"),
        ("[report]\nby = 'hour'", "worklog.toml: report.by: 'hour' is none of project, day, tag"),
        ("[report]\ndepth = 0", "worklog.toml: report.depth: has to be 1 or more"),
    ],
)
def test_a_mistake_is_told_with_its_key(tmp_path, text, said):
    (tmp_path / "worklog.toml").write_text(text)
    with pytest.raises(WorklogError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(said)
