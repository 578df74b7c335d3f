"""CSV files: any separator, decimal point or comma, comments, units in the header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from deltadyn.arrays import FloatArray
from deltadyn.backends.loader import parse_lines
from deltadyn.errors import RecordingFileError
from deltadyn.recording.columns import Column, is_unit, quietly_recognised, time_unit
from deltadyn.recording.readers import Head, Reader, Table, regrouped
from deltadyn.recording.readers.text import (
    COMMENTS,
    CarefulParser,
    Dialect,
    TextFile,
    is_missing,
    is_number,
    nanoseconds,
    parse_plain,
    split_line,
)
from deltadyn.recording.words import OTHER_UNITS

SEPARATORS = ("\t", ";", "|", ",", "")  # an empty one means blanks
SAMPLE = 50  # data lines that are looked at
LONGEST_LINE = 16_000_000  # bytes: MOST_COLUMNS cells are far shorter
_PIECE_LINES = 500  # a block that the fast parser refuses is tried again in pieces
_OTHER_UNITS = frozenset(OTHER_UNITS.lower().split())
_LABEL = re.compile(r"(name|robot|limbs|payload_kg|convention)\s*:\s*(.*\S)\s*")


def open_csv(head: Head) -> Table:
    """The table of a CSV file: header, separator and decimal mark from its first lines."""
    path, separator = head.path, head.options.separator
    if not head.text.strip():
        raise _no_data(path, "is empty")
    labels: dict[str, str] = {}
    header: list[tuple[int, str]] = []
    data: list[tuple[int, str]] = []
    remark: tuple[int, str] | None = None  # the last comment above the rows
    for number, line in enumerate(head.text.split("\n"), 1):
        stripped = line.strip()
        if not stripped:
            continue
        if stripped.startswith(COMMENTS):
            _read_label(stripped, labels)
            remark = (number, re.sub(r"^(#|%|//)+\s*", "", stripped))
        elif data or _is_data(stripped, separator):
            if not data and not header and remark is not None:
                header = _commented(remark, line, separator)
            data.append((number, line))
            if len(data) >= SAMPLE:
                break
        else:
            header.append((number, line))
    if not data:
        raise _no_data(path, "has a header but no rows of numbers" if header else "has no rows")
    sample = [line for _, line in data]
    names_line, units_line = _header_lines(header, separator)
    chosen = _separator(names_line, sample) if separator is None else separator
    names = _names(names_line, chosen, sample, path)
    units = _units(units_line, chosen, len(names))
    mark = head.options.decimal or decimal_mark(sample, chosen)
    stamps = _stamps(names, split_line(sample[0], chosen))
    notes = [f"separator {chosen or 'blanks'!r}, decimal mark {mark!r}"]
    for number, line in header[: -2 if units_line else -1]:
        notes.append(f"line {number} before the header left out: {line.strip()[:60]!r}")
    if stamps:
        notes.append("time stamps converted to seconds since the first row")
    columns = tuple(
        Column(name, "s" if index in stamps else unit)
        for index, (name, unit) in enumerate(zip(names, units, strict=True))
    )
    dialect = Dialect(path, columns, chosen, mark, stamps, skip=head.options.skip)
    return text_table(dialect, data[0][0], notes, labels)


def text_table(
    dialect: Dialect,
    first_line: int,
    notes: Sequence[str],
    labels: Mapping[str, str] = MappingProxyType({}),
    *,
    reader: str = "csv",
    clocks: int = 1,
) -> Table:
    """A table whose numbers are the lines of a text from `first_line` on."""
    file = TextFile(dialect.path)
    found = [*notes]
    started: list[CarefulParser] = []

    def blocks(rows: int, used: Sequence[int]) -> Iterator[FloatArray]:
        parser = CarefulParser(dialect, used)
        started[:] = [parser]
        yield from regrouped(_parsed(file, parser, first_line), rows)
        found[:] = [*notes, *_skip_notes(parser)]

    def excerpt(start: float, rows: int, used: Sequence[int]) -> tuple[FloatArray, float] | None:
        lines = file.lines(start, rows)
        block = None if lines is None else _fast(lines[0], CarefulParser(dialect, used))
        return None if lines is None or block is None else (block, lines[1])

    return Table(
        dialect.path,
        reader,
        dialect.columns,
        blocks,
        clocks,
        labels,
        lambda: tuple(found),
        lambda: file.digest,
        lambda: file.share,
        excerpt,
        lambda: started[0].start if started else None,
    )


def _parsed(file: TextFile, parser: CarefulParser, first_line: int) -> Iterator[FloatArray]:
    """Blocks of numbers, cut at line ends."""
    rest, line, first = b"", 1, first_line
    for piece in file.pieces():
        end = piece.rfind(b"\n") + 1
        if end:  # one copy of the bytes
            text, rest = b"".join((rest, memoryview(piece)[:end])), piece[end:]
        else:
            text, rest = b"", rest + piece
        if len(rest) > LONGEST_LINE:
            number = line + text.count(b"\n")
            allowed = f"at most {LONGEST_LINE}: are its rows one line?"
            raise RecordingFileError(
                "bytes", len(rest), allowed, path=file.path, line=number, problem="has no end"
            )
        if line < first:  # the header
            start = _offset(text, first - line)
            line += text.count(b"\n", 0, start)
            text = text[start:]
        yield from _block(text, parser, line)
        line += text.count(b"\n")
    if rest and line >= first:
        yield parser.parse([_text(rest)], line, cut=True)


def _block(text: bytes, parser: CarefulParser, line: int) -> Iterator[FloatArray]:
    """One block by the fast parser, or in small pieces where it refuses."""
    if not text:
        return
    block = _fast(text, parser)
    if block is not None:
        yield block
        return
    lines = text.split(b"\n")[:-1]
    for start in range(0, len(lines), _PIECE_LINES):
        part = lines[start : start + _PIECE_LINES]
        block = None
        if len(lines) > _PIECE_LINES:
            block = _fast(b"\n".join(part) + b"\n", parser)
        yield parser.parse(map(_text, part), line + start) if block is None else block


def _fast(text: bytes, parser: CarefulParser) -> FloatArray | None:
    """The fast parser's answer to lines that it can read."""
    dialect = parser.dialect
    if dialect.stamps and set(dialect.stamps) & set(parser.used):
        return None
    there, block = parse_lines(
        text, dialect.separator, dialect.decimal, len(dialect.columns), parser.used
    )
    if there:
        return block
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if dialect.decimal == ",":
        if b"." in text:
            return None
        text = text.replace(b",", b".")
    separator = dialect.separator
    if not separator:
        if re.search(rb"[^\n\t -~]", text):  # other blanks, perhaps
            return None
        separator = " "
        text = re.sub(rb"[ \t]+", b" ", text)
        text = text.replace(b"\n ", b"\n").replace(b" \n", b"\n").lstrip(b" ")
    return parse_plain(text, separator.encode(), len(dialect.columns), parser.used)


