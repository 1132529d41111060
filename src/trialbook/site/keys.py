"""Keys of units, and the fingerprint that is in each: what draws pages, whatever is drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

import trialbook
from trialbook.registry import Registry
from trialbook.site.authored_files import digest_of_authored

_DIGEST = 16
_LIBRARIES = ("jinja2", "markupsafe", "markdown-it-py", "msgspec")


def key_of(*parts: object) -> str:
    """A short digest of plain values: text, numbers, None, and tuples of them."""
    return hashlib.blake2b(
        repr(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST
    ).hexdigest()


def program_key(root: Path, registry: Registry, templates: Sequence[Path]) -> str:
    """What draws a ledger's pages: the program, its theme, plugins and templates of others.

    Args:
        root: The ledger's root, where its own templates are.
        registry: The plugins that bring pages.
        templates: Their folders of templates.
    """
    plugins = [registry.plugin("pages", name) for name in registry.names("pages")]
    return key_of(
        tuple(_versions()),
        digest_of_authored(Path(trialbook.__file__).parent),
        tuple((plugin.name, plugin.distribution, plugin.version) for plugin in plugins),
        tuple(digest_of_authored(folder) for folder in templates),
        digest_of_authored(root / "site" / "templates"),
    )


def _versions() -> Iterable[tuple[str, str]]:
    yield "trialbook", trialbook.__version__
    for name in _LIBRARIES:
        yield name, metadata.version(name)
