"""Whether a residual follows the motion: never by noise of whatever colour, always by a shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from deltadyn.identification.terms.choose import Weighing
from deltadyn.identification.terms.rows import Axis, Rows
from deltadyn.identification.terms.structure import (
    FEWEST,
    KINDS,
    SHORTEST,
    SURE,
    structure_of,
)

LOGS, ROWS, DOF = 4, 400, 3


def _weighing(
    seed: int,
    noise: np.ndarray,
    extra: float = 0.0,
    shape: str = "friction",
    rows: int = ROWS,
    logs: int = LOGS,
) -> Weighing:
    """Rows of random motions: 1, qd, qdd and sign(qd) of each axis, noise and a shape."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows) / 100.0
    motion = []
    for _ in range(logs):
        w = 2 * np.pi * rng.uniform(0.4, 2.0, (4, DOF))
        phase = rng.uniform(0, 2 * np.pi, (4, DOF))
        angle = w * t[:, None, None] + phase
        q = (0.2 * np.sin(angle) / np.sqrt(w)).sum(axis=1)
        qd = (0.2 * np.sqrt(w) * np.cos(angle)).sum(axis=1)
        qdd = -(0.2 * w**1.5 * np.sin(angle)).sum(axis=1)
        motion.append((q, qd, qdd))
    q, qd, qdd = (np.concatenate(own) for own in zip(*motion, strict=True))
    added = {"friction": np.sign(qd) * np.exp(-((qd / 0.3) ** 2)), "waves": np.cos(31 * q)}[shape]
    size = extra / added.std(axis=0)
    axes = []
    for i in range(DOF):
        X = np.column_stack([np.ones(len(q)), qd[:, i], qdd[:, i], np.tanh(qd[:, i] / 0.05)])
        y = X @ [1.0, 2.0, 0.5, 1.0] + size[i] * added[:, i] + noise[: len(q), i]
        used = np.abs(qd[:, i]) > 0.02
        axes.append(Axis(X, np.arange(4 * i, 4 * i + 4), y, used))
    part = np.repeat(np.arange(logs), rows)
    segment = np.arange(len(q)) // 100
    found = Rows(
        tuple(axes), 4 * DOF, np.zeros(0), segment, part, q, qd, qdd, np.abs(qd), np.ones(DOF)
    )
    return Weighing(found, np.ones(DOF), 1.0)


def _noise(seed: int, keep: float) -> np.ndarray:
    """Noise of unit variance whose neighbours have this correlation."""
    white = np.random.default_rng([seed, 1]).standard_normal((LOGS * ROWS, DOF))
    found: np.ndarray = lfilter([np.sqrt(1 - keep**2)], [1.0, -keep], white, axis=0)
    return found


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9])
def test_noise_of_any_colour_does_not_follow_the_motion(keep: float) -> None:
    scores = []
    for seed in range(8):
        weighing = _weighing(seed, _noise(seed, keep))
        found = structure_of(weighing, *weighing.estimate(()))
        assert not found.shows
        scores += list(found.scores.values())
    assert abs(np.mean(scores)) < 0.7  # 56 scores, of which those of a seed are alike
    assert 0.6 < np.std(scores) < 1.5


@pytest.mark.parametrize("shape", ["friction", "waves"])
def test_a_shape_shows_with_its_share(shape: str) -> None:
    for seed in range(3):
        noise = _noise(seed, 0.5)
        weighing = _weighing(seed, noise, 0.7, shape)
        found = structure_of(weighing, *weighing.estimate(()))
        assert found.shows
        assert found.scores[shape] > SURE  # and maybe more of another kind that is alike
        for i, axis in enumerate(_weighing(seed, 0 * noise, 0.7, shape).rows.axes):
            X, y = axis.X[axis.used], axis.y[axis.used]
            left = y - X @ np.linalg.lstsq(X, y)[0]  # what the columns leave of the shape
            share = np.mean(left**2) / (np.mean(left**2) + 1)
            # 230 shapes explain as many of 1600 correlated rows of noise, give or take 40 to 60,
            # and damping takes some of what lies close to the model
            assert 0.3 * share < found.share[i] < share + 0.06


def test_a_shape_that_the_model_has_does_not_show() -> None:
    weighing = _weighing(1, _noise(1, 0.5))
    for axis in weighing.rows.axes:
        axis.y[:] += 50 * axis.X[:, 1]  # the model follows
    z, V = weighing.estimate(())
    assert not structure_of(weighing, z, V).shows


def test_kinds_can_be_left_out_and_short_logs_tell_nothing() -> None:
    weighing = _weighing(2, _noise(2, 0.0), 1.0)
    found = structure_of(weighing, *weighing.estimate(()), ("friction",))
    assert set(found.scores) == set(KINDS) - {"friction"}
    short = _weighing(2, _noise(2, 0.0), 1.0, rows=(FEWEST - 1) * SHORTEST, logs=1)
    told = structure_of(short, *short.estimate(()))
    assert not told.told
    assert not told.shows
