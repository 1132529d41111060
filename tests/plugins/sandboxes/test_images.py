from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sandboxes.conftest import Bench, need
from tests.plugins.sandboxes.tiny_image import tiny_image

from trialbook.api import Ended, EnvironmentProblem, ImageSource, Network, Sandbox
from trialbook.egress.way import FORWARDER, forwarder_command, way_out
from trialbook.process import run
from trialbook.system import System
from trialbook_sandboxes import container

engines = pytest.mark.parametrize("backend", ["podman", "docker"])
_made: list[str] = []
PYTHON = '#!/bin/sh\necho "PYTHON 3.12.1 /opt/python3"\n'


def reference(archive: Path) -> str:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return f"localhost/trialbook-image:{digest[:32]}"


def ready(sandbox: Sandbox, archive: Path, log: Path) -> Any:
    source = ImageSource(reference=reference(archive), archive=archive)
    _made.append(source.reference)
    return sandbox.ready_image(source, run, log)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _removed_again(backend: str, at_home: None) -> Iterator[None]:
    yield
    for name in _made:
        remove = [backend, "image", "rm", "--force", name]
        subprocess.run(remove, capture_output=True, check=False)
    _made.clear()


@pytest.mark.slow
@engines
def test_a_root_file_system_becomes_an_image_in_which_commands_run(
    backend: str, bench: Bench, tmp_path: Path
) -> None:
    files = {"/bin/python3": PYTHON, "/opt/greeting": "from the image\n"}
    archive = tiny_image(tmp_path / "image.tar", files)
    log = tmp_path / "log"
    made = ready(bench.sandbox, archive, log)
    assert made.digest == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert made.platform.startswith("linux ")
    assert (made.python, made.interpreter) == ("3.12.1", "/opt/python3")
    assert "import" in log.read_text()
    assert ready(bench.sandbox, archive, log) == made
    assert log.read_text().count(" import ") == 1
    image = reference(archive)
    script = "cat /opt/greeting; echo done > here; echo $PATH; ls /; ls /usr"
    result = bench.shell(script, image=image, readable=())
    said = bench.said().splitlines()
    assert said[0] == "from the image"
    assert (bench.workspace / "here").read_text() == "done\n"
    assert "usr" not in said or "bin" not in said[said.index("usr") :]
    assert result.exit_code != 0  # there is no /usr: nothing of the host's is bound
    gone = bench.start("no-such-program", image=image, readable=())
    assert gone.ended is Ended.NOT_STARTED
    assert "is not in the image" in gone.message


@pytest.mark.slow
@engines
def test_an_image_that_was_saved_is_loaded_whatever_it_was_called(
    backend: str, bench: Bench, tmp_path: Path
) -> None:
    first = tiny_image(tmp_path / "root.tar", {"/opt/x": backend})
    log = tmp_path / "log"
    ready(bench.sandbox, first, log)
    program = ["docker", "save"] if backend == "docker" else ["podman", "save", "--quiet"]
    saved = tmp_path / "saved.tar"
    subprocess.run([*program, "--output", str(saved), reference(first)], check=True)
    made = ready(bench.sandbox, saved, log)
    assert made.python is None
    assert " tag " in log.read_text()
    assert bench.shell("cat /opt/x", image=reference(saved), readable=()).ok
    assert bench.said() == backend


@engines
def test_a_command_cannot_pretend_that_its_program_is_missing(
    backend: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tiny_image(tmp_path / "image.tar")
    ready(bench.sandbox, archive, tmp_path / "log")
    # As if what the command left running had been the last to write.
    first = container._FIRST.replace(">/run/trialbook-status 2>/dev/null", ">/dev/null 2>&1")
    monkeypatch.setattr(container, "_FIRST", first)
    script = "echo no such program >/run/trialbook-status; cat /run/trialbook-status; exit 7"
    result = bench.shell(script, image=reference(archive), readable=())
    assert bench.said() == "no such program\n"
    assert (result.ended, result.exit_code) == (Ended.EXITED, 7)


@engines
def test_an_image_has_the_same_walls(backend: str, bench: Bench, tmp_path: Path) -> None:
    archive = tiny_image(tmp_path / "image.tar")
    ready(bench.sandbox, archive, tmp_path / "log")
    script = (
        "(: > /opt/x) 2>/dev/null && echo OPEN root; (: > /proc/sys/kernel/core_pattern) "
        "2>/dev/null && echo OPEN sysctl; cat /proc/net/dev; ls /proc; cat /etc/passwd"
    )
    bench.shell(script, image=reference(archive), readable=())
    said = bench.said()
    assert "OPEN" not in said
    assert "eth0" not in said
    assert "root" not in said
    assert "agent:x:" in said


@engines
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b"not a tar"), "is no tar archive"),
        (lambda path: tiny_image(path, shell="#!/bin/nothing\n"), "nothing can be run"),
    ],
)
def test_what_is_no_image_is_told(
    backend: str, bench: Bench, tmp_path: Path, make: Any, words: str
) -> None:
    archive = tmp_path / "image.tar"
    make(archive)
    with pytest.raises(EnvironmentProblem, match=words):
        ready(bench.sandbox, archive, tmp_path / "log")


@pytest.mark.slow
@engines
def test_an_image_that_no_registry_gives_is_told_with_the_log(
    backend: str, bench: Bench, tmp_path: Path
) -> None:
    name = f"127.0.0.1:1/nobody/nothing@sha256:{'0' * 64}"
    with pytest.raises(EnvironmentProblem, match="pull"):
        bench.sandbox.ready_image(  # type: ignore[attr-defined]
            ImageSource(reference=name), run, tmp_path / "log"
        )
    assert "pull" in (tmp_path / "log").read_text()


@pytest.mark.slow
@engines
def test_an_image_reaches_its_proxy_by_what_it_has(
    backend: str, bench: Bench, tmp_path: Path
) -> None:
    need("socat")
    (tmp_path / "proxy").mkdir()
    script = tmp_path / "forward.py"
    script.write_bytes(FORWARDER.read_bytes())
    ask = (
        "printf 'CONNECT evil.test:443 HTTP/1.1\\r\\n\\r\\n' |"
        " socat -t 10 - TCP:127.0.0.1:3128 | cat"
    )
    with way_out(tmp_path / "proxy" / "socket", ["a.test"], System().now) as way:
        more: dict[str, Any] = {
            "network": Network(mode="allow", allow=("a.test",)),
            "proxy": way.socket,
            "forwarder": forwarder_command("/no/python", script),
            "readable": (script,),
        }
        tools = ("/usr/bin/socat", "/usr/bin/sleep", "/usr/bin/grep")
        archive = tiny_image(tmp_path / "with.tar", more=tools)
        ready(bench.sandbox, archive, tmp_path / "log")
        assert bench.shell(ask, image=reference(archive), **more).ok
        assert bench.said().startswith("HTTP/1.1 403"), bench.said("stderr")
        assert way.proxy.greetings == 1
        archive = tiny_image(tmp_path / "without.tar")
        ready(bench.sandbox, archive, tmp_path / "log")
        assert not bench.shell("echo ran", image=reference(archive), **more).ok
        assert bench.said() == ""
        assert "it takes python3 or socat" in bench.said("stderr")
