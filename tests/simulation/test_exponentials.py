"""The compiled plant's own exp and tanh, beside those of the C library."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import deltadyn.backends
from deltadyn.backends.kernel_models.headers import write_headers

FOLDER = Path(deltadyn.backends.__file__).parent / "source"
PROGRAM = """
#include <stdio.h>
#include "plant_basics.h"
int main(void)
{
    double z;
    while (scanf("%lf", &z) == 1) {
        real c, s;
        soon_angle(z, &c, &s);
        printf("%a %a %a %a\\n", vector_tanh(z), negative_exp(-fabs(z)), c, s);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("exponentials")
    (folder / "all.c").write_text(PROGRAM, "utf-8")
    write_headers(folder / "traced")
    flags = ["-std=gnu99", "-O1", "-ffp-contract=off", "-w", f"-I{FOLDER}", f"-I{folder}"]
    subprocess.run([compiler, *flags, "all.c", "-o", "all", "-lm"], cwd=folder, check=True)
    return folder / "all"


def answers(program: Path, values: list[float]) -> list[list[float]]:
    text = "\n".join(repr(value) for value in values)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [[_number(word) for word in line.split()] for line in done.stdout.splitlines()]


def _number(word: str) -> float:
    return float("nan") if "nan" in word else float.fromhex(word)


def test_errors_are_of_rounding(program: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-12, 3, 4000)
    values = [*(sizes * rng.choice([-1.0, 1.0], 4000)).tolist(), 0.0, 0.3465, 0.3466, 350.0, 1e300]
    for z, (tanh, exp, cos, sin) in zip(values, answers(program, values), strict=True):
        # four or five roundings, each of half a unit: 1.1e-16
        assert tanh == pytest.approx(math.tanh(z), rel=6e-16, abs=0.0)
        if abs(z) < 30:
            assert exp == pytest.approx(math.exp(-abs(z)), rel=0.0, abs=3e-16)
        assert 0.0 <= exp <= 1.0
        if abs(z) < 1e5:  # the callers go to the C library beyond
            assert cos == pytest.approx(math.cos(z), rel=0.0, abs=3e-16)
            assert sin == pytest.approx(math.sin(z), rel=0.0, abs=3e-16)


def test_what_is_not_a_number_stays_so(program: Path) -> None:
    ((tanh, exp, cos, sin),) = answers(program, [float("nan")])
    assert all(map(math.isnan, (tanh, exp, cos, sin)))
    for z in (float("inf"), -float("inf")):
        ((tanh, exp, *_),) = answers(program, [z])
        assert tanh == math.copysign(1.0, z)
        assert exp == 0.0
