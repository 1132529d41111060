"""Real clients, each test with a scripted model of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.agents import install
from tests.agents.bench import Bench, Model, scripted_model, usable

Start = Callable[..., Model]


@pytest.fixture(scope="session")
def isolated() -> None:
    """Skips where there can be no network of its own; never on the build server."""
    why = usable()
    if why and not os.environ.get("CI"):
        pytest.skip(why)
    assert not why, why


@pytest.fixture
def model(tmp_path: Path, isolated: None) -> Iterator[Start]:
    """Starts a model that answers by scripts: ``model(name=[step, ...])``."""
    with ExitStack() as stack:

        def start(**scripts: list[dict[str, Any]]) -> Model:
            folder = tmp_path / f"model-{len(list(tmp_path.glob('model-*')))}"
            return stack.enter_context(scripted_model(folder, scripts))

        yield start


@pytest.fixture
def bench(tmp_path: Path, model: Start) -> Callable[..., Bench]:
    """A bench with a model that answers by scripts."""

    def make(environment: dict[str, str] | None = None, **scripts: Any) -> Bench:
        folder = tmp_path / "bench"
        folder.mkdir(exist_ok=True)
        return Bench(folder=folder, model=model(**scripts), environment=environment or {})

    return make


def need(package: str, program: str) -> str:
    """The path of a client that the tests install; skips where it is not, unless in CI."""
    if not install.installed(package):
        assert not os.environ.get("CI"), "run `python -m tests.agents.install` first"
        pytest.skip(f"{package} is not installed: python -m tests.agents.install")
    return str(install.program(program))


@pytest.fixture(scope="session")
def claude() -> str:
    return need("@anthropic-ai/claude-code", "claude")


@pytest.fixture(scope="session")
def codex() -> str:
    return need("@openai/codex", "codex")


def _need_python(package: str, name: str) -> str:
    if not install.python_installed(package):
        optional = package != install.MINI
        assert optional or not os.environ.get("CI"), "run `python -m tests.agents.install` first"
        pytest.skip(f"{package} is not installed: python -m tests.agents.install --more")
    return str(install.python_program(package, name))


def _need_more(package: str, name: str) -> str:
    if not install.more_installed(package):
        pytest.skip(f"{package} is not installed: python -m tests.agents.install --more")
    return str(install.more_program(name))


@pytest.fixture(scope="session")
def mini() -> str:
    return _need_python(install.MINI, "mini")


@pytest.fixture(scope="session")
def aider() -> str:
    return _need_python(install.AIDER, "aider")


@pytest.fixture(scope="session")
def opencode() -> str:
    return _need_more("opencode-ai", "opencode")


@pytest.fixture(scope="session")
def gemini() -> str:
    return _need_more("@google/gemini-cli", "gemini")
