"""The report of a fit: one HTML page with what the fit knows by itself."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from deltadyn.identification.fit_sections import fit_sections
from deltadyn.pages import write_sections

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit


def write_fit_page(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Write the page of a fit."""
    title = f"{fit.nominal.name}: {fit.method} fit of the model {fit.model}"
    count = sum(source.samples for source in fit.data)
    seconds = sum(source.duration for source in fit.data)
    logs = f"{len(fit.data)} recording{'' if len(fit.data) == 1 else 's'}"
    subtitle = f"{logs}, {count} samples, {seconds:.4g} s"
    return write_sections(path, title, subtitle, [_lead(fit)], fit_sections(fit))


def _lead(fit: Fit) -> str:
    """What can be said of a fit that was not held against other data."""
    sound = fit.converged and fit.consistent and not fit.warnings
    kind = "unknown" if sound else "care" if fit.converged else "bad"
    head = "Not judged on other data" if fit.converged else "Not to be trusted"
    texts = [
        fit.status,
        *fit.warnings,
        "A fit is worth what it predicts on a motion that it has not seen: validate it, or write "
        "the whole report with `deltadyn report`.",
    ]
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<div class="verdict {kind}"><h2>{head}</h2><ul>{items}</ul></div>'
