"""The look of the pictures in the gallery; the scripts themselves set none."""

from __future__ import annotations

from typing import Any

STYLE = {
    "figure.dpi": 120,
    "font.size": 9.5,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def reset(gallery_conf: dict[str, Any], fname: str) -> None:
    """Called by sphinx-gallery before each script, after matplotlib's defaults are back."""
    import matplotlib as mpl

    mpl.rcParams.update(STYLE)
