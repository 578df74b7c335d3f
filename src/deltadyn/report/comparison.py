"""Several fits side by side: which parameters changed beyond their intervals, and the page."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from deltadyn.doors import write_page
from deltadyn.errors import FileError, InputError
from deltadyn.files import file_set, settle
from deltadyn.identification.fit import Fit
from deltadyn.report.html import (
    First,
    Section,
    cell,
    cells,
    figure_html,
    list_html,
    page_path,
    plain,
    wide_table,
    write_numbers,
    write_sections,
)
from deltadyn.report.plots import colour, draw_bars, finished, panels, parameter_figure
from deltadyn.units import rail_keys, together

QUANTILE = 1.96  # standard deviations: half of a 95 % interval
NEEDED = ("method", "model", "parameters", "residual_rms_Nm", "torque_rms_Nm", "provenance")
RAILS = ("N", "N", "N", "N m")  # of the axes, where a file on rails does not tell its units

Given = Fit | Mapping[str, Any] | str | os.PathLike[str]


@dataclass(frozen=True)
class Change:
    """A parameter of a fit against the first one: difference and its deviation in `unit`.

    `beyond` says whether 0 lies outside the 95 % interval of the difference.
    """

    fit: str
    parameter: str
    unit: str
    first: float
    value: float
    std: float  # of the difference

    @property
    def difference(self) -> float:
        """Value minus that of the first fit."""
        return self.value - self.first

    @property
    def beyond(self) -> bool:
        """Whether the change is larger than the intervals allow."""
        return abs(self.difference) > QUANTILE * self.std

    def __str__(self) -> str:
        share = f", {100 * self.difference / abs(self.first):+.3g} %" if self.first else ""
        return (
            f"{self.fit}: {self.parameter} is {self.value:.4g} {self.unit}, {self.first:.4g} in "
            f"the first fit{share} ({abs(self.difference) / self.std:.3g} deviations)"
            if self.std > 0
            else f"{self.fit}: {self.parameter} is {self.value:.4g} {self.unit}{share}"
        )


@dataclass(frozen=True, eq=False)
class FitComparison:
    """Records of fits by name, as `Fit.as_dict` gives them; the first is the one to compare with.

    `verdicts` are those of reports, by name.
    """

    records: Mapping[str, Mapping[str, Any]]
    verdicts: Mapping[str, str]

    @property
    def first(self) -> str:
        """The name of the fit that the others are held against."""
        return next(iter(self.records))

    @property
    def parameters(self) -> dict[str, str]:
        """Units by parameter, of all that any fit has."""
        return {
            row["name"]: row["unit"] for item in self.records.values() for row in item["parameters"]
        }

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every parameter that a fit and the first one both have, with both deviations known.

        Parameters of a log are left out: another log has others.
        """
        start = {row["name"]: row for row in self.records[self.first]["parameters"]}
        found = []
        for name, record in self.records.items():
            if name == self.first:
                continue
            for row in record["parameters"]:
                other = start.get(row["name"])
                if other is None or row["unit"] != other["unit"] or row.get("of") == "log":
                    continue
                if row["std"] is None or other["std"] is None:
                    continue
                std = math.hypot(row["std"], other["std"])
                change = Change(name, row["name"], row["unit"], other["value"], row["value"], std)
                found.append(change)
        return tuple(found)

    @property
    def beyond(self) -> tuple[Change, ...]:
        """The changes beyond their intervals, the surest first."""
        found = [item for item in self.changes if item.beyond]
        return tuple(
            sorted(found, key=lambda c: -abs(c.difference) / c.std if c.std > 0 else -math.inf)
        )

    @property
    def only_in_some(self) -> dict[str, tuple[str, ...]]:
        """Parameters that not every fit has, with the fits that do."""
        out = {}
        for parameter in self.parameters:
            having = tuple(
                name
                for name, item in self.records.items()
                if any(row["name"] == parameter for row in item["parameters"])
            )
            if len(having) < len(self.records):
                out[parameter] = having
        return out

    @property
    def differences(self) -> list[tuple[str, tuple[str, ...]]]:
        """What differs in provenance: option, version or data, with its value in every fit."""
        tables = [_flat(item) for item in self.records.values()]
        keys = dict.fromkeys(key for table in tables for key in table)
        rows = [(key, tuple(table.get(key, "-") for table in tables)) for key in keys]
        return [(key, values) for key, values in rows if len(set(values)) > 1]

    @property
    def status(self) -> str:
        """How many parameters changed, in a sentence."""
        count, tests = len(self.beyond), len(self.changes)
        if not tests:
            return "The fits have no parameter in common whose deviation is known."
        chance = 0.05 * tests
        return (
            f"{count} of {tests} comparisons with {self.first} differ beyond their 95 % interval; "
            f"chance alone gives about {chance:.2g}."
        )

    def __str__(self) -> str:
        return "\n".join([self.status, *(f"  {item}" for item in self.beyond)])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        out: dict[str, Any] = plain(
            {
                "kind": "deltadyn comparison",
                "status": self.status,
                "first": self.first,
                "verdicts": self.verdicts,
                "changes": [
                    {**vars(item), "difference": item.difference, "beyond": item.beyond}
                    for item in self.changes
                ],
                "only_in_some": self.only_in_some,
                "differences": [
                    {"what": key, "values": dict(zip(self.records, values, strict=True))}
                    for key, values in self.differences
                ],
                "fits": self.records,
            }
        )
        return out

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, and its numbers as JSON beside it."""
        return write_page("fits", self, path)


def compare_fits(given: Mapping[str, Given] | Sequence[Given]) -> FitComparison:
    """Fits, records or files of `Fit.save` and `write_report` side by side, the first as the base.

    Without names they are called by their file, or by method and number.
    """
    named = list(given.items()) if _is_named(given) else [(None, item) for item in given]  # type: ignore[union-attr]
    if len(named) < 2:
        raise InputError("fits to compare", len(named), "at least 2")
    records: dict[str, Mapping[str, Any]] = {}
    verdicts: dict[str, str] = {}
    for number, (name, item) in enumerate(named, 1):
        record, where = _record(item, number)
        own = _unique(name or _name(item, record, number), records, number)
        if "fit" in record:
            told = record.get("verdict")
            verdicts[own] = str(told.get("grade", "-")) if isinstance(told, Mapping) else "-"
            record = record["fit"]
            if not isinstance(record, Mapping):
                raise InputError("entry 'fit'", record, "the record of a fit", where=where)
        records[own] = _checked(record, where)
    return FitComparison(records, verdicts)


def _is_named(given: object) -> bool:
    """A mapping of fits by name, not one record."""
    return isinstance(given, Mapping) and "parameters" not in given and "fit" not in given


def _record(item: object, number: int) -> tuple[Mapping[str, Any], str]:
    if isinstance(item, Fit):
        return item.as_dict(), f"fit {number}"
    if isinstance(item, Mapping):
        return item, f"record {number}"
    if not isinstance(item, str | os.PathLike):
        raise InputError(f"fit {number}", type(item).__name__, "a Fit, a record or a JSON file")
    path, allowed = str(item), "a JSON file as a fit or a report writes it"
    settle(Path(item).parent)
    try:
        found = json.loads(Path(item).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # also text that is not UTF-8
        raise FileError("file", path, f"{allowed} ({str(error)[:200]})", path=path) from None
    if not isinstance(found, dict):
        raise FileError("file", path, allowed, path=path)
    return found, path


def _checked(record: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    for key in NEEDED:
        if key not in record and rail_keys({key: None}).keys().isdisjoint(record):
            allowed = "there, as in the record of a fit (Fit.save) or of a report"
            raise InputError(f"entry {key!r}", "missing", allowed, where=where)
    for name, allowed, holds in _SHAPES:
        if name in record and not holds(record[name]):
            raise InputError(f"entry {name!r}", record[name], allowed, where=where)
    for row in record["parameters"]:
        for key, allowed, holds in _ROW:
            if key not in row:
                raise InputError(f"entry {key!r} of a parameter", "missing", "there", where=where)
            if not holds(row[key]):
                raise InputError(f"entry {key!r} of a parameter", row[key], allowed, where=where)
    for key, allowed, holds in _ORIGIN:
        value = record["provenance"].get(key)
        if key in record["provenance"] and not holds(value):
            raise InputError(f"entry {key!r} of the provenance", value, allowed, where=where)
    return record


def _is_number(value: object) -> bool:
    """A number of a record: finite, and not as large that no computation holds it."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and abs(value) < LARGEST  # type: ignore[arg-type]


