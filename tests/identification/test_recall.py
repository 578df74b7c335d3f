"""Fits from saved information: its terms stay, some may be left out, none are found."""

from pathlib import Path

import numpy as np
import pytest
from tests.machines import compiler, make_machine

import deltadyn as dd
from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import InputError
from deltadyn.identification import (
    Fit,
    Information,
    gather,
    identify,
    load_information,
    parametrise,
    prepare,
)
from deltadyn.recording import Recording

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
ROBOT = dd.load_robot("sipro-d3-1200").with_friction(viscous=0.1, coulomb=0.5)


@pytest.fixture(scope="module")
def logs() -> list[Recording]:
    """A machine with torque offsets and a late torque signal."""
    return list(make_machine(ROBOT, cause="offset+delay", seed=4).record())


@pytest.fixture(scope="module")
def whole(logs: list[Recording]) -> Fit:
    return identify(ROBOT, logs)


@pytest.fixture(scope="module")
def saved(whole: Fit, tmp_path_factory: pytest.TempPathFactory) -> Information:
    path = tmp_path_factory.mktemp("saved") / "information.npz"
    assert whole.information is not None
    whole.information.save(path)
    return load_information(path)


@pytest.mark.full
def test_a_fit_from_its_own_information_is_the_same(whole: Fit, saved: Information) -> None:
    again = identify(ROBOT, saved)
    assert whole.terms is not None
    assert again.terms is not None
    assert {"offset", "delay"} <= set(whole.terms.titles)
    assert again.terms.titles == whole.terms.titles
    assert again.terms.probabilities == whole.terms.probabilities
    assert again.names == whole.names
    np.testing.assert_allclose(again.values, whole.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(again.interval(), whole.interval(), rtol=1e-6, atol=1e-9)
    assert again.robot.friction.offset == pytest.approx(whole.robot.friction.offset, rel=1e-6)
    state = exciting_states(ROBOT, 5)
    np.testing.assert_allclose(again.predict(state)[1], whole.predict(state)[1], rtol=1e-6)
    assert "no other terms are looked for" in " ".join(again.text.split())


def test_terms_may_be_left_out(logs: list[Recording], whole: Fit, saved: Information) -> None:
    """As a fit of the samples with the same terms, but for the delay's curvature."""
    some = identify(ROBOT, saved, terms=("offset",))
    direct = identify(ROBOT, logs, terms=("offset",))
    assert some.terms is not None
    assert some.terms.titles == ("offset",)
    assert "Left out: " in some.terms.text
    assert "delay" not in some.names
    assert set(some.names) == set(direct.names)
    # both have the offset, and the delay's error in the bodies
    assert some.residual.mean() > 1.2 * whole.residual.mean()
    np.testing.assert_allclose(some.residual, direct.residual, rtol=0.15)
    bodies = [some.names.index(name) for name in ("M_P", "A", "G")]
    same = [direct.names.index(name) for name in ("M_P", "A", "G")]
    # rows at rest and correlation are those of the search with the delay: G moves most by it
    np.testing.assert_allclose(some.values[bodies], direct.values[same], rtol=0.06)
    # the interval covers this fit and the models that remained
    low, high = some.interval()[bodies].T
    full = whole.values[[whole.names.index(name) for name in ("M_P", "A", "G")]]
    assert np.all((low < full) & (full < high))


def test_none_may_stay(saved: Information) -> None:
    plain = identify(ROBOT, saved, terms="file")
    assert plain.terms is not None
    assert plain.terms.titles == ()
    assert set(plain.names) == set(parametrise(ROBOT, "exact").names)
    assert not any(plain.robot.friction.offset or ())


def test_no_term_is_found_without_samples(logs: list[Recording], saved: Information) -> None:
    with pytest.raises(InputError, match=r"terms is 'ripple64'; allowed: of those in the inform"):
        identify(ROBOT, saved, terms=("offset", "ripple64"))
    smooth = ROBOT.with_friction(smoothing=0.02)
    bare = gather(smooth, [("log", [prepare(smooth, logs[0], band=25.0)])])
    fit = identify(smooth, bare)
    assert fit.terms is None
    assert "No terms beyond the robot file were looked for" in " ".join(fit.warnings)
    assert "looked for" not in " ".join(identify(smooth, bare, terms="file").warnings)
    with pytest.raises(InputError, match="gathered without"):
        identify(smooth, bare, terms=("offset",))
    with pytest.raises(InputError, match="as in the information"):
        identify(dd.load_robot("example-delta"), saved)
    with pytest.raises(InputError, match="terms of the information"):
        saved.merge(identify(ROBOT, logs[:2]).information)  # type: ignore[arg-type]


def test_elastic_gears_stay(saved: Information) -> None:
    from dataclasses import replace

    record = saved.terms.replace('"term": "delay"', '"term": "elastic"')
    with pytest.raises(InputError, match="'elastic' among them"):
        identify(ROBOT, replace(saved, terms=record), terms=("offset",))


def test_information_of_a_fit_is_small(whole: Fit, saved: Information, tmp_path: Path) -> None:
    saved.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").stat().st_size < 1_000_000
    assert load_information(tmp_path / "again.npz").terms == saved.terms
