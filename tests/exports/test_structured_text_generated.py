"""The committed straight-line Structured Text is what the model's source gives today."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.exports.st_evaluator import instance, load

import deltadyn.exports
from deltadyn.exports.structured_text.code import generated, step_text

FOLDER = Path(deltadyn.exports.__file__).parent / "templates" / "structured_text"
FILES = sorted(FOLDER.glob("generated_*.st"))


@pytest.mark.full
def test_generated_files_are_up_to_date() -> None:
    pytest.importorskip("casadi", reason="the generator needs CasADi")
    (made_with,) = re.findall(r"with CasADi ([\d.]+);", FILES[0].read_text("utf-8"))
    if version("casadi") != made_with:
        pytest.skip(f"made with CasADi {made_with}, here is {version('casadi')}")
    from tools.structured_text import generated_files

    files = generated_files()
    assert sorted(files) == [path.name for path in FILES]
    for name, text in files.items():
        assert (FOLDER / name).read_bytes() == text.encode(), (
            f"{name} is not what the model gives: run python -m tools.structured_text"
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_generated_text_is_guarded_straight_lines(path: Path) -> None:
    """Every denominator and every argument of a root that is no number was tested before."""
    name = path.stem.removeprefix("generated_")
    assert load(path.read_text("utf-8"))[name].variables
    tested = set()
    for step in generated(name):
        if not step.target:
            tested.add((step.op, step.args[0]))
        needed = {"/": "singular", "SQRT": "reach"}.get(step.op)
        if needed and not step.args[-1][0].isdigit():
            assert (needed, step.args[-1]) in tested, step


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_generated_text_is_read_back_whole(path: Path) -> None:
    name = path.stem.removeprefix("generated_")
    text = path.read_text("utf-8")
    lines = text[text.rindex("END_VAR") :].splitlines()[1:-1]
    assert [step_text(step) for step in generated(name)] == lines


def test_the_generated_block_runs_with_the_robots_numbers_as_inputs() -> None:
    """h = 0.3, w = 0, z = -0.4 with l1 = l2 = 0.5: the arm hangs straight below its shoulder."""
    text = (FOLDER / "generated_inverse_kinematics.st").read_text("utf-8")
    limb = {"1": 0.0, "2": 0.5, "3": 0.5, "4": 1.0, "5": 0.0}
    inputs = {f"par_limb_{5 * i + int(k)}": v for i in range(3) for k, v in limb.items()}
    inputs |= {f"par_elbow_{i}": 1.0 for i in (1, 2, 3)}
    block = instance(text, "inverse_kinematics")
    block(**inputs, p_1=0.3, p_2=0.0, p_3=-0.4)
    assert block.Status == 0
    c, s = block.out_cos_q_1, block.out_sin_q_1
    assert c * c + s * s == pytest.approx(1.0, abs=1e-15)
    strut = (0.3 - 0.5 * c) ** 2 + (-0.4 + 0.5 * s) ** 2
    assert strut == pytest.approx(0.25, abs=1e-15)
    assert block(**inputs, p_1=3.0, p_2=0.0, p_3=-0.4).Status == 2
