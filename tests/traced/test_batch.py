"""Batches of machines, Monte Carlo and screening: JAX gives what NumPy and SciPy give."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.traced.cases import circle, jax, jnp

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.dynamics import FrictionTerms, packed_parameters
from deltadyn.errors import DeltadynError, InputError
from deltadyn.excitation import screen_starts
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction
from deltadyn.simulation import Rollout, rollout, simulate_batch, traced_rollout
from deltadyn.simulation.drive.reference import resampled
from deltadyn.tracing import chosen_backend, doubles
from deltadyn.validation.monte_carlo import (
    _selected_quantiles,
    draw_machines,
    torque_spread,
    tracking_spread,
)

pytestmark = pytest.mark.full  # JAX

RATE = 500.0
BACKENDS = ("jax", "numpy")
# Both paths do the same operations; a feedback of 20 Hz over 0.1 s does not let roundings grow.
AGREE = 1e-12


@lru_cache
def robot() -> Robot:
    """A robot with smooth friction, so that SciPy's steps do not meet a jump."""
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=0.3, coulomb=0.4, smoothing=0.3)


@lru_cache
def motion() -> dd.Motion:
    return circle(robot(), 101, 0.1)


def machines(count: int) -> FloatArray:
    """The robot with other masses."""
    par = np.tile(packed_parameters(robot()), (count, 1))
    par[:, PLACES["M_P"]] *= np.linspace(0.9, 1.2, count)[:, None]
    return par


def followed(par: FloatArray, controller: dd.PD, **options: Any) -> Rollout:
    """Machines with these numbers on the motion; the controller sees their true rates."""
    settings: dict[str, Any] = {"dt": 1 / RATE, "motion": motion(), "rates": "true", "substeps": 1}
    return rollout(controller.robot, numbers=par, controller=controller, **{**settings, **options})


def test_a_batch_follows_as_scipy_says() -> None:
    """One machine with another mass, integrated tick by tick by an adaptive method of order 8."""
    controller = dd.PDFeedforward(robot())
    heavier = robot().with_payload(robot().payload.mass + 0.5)
    run = followed(packed_parameters(heavier), controller, every=1, backend="jax")
    t = run.t[:-1]
    now = resampled(robot(), motion(), t)
    fed = dd.inverse_dynamics(robot(), resampled(robot(), motion(), t + 0.5 / RATE))
    y, known = np.concatenate([now.q[0], now.qd[0]]), []
    for k in range(len(t)):
        known.append(y[:3])
        error, rate_error = now.q[k] - y[:3], now.qd[k] - y[3:]
        tau = fed[k] + controller.stiffness * error + controller.damping * rate_error

        def slope(_: float, y: Any, tau: Any = tau) -> FloatArray:
            return np.concatenate([y[3:], dd.forward_dynamics(heavier, y[:3], y[3:], tau)])

        y = solve_ivp(slope, (0, 1 / RATE), y, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    expected = np.array(known)
    # a step of 2 ms of order 4 errs by 1e-9 rad here; the tracking error is 1e-3 rad
    np.testing.assert_allclose(run.course_q[:-1], expected, atol=1e-8)
    error = now.q - expected
    assert run.rms is not None
    assert run.peak is not None
    np.testing.assert_allclose(run.rms, np.sqrt((error**2).mean(axis=0)), rtol=1e-4)
    np.testing.assert_allclose(run.peak, np.abs(error).max(axis=0), rtol=1e-4)
    np.testing.assert_allclose(run.q, y[:3], atol=1e-8)
    assert run.rms.min() > 1e-5


def test_both_backends_agree() -> None:
    start = motion().q[0] + np.linspace(0, 0.01, 5)[:, None]
    ours, known = (
        followed(machines(5), dd.PD(robot()), q=start, substeps=2, backend=name)
        for name in BACKENDS
    )
    for name in ("q", "qd", "rms", "peak"):
        a, b = getattr(ours, name), getattr(known, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=AGREE * np.abs(b).max())
    assert ours.course_q.shape == (5, 0, 3)
    assert ours.lost == known.lost == 0


def test_machines_that_leave_the_workspace_are_counted() -> None:
    par = machines(2)
    torque = np.full((50, 3), 1e3)
    soft = dd.PD(robot(), stiffness=0.0, damping=0.0)
    run = followed(par, soft, forward=torque, backend="numpy")
    assert run.lost == 2


@pytest.mark.parametrize("hold", ["step", "linear"])
def test_arrays_of_jax_run_on_jax(hold: str) -> None:
    """Friction in passive joints, own torques and a force; the states on the way are kept too."""
    passive = robot().with_friction(
        viscous=0.3,
        coulomb=0.4,
        smoothing=0.3,
        passive=[PassiveFriction("elbow_swing", 0.02, 0.05)],
    )
    rng = np.random.default_rng(4)
    q = motion().q[0] + 0.02 * rng.standard_normal((4, 3))
    torque = rng.standard_normal((4, 8, 3))
    options: dict[str, Any] = {"dt": 1 / RATE, "hold": hold, "every": 3}
    known = rollout(passive, q, None, torque, external_force=[1.0, 2.0, 3.0], **options)
    with doubles():
        ours = rollout(
            passive, jnp(q), None, jnp(torque), external_force=[1.0, 2.0, 3.0], **options
        )
    assert isinstance(ours.q, jax().Array)
    for name in ("q", "qd", "course_q", "course_qd"):
        a, b = np.asarray(getattr(ours, name)), getattr(known, name)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0, atol=AGREE * np.abs(b).max())


