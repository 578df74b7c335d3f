"""The least-squares estimator online: batch least squares, events, the gripper, and its door."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, RATE, Case, case

from deltadyn.errors import InputError
from deltadyn.payload.bound import payload_column
from deltadyn.payload.front_end import recorded_grid
from deltadyn.payload.least_squares import LeastSquaresEstimator
from deltadyn.payload.noise import NoiseModel
from deltadyn.recording.recording import Recording


@pytest.fixture(scope="module")
def noise() -> NoiseModel:
    return NoiseModel.of(D3, case(12, seed=5, empty=True).recording, estimator="least-squares")


def run(
    estimator: LeastSquaresEstimator, recording: Recording, holding: np.ndarray | None = None
) -> list[tuple[float, str]]:
    """All samples with their times; the events."""
    events = []
    for k, (t, q, tau) in enumerate(
        zip(recording.t.tolist(), recording.q.tolist(), recording.tau.tolist(), strict=True)
    ):
        signal = None if holding is None else bool(holding[k])
        estimator.update(q, None, None, tau, t=t, holding=signal)
        if estimator.event:
            events.append((t, estimator.event))
    return events


def constant_load(mass: float) -> Recording:
    empty = case(4, seed=3, empty=True)
    tau = empty.recording.tau + mass * payload_column(D3, empty.plan.motion)
    return empty.recording.replace(tau=tau)


@pytest.mark.parametrize("form", ["acceleration", "momentum"])
def test_it_is_batch_least_squares_on_the_whitened_residuals(form: str) -> None:
    recording = constant_load(1.3)
    noise = NoiseModel.assumed(D3, form=form)
    estimator = LeastSquaresEstimator(D3, noise=noise, form=form, events=False)
    run(estimator, recording)
    series = recorded_grid(D3, recording, form=form)
    a = np.asarray(noise.coefficients)
    wr, wc = (x[2:] - a[:, 0] * x[1:-1] - a[:, 1] * x[:-2] for x in (series.r, series.c))
    fade = 1 + (series.qd[2:] / 0.4) ** 2
    deviation = np.sqrt(np.square(noise.deviation) + np.square(noise.friction) / fade**2)
    moving = np.abs(series.qd[2:]) > 0.03
    A, b = (wc / deviation)[moving], (wr / deviation)[moving]
    # the estimator counts from the residual after the warm-up; two earlier ones are its history
    batch = np.linalg.lstsq(A[:, None], b, rcond=None)[0][0]
    assert estimator.mass == pytest.approx(batch, rel=2e-3)  # two residuals of 700 more
    assert estimator.std == pytest.approx(
        np.sqrt(1 / (A @ A) + (0.02 * batch) ** 2 + 0.005**2), rel=2e-3
    )
    assert estimator.mass == pytest.approx(1.3, abs=3 * estimator.std)


def test_exactly_batch_least_squares(noise: NoiseModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sums from the same residuals, to rounding."""
    recording = constant_load(0.7)
    estimator = LeastSquaresEstimator(D3, noise=noise, events=False)
    told: list[Any] = []
    weigh = estimator.whitener.weigh

    def listen(*row: Any) -> Any:
        told.append([np.array(x) for x in row])
        return weigh(*row)

    monkeypatch.setattr(estimator.whitener, "weigh", listen)
    run(estimator, recording)
    r, c, qd = (np.array(x) for x in zip(*told, strict=True))
    s, i = noise.weigh_all(r, c, qd)
    skip = estimator.grid.warm_up
    assert estimator.mass == pytest.approx(s[skip:].sum() / i[skip:].sum(), rel=1e-9)


def test_masses_are_within_their_deviations(noise: NoiseModel) -> None:
    found = case(10, seed=7)
    estimator = LeastSquaresEstimator(D3, noise=noise)
    holding = found.payload > 0
    events = run(estimator, found.recording, holding)
    assert [what for _, what in events] == ["pick", "release"] * 10
    z = [
        (pick.mass - cycle.mass) / pick.std
        for pick, cycle in zip(estimator.picks, found.plan.cycles, strict=True)
    ]
    assert np.abs(z).max() < 3.0
    assert np.sqrt(np.mean(np.square(z))) < 1.5


