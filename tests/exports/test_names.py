"""A robot's name is a text in an export, whatever it holds."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

import deltadyn as dd
from deltadyn.exports import TARGETS
from deltadyn.exports.common import LONGEST, comment_text

NASTY = (
    'x */ int main(void) { return 7; } /* #define double float *) END_IF (* --> ]]> <a&b> \\ $N "'
)


@pytest.mark.parametrize(
    "name", [NASTY, "*/*/", "((**))", "\\", "line\u2028line\r\nline", "a" * 5000, "??/", "-" * 7]
)
def test_a_name_is_one_line_without_marks(name: str) -> None:
    line = comment_text(name)
    assert line.isprintable()
    assert 0 < len(line) <= LONGEST
    for mark in ("*/", "/*", "(*", "*)", "--", "]]>", "\\", '"', "??"):
        assert mark not in line
    assert comment_text(line) == line


def test_a_usual_name_is_kept() -> None:
    for name in ("Codian D4-500 (cell 3), Nr. 7", "Roboter für Gebäck, 2.5 kg / 60 °"):
        assert comment_text(name) == name


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_takes_any_name(target: str, tmp_path: Path) -> None:
    robot = dd.load_robot("sipro-d3-1200").replace(name=NASTY)
    options = {"binary": False} if target == "fmu" else {}
    made = dd.export(robot, target, tmp_path, **options)
    for path in made.files:
        if path.suffix in (".xml", ".TcPOU", ".urdf", ".sdf", ".config"):
            ElementTree.parse(path)
        if path.suffix in (".c", ".h", ".st", ".obj", ".yaml"):
            assert "\n#define double" not in path.read_text("utf-8")
        if path.suffix == ".usda":
            from pxr import Sdf

            layer = Sdf.Layer.FindOrOpen(str(path))
            assert layer is not None
            assert layer.defaultPrim == path.stem
            assert "int main(void)" in layer.documentation
    if target == "c":
        sources = [str(path) for path in made.files if path.suffix == ".c"]
        for source in sources:
            command = ["gcc", "-std=c99", "-fsyntax-only", f"-I{tmp_path}", source]
            assert subprocess.run(command, check=False).returncode == 0, source