def test_the_paths_of_a_measured_rate_agree() -> None:
    """The extension where it is in use, NumPy and JAX: with tracking errors and kept states."""
    start = motion().q[0] + np.linspace(0, 0.01, 5)[:, None]
    options: dict[str, Any] = {"q": start, "rates": "measured", "every": 7, "substeps": 2}
    runs = [followed(machines(5), dd.PD(robot()), backend=name, **options) for name in BACKENDS]
    with kernels.switched_off():
        runs.append(followed(machines(5), dd.PD(robot()), **options))
    for name in ("q", "qd", "rms", "peak", "course_q", "course_qd"):
        known = getattr(runs[0], name)
        for other in runs[1:]:
            found = getattr(other, name)
            np.testing.assert_allclose(found, known, rtol=0, atol=AGREE * np.abs(known).max())


def test_the_old_name_warns_and_gives_the_same() -> None:
    par, controller = machines(2), dd.PDFeedforward(robot())
    with pytest.warns(DeprecationWarning, match="simulate_batch is now rollout"):
        old = simulate_batch(par, motion(), controller, rate=RATE, keep=True, backend="numpy")
    new = followed(par, controller, every=1)
    assert old.q_ticks is not None
    np.testing.assert_array_equal(old.q_ticks, new.course_q.swapaxes(0, 1)[:-1])
    np.testing.assert_array_equal(old.rms, new.rms)
    np.testing.assert_allclose(old.t, new.t[:-1])
    assert old.lost == 0
    with pytest.warns(DeprecationWarning, match="simulate_batch"):
        bare = simulate_batch(par, motion(), controller, rate=RATE, friction=False, backend="numpy")
    assert not np.allclose(bare.rms, old.rms)


def test_a_rollout_has_gradients() -> None:
    """d(final angle) / d(mass), against central differences."""
    now = motion()
    fed = dd.inverse_dynamics(robot(), now)
    course = tuple(jnp(x[:10]) for x in (now.q, now.qd, fed))
    controller = dd.PD(robot())
    gains = jnp([controller.stiffness, controller.damping])
    terms = FrictionTerms(smooth=True, stribeck=False, load=False)
    place = PLACES["M_P"].start

    def end(mass: Any) -> Any:
        par = jnp(packed_parameters(robot())).at[place].set(mass)[None]
        run = traced_rollout(par, course[0][:1], course[1][:1], course, gains, 1e-3, friction=terms)
        return run.q[0, 0]

    mass, step = float(packed_parameters(robot())[place]), 1e-3
    # forward mode: reverse mode works too and takes a minute to compile
    compiled = jax().jit(lambda mass: jax().jvp(end, (mass,), (1.0,)))
    slope = float(compiled(mass)[1])
    known = float(compiled(mass + step)[0] - compiled(mass - step)[0]) / (2 * step)
    assert slope == pytest.approx(known, rel=1e-5)  # differences over 1e-3 kg err by 1e-6
    assert abs(slope) > 1e-6


