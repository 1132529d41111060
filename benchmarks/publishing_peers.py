"""What others take to publish as many results: asv's site, and Inspect's bundle.

They do not do the same: asv draws one page for each benchmark and keeps the points as JSON for a
script in the browser; Inspect's bundle copies its logs beside a viewer that reads them. Neither
writes a page for each result. They stand here because people publish results with them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import venv
from pathlib import Path

from benchmarks.timing import say, table

_ASV = """\
import datetime, json, sys, time
from pathlib import Path
import asv
from asv.results import Results
folder, commits, benchmarks = Path(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3])
machine = {"machine": "m", "arch": "x", "cpu": "x", "num_cpu": "1", "os": "x", "ram": "1"}
results = folder / "results"
(results / "m").mkdir(parents=True)
(results / "m/machine.json").write_text(json.dumps({**machine, "version": 1}))
names = [f"bench.time_{n}" for n in range(benchmarks)]
known = {
    name: {"name": name, "code": "", "params": [], "param_names": [], "type": "time",
           "unit": "seconds", "version": "1", "timeout": 60, "pretty_name": name}
    for name in names
}
(results / "benchmarks.json").write_text(json.dumps({**known, "version": 2}))
now = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
for turn, commit in enumerate(commits):
    one = Results(machine, {}, commit, 1767225600000 + turn * 86400000, "3.11", "env", {})
    for place, name in enumerate(names):
        found = type("R", (), dict(result=[(turn * 7 + place) % 13 / 10 + 1], samples=[None],
            number=[None], errcode=0, stderr="", profile=None))()
        one.add_result(known[name], found, started_at=now, duration=1.0)
    one.save(str(results))
"""
_INSPECT = """\
import sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import bundle_log_dir
from inspect_ai.solver import solver

@solver
def nothing():
    async def solve(state, generate):
        return state
    return solve

samples = [Sample(input="x", target="x") for _ in range(int(sys.argv[1]))]
task = Task(dataset=samples, solver=nothing())
(log,) = eval(task, model="mockllm/model", display="none", log_dir=sys.argv[2])
assert log.status == "success", log.error
began = time.perf_counter()
bundle_log_dir(sys.argv[2], sys.argv[3])
print(time.perf_counter() - began)
"""


def measure(folder: Path, results: int) -> str:
    """A table of what each took, or why it did not run here."""
    rows = []
    for name, package, take in (
        ("asv publish", "asv", _asv),
        ("Inspect, bundle", "inspect-ai", _inspect),
    ):
        say(f"measuring {name}")
        place = folder / package
        version, problem = _installed(place, package)
        if not problem:
            try:
                rows.append([f"{name} ({package} {version})", f"{take(place, results):.2f} s"])
                continue
            except (subprocess.CalledProcessError, ValueError) as error:
                said = getattr(error, "stderr", None) or str(error)
                say(str(said)[-1500:])
                problem = "does not run here"
        rows.append([f"{name} ({package} {version})", problem])
    head = table(["beside it", f"{results:,} results"], rows)
    return f"{head}\n\n{__doc__.strip().partition(chr(10))[2].strip()}"


def _installed(place: Path, package: str) -> tuple[str, str]:
    venv.create(place / "venv", with_pip=True)
    python = str(place / "venv/bin/python")
    extra = ("virtualenv",) if package == "asv" else ()
    pip = [python, "-m", "pip", "install", "-q", package, *extra]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        return "", "cannot be installed here"
    shown = _said(python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))")
    return shown.strip(), ""


def _asv(place: Path, results: int) -> float:
    commits, benchmarks = 100, max(1, results // 100)
    project = place / "project"
    project.mkdir()
    git = ("git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@localhost")
    _said("git", "init", "-q", "-b", "main", str(project))
    for turn in range(commits):
        _said(*git, "commit", "-q", "--allow-empty", "-m", f"commit {turn}")
    oids = _said(*git, "log", "--reverse", "--format=%H").split()
    script = place / "make.py"
    script.write_text(_ASV)
    python = str(place / "venv/bin/python")
    _said(python, str(script), str(place), ",".join(oids), str(benchmarks))
    settings = {
        "version": 1,
        "project": "x",
        "project_url": "",
        "show_commit_url": "",
        "repo": str(project),
        "branches": ["main"],
        "environment_type": "virtualenv",
        "results_dir": str(place / "results"),
        "html_dir": str(place / "html"),
        "env_dir": str(place / "env"),
    }
    (place / "asv.conf.json").write_text(json.dumps(settings))
    began = time.perf_counter()
    _said(python, "-m", "asv", "publish", "--config", str(place / "asv.conf.json"))
    took = time.perf_counter() - began
    if not (place / "html/index.json").exists():
        raise ValueError("asv wrote no site")
    return took


def _inspect(place: Path, results: int) -> float:
    script = place / "bundle.py"
    script.write_text(_INSPECT)
    python = str(place / "venv/bin/python")
    where = (str(place / "logs"), str(place / "bundle"))
    return float(_said(python, str(script), str(results), *where).split()[-1])


def _said(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    print(measure(Path(sys.argv[1]), int(sys.argv[2])))
