"""A log that was not set aside after the merge, and other sizes that were read wrongly."""

import pytest


def test_the_proxys_log_is_set_aside(rotor):
    rotor.configure("[proxy]\npath = proxy.log\nsize = 0.25M\n")
    rotor.fill("proxy.log", "x" * 300_000)
    assert rotor.run("run", "--now", "2026-03-02T10:15:00") != "nothing is due\n"
    assert rotor.text("proxy.log") == ""


def test_another_log_with_two_digits_after_the_point_is_set_aside(rotor):
    rotor.configure("[app]\npath = app.log\nsize = 1.75k\n")
    rotor.fill("app.log", "x" * 1800)
    assert rotor.run("run", "--now", "2026-03-02T10:15:00") != "nothing is due\n"


def test_a_log_below_a_limit_with_a_zero_after_the_point_stays(rotor):
    rotor.configure("[app]\npath = app.log\nsize = 2.05k\n")
    rotor.fill("app.log", "x" * 2099)
    assert rotor.run("run") == "nothing is due\n"
    rotor.fill("app.log", "x" * 2100)
    assert rotor.run("run", "--now", "2026-03-02T10:15:00") != "nothing is due\n"


@pytest.mark.parametrize(("size", "shown"), [("0.125G", "128.0M"), ("3.375k", "3.4k")])
def test_check_prints_limits_as_they_are(rotor, size, shown):
    rotor.configure(f"[app]\npath = app.log\nsize = {size}\n")
    assert rotor.run("check").startswith(f"app: app.log from {shown}, keep 3")


def test_list_leaves_out_what_is_below_a_size_with_two_digits(rotor):
    rotor.fill("app.log", "x" * 1400)
    assert rotor.run("list", "--over", "1.25k") == "app app.log 1.4k\n"
    assert rotor.run("list", "--over", "1.50k") == ""
