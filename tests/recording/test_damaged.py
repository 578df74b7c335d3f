"""Damaged files: each is refused with a message that names the place, or read and reported."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.recording.recordings import DATA, NAMES, REC, clean, robot_of

from deltadyn.recording import (
    RecordingFileError,
    check_recording,
    iter_recording,
    read_recording,
)

HEADER = ",".join(NAMES)
ROWS = [",".join(map(repr, x.tolist())) for x in DATA]
TEXT = "\n".join([HEADER, *ROWS]) + "\n"
ALLOWED_HEADER = "allowed: a header line such as t_s,q1_rad"


def row(number: int, text: str) -> str:
    """The file with this text as its row `number` from 0, which is line number + 2."""
    rows = list(ROWS)
    rows[number] = text
    return "\n".join([HEADER, *rows]) + "\n"


def cell(number: int, column: int, text: str) -> str:
    cells = ROWS[number].split(",")
    cells[column] = text
    return row(number, ",".join(cells))


def header(text: str) -> str:
    return "\n".join([text, *ROWS]) + "\n"


def comma_decimals(number: int, column: int, text: str) -> str:
    """A file with semicolons and decimal commas in which one cell is `text`."""
    rows = [line.replace(",", ";").replace(".", ",") for line in ROWS]
    cells = rows[number].split(";")
    cells[column] = text
    rows[number] = ";".join(cells)
    return "\n".join([HEADER.replace(",", ";"), *rows]) + "\n"


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", TEXT)
    return buffer.getvalue()


def noise() -> bytes:
    return np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8).tobytes()


#: Content of the file, and what the message must hold.
DAMAGED: dict[str, tuple[str | bytes, str]] = {
    "cut within the last row": (
        TEXT[: TEXT.rindex("\n") - 60],
        "a.csv, line 61: row is cut off after 4 of 7 cells: the file is truncated; allowed: 7",
    ),
    "cut within a number": (
        TEXT[:-1] + "e",
        "a.csv, line 61, column 'tau3_Nm': tau3 is '",
    ),
    "a number too large": (
        cell(30, 5, "1e999"),
        "a.csv, line 32, column 'tau2_Nm': tau2 is '1e999'; allowed: a number of at most 1.8e308",
    ),
    "a number too large with a decimal comma": (
        comma_decimals(30, 2, "-1,5e999"),
        "line 32, column 'q2_rad': q2 is '-1,5e999'; allowed: a number of at most 1.8e308",
    ),
    "a time that is infinite": (
        cell(30, 0, "inf"),
        "a.csv, column 't_s': t is inf at data row 30; allowed: a finite time in every row",
    ),
    "a time that is missing": (cell(30, 0, ""), "column 't_s': t is nan at data row 30"),
    "a time that is no number": (cell(30, 0, "NaN"), "column 't_s': t is nan at data row 30"),
    "a time too large": (cell(30, 0, "1e999"), "line 32, column 't_s': t is '1e999'"),
    "a quote that is never closed": (
        cell(30, 3, '"' + "1" * 200_000),
        "line 32, column 'q3_rad': q3 is '",
    ),
    "a cell too few": (
        row(30, ",".join(ROWS[30].split(",")[:6])),
        "a.csv, line 32: row has 6 cells; allowed: 7 cells, as the header has",
    ),
    "a cell too many": (
        row(30, ROWS[30] + ",1.0"),
        "a.csv, line 32: row has 8 cells (with a decimal comma the separator must be another)",
    ),
    "two rows in one line": (row(10, ROWS[10] + "," + ROWS[11]), "line 12: row has 14 cells"),
    "text in a number": (
        cell(20, 2, "abc"),
        "a.csv, line 22, column 'q2_rad': q2 is 'abc'; allowed: a number, or an empty cell",
    ),
    "a number with a letter behind": (cell(20, 5, "1.5N"), "column 'tau2_Nm': tau2 is '1.5N'"),
    "a number with two points": (cell(20, 1, "1.2.3"), "line 22, column 'q1_rad': q1 is '1.2.3'"),
    "a date among numbers": (cell(7, 0, "2024-01-01"), "column 't_s': t is '2024-01-01'"),
    "a hexadecimal number": (cell(7, 3, "0x1F"), "column 'q3_rad': q3 is '0x1F'"),
    "an underscore in a number": (cell(7, 3, "1_000"), "column 'q3_rad': q3 is '1_000'"),
    "an error of Excel": (cell(7, 3, "#DIV/0!"), "column 'q3_rad': q3 is '#DIV/0!'"),
    "a decimal comma in quotes": (
        cell(7, 3, '"1,5"'),
        "q3 is '1,5', with the decimal mark ','; allowed: numbers with the decimal mark '.'",
    ),
    "a decimal point among decimal commas": (
        comma_decimals(9, 4, "1.5"),
        "line 11, column 'tau1_Nm': tau1 is '1.5', with the decimal mark '.'; allowed: numbers "
        "with the decimal mark ',' throughout",
    ),
    "a thousands separator": (comma_decimals(9, 4, "1.234,5"), "tau1 is '1.234,5'"),
    "commas for both": (
        TEXT.replace(".", ","),
        "line 2: row has 14 cells (with a decimal comma the separator must be another)",
    ),
    "empty": (b"", "a.csv: file is empty; allowed: a file in CSV"),
    "blank": (b" \n\n  \n", "a.csv: file is empty"),
    "comments alone": ("# one\n# two\n", "a.csv: file has no rows; " + ALLOWED_HEADER),
    "header alone": (HEADER + "\n", "file has a header but no rows of numbers; " + ALLOWED_HEADER),
    "one column of numbers": ("1\n2\n3\n", "a.csv: file has no header and one column"),
    "header twice in the middle": (row(30, HEADER), "line 32, column 't_s': t is 't_s'"),
    "the same name twice": (
        header(HEADER.replace("q2_rad", "q1_rad")),
        "a.csv: q1 is given twice: columns 2 and 3 are both named 'q1_rad'; allowed: one column",
    ),
    "an unknown unit": (
        header(HEADER.replace("q2_rad", "q2 [gon]")),
        "column 'q2 [gon]': unit of q2 is 'gon'; allowed: rad, mrad, deg, mdeg, rev",
    ),
    "an unknown unit of torque": (
        header(HEADER.replace("tau1_Nm", "Torque 1 (lbft)")),
        "unit of tau1 is 'lbft'; allowed: Nm, mNm, Ncm, kNm, percent, permille",
    ),
    "a missing column": (
        header(HEADER.replace("q3_rad", "elbow")),
        "a.csv: q3 has no column; found: 't_s', 'q1_rad', 'q2_rad', 'elbow', 'tau1_Nm', "
        "'tau2_Nm', 'tau3_Nm'; allowed: columns such as q3_rad, or a column map",
    ),
    "torques of one axis": (
        header("t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,b,c"),
        "tau2, tau3 have no column; found: 't_s'",
    ),
    "no time": (header(HEADER.replace("t_s", "index")), "t has no column; found: 'index'"),
    "no known name": (header("a,b,c,d,e,f,g"), "t, q1, q2, q3, tau1, tau2, tau3 have no column"),
    "a header too short": (
        "\n".join([HEADER, *(f"{line},1.0" for line in ROWS)]),
        "line 2: row has 8 cells",
    ),
    "binary": (noise(), "a.csv: file is not a text file; allowed: CSV in UTF-8, TwinCAT"),
    "UTF-16 without a mark": (
        TEXT.encode("utf-16-le"),
        "a.csv: file is text in UTF-16 without a byte order mark",
    ),
    "UTF-16 cut in a letter": (
        TEXT.encode("utf-16")[:-1],
        "a.csv: file is not valid UTF-16: truncated data; allowed: a text in UTF-8",
    ),
    "a zip archive": (zipped(), "file is a zip archive (or an Excel workbook): unpack it"),
    "a 7z archive": (b"7z\xbc\xaf\x27\x1c" + bytes(99), "file is a 7z archive"),
    "a cut gzip file": (gzip.compress(TEXT.encode())[:-300], "file cannot be unpacked: "),
    "a web page": ("<html><body>404</body></html>\n", "file has a header but no rows of numbers"),
    "a JSON file": ('{"t": [0, 1], "q": [1, 2]}\n', "file has a header but no rows of numbers"),
    "an empty TwinCAT export": (
        "Name\tScope\nStarttime of export\t1\n\nName\ta\nSymbolName\tb\n",
        "a.csv: file has no rows of data; allowed: a TwinCAT Scope export with rows",
    ),
    "a TwinCAT export without times": (
        "Name\tScope\n\nName\tq1\tq2\nSampleTime[ms]\t1\t1\n\n1\t2\n",
        "file has 2 cells a row for 3 header cells; allowed: an export with tabs or semicolons",
    ),
    "a TwinCAT export with blanks": (
        "Name Scope\n\nName Axis 1 q2\nSampleTime[ms] 1 1\n\n1 2 3\n",
        "file has channel names that hold the separator",
    ),
    "a label that is no number": ("# payload_kg: heavy\n" + TEXT, "payload_kg is 'heavy'; allowed"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    content, message = DAMAGED[case]
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(RecordingFileError, match=re.escape(message)) as caught:
        read_recording(path)
    assert caught.value.path == str(path)
    assert caught.value.problem in str(caught.value)
    with pytest.raises(RecordingFileError, match=re.escape(message)):
        list(iter_recording(path, rows=7))


def test_there_are_many() -> None:
    assert len(DAMAGED) >= 40


def test_the_undamaged_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    np.testing.assert_array_equal(read_recording(path).tau, REC.tau)


def test_line_column_and_value_are_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(cell(20, 2, "abc"))
    with pytest.raises(RecordingFileError) as caught:
        read_recording(path)
    error = caught.value
    assert (error.line, error.column, error.quantity, error.value) == (22, "q2_rad", "q2", "abc")


def test_the_line_is_right_far_down_and_behind_comments(tmp_path: Path) -> None:
    """Also where the fast parser has read most of the file."""
    rows = [f"{0.001 * k!r}," + ROWS[0].split(",", 1)[1] for k in range(100_000)]
    rows[87_654] = rows[87_654].replace(",", ";", 1)
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["# a comment", "", HEADER, *rows]) + "\n")
    with pytest.raises(RecordingFileError, match=r"line 87658: row has 6 cells"):
        read_recording(path)


def test_places_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(
        RecordingFileError, match=r"none\.csv: file does not exist; allowed: a file"
    ):
        read_recording(tmp_path / "none.csv")
    with pytest.raises(RecordingFileError, match="is a folder, and not that of a ROS 2 bag"):
        read_recording(tmp_path)
    with pytest.raises(RecordingFileError, match="cannot be read: embedded null"):
        read_recording("a\0b")


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content cut off, with other bytes, with a piece missing or with one put in."""
    data = bytearray(content)
    place = int(rng.integers(len(data)))
    way = rng.integers(4)
    if way == 0:
        del data[place:]
    elif way == 1:
        data[place] = int(rng.integers(256))
    elif way == 2:
        del data[place : place + int(rng.integers(1, 200))]
    else:
        data[place:place] = rng.integers(32, 127, 8).astype(np.uint8).tobytes()
    return bytes(data)


