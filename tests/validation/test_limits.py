"""Limits of a user's own for the residual: values, exit status, JSON."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.studio.cases import ROBOT, simulated

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.errors import InputError
from deltadyn.validation import Validation, check_limits
from deltadyn.validation.limits import parse_limits


@cache
def found() -> Validation:
    return dd.validate(dd.load_robot(ROBOT), simulated(1))


def test_a_limit_holds_for_all_axes_or_each() -> None:
    rms = found().rms
    (above,) = check_limits(found(), {"rms": rms.max() * 1.01})
    assert above.met
    (each,) = check_limits(found(), {"rms": rms * [1.01, 0.99, 1.01]})
    assert each.axes_met == (True, False, True)
    assert not each.met
    assert "required rms NOT met" in str(each)
    np.testing.assert_array_equal(each.as_dict()["values"], rms)
    moving = found().moving
    square = np.where(moving, found().measured, 0.0) ** 2
    size = np.sqrt(square.sum(axis=0) / moving.sum(axis=0))
    (share,) = check_limits(found(), {"relative": 1.0})
    np.testing.assert_allclose(share.values, rms / size)


def test_texts_of_the_command_line() -> None:
    robot = dd.load_robot(ROBOT)
    limits = parse_limits(["rms=2Nm", "maximum=1,2,3.5 N m", "relative=5%"], robot)
    assert limits["rms"].tolist() == [2.0]
    assert limits["maximum"].tolist() == [1.0, 2.0, 3.5]
    np.testing.assert_allclose(limits["relative"], [0.05])
    assert parse_limits(["rms=2"], robot)["rms"].tolist() == [2.0]
    for text in (
        "rms",
        "rms=",
        "rms=2N",
        "rms=2mNm",
        "rms=-1",
        "size=2",
        "relative=5Nm",
        "rms=1..2",
    ):
        with pytest.raises(InputError, match="--require"):
            parse_limits([text], robot)
    with pytest.raises(InputError, match="--require"):
        parse_limits(["rms=2", "rms=3"], robot)
    for wrong in (0.0, [1.0, 2.0], np.nan):
        with pytest.raises(InputError, match="limit of rms"):
            check_limits(found(), {"rms": wrong})
    with pytest.raises(InputError, match="required size"):
        check_limits(found(), {"r_squared": 0.5})


@pytest.mark.full
def test_the_exit_status_says_whether_they_are_met(tmp_path: Path) -> None:
    simulated(1).save(tmp_path / "log.csv")
    call = ["validate", ROBOT, str(tmp_path / "log.csv"), "--no-check"]
    met = CliRunner().invoke(main, [*call, "--require", "rms=50Nm", "--require", "relative=90%"])
    assert met.exit_code == 0, met.output
    assert met.output.count(" met: ") == 2
    unmet = CliRunner().invoke(main, [*call, "--require", "rms=0.0001Nm", "--json"])
    assert unmet.exit_code == 1
    (item,) = json.loads(unmet.stdout)["required"]
    assert (item["size"], item["met"]) == ("rms", False)
    alone = CliRunner().invoke(main, ["identify", *call[1:3], "--require", "rms=2"])
    assert alone.exit_code == 2
    assert "without a held-out log" in alone.stderr


@pytest.mark.full
def test_identify_holds_them_against_the_held_out_log(tmp_path: Path) -> None:
    for seed in (1, 2):
        simulated(seed).save(tmp_path / f"{seed}.csv")
    call = ["identify", ROBOT, str(tmp_path / "1.csv"), "--validate", str(tmp_path / "2.csv")]
    fast = ["--method", "base", "--terms", "file", "--out", str(tmp_path / "fit"), "--json"]
    done = CliRunner().invoke(main, [*call, *fast, "--require", "maximum=0.000001"])
    assert done.exit_code == 1, done.output
    record = json.loads(done.stdout)
    assert record["required"][0]["met"] is False
    np.testing.assert_allclose(
        record["required"][0]["values"], record["validation"]["metrics"]["maximum"]
    )
