"""An independent parser of the language, blark, takes what is exported for 3 axes.

Of the long straight-line bodies one statement of each shape is parsed.
"""

from __future__ import annotations

import pytest
from tests.exports.st_blark import check_block, one_of_each_shape, parts
from tests.exports.st_cases import own_robot

from deltadyn.exports.structured_text import Options, files

pytest.importorskip("blark", reason="the parser is not installed")
BLOCKS = parts(files(own_robot(3), Options(name="Own", estimator="least-squares"))["Own.st"])


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str) -> None:
    long = name.endswith(("Feedforward", "Joints", "Model"))
    check_block(one_of_each_shape(BLOCKS[name]) if long else BLOCKS[name])
