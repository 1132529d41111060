"""A folder whose every entry has broken some git or evaluation tool, and what git makes of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FILES: dict[str | bytes, bytes] = {
    "plain.txt": b"a\nb\n",
    "crlf.txt": b"a\r\nb\r\n",
    "mixed_ends.txt": b"a\r\nb\nc\r",
    "no_newline.txt": b"last line without newline",
    "empty.txt": b"",
    "binary.bin": bytes(range(256)) * 4,
    "nul_in_text.txt": b"a\0b\n",
    "latin1.txt": "caf\u00e9\n".encode("latin-1"),
    "bom.txt": b"\xef\xbb\xbfbom\n",
    "utf16.txt": "hi\n".encode("utf-16"),
    "-rf": b"named like an option\n",
    "--help": b"named like an option\n",
    " leading space.txt": b"x\n",
    "trailing space ": b"x\n",
    'quote"and\\back.txt': b"x\n",
    "tab\there.txt": b"x\n",
    "new\nline.txt": b"x\n",
    "percent%20.txt": b"x\n",
    "glob[a]*?.txt": b"x\n",
    ":(top)magic.txt": b"looks like a pathspec\n",
    "$(touch pwned).txt": b"x\n",
    "\u00fcn\u00efcode \u65e5\u672c\u8a9e \U0001f600.txt": b"x\n",
    "nfc_\u00e9.txt": b"composed\n",
    "nfd_e\u0301.txt": b"decomposed\n",
    b"latin1_\xe9.txt": b"name is not UTF-8\n",
    "Case.txt": b"upper\n",
    "case.txt": b"lower\n",
    "a/b/c/d/e/f/g/deep.txt": b"x\n",
    "long_" + "n" * 200 + ".txt": b"x\n",
    # git sorts folders as if their names ended in a slash
    "order.txt": b"1\n",
    "order/x": b"2\n",
    "order-1": b"3\n",
    "order0": b"4\n",
    ".gitattributes": (
        b"*.md text eol=crlf\nsecret.txt export-ignore\nversion.txt export-subst\n"
        b"*.dat filter=lfs diff=lfs merge=lfs -text\ntests export-ignore\n"
    ),
    "doc.md": b"kept as LF\n",
    "secret.txt": b"git archive drops this\n",
    "version.txt": b"$Format:%H$\n",
    "tests/test_x.py": b"def test(): pass\n",
    "model.dat": b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 123456\n"
    % (b"0" * 64),
    ".gitignore": b"ignored/\n*.log\n",
    "ignored/kept.txt": b"tracked although ignored\n",
    "build.log": b"tracked although ignored\n",
    ".github/workflows/x.yml": b"on: push\n",
    "AGENTS.md": b"# rules\n",
    "big.bin": b"\0" * (6 << 20),
}
SCRIPTS: dict[str, tuple[bytes, int]] = {
    "bin/run.sh": (b"#!/bin/sh\necho ok\n", 0o755),
    "bin/group_write.sh": (b"#!/bin/sh\n", 0o775),
    "readonly.txt": (b"ro\n", 0o444),
}
LINKS = {
    "link_ok": "plain.txt",
    "link_dangling": "no/such/target",
    "link_outside": "../../../../etc/hostname",
    "link_absolute": "/etc/passwd",
    "link_to_dir": "a",
    "link_loop_a": "link_loop_b",
    "link_loop_b": "link_loop_a",
    "CLAUDE.md": "AGENTS.md",
}
TREE = "794bf290bf34d8c1d8317ff11d48d3d5a194b349"
"""What git's plumbing makes of the folder; `git_tree` computes it afresh."""


def build(folder: Path) -> None:
    """Write the folder, which must not be there yet."""
    for name, data in FILES.items():
        write(folder, name, data)
    for name, (data, mode) in SCRIPTS.items():
        write(folder, name, data, mode)
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    (folder / "empty_dir").mkdir()


def write(folder: Path, name: str | bytes, data: bytes, mode: int = 0o644) -> None:
    """Write one file below a folder; its name may be any bytes."""
    path = folder / os.fsdecode(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def git(folder: Path, *arguments: str | bytes, stdin: bytes | None = None) -> bytes:
    """Run C git in a folder, with the test's own configuration only."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, input=stdin, check=False, capture_output=True
    )
    assert done.returncode == 0, f"{arguments}: {done.stderr.decode(errors='replace')}"
    return done.stdout


def git_tree(folder: Path, scratch: Path) -> str:
    """The tree that git's plumbing gives a folder, with every conversion off."""
    git(scratch.parent, "init", "-q", "--bare", str(scratch))
    lines = []
    for path in folder.rglob("*"):
        if path.is_symlink():
            mode, data = b"120000", os.fsencode(path.readlink())
        elif path.is_file():
            mode, data = b"100755" if path.stat().st_mode & 0o100 else b"100644", path.read_bytes()
        else:
            continue
        oid = git(scratch, "hash-object", "-w", "--no-filters", "--stdin", stdin=data).strip()
        lines.append(mode + b" " + oid + b"\t" + os.fsencode(path.relative_to(folder)) + b"\0")
    git(scratch, "update-index", "-z", "--index-info", stdin=b"".join(sorted(lines)))
    return git(scratch, "write-tree").decode().strip()
