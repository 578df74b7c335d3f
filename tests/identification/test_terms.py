"""Terms of real machines: evidence beside scipy, orders, corrections, and what a fit says."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import multivariate_normal
from tests.family.robots import make as make_kind
from tests.machines import Machine, compiler, make_machine

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.loading import Loaded
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.terms.choose import Search, choose, wave_orders
from deltadyn.identification.terms.evidence import Candidate, Evidence, odds_of
from deltadyn.identification.terms.orders import LOWEST, orders_of, periodogram
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.corrections import contrasts, corrected, torque_ratio
from deltadyn.recording.prepare.data import Prepared

needs_gcc = pytest.mark.skipif(compiler() is None, reason="the independent plant needs gcc")


def _problem(seed: int, kappa: float) -> tuple[Evidence, list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = 40
    base = rng.standard_normal((n, 3))
    groups = [rng.standard_normal((n, size)) for size in (1, 2, 3)]
    y = base @ [1.0, -2.0, 0.5] + 0.8 * groups[1] @ [1.0, -0.5] + rng.standard_normal(n)
    X = np.column_stack(groups)
    edges = np.cumsum([0, 1, 2, 3])
    items = [
        Candidate(f"g{k}", f"g{k}", tuple(range(edges[k], edges[k + 1])), odds_of(1))
        for k in range(3)
    ]
    P = np.eye(n) - base @ np.linalg.pinv(base)
    return Evidence(items, X.T @ P @ X, X.T @ P @ y, kappa), groups, base, y


@pytest.mark.parametrize("kappa", [1.0, 2.5])
def test_evidence_is_the_marginal_likelihood_of_the_rows(kappa: float) -> None:
    found, groups, base, y = _problem(1, kappa)
    Q = null_space(base.T)  # rows without the base columns, whose prior is flat

    def likelihood(chosen: tuple[int, ...]) -> float:
        own = [Q.T @ groups[k] for k in chosen]
        cov = kappa * np.eye(Q.shape[1]) + sum((A @ A.T for A in own), np.zeros((37, 37)))
        return float(multivariate_normal(cov=cov).logpdf(Q.T @ y))

    for chosen in chain.from_iterable(combinations(range(3), size) for size in range(4)):
        expected = likelihood(chosen) - likelihood(()) + len(chosen) * odds_of(1)
        assert found.of(chosen) == pytest.approx(expected, abs=1e-8)


def test_the_climb_finds_the_best_of_all_sets() -> None:
    for seed in range(20):
        found, *_ = _problem(seed, 1.0)
        every = [
            frozenset(chosen)
            for chosen in chain.from_iterable(combinations(range(3), size) for size in range(4))
        ]
        best = max(every, key=found.of)
        models = found.models()
        assert models[0].candidates == best
        assert all(a.evidence >= b.evidence for a, b in pairwise(models))


def test_candidates_of_a_family_exclude_each_other() -> None:
    found, *_ = _problem(3, 1.0)
    one = [item._replace(family="same") for item in found.candidates]
    models = Evidence(one, found.G, found.g, 1.0).models()
    assert all(len(model.candidates) <= 1 for model in models)


def test_a_rival_form_is_never_chosen_but_remains() -> None:
    found, *_ = _problem(1, 1.0)
    own, other = found.candidates[1], found.candidates[2]
    same = [found.candidates[0], other._replace(term="g1", family="g1"), own._replace(rival=True)]
    models = Evidence(same, found.G, found.g, 1.0).models()
    assert 2 not in models[0].candidates  # though it is the true one
    forced = [item._replace(odds=odds_of(1, asked=item.term == "g1")) for item in same]
    models = Evidence(forced, found.G, found.g, 1.0).models()
    assert 1 in models[0].candidates
    rival = [model for model in models if 2 in model.candidates]
    assert max(model.evidence for model in rival) > models[0].evidence


def test_settings_share_the_probability_of_their_term() -> None:
    assert odds_of(10) == pytest.approx(odds_of(1) - np.log(10))
    assert odds_of(10, asked=True) > 1e3


@pytest.mark.parametrize("order", [17, 64, 233])
def test_the_order_of_a_ripple_is_found(order: int) -> None:
    rng = np.random.default_rng(order)
    q = np.column_stack([0.3 + 0.6 * np.sin(np.linspace(0, 40, 4000) + k) for k in range(3)])
    e = 0.5 * np.sin(order * q + [0.0, 1.0, 2.0]) + rng.standard_normal(q.shape)
    found = orders_of(q, e, 20.0)
    assert found
    assert abs(found[0] - order) <= 3
    noise = periodogram(q, rng.standard_normal(q.shape))
    assert noise[LOWEST:].max() < 0.25 * periodogram(q, e)[found[0]]


def _part(robot: dd.Robot) -> Prepared:
    t = np.arange(2000) / 1000.0
    q = 0.2 + 0.3 * np.sin(2 * np.pi * 0.9 * t[:, None] + [0.0, 2.0, 4.0])
    w = 2 * np.pi * 0.9
    qd = 0.3 * w * np.cos(w * t[:, None] + [0.0, 2.0, 4.0])
    qdd = -(w**2) * (q - 0.2)
    state = State.from_joints(robot, q, qd, qdd)
    return Prepared("log", t, state, dd.inverse_dynamics(robot, state), 1000.0)


def test_a_delay_is_taken_out_of_the_motion() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    part = _part(robot)
    late = corrected(robot, part, {"delay": 1.3e-3})
    inner = slice(10, -10)
    w = 2 * np.pi * 0.9
    q = 0.2 + 0.3 * np.sin(w * (part.t[:, None] - 1.3e-3) + [0.0, 2.0, 4.0])
    assert np.abs(late.state.q - q)[inner].max() < 1e-9
    assert np.abs(late.state.qd - np.gradient(q, part.t, axis=0))[inner].max() < 1e-4


def test_an_eccentric_encoder_is_centred() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    part = _part(robot)
    a, b, n = 1e-4, -2e-4, 7
    true = part.state
    shown = true.q.copy()
    shown[:, 1] += a * np.cos(n * true.q[:, 1]) + b * np.sin(n * true.q[:, 1])
    rate = np.gradient(shown, part.t, axis=0)
    logged = replace(
        part, state=State.from_joints(robot, shown, rate, np.gradient(rate, part.t, axis=0))
    )
    values = {f"eccentricity{n}.cos2": a, f"eccentricity{n}.sin2": b}
    found = corrected(robot, logged, values)
    inner = slice(10, -10)
    assert np.abs(found.state.q - true.q)[inner].max() < 3e-6  # of first order in a, b
    assert np.abs(found.state.qdd - true.qdd)[inner].max() < 2e-2


def test_torque_ratios_are_one_in_the_mean() -> None:
    spindle, four, two = (make_kind(kind) for kind in ("vertical_spindle", "par4", "planar"))
    ratio = torque_ratio(spindle, {"ratio.1": 0.02, "ratio.2": -0.01})
    assert ratio[:3].mean() == pytest.approx(1.0)
    assert ratio[3] == 1.0
    ratio = torque_ratio(four, {"ratio.1": 0.02, "ratio.3": -0.01})
    assert ratio.mean() == pytest.approx(1.0)
    assert ratio[3] != 1.0
    assert torque_ratio(two, {"ratio.1": 0.02}).mean() == pytest.approx(1.0)
    assert np.allclose(contrasts(3).T @ contrasts(3), np.eye(2))


def _fit(cause: str, seed: int, **options: Any) -> tuple[dd.identification.Fit, Machine]:
    robot = dd.load_robot("sipro-d3-1200")
    machine = make_machine(robot, cause, 1.0, seed)
    return dd.identify(robot, machine.record(3, 4.0), **options), machine


@pytest.mark.full
@needs_gcc
def test_a_fit_names_the_terms_of_a_machine(tmp_path: Path) -> None:
    fit, machine = _fit("load+offset", 2)
    assert fit.terms is not None
    assert set(fit.terms.titles) == {"load", "offset"}
    assert min(fit.terms.probabilities.values()) > 0.9
    assert fit.robot.friction.load is not None
    assert fit.robot.friction.offset is not None
    ends = dict(zip(fit.names, fit.interval(), strict=True))
    inside = [ends[n][0] <= v <= ends[n][1] for n, v in machine.truth.items() if n in ends]
    assert np.mean(inside) >= 0.8
    robot_file, record = fit.save(tmp_path / "mine")
    assert dd.load_robot(str(robot_file)).friction.load == fit.robot.friction.load
    data = json.loads(record.read_text())
    assert {term["term"] for term in data["terms"]["found"]} == {"load", "offset"}
    assert "gear loss" in fit.text
    assert fit.report(tmp_path / "fit.html").exists()


@needs_gcc
def test_waves_of_neighbouring_orders_are_one() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    machine = make_machine(robot, "ripple", 1.0, 2)
    loaded = Loaded(robot, machine.record(2, 4.0))
    loaded.compare_up_to(40.0)
    par = parametrise(robot, "exact", tied=True)
    names = ("ripple26", "ripple30", "ripple56")  # the machine has 28 and 56
    search = Search(robot, par, loaded.stretches(80_000, 8_000)[0], names, names)
    choice = choose(search)
    assert set(choice.titles()) == set(names)
    found = wave_orders(choice)
    assert found.pop(56) == 1
    ((order, width),) = found.items()  # the stronger of the two, with a width that holds the truth
    assert order in (26, 30)
    assert abs(order - 28) <= width


@pytest.mark.full
@needs_gcc
def test_every_axis_has_its_own_stribeck_velocity() -> None:
    fit, machine = _fit("friction", 6)
    assert fit.terms is not None
    (term,) = [own for own in fit.terms.found if own.name == "stribeck"]
    assert fit.robot.friction.stribeck_velocity == term.velocities
    true = np.array(machine.numbers["stribeck_rate"])
    common = np.exp(np.mean(np.log(true)))
    off = np.abs(np.log(np.array(term.velocities) / true))
    assert np.mean(off) < np.mean(np.abs(np.log(common / true)))  # better than one for all
    assert "velocities" in fit.terms.text


@pytest.mark.full
@needs_gcc
def test_file_keeps_to_the_robot_file_and_names_force() -> None:
    plain, _ = _fit("offset", 2, terms="file")
    assert plain.terms is None
    forced, _ = _fit("none", 2, terms=("offset",))
    assert forced.terms is not None
    assert forced.terms.titles == ("offset",)
    assert abs(forced["F01"]) < 0.05
    none, _ = _fit("offset", 2, terms=())
    assert none.terms is not None
    assert none.terms.titles == ()


def test_wrong_terms_are_refused_by_name() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    log = dd.simulate(robot, dd.motion.y1(robot)).recording
    with pytest.raises(UnknownNameError, match="term is 'rust'"):
        dd.identify(robot, log, terms=("rust",))
    with pytest.raises(InputError, match="'auto', 'file'"):
        dd.identify(robot, log, terms="all")
    with pytest.raises(InputError, match=r"'file' for 'swarm'.*'convex'"):
        dd.identify(robot, log, "swarm", terms="auto")


def test_columns_that_rounding_alone_tells_apart_explain_nothing() -> None:
    """H = G + I of two equal columns of 1e20 has no Cholesky factor; each of them alone has."""
    evidence = Evidence((), np.full((2, 2), 1e20), np.full(2, 1e20), 1.0)
    assert np.isfinite(evidence.explained([0]))
    assert evidence.explained([0, 1]) == -np.inf