def _is_deviation(value: object) -> bool:
    return value is None or (_is_number(value) and value >= 0)  # type: ignore[operator]


def _are_axes(value: object) -> bool:
    return isinstance(value, list) and 1 <= len(value) <= 4 and all(map(_is_deviation, value))


def _are_units(value: object) -> bool:
    tau = value.get("tau", list(RAILS)) if isinstance(value, Mapping) else None
    return isinstance(tau, list) and len(tau) <= 4 and all(isinstance(v, str) for v in tau)


def _are_sources(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, Mapping)
        and isinstance(item.get("samples", 0), int)
        and abs(item.get("samples", 0)) < LARGEST
        for item in value
    )


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


LARGEST = 1e100
Shape = tuple[str, str, Callable[[Any], bool]]
#: Entries of a record, what they may be, and whether a value is that.
_AXES = ("residual_rms_Nm", "torque_rms_Nm", "residual_rms_N", "torque_rms_N")
_SHAPES: tuple[Shape, ...] = (
    ("parameters", "a list of objects", lambda v: isinstance(v, list) and all(map(_is_mapping, v))),
    *((name, "a number per axis, none negative", _are_axes) for name in _AXES),
    ("provenance", "an object", _is_mapping),
    ("band_Hz", "a number, or null", lambda v: v is None or _is_number(v)),
    ("held", "a list of texts", lambda v: isinstance(v, list) and all(map(_is_text, v))),
    ("axis_units", "an object with the units of tau", _are_units),
    ("consistent", "true, false or null", lambda v: v is None or isinstance(v, bool)),
)
_ROW: tuple[Shape, ...] = (
    ("name", "a text", _is_text),
    ("unit", "a text", _is_text),
    ("value", "a number", _is_number),
    ("std", "a number that is not negative, or null", _is_deviation),
)
_ORIGIN: tuple[Shape, ...] = (
    ("options", "an object", _is_mapping),
    ("versions", "an object", _is_mapping),
    ("data", "a list of objects with their number of samples", _are_sources),
)


