"""A bundle for somebody who can help: robot file, column map, findings and a thinned log.

Nothing in it names a person, a machine or a place: files have plain names, the robot is "robot",
sources and descriptions are left out, and of the log only times and channels are kept.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.files import replacing
from deltadyn.inspection.check import Check
from deltadyn.inspection.log import LogCheck
from deltadyn.recording.recording import Provenance, Recording, csv_text
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text

ROWS = 20_000  # of a log
PART = 2_000  # rows in one stretch: rates can be taken within
DATE = (1980, 1, 1, 0, 0, 0)  # of all files: the time of a bundle is nobody's business

README = """\
A bundle of `deltadyn check`: what was found before anything was fitted.

robot.yaml       the robot, without name, description and sources
                 (where its file has errors: robot-errors.txt, the errors alone)
columns-N.yaml   what each column of log N was taken for; columns have numbers, not names
log-N.csv        some stretches of log N, in rad and N m at the output side as they were read
findings.json    verdict, numbers and findings

Read it with:  deltadyn check robot.yaml log-1.csv
"""


def write_bundle(found: Check, path: str | PathLike[str]) -> Path:
    """Write the bundle of a check as a zip file."""
    files = {"README.txt": README}
    robot = found.robot.robot
    if robot is None:
        texts = [item.text for item in found.robot.findings]
        files["robot-errors.txt"] = "\n".join(texts) + "\n"
    else:
        files["robot.yaml"] = robot_text(without_names(robot))
    for number, log in enumerate(found.logs, 1):
        if log.guess is not None:
            files[f"columns-{number}.yaml"] = numbered_map(log)
        if log.recording is not None:
            files[f"log-{number}.csv"] = csv_text(thinned_log(log.recording, f"log-{number}"))
    files["findings.json"] = json.dumps(_record(found), indent=1, allow_nan=False) + "\n"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in files.items():
            bundle.writestr(zipfile.ZipInfo(name, DATE), text, zipfile.ZIP_DEFLATED)
    with replacing(path) as file:
        file.write(content.getvalue())
    return Path(path)


def without_names(robot: Robot) -> Robot:
    """The same robot without its name, description and sources."""
    return robot.replace(name="robot", description="", sources={})


def thinned_log(recording: Recording, name: str) -> Recording:
    """Some whole stretches of a recording, from time 0 on, without its origin.

    Stretches are kept rather than every n-th row: rates and gaps stay what they were.
    """
    count = len(recording)
    rows = np.arange(count)
    if count > ROWS:
        starts = np.linspace(0, count - PART, ROWS // PART).astype(int)
        rows = np.concatenate([np.arange(start, start + PART) for start in starts])
    channels: dict[str, Any] = {key: array[rows] for key, array in recording.channels().items()}
    first = recording.t[np.isfinite(recording.t)][:1]
    channels["t"] = channels["t"] - (first[0] if first.size else 0.0)
    return Recording(
        **channels,
        payload=recording.payload,
        name=name,
        robot=None,
        linear=recording.linear,
        legs=recording.legs,
        provenance=Provenance(),
    )


def numbered_map(log: LogCheck) -> str:
    """The column map of a log by numbers: a header may name a plant or a person."""
    lines = ["# What each column is, by its number; columns with null are left out.", "columns:"]
    for item in log.columns:
        use = item.use
        if use is None:
            lines.append(f"  {item.number}: null")
            continue
        entry: dict[str, Any] = {"quantity": use.quantity}
        if use.axis is not None:
            entry["axis"] = use.axis + 1
        entry |= {"unit": use.unit, "scale": use.scale, "sign": use.sign, "offset": use.offset}
        entry |= {} if use.side is None else {"side": use.side}
        lines.append(f"  {item.number}: {json.dumps(entry, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _record(found: Check) -> dict[str, Any]:
    """The record of the check with plain names for the files, and no names of columns."""
    record = found.as_dict()
    names = {found.robot.source: "robot.yaml"}
    if found.robot.robot is not None:
        names[found.robot.robot.name] = "robot"
    for number, log in enumerate(found.logs, 1):
        names[log.source] = f"log-{number}.csv"
        if log.recording is not None:
            names[log.recording.name] = f"log-{number}"
        names |= {item.name: f"column {item.number}" for item in log.columns}
    for number, name in enumerate(found.waiting, 1):
        names[name] = f"log-{number}.csv"
    for item in record["logs"]:
        for column in item["columns"]:
            column["why"] = []  # it quotes the header
    longest = sorted((name for name in names if name.strip()), key=len, reverse=True)
    words = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest))
    return dict(_renamed(record, words, names))


def _renamed(value: Any, words: re.Pattern[str], names: dict[str, str]) -> Any:
    """A record with other names in its texts, as whole words; a key is a name or stays."""
    if isinstance(value, str):
        return words.sub(lambda match: names[match[0]], value)
    if isinstance(value, list | tuple):
        return [_renamed(item, words, names) for item in value]
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(item, words, names) for key, item in value.items()}
    return value
