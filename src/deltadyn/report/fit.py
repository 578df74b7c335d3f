"""What a fit knows by itself, as sections of a page: HTML blocks and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.determined import Status
from deltadyn.identification.fit import Fit
from deltadyn.identification.meanings import meaning
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.summary import identified_bodies
from deltadyn.identification.terms.found import LIKELY, NAMES, Terms
from deltadyn.report.html import (
    MISSED,
    Columns,
    Section,
    cell,
    figure_html,
    list_html,
    paragraphs,
    table_of,
    wide_table,
)
from deltadyn.report.plots import (
    FITTED,
    LEFT,
    MEASURED,
    SCALED,
    Curve,
    Map,
    axes_figure,
    draw_map,
    finished,
    panels,
    parameter_figure,
)
from deltadyn.robot import Robot

LEVEL = 0.95  # of the intervals
STRONG = 0.95  # correlation of two parameters that is worth a sentence


def fit_sections(fit: Fit, truth: Robot | None = None) -> list[Section]:
    """All sections that a fit fills by itself, beside the true machine where it is simulated."""
    return [
        identified_section(fit),
        training_section(fit),
        *([] if fit.terms is None else [terms_section(fit.terms)]),
        parameter_section(fit, truth),
        correlation_section(fit),
        consistency_section(fit),
        identifiability_section(fit),
    ]


def identified_section(fit: Fit) -> Section:
    """Base parameters far from the file's, and what is identified of every field of the file."""
    fields = list(fit.determined.values())
    counts = {status: len(fit.determined.of(status)) for status in _STATUS}
    head = (
        f"The logs identified {fit.parametrisation.own} base parameters. The robot file is the "
        "nearest robot to the given one that has them. Of its fields "
        f"{counts['identified']} are identified, {counts['combination']} only in combinations, "
        f"and {counts['kept']} are kept from the file."
    )
    blocks = (
        list_html("Far from the robot file", fit.far_from_file, level=3),
        paragraphs(head),
        table_of(fields, _FIELDS, "Fields of the robot file"),
    )
    numbers = {
        "far_from_file": fit.far_from_file,
        "fields": [item.as_dict() for item in fields],
    }
    return Section("identified", "What was identified", blocks, numbers)


_STATUS: dict[Status, str] = {
    "identified": "identified",
    "combination": "only in a combination",
    "kept": "kept from the file",
}
_FIELDS: Columns = {
    "field": lambda item: item.path,
    "status": lambda item: _STATUS[item.status],
    "base parameters": lambda item: ", ".join(item.base) or "-",
    "robot file": lambda item: cell(item.before, 4),
    "value": lambda item: f"{item.value:.4g}",
    "95 % from": lambda item: cell(None if item.interval is None else item.interval[0], 4),
    "to": lambda item: cell(None if item.interval is None else item.interval[1], 4),
    "unit": lambda item: item.unit,
}


def training_section(fit: Fit) -> Section:
    """Residual on the data of the fit, per axis."""
    share = np.divide(
        fit.residual, fit.torque_level, out=np.full(len(fit.residual), np.nan),
        where=fit.torque_level > 0,
    )  # fmt: skip
    rows = [
        (axis, f"{left:.3g}", f"{level:.3g}", _percent(part))
        for axis, left, level, part in zip(
            fit.robot.axis_names(), fit.residual, fit.torque_level, share, strict=True
        )
    ]
    band = "all frequencies" if fit.band is None else f"up to {fit.band:.3g} Hz"
    unit = fit.robot.axis_unit("tau")
    columns = ("axis", f"residual RMS ({unit})", f"torque RMS ({unit})", "share")
    blocks = [
        paragraphs(fit.status),
        wide_table(columns, rows, caption=f"On the data of the fit itself, {band}"),
        list_html("What deserves a look", fit.warnings + fit.findings, level=3),
    ]
    if fit.excerpt is not None:
        caption = f"The first {len(fit.excerpt.t)} samples of the first recording, {band}."
        title = "Torque of the first recording"
        blocks.append(figure_html(title, excerpt_figure(fit), caption))
    numbers = {
        "residual_rms_Nm": fit.residual,
        "torque_rms_Nm": fit.torque_level,
        "band_Hz": fit.band,
        "status": fit.status,
        "converged": fit.converged,
        "warnings": fit.warnings + fit.findings,
    }
    return Section("training", "Fit to its own data", tuple(blocks), numbers)


