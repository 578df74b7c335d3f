"""Wrong calls: what is raised and what it says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.family.robots import make
from tests.kinematics.robots import D3, SPINDLE

from deltadyn.errors import DeltadynError, InputError, UnknownNameError, UnreachableError
from deltadyn.kinematics import (
    LimbGeometry,
    State,
    WorkspaceRules,
    cylinder_inside,
    forward_kinematics,
    in_workspace,
    inverse_kinematics,
    jacobian,
    jacobian_rate,
    passive_rate_map,
    reachable,
    singularity,
    spindle_coordinates,
    spindle_determinant,
    spindle_motion,
    spindle_point,
    strut_angles,
    workspace,
    workspace_grid,
)
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.limbs import limbs
from deltadyn.kinematics.platform import platform_point
from deltadyn.robot.bodies import Geometry
from deltadyn.robot.settings import Limits, Workspace

P = [0.0, 0.0, -0.8]
ROWS = [P, P]
ANY: Any = None  # a value of a wrong type, past the type checker

#: Level arms hold their elbows 1.075 m out, or have their struts folded back along them: in sums of
#: powers of two, which no processor rounds.
WIDE = D3.replace(geometry=Geometry(0.75, 0.05, 0.375, 0.9))
FOLDED = D3.replace(geometry=Geometry(0.625, 0.125, 0.375, 0.875))

#: A platform of two halves, whose pose has no closed form.
PAR4 = make("par4")
PAR4_STATE = State.from_platform(PAR4, [[0.02, 0.01, -0.85, 0.1]])
PAR4_POSE = (PAR4_STATE.p, PAR4_STATE.cos_q, PAR4_STATE.sin_q)

CALLS: list[tuple[Callable[[], object], type[DeltadynError], str]] = [
    (
        lambda: inverse_kinematics(D3, [0.0, 0.0]),
        InputError,
        "shape of p is [2]; allowed: (3,) or (N, 3): robot.coordinates are x, y, z",
    ),
    (
        lambda: inverse_kinematics(SPINDLE, ROWS),
        InputError,
        "shape of p is [2, 3]; allowed: (4,) or (N, 4): robot.coordinates are x, y, z, psi",
    ),
    (
        lambda: inverse_kinematics(D3, -0.8),
        InputError,
        "shape of p is []; allowed: (3,) or (N, 3): robot.coordinates are x, y, z",
    ),
    (
        lambda: inverse_kinematics(D3, [P, [0.0, np.nan, -0.8]]),
        InputError,
        "p at row 1, axis 1 is nan; allowed: finite numbers",
    ),
    (
        lambda: forward_kinematics(D3, [0.0, 0.0, -np.inf], unreachable="nan"),
        InputError,
        "q at row 0, axis 2 is -inf; allowed: finite numbers",
    ),
    (
        lambda: inverse_kinematics(D3, P, elbows="up"),
        InputError,
        "elbows is 'up'; allowed: 'out' or 'in', for all arms or one per arm",
    ),
    (
        lambda: inverse_kinematics(D3, P, elbows=("out", "in")),
        InputError,
        "elbows is ['out', 'in']; allowed: 'out' or 'in', for all arms or one per arm",
    ),
    (
        lambda: inverse_kinematics(D3, P, elbows=ANY),
        InputError,
        "elbows is None; allowed: 'out' or 'in', for all arms or one per arm",
    ),
    (
        lambda: forward_kinematics(D3, P, platform="down"),
        InputError,
        "platform is 'down'; allowed: 'below' or 'above'",
    ),
    (
        lambda: State.from_joints(D3, P, platform="down"),
        InputError,
        "platform is 'down'; allowed: 'below' or 'above'",
    ),
    (
        lambda: inverse_kinematics(D3, P, unreachable=ANY),
        InputError,
        "unreachable is None; allowed: 'raise' or 'nan'",
    ),
    (
        lambda: State.from_platform(D3, ROWS, [P, P, P]),
        InputError,
        "rows of pd is 3; allowed: 2, as its partners have",
    ),
    (
        lambda: State.from_joints(D3, ROWS, P, [P, P, P]),
        InputError,
        "rows of qdd is 3; allowed: 2, as its partners have",
    ),
    (
        lambda: jacobian_rate(D3, ROWS, [P, P, P]),
        InputError,
        "rows of pd is 3; allowed: 2, as its partners have",
    ),
    (
        lambda: State.from_platform(D3, P, [0.0, 1.0]),
        InputError,
        "shape of pd is [2]; allowed: (3,) or (N, 3)",
    ),
    (
        lambda: inverse_kinematics(D3, "home"),
        InputError,
        "p is 'home'; allowed: an array of real numbers",
    ),
    (
        lambda: reachable(D3, ["a", "b", "c"]),
        InputError,
        "p is ['a', 'b', 'c']; allowed: an array of real numbers",
    ),
    (
        lambda: inverse_kinematics(D3, np.array([0j, 0j, -0.8])),
        InputError,
        r"p is [0j, 0j, (-0.8+0j)]; allowed: an array of real numbers",
    ),
    (
        lambda: inverse_kinematics(D3, [0.0, 0.0, -3.0]),
        UnreachableError,
        "p at row 0 cannot be reached: [0, 0, -3]: arms 1, 2, 3 are too short or too long for it; "
        "pass unreachable='nan' to get NaN rows instead",
    ),
    (
        lambda: jacobian(D3, [P, [-0.9, 0.0, -0.74], [0.0, 0.0, -3.0]]),
        UnreachableError,
        "p at row 1 and 1 more rows cannot be reached: [-0.9, 0, -0.74]: arm 1 is too short or too "
        "long for it; pass unreachable='nan' to get NaN rows instead",
    ),
    (
        lambda: forward_kinematics(WIDE, [0.0, 0.0, 0.0]),
        UnreachableError,
        "q at row 0 cannot be reached: [0, 0, 0]: no platform position closes the loop at these "
        "angles; pass unreachable='nan' to get NaN rows instead",
    ),
    (
        lambda: State.from_joints(WIDE, [0.0, 0.0, 0.0]),
        UnreachableError,
        "q at row 0 cannot be reached: [0, 0, 0]: no platform position closes the loop at these "
        "angles; pass unreachable='nan' to get NaN rows instead",
    ),
    (
        lambda: State.from_platform(FOLDED, [0.0, 0.0, 0.0]),
        UnreachableError,
        "p at row 0 cannot be reached: [0, 0, 0]: singular pose, an arm and its strut are in line; "
        "pass unreachable='nan' to get NaN rows instead",
    ),
    (
        lambda: strut_angles(D3, [0.0, 0.0, -3.0]),
        UnreachableError,
        "p at row 0 cannot be reached: [0, 0, -3]: arms 1, 2, 3 are too short or too long for it; "
        "pass unreachable='nan' to get NaN rows instead",
    ),
    (
        lambda: singularity(D3, P, tolerance=-1.0),
        InputError,
        "tolerance is -1; allowed: at least 0 rad",
    ),
    (
        lambda: passive_rate_map(D3, State.from_platform(D3, P), "knee"),
        UnknownNameError,
        "joint is 'knee'; allowed: one of 'prismatic', 'elbow_swing', 'elbow_sway', "
        "'platform_swing', 'platform_sway', 'universal_fork', 'universal_cross'",
    ),
    (
        lambda: passive_rate_map(D3, State.from_platform(D3, P), "prismatic"),
        InputError,
        "robot is 'd3'; allowed: a robot with a spindle",
    ),
    (lambda: spindle_motion(D3, P), InputError, "robot is 'd3'; allowed: a robot with a spindle"),
    (
        lambda: spindle_motion(SPINDLE, [*P, 0.0], P),
        InputError,
        "shape of pd is [3]; allowed: (4,) or (N, 4)",
    ),
    (
        lambda: spindle_coordinates(SPINDLE, [*P, 0.0], ANY),
        UnknownNameError,
        "system is None; allowed: one of 'polar', 'projected'",
    ),
    (
        lambda: spindle_coordinates(SPINDLE, [0.0, 0.0, 0.5, 0.0]),
        InputError,
        "p at row 0, axis 2 is 0.5; allowed: below the upper joint, z < 0.03 m",
    ),
    (
        lambda: spindle_point(SPINDLE, [0.8, 0.0, 1.6]),
        InputError,
        "coordinates at row 0, axis 2 is 1.6; allowed: projected angles between -pi/2 and pi/2",
    ),
    (
        lambda: spindle_determinant([0.8, 0.0], "polar"),
        InputError,
        "shape of coordinates is [2]; allowed: (3,) or (N, 3)",
    ),
    (
        lambda: workspace(D3, heights=1),
        InputError,
        "heights is 1; allowed: a whole number of at least 2",
    ),
    (
        lambda: workspace(D3, azimuths=ANY),
        InputError,
        "azimuths is None; allowed: a whole number of at least 3",
    ),
    (lambda: workspace_grid(D3, 0.0), InputError, "spacing is 0; allowed: above 0 m"),
    (
        lambda: WorkspaceRules(singularity=2.0),
        InputError,
        "singularity margin is 2; allowed: from 0 to below pi/2 rad, or None",
    ),
    (
        lambda: in_workspace(D3, [0.0, np.inf, 0.0]),
        InputError,
        "p at row 0, axis 1 is inf; allowed: finite numbers",
    ),
    (
        lambda: cylinder_inside(D3),
        InputError,
        "cylinder is None; allowed: a cylinder, or a robot with limits.workspace",
    ),
    (
        lambda: LimbGeometry.of(PAR4, *PAR4_POSE).jacobian_rate(np.zeros((1, 4))),
        InputError,
        "platform is 'Articulated'; allowed: the point of three limbs: `jacobian_rate` knows the "
        "other platforms",
    ),
    (
        lambda: platform_point(np, limbs(PAR4), PAR4_STATE.cos_q[0], PAR4_STATE.sin_q[0]),
        InputError,
        "forward kinematics of the platform is 'Articulated'; allowed: one with a closed form: "
        "translation or planar",
    ),
    (
        lambda: home_pose(PAR4.replace(limits=Limits(workspace=Workspace(0.1, -9.0, -8.0)))),
        InputError,
        "robot is 'par4'; allowed: a robot whose limbs all reach a point of its axis",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS, ids=[text for _, _, text in CALLS])
def test_message(call: Callable[[], object], error: type[DeltadynError], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == message


def test_errors_carry_their_data() -> None:
    with pytest.raises(UnreachableError) as far:
        inverse_kinematics(D3, [P, [0.0, 0.0, -3.0], P, [0.0, 0.0, -4.0]])
    assert far.value.rows == (1, 3)
    assert far.value.quantity == "p"
    np.testing.assert_array_equal(np.asarray(far.value.value), [0.0, 0.0, -3.0])
    with pytest.raises(InputError) as bad:
        inverse_kinematics(D3, [P, [0.0, np.nan, -0.8]])
    assert (bad.value.quantity, bad.value.where) == ("p", "row 1, axis 1")
    assert isinstance(bad.value, ValueError)
