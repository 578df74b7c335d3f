"""PLCopen XML of exported blocks, read by the classes that plcopen made of the TC6 schema."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from tests.exports.st_cases import own_robot
from tests.exports.st_evaluator import load
from tests.family.robots import make

from deltadyn.exports.structured_text import Options, files
from deltadyn.robot import Robot

ROBOTS = [own_robot(3), own_robot(4), make("par4"), make("planar_rails")]
ids = [f"{robot.legs} limbs, {robot.dof} axes" for robot in ROBOTS]


def parsed(text: str) -> Any:
    """The project of a document in which every element, attribute and value is of the schema."""
    plcopen = pytest.importorskip("plcopen")
    from xsdata.formats.dataclass.parsers import XmlParser
    from xsdata.formats.dataclass.parsers.config import ParserConfig

    strict = ParserConfig(
        fail_on_unknown_properties=True,
        fail_on_unknown_attributes=True,
        fail_on_converter_warnings=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return XmlParser(config=strict).from_bytes(text.encode(), plcopen.Project)


@pytest.mark.parametrize("robot", ROBOTS, ids=ids)
def test_documents_are_of_the_schema(robot: Robot) -> None:
    """Blocks, variables and their types are those of the plain text."""
    texts = files(robot, Options(name="Own", rate=500.0))
    project, blocks = parsed(texts["Own.plcopen.xml"]), load(texts["Own.st"])
    pous = project.types.pous.pou
    assert [pou.name.lower() for pou in pous] == list(blocks)
    for pou in pous:
        own = pou.interface
        sections = (*own.input_vars, *own.output_vars, *own.local_vars)
        found = {v.name.lower(): v.type for section in sections for v in section.variable}
        wanted = blocks[pou.name.lower()].variables
        assert set(found) == set(wanted)
        for name, kind in found.items():
            declared = wanted[name]
            if declared.bounds is not None:
                (dimension,) = kind.array.dimension
                assert (int(dimension.lower), int(dimension.upper)) == declared.bounds
                kind = kind.array.base_type
            if declared.kind in ("lreal", "dint"):
                assert getattr(kind, declared.kind) is not None
            elif declared.kind == "bool":
                assert kind.bool_value is not None
            else:
                assert kind.derived.name.lower() == declared.kind


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("<LREAL />", "<LREEL />"), ("pouType=", "pouTyp="), ('="functionBlock"', '="block"')],
)
def test_a_document_of_another_form_is_refused(right: str, wrong: str) -> None:
    from xsdata.exceptions import ParserError

    text = files(make("planar"), Options(name="Own"))["Own.plcopen.xml"]
    parsed(text)
    with pytest.raises(ParserError):
        parsed(text.replace(right, wrong))
