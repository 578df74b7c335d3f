"""The report of a fit: one HTML page with tables, verdicts and figures."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.pages import figures_html, list_html, table_html, write_page

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

MEASURED, FITTED, LEFT = "#1f5fa8", "#d2691e", "#8a9099"


def write_fit_page(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Write the page of a fit."""
    figures = [("Parameters against their values before", _parameter_figure(fit), _PARAMETERS)]
    if fit.excerpt is not None:
        figures.append(("Torque of the first recording", _torque_figure(fit), _torque_caption(fit)))
    blocks = [
        f"<p>{escape(fit.status)}</p>",
        _residual_table(fit),
        _parameter_table(fit),
        *figures_html(figures),
        list_html("What deserves a look", fit.warnings),
        _verdicts(fit),
        _origin(fit),
    ]
    title = f"{fit.nominal.name}: {fit.method} fit of the model {fit.model}"
    return write_page(path, title, blocks)


_PARAMETERS = (
    "Each parameter against the robot file with its 95 % interval, in which the autocorrelation of "
    "the residuals is counted; parameters that were 0 before are shown in their own unit."
)


def _residual_table(fit: Fit) -> str:
    rows = [
        (axis, f"{left:.3g}", f"{level:.3g}", f"{100 * left / level:.2g} %" if level else "-")
        for axis, left, level in zip(
            fit.robot.axis_names(), fit.residual, fit.torque_level, strict=True
        )
    ]
    band = "all frequencies" if fit.band is None else f"up to {fit.band:.3g} Hz"
    table = table_html(("axis", "residual RMS (N m)", "torque RMS (N m)", "share"), rows)
    return f"<h2>Residual, {band}</h2>{table}"


def _parameter_table(fit: Fit) -> str:
    ends = fit.uncertainty.interval(0.95)
    rows = [
        (name, f"{value:.5g}", f"{std:.2g}", f"{low:.4g}", f"{high:.4g}", f"{before:.5g}", unit)
        for name, value, std, (low, high), before, unit in zip(
            fit.names,
            fit.values,
            fit.std,
            ends,
            fit.parametrisation.prior,
            fit.units,
            strict=True,
        )
    ]
    columns = ("parameter", "value", "std", "95 % from", "to", "before", "unit")
    held = f"<p>Held at their values before: {escape(', '.join(fit.held))}</p>" if fit.held else ""
    return f"<h2>Parameters</h2>{table_html(columns, rows)}{held}"


def _parameter_figure(fit: Fit) -> Any:
    """Changes of the parameters with their intervals; values of those that were 0 before."""
    import plotly.graph_objects as go  # a second of import
    from plotly.subplots import make_subplots

    prior = fit.parametrisation.prior
    half = fit.uncertainty.interval(0.95)[:, 1] - fit.values
    half = np.where(np.isfinite(half), half, 0.0)
    known = prior != 0
    groups = [
        ("change against the value before (%)", known, 100 / np.where(known, np.abs(prior), 1.0)),
        ("value in its unit", ~known, np.ones(len(prior))),
    ]
    groups = [group for group in groups if group[1].any()]
    widths = [float(group[1].sum()) for group in groups]
    figure = make_subplots(rows=1, cols=len(groups), column_widths=widths)
    for column, (title, which, factor) in enumerate(groups, 1):
        points = go.Scatter(
            x=[name for name, yes in zip(fit.names, which, strict=True) if yes],
            y=((fit.values - prior) * factor)[which],
            error_y={"type": "data", "array": (half * factor)[which]},
            mode="markers",
            marker={"size": 9, "color": MEASURED},
            showlegend=False,
        )
        figure.add_trace(points, row=1, col=column)
        figure.add_hline(y=0.0, line_color=LEFT, row=1, col=column)
        figure.update_yaxes(title_text=title, row=1, col=column)
    figure.update_layout(template="plotly_white", height=380)
    return figure


def _torque_figure(fit: Fit) -> Any:
    """Measured and fitted torque and their difference, one row per axis."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    assert fit.excerpt is not None
    part, dof = fit.excerpt, fit.robot.dof
    titles = [f"axis {name}" for name in fit.robot.axis_names()]
    figure = make_subplots(rows=dof, cols=1, shared_xaxes=True, subplot_titles=titles)
    for axis in range(dof):
        for name, values, colour in (
            ("measured", part.measured[:, axis], MEASURED),
            ("fitted", part.fitted[:, axis], FITTED),
            ("difference", (part.measured - part.fitted)[:, axis], LEFT),
        ):
            line = go.Scatter(
                x=part.t,
                y=values,
                name=name,
                line={"color": colour, "width": 1.2},
                legendgroup=name,
                showlegend=axis == 0,
            )
            figure.add_trace(line, row=axis + 1, col=1)
        figure.update_yaxes(title_text="torque (N m)", row=axis + 1, col=1)
    figure.update_xaxes(title_text="t (s)", row=dof, col=1)
    figure.update_layout(
        template="plotly_white", height=240 * dof + 80, legend={"orientation": "h"}
    )
    return figure


def _torque_caption(fit: Fit) -> str:
    if fit.band is None:
        return "Torque as recorded."
    return f"Measured and fitted torque passed the same filter up to {fit.band:.3g} Hz."


def _verdicts(fit: Fit) -> str:
    """What the data tell, how sure, and whether the bodies can exist."""
    texts = [("Uncertainty", fit.uncertainty.status), ("Consistency", str(fit.consistency))]
    if fit.identifiability is not None:
        texts.insert(0, ("Identifiability", fit.identifiability.text))
    if fit.certificate is not None:
        texts.append(("Certificate", fit.certificate.sentence))
    if fit.limbs is not None:
        texts.append(("Limbs", fit.limbs.recommendation))
    if fit.gains is not None:
        texts.append(("Drive gains", fit.gains.status))
    return "".join(
        f"<h2>{escape(title)}</h2>"
        + "".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line.strip())
        for title, text in texts
    )


def _origin(fit: Fit) -> str:
    rows = [
        (
            source.name,
            source.file or "-",
            str(source.samples),
            f"{source.duration:.4g}",
            "-" if source.payload is None else f"{source.payload:g}",
            source.sha256[:16],
        )
        for source in fit.data
    ]
    if not rows:
        return ""
    columns = ("recording", "file", "samples", "duration (s)", "payload (kg)", "SHA-256")
    chosen = ", ".join(f"{key}={value!r}" for key, value in fit.options.items())
    return f"<h2>Data</h2>{table_html(columns, rows)}<p class=note>{escape(chosen)}</p>"
