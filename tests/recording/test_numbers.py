"""Numbers of text files: the compiled parser, NumPy's and the careful one agree to the last bit."""

from __future__ import annotations

import math
import random
import struct

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltadyn import backends
from deltadyn.backends.loader import parse_lines
from deltadyn.errors import RecordingFileError
from deltadyn.recording.columns import Column
from deltadyn.recording.readers.csv import _fast
from deltadyn.recording.readers.text import CarefulParser, Dialect

compiled = pytest.mark.skipif(not backends.available(), reason="needs the compiled kernels")


def parsed(words: list[str], decimal: str = ".") -> npt.NDArray[np.float64] | None:
    text = "".join(word + "\n" for word in words).encode()
    return parse_lines(text, ";", decimal, 1, [0])[1]


def bits(values: npt.NDArray[np.float64]) -> list[int]:
    return np.ascontiguousarray(values).view(np.int64).ravel().tolist()


def random_word(rng: random.Random) -> str:
    """A number: any double, fixed and scientific digits, integers, halves between doubles."""
    digits = "".join(rng.choices("0123456789", k=rng.randrange(0, 22)))
    kind = rng.randrange(6)
    if kind == 0:
        return repr(struct.unpack("d", rng.randbytes(8))[0])
    if kind == 1:
        return f"{rng.uniform(-1e3, 1e3):.{rng.randrange(25)}f}"
    if kind == 2:
        return f"{rng.uniform(-1, 1) * 10.0 ** rng.randrange(-40, 40):+.{rng.randrange(25)}e}"
    if kind == 3:
        return f"{digits}.{rng.getrandbits(60)}E{rng.randrange(-330, 300)}"
    if kind == 4:
        return f"-{digits}{rng.randrange(10)}"
    fives = rng.randrange(1, 9)  # an odd 54-bit number over 2^fives: halfway between two doubles
    text = str((1 << 53 | rng.getrandbits(53) | 1) * 5**fives)
    return f"{text[:-fives]}.{text[-fives:]}"


@compiled
def test_every_number_is_the_nearest_double() -> None:
    rng = random.Random(0)
    words = [random_word(rng) for _ in range(15_000)]
    words = [word for word in words if math.isfinite(float(word))]
    want = np.array([float(word) for word in words])
    found = parsed(words)
    assert found is not None
    assert bits(found) == bits(want)
    comma = parsed([word.replace(".", ",") for word in words], ",")
    assert comma is not None
    assert bits(comma) == bits(want)


@compiled
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_double_comes_back(value: float) -> None:
    found = parsed([repr(value)])
    assert found is not None
    assert bits(found) == bits(np.array([value]))


@compiled
@pytest.mark.parametrize(
    "word", [".", "", "e5", "1e", "1e+", "--1", "1.2.3", "1_0", "0x10", "inf", "nan", "1e999", "١"]
)
def test_what_is_no_plain_number_is_left_to_the_careful_parser(word: str) -> None:
    assert parsed(["1.5", word, "2"]) is None


@compiled
@pytest.mark.parametrize(("separator", "decimal"), [("\n", "."), (";", "\n"), (".", ".")])
def test_marks_that_hide_the_end_of_a_line_are_refused(separator: str, decimal: str) -> None:
    """A cell behind the last line feed would be outside the text."""
    assert parse_lines(b"1\n2\n", separator, decimal, 3, [0]) == (True, None)


CELLS = ["1", "-2.5", "+.5", "3.", "1e3", "2E-2", "0.1", "12345678.9"]
ODD = ["", " 7", "8 ", "\t9", "nan", "x", '"4"', "1.2.3", "#5", "1 2", "\r", "1d2", "true", "1,5"]


def table(rng: random.Random, separator: str, odd: float) -> str:
    lines = []
    for _ in range(rng.randrange(1, 6)):
        cells = [rng.choice(ODD if rng.random() < odd else CELLS) for _ in range(4)]
        mark = separator or rng.choice([" ", "  ", "\t"])
        lines.append(mark.join(cells) + rng.choice(["\n", "\n", "\r\n"]))
    return "".join(lines)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", ""])
def test_the_fast_parsers_agree_with_the_careful_one(separator: str) -> None:
    """Where a fast one gives an answer it is the careful one's, whatever the other cells hold."""
    rng = random.Random(1)
    columns = tuple(Column(name) for name in "abcd")
    answers = 0
    for number in range(400):
        text = table(rng, separator, 0.1 * (number % 2))
        used = sorted(rng.sample(range(4), rng.randrange(1, 5)))
        parser = CarefulParser(Dialect("log.csv", columns, separator), used)
        fast = _fast(text.encode(), parser)
        with backends.switched_off():
            plain = _fast(text.encode(), parser)
        for block in (fast, plain):
            if block is None:
                continue
            answers += 1
            try:
                careful = parser.parse(text.split("\n")[:-1], 1)
            except RecordingFileError as error:
                pytest.fail(f"{text!r} was read: {error}")
            assert bits(block) == bits(careful), text
        if backends.available() and fast is None:
            assert plain is None, text
    assert answers > 250