def test_a_rollout_of_traced_numbers_has_gradients() -> None:
    """The public name under jit, beside central differences of the same on NumPy."""
    place, torque, start = PLACES["M_P"].start, np.full((6, 3), 5.0), motion().q[0]
    plain = packed_parameters(robot())

    def end(mass: Any) -> Any:
        numbers = jnp(plain).at[place].set(mass)
        return rollout(robot(), start, None, torque, dt=1e-3, numbers=numbers, substeps=1).q[0]

    def known(mass: float) -> float:
        numbers = plain.copy()
        numbers[place] = mass
        found = rollout(robot(), start, None, torque, dt=1e-3, numbers=numbers, substeps=1)
        return float(found.q[0])

    mass, step = float(plain[place]), 1e-3
    with doubles():
        value, slope = jax().jit(lambda mass: jax().jvp(end, (mass,), (1.0,)))(mass)
    assert float(value) == pytest.approx(known(mass), rel=AGREE)
    differences = (known(mass + step) - known(mass - step)) / (2 * step)
    assert float(slope) == pytest.approx(differences, rel=1e-5)  # over 1e-3 kg they err by 1e-6
    assert abs(float(slope)) > 1e-8


def covariance(names: tuple[str, ...]) -> FloatArray:
    """Two per cent of every parameter."""
    reg = dd.regressor(robot(), motion())
    values = [reg.parameters[reg.names.index(name)] for name in names]
    return np.diag((0.02 * np.array(values)) ** 2)


def test_monte_carlo_of_torque() -> None:
    names = ("M_P", "A", "Fv1", "Fc2")
    settings: dict[str, Any] = {"covariance": covariance(names), "names": names, "seed": 3}
    ours, known = (
        torque_spread(robot(), motion(), draws=400, backend=name, **settings) for name in BACKENDS
    )
    for name in ("mean", "std", "low", "high"):
        a, b = getattr(ours, name), getattr(known, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=AGREE * np.abs(known.mean).max())
    # the torque is linear in these parameters: its deviation is known
    reg = dd.regressor(robot(), motion())
    Y = reg.Y[:, :, [reg.names.index(name) for name in names]]
    std = np.sqrt(np.einsum("nij,jk,nik->ni", Y, settings["covariance"], Y))
    np.testing.assert_allclose(known.std, std, rtol=0.2)  # 400 draws: 3.5 % per deviation
    np.testing.assert_allclose(known.high - known.low, 2 * 1.645 * std, rtol=0.3)


def test_quantiles_by_counting_are_those_of_a_sort() -> None:
    rng = np.random.default_rng(2)
    plain = rng.standard_normal((4, 301))
    heavy = rng.standard_cauchy((4, 301))
    tied = np.round(2 * rng.standard_normal((4, 301))) / 1e6
    level = np.repeat([[0.0], [-1.0], [1e-200], [1e12]], 301, axis=1)
    values = np.concatenate([plain, heavy, tied, level, 1e8 + plain])
    for rows, tail in ((values, 0.05), (values[:, :2], 0.05), (values, 0.25), (values[:, :4], 0.4)):
        known = np.quantile(rows, [tail, 1 - tail], axis=1)
        with doubles():
            found = jax().jit(_selected_quantiles)(jnp(rows), tail)
        # the weights of two neighbours round with the number of draws
        room = 1e-13 * np.ptp(rows, axis=1) + 4e-16 * np.abs(rows).max(axis=1)
        assert (np.abs(np.asarray(found) - known) <= room).all()


def test_monte_carlo_of_tracking() -> None:
    names = ("M_P", "A")
    settings: dict[str, Any] = {"covariance": covariance(names), "names": names}
    ours, known = (
        tracking_spread(robot(), motion(), draws=5, rate=RATE, backend=name, **settings)
        for name in BACKENDS
    )
    np.testing.assert_allclose(ours.rms, known.rms, rtol=1e-9)
    drawn = draw_machines(robot(), draws=5, **settings)
    run = followed(drawn, dd.PDFeedforward(robot()))
    assert run.rms is not None
    np.testing.assert_allclose(known.rms, run.rms)
    np.testing.assert_allclose(known.expected, np.sqrt((run.rms**2).mean(axis=0)))
    assert known.lost == 0
    assert (known.low <= known.high).all()


