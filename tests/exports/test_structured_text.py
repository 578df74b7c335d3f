"""The files of the target structured-text: names, heads, the three tools' forms, refusals."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.exports.st_cases import RESERVED, own_robot
from tests.exports.st_evaluator import load

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.common import fingerprint
from deltadyn.exports.structured_text import Options, files
from deltadyn.exports.structured_text.code import literal
from deltadyn.exports.structured_text.models import block_function
from deltadyn.robot import Robot

D3 = dd.load_robot("sipro-d3-1200")
D4 = dd.load_robot("telescopic-delta")
PURPOSES = (
    "InverseKinematics",
    "ForwardKinematics",
    "Feedforward",
    "FeedforwardJoints",
    "FeedforwardLoad",
    "JointsLoad",
    "SelfTest",
    "PayloadModel",
    "PayloadEstimator",
    "PayloadSelfTest",
)
PLCOPEN = {"p": "http://www.plcopen.org/xml/tc6_0201", "x": "http://www.w3.org/1999/xhtml"}


def purposes(robot: Robot) -> list[str]:
    """Blocks of a robot: a payload has a place of its own where it turns."""
    return [name for name in PURPOSES if robot.turns or not name.endswith("Load")]


@pytest.fixture(scope="module", params=[D3, D4], ids=["3-dof", "4-dof"])
def robot(request: pytest.FixtureRequest) -> Robot:
    found: Robot = request.param
    return found


def test_files_for_all_three_tools(robot: Robot) -> None:
    texts = files(robot, Options(name="Own"))
    wanted = {"README-structured-text.md", "Own.st", "Own.plcopen.xml", "br/Own.fun"}
    for purpose in purposes(robot):
        wanted |= {f"twincat/FB_Own_{purpose}.TcPOU", f"br/FB_Own_{purpose}.st"}
    assert set(texts) == wanted
    for name, text in texts.items():
        assert text.isascii(), name
        assert texts.fingerprint in text, name
        assert text.endswith("\n"), name
        assert "\t" not in text, name


def test_names_are_short_and_not_reserved(robot: Robot) -> None:
    texts = files(robot)
    blocks = load(next(text for name, text in texts.items() if re.fullmatch(r"\w+\.st", name)))
    assert len(blocks) == len(purposes(robot))
    reserved = set(RESERVED.split())
    for name, block in blocks.items():
        assert len(name) <= 32
        for own in (name, *block.variables):
            assert own not in reserved
            assert "__" not in own
            assert len(own) <= 32


def test_lines_are_of_moderate_length(robot: Robot) -> None:
    texts = files(robot)
    for name, text in texts.items():
        if name.endswith((".st", ".fun", ".TcPOU")):
            assert max(map(len, text.splitlines())) <= 140, name


def test_every_variable_has_a_comment_with_its_unit(robot: Robot) -> None:
    for line in files(robot)["README-structured-text.md"].splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and cells[3] == "LREAL":
            assert re.search(r"\bin (m|rad|s|kg|N m)\b|-1 to 1|kg", cells[4]), line


@pytest.mark.full
def test_the_same_robot_gives_the_same_files(robot: Robot) -> None:
    assert files(robot) == files(robot)
    assert files(robot) != files(robot.with_rotor_inertia(0.123))


def body_of(text: str) -> str:
    return text.rpartition("END_VAR\n")[2].removesuffix("END_FUNCTION_BLOCK\n").strip()


def plain_blocks(text: str) -> dict[str, str]:
    """Declaration and body of every block of the plain text, by name."""
    found = {}
    for part in re.split(r"(?<=END_FUNCTION_BLOCK\n)", text)[:-1]:
        start = part.rindex("(*", 0, part.index("FUNCTION_BLOCK FB_"))
        name = part[part.index("FUNCTION_BLOCK FB_") :].split()[1]
        found[name] = part[start:]
    return found


@pytest.mark.full
def test_twincat_holds_the_same_text_under_stable_identifiers(robot: Robot) -> None:
    texts = files(robot, Options(name="Own"))
    seen = set()
    for name, plain in plain_blocks(texts["Own.st"]).items():
        root = ElementTree.fromstring(texts[f"twincat/{name}.TcPOU"].encode())
        (pou,) = root
        assert pou.get("Name") == name
        seen.add(uuid.UUID(str(pou.get("Id"))))
        declaration, code = pou.findtext("Declaration"), pou.findtext("Implementation/ST")
        assert declaration is not None
        assert code is not None
        assert f"{declaration}{code}END_FUNCTION_BLOCK\n".endswith(plain)
    assert len(seen) == len(purposes(robot))
    first, second = (re.findall(r'Id="(.*)"', "".join(files(robot).values())) for _ in range(2))
    assert first == second
    other = re.findall(r'Id="(.*)"', "".join(files(robot.with_payload(1.0)).values()))
    assert not set(first) & set(other)


def test_plcopen_holds_the_same_variables_and_text(robot: Robot) -> None:
    texts = files(robot, Options(name="Own"))
    root = ElementTree.fromstring(texts["Own.plcopen.xml"].encode())
    sources, plain = load(texts["Own.st"]), plain_blocks(texts["Own.st"])
    pous = root.findall(".//p:pou", PLCOPEN)
    assert [pou.get("name") for pou in pous] == list(plain)
    for pou in pous:
        name = str(pou.get("name"))
        variables = pou.findall(".//p:variable", PLCOPEN)
        wanted = sources[name.lower()].variables
        assert [str(v.get("name")).lower() for v in variables] == list(wanted)
        code = pou.findtext("p:body/p:ST/x:p", None, PLCOPEN)
        assert (code or "").strip() == body_of(plain[name])


def test_br_declares_apart_and_names_the_type_of_numbers(robot: Robot) -> None:
    texts = files(robot, Options(name="Own"))
    declared, sources = load(texts["br/Own.fun"]), load(texts["Own.st"])
    for name, plain in plain_blocks(texts["Own.st"]).items():
        assert declared[name.lower()].variables == sources[name.lower()].variables
        text = texts[f"br/{name}.st"]
        assert "VAR" not in text
        assert re.findall(r"(?<![#\w.])\d+\.\d+", text.partition("FUNCTION_BLOCK")[2]) == []
        code = text.partition(f"FUNCTION_BLOCK {name}\n")[2].replace("LREAL#", "")
        assert code.removesuffix("END_FUNCTION_BLOCK\n").strip() == body_of(plain)


def test_readme_shows_a_call_that_is_valid(robot: Robot) -> None:
    texts = files(robot, Options(name="Own"))
    readme = texts["README-structured-text.md"]
    (example,) = re.findall(r"```\n(VAR.*?)```", readme, re.S)
    declared, _, code = example.partition("END_VAR\n")
    names = sorted(set(re.findall(r":= (\w+)", code)) - {"FALSE", "TRUE", "Payload", "Torque"})
    plain = "".join(f"{name} : LREAL; " for name in names if name != "Stop")
    block = f"{declared} {plain} Feedforward1 : LREAL; Stop : BOOL; END_VAR {code}"
    found = load(f"{texts['Own.st']} FUNCTION_BLOCK Caller {block} END_FUNCTION_BLOCK")
    assert found["caller"].variables["torque"].kind == "fb_own_feedforward"


def test_long_names_end_with_the_fingerprint() -> None:
    assert "SiproD31200.st" in files(D3)
    assert f"Telesco{fingerprint(D4)[:4]}.st" in files(D4)


@pytest.mark.parametrize("name", ["", "1st", "a b", "a__b", "_a", "a_", "twelve_chars", "\u00e4"])
def test_a_name_that_no_tool_takes_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"name is .*; allowed: 1 to 11 letters, digits"):
        files(D3, Options(name=name))


def test_a_robot_name_cannot_end_a_comment_or_a_file() -> None:
    texts = files(D3.replace(name="a *) (* ]]> <b> & b"))
    for name, text in texts.items():
        if name.endswith("TcPOU") or name.endswith("xml"):
            ElementTree.fromstring(text.encode())
        elif name.endswith("fun"):
            load(text)


def test_friction_in_passive_joints_is_left_out_with_its_size(tmp_path: Path) -> None:
    robot = dd.load_robot("abb-irb360-6-1600")
    done = dd.export(robot, "structured-text", tmp_path)
    (term,) = done.left_out
    assert term.field == "friction.passive"
    assert 0 < max(term.rms) < max(term.largest)
    assert term.size in (tmp_path / "README-structured-text.md").read_text()
    bare = dd.export(robot.with_friction(passive=()), "structured-text", tmp_path / "bare")
    assert bare.left_out == ()
    assert len(bare.files) == len(done.files) == 24


def test_unknown_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="option of target 'structured-text'"):
        dd.export(D3, "structured-text", tmp_path, precision="float")


def test_the_robots_numbers_are_worked_in() -> None:
    """No generated parameter is left, and a robot without friction does no work for it."""
    text = files(own_robot(3), Options(name="Own"))["Own.st"]
    assert "par_" not in text
    without = files(D3, Options(name="Own"))["Own.st"]
    assert "EXP(-" not in without
    assert len(plain_blocks(without)["FB_Own_Feedforward"]) < 0.8 * len(
        plain_blocks(text)["FB_Own_Feedforward"]
    )
    assert block_function("platform_torque_3").operations > 300


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (-0.25, "(-0.25)"), (1e-5, "1.0E-5"), (1.5e22, "1.5E22"), (-0.0, "0.0")],
)
def test_numbers_read_back(value: float, text: str) -> None:
    assert literal(value) == text
    assert float(text.strip("()")) == value
