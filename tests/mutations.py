"""Damaged inputs: bytes, words and structures of good ones changed, the same for the same seed."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator
Mutator = Callable[[bytes, Rng], bytes]

WORDS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"-1",
    b"0",
    b"1_0",
    b"1e-320",
    b"true",
    b"null",
    b"9" * 400,
    b"9" * 5000,
    b"[" * 300,
    b"{" * 300,
    b"&a [*a, *a]",
    b"!!python/object/apply:os.system [id]",
    b"!!timestamp 2020-99-99",
    b"2020-13-45",
    b"*/",
    b"\n",
    b"\r\n",
    b"\t",
    b",",
    b";",
    b": ",
    b"'",
    b'"',
    b"../../x",
    "µ°ü\u2028".encode(),
    "\u0663".encode(),  # a digit of another script
)
WHOLE = (0, 1, -1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1)
FLOATS = (0.0, -1.0, float("nan"), float("inf"), 1e308, 5e-324)
TOKEN = re.compile(rb"\"[^\"\n]*\"|[\w.+-]+|[^\w\s]|\n *")


def changed_bytes(good: bytes, rng: Rng) -> bytes:
    """One to four changes: bits, bytes, words, cuts, copies and swaps of parts."""
    data = bytearray(good)
    for _ in range(int(rng.integers(1, 5))):
        size = len(data)
        at, end = sorted(rng.integers(0, size + 1, 2).tolist())
        end = min(end, at + (1, 4, 16, 256, size + 1)[int(rng.integers(0, 5))])
        kind = int(rng.integers(0, 7))
        if kind == 0 and size:
            data[at % size] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1 and size:
            data[at % size] = int(rng.integers(0, 256))
        elif kind == 2:
            data[at:at] = _word(rng)
        elif kind == 3:
            data[at:end] = _word(rng)
        elif kind == 4:
            del data[at:end]
        elif kind == 5:
            data[at:at] = data[at:end]
        else:
            del data[at:]
    return bytes(data)


def changed_tokens(good: bytes, rng: Rng) -> bytes:
    """Numbers, names, marks and ends of lines replaced, left out, doubled or exchanged."""
    tokens = TOKEN.findall(good)
    gaps = TOKEN.split(good)
    for _ in range(int(rng.integers(1, 4))):
        if not tokens:
            break
        at, other = (int(k) for k in rng.integers(0, len(tokens), 2))
        kind = int(rng.integers(0, 5))
        if kind == 0:
            tokens[at] = _word(rng)
        elif kind == 1:
            tokens[at] = b""
        elif kind == 2:
            tokens[at] = tokens[at] + b" " + tokens[at]
        elif kind == 3:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = tokens[at] + b"\n" + b" " * int(rng.integers(0, 5))
    out = [gaps[0]]
    for token, gap in zip(tokens, gaps[1:], strict=True):
        out += [token, gap]
    return b"".join(out)


def changed_numbers(good: bytes, rng: Rng) -> bytes:
    """Lengths, counts and kinds of a binary format: extreme numbers at places of their size."""
    data = bytearray(good)
    for _ in range(int(rng.integers(1, 4))):
        size = (1, 2, 4, 8)[int(rng.integers(0, 4))]
        if len(data) < size:
            break
        at = int(rng.integers(0, len(data) - size + 1))
        if rng.integers(0, 2):
            at -= at % size
        kind = int(rng.integers(0, 8))
        if kind == 0 and size == 8:
            struct.pack_into("<d", data, at, FLOATS[int(rng.integers(0, len(FLOATS)))])
            continue
        value = WHOLE[int(rng.integers(0, len(WHOLE)))]
        if kind < 4:  # near what was there
            value = int.from_bytes(data[at : at + size], "little") + int(rng.integers(-2, 3))
        packed = (value % 256**size).to_bytes(size, "little")
        data[at : at + size] = packed if rng.integers(0, 8) else packed[::-1]
    return bytes(data)


def changed_end(good: bytes, rng: Rng) -> bytes:
    """The last part of a file, where some formats keep what they say about themselves."""
    at = len(good) - min(len(good), 2 ** int(rng.integers(3, 12)))
    change = (changed_bytes, changed_numbers)[int(rng.integers(0, 2))]
    return good[:at] + change(good[at:], rng)


def changed_json(good: bytes, rng: Rng) -> bytes:
    """Values of a JSON text replaced by those of another kind, left out, or put in lists."""
    tree = json.loads(good)
    for _ in range(int(rng.integers(1, 3))):
        tree = _changed_node(tree, rng)
    return json.dumps(tree).encode()


def _changed_node(node: Any, rng: Rng) -> Any:
    """The same tree with one node changed, each depth as likely as the next."""
    children = list(node) if isinstance(node, dict) else list(range(len(node))) if _is(node) else []
    if children and rng.integers(0, 5):
        key = children[int(rng.integers(0, len(children)))]
        if not rng.integers(0, 12):
            del node[key]
        else:
            node[key] = _changed_node(node[key], rng)
        return node
    odd: list[Any] = [
        *(None, True, -1, 0, 1e308, 2**70, 10**400, float("nan"), float("inf"), "", "x" * 300),
        *(
            [],
            {},
            [[]],
            {"": None},
            [1, "a", None],
            [node],
            {"a": node},
            str(node)[:50],
            [node] * 3,
        ),
        *("../../x", "<b>&", "\ud800", "\0", "1_0", "nan"),
    ]
    return odd[int(rng.integers(0, len(odd)))]


def _is(node: Any) -> bool:
    return isinstance(node, list) and bool(node)


def changed_members(good: bytes, rng: Rng, change: Mutator) -> bytes:
    """A member of a zip archive changed, with checksums that are right."""
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    chosen = list(members)[int(rng.integers(0, len(members)))]
    kind = int(rng.integers(0, 6))
    if kind == 0:
        del members[chosen]
    elif kind == 1:
        others = list(members.values())
        members[chosen] = others[int(rng.integers(0, len(others)))]
    else:
        members[chosen] = change(members[chosen], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def _word(rng: Rng) -> bytes:
    return WORDS[int(rng.integers(0, len(WORDS)))]
