"""Moving stretches of a log, given as a list, fit like their concatenation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import clean, robot_of

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.recording import Recording, concatenate

ROBOT = robot_of("sipro-d3-1200")


@cache
def stretches(payload: float = 0.0, name: str = "log", length: int = 400) -> list[Recording]:
    """Every half second the first samples, as a production log is cut at its rests."""
    whole = clean(payload=payload).replace(name=name)
    return [whole.rows(k, k + length) for k in range(0, 4000, 500)]


@pytest.mark.full
@pytest.mark.parametrize("length", [200, 400])
def test_a_list_of_stretches_fits_like_one_recording(length: int) -> None:
    parts = stretches(length=length)
    how: dict[str, Any] = {"terms": "file", "band": 30.0, "method": "base"}
    one, many = (dd.identify(ROBOT, data, **how) for data in (concatenate(parts), parts))
    assert one.names == many.names
    # rates are smoothed with the bandwidth of each recording, so not to the last digit
    assert (np.abs(many.values - one.values) < 0.01 * one.std).all()
    np.testing.assert_allclose(many.std, one.std, rtol=0.01)


@pytest.mark.full
def test_with_the_defaults() -> None:
    parts = stretches()
    one, many = (dd.identify(ROBOT, data, "base") for data in (concatenate(parts), parts))
    far = np.abs(many.values - one.values) / np.maximum(one.std, many.std)
    assert far.max() < 3


@pytest.mark.full
def test_a_payload_is_still_found_in_short_stretches() -> None:
    loaded = stretches(payload=1.0, name="loaded")
    with pytest.raises(InputError, match=r"payload of 'loaded \(8\)' .* it carried \+1\.0"):
        dd.identify(ROBOT, [*stretches(), *loaded], "base", terms="file", unidentifiable="hold")
    declared = [part.replace(payload=1.0) for part in loaded]
    fit = dd.identify(ROBOT, [*stretches(), *declared], "base", terms="file")
    assert fit["M_P"] == pytest.approx(1.33, rel=0.01)