@pytest.mark.parametrize("separator", [",", ";", "\t", "  "])
def test_any_damage_is_read_or_refused_by_name(tmp_path: Path, separator: str) -> None:
    rng = np.random.default_rng(11)
    content = TEXT.replace(",", separator).encode()
    path = tmp_path / "a.csv"
    refused = []
    for _ in range(100):
        path.write_bytes(mutated(content, rng))
        try:
            assert read_recording(path).dof == 3
        except RecordingFileError as error:
            refused.append(str(error))
    assert all("allowed: " in text for text in refused)
    assert 50 < len(refused) < 100


# Bad rows are left out where that is asked for, and every one is listed.


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    rows = list(ROWS)
    rows[5] = "garbage"
    rows[9] = rows[9] + ",1"
    rows[20] = rows[20].replace("-", "x", 1)
    path = tmp_path / "a.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n0.06,1.0,2")
    with pytest.raises(RecordingFileError, match="line 7: row has 1 cells"):
        read_recording(path)
    rec = read_recording(path, bad_rows="skip")
    np.testing.assert_array_equal(rec.t, np.delete(REC.t, [5, 9, 20]))
    (note,) = [note for note in rec.provenance.notes if "bad rows left out" in note]
    assert note.startswith("4 bad rows left out: line 7 has 1 cells; line 11 has 8 cells")
    assert "line 22 is 'x" in note
    assert "line 62 is cut off after 3 of 7 cells" in note


