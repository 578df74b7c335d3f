"""The ABB robot of [gnad2024] section VIII on the virtual bench, and its spindle's friction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import regressor
from deltadyn.dynamics.friction import (
    COULOMB,
    STRIBECK,
    VISCOUS,
    Sliding,
    direction,
    friction_sum,
    stribeck_shape,
)
from deltadyn.errors import InputError
from deltadyn.identification.fit import Fit
from deltadyn.identification.identifiability import UnidentifiableError
from deltadyn.identification.identify import identify
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.stribeck import Stribeck, settle_stribeck
from deltadyn.identification.options import Preparation
from deltadyn.kinematics import State
from deltadyn.motion import FourierSeries, Motion, fourier_motion
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.reproduce.gnad2024.surrogate import GEOMETRIC, ROBOT, WEIGHTS, excitation
from deltadyn.reproduce.ladder import rms
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.simulation import PDFeedforward, Run, simulate

PRESET = "industrial"
RATE = 1000.0  # Hz
BANDWIDTH = 8.0  # Hz, of the drives' loops: with 2 ms of delay, 20 Hz would swing

# [gnad2024] section VIII-C: a spindle at A sin(w t) has both of each pair at A w and A w^2.
FAST = (np.radians(2760.0), np.radians(13800.0))  # rad/s, rad/s^2, of the fit
SLOW = (np.radians(175.0), np.radians(500.0))  # of the validation
TUNED = (5.0, 0.75)  # the paper's factors on Fv4 and Fc4

# What the bench's axis 4 really has: Coulomb, a little Stribeck, and grease that thins when it is
# sheared, Fv qd + T tanh(qd / v). Chosen such that viscous and Coulomb friction, fitted at FAST,
# are what the paper found there, and fitted at SLOW about 5 and 0.75 times as much.
VISCOUS_4, COULOMB_4, STRIBECK_4 = 0.0183, 0.538, 0.05  # N m s/rad, N m, N m
THINNING, THINNING_VELOCITY = 0.306, 2.0  # N m, rad/s
STRIBECK_SHARE, STRIBECK_VELOCITY = 0.25, 0.3  # of the arms, as the preset has them

BASE, CHOLESKY, CONVEX = "base parameters, rigid", "log-Cholesky, rigid", "convex, exact"
BY_HAND = "log-Cholesky, Fv4 x 5 and Fc4 x 0.75"
BOUNDED, FREE = "Stribeck, Fs not negative", "Stribeck, Fs of any sign"
THIN = "viscous, Coulomb and thinning"
LOWEST, HIGHEST = 0.003, 0.5  # of the highest rate, between which a velocity is searched
SETTLED_ABOVE = 3.0  # smoothings: a Stribeck velocity below cannot be told from Coulomb friction


#: Values (N,) at rates (N,) with directions (N,) and a velocity in rad/s.
Shape = Callable[[FloatArray, FloatArray, float], FloatArray]


class Errors(NamedTuple):
    """RMS torque error (4,) in N m: in the band of the fit, and of the samples as recorded."""

    band: FloatArray
    all: FloatArray


@dataclass(frozen=True, eq=False)
class Shaped:
    """Axis 4 by least squares on its own rows: the exact model's columns and one more shape."""

    shape: Shape
    velocity: float  # rad/s
    columns: tuple[int, ...]  # of the exact model's regressor
    values: FloatArray  # of the columns, then of the shape
    viscous: float
    coulomb: float

    @property
    def level(self) -> float:
        """Factor of the shape, in N m."""
        return float(self.values[-1])

    def friction(self, rate: FloatArray, s: FloatArray) -> FloatArray:
        """Friction (N,) at rates (N,) with directions s, in N m."""
        own = self.viscous * rate + self.coulomb * s
        return np.asarray(own + self.level * self.shape(rate, s, self.velocity))

    def torque(self, robot: Robot, state: State) -> FloatArray:
        """Torque of axis 4 (N,) in N m."""
        own = regressor(robot, state, "exact").Y[:, 3, list(self.columns)] @ self.values[:-1]
        return np.asarray(own + self.level * _more(robot, state, self.shape, self.velocity))


