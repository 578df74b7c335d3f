"""The call around all targets: names, options, folders, and files that are not ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.errors import DeltadynError, InputError
from deltadyn.exports import sheets
from deltadyn.exports.common import fingerprint, identifier
from deltadyn.exports.export import ALL_LIMBS, HELD, MANIFEST, PLATFORMS

ROBOT = dd.load_robot("sipro-d3-1200")


def test_an_export_names_its_files_the_readme_first(tmp_path: Path) -> None:
    done = dd.export(ROBOT, "sheets", tmp_path / "new" / "folder")
    assert done.files[0].name.startswith("README")
    assert all(path.stat().st_size > 0 for path in done.files)
    assert str(done).splitlines()[0] == f"sheets of sipro-d3-1200 in {tmp_path / 'new' / 'folder'}:"


def test_a_fit_exports_its_robot(tmp_path: Path) -> None:
    dd.export(SimpleNamespace(robot=ROBOT), "sheets", tmp_path / "fit")
    dd.export(ROBOT, "sheets", tmp_path / "robot")
    for path in (tmp_path / "robot").iterdir():
        assert (tmp_path / "fit" / path.name).read_bytes() == path.read_bytes()


def test_the_same_robot_gives_the_same_files_and_may_be_exported_again(tmp_path: Path) -> None:
    first = dd.export(ROBOT, "sheets", tmp_path)
    before = [path.read_bytes() for path in first.files]
    assert [path.read_bytes() for path in dd.export(ROBOT, "sheets", tmp_path).files] == before
    heavier = dd.export(ROBOT.with_payload(1.0), "sheets", tmp_path)
    assert heavier.files == first.files
    record = json.loads((tmp_path / MANIFEST).read_text())["sheets"]
    assert record["fingerprint"] == heavier.fingerprint != first.fingerprint
    assert record["robot_fingerprint"] == fingerprint(ROBOT.with_payload(1.0))


def test_a_file_that_was_changed_is_kept(tmp_path: Path) -> None:
    readme = dd.export(ROBOT, "sheets", tmp_path).files[0]
    readme.write_text("mine")
    other = ROBOT.with_payload(2.0)
    with pytest.raises(DeltadynError, match="was changed since; nothing was written"):
        dd.export(other, "sheets", tmp_path)
    assert readme.read_text() == "mine"
    record = json.loads((tmp_path / MANIFEST).read_text())["sheets"]
    assert record["robot_fingerprint"] == fingerprint(ROBOT)
    dd.export(other, "sheets", tmp_path, overwrite=True)
    assert readme.read_text() != "mine"


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="target is 'java'; allowed: one of 'c', '"):
        dd.export(ROBOT, "java", tmp_path)
    with pytest.raises(InputError, match="option of target 'c' is 'colour'; allowed: one of"):
        dd.export(ROBOT, "c", tmp_path, colour="red")
    with pytest.raises(InputError, match="robot is 'str'; allowed: a Robot, or a fit"):
        dd.export("sipro-d3-1200", "c", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_options_are_a_class_or_single_keywords(tmp_path: Path) -> None:
    inches = sheets.Options(linear_units="inch")
    for name, call in (
        ("class", {"options": inches}),
        ("keyword", {"linear_units": "inch"}),
        ("both", {"options": sheets.Options(), "linear_units": "inch"}),
    ):
        dd.export(ROBOT, "sheets", tmp_path / name, **call)
        text = (tmp_path / name / "linuxcnc-rotarydeltakins.hal").read_text()
        assert text == sheets.files(ROBOT, inches)["linuxcnc-rotarydeltakins.hal"]
    with pytest.raises(
        InputError,
        match=r"options is 'Options'; allowed: Options\(\.\.\.\) of deltadyn\.exports\.c",
    ):
        dd.export(ROBOT, "c", tmp_path / "other", inches)


def test_folders_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="allowed: a folder, or a path at which to make one"):
        dd.export(ROBOT, "sheets", file)
    with pytest.raises(InputError, match="allowed: one that can be made"):
        dd.export(ROBOT, "sheets", file / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(InputError, match=r"folder is .*; allowed: one that can be written"):
        dd.export(ROBOT, "sheets", closed)


def test_a_broken_record_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[1, 2")
    with pytest.raises(InputError, match=r"record of earlier exports is .*move it away"):
        dd.export(ROBOT, "sheets", tmp_path)


def test_identifiers_suit_every_language() -> None:
    assert identifier(ROBOT) == "sipro_d3_1200"
    assert identifier(ROBOT.replace(name="3-axis Ünit  #2")) == "robot_3_axis_nit_2"
    assert identifier(ROBOT.replace(name="***")) == "robot"


def test_the_command(tmp_path: Path) -> None:
    run = CliRunner().invoke(
        main, ["export", "sipro-d3-1200", "sheets", "--out", str(tmp_path), "--json"]
    )
    assert run.exit_code == 0
    record = json.loads(run.stdout)
    assert record["target"] == "sheets"
    assert all(Path(path).exists() for path in record["files"])
    shouted = ["export", "sipro-d3-1200", "Sheets", "--out", str(tmp_path), "--json"]
    assert json.loads(CliRunner().invoke(main, shouted).stdout) == record
    wrong = CliRunner().invoke(main, ["export", "sipro-d3-1200", "java"])
    assert wrong.exit_code == 2
    assert "target is 'java'" in wrong.stderr


def test_the_command_lists_which_targets_hold_which_kinds() -> None:
    run = CliRunner().invoke(main, ["export", "--kinds"])
    assert run.exit_code == 0
    rows = [line.split() for line in run.stdout.splitlines()]
    assert rows[0] == ["platform", "limbs", "targets"]
    assert ["articulated", "rails", "c,", "structured-text,", "mjcf,", "fmu"] in rows
    assert len(rows) == 1 + sum(
        any(limbs in own.get(platform, ()) for own in HELD.values())
        for platform in PLATFORMS
        for limbs in ALL_LIMBS
    )
