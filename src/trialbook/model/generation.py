"""A later generation of a closed run's results: made again from the records there were by then.

Rules, for everybody who reads or checks one (``results/<id>/`` in the run's folder):

- ``results.csv`` and ``report.md`` directly in the run's folder are the first generation. They
  follow from the records in the tree of the commit that added them.
- ``results.csv`` and ``report.md`` in ``results/<id>/`` follow from the records in the tree of the
  commit that ``generation.json`` names as ``records``: an ancestor of the commit that added them.
- The newest by ``created`` and ``id`` is the one to read. Where two clones made one each, neither
  knows all; the next correction makes one that does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Why results were made again, and from what. ``run`` is ``<suite>/<run>``.

    ``records`` is the commit whose tree the records are read from; ``files`` maps the files beside
    to their sha256; ``trialbook`` is the version that made them.
    """

    schema: str = "trialbook/generation/1"
    id: str
    run: str
    created: str
    because: str
    records: str
    trialbook: str
    files: dict[str, str]
