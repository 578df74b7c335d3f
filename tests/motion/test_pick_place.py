"""Pick-and-place along rounded gates: the path, its corners, psi, dwells, the way back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.motion.cases import FOUR, THREE

from deltadyn.arrays import FloatArray
from deltadyn.motion import PROFILES, Motion, pick_and_place

A, B = np.array([-0.2, 0.0, -0.85, 0.3]), np.array([0.2, 0.1, -0.83, 1.9])
ABB_LIKE = FOUR.replace(geometry=THREE.geometry)  # the spindle's robot with a larger workspace
LIFT, ROUNDING = 0.06, 0.05
TOP = -0.83 + LIFT


def move(dof: int = 3, **keywords: object) -> Motion:
    robot = THREE if dof == 3 else ABB_LIKE
    values = {"lift": LIFT, "rounding": ROUNDING, "duration": 0.5, **keywords}
    return pick_and_place(robot, A[:dof], B[:dof], **values)  # type: ignore[arg-type]


def across(m: Motion) -> FloatArray:
    """Share of the way across, from 0 above the start to 1 above the end."""
    way = (B - A)[:2]
    share: FloatArray = (m.p[:, :2] - A[:2]) @ way / (way @ way)
    return share


def curvature(m: Motion) -> FloatArray:
    """|pd x pdd| / |pd|^3 in 1/m, which no pace changes, of the samples that move."""
    speed = np.linalg.norm(m.pd[:, :3], axis=1)
    moving = speed > 0.2  # m/s: the quotient is not defined at rest
    turning = np.linalg.norm(np.cross(m.pd[:, :3], m.pdd[:, :3]), axis=1)
    out: FloatArray = turning[moving] / speed[moving] ** 3
    return out


@pytest.mark.parametrize("profile", PROFILES)
def test_the_path_does_not_depend_on_the_pace(profile: str) -> None:
    """Straight uprights below the cuts, a level beam between them, corners inside their cuts."""
    m = move(profile=profile)
    width, z, s = float(np.hypot(*(B - A)[:2])), m.p[:, 2], across(m)
    cut = ROUNDING / width
    assert np.max(z) == pytest.approx(TOP, abs=1e-12)
    assert np.all(np.abs(s[(z < TOP - ROUNDING) & (s < 0.5)]) < 1e-12)
    assert np.all(np.abs(s[(z < TOP - ROUNDING) & (s > 0.5)] - 1) < 1e-12)
    np.testing.assert_allclose(z[(s > cut) & (s < 1 - cut)], TOP, rtol=0, atol=1e-12)
    assert np.all(np.diff(s) > -1e-12)
    off = m.p[:, 1] - (A[1] + s * (B - A)[1])
    np.testing.assert_allclose(off, 0.0, atol=1e-12)  # in the upright plane through both ends


@pytest.mark.parametrize("profile", ["quintic", "modified-sine", "s-curve", "trapezoid"])
def test_corners_have_continuous_curvature(profile: str) -> None:
    """Steps of the curvature shrink with the sampling; circular arcs would leave a jump of 20/m."""
    steps = []
    for rate in (4000.0, 16_000.0):
        m = move(profile=profile, rate=rate)
        kappa = curvature(m)
        steps.append(np.max(np.abs(np.diff(kappa))))
        assert np.max(kappa) == pytest.approx(1.7330561 / ROUNDING, rel=2e-3)
    assert steps[1] < 0.27 * steps[0]
    assert steps[1] < 0.02 * np.max(kappa)


def test_speed_along_the_path_is_that_of_the_profile() -> None:
    """|pd| = L sd: the arc length follows the profile."""
    m = move(profile="modified-sine")
    speed = np.linalg.norm(m.pd, axis=1)
    _, sd, _ = PROFILES["modified-sine"](m.t / 0.5)
    length = 0.5 * np.trapezoid(speed, m.t) / 0.5
    np.testing.assert_allclose(speed, length * sd / 0.5, rtol=0, atol=1e-6)
    assert np.max(speed) == pytest.approx(length / 0.5 * PROFILES["modified-sine"].speed, rel=1e-5)


def test_trapezoid_jumps_in_acceleration_only() -> None:
    """Four jumps, at both ends and a third into the move from each; the speed has none."""
    coarse, fine = (move(profile="trapezoid", rate=rate) for rate in (3000.0, 12_000.0))
    steps = [np.max(np.abs(np.diff(m.pd, axis=0))) for m in (coarse, fine)]
    assert steps[1] < 0.3 * steps[0]
    jumps = [np.max(np.abs(np.diff(m.pdd, axis=0))) for m in (coarse, fine)]
    assert jumps[1] > 0.9 * jumps[0]
    # derivatives hold where no jump is near
    h, t = fine.t[1] - fine.t[0], fine.t[1:-1] / 0.5
    smooth = (np.abs(t - 1 / 3) > 0.01) & (np.abs(t - 2 / 3) > 0.01)
    bend = (fine.pd[2:] - fine.pd[:-2]) / (2 * h)
    error = np.abs(bend - fine.pdd[1:-1])[smooth]
    assert np.max(error) < 2e-3 * np.max(np.abs(fine.pdd))


def test_psi_turns_between_the_uprights() -> None:
    m = move(4)
    share = (m.p[:, 3] - A[3]) / (B - A)[3]
    z, s = m.p[:, 2], across(m)
    assert np.all(share[(z < TOP - ROUNDING) & (s < 0.5)] == 0)
    np.testing.assert_allclose(share[(z < TOP - ROUNDING) & (s > 0.5)], 1.0, atol=1e-12)
    assert np.all(np.diff(share) > -1e-12)
    assert 0.4 < share[np.argmin(np.abs(s - 0.5))] < 0.6


def test_default_rounding_leaves_a_quarter_of_the_lower_upright() -> None:
    plain, explicit = move(rounding=None), move(rounding=0.75 * LIFT)
    np.testing.assert_allclose(plain.p, explicit.p, rtol=0, atol=1e-12)


def test_a_narrow_gate_is_rounded_up_to_the_middle() -> None:
    near = A[:3] + np.array([0.02, 0.0, 0.0])
    m = pick_and_place(THREE, A[:3], near, lift=0.05, duration=0.5)
    assert np.max(m.p[:, 2]) == pytest.approx(-0.80, abs=1e-9)  # touches the top once
    assert np.sum(m.p[:, 2] > -0.80 - 1e-6) < 20


def test_there_and_back_with_dwells() -> None:
    """Holds keep their seconds; the way back is the way there in reverse."""
    m = move(back=True, dwell=(0.1, 0.2), duration=1.3, rate=1000.0)
    standing = np.linalg.norm(m.pd, axis=1) < 1e-9
    assert np.all(standing[m.t <= 0.1])
    assert np.all(standing[(m.t >= 0.6 + 1e-9) & (m.t <= 0.8)])
    np.testing.assert_allclose(m.p[m.t <= 0.1], np.tile(A[:3], (101, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(m.p[(m.t >= 0.6) & (m.t <= 0.8)] - B[:3], 0.0, atol=1e-12)
    there, back = m.p[100:601], m.p[800:]
    np.testing.assert_allclose(back, there[::-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(m.pd[800:], -m.pd[100:601][::-1], rtol=0, atol=1e-7)


def test_one_dwell_serves_both_ends() -> None:
    m = move(dwell=0.1, duration=0.7, rate=1000.0)
    standing = np.linalg.norm(m.pd, axis=1) < 1e-9
    assert standing[:101].all()
    assert standing[-101:].all()
    assert not standing[105:-105].any()