def test_picks_and_releases_are_found_without_a_signal(noise: NoiseModel) -> None:
    found = case(10, seed=9, masses=(0.5, 4.0))
    estimator = LeastSquaresEstimator(D3, noise=noise)
    events = run(estimator, found.recording)
    assert [what for _, what in events] == ["pick", "release"] * 10
    for pick, cycle in zip(estimator.picks, found.plan.cycles, strict=True):
        assert pick.start == pytest.approx(cycle.pick, abs=0.05)  # its own time constant: 0.02 s
        assert pick.detected - cycle.pick < 0.15
        assert pick.end == pytest.approx(cycle.end, abs=0.06)
        assert pick.mass == pytest.approx(cycle.mass, abs=3.5 * pick.std)
        assert pick.ended == "release"
    assert not estimator.loaded
    assert estimator.mass == 0.0
    assert estimator.std == noise.zero


@pytest.mark.parametrize("rate", [1000.0, 2000 / 3, 500.0, 250.0])
def test_picks_are_found_at_other_rates(rate: float) -> None:
    """Also with two or three samples per residual, where none is left for the search alone."""
    found, every = case(3, seed=3), round(2000.0 / rate)
    estimator = LeastSquaresEstimator(D3, rate=rate)
    rows = zip(found.recording.q[::every], found.recording.tau[::every], strict=True)
    events = []
    for q, tau in rows:
        estimator.update(q, None, None, tau)
        events += [estimator.event] if estimator.event else []
    assert events.count("pick") >= 3
    assert "release" in events


def test_a_lost_grip_is_told_from_a_release(noise: NoiseModel) -> None:
    found = case(8, seed=12, masses=(0.8, 4.0), lost=0.5)
    lost = [cycle.lost for cycle in found.plan.cycles]
    assert 2 <= sum(lost) <= 6
    estimator = LeastSquaresEstimator(D3, noise=noise)
    run(estimator, found.recording)
    ended = [pick.ended for pick in estimator.picks]
    assert ended == ["lost grip" if gone else "release" for gone in lost]
    told = LeastSquaresEstimator(D3, noise=noise)
    holding = np.zeros(len(found.payload), bool)
    for cycle in found.plan.cycles:  # a gripper that does not know what it lost
        begin, end = round(cycle.pick * RATE), round((cycle.pick + 0.2) * RATE)
        holding[begin : max(end, round(cycle.end * RATE) + (200 if cycle.lost else 0))] = True
    run(told, found.recording, holding)
    assert [pick.ended for pick in told.picks] == ended


@pytest.mark.full
def test_an_empty_robot_makes_no_event(noise: NoiseModel) -> None:
    estimator = LeastSquaresEstimator(D3, noise=noise)
    assert run(estimator, case(30, seed=21, empty=True).recording) == []
    assert estimator.picks == []


def test_the_momentum_form_needs_no_acceleration() -> None:
    found = case(6, seed=9, masses=(0.5, 4.0), rates=True)
    noise = NoiseModel.of(D3, case(12, seed=5, empty=True).recording, form="momentum")
    estimator = LeastSquaresEstimator(D3, noise=noise, form="momentum")
    rec = found.recording
    assert rec.qd is not None
    for t, q, qd, tau in zip(rec.t, rec.q, rec.qd, rec.tau, strict=True):
        estimator.update(q, qd, None, tau, t=float(t))
    assert len(estimator.picks) == 6
    for pick, cycle in zip(estimator.picks, found.plan.cycles, strict=True):
        assert pick.mass == pytest.approx(cycle.mass, abs=3.5 * pick.std)


