"""Every generator: exact derivatives, rest at both ends, continuous accelerations, timing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.motion.cases import (
    END,
    GENERATORS,
    POINTS,
    ROBOTS,
    START,
    assert_derivatives,
    generators,
    largest_steps,
    limited,
)

from deltadyn.motion import (
    PROFILES,
    Motion,
    PlannedMotion,
    gate_move,
    pick_and_place,
    spindle_turn,
    spline_move,
    stretch,
    with_turn,
)

FEW = settings(max_examples=25)  # each example makes and differentiates a motion

every_generator = pytest.mark.parametrize(("dof", "name"), GENERATORS)
smooth_profiles = st.sampled_from([name for name, x in PROFILES.items() if x.continuous])
dofs = st.sampled_from([3, 4])


def make(dof: int, name: str, **keywords: float) -> PlannedMotion:
    generator = generators(dof)[name]
    return generator.make(**{"duration": generator.lasting, **keywords})


@every_generator
def test_derivatives(dof: int, name: str) -> None:
    assert_derivatives(make(dof, name, rate=8000.0))


@every_generator
def test_at_rest_at_both_ends(dof: int, name: str) -> None:
    m = make(dof, name)
    peak = np.max(np.abs(m.pdd), axis=0)
    for rates in (m.pd, m.qd):
        # the last sample is at u = 1 - 1e-16: speeds of 1e-12 of what they were
        assert np.max(np.abs(rates[[0, -1]])) < 1e-10
    if name == "cubic spline":
        assert np.max(np.abs(m.pdd[0])) > 0.1 * np.max(peak)  # as its docstring says
    else:
        assert np.all(np.abs(m.pdd[[0, -1]]) < 1e-9 * np.maximum(peak, 1.0))


@every_generator
def test_accelerations_are_continuous(dof: int, name: str) -> None:
    """Steps between samples shrink with the step; a jump would stay."""
    coarse, fine = make(dof, name, rate=2000.0), make(dof, name, rate=8000.0)
    for field in ("pd", "pdd", "qdd"):
        before, after = largest_steps(coarse, field), largest_steps(fine, field)
        moving = before > 1e-6
        assert np.all(after[moving] < 0.32 * before[moving]), field


@every_generator
def test_duration_and_rate_are_as_asked(dof: int, name: str) -> None:
    lasting = generators(dof)[name].lasting
    m = make(dof, name, rate=1000.0)
    assert isinstance(m, Motion)
    assert m.duration == pytest.approx(lasting, rel=1e-15)
    assert m.t[0] == 0.0
    assert len(m) == round(1000 * lasting) + 1
    np.testing.assert_allclose(np.diff(m.t), 1e-3, rtol=1e-6)
    assert m.binding is None  # the caller chose the duration
    odd = make(dof, name, duration=lasting + 0.0003, rate=1000.0)
    assert odd.duration == pytest.approx(lasting + 0.0003, rel=1e-15)  # the rate gives way


@every_generator
def test_half_the_pace_is_the_same_motion(dof: int, name: str) -> None:
    """Holds aside, rates halve and accelerations quarter at the same poses."""
    if name in ("there and back", "y1", "y3", "spindle_turn"):
        return  # their holds keep their seconds
    lasting = generators(dof)[name].lasting
    quick, slow = make(dof, name), make(dof, name, duration=2 * lasting, rate=1000.0)
    np.testing.assert_allclose(slow.p, quick.p, rtol=0, atol=1e-13)
    for field, factor in (("pd", 2), ("pdd", 4), ("qd", 2), ("qdd", 4)):
        one, two = getattr(quick, field), factor * getattr(slow, field)
        np.testing.assert_allclose(two, one, rtol=0, atol=1e-9 * np.max(np.abs(one)))


@FEW
@given(
    dof=dofs,
    profile=smooth_profiles,
    lift=st.floats(0.003, 0.014),
    part=st.floats(0.2, 1.0),
    back=st.booleans(),
    dwell=st.floats(0.0, 0.1),
    angle=st.floats(0.0, 2 * np.pi),
)
def test_any_rounded_gate(
    dof: int, profile: str, lift: float, part: float, back: bool, dwell: float, angle: float
) -> None:
    a, b = START[:dof].copy(), END[:dof].copy()
    b[:2] = a[:2] + 0.15 * np.array([np.cos(angle), np.sin(angle)])
    rounding = part * lift
    m = pick_and_place(
        ROBOTS[dof],
        a,
        b,
        lift=lift,
        rounding=rounding,
        profile=profile,
        back=back,
        dwell=dwell,
        duration=0.7,
        rate=16000.0,
    )
    assert_derivatives(m)
    last = a if back else b
    np.testing.assert_allclose(m.p[[0, -1]], [a, last], rtol=0, atol=1e-12)


@FEW
@given(
    dof=dofs,
    lift=st.floats(0.001, 0.014),
    overlap=st.floats(0.0, 1.0),
    rise=st.floats(0.15, 0.4),
    duration=st.floats(0.3, 1.0),
)
def test_any_overlapped_gate(
    dof: int, lift: float, overlap: float, rise: float, duration: float
) -> None:
    m = gate_move(
        ROBOTS[dof],
        START[:dof],
        END[:dof],
        lift=lift,
        overlap=overlap,
        rise=rise,
        duration=duration,
        rate=8000.0,
    )
    assert_derivatives(m)
    np.testing.assert_allclose(m.p[[0, -1]], [START[:dof], END[:dof]], rtol=0, atol=1e-12)


@FEW
@given(
    dof=dofs,
    kind=st.sampled_from(["quintic", "cubic"]),
    ends=st.sampled_from(["rest", "natural", "periodic"]),
    seed=st.integers(0, 1000),
)
def test_any_spline(dof: int, kind: str, ends: str, seed: int) -> None:
    """It meets its points at their times, whatever the ends."""
    rng = np.random.default_rng(seed)
    centre = np.array([0.0, 0.0, -0.8 if dof == 3 else -0.6, 0.0])
    points = centre[:dof] + rng.uniform(-0.06, 0.06, (7, dof))
    points[-1] = points[0]
    times = 3.0 + np.concatenate([[0.0], np.cumsum(rng.uniform(0.3, 0.6, 6))])
    m = spline_move(ROBOTS[dof], points, times, kind=kind, ends=ends, rate=8000.0)
    assert_derivatives(m)
    assert m.duration == pytest.approx(times[-1] - 3.0, rel=1e-15)
    rows = np.clip(np.rint((times - 3.0) / (m.t[1] - m.t[0])).astype(int), 0, len(m) - 1)
    off = (times - 3.0 - m.t[rows])[:, None]
    near = m.p[rows] + off * m.pd[rows]
    # a sample is at most h / 2 away: h^2 / 8 of the acceleration
    bound = 1.1 * (m.t[1] - m.t[0]) ** 2 / 8 * np.max(np.abs(m.pdd), axis=0) + 1e-13
    assert np.all(np.abs(near - points) <= bound)
    if ends == "periodic":
        for field, small in (("pd", 1e-11), ("pdd", 1e-9)):
            x = getattr(m, field)
            np.testing.assert_allclose(x[0], x[-1], rtol=0, atol=small * np.max(np.abs(x)) + small)
    if ends == "natural" and kind == "cubic":
        np.testing.assert_allclose(m.pdd[[0, -1]], 0.0, atol=1e-9)


@FEW
@given(
    profile=smooth_profiles,
    turns=st.lists(st.floats(-2.0, 2.0).filter(lambda x: abs(x) > 0.05), min_size=1, max_size=3),
    back=st.booleans(),
)
def test_any_turn_of_the_spindle(profile: str, turns: list[float], back: bool) -> None:
    m = spindle_turn(ROBOTS[4], START, turns, profile=profile, back=back, duration=0.9, rate=8000)
    assert_derivatives(m)
    assert np.ptp(m.p[:, :3], axis=0).max() == 0.0
    end = START[3] + (0.0 if back else sum(turns))
    assert m.p[-1, 3] == pytest.approx(end, abs=1e-12)


def test_turns_in_a_row_have_the_same_peak_acceleration() -> None:
    m = spindle_turn(ROBOTS[4], START, [2.0, -0.5], duration=0.9, rate=20_000)
    first = m.p[:, 3] <= START[3] + 2.0
    begun = np.argmax(m.p[:, 3])
    peaks = np.max(np.abs(m.pdd[:begun, 3])), np.max(np.abs(m.pdd[begun:, 3]))
    assert first.all()
    assert peaks[0] == pytest.approx(peaks[1], rel=1e-4)


@FEW
@given(
    turn=st.floats(-3.0, 3.0),
    begin=st.floats(0.0, 0.3),
    lasting=st.floats(0.1, 0.2),
    profile=smooth_profiles,
)
def test_any_turn_on_top_of_a_move(turn: float, begin: float, lasting: float, profile: str) -> None:
    plain = gate_move(ROBOTS[4], START, END, lift=0.01, duration=0.5, rate=8000.0)
    m = with_turn(ROBOTS[4], plain, turn, begin=begin, end=begin + lasting, profile=profile)
    assert_derivatives(m)
    for field in ("p", "pd", "pdd", "q", "qd", "qdd"):
        np.testing.assert_array_equal(getattr(m, field)[:, :3], getattr(plain, field)[:, :3])
    more = m.p[:, 3] - plain.p[:, 3]
    assert np.all(more[m.t <= begin] == 0)
    np.testing.assert_allclose(more[m.t >= begin + lasting], turn, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(m.q[:, 3], m.p[:, 3])


def test_a_turn_takes_the_whole_motion_by_default() -> None:
    plain = gate_move(ROBOTS[4], START, END, lift=0.01, duration=0.5)
    m = with_turn(ROBOTS[4], plain, 1.0)
    assert m.p[-1, 3] - plain.p[-1, 3] == pytest.approx(1.0, abs=1e-15)
    assert np.all(np.diff(m.p[:, 3] - plain.p[:, 3]) >= -1e-15)


def test_stretch_keeps_poses_and_turns_of_the_joints() -> None:
    """A joint angle beyond one turn stays as it was given."""
    robot = ROBOTS[3]
    base = gate_move(robot, START[:3], END[:3], lift=0.01, duration=0.5)
    q = base.q.copy()
    q[:, 0] += 2 * np.pi
    m = Motion.from_joints(robot, base.t + 4.0, q, base.qd, base.qdd)
    slow = stretch(robot, m, duration=1.5)
    assert slow.duration == pytest.approx(1.5, rel=1e-14)
    assert slow.t[0] == 4.0
    np.testing.assert_array_equal(slow.q, q)
    np.testing.assert_allclose(3 * slow.pd, m.pd, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(9 * slow.qdd, m.qdd, rtol=1e-12, atol=1e-14)
    assert_derivatives(slow)
    wide = limited(robot, angle_max=10.0)
    np.testing.assert_array_equal(stretch(wide, m).q, q)  # also in the shortest time


def test_times_without_a_choice_go_with_the_roots_of_the_distances() -> None:
    """Four times the way takes twice the time."""
    robot = ROBOTS[3]
    points = np.array([[0.0, 0.0, -0.75], [0.05, 0.0, -0.75], [0.25, 0.0, -0.75]])
    m = spline_move(robot, points, duration=3.0, rate=6000)
    row = int(np.argmin(np.abs(m.p[:, 0] - 0.05)))
    assert m.t[row] == pytest.approx(1.0, abs=2e-4)


def test_given_times_can_be_stretched() -> None:
    robot, times = ROBOTS[3], [0.0, 0.3, 0.8, 1.0, 1.5]
    plain = spline_move(robot, POINTS[:, :3], times)
    longer = spline_move(robot, POINTS[:, :3], times, duration=3.0, rate=1000)
    assert plain.duration == 1.5
    np.testing.assert_allclose(longer.p, plain.p, rtol=0, atol=1e-13)
