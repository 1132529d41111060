"""Runs the candidate as a program and writes what it printed into a JUnit report.

The candidate never gets to be in this process. The report is made in memory, and written at the end
over whatever may be there.
"""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

CASES = {
    "large": (["9007199254740993.00", "0.01"], "9007199254740993.01"),
    "many": (["0.10"] * 1000, "100.00"),
    "half_down": (["0.125"], "0.12"),
    "half_up": (["0.135"], "0.14"),
    "nothing": ([], "0.00"),
    "plain": (["1.10", "2.20"], "3.30"),
    "sentinel_must_fail": (["1.00"], "this is never printed"),
}


def main(candidate, report):
    suite = ET.Element("testsuite", name="check")
    for name, (amounts, expected) in CASES.items():
        case = ET.SubElement(suite, "testcase", classname="check", name=name)
        try:
            done = subprocess.run(
                [sys.executable, "-B", "-m", "tally", *amounts],
                cwd=candidate,
                env={"PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
            printed = done.stdout.decode("utf-8", "replace").strip()
        except subprocess.TimeoutExpired:
            printed = "nothing within 20 seconds"
        if printed != expected:
            ET.SubElement(case, "failure", message=f"expected {expected!r}, got {printed[:200]!r}")
    target = Path(report)
    if target.is_symlink() or target.exists():
        target.unlink()
    target.write_bytes(ET.tostring(suite, encoding="utf-8"))


main(*sys.argv[1:])
