"""What touches the platform: walls on both plants, against mechanics and the energy balance."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import standing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion import Motion
from deltadyn.simulation import PDFeedforward, Run, Wall, simulate

ROBOT = dd.load_robot("sipro-d3-1200")


def lowered(depth: float) -> tuple[Motion, Wall]:
    """Straight down by 0.1 m, and a floor that ends it this far before."""
    start = np.array([0.0, 0.0, -1.05])
    t = np.arange(601) / 2000
    u = np.clip(t / 0.2, 0, 1)
    s = 10 * u**3 - 15 * u**4 + 6 * u**5
    p = start - np.outer(0.1 * s, [0.0, 0.0, 1.0])
    floor = (0.0, 0.0, float(p[-1, 2]) + depth)
    return Motion.from_platform(ROBOT, t, p), Wall(floor, (0.0, 0.0, 2.0), 30e3)


@pytest.mark.parametrize("plant", ["ideal", "mujoco"])
def test_a_floor_stops_the_platform(plant: str) -> None:
    """At the end spring, feedback and feedforward are in balance: J^-T K e = F."""
    motion, floor = lowered(0.01)
    law = PDFeedforward(ROBOT)
    run = simulate(ROBOT, motion, law, plant, external_force=floor, coulomb=0.02)
    depth = floor.depth(run.truth.p)
    force = run.truth.force
    assert force[: round(0.1 * 2000)].max() == 0.0  # the floor is far away
    touch = depth > 1e-4
    np.testing.assert_allclose(force[touch, 2], 30e3 * depth[touch], atol=5.0)  # half a tick on
    assert force.min() == 0.0
    assert 1e-4 < depth[-1] < 0.01
    J = dd.jacobian(ROBOT, run.truth.p[-1])
    feedback = np.asarray(law.stiffness) * run.tracking_error[-1]
    pushed = np.linalg.solve(J.T, feedback)
    assert pushed[2] == pytest.approx(-force[-1, 2], rel=0.1)


def test_a_wall_gives_back_what_it_took() -> None:
    """Without damping the work of a wall over a touch is 0; the balance of energy holds."""
    motion, floor = lowered(0.004)
    back = Motion.from_platform(
        ROBOT,
        np.arange(1201) / 2000,
        np.concatenate([motion.p, motion.p[-2::-1]]),
    )

    def bounced(wall: Wall) -> Run:
        return simulate(ROBOT, back, external_force=wall)

    elastic, damped = bounced(floor), bounced(Wall(floor.point, floor.normal, 30e3, 500.0))
    assert elastic.energy.drift < 1e-6
    stored = float(np.max(-elastic.energy.external))
    assert stored > 0.01  # J
    assert abs(elastic.energy.external[-1]) < 0.02 * stored
    assert damped.energy.external[-1] < -0.1 * stored


def test_the_compiled_plant_and_the_other_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    motion, floor = lowered(0.01)
    first = simulate(ROBOT, motion, external_force=floor, preset="lab")
    module = sys.modules["deltadyn.simulation.simulate"]
    monkeypatch.setattr(module, "plant_module", lambda: None)
    second = simulate(ROBOT, motion, external_force=floor, preset="lab")
    np.testing.assert_allclose(first.truth.force, second.truth.force, atol=1e-6)


def test_anything_may_touch() -> None:
    """An own object with `force`: here a hand that pulls, with a moment on four axes."""
    robot = dd.load_robot("example-delta-4")

    class Hand:
        def force(self, t: float, p: FloatArray, pd: FloatArray) -> Any:
            assert p.shape == pd.shape == (4,)
            return [5.0, 0.0, 0.0, 0.1 * t]

    run = simulate(robot, standing(robot, 0.05), external_force=Hand())
    same = simulate(robot, standing(robot, 0.05), external_force=lambda t: [5.0, 0.0, 0.0, 0.1 * t])
    np.testing.assert_allclose(run.truth.q, same.truth.q, atol=1e-12)
    np.testing.assert_allclose(run.truth.force, same.truth.force)


def test_a_wall_of_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="length of the wall's normal is 0; allowed: above 0"):
        Wall((0, 0, 0), (0, 0, 0), 1.0)
    with pytest.raises(InputError, match="stiffness of the wall"):
        Wall((0, 0, 0), (0, 0, 1), -1.0)
    with pytest.raises(InputError, match="point of the wall"):
        Wall((0, 0), (0, 0, 1), 1.0)