def test_draws_are_seeded_and_have_the_covariance() -> None:
    names = ("M_P", "m_x")
    matrix = np.array([[0.04, 0.01], [0.01, 0.01]])
    first, second, other = (
        draw_machines(robot(), draws=4000, seed=seed, covariance=matrix, names=names)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    places = [PLACES["M_P"].start, PLACES["m_x"].start]
    # 4000 draws know a covariance to 2 to 3 %
    np.testing.assert_allclose(np.cov(first[:, places].T), matrix, rtol=0.15)
    arms = first[:, PLACES["m_x"]][:, :3]
    np.testing.assert_array_equal(arms[:, 1:], arms[:, :1] + np.zeros(2))  # tied


def test_screening_gives_the_same_starts() -> None:
    settings: dict[str, Any] = {"periods": 3, "starts": 64, "keep": 3, "seed": 5}
    ours, known = (screen_starts(robot(), 4.0, 2, backend=name, **settings) for name in BACKENDS)
    for a, b in zip(ours, known, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-9)  # an eigenvalue of 1e-4 of the largest
        np.testing.assert_allclose(a.series.sine, b.series.sine, rtol=1e-12)
    assert [item.value for item in known] == sorted(item.value for item in known)


def test_wrong_use_is_told() -> None:
    par, controller = machines(2), dd.PD(robot())
    with pytest.raises(InputError, match="backend is 'cuda'; allowed: 'auto', 'jax' or 'numpy'"):
        chosen_backend("cuda")
    with pytest.raises(InputError, match=rf"shape of numbers is \[2, 9\]; .* or {COUNT} wide from"):
        followed(par[:, :9], controller)
    with pytest.raises(InputError, match=r"controller is 'PDGravity'; allowed: PD, PDFeedforward"):
        followed(par, dd.PDGravity(robot()))
    with pytest.raises(InputError, match=r"shape of forward .* a row per tick"):
        followed(par, controller, forward=np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"rows of numbers is 2; allowed: 5, as its partners have"):
        followed(par, controller, q=np.zeros((5, 3)))
    with pytest.raises(InputError, match="rates is 'seen'; allowed: one of 'measured', 'true'"):
        followed(par, controller, rates="seen")
    with pytest.raises(InputError, match="q is None; allowed: the angles at the start"):
        rollout(robot(), torque=np.zeros((2, 3)), dt=1e-3)
    with pytest.raises(InputError, match="forward is 'ndarray'; allowed: a motion to follow"):
        rollout(robot(), np.zeros(3), None, np.zeros((2, 3)), forward=np.zeros((2, 3)), dt=1e-3)
    with pytest.raises(InputError, match="substeps is None; allowed: a whole number where numbers"):
        jax().jit(lambda par: followed(par, controller, substeps=None).q)(jnp(par))
    with pytest.warns(match="rollout"), pytest.raises(InputError, match="shape of par is"):
        simulate_batch(par[:, :9], motion(), controller)
    with pytest.warns(match="rollout"), pytest.raises(InputError, match="PD or PDFeedforward"):
        simulate_batch(par, motion(), dd.PDGravity(robot()))
    with pytest.raises(InputError, match=r"covariance is None; allowed: .* with a Robot"):
        torque_spread(robot(), motion())
    with pytest.raises(InputError, match="parameter is 'nosuch'"):
        draw_machines(robot(), covariance=np.eye(1), names=("nosuch",))
    with pytest.raises(InputError, match="shape of covariance is"):
        draw_machines(robot(), covariance=np.eye(3), names=("M_P",))
    with pytest.raises(InputError, match="setting is 'jobs'; allowed: one of"):
        screen_starts(robot(), jobs=2)
    with pytest.raises(InputError, match="model is 'rigid'; allowed: 'exact' where motions are"):
        dd.design_excitation(robot(), model="rigid", screened=100)


def test_without_jax_the_backend_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltadyn.tracing.installed", lambda: False)
    assert chosen_backend("auto") == "numpy"
    with pytest.raises(DeltadynError, match=r"pip install 'deltadyn\[jax\]'"):
        chosen_backend("jax")
