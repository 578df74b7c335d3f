"""Editing: a body keeps its shape, what is not touched stays, wrong numbers are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.motion import telescopic_gate
from deltadyn.robot.bodies import Strut
from deltadyn.studio.robot import differences, edited, entries, torque_along, torque_rows

ROBOT = dd.load_robot("example-delta")


def test_a_uniform_rod_stays_uniform() -> None:
    uniform = ROBOT.replace(struts=Strut.uniform(0.05, ROBOT.geometry.strut_length[0]))
    longer = edited(uniform, {"strut_length": 800.0, "strut_mass": 0.07})
    for strut in longer.struts:
        assert strut.com_fraction == 0.5
        assert strut.inertia == pytest.approx(0.07 * 0.8**2 / 12, rel=1e-12)
    assert longer.geometry.strut_length == (0.8,) * 3


def test_an_arm_grows_in_proportion() -> None:
    changed = edited(ROBOT, {"arm_length": 600.0})
    ratio = 0.6 / ROBOT.rotary.arm_length[0]
    for old, new in zip(ROBOT.rotary_arms, changed.rotary_arms, strict=True):
        assert new.mass == old.mass
        assert new.com == pytest.approx(old.com * ratio)
        assert new.inertia == pytest.approx(old.inertia * ratio**2)


def test_untouched_numbers_give_the_same_robot() -> None:
    values = {key: entry.shown(ROBOT) for key, entry in entries(ROBOT).items()}
    assert edited(ROBOT, {key: value for key, value in values.items() if value}) == ROBOT


def test_ten_parameters_scale_with_their_body() -> None:
    robot = dd.load_robot("abb-irb360-6-1600")
    changed = edited(robot, {"upper_mass": 2 * robot.spindle.upper.mass})  # type: ignore[union-attr]
    assert robot.spindle is not None
    assert changed.spindle is not None
    assert changed.spindle.upper.ten is not None
    assert robot.spindle.upper.ten is not None
    np.testing.assert_allclose(
        changed.spindle.upper.ten.vector(), 2 * robot.spindle.upper.ten.vector()
    )
    assert changed.spindle.lower == robot.spindle.lower


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"arm_length": -1.0}, "arm length is -0.001; allowed: above 0"),
        ({"arm_length": math.nan}, "a finite number"),
        ({"platform_mass": -2.0}, "platform.mass is -2"),
        ({"arm_length": 1.0, "strut_length": 1.0}, "the loop cannot close"),
        ({"colour": 1.0}, "number to edit is 'colour'"),
    ],
)
def test_wrong_numbers_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        edited(ROBOT, values)


def test_numbers_that_differ_between_limbs_are_left_alone() -> None:
    arms = (replace(ROBOT.arms[0], mass=9.0), *ROBOT.arms[1:])
    robot = ROBOT.replace(arms=arms)
    assert entries(robot)["arm_mass"].shown(robot) is None
    with pytest.raises(InputError, match="it differs between the limbs"):
        edited(robot, {"arm_mass": 1.0})


def test_differences_name_what_changed() -> None:
    changed = edited(ROBOT, {"payload": 1.0, "arm_length": 330.0})
    rows = {row[0]: row[1:] for row in differences(ROBOT, changed)}
    assert rows["arm length (mm)"] == ("300", "330", "+10.0 %")
    com = "arm COM from the shoulder (mm)"  # it moves with the length
    assert set(rows) == {"arm length (mm)", com, "payload (kg)"}
    assert differences(ROBOT, ROBOT) == []


def test_torques_of_both_robots_on_one_motion() -> None:
    motion = telescopic_gate(ROBOT)
    heavier = edited(ROBOT, {"payload": 2.0})
    expected = dd.inverse_dynamics(heavier, motion)
    np.testing.assert_allclose(torque_along(heavier, motion), expected, rtol=1e-9, atol=1e-9)
    for _, peak, new_peak, rms, new_rms in torque_rows(ROBOT, heavier, motion):
        assert float(new_peak) > float(peak)
        assert float(new_rms) > float(rms)


def test_drives_friction_and_centres_of_mass_have_fields() -> None:
    values = {"gear_ratio": 20.0, "rotor_inertia": 1.5, "viscous": 0.2, "coulomb": 0.7}
    changed = edited(ROBOT, {**values, "arm_com": 90.0, "strut_com": 40.0})
    assert changed.drives.gear_ratio == (20.0,) * 3
    np.testing.assert_allclose(changed.drives.rotor_inertia, 1.5e-4)
    assert changed.drives.rotor_side == ROBOT.drives.rotor_side
    assert changed.friction.viscous == (0.2,) * 3
    assert changed.friction.coulomb == (0.7,) * 3
    assert all(arm.com == pytest.approx(0.09) for arm in changed.rotary_arms)
    assert all(strut.com_fraction == pytest.approx(0.4) for strut in changed.struts)
    side = "motor" if ROBOT.drives.rotor_side == "motor_side" else "output"
    assert entries(ROBOT)["rotor_inertia"].label == f"rotor inertia at the {side} (kg cm²)"


def test_psi_has_a_drive_of_its_own() -> None:
    robot = dd.load_robot("example-delta-4")
    changed = edited(robot, {"coulomb_psi": 0.25})
    assert changed.friction.coulomb[:3] == robot.friction.coulomb[:3]
    assert changed.friction.coulomb[3] == 0.25
