"""A judge that is no model: it counts the places that a diff changes, and looks for a test.

It reads the prompt of trialbook, and prints the JSON object that the prompt asks for. The rule is
crude on purpose. A right change that takes two places is sent back, which a comparison with readers
has to bring to light.
"""

import json
import re
import sys

QUESTIONS = ("solves", "tested", "minimal", "fits", "checks-kept", "safe")
LEAST = 2


def places(diff):
    """Each run of changed lines of a file that is no test, as (file, lines)."""
    found, file = [], ""
    changing = False
    for line in diff.splitlines():
        if line.startswith(("+++ ", "--- ")):
            file = line[6:] if line.startswith("+++ b/") else file
            changing = False
        elif line.startswith(("+", "-")) and file and not file.startswith("tests/"):
            if not changing:
                found.append((file, []))
            found[-1][1].append(line)
            changing = True
        else:
            changing = False
    return [(file, lines) for file, lines in found if any(text(line) for line in lines)]


def text(line):
    return line[1:].strip()


def added(lines):
    return next((line for line in lines if line.startswith("+") and text(line)), "")


def judged(diff):
    """The answers, the findings and the verdict on a diff."""
    answers = dict.fromkeys(QUESTIONS, "yes")
    findings = []
    changed = places(diff)
    for file, lines in changed[1:]:
        if added(lines):
            answers["minimal"] = "no"
            findings.append(finding("minimal", file, added(lines), "A second place is changed."))
    if not re.search(r"^\+def test_", diff, re.MULTILINE):
        answers["tested"] = "no"
        file, lines = changed[0] if changed else ("", [])
        findings.append(finding("tested", file, added(lines), "No test is added."))
    verdict = "FIX" if "no" in answers.values() else "MERGE"
    return {"findings": findings[:LEAST], "answers": answers, "verdict": verdict}


def finding(question, file, quote, said):
    severity = {"minimal": "medium", "tested": "high"}[question]
    return {"question": question, "quote": quote, "file": file, "text": said, "severity": severity}


def main():
    prompt = sys.stdin.read()
    diff = prompt.partition("DIFF BEGINS")[2].partition("DIFF ENDS")[0]
    print(json.dumps(judged(diff)))


if __name__ == "__main__":
    main()
