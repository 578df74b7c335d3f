"""Which samples are rest, low and high speed and near a limit."""

from __future__ import annotations

import numpy as np
from tests.validation.bench import robot

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.robot.settings import Limits, Workspace
from deltadyn.validation.metrics import Course, Mask, pooled_masks, segment_masks, segments_of

DT = 0.001


def course(qd: FloatArray) -> Course:
    """A course with these rates (N,) on all axes, at the middle of everything else."""
    rates = np.repeat(qd[:, None], 3, axis=1)
    names = ("q", "qdd", "pd", "pdd", "tau")
    zero = {name: np.zeros_like(rates) for name in names}
    p = np.zeros_like(rates) + np.array([0.0, 0.0, -0.8])
    return Course(t=DT * np.arange(len(qd), dtype=np.float64), qd=rates, p=p, **zero)


def masks(of: Robot, what: Course) -> dict[str, Mask]:
    return {item.name: item for item in segment_masks(of, what, np.abs(what.qd) > 0.05)}


def limited(**limits: object) -> Robot:
    return robot().replace(limits=Limits(**limits))  # type: ignore[arg-type]


def test_speeds_are_relative_to_the_recording() -> None:
    qd = np.concatenate([np.zeros(50), np.linspace(0.0, 10.0, 1001)])
    found = masks(limited(), course(qd))
    np.testing.assert_array_equal(found["low speed"].mask[:, 0], (qd > 0.05) & (qd < 2.0))
    np.testing.assert_array_equal(found["high speed"].mask[:, 0], qd > 5.0)
    np.testing.assert_array_equal(found["rest"].mask[:, 0], qd <= 0.05)
    again = masks(limited(), course(qd / 64))  # a power of two: no rounding
    np.testing.assert_array_equal(again["high speed"].mask, found["high speed"].mask)


def test_each_axis_rests_by_itself() -> None:
    what = course(np.ones(100))
    what.qd[:, 1:] = 0.0
    rest = masks(limited(), what)["rest"].mask
    assert rest.all(axis=0).tolist() == [False, True, True]
    assert not rest[:, 0].any()


def test_near_limits() -> None:
    what = course(np.ones(6))
    what.q[0, 1] = 0.96  # of -1 ... 1: 5 % of the range are 0.1
    what.qd[1, 2] = -9.1
    what.tau[2, 0] = 91.0
    what.p[3, 0] = 0.39
    what.pdd[4] = [0.0, 40.0, 40.0]
    of = limited(
        angle_min=-1.0,
        angle_max=1.0,
        rate=10.0,
        torque_peak=100.0,
        platform_acceleration=60.0,
        workspace=Workspace(0.4, -1.0, -0.6),
    )
    near = masks(of, what)["near limits"]
    expected = np.zeros((6, 3), dtype=bool)
    expected[0, 1] = expected[1, 2] = expected[2, 0] = True
    expected[3:5] = True  # the platform's belong to all axes
    np.testing.assert_array_equal(near.mask, expected)
    assert near.rule == (
        "beyond 90 % of a limit (angle within 5 % of its range, rate, torque, "
        "platform acceleration, workspace)"
    )


def test_a_robot_without_limits_is_near_none() -> None:
    near = masks(limited(), course(np.ones(50)))["near limits"]
    assert near.rule == "the robot names no limits"
    assert not near.mask.any()


def test_metrics_of_a_segment_are_of_its_samples() -> None:
    mask = np.array([[True, False, False], [True, True, False]])
    measured, predicted = np.ones((2, 3)), np.array([[0.0, 9.0, 9.0], [3.0, 3.0, 9.0]])
    (found,) = segments_of((Mask("some", "a rule", mask),), measured, predicted)
    # residuals 1 and -2 on the first axis, -2 on the second, none on the third
    np.testing.assert_allclose(found.metrics.rms, [np.sqrt(2.5), 2.0, np.nan], rtol=1e-14)
    assert found.metrics.count.tolist() == [2, 1, 0]
    assert found.share == 0.5
    assert found.as_dict()["rule"] == "a rule"


def test_masks_of_recordings_follow_one_another() -> None:
    one, two = (
        segment_masks(robot(), course(np.ones(count)), np.ones((count, 3), dtype=bool))
        for count in (40, 60)
    )
    assert [len(item.mask) for item in pooled_masks([one, two])] == [100] * 4
