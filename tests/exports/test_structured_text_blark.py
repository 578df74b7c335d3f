"""An independent parser of the language, blark, takes what is exported for 3 axes.

Of the long straight-line bodies one statement of each shape is parsed.
"""

from __future__ import annotations

import pytest
from tests.exports.st_blark import check_block, check_text, one_of_each_shape, parts
from tests.exports.st_cases import own_robot

from deltadyn.exports.common import write_fingerprint
from deltadyn.exports.structured_text import Options, files, head
from deltadyn.exports.structured_text.codesys import codesys_files

pytest.importorskip("blark", reason="the parser is not installed")
BLOCKS = parts(files(own_robot(3), Options(name="Own", estimator="least-squares"))["Own.st"])


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str) -> None:
    long = name.endswith(("Feedforward", "Joints", "Model"))
    check_block(one_of_each_shape(BLOCKS[name]) if long else BLOCKS[name])


def test_block_and_method_for_codesys() -> None:
    """`IMPLEMENTS` and the method, which this parser takes one by one."""
    robot = own_robot(3)
    text = codesys_files(robot, "Own", head(robot, "Dynamics"))["codesys/FB_Own_Dynamics.st"]
    text = write_fingerprint(text, "0123456789abcdef")
    start, end = text.index("METHOD"), text.index("END_FUNCTION_BLOCK")
    block = check_text(f"{text[:start]}END_FUNCTION_BLOCK\n")
    assert [str(name) for name in block.implements.interfaces] == ["SMDYN.ISMDynamics"]
    assert str(check_text(text[start:end]).name) == "AxesStateToTorque"