def test_the_four_axis_robot() -> None:
    found = case(4, seed=2, masses=(0.8, 2.0), four=True, deviation=0.1)
    noise = NoiseModel.of(FOUR, case(8, seed=5, empty=True, four=True, deviation=0.1).recording)
    estimator = LeastSquaresEstimator(FOUR, noise=noise)
    run(estimator, found.recording, found.payload > 0)
    for pick, cycle in zip(estimator.picks, found.plan.cycles, strict=True):
        assert pick.mass == pytest.approx(cycle.mass, abs=3.5 * pick.std)


def test_from_fit_takes_the_noise_of_the_recording() -> None:
    class Fit:
        robot, names, std = D3, ("M_P", "A"), (0.02, 0.1)

    estimator = LeastSquaresEstimator.from_fit(Fit(), case(6, seed=5, empty=True).recording)
    tare = estimator.noise.tare
    assert estimator.noise.zero == pytest.approx(np.hypot(0.02, tare / 2))
    assert estimator.grid.rate == 2000.0
    assert estimator.noise.source.startswith("case")


def good(found: Case, k: int) -> tuple[list[float], list[float], float]:
    rec = found.recording
    return rec.q[k].tolist(), rec.tau[k].tolist(), float(rec.t[k])


def started(count: int = 400, **options: Any) -> tuple[LeastSquaresEstimator, Case]:
    found = case(4, seed=3, empty=True)
    estimator = LeastSquaresEstimator(D3, **options)
    for k in range(count):
        q, tau, t = good(found, k)
        estimator.update(q, None, None, tau, t=t)
    return estimator, found


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"t": 0.1}, r"t is 0\.1; allowed: above 0\.199500 s; the sample was not used"),
        ({"t": 0.1995}, r"t is 0\.1995; allowed: above 0\.199500 s"),
        ({"t": float("nan")}, "t is nan; allowed: a finite number of s"),
        ({"t": None}, "t is None; allowed: a time, as the samples before had"),
        ({"q": [0.1, float("nan"), 0.2]}, r"q at axis 2, t = 0\.1995 s is nan; allowed: a finite"),
        ({"tau": [1.0, 2.0, float("inf")]}, r"tau at axis 3, .* is inf; allowed: a finite number"),
        ({"tau": ["a", 2.0, 1.0]}, r"tau at axis 1, .* is 'a'; allowed: a finite number"),
        ({"q": [0.1] * 4}, "number of values in q is 4; allowed: 3 numbers, as robot 'sipro-d3-12"),
        ({"tau": 3.0}, r"tau is 3; allowed: 3 numbers"),
        ({"qd": [0.1] * 3}, "rates is 'qd given, qdd None'; allowed: as in the first sample"),
        ({"qdd": [0.1] * 3}, "qd is None; allowed: the rates, where accelerations are given"),
    ],
)
def test_a_wrong_sample_is_refused_and_changes_nothing(change: dict[str, Any], text: str) -> None:
    estimator, found = started()
    twin, _ = started()
    q, tau, t = good(found, 400)
    row = {"q": q, "qd": None, "qdd": None, "tau": tau, "t": t, **change}
    with pytest.raises(InputError, match=text):
        estimator.update(row["q"], row["qd"], row["qdd"], row["tau"], t=row["t"])
    for k in range(400, 1200):
        for one in (estimator, twin):
            q, tau, t = good(found, k)
            one.update(q, None, None, tau, t=t)
    assert estimator.front.state == twin.front.state
    assert estimator.detector.sums == twin.detector.sums


def feed(estimator: LeastSquaresEstimator, found: Case, rows: Iterable[int], rate: float) -> None:
    """Rows of a case as if they had come at another rate, from 0.2 s on."""
    for k, row in enumerate(rows):
        q, tau, _ = good(found, row)
        estimator.update(q, None, None, tau, t=0.1995 + (k + 1) / rate)


@pytest.mark.parametrize(("rate", "step"), [(1000.0, 2), (4000.0, 1), (1600.0, 1)])
def test_another_rate_is_refused(rate: float, step: int) -> None:
    estimator, found = started()
    text = rf"rate of the samples at t = .* is {rate:g}; allowed: 2000 Hz; make an estimator"
    with pytest.raises(InputError, match=text):
        feed(estimator, found, range(400, 500, step), rate)