def excerpt_figure(fit: Fit) -> Any:
    """Measured and fitted torque and their difference, per axis."""
    units = fit.robot.axis_units("tau")
    return axes_figure(fit.robot.axis_names(), *excerpt_curves(fit), units=units)


def excerpt_curves(fit: Fit, axes: slice = slice(None)) -> tuple[list[Curve], list[Curve]]:
    """Torques and residual of some axes at the start of the first recording."""
    assert fit.excerpt is not None
    part = fit.excerpt
    measured, fitted = part.measured[:, axes], part.fitted[:, axes]
    torques = [
        Curve("measured", part.t, measured, MEASURED),
        Curve("fitted", part.t, fitted, FITTED),
    ]
    return torques, [Curve("difference", part.t, measured - fitted, LEFT)]


def terms_section(terms: Terms) -> Section:
    """What the machine has beyond the robot file's model, how sure, and what it is worth."""
    blocks = [paragraphs(terms.text.splitlines()[0] if terms.found else terms.text)]
    if terms.found:
        caption = "Terms that the evidence of the logs asks for"
        blocks.append(table_of(terms.found, _TERMS, caption))
        values = [
            (term.title, name, value, unit)
            for term in terms.found
            for name, (value, _, unit) in term.values.items()
        ]
        blocks.append(table_of(values, _TERM_VALUES, "Their parameters"))
    rivals = [
        f"{', '.join(titles) or 'no term'}: probability {share:.2f}"
        for titles, share in terms.rivals
        if share >= LIKELY
    ]
    blocks.append(list_html("Rival sets of terms that remain", rivals, level=3))
    if terms.idle:
        blocks.append(paragraphs(terms.idle_text))
    if terms.found and terms.missing:
        blocks.append(paragraphs(terms.text.splitlines()[-1]))
    considered = ", ".join(NAMES[name] for name in terms.considered)
    blocks.append(f"<p class=note>Considered: {escape(considered)}.</p>")
    return Section("terms", "Terms of this machine", tuple(blocks), terms.as_dict())


_TERMS: Columns = {
    "term": lambda term: NAMES[term.name],
    "name": lambda term: term.title,
    "belongs to": lambda term: term.of,
    "probability": lambda term: f"{term.probability:.2f}",
    "unseen motion without it (% of torque)": lambda term: f"{term.worth[0]:.2f}",
    "with it": lambda term: f"{term.worth[1]:.2f}",
}
_TERM_VALUES: Columns = {
    "term": lambda row: row[0],
    "parameter": lambda row: row[1],
    "value": lambda row: f"{row[2]:.4g}",
    "unit": lambda row: row[3],
}


def parameter_rows(fit: Fit, truth: Robot | None = None) -> list[dict[str, Any]]:
    """Every parameter: meaning, value before, value, deviation, 95 % interval, change.

    `true` is the value of the true machine, None where it is not known.
    """
    ends = fit.interval(LEVEL)
    true = {} if truth is None else true_values(fit, truth)
    rows = []
    for k, name in enumerate(fit.names):
        value, before = float(fit.values[k]), float(fit.parametrisation.prior[k])
        low, high = float(ends[k, 0]), float(ends[k, 1])
        rows.append(
            {
                "name": name,
                "meaning": meaning(name, fit.robot.linear),
                "unit": fit.units[k],
                "before": before,
                "value": value,
                "std": float(fit.std[k]),
                "low": low,
                "high": high,
                "change": (value - before) / abs(before) if before else None,
                "before_inside": low <= before <= high,
                "of": "log" if name in fit.log_names else "robot",
                "true": true.get(name),
            }
        )
    return rows


