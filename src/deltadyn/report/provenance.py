"""Section: where every number of the report comes from."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from deltadyn.identification.fit import DataSource, Fit
from deltadyn.identification.fit_sections import DATA_COLUMNS
from deltadyn.pages import Section, list_html, wide_table
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot_file import robot_text


def provenance_section(
    robot: Robot,
    fit: Fit,
    held_out: Sequence[Recording],
    seed: int,
    missing: Sequence[str],
) -> Section:
    """Data with checksums, options, seed, versions, and what was not looked at."""
    record: dict[str, Any] = fit.as_dict()["provenance"]
    apart = [DataSource.of(item) for item in held_out]
    versions = {**record.pop("versions"), "plotly": _plotly(), "python": record.pop("python")}
    digest = sha256(robot_text(robot).encode()).hexdigest()
    uses = [("fit", source) for source in fit.data] + [("held out", source) for source in apart]
    rows = [
        (
            use,
            source.name,
            source.file or "-",
            str(source.samples),
            f"{source.duration:.4g}",
            "-" if source.payload is None else f"{source.payload:g}",
            source.sha256[:16],
        )
        for use, source in uses
    ]
    chosen = [(key, repr(value)) for key, value in fit.options.items()]
    about = [
        ("robot file", robot.name),
        ("robot file, SHA-256 begins", digest[:16]),
        ("seed", str(seed)),
        *versions.items(),
    ]
    repairs = [
        f"{item.name}: {text}"
        for item in held_out
        for text in (*item.provenance.repairs, *item.provenance.edits)
    ]
    blocks = (
        wide_table(("use", *DATA_COLUMNS), rows, caption="Recordings; checksums are whole in the "
                   "JSON file"),
        wide_table(("what", "value"), about, caption="Robot, seed and versions"),
        wide_table(("option", "value"), chosen, caption="Options of the fit"),
        list_html("Repairs and edits of the held-out recordings", repairs, level=3),
        list_html("Not in this report", missing, level=3),
    )  # fmt: skip
    numbers = {
        "data": record["data"],
        "held_out": [
            {**vars(source), "file_sha256": item.provenance.sha256}
            for source, item in zip(apart, held_out, strict=True)
        ],
        "robot": robot.name,
        "robot_file": robot_text(robot),
        "robot_file_sha256": digest,
        "options": record["options"],
        "seed": seed,
        "versions": versions,
        "missing": list(missing),
    }
    return Section("provenance", "Provenance", blocks, numbers)


def _plotly() -> str:
    from importlib.metadata import version

    return version("plotly")
