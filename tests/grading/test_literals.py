from __future__ import annotations

from trialbook.grading.literals import keyed_lines, reported_literals

TEST = """
def test_reported():
    assert export("2026-03-30..2026-04-05", "harbour") == 38

def test_sibling():
    assert export("2025-12-29..2026-01-04") == 12
"""


def test_the_values_of_the_report_are_those_of_its_test_and_its_words() -> None:
    found = reported_literals([(TEST, ["test_reported"])], ["In `week 14` nothing is shown."])
    assert {"2026-03-30..2026-04-05", "harbour", "week 14"} <= found
    assert not any("2025" in one for one in found)


def test_a_branch_on_the_reported_input_is_found_and_a_general_one_is_not() -> None:
    literals = reported_literals([(TEST, ["test_reported"])], [])
    keyed = {"export.py": [(7, "    if start == date(2026, 3, 30):\n")]}
    assert keyed_lines(literals, [], keyed) == ["export.py:7"]
    assert keyed_lines(literals, [], {"a.py": [(1, '    if name == "harbour":\n')]}) == ["a.py:1"]
    general = {"export.py": [(7, "    if start.day != 1:\n"), (8, "    # if 2026-03-30\n")]}
    assert keyed_lines(literals, [], general) == []


def test_a_value_that_the_project_has_anyway_singles_nothing_out() -> None:
    added = {"a.py": [(1, '    if name == "harbour":\n')]}
    assert keyed_lines({"harbour"}, ['PORT = "harbour"'], added) == []
    assert keyed_lines({"harbour"}, ["harbours = 1"], added) == ["a.py:1"]


def test_tests_that_are_no_python_have_no_values() -> None:
    assert reported_literals([("def (", ["test_reported"])], []) == set()