def _name(item: object, record: Mapping[str, Any], number: int) -> str:
    if isinstance(item, str | os.PathLike):
        return Path(item).stem
    method = record.get("method", "fit")
    return f"{method} {number}"


def _unique(name: str, taken: Mapping[str, Any], number: int) -> str:
    return f"{name} ({number})" if name in taken else name


def _flat(record: Mapping[str, Any]) -> dict[str, str]:
    """Method, model, options, versions, data and robot file of a fit, as texts."""
    origin = record["provenance"]
    out = {"method": str(record["method"]), "model": str(record["model"])}
    options = {k: v for k, v in origin.get("options", {}).items() if k not in ("method", "model")}
    out |= {f"option {key}": str(value) for key, value in options.items()}
    out |= {f"version of {key}": str(value) for key, value in origin.get("versions", {}).items()}
    out["python"] = str(origin.get("python", "-"))
    out["held"] = ", ".join(record.get("held", [])) or "nothing"
    band = record.get("band_Hz")
    out["band (Hz)"] = "all frequencies" if band is None else f"{band:.4g}"
    data = origin.get("data", [])
    out["recordings"] = ", ".join(str(item.get("name")) for item in data)
    out["samples"] = str(sum(int(item.get("samples", 0)) for item in data))
    out["SHA-256 of the data"] = ", ".join(str(item.get("sha256", "-"))[:12] for item in data)
    out["robot file"] = _digest(str(origin.get("robot_before", "")))
    return out


def _digest(text: str) -> str:
    """Of a robot file, without the smoothing of friction, which a fit takes from its data."""
    lines = [line for line in text.splitlines() if not line.strip().startswith("smoothing")]
    return sha256("\n".join(lines).encode()).hexdigest()[:12]


# The page.


def write_comparison(found: FitComparison, path: str | os.PathLike[str]) -> Path:
    """Write the page, and its numbers as JSON beside it."""
    page = page_path(path)
    title = f"{len(found.records)} fits side by side"
    sections = [_parameters(found), _residuals(found), _provenance(found)]
    with file_set():
        beside = write_numbers(page, found.as_dict())
        subtitle = f"{', '.join(found.records)}. The numbers are in {beside.name}."
        return write_sections(page, title, subtitle, [_first(found).html], sections)


def _first(found: FitComparison) -> First:
    kind, head = (
        ("care", f"Changes beyond their intervals: {len(found.beyond)}")
        if found.beyond
        else ("good", "No parameter changed beyond its interval")
        if found.changes
        else ("unknown", "Nothing to compare")
    )
    numbers = [
        (str(len(found.records)), "fits"),
        (str(len(found.beyond)), "parameters differ beyond their 95 % intervals"),
        (f"{0.05 * len(found.changes):.2g}", "would do so by chance alone"),
    ]
    steps = [f"{item}." for item in found.beyond[:MOST_STEPS]]
    if len(found.beyond) > MOST_STEPS:
        steps.append("More under Parameters, where they are marked as changed.")
    if found.beyond:
        steps.append("See Differences in provenance for what else is not the same.")
    elif found.changes:
        steps.append("Nothing to do: what differs is within the noise of the logs.")
    names = list(dict.fromkeys(item.parameter for item in found.beyond or found.changes))[:SHOWN]
    rows = {
        fit: [row for row in _rows(found, fit) if row["name"] in names] for fit in found.records
    }
    figure = parameter_figure(rows)
    caption = f"Change against {found.first} with 95 % intervals; all parameters are below."
    return First(
        kind,
        head,
        found.status,
        numbers,
        figure_html("Parameters in common", figure, caption) if names else "",
        steps,
    )


