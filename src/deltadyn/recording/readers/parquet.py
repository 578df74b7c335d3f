"""Parquet files; a column's unit stands in its name or in its field's metadata as "unit"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, extra_module
from deltadyn.recording.columns import Column
from deltadyn.recording.readers import Head, Reader, Table, damaged, regrouped
from deltadyn.recording.readers.bounded import refuse_unpacked

LABEL = "deltadyn."  # before the keys of our own in the schema's metadata
WHAT = "a Parquet file"
ALLOWED = "a complete Parquet file"


def open_parquet(head: Head) -> Table:
    """The table of a Parquet file; rows are read in batches."""
    path = head.path
    pyarrow: Any = extra_module("pyarrow", WHAT, "parquet")
    parquet: Any = extra_module("pyarrow.parquet", WHAT, "parquet")
    kinds = (pyarrow.ArrowException, OSError, ValueError)  # also names that are not UTF-8
    with damaged(path, ALLOWED, kinds):
        schema = parquet.read_schema(path)
        columns = tuple(Column(field.name, _metadata(field, "unit", "units")) for field in schema)
        labels = {
            key.decode().removeprefix(LABEL): value.decode()
            for key, value in (schema.metadata or {}).items()
            if key.startswith(LABEL.encode())
        }

    taken = [0, 1]  # rows so far, and in all

    def batches(rows: int, used: Sequence[int]) -> Iterator[FloatArray]:
        names = [schema.field(index).name for index in used]
        everything = [field.name for field in schema]
        twice = next((name for name in names if everything.count(name) > 1), None)
        if twice is not None:
            raise RecordingFileError(
                f"column {twice!r}",
                twice,
                "names that occur once; write the file again with other names",
                path=path,
                problem=f"is there {everything.count(twice)} times",
            )
        with damaged(path, ALLOWED, kinds), parquet.ParquetFile(path) as file:
            taken[:] = [0, max(file.metadata.num_rows, 1)]
            refuse_unpacked(path, 8 * len(names) * taken[1])
            for batch in file.iter_batches(batch_size=rows, columns=names):
                taken[0] += batch.num_rows
                refuse_unpacked(path, 8 * len(names) * taken[0])
                yield _block(pyarrow, batch, names, path)

    def blocks(rows: int, used: Sequence[int]) -> Iterator[FloatArray]:
        yield from regrouped(batches(rows, used), rows)

    return Table(
        path, "parquet", columns, blocks, labels=labels, progress=lambda: taken[0] / taken[1]
    )


def _block(pyarrow: Any, batch: Any, names: Sequence[str], path: str) -> FloatArray:
    block = np.empty((len(names), batch.num_rows))
    for target, name in zip(block, names, strict=True):
        column = batch.column(batch.schema.get_field_index(name))
        kind = column.type
        numeric = pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)
        if not numeric and not pyarrow.types.is_boolean(kind):
            problem = f"is {kind}"
            raise RecordingFileError(
                "type", str(kind), "numbers", path=path, column=name, problem=problem
            )
        target[:] = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return block


def _metadata(field: Any, *keys: str) -> str | None:
    found = field.metadata or {}
    return next((found[key.encode()].decode() for key in keys if key.encode() in found), None)


READER = Reader("parquet", lambda head: head.start.startswith(b"PAR1"), open_parquet)