def true_values(fit: Fit, truth: Robot) -> dict[str, float]:
    """The fit's parameters of a machine that is known, by name; limbs in common have the mean."""
    par = parametrise(truth, fit.model, tied=False, com_offset=fit.model == "exact" or None)
    known = dict(zip(par.names, par.prior.tolist(), strict=True))
    every = range(1, truth.legs + 1)
    limbs = {name[:-1] for name in known if all(f"{name[:-1]}{i}" in known for i in every)}
    mean = {name: float(np.mean([known[f"{name}{i}"] for i in every])) for name in limbs}
    return {name: value for name, value in (mean | known).items() if name in fit.names}


def missed(row: dict[str, Any]) -> bool:
    """Whether the 95 % interval of a parameter does not hold the true value."""
    return row["true"] is not None and not row["low"] <= row["true"] <= row["high"]


def missed_truth(rows: Sequence[dict[str, Any]]) -> tuple[int, tuple[str, ...]]:
    """How many parameters have a true value, and the names of those that the intervals miss."""
    known = [row for row in rows if row["true"] is not None]
    return len(known), tuple(row["name"] for row in known if missed(row))


def parameter_section(fit: Fit, truth: Robot | None = None) -> Section:
    """The table of parameters beside the robot file, the figure, and what was held."""
    rows = parameter_rows(fit, truth)
    own = [row for row in rows if row["of"] == "robot"]
    held = [f"{name}: {meaning(name, fit.robot.linear)}." for name in fit.held]
    caption = "Robot file, identified value and its 95 % interval"
    table = _PARAMETERS if truth is None else _BESIDE_TRUTH
    blocks = [
        "" if truth is None else _truth_text(own),
        f"<p class=note>{escape(fit.uncertainty.status)}</p>",
        table_of(own, table, caption),
        figure_html("Change against the robot file", parameter_figure({"fit": own}), _CHANGE),
        list_html("Held at the robot file's values: the data cannot tell them", held, level=3),
    ]
    if fit.log_names:
        of_log = "What belongs to the log, not to the robot, and its 95 % interval"
        blocks.append(table_of([row for row in rows if row["of"] == "log"], _OF_LOG, of_log))
    if fit.left_out_text:
        blocks.append(paragraphs(f"{fit.left_out_text}."))
    if fit.limbs is not None:
        blocks.append(f"<h3>Limbs</h3>{paragraphs(fit.limbs.recommendation)}")
    if fit.gains is not None:
        blocks.append(f"<h3>Drive gains</h3>{paragraphs(fit.gains.status)}")
    numbers = {"parameters": rows, "held": fit.held, "uncertainty": fit.uncertainty.status}
    return Section("parameters", "Parameters", tuple(blocks), numbers)


def _truth_text(rows: Sequence[dict[str, Any]]) -> str:
    """What the truth of a simulated machine is, and where the fit misses it."""
    known, wrong = missed_truth(rows)
    told = (
        f"The log is that of a simulated machine, whose parameters are known: the column truth. It "
        f"differs from the robot file on purpose, as a real machine does. The 95 % interval holds "
        f"the truth in {known - len(wrong)} of {known} parameters"
    )
    return paragraphs(f"{told}; it misses {', '.join(wrong)}." if wrong else f"{told}.")


