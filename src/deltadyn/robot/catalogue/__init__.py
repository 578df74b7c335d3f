"""Ready-made robots as robot files, each value with its source, and their listing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from deltadyn.robot.file import load_robot, robot_names
from deltadyn.robot.robot import Robot


@dataclass(frozen=True)
class CatalogueRow:
    """A robot of the catalogue in one line; None where its file does not say."""

    name: str
    kind: str  # what moves the limbs and what they hold: "rotary, planar"
    dof: int
    payload: float | None  # kg, the most it carries
    reach: float | None  # m, radius of its workspace
    cycles: float | None  # 1/min
    source: str  # where most of its values come from
    sourced: int  # values with a source
    assumed: int  # values that are assumptions


def catalogue_table() -> tuple[CatalogueRow, ...]:
    """Every robot of the catalogue: name, degrees of freedom, payload, reach, source."""
    return tuple(_row(load_robot(name)) for name in robot_names())


def _row(robot: Robot) -> CatalogueRow:
    given = [source.text for source in robot.sources.values() if not source.assumed]
    keys = Counter(text.partition(",")[0] for text in given)
    workspace = robot.limits.workspace
    moved = "linear" if robot.linear else "rotary"
    held = "with a spindle" if robot.spindle is not None else robot.platform.kind
    return CatalogueRow(
        name=robot.name,
        kind=f"{moved}, {held}",
        dof=robot.dof,
        payload=robot.limits.payload,
        reach=None if workspace is None else workspace.radius,
        cycles=robot.limits.cycles,
        source=keys.most_common(1)[0][0] if keys else "made up",
        sourced=len(given),
        assumed=len(robot.sources) - len(given),
    )
