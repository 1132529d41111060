"""The pattern for private tests that the pages recommend, tried on honest and other candidates."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "site/pages/how-to/private-tests.md"

HONEST = "def refund(amount):\n    return {'error': 'amount'} if amount < 0 else {}\n"
EXPECTED = '{"error": "amount"}'
CHEATS = {
    "prints-and-ends": f"import os\nprint('{EXPECTED}', flush=True)\nos._exit(0)\n",
    "prints-with-a-mark-and-ends": (
        f"import os\nprint('[\"\", {EXPECTED}]', flush=True)\nos._exit(0)\n"
    ),
    "ends-badly": HONEST + "import atexit, os\natexit.register(os._exit, 3)\n",
    "prints-too": HONEST + "print('x')\n",
    "wrong": "def refund(amount):\n    return {}\n",
}


def passes(tmp_path: Path, shop: str) -> bool:
    """Whether the page's own test of the candidate passes."""
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/shop.py").write_text(shop)
    (tmp_path / "test_refund.py").write_text(block)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "negative_amount"],
        cwd=tmp_path,
        env={**os.environ, "PACKAGE_ROOT": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout or "1 failed" in done.stdout, done.stdout + done.stderr
    return done.returncode == 0


@pytest.mark.slow
def test_an_honest_candidate_passes(tmp_path: Path) -> None:
    assert passes(tmp_path, HONEST)


@pytest.mark.slow
@pytest.mark.parametrize("shop", CHEATS.values(), ids=CHEATS)
def test_a_candidate_that_forges_its_answer_does_not(tmp_path: Path, shop: str) -> None:
    assert not passes(tmp_path, shop)
