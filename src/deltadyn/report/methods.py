"""Section: what other methods make of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deltadyn.identification.fit import Fit
from deltadyn.identification.fit_figures import parameter_figure
from deltadyn.identification.fit_sections import parameter_rows
from deltadyn.pages import Section, figure_html, list_html, wide_table
from deltadyn.report.held_out import MethodResult
from deltadyn.report.numbers import cell, cells


def methods_section(results: Sequence[MethodResult], axes: Sequence[str]) -> Section:
    """A row per method, then the parameters side by side."""
    judged = next(item.fit for item in results if item.fit is not None)
    rows = [_row(item, judged, axes) for item in results]
    columns = (
        "method",
        "model",
        *(f"held-out, axis {axis} (N m)" for axis in axes),
        *(f"own data, axis {axis} (N m)" for axis in axes),
        "objective",
        "bodies can exist",
        "held",
        "time (s)",
    )
    failed = [f"{item.name}: {item.trouble}" for item in results if item.fit is None]
    fits = {item.name: parameter_rows(item.fit) for item in results if item.fit is not None}
    blocks = (
        wide_table(columns, rows, caption=_CAPTION),
        list_html("Methods that could not", failed, level=3),
        figure_html("Parameters by method", parameter_figure(fits), _FIGURE),
    )
    numbers = {
        "methods": [
            {
                "method": item.name,
                "model": None if item.fit is None else item.fit.model,
                "held_out_rms_Nm": None if item.held_out is None else item.held_out.metrics.rms,
                "held_out_relative": None if item.held_out is None else item.held_out.relative,
                "residual_rms_Nm": None if item.fit is None else item.fit.residual,
                "objective": None if item.fit is None else objective(item.fit, judged),
                "consistent": None if item.fit is None else item.fit.consistent,
                "converged": None if item.fit is None else item.fit.converged,
                "status": item.trouble if item.fit is None else item.fit.status,
                "held": [] if item.fit is None else item.fit.held,
                "seconds": item.seconds,
                "parameters": fits.get(item.name),
            }
            for item in results
        ]
    }
    return Section("methods", "Comparison of methods", blocks, numbers)


_CAPTION = (
    "The first method is the one that is judged. Objective: mean over the axes of the squared "
    "residual on the data of the fit, each axis with the weight of the first method; a method "
    "that minimises something else may have more"
)
_FIGURE = "Change against the robot file with the 95 % interval of every method."


def objective(fit: Fit, judged: Fit) -> float:
    """Mean square of the residual, weighted like the judged fit."""
    weights = np.atleast_2d(judged.weights).mean(axis=0)  # (dof,), or one row per block of time
    return float(np.mean((weights * fit.residual) ** 2))


def _row(item: MethodResult, judged: Fit, axes: Sequence[str]) -> list[Any]:
    none = ["-"] * len(axes)
    out = none if item.held_out is None else cells(item.held_out.metrics.rms)
    fit = item.fit
    seconds = "-" if item.seconds is None else f"{item.seconds:.2g}"
    if fit is None:
        return [item.name, "-", *out, *none, "-", "-", "-", seconds]
    return [
        item.name,
        fit.model,
        *out,
        *cells(fit.residual),
        cell(objective(fit, judged), 5),
        "yes" if fit.consistent else "no",
        str(len(fit.held)),
        seconds,
    ]
