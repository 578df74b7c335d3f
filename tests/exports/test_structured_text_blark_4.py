"""An independent parser of the language, blark, takes what is exported for 4 axes.

Of the straight-line bodies one statement of each shape is parsed. The estimator's body is the text
that was parsed for 3 axes, with other bounds.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.exports.st_blark import check_block, check_text, one_of_each_shape, parts, twincat_parts
from tests.exports.st_cases import own_robot

from deltadyn.exports.structured_text import Options, files

pytest.importorskip("blark", reason="the parser is not installed")
TEXTS = files(own_robot(4), Options(name="Own", estimator="least-squares"))
BLOCKS = parts(TEXTS["Own.st"])


@pytest.mark.parametrize("name", [name for name in BLOCKS if not name.endswith("Estimator")])
def test_blocks(name: str) -> None:
    check_block(one_of_each_shape(BLOCKS[name]))


def test_br_files() -> None:
    check_text(TEXTS["br/FB_Own_ForwardKinematics.st"])
    check_text(next(iter(parts(TEXTS["br/Own.fun"]).values())))


def test_twincat_file(tmp_path: Path) -> None:
    path = tmp_path / "FB_Own_ForwardKinematics.TcPOU"
    path.write_text(TEXTS[f"twincat/{path.name}"], "utf-8")
    assert twincat_parts(path) == ["declaration", "implementation"]
