"""A controller's own angles: sign, offset and the eccentricity of its encoders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.dynamics.factory import make_robot, make_states
from tests.identification.motions import swing

import deltadyn as dd
from deltadyn.errors import InputError, RobotError
from deltadyn.excitation.result import Coordinates, controller_columns
from deltadyn.motion.motion import read_motion
from deltadyn.recording.read import read_recording
from deltadyn.robot import Controller, Eccentricity, Robot, Sensors, robot_from_text, robot_text
from deltadyn.robot.convention import Angles, from_controller, to_controller

WAVES = (
    Eccentricity(1.0, [8e-4, 0.0, -5e-4], 3e-4),
    Eccentricity(64.0, 1e-4, [-1e-4, 2e-4, 0.0]),
)
CONTROLLER = Controller((-1.0, 1.0, 1.0), (0.2, -0.1, 0.0))


def robot() -> Robot:
    own = dd.load_robot("sipro-d3-1200")
    return own.replace(sensors=Sensors(eccentricity=WAVES), controller=CONTROLLER)


def test_by_hand() -> None:
    q = np.array([0.1, 0.4, 0.8])
    bent = q + [8e-4, 0.0, -5e-4] * np.cos(q) + 3e-4 * np.sin(q)
    bent += 1e-4 * np.cos(64 * q) + [-1e-4, 2e-4, 0.0] * np.sin(64 * q)
    np.testing.assert_allclose(robot().to_controller(q), [-1, 1, 1] * bent + [0.2, -0.1, 0.0])


def test_there_and_back() -> None:
    own = robot()
    state = make_states(own, 100)
    there = to_controller(own, Angles(state.q, state.qd, state.qdd))
    back = from_controller(own, there)
    for x, y in zip(back, (state.q, state.qd, state.qdd), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-13 * max(1.0, np.abs(y).max()))
    np.testing.assert_allclose(own.from_controller(own.to_controller(state.q)), state.q, atol=1e-15)
    h = 1e-5  # central differences along the motion
    ahead, behind = (
        own.to_controller(state.q + s * state.qd + s**2 / 2 * state.qdd) for s in (h, -h)
    )
    np.testing.assert_allclose((ahead - behind) / (2 * h), there.qd, rtol=0, atol=1e-6)
    middle = own.to_controller(state.q)
    np.testing.assert_allclose((ahead - 2 * middle + behind) / h**2, there.qdd, rtol=0, atol=0.05)


def test_too_steep_waves_are_refused() -> None:
    with pytest.raises(RobotError, match=r"sensors\.eccentricity .* axis 2 at most 0\.5"):
        make_robot(3, True, sensors=Sensors(eccentricity=(Eccentricity(64.0, [0, 0.01, 0]),)))


def test_robot_files_keep_it() -> None:
    assert robot_from_text(robot_text(robot())) == robot()


def test_readers_take_it_off(tmp_path: Path) -> None:
    own = robot()
    motion = swing(own, 0.1)
    tau = dd.inverse_dynamics(own, motion) * np.asarray(CONTROLLER.sign)
    there = to_controller(own, Angles(motion.q, motion.qd, motion.qdd))
    header = ["t_s"] + [
        f"{name}{k}_{unit}"
        for name, unit in (("q", "rad"), ("tau", "Nm"), ("qd", "rad_s"), ("qdd", "rad_s2"))
        for k in (1, 2, 3)
    ]
    table = np.column_stack([motion.t, there.q, tau, there.qd, there.qdd])
    path = tmp_path / "log.csv"
    np.savetxt(path, table, delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    log = read_recording(path, robot=own)
    np.testing.assert_allclose(log.q, motion.q, rtol=0, atol=1e-14)
    assert any("eccentricity of order 1, 64" in note for note in log.provenance.notes)
    for found, wanted in ((log.qd, motion.qd), (log.qdd, motion.qdd), (log.tau, tau)):
        if found is not None and wanted is not tau:
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("coordinates", ["joints", "platform"])
def test_tables_for_the_controller_have_it(tmp_path: Path, coordinates: Coordinates) -> None:
    own = robot()
    motion = swing(own, 0.1)
    names, table = controller_columns(
        own, motion, angle_unit="rad", length_unit="m", coordinates=coordinates, derivatives=True
    )
    path = tmp_path / "motion.csv"
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    if coordinates == "joints":
        np.testing.assert_allclose(table[:, 1:4], own.to_controller(motion.q), rtol=1e-15)
    again = read_motion(path, own)
    np.testing.assert_allclose(again.q, motion.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.qdd, motion.qdd, rtol=0, atol=1e-9)


def test_accelerations_want_their_rates() -> None:
    with pytest.raises(InputError, match="accelerations"):
        from_controller(robot(), Angles(np.zeros(3), None, np.zeros(3)))