_PARAMETERS: Columns = {
    "parameter": lambda row: row["name"],
    "meaning": lambda row: row["meaning"],
    "robot file": lambda row: f"{row['before']:.4g}",
    "identified": lambda row: f"{row['value']:.4g}",
    "95 % from": lambda row: cell(row["low"], 4),
    "to": lambda row: cell(row["high"], 4),
    "change": lambda row: "-" if row["change"] is None else f"{100 * row['change']:+.3g} %",
    "robot file is": lambda row: "inside" if row["before_inside"] else "outside",
    "unit": lambda row: row["unit"],
}
_BESIDE_TRUTH: Columns = {
    **{name: _PARAMETERS[name] for name in ("parameter", "meaning", "robot file")},
    "truth": lambda row: cell(row["true"], 4),
    **{name: _PARAMETERS[name] for name in ("identified", "95 % from", "to")},
    "truth is": lambda row: "-" if row["true"] is None else MISSED if missed(row) else "inside",
    "unit": lambda row: row["unit"],
}
_OF_LOG: Columns = {
    name: _PARAMETERS[name]
    for name in ("parameter", "meaning", "identified", "95 % from", "to", "unit")
}
_CHANGE = (
    "Each parameter with its 95 % interval, in which the autocorrelation of the residuals is "
    "counted. Parameters that are 0 in the robot file are shown with their value. Where a few "
    "changes dwarf the others, the axis goes by powers of ten."
)


@dataclass(frozen=True)
class StrongPair:
    """Two parameters whose errors go together, and their correlation."""

    first: str
    second: str
    r: float

    def __str__(self) -> str:
        way = "together" if self.r > 0 else "against each other"
        known = "difference" if self.r > 0 else "sum"
        return (
            f"{self.first} and {self.second} ({self.r:+.3f}): their errors go {way}, "
            f"so that a {known} of them is known better than each alone."
        )


def correlation(fit: Fit) -> FloatArray:
    """Correlation (k, k) of the parameters' errors; NaN where the data do not tell one."""
    known = fit.uncertainty.known
    std = np.sqrt(np.diag(known))
    size = np.outer(std, std)
    r: FloatArray = np.divide(known, size, out=np.full(known.shape, np.nan), where=size > 0)
    r[fit.uncertainty.unknown] = np.nan
    r[:, fit.uncertainty.unknown] = np.nan
    return r


def strong_pairs(fit: Fit) -> list[StrongPair]:
    """Pairs of parameters whose errors go together, the strongest first."""
    r = correlation(fit)
    found = [
        StrongPair(fit.names[i], fit.names[j], float(r[i, j]))
        for i, j in np.argwhere(np.triu(np.abs(np.nan_to_num(r)) > STRONG, 1))
    ]
    return sorted(found, key=lambda pair: -abs(pair.r))


def correlation_section(fit: Fit) -> Section:
    """The map of correlations, and the strong ones in words."""
    pairs = strong_pairs(fit)
    told = (
        list_html(f"Pairs above {STRONG:g}", [str(pair) for pair in pairs], level=3)
        if pairs
        else f"<p>No pair of parameters is correlated by more than {STRONG:g}.</p>"
    )
    caption = "Correlation of the errors: at +1 or -1 the data cannot tell two parameters apart."
    r = correlation(fit)
    blocks = (told, figure_html("Correlation", correlation_figure(fit.names, r), caption))
    strong = [vars(pair) for pair in pairs]
    numbers = {"names": fit.names, "correlation": r, "strong": strong}
    return Section("correlation", "Correlation", blocks, numbers)


def correlation_figure(names: Sequence[str], r: FloatArray) -> Any:
    """A map of correlations (k, k) with the names of the parameters."""
    few = len(names) <= 16
    texts = [["" if np.isnan(x) else f"{x:.2f}" for x in row] for row in r]
    figure = panels()
    shown = Map(
        values=r,
        x=list(names),
        y=list(names),
        texts=texts if few else None,
        scale="RdBu_r",
        ends=(-1.0, 1.0),
        hover="%{y} with %{x}: %{z:.3f}<extra></extra>",
        title="r",
    )
    draw_map(figure, shown)
    size = max(300, min(640, 34 * len(names) + 130))
    finished(figure, size, legend=False, left=95, right=SCALED)
    figure.update_layout(width=size + SCALED)
    turned = None if len(names) <= 12 else -60
    figure.update_xaxes(type="category", dtick=1, constrain="domain", tickangle=turned)
    figure.update_yaxes(type="category", dtick=1, autorange="reversed", scaleanchor="x")
    return figure


