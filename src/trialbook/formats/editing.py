"""Changing one value in a YAML text: everything else stays as it is, to the last character.

The text around the value is not written anew: comments, quotes, order, odd indents and line ends
cannot get lost. The result is read again before it is handed out.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from trialbook.errors import UserError
from trialbook.formats.authored import parse_document, parse_nodes, resolve_plain
from trialbook.formats.document import Node, Pointer

# Text that means the same without quotes in every version of YAML.
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@+ -]*(?<! )")
_OLD_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_END_OF_LINE = re.compile(r"[^\r\n]*")
_AFTER_KEY = re.compile(r"[ \t]*:")


def edit_text(text: str, pointer: Pointer, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Set one value in a YAML text.

    What is there is replaced; a key that is not there yet, or an index one past the end of a list,
    is added last. Missing mappings on the way are made. New collections are written in flow style.

    Raises:
        UserError: the text is not YAML, the way leads through a scalar or an alias, or the change
            would touch what an alias repeats.
    """
    shown = "/".join(map(str, pointer))
    lines = (line.strip() for line in text.splitlines())
    bare = all(not line or line.startswith("#") for line in lines)
    root, problems = (None, []) if bare else parse_nodes("", text)
    if problems:
        raise UserError(problems=problems)
    if not pointer:
        raise UserError("the whole file is no single value", hint="name a key")
    wanted = _changed(root.plain() if root else None, pointer, value, shown)
    edited = _edit(text, root, pointer, value, shown)
    after, problems = parse_document(edited, "")
    if after is None or problems or after.data != wanted:
        raise UserError(
            f"{shown} cannot be changed without touching the lines around it",
            hint="change the file by hand",
        )
    return edited


def _changed(data: Any, pointer: Pointer, value: Any, shown: str) -> Any:  # noqa: ANN401
    """The data as it has to be afterwards."""
    if not pointer:
        return value
    head, rest = pointer[0], pointer[1:]
    if isinstance(head, str) and (data is None or isinstance(data, dict)):
        data = dict(data or {})
        data[head] = _changed(data.get(head), rest, value, shown)
        return data
    if isinstance(head, int) and isinstance(data, list) and 0 <= head <= len(data):
        return [
            *data[:head],
            _changed(data[head] if head < len(data) else None, rest, value, shown),
            *data[head + 1 :],
        ]
    raise UserError(f"{shown} cannot be set: there is nothing that could hold {head!r}")


def _edit(text: str, root: Node | None, pointer: Pointer, value: Any, shown: str) -> str:  # noqa: ANN401
    if root is None:
        kept = text if not text or text.endswith("\n") else text + "\n"
        return f"{kept}{render(pointer[0])}: {render(_nested(pointer[1:], value))}\n"
    node, depth = root, 0
    while depth < len(pointer) and pointer[depth] in node.items:
        parent, node = node, node.items[pointer[depth]]
        depth += 1
        if node.is_alias and depth < len(pointer):
            raise UserError(
                f"{shown} is written elsewhere and repeated by an alias",
                hint="write the value out, then change it",
            )
        if depth == len(pointer):
            return _replace(text, parent, node, pointer[-1], value)
    rest = _nested(pointer[depth + 1 :], value)
    if node.is_collection:
        return _insert(text, node, pointer[depth], rest)
    above = root if depth == 1 else _above(root, pointer[: depth - 1])
    return _replace(text, above, node, pointer[depth - 1], _nested(pointer[depth:], value))


def _above(root: Node, pointer: Pointer) -> Node:
    for part in pointer:
        root = root.items[part]
    return root


def _nested(pointer: Pointer, value: Any) -> Any:  # noqa: ANN401
    for part in reversed(pointer):
        value = [value] if isinstance(part, int) else {part: value}
    return value


def _replace(text: str, parent: Node, node: Node, key: str | int, value: Any) -> str:  # noqa: ANN401
    start, end = node.start.offset, node.end
    new = render(value, quote=node.style if node.raw is not None else "")
    if node.raw is not None and start == end:
        # An empty value: it goes behind the colon of its key.
        name = parent.keys.get(str(key))
        colon = _AFTER_KEY.match(text, name.end) if name else None
        start = end = colon.end() if colon else end
        return f"{text[:start]} {new}{text[end:]}"
    old = text[start:end]
    return text[:start] + new + text[start + len(old.rstrip()) :]


def _insert(text: str, node: Node, key: str | int, value: Any) -> str:  # noqa: ANN401
    entry = render(value) if isinstance(key, int) else f"{render(key)}: {render(value)}"
    last = list(node.items.values())[-1] if node.items else None
    if node.style == "flow":
        opening = text.index("[" if isinstance(key, int) else "{", node.start.offset) + 1
        at = _content_end(text, node, last) if last else opening
        return f"{text[:at]}{', ' if last else ''}{entry}{text[at:]}"
    at = _content_end(text, node, last) if last else node.end
    line = _END_OF_LINE.match(text, at)
    at = line.end() if line else at
    newline = "\r\n" if "\r\n" in text else "\n"
    dash = "- " if isinstance(key, int) else ""
    return f"{text[:at]}{newline}{' ' * (node.start.column - 1)}{dash}{entry}{text[at:]}"


def _content_end(text: str, node: Node, last: Node) -> int:
    """Where the last entry ends, line ends of a block scalar left out."""
    if last.raw is not None and last.start.offset == last.end:
        name = list(node.keys.values())[-1] if node.keys else None
        colon = _AFTER_KEY.match(text, name.end) if name else None
        return colon.end() if colon else last.end
    return last.start.offset + len(text[last.start.offset : last.end].rstrip())


def render(value: Any, quote: str = "") -> str:  # noqa: ANN401 - any JSON value
    """A value on one line of YAML; ``quote`` is the quote to keep where text has one."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render(k)}: {render(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(render(item) for item in value) + "]"
    if not isinstance(value, str):
        return json.dumps(value, allow_nan=False)
    hidden = any(unicodedata.category(char)[0] in "CZ" and char != " " for char in value)
    if quote == "'" and not hidden:
        return "'" + value.replace("'", "''") + "'"
    plain = _PLAIN.fullmatch(value) and value.lower() not in _OLD_WORDS
    if plain and quote != '"' and isinstance(resolve_plain(value), str):
        return value
    return _double_quoted(value)


def _double_quoted(value: str) -> str:
    out = []
    for char in json.dumps(value, ensure_ascii=False):
        code = ord(char)
        if code < 0x7F or (unicodedata.category(char)[0] not in "CZ"):  # noqa: PLR2004 - ASCII
            out.append(char)
        else:
            out.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")  # noqa: PLR2004
    return "".join(out)