def _offset(text: bytes, lines: int) -> int:
    """Where so many lines end."""
    at = 0
    for _ in range(lines):
        at = text.find(b"\n", at) + 1
        if not at:
            return len(text)
    return at


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace")


def _skip_notes(parser: CarefulParser) -> list[str]:
    if not parser.skipped:
        return []
    listed = "; ".join(f"line {number} {problem}" for number, problem in parser.skipped[:20])
    more = f"; and {len(parser.skipped) - 20} more" if len(parser.skipped) > 20 else ""
    return [f"{len(parser.skipped)} bad rows left out: {listed}{more}"]


def _read_label(comment: str, labels: dict[str, str]) -> None:
    match = _LABEL.fullmatch(comment.lstrip("#%/").strip())
    if match is not None:
        labels[match[1]] = match[2]


def _is_data(line: str, separator: str | None) -> bool:
    """Whether a line begins with a number or a time and holds mostly numbers."""
    cells = re.split(r"[;\t|]" if re.search(r"[;\t|]", line) else r"[,\s]+", line.strip())
    if separator:
        cells = split_line(line, separator)
    numbers = sum(is_number(cell) for cell in cells)
    begins = is_number(cells[0]) or is_missing(cells[0]) or _begins_with_time(line)
    return begins and 2 * numbers >= len(cells) - 2


def _begins_with_time(line: str) -> bool:
    match = re.match(r"\"?[\d\-./T ]*\d:\d\d:\d\d[^;\t|, ]*", line)
    return match is not None and nanoseconds(match[0].rstrip('"')) is not None