@dataclass(frozen=True, eq=False)
class SpindleBench:
    """Two runs, the fits to the fast one, and the torques (N, 4) they give on the slow one."""

    robot: Robot
    training: Run
    validation: Run
    prepared: Prepared  # the validation
    band: float | None
    smoothing: float  # rad/s, of the friction in the fits
    fits: dict[str, Fit]
    torques: dict[str, FloatArray]
    stribeck: Stribeck  # with Fs not negative
    free: Shaped
    thin: Shaped
    needed: tuple[float, float]  # factors on Fv4 and Fc4 that fit the validation best

    def errors(self, name: str) -> Errors:
        """Measured minus predicted torque on the validation."""
        every = self.prepared.tau - self.torques[name]
        return Errors(rms(self.prepared.limited(every)), rms(every))

    def coefficients(self, name: str) -> tuple[float, float, float | None]:
        """Fv4 in N m s/rad, Fc4 and Fs4 in N m."""
        if name == THIN:
            return self.thin.viscous, self.thin.coulomb, None
        fit = self.fits[CHOLESKY if name == BY_HAND else name]
        viscous, coulomb = TUNED if name == BY_HAND else (1.0, 1.0)
        stribeck = fit["Fs4"] if "Fs4" in fit.names else None
        return viscous * fit["Fv4"], coulomb * fit["Fc4"], stribeck

    def curve(self, name: str, rate: FloatArray) -> FloatArray:
        """Friction of axis 4 (N,) at rates (N,) in rad/s, by a fit or by hand, in N m."""
        s = direction(rate, self.smoothing)
        if name == THIN:
            return self.thin.friction(rate, s)
        viscous, coulomb, stribeck = self.coefficients(name)
        level = stribeck if name == FREE and stribeck is not None else 0.0
        return _friction(rate, s, (viscous, coulomb, level), self.free.velocity)


def true_friction(rate: FloatArray) -> FloatArray:
    """Friction of the bench's axis 4 (N,) at rates (N,) in rad/s, at 25 degrees C, in N m."""
    numbers = (VISCOUS_4, COULOMB_4, STRIBECK_4)
    return _friction(rate, np.sign(rate), numbers, STRIBECK_VELOCITY) + thinning(rate)


def _friction(
    rate: FloatArray, s: FloatArray, numbers: tuple[float, ...], velocity: float
) -> FloatArray:
    """Viscous, Coulomb and Stribeck friction (N,) at rates (N,) with directions s, in N m."""
    slide = Sliding(rate, s, stribeck_shape(np, rate, velocity))
    return np.asarray(friction_sum(np, (VISCOUS, COULOMB, STRIBECK), numbers, slide))


def thinning(rate: FloatArray) -> FloatArray:
    """The part of it that no friction term of a robot file has."""
    return np.asarray(THINNING * np.tanh(rate / THINNING_VELOCITY), dtype=np.float64)


def bench_robot() -> Robot:
    """The catalogue's robot with the bench's friction, but for the thinning part."""
    robot = load_robot(ROBOT)
    viscous, coulomb = robot.friction.viscous, robot.friction.coulomb
    return robot.with_friction(
        viscous=(*viscous[:3], VISCOUS_4),
        coulomb=(*coulomb[:3], COULOMB_4),
        stribeck=(*(STRIBECK_SHARE * value for value in coulomb[:3]), STRIBECK_4),
        stribeck_velocity=(STRIBECK_VELOCITY,) * 4,
    )


def training_motion(robot: Robot, periods: int, ramp: float | None = None) -> Motion:
    """Excitation 1 with the spindle at up to 2760 deg/s; ramps of two periods unless given (s)."""
    series = _with_spindle(excitation(1), *FAST, 1)
    ramp = 2 * series.period if ramp is None else ramp
    return fourier_motion(robot, series, periods=periods, rate=RATE, ramp=ramp)


