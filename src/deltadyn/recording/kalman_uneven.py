"""The constant-jerk Kalman smoother of unevenly spaced samples: the same model, step by step.

Samples may be missing or jittered. The unknown start is carried as four more columns, each the
response to one state at the start, and found afterwards by generalised least squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.constant_jerk import (
    STATES,
    process_noise,
    steady_filter,
    transition,
)

BLOCK = 512  # steps whose transitions are formed at once


class _Step(NamedTuple):
    """One sample: prediction x (G, 4, C), P (G, 4, 4), innovation e (G, C), its variance S (G,)."""

    x: FloatArray
    P: FloatArray
    e: FloatArray
    S: FloatArray


def smooth_uneven(t: FloatArray, y: FloatArray, bandwidth: FloatArray, dt: float) -> FloatArray:
    """Smoothed x, xd, xdd as (3, N, k), in units of x and s; bandwidth (k,) in Hz.

    q / R = (2 pi fc)^8 dt: the noise is that of samples dt apart.
    """
    count, channels = y.shape
    w = 2 * np.pi * bandwidth
    gaps = np.diff(t)
    Phi = transition(np.multiply.outer(gaps, w))  # (N-1, k, 4, 4)
    steps = list(_filter(gaps, (y - y[0])[:, :, None], w, dt))
    innovations = np.stack([step.e for step in steps])  # (N, k, 1 + 4)
    variances = np.stack([step.S for step in steps])
    start = _start(innovations, variances)  # (k, 1 + 4): weights of the columns
    out = np.empty((count, channels, 3))
    r = np.zeros((channels, STATES))
    for k in range(count - 1, -1, -1):
        x, P, e, S = steps[k]
        own = np.einsum("gc,gc->g", e, start)
        r = np.einsum("gij,gi->gj", Phi[k], r) if k < count - 1 else r
        r[:, 0] += (own - np.einsum("gi,gi->g", P[:, :, 0], r)) / S
        state = np.einsum("gic,gc->gi", x, start) + np.einsum("gij,gj->gi", P, r)
        out[k] = state[:, :3]
    smoothed = np.moveaxis(out, 2, 0) * w ** np.arange(3)[:, None, None]
    smoothed[0] += y[0]
    return smoothed


def likelihood_uneven(
    t: FloatArray, y: FloatArray, bandwidths: FloatArray, dt: float
) -> tuple[FloatArray, FloatArray]:
    """-2 log likelihood (G, k) of y (N, k) at bandwidths (G,) in Hz, noise variance R (G, k)."""
    count, channels = y.shape
    w = 2 * np.pi * bandwidths
    steps = list(_filter(np.diff(t), (y - y[0])[:, None, :], w, dt))
    e = np.stack([step.e for step in steps])  # (N, G, k + 4)
    S = np.stack([step.S for step in steps])  # (N, G)
    E = e[:, :, channels:]
    start = np.einsum("ngi,ngj,ng->gij", E, E, 1 / S)
    score = np.einsum("ngi,ngc,ng->gic", E, e[:, :, :channels], 1 / S)
    left = e[:, :, :channels] - np.einsum("ngi,gic->ngc", E, np.linalg.solve(start, score))
    R = np.einsum("ngc,ngc,ng->gc", left, left, 1 / S) / (count - STATES)
    step = w * dt  # the start counts in x, xd dt, xdd dt^2, xddd dt^3
    log_det = np.linalg.slogdet(start)[1] - STATES * (STATES - 1) * np.log(step)
    with np.errstate(divide="ignore"):
        value = (count - STATES) * np.log(R) + (np.log(S).sum(axis=0) + log_det)[:, None]
    return value, R


def _filter(gaps: FloatArray, y: FloatArray, w: FloatArray, dt: float) -> Iterator[_Step]:
    """Predictions and innovations of y (N, G or 1, C) for G rates w, with four columns more."""
    mean = dt * w
    groups, own = len(w), y.shape[2]
    P = np.stack([steady_filter(float(h)).P for h in mean])
    x = np.zeros((groups, STATES, own + STATES))
    x[:, :, own:] = np.eye(STATES)
    for k, sample in enumerate(y):
        if k:
            place = (k - 1) % BLOCK
            if place == 0:
                h = np.multiply.outer(gaps[k - 1 : k - 1 + BLOCK], w)
                Phis, Qs = transition(h), process_noise(h, mean)
            Phi = Phis[place]
            x = Phi @ x
            P = Phi @ P @ Phi.transpose(0, 2, 1) + Qs[place]
        e = -x[:, 0, :]
        e[:, :own] += sample
        S = 1.0 + P[:, 0, 0]
        yield _Step(x, P, e, S)
        K = P[:, :, 0] / S[:, None]
        x = x + K[:, :, None] * e[:, None, :]
        P = P - K[:, :, None] * P[:, None, 0, :]


def _start(e: FloatArray, S: FloatArray) -> FloatArray:
    """Weights (k, 1 + 4) of the columns: 1 for the data, and the start that fits them best."""
    whole = np.einsum("ngc,ngd,ng->gcd", e, e, 1 / S)
    b = -np.linalg.solve(whole[:, 1:, 1:], whole[:, 1:, :1])[:, :, 0]
    return np.concatenate([np.ones((len(b), 1)), b], axis=1)
