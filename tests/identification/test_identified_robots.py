"""Every identified robot can exist: consistent bodies, and a positive definite M everywhere."""

from functools import cache

import numpy as np
import pytest
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.dynamics.base import exciting_states
from deltadyn.identification import METHODS, consistency, identify
from deltadyn.identification.shared import Shared
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform

STATES = 10_000
SWARM = {"iterations": 40, "particles": 40, "neighbours": 8}
CASES = [
    *(("sipro-d3-1200", method, {}) for method in sorted(set(METHODS) - {"two-step", "swarm"})),
    ("sipro-d3-1200", "swarm", SWARM),
    *(
        ("sipro-d3-1200", method, {"model": "rigid"})
        for method in ("base", "convex", "l1", "robust")
    ),
    ("sipro-d3-1200", "convex", {"tied": False}),
    ("sipro-d3-1200", "convex", {"regularisation": "entropic"}),
    *(("example-delta-4", method, {}) for method in ("base", "convex", "log-cholesky", "svd")),
    ("abb-irb360-6-1600", "convex", {"model": "rigid"}),
]


@cache
def logged(name: str, noise: float) -> tuple[Robot, Shared]:
    """What a machine's file says, with other masses and no friction known, and a log of it."""
    machine = dd.load_robot(name).with_friction(viscous=0.6, coulomb=1.5)
    file = machine.replace(platform=Platform(machine.platform.mass * 0.8))
    file = file.with_friction(viscous=0.0, coulomb=0.0)
    return file, Shared(file, recording_of(machine, noise, seed=11))


@pytest.mark.full
@pytest.mark.parametrize(("name", "method", "options"), CASES)
@pytest.mark.parametrize("noise", [0.5, 8.0])  # N m: a usual log and a very poor one
def test_an_identified_robot_can_exist(
    name: str, method: str, options: dict[str, object], noise: float
) -> None:
    file, log = logged(name, noise)
    fit = identify(
        file,
        log,
        method,
        rates="measured",
        check=False,
        unidentifiable="hold",
        **options,  # type: ignore[arg-type]
    )
    verdict = consistency(fit.robot)
    assert verdict.consistent, verdict.text
    states = exciting_states(fit.robot, 100, 12)
    rng = np.random.default_rng(13)
    near = states.p[rng.integers(0, 100, STATES)]
    p = near + 0.01 * rng.uniform(-1, 1, near.shape)
    reachable = State.from_platform(fit.robot, p, unreachable="nan")
    keep = np.isfinite(reachable.cos_q).all(axis=1)
    assert keep.mean() > 0.9
    state = State.from_platform(fit.robot, p[keep])
    model = "rigid" if fit.model == "rigid" else "exact"
    np.linalg.cholesky(dd.equations_of_motion(fit.robot, state, model=model).M)
