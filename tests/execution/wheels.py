"""Small wheels, made on the spot: pip installs them from a folder, and no network is needed."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str = "1.0", needs: str = "") -> str:
    """Write a wheel with one module that says its version; gives the wheel's sha256."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if needs:
        metadata += f"Requires-Dist: {needs}\n"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{about}/METADATA": metadata,
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{about}/RECORD"))
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(zipfile.ZipInfo(inner), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()
