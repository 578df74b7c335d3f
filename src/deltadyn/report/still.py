"""The robot as a line drawing in SVG, for paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deltadyn.arrays import FloatArray

AZIMUTH, ELEVATION = np.deg2rad(-50.0), np.deg2rad(18.0)  # of the eye
WIDTH = 460  # pixels
MARGIN = 12
STROKES = {
    "base": ("#6b7280", 3.0),
    "arm": ("#1f5fa8", 5.0),
    "strut": ("#8a9099", 1.6),
    "platform": ("#c2540a", 3.5),
    "spindle": ("#3f3f46", 2.6),
    "pointer": ("#b3246b", 2.6),
}


def still_svg(path: FloatArray, poses: Sequence[Mapping[str, Sequence[FloatArray]]]) -> str:
    """The path (M, 3) and some poses by their lines; the middle pose stands out."""
    points = [path, *(line for pose in poses for lines in pose.values() for line in lines)]
    flat = np.concatenate([projected(line) for line in points])
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = (WIDTH - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    height = float((high - low)[1]) * scale + 2 * MARGIN
    width = float((high - low)[0]) * scale + 2 * MARGIN

    def drawn(line: FloatArray, colour: str, stroke: float, opacity: float) -> str:
        xy = (projected(line) - low) * scale + MARGIN
        text = " ".join(f"{x:.1f},{height - y:.1f}" for x, y in xy)
        return (
            f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{stroke:g}" '
            f'stroke-opacity="{opacity:g}" stroke-linecap="round"/>'
        )

    parts = []
    middle = len(poses) // 2
    for k, pose in enumerate(poses):
        if k != middle:
            parts += [_strokes(drawn, pose, 0.25)]
    parts += [drawn(path, "#b3246b", 1.2, 1.0), _strokes(drawn, poses[middle], 1.0)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="The robot in {len(poses)} poses along its path">{"".join(parts)}</svg>'
    )


def projected(points: FloatArray) -> FloatArray:
    """Points (N, 3) as seen by the eye from far away: right and up (N, 2), in m."""
    right = np.array([-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0])
    up = np.array(
        [
            -np.sin(ELEVATION) * np.cos(AZIMUTH),
            -np.sin(ELEVATION) * np.sin(AZIMUTH),
            np.cos(ELEVATION),
        ]
    )
    out: FloatArray = np.stack([points[:, :3] @ right, points[:, :3] @ up], axis=-1)
    return out


def _strokes(drawn: object, pose: Mapping[str, Sequence[FloatArray]], opacity: float) -> str:
    assert callable(drawn)
    return "".join(
        drawn(line, *STROKES[part], opacity) for part, lines in pose.items() for line in lines
    )
