"""Views that show the whole robot, and its meshes as files."""

from __future__ import annotations

import math

import numpy as np

from deltadyn.exports.mjcf.tree import Element, add, child, text
from deltadyn.exports.scenes.scene import read_scene

AZIMUTH, ELEVATION = 135.0, -15.0  # degrees, where the views look to
HALF_FIELD = math.radians(45.0 / 2) * 0.85  # of MuJoCo's cameras, with a margin
DISTANCE = 1.5  # of the free camera, in extents of the model


def aim(root: Element) -> None:
    """The free camera and a camera `front` that see the whole robot at home.

    A point c from the middle of all that is drawn is seen at a distance D where |c r|, |c u| <=
    (D + c f) tan(field / 2); r, u, f point to the right, up and forward.
    """
    points = read_scene(root).points()
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    a, e = math.radians(AZIMUTH), math.radians(ELEVATION)
    forward = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    right = np.array([math.sin(a), -math.cos(a), 0.0])
    up = np.cross(right, forward)
    points = points - middle
    wide = np.maximum(np.abs(points @ right), np.abs(points @ up)) / math.tan(HALF_FIELD)
    distance = float((wide - points @ forward).max())
    eye = middle - distance * forward
    add(child(root, "worldbody"), "camera", name="front", pos=eye.tolist(),
        xyaxes=[*right.tolist(), *up.tolist()])  # fmt: skip
    statistic = child(root, "statistic")
    statistic.set("center", text(middle.tolist()))
    statistic.set("extent", text(distance / DISTANCE))
    look = next(root.iter("global"))
    look.attrib |= {"azimuth": f"{AZIMUTH:g}", "elevation": f"{ELEVATION:g}"}


def refer_to_meshes(root: Element, folder: str) -> None:
    """Let the model read its meshes from files in a folder beside it."""
    child(root, "compiler").set("meshdir", folder)
    for item in root.iter("mesh"):
        del item.attrib["vertex"]
        item.set("file", f"{item.get('name')}.obj")
