"""What a log adds to the columns of a robot, and what is left out of it.

A machine has causes of torque that no state tells: a delay of its torque signal, friction that
warms up, an encoder that is not centred. Their columns come from the samples of a log, stand behind
the robot's own in [Y e tau] and pass the same filter. Their parameters belong to the log, not to
the robot: a prediction from a state has none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.prepare.band import decimated
from deltadyn.recording.prepare.data import Prepared


@dataclass(frozen=True, eq=False)
class Extra:
    """Columns that come behind a robot's wide ones, and rows that are left out.

    `columns` gives (N, dof, m) at the samples of a part, before the filter, in N m per unit of the
    parameters `names` (m). `keep` gives (M, dof) for the rows that `part.limited` gives: False
    leaves the row of that axis out, as at rest. `corrected` gives the part as the model should see
    it (delay, torque ratio, encoder); `columns` and `keep` get that part.
    """

    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    columns: Callable[[Prepared], FloatArray] | None = None
    keep: Callable[[Prepared], BoolArray] | None = None
    corrected: Callable[[Prepared], Prepared] | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise InputError("names of extra columns", self.names, "each name once")
        if len(self.units) != len(self.names):
            allowed = f"{len(self.names)}, one per name"
            raise InputError("units of extra columns", len(self.units), allowed)
        if (self.columns is None) != (not self.names):
            allowed = "a function where there are names, else None"
            raise InputError("columns of the extra parameters", self.columns, allowed)

    def correct(self, part: Prepared) -> Prepared:
        """The part as the model should see it."""
        return part if self.corrected is None else self.corrected(part)

    def limited_columns(self, part: Prepared) -> FloatArray:
        """Columns (M, dof, m) of a corrected part as they enter the fit."""
        raw = self.raw_columns(part)
        out = np.zeros((len(part.times), *raw.shape[1:]))
        # most belong to one drive: what is 0 on an axis is not filtered
        axes, columns = np.nonzero(raw.any(axis=0))
        rows = np.ascontiguousarray(raw[:, axes, columns].T)
        even = rows if part.grid is None else part.grid(rows.T).T
        out[:, axes, columns] = decimated(part.filter, even).T
        return out

    def raw_columns(self, part: Prepared) -> FloatArray:
        """Columns (N, dof, m) at the samples of a corrected part, checked."""
        shape = (*part.tau.shape, len(self.names))
        if self.columns is None:
            return np.zeros(shape)
        found = np.asarray(self.columns(part), dtype=np.float64)
        if found.shape != shape:
            raise InputError("shape of the extra columns", found.shape, f"{shape}: (N, dof, m)")
        finite = np.isfinite(found)
        if not finite.all():
            row, axis, column = (int(index) for index in np.argwhere(~finite)[0])
            where = f"{part.name!r}, row {row}, axis {axis + 1}"
            value = float(found[row, axis, column])
            raise InputError(f"column {self.names[column]}", value, "finite numbers", where=where)
        return found

    def kept(self, part: Prepared) -> BoolArray | None:
        """Which rows (M, dof) of a corrected part are used; None: all of them."""
        if self.keep is None:
            return None
        found = np.asarray(self.keep(part))
        shape = (len(part.times), part.tau.shape[1])
        if found.shape != shape or found.dtype != np.bool_:
            given = f"{found.dtype} {found.shape}"
            raise InputError("rows to keep", given, f"bool {shape}: (M, dof)")
        return found