def _header_lines(
    header: Sequence[tuple[int, str]], separator: str | None
) -> tuple[str | None, str | None]:
    """The line of names, and the line of units below it where there is one."""
    if not header:
        return None, None
    if len(header) > 1:
        chosen = separator if separator is not None else _separator(header[-2][1], [header[-1][1]])
        names, units = (split_line(line, chosen) for _, line in header[-2:])
        given = [unit.strip(" \"'[]()") for unit in units]
        if len(names) == len(units) and any(given) and all(_is_unit(unit) for unit in given):
            return header[-2][1], header[-1][1]
    return header[-1][1], None


def _commented(remark: tuple[int, str], row: str, separator: str | None) -> list[tuple[int, str]]:
    """The last comment as the header: a cell for each cell of the first row, some understood."""
    text = remark[1]
    chosen = _separator(text, [row]) if separator is None else separator
    cells = _header_cells(text, chosen)
    known = any(time_unit(Column(cell)) or quietly_recognised(Column(cell), 0) for cell in cells)
    return [remark] if known and len(cells) == len(split_line(row, chosen)) else []


def _is_unit(text: str) -> bool:
    return text in ("", "-") or is_unit(text) or text.lower() in _OTHER_UNITS


def _separator(names: str | None, sample: Sequence[str]) -> str:
    """The separator with which header and rows have the same number of cells."""
    best, most = ",", 0
    for candidate in SEPARATORS:
        usual = _usual_width(sample, candidate)
        if names is None:
            fits = usual > 1
        else:
            head = len(_header_cells(names, candidate))
            fits = head > 1 and usual in (head, head + 1)
        if fits:
            return candidate
        cells = 0 if names is None else len(split_line(names, candidate))
        if candidate and cells > most:
            best, most = candidate, cells
    return best


def _usual_width(sample: Sequence[str], separator: str) -> int:
    """The number of cells that most of the rows have."""
    return Counter(len(split_line(row, separator)) for row in sample).most_common(1)[0][0]


def _header_cells(line: str, separator: str) -> list[str]:
    """Names of a header; where blanks separate, names with blanks need two between them."""
    if separator:
        return split_line(line, separator)
    wide = re.split(r"\s{2,}|\t", line.strip())
    return wide if len(wide) > 1 and len(wide) != len(line.split()) else line.split()


def _names(line: str | None, separator: str, sample: Sequence[str], path: str) -> tuple[str, ...]:
    usual = _usual_width(sample, separator)
    if line is None:
        if usual < 2:
            raise _no_data(path, "has no header and one column")
        return tuple(str(number) for number in range(1, usual + 1))
    cells = _header_cells(line, separator)
    if not separator and len(cells) != usual:
        cells = line.split()
    names = [cell.strip().strip("\"'").strip() for cell in cells]
    if len(names) + 1 == usual and all(
        not split_line(row, separator)[-1].strip()
        for row in sample
        if len(split_line(row, separator)) == usual
    ):
        names.append("")
    return tuple(names)


def _units(line: str | None, separator: str, count: int) -> tuple[str | None, ...]:
    if line is None:
        return (None,) * count
    cells = [cell.strip().strip("\"'[]() ") or None for cell in split_line(line, separator)]
    return tuple((cells + [None] * count)[:count])


def decimal_mark(sample: Sequence[str], separator: str) -> str:
    """A comma where the cells of the first rows have commas and no points."""
    if separator == ",":
        return "."
    cells = [cell for line in sample for cell in split_line(line, separator) if is_number(cell)]
    commas = sum("," in cell for cell in cells)
    points = sum("." in cell for cell in cells)
    return "," if commas > points else "."


def _stamps(names: Sequence[str], cells: Sequence[str]) -> tuple[int, ...]:
    """Columns named as time whose cells are dates or times of day."""
    found = []
    for index, (name, cell) in enumerate(zip(names, cells, strict=False)):
        if name and nanoseconds(cell) is not None and time_unit(Column(name)) is not None:
            found.append(index)
    return tuple(found)


def _no_data(path: str, problem: str) -> RecordingFileError:
    allowed = "a header line such as t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm, then rows"
    return RecordingFileError.of_file(path, problem, allowed)


READER = Reader("csv", lambda head: True, open_csv)