def validation_motion(robot: Robot, ramp: float | None = None) -> Motion:
    """Excitation 2 with the spindle at up to 175 deg/s: a period of it, two of the arms."""
    series = _with_spindle(excitation(2), *SLOW, 2)
    return fourier_motion(robot, series, rate=RATE, ramp=ramp)


def spindle_bench(
    *,
    seed: int,
    periods: int,
    ramp: float | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> SpindleBench:
    """Run both motions on the bench and fit the first one with every friction model."""
    robot, machine = load_robot(ROBOT), bench_robot()
    training = _run(machine, training_motion(robot, periods, ramp), 2 * seed)
    report("bench, training")
    validation = _run(machine, validation_motion(robot, ramp), 2 * seed + 1)
    report("bench, validation")
    loaded = Loaded(robot, training.recording, Preparation(rates="kalman"))
    smooth = loaded.robot
    exact, rigid = loaded.information("exact"), loaded.information("rigid")
    fits = {
        BASE: _fit(smooth, rigid, "base", "rigid"),
        CHOLESKY: _fit(
            smooth, rigid, "log-cholesky", "rigid", guess="geometric", weight=WEIGHTS[GEOMETRIC]
        ),
        CONVEX: _fit(smooth, exact, "convex", "exact"),
    }
    free, thin = (_shaped(smooth, loaded, shape) for shape in (_stribeck_shape, _thinning_shape))
    stribeck = _settled(loaded)
    fits[BOUNDED] = _fit(loaded.robot, loaded.information("exact"), "convex", "exact")
    velocity = (*stribeck.velocity[:3].tolist(), free.velocity)
    loaded.robot = loaded.robot.with_friction(stribeck_velocity=velocity)
    fits[FREE] = _fit(loaded.robot, loaded.information("exact"), "base", "exact")
    prepared = prepare(smooth, validation.recording, band=loaded.band, rates="kalman")
    torques = {name: fit.torque(prepared.state) for name, fit in fits.items()}
    rate, smoothing = prepared.state.qd[:, 3], smooth.friction.smoothing
    if smoothing is None:
        raise InputError("smoothing", None, "a velocity: rates were estimated")
    own = fits[CHOLESKY]
    parts = np.column_stack([own["Fv4"] * rate, own["Fc4"] * direction(rate, smoothing)])
    torques |= {name: torques[CHOLESKY].copy() for name in (BY_HAND, THIN)}
    torques[THIN][:, 3] = thin.torque(smooth, prepared.state)
    torques[BY_HAND][:, 3] += parts @ (np.array(TUNED) - 1)
    left = prepared.tau[:, 3] - torques[CHOLESKY][:, 3]
    more = np.linalg.lstsq(prepared.limited(parts), prepared.limited(left), rcond=None)[0]
    report("fits")
    return SpindleBench(
        robot,
        training,
        validation,
        prepared,
        loaded.band,
        smoothing,
        fits,
        torques,
        stribeck,
        free,
        thin,
        (1 + float(more[0]), 1 + float(more[1])),
    )


def _settled(loaded: Loaded) -> Stribeck:
    """Stribeck velocities from the data, none within the smoothing of the direction."""
    found = settle_stribeck(loaded, "exact", None)
    smoothing = loaded.robot.friction.smoothing or 0.0
    velocity = np.maximum(found.velocity, SETTLED_ABOVE * smoothing)
    loaded.robot = loaded.robot.with_friction(stribeck_velocity=tuple(velocity.tolist()))
    return Stribeck(velocity, found.rounds, found.status)


def _shaped(robot: Robot, loaded: Loaded, shape: Shape) -> Shaped:
    """Axis 4 with one more column; its velocity is the one that leaves least."""
    from scipy.optimize import minimize_scalar  # takes longer than the rest of the import

    parts = list(loaded.parts())
    found = [regressor(robot, part.state, "exact") for part in parts]
    names = found[0].names
    active = tuple(j for j in range(len(names)) if any(item.Y[:, 3, j].any() for item in found))
    pairs = list(zip(parts, found, strict=True))
    own = np.concatenate([part.limited(item.Y[:, 3, list(active)]) for part, item in pairs])
    target = np.concatenate([part.limited(part.tau[:, 3]) for part in parts])

    def solved(velocity: float) -> tuple[FloatArray, float]:
        more = [part.limited(_more(robot, part.state, shape, velocity)) for part in parts]
        Y = np.column_stack([own, np.concatenate(more)])
        length = np.linalg.norm(Y, axis=0)
        x = np.linalg.lstsq(Y / length, target, rcond=1e-10)[0] / length
        return x, float(np.linalg.norm(Y @ x - target))

    highest = max(float(np.abs(part.state.qd[:, 3]).max()) for part in parts)
    grid = np.log(highest) + np.linspace(np.log(LOWEST), np.log(HIGHEST), 16)
    best = int(np.argmin([solved(float(np.exp(point)))[1] for point in grid]))
    ends = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    nearest = minimize_scalar(
        lambda point: solved(float(np.exp(point)))[1], bounds=ends, method="bounded"
    )
    velocity = float(np.exp(nearest.x))
    x = solved(velocity)[0]
    viscous, coulomb = (float(x[active.index(names.index(name))]) for name in ("Fv4", "Fc4"))
    return Shaped(shape, velocity, active, x, viscous, coulomb)


def _more(robot: Robot, state: State, shape: Shape, velocity: float) -> FloatArray:
    """The further column (N,) of axis 4."""
    rate = state.qd[:, 3]
    return shape(rate, direction(rate, robot.friction.smoothing), velocity)


def _stribeck_shape(rate: FloatArray, s: FloatArray, velocity: float) -> FloatArray:
    return _friction(rate, s, (0.0, 0.0, 1.0), velocity)


def _thinning_shape(rate: FloatArray, s: FloatArray, velocity: float) -> FloatArray:
    return np.asarray(np.tanh(rate / velocity), dtype=np.float64)


def _fit(robot: Robot, information: Any, method: str, model: str, **options: Any) -> Fit:
    """A fit; on a log too short to tell all terms, those that it cannot tell stay as they are."""
    given: dict[str, Any] = {"model": model, "check": False, **options}
    try:
        return identify(robot, information, method, **given)
    except UnidentifiableError:
        return identify(robot, information, method, unidentifiable="hold", **given)


def _run(machine: Robot, motion: Motion, seed: int) -> Run:
    """A run whose spindle also shears its grease: a moment on the effector against its turning.

    The rotors are part of the arms' inertia in table I, so the preset adds none.
    """
    moment = -thinning(motion.qd[:, 3])

    def wrench(t: float) -> tuple[float, float, float, float]:
        return (0.0, 0.0, 0.0, float(np.interp(t, motion.t, moment)))

    law = PDFeedforward(load_robot(ROBOT), bandwidth=BANDWIDTH)
    run = simulate(
        machine, motion, law, preset=PRESET, rate=RATE, seed=seed, external_force=wrench,
        rotor_inertia=0.0,
    )  # fmt: skip
    if not run.completed:
        raise InputError("run on the bench", run.status, "a motion that the bench completes")
    return run


def _with_spindle(
    series: FourierSeries, speed: float, acceleration: float, multiple: int
) -> FourierSeries:
    """The arms' series at `multiple` times the spindle's frequency, the spindle at one sine."""
    frequency = acceleration / speed
    shape = (4, series.harmonics * multiple)
    sine, cosine = np.zeros(shape), np.zeros(shape)
    sine[:3, multiple - 1 :: multiple] = series.sine[:3]
    cosine[:3, multiple - 1 :: multiple] = series.cosine[:3]
    sine[3, 0] = speed / frequency
    offset = np.append(series.offset[:3], 0.0)
    return FourierSeries(frequency / (2 * np.pi), offset, sine, cosine)
