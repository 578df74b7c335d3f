"""Several methods on the same recordings: one reading, one search for terms, the same fits."""

from typing import Any

import numpy as np
import pytest
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.identification import Information, Shared, identify, shared
from deltadyn.identification.loading import Loaded
from deltadyn.identification.terms.look import look
from deltadyn.recording import Recording
from deltadyn.robot import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=0.4, coulomb=1.2, smoothing=0.02)


@pytest.fixture(scope="module")
def log(robot: Robot) -> Recording:
    """8 s with a torque offset on the first axis."""
    own = recording_of(robot, noise=0.2, seed=3, name="log")
    return own.replace(tau=own.tau + np.array([0.6, 0.0, 0.0]))


@pytest.mark.full
def test_methods_share_one_search(
    robot: Robot, log: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[str] = []
    readings: list[str] = []

    def counted(*given: Any) -> Any:
        searches.append("look")
        return look(*given)

    plain = Loaded.information

    def noted(own: Loaded, source: str) -> Information:
        readings.append(source)
        return plain(own, source)

    monkeypatch.setattr(shared, "look", counted)
    monkeypatch.setattr(Loaded, "information", noted)
    both = Shared(robot, log)
    fits = {name: identify(robot, both, name) for name in ("convex", "base")}
    assert (len(searches), readings) == (1, ["exact"])
    for name, fit in fits.items():
        alone = identify(robot, log, name)
        assert fit.terms is not None
        assert alone.terms is not None
        assert "offset" in fit.terms.titles
        assert fit.terms.titles == alone.terms.titles
        np.testing.assert_allclose(fit.values, alone.values, rtol=1e-12)
        np.testing.assert_allclose(fit.interval(), alone.interval(), rtol=1e-12)
        assert [source.sha256 for source in fit.data] == [source.sha256 for source in alone.data]


@pytest.mark.full
def test_other_options_are_made_ready_by_themselves(robot: Robot, log: Recording) -> None:
    both = Shared(robot, log)
    assert identify(robot, both, "base").terms is not None
    assert identify(robot, both, "base", terms="file").terms is None
    assert identify(robot, both, "svd").terms is None
    assert identify(robot, both, "base", band=20.0).band == 20.0
    with pytest.raises(InputError, match="shared for"):
        identify(robot.with_payload(1.0), both, "base")
