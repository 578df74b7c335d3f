"""Doors to the pages: how a result of any layer reaches its page without importing `report`.

All pages live in `deltadyn.report`, below the algorithms in the order of layers. A result that
offers `page(path)` names its kind here; the module that writes the page is imported when the
page is asked for. So no algorithm loads plotting or HTML, and none knows who draws its result.

To give a result a page: write `function(result, path) -> Path` in `report/`, add a row to `PAGES`
and let the result's `page` call `write_page`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from deltadyn.errors import InputError

#: The kind of a result: "module:function" that takes the result and a path and writes the page.
PAGES = {
    "audit": "deltadyn.report.papers.audit:write_audit",
    "audit text": "deltadyn.report.papers.audit:audit_text",
    "calibration": "deltadyn.report.calibration:calibration_page",
    "check": "deltadyn.report.check:check_page",
    "comparison": "deltadyn.report.validation:comparison_page",
    "drift": "deltadyn.report.drift:drift_page",
    "excitation": "deltadyn.report.excitation:excitation_page",
    "fit": "deltadyn.report.write:write_fit_page",
    "fits": "deltadyn.report.comparison:write_comparison",
    "fleet": "deltadyn.report.fleet:fleet_page",
    "force": "deltadyn.report.force:force_page",
    "loads": "deltadyn.report.sizing:loads_page",
    "picks": "deltadyn.report.picks:pick_page",
    "reproduction": "deltadyn.report.papers:write_reproduction",
    "sizing table": "deltadyn.report.sizing:table_page",
    "study": "deltadyn.report.write:write_report",
    "validation": "deltadyn.report.validation:validation_page",
}


def write_page(kind: str, result: object, path: str | os.PathLike[str]) -> Path:
    """Write the page of a result of this kind; the path of what was written."""
    return Path(writer(kind)(result, path))


def writer(kind: str) -> Callable[..., Any]:
    """The function behind a door; its module is imported here and not before."""
    if kind not in PAGES:
        raise InputError("kind of a page", kind, ", ".join(sorted(PAGES)))
    module, _, name = PAGES[kind].partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