MOST_STEPS = 2  # changes that the first screen names
SHOWN = 8  # parameters in its figure


def _rows(found: FitComparison, name: str) -> list[dict[str, Any]]:
    """The parameters of a fit against the first one, for the figure."""
    start = {row["name"]: row["value"] for row in found.records[found.first]["parameters"]}
    rows = []
    for row in found.records[name]["parameters"]:
        half = QUANTILE * row["std"] if row["std"] is not None else float("nan")
        base = start.get(row["name"], row["value"])
        rows.append(
            {"name": row["name"], "before": base, "value": row["value"],
             "low": row["value"] - half, "high": row["value"] + half}
        )  # fmt: skip
    return rows


def _parameters(found: FitComparison) -> Section:
    beyond = {(item.fit, item.parameter) for item in found.beyond}
    tables = {
        name: {row["name"]: row for row in record["parameters"]}
        for name, record in found.records.items()
    }
    rows = []
    for parameter, unit in found.parameters.items():
        row = [parameter]
        for name, table in tables.items():
            row.append(_cell(table.get(parameter), (name, parameter) in beyond))
        rows.append([*row, unit])
    columns = ("parameter", *found.records, "unit")
    some = [f"{name}: only in {', '.join(fits)}" for name, fits in found.only_in_some.items()]
    figure = parameter_figure({name: _rows(found, name) for name in found.records})
    caption = (
        f"Change against {found.first} with the 95 % interval of each fit (1.96 standard "
        "deviations to both sides)."
    )
    above = (
        "Value ± half of its 95 % interval; 'changed' where the difference to "
        f"{found.first} is beyond both intervals together"
    )
    blocks = (
        wide_table(columns, rows, caption=above, long=len(rows) > 30),
        figure_html("Parameters", figure, caption),
        list_html("Not in every fit", some, level=3),
    )
    return Section("parameters", "Parameters", blocks)


def _cell(row: Mapping[str, Any] | None, changed: bool) -> str:
    if row is None:
        return "-"
    std = row["std"]
    width = "?" if std is None else f"{QUANTILE * std:.2g}"
    return f"{row['value']:.4g} ± {width}" + (" changed" if changed else "")


def _residuals(found: FitComparison) -> Section:
    most = max(len(_left(item)) for item in found.records.values())
    rows = []
    for name, item in found.records.items():
        left = cells(_left(item)) + ["-"] * (most - len(_left(item)))
        rows.append(
            [
                name,
                str(item["method"]),
                str(item["model"]),
                *left,
                "all" if item.get("band_Hz") is None else cell(item["band_Hz"]),
                {True: "yes", False: "no"}.get(item.get("consistent"), "-"),  # type: ignore[arg-type]
                found.verdicts.get(name, "-"),
            ]
        )
    axes = [f"axis {k + 1} ({_unit(found, k)})" for k in range(most)]
    columns = ("fit", "method", "model", *axes, "band (Hz)", "bodies can exist", "verdict")
    blocks = (
        wide_table(columns, rows, caption="RMS of the residual on each fit's own data"),
        figure_html("RMS of the residual", _bars(found, most), "On the data of each fit itself."),
    )
    return Section("residuals", "Residuals", blocks)


def _bars(found: FitComparison, axes: int) -> Any:
    figure = panels()
    names = [f"axis {k + 1}" for k in range(axes)]
    for number, (name, item) in enumerate(found.records.items()):
        draw_bars(figure, names, _left(item), colour(number), name=name)
    return finished(figure, 320, y=_unit(found, 0))


def _left(record: Mapping[str, Any]) -> Sequence[float]:
    """RMS of the residual of each axis, in N m, or in N where carriages move the robot."""
    key = "residual_rms_Nm" if "residual_rms_Nm" in record else "residual_rms_N"
    values: Sequence[float] = record[key]
    return values


def _unit(found: FitComparison, axis: int) -> str:
    """The unit of an axis's torque in the fits; both where there are robots of both kinds."""
    return together([_units(item)[axis] for item in found.records.values()])


def _units(record: Mapping[str, Any]) -> Sequence[str]:
    """Units of the axes' torques; those of carriages are told by the file."""
    if "residual_rms_Nm" in record:
        return ("N m",) * 4
    told: Sequence[str] = record.get("axis_units", {}).get("tau", RAILS)
    return told


def _provenance(found: FitComparison) -> Section:
    rows = [[key, *values] for key, values in found.differences]
    if not rows:
        blocks = ("<p>Method, model, options, versions, data and robot file are the same.</p>",)
    else:
        table = wide_table(("what", *found.records), rows, caption="What differs", long=True)
        blocks = (table,)
    return Section("provenance", "Differences in provenance", blocks)
