"""The maintained scanner of the ``secrets`` extra, installed from the index into a folder apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from tests.storage.test_credential_patterns import CORPORA, SELF_EVIDENT, chars, rnd

from trialbook.storage.redact import Redactor
from trialbook.storage.scanner import installed_scanner
from trialbook.storage.spans import Span

ROOT = Path(__file__).resolve().parents[2]
NAME = "kingfisher-secret-scanner"

# Finds in the bytes of a file, in a process that has the scanner; prints what it came to as JSON.
SCAN = """
import json, sys
from pathlib import Path
from trialbook.storage.redact import Redactor
from trialbook.storage.scanner import Scanner, installed_scanner

scanner = Scanner(Path(sys.argv[1]))
told = {"version": installed_scanner(), "texts": []}
for path in sys.argv[2:]:
    clean, counts = Redactor({}, scanner).redact(Path(path).read_bytes())
    told["texts"].append([clean.decode(), dict(counts)])
print(json.dumps(told))
"""


@pytest.mark.slow
def test_without_the_extra_there_is_no_scanner_and_nothing_is_imported() -> None:
    code = (
        "import sys, trialbook.workflow.worker\n"
        "assert not any(name.startswith('kingfisher') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    try:
        version = metadata.version(NAME)
    except metadata.PackageNotFoundError:
        assert installed_scanner() is None
    else:
        assert installed_scanner() == f"{NAME} {version}"


def test_what_a_scanner_finds_goes_too_and_our_own_names_come_first() -> None:
    def scan(data: bytes) -> list[Span]:
        at = data.index(b"opaque")
        return [Span(at, at + 6, "odd-thing"), Span(0, 40, "another-name")]

    token = SELF_EVIDENT["github classic"][1]
    clean, counts = Redactor({}, scan).redact(f"{token} and opaque".encode())
    assert clean == b"[redacted:github-token] and [redacted:odd-thing]"
    assert counts == {"github-token": 1, "odd-thing": 1}


@pytest.fixture(scope="session")
def with_scanner(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the pinned scanner can be imported."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    (pin,) = [line for line in pins if line.startswith(f"{NAME}==")]
    folder = tmp_path_factory.mktemp("extra")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    done = subprocess.run([*command, str(folder), pin], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{pin} cannot be installed: {done.stderr}")
        pytest.skip(f"{pin} cannot be installed")
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.index
@pytest.mark.slow
def test_the_pinned_scanner_finds_more_and_takes_no_digest_for_a_secret(
    with_scanner: dict[str, str], tmp_path: Path
) -> None:
    rare = f"PMAK-{chars(24, '0123456789abcdef', 1)}-{chars(34, '0123456789abcdef', 2)}"
    assert not Redactor({}).spans(rare.encode()), "a kind that our own patterns do not know"
    (tmp_path / "rare").write_text(f"postman é {rare} end\n")
    encoded = "Z2l0bGFiIHRva2Vu"
    (tmp_path / "own").write_text(f"{encoded} {SELF_EVIDENT['gitlab'][1]}\n")
    lines = [line for corpus in CORPORA[:4] for line in corpus(rnd(corpus.__name__))]
    (tmp_path / "corpus").write_text("\n".join(lines))
    files = [str(tmp_path / name) for name in ("rare", "own", "corpus")]
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(tmp_path / "cache"), *files],
        check=False,
        capture_output=True,
        text=True,
        env=with_scanner,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["version"].startswith(f"{NAME} ")
    (found, counts), own, corpus = told["texts"]
    assert found.startswith("postman é [redacted:postman")
    assert found.endswith("] end\n")
    assert sum(counts.values()) == 1
    assert own == [f"{encoded} [redacted:gitlab-token]\n", {"gitlab-token": 1}]
    assert corpus == ["\n".join(lines), {}]


@pytest.mark.index
@pytest.mark.slow
def test_a_scanner_that_fails_is_told_of_and_never_passed_over(
    with_scanner: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    (folder / "kingfisher_sdk").mkdir(parents=True)
    (folder / "kingfisher_sdk/__init__.py").write_text("raise RuntimeError('no such rules')\n")
    code = (
        "import sys\nfrom pathlib import Path\nfrom trialbook.storage.scanner import Scanner\n"
        "from trialbook.errors import EnvironmentProblem\n"
        "try:\n    list(Scanner(Path(sys.argv[1]))(b'x'))\n"
        "except EnvironmentProblem as problem:\n    print(problem.message, problem.hint)\n"
    )
    environment = {**with_scanner, "PYTHONPATH": f"{folder}:{with_scanner['PYTHONPATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert "the secret scanner failed" in done.stdout
    assert "no such rules" in done.stdout