def consistency_section(fit: Fit) -> Section:
    """Whether the bodies can exist, one row each, and the proof of the optimum."""
    found = fit.consistency
    head = "All bodies can exist." if found.consistent else "Not all bodies can exist."
    trouble = [body.sentence for body in found.bodies if not body.consistent]
    alone = identified_bodies(fit)
    blocks = [
        paragraphs(head),
        list_html("What is wrong", [*trouble, *found.findings], level=3),
        table_of(alone, _BODIES, "Bodies that were identified") if alone else _NO_BODY,
    ]
    if fit.certificate is not None:
        blocks.append(f"<h3>Certificate</h3>{paragraphs(fit.certificate.sentence)}")
    numbers = {
        "consistent": found.consistent,
        "robot_has_the_values": fit.consistent,
        "findings": found.findings,
        "bodies": [vars(body) for body in found.bodies],
        "certificate": None if fit.certificate is None else vars(fit.certificate),
    }
    return Section("consistency", "Consistency", tuple(blocks), numbers)


_NO_BODY = paragraphs(
    "No body is identified by itself: the logs hold masses, centres of mass and inertias in "
    "combinations. Those of the robot file are one choice among many with the same torque."
)
_BODIES: Columns = {
    "body": lambda body: body.name,
    "mass (kg)": lambda body: f"{body.mass:.4g}",
    "COM (m)": lambda body: "-" if body.com is None else ", ".join(f"{x:.3g}" for x in body.com),
    "principal inertias (kg m^2)": lambda body: ", ".join(f"{x:.3g}" for x in body.principal),
    "smallest eigenvalue": lambda body: f"{body.eigenvalues[0]:.2g}",
    "can exist": lambda body: "yes" if body.consistent else "no",
    "inside its hull": lambda body: {True: "yes", False: "no", None: "-"}[body.inside],
}


def identifiability_section(fit: Fit) -> Section:
    """What the data tell and what they do not, in words."""
    found = fit.identifiability
    if found is None:
        text = "<p>This method does not say what the data can tell.</p>"
        return Section("identifiability", "Identifiability", (text,))
    share = dict(zip(found.names, found.relative, strict=True))
    weak = [f"{name} ({_percent(share[name])})" for name in found.weak]
    together = [f"{a} with {b}" for a, b in found.together]
    blocks = [
        f"<p>{found.rank} of {len(found.names)} parameters are independent in these data. "
        f"Condition number {found.condition_number:.3g} with weighted rows and columns of unit "
        f"length, {found.raw_condition_number:.3g} raw.</p>",
        _names("No influence on the torque", found.no_influence),
        _names("Hidden by noise", found.drowned),
        _names("Told in sums only", found.sums),
        _names("Weak: predicted beforehand, without what is missing, above 30 % of the size", weak),
        _names("Weak because they hang together", together),
        list_html("What would help", [f"{t}." for t in found.advice + found.weak_advice], level=3),
        list_html("Standard parameters in sums", [f"{text}." for text in found.grouped], level=3),
    ]
    numbers = {
        "rank": found.rank,
        "condition_number": found.condition_number,
        "raw_condition_number": found.raw_condition_number,
        "relative": share,
        **{
            key: getattr(found, key)
            for key in ("no_influence", "drowned", "dependent", "sums", "weak", "essential", "held")
        },
        "advice": found.advice + found.weak_advice,
        "text": found.text,
    }
    return Section("identifiability", "Identifiability", tuple(blocks), numbers)


def _names(title: str, names: Sequence[str]) -> str:
    return f"<h3>{escape(title)}</h3>{paragraphs(', '.join(names))}" if names else ""


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if np.isfinite(share) else "-"
