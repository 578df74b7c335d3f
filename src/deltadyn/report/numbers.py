"""Numbers on their way into JSON and into cells of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries only; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int | np.integer):
        return int(value)
    return value if value is None or isinstance(value, str) else str(value)


def cell(value: float | None, digits: int = 3) -> str:
    """A number for a table; "-" where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.{digits}g}"


def cells(values: Iterable[float], digits: int = 3) -> list[str]:
    """Numbers for a table."""
    return [cell(value, digits) for value in values]


def percent(share: float | None) -> str:
    """A share in percent with its unit; "-" where there is none."""
    if share is None or not math.isfinite(share):
        return "-"
    return f"{100 * share:.0f} %" if abs(share) >= 0.995 else f"{100 * share:.2g} %"
