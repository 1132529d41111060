def test_list_prints_an_entry_a_line(log, run):
    assert run("list", "--period", "2026-03-03").stdout == (
        "2026-03-03 22:00-24:00  2:00 acme/ops Move to the new host #night #billed\n"
    )


def test_report_adds_up_and_ends_with_the_total(log, run):
    assert run("report").stdout == "acme    7:15\noffice  0:45\ntotal   8:00\n"


def test_report_can_tell_parts_apart(log, run):
    lines = run("report", "--depth", "2", "--period", "2026-03").stdout.splitlines()
    assert lines == ["acme/ops      2:00", "acme/shop     1:30", "acme/website  1:30", "total         5:00"]


def test_report_by_day_and_by_tag(log, run):
    assert run("report", "--by", "day").stdout.splitlines()[0] == "2026-02-26  3:00"
    assert "(no tag)" in run("report", "--by", "tag").stdout


def test_settings_give_the_defaults_and_options_win(log, run, tmp_path):
    (tmp_path / "worklog.toml").write_text('[report]\nby = "day"\n')
    assert run("report").stdout.startswith("2026-02-26")
    assert run("report", "--by", "project").stdout.startswith("acme")


def test_check_counts_entries_and_names_mistakes(log, run):
    assert run("check").stdout == "5 entries read, 0 files with a mistake\n"
    (log / "2026-04.log").write_text("2026-04-01\n  09:00 nothing\n")
    done = run("check", status=1)
    assert done.stdout.startswith("2026-04.log:2: an entry is START-END PROJECT NOTE\n")


def test_a_mistake_ends_with_status_2_and_one_line(log, run):
    done = run("list", "--period", "march", status=2)
    assert done.stderr.startswith("worklog: 'march' is no period")
    assert done.stderr.count("\n") == 1
