"""Damaged inputs: bytes and words of good ones changed at random, the same for the same seed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np

#: In CI; `make nightly` sets 100,000.
CASES = int(os.environ.get("DELTADYN_MUTATIONS", "500"))

WORDS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"nan",
    b"inf",
    b"1e999",
    b"-1",
    b"1_0",
    b"9" * 400,
    b"9" * 5000,
    b"[" * 300,
    b"{" * 300,
    b"&a [*a, *a]",
    b"!!python/object:os.system",
    b"*/",
    b"\n",
    b"\r\n",
    b"\t",
    b",",
    b": ",
    b"'",
    b'"',
    b"../../x",
    "µ°ü\u2028".encode(),
)


def mutated(good: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes: bits, bytes, words, cuts, copies and swaps of parts."""
    data = bytearray(good)
    for _ in range(int(rng.integers(1, 5))):
        size = len(data)
        at, end = sorted(rng.integers(0, size + 1, 2).tolist())
        end = min(end, at + int(rng.choice([1, 4, 16, 256, size + 1])))
        kind = int(rng.integers(0, 7))
        if kind == 0 and size:
            data[at % size] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1 and size:
            data[at % size] = int(rng.integers(0, 256))
        elif kind == 2:
            data[at:at] = WORDS[int(rng.integers(0, len(WORDS)))]
        elif kind == 3:
            data[at:end] = WORDS[int(rng.integers(0, len(WORDS)))]
        elif kind == 4:
            del data[at:end]
        elif kind == 5:
            data[at:at] = data[at:end]
        else:
            del data[at:]
    return bytes(data)


def mutations(goods: Sequence[bytes], seed: int, cases: int = CASES) -> Iterator[bytes]:
    """Damaged copies of good inputs, one after the other."""
    rng = np.random.default_rng(seed)
    for number in range(cases):
        yield mutated(goods[number % len(goods)], rng)


def survivors(
    goods: Sequence[bytes], read: Callable[[bytes], object], allowed: type[Exception], seed: int
) -> tuple[int, list[str]]:
    """How many damaged inputs were read all the same, and those that ended in another error."""
    read_well, wrong = 0, []
    for data in mutations(goods, seed):
        try:
            read(data)
            read_well += 1
        except allowed:
            pass
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error} for {data[:200]!r}")
    return read_well, wrong