# What can be read is read, and the checks tell what is wrong with it.


def with_column(column: int, change: Callable[[np.ndarray], np.ndarray]) -> str:
    """The long clean recording as a file, with one of its columns changed."""
    rec = clean()
    data = np.column_stack([rec.t, rec.q, rec.tau])
    data[:, column] = change(data[:, column].copy())
    rows = [",".join(map(repr, line)) for line in data.tolist()]
    return "\n".join([HEADER, *rows]) + "\n"


def put(index: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(column: np.ndarray) -> np.ndarray:
        column[index] = value
        return column

    return change


REPORTED: dict[str, tuple[Callable[[], str], str, str]] = {
    "time goes back": (
        lambda: with_column(0, put(700, 0.5)),
        "decreasing time",
        "1 times are below their predecessor, row 700.",
    ),
    "time stands still": (
        lambda: with_column(0, lambda t: np.repeat(t[::2], 2)),
        "duplicate time",
        "2000 times equal their predecessor, row 1 and 1999 more places.",
    ),
    "milliseconds under t_s": (
        lambda: with_column(0, lambda t: 1e3 * t),
        "time unit",
        "The time step is 1 s: milliseconds taken as seconds?",
    ),
    "seconds under t_ms": (
        lambda: with_column(0, lambda t: t).replace("t_s", "t_ms"),
        "time unit",
        "The time step is 1e-06 s: seconds taken as milliseconds?",
    ),
    "cells that are NaN": (
        lambda: with_column(5, put(33, float("nan"))),
        "not finite",
        "1 of 4000 values are NaN or infinite, row 33.",
    ),
    "cells that are infinite": (
        lambda: with_column(5, put(33, float("inf"))),
        "not finite",
        "1 of 4000 values are NaN or infinite, row 33.",
    ),
    "degrees under q1_rad": (
        lambda: with_column(1, np.degrees),
        "angle unit",
        "degrees taken as radians?",
    ),
    "a torque of the wrong sign": (
        lambda: with_column(6, np.negative),
        "torque sign",
        "tau3 has the opposite sign of the model's torque.",
    ),
    "swapped headers": (
        lambda: with_column(0, lambda t: t).replace("tau1_Nm,tau2_Nm", "tau2_Nm,tau1_Nm"),
        "swapped axes",
        "tau1 is that of axis 2, tau2 is that of axis 1",
    ),
}


@pytest.mark.parametrize("case", REPORTED)
def test_a_file_that_is_read_is_reported_on(tmp_path: Path, case: str) -> None:
    make, kind, text = REPORTED[case]
    path = tmp_path / "a.csv"
    path.write_text(make())
    rec = read_recording(path, robot_of("sipro-d3-1200"))
    assert len(rec) == 4000
    found = check_recording(rec, robot_of("sipro-d3-1200"))
    assert any(text in item.text for item in found.of(kind)), str(found)
    assert not found.ok


def test_rows_without_a_finite_time_are_left_out_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(cell(30, 0, "inf").replace(ROWS[40].split(",")[0] + ",", ",", 1))
    rec = read_recording(path, bad_rows="skip")
    assert np.array_equal(rec.t, np.delete(DATA[:, 0], [30, 40]))
    assert np.array_equal(rec.tau, np.delete(DATA[:, 4:], [30, 40], axis=0))
    assert "2 rows without a finite time left out" in rec.provenance.notes


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltadyn.recording.readers.csv.LONGEST_LINE", 1_000_000)
    path = tmp_path / "a.csv"
    path.write_text(TEXT + "1.5," * 1_500_000)
    with pytest.raises(RecordingFileError, match=r"line 62: .*has no end; allowed: at most 1"):
        read_recording(path)