def test_a_short_gap_is_bridged_and_a_long_one_begins_anew(noise: NoiseModel) -> None:
    estimator, found = started(noise=noise)
    q, tau, t = good(found, 404)
    estimator.update(q, None, None, tau, t=t)
    assert estimator.bridged == 4
    assert estimator.front.count == 405
    q, tau, t = good(found, 500)
    estimator.update(q, None, None, tau, t=t)
    assert estimator.status == "a pause of 0.048 s before t = 0.25 s: begun anew"
    assert estimator.front.count == 1
    loaded = LeastSquaresEstimator(D3, noise=noise)
    one = case(10, seed=9, masses=(0.5, 4.0))
    for k in range(800):
        q, tau, t = good(one, k)
        loaded.update(q, None, None, tau, t=t)
    assert loaded.mass > 0.3
    loaded.update(q, None, None, tau, t=t + 1.0)
    assert not loaded.loaded
    assert [pick.ended for pick in loaded.picks] == ["reset"]
    assert loaded.picks[0].end == pytest.approx(t)


def test_an_angle_that_jumps_is_refused_and_one_that_stays_begins_anew() -> None:
    estimator, found = started(400)
    mass, (q, tau, t) = estimator.mass, good(found, 400)
    with pytest.raises(
        InputError, match=r"q at axis 2, .* is 3; allowed: within 0\.5 rad of .*not"
    ):
        estimator.update([q[0], 3.0, q[2]], None, None, tau, t=t)
    assert estimator.mass == mass
    moved = [value + 0.6 for value in q]
    for k in range(18):
        with pytest.raises(InputError, match="the sample was not used"):
            estimator.update(moved, None, None, tau, t=t + k / RATE)
    estimator.update(moved, None, None, tau, t=t + 18 / RATE)
    assert "jumped and stayed" in estimator.status


def test_angles_that_close_no_loop_are_refused() -> None:
    estimator, found = LeastSquaresEstimator(D3), case(4, seed=1)
    open_loop = found.recording.replace(q=np.tile([3.1, -0.2, -0.2], (len(found.payload), 1)))
    with pytest.raises(InputError, match=r"q is .*; allowed: angles at which the loop closes"):
        feed(estimator, found._replace(recording=open_loop), range(900), RATE)
    assert estimator.status.endswith("begun anew")


def test_reset_and_constant_memory(noise: NoiseModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltadyn.payload.estimator.KEPT", 3)
    estimator = LeastSquaresEstimator(D3, noise=noise)
    found = case(4, seed=9, masses=(0.5, 4.0))
    run(estimator, found.recording, found.payload > 0)
    assert (estimator.picked, len(estimator.picks)) == (4, 3)
    assert estimator.picks[-1].start == pytest.approx(found.plan.cycles[-1].pick)
    estimator.reset()
    assert (estimator.picks, estimator.picked, estimator.status) == ([], 0, "new")
    run(estimator, found.recording, found.payload > 0)
    assert estimator.picked == 4


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rate": 100.0}, "rate is 100; allowed: at least 250 Hz"),
        ({"form": "force"}, "form is 'force'; allowed: one of"),
        ({"false_alarms": 0.0}, "false_alarms is 0; allowed: above 0"),
        ({"rest_speed": 0.0}, "rest_speed is 0; allowed: above 0 m/s"),
        ({"noise": 3}, "noise is 'int'; allowed: a NoiseModel"),
        ({"noise": NoiseModel.assumed(FOUR)}, "axes of the noise model is 4; allowed: 3, as robot"),
        ({"noise": NoiseModel.assumed(D3, rate=1000.0)}, "noise model is '1000 Hz, acceleration'"),
    ],
)
def test_wrong_settings(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        LeastSquaresEstimator(D3, **options)


def test_a_robot_is_needed() -> None:
    with pytest.raises(InputError, match="robot is 'str'; allowed: a Robot, or a fit"):
        LeastSquaresEstimator("sipro-d3-1200")
