"""Force and contact on machines of an independent plant, and on the presets of the test bench.

Run: OMP_NUM_THREADS=1 python -m benchmarks.force [--causes none,load,all,elastic] [--seeds 0-1]
     [--hours H] [--robot example-delta-4] [--presets lab,industrial] [--page roc.html]

Each machine is identified with the defaults on 16 s of motion, and its logs are read with the
robot file that this gives; its tare comes from 600 s of empty picks. Then: alarms in hours of fresh
empty motion, before and after the friction has dropped (25 % viscous, 10 % Coulomb); pushes on the
platform with a ramp of 20 ms at several alarm rates; walls of 10, 30 and 100 N/mm met at 0.5, 1 and
2 m/s; pushes on one arm (and on the spindle); loads that are picked up. The plant is
tests/machines: it has set-valued friction and the imperfections that a cause names. A column of the
table is a cause, over all its seeds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.machines import Machine, Touch, make_machine
from tests.machines.plant import Array, copied

import deltadyn as dd
from benchmarks.machine import machine_name
from benchmarks.machines.__main__ import seeds_of
from deltadyn.force import Contact, ForceLog, Tare, find_contacts
from deltadyn.report.html import Section, figure_html, wide_table, write_sections
from deltadyn.report.plots import Curve, colour, draw, draw_points, finished, panels

RATES = (60.0, 10.0, 1.0, 0.1)  # false alarms per hour
PUSHES = (10.0, 20.0, 30.0)  # N
RAMP, PUSH = 0.02, 0.25  # s in which a push grows, and that it lasts
APART = 1.0  # s from push to push
SOON = 0.06  # s
TWIST = 12.0  # N m on an arm
TURN = 3.0  # N m on the spindle
WALLS = ((10e3, 0.5), (30e3, 1.0), (100e3, 2.0))  # N/m, m/s
BEYOND = 0.03  # m that the motion goes on behind a wall
PIECE = 300.0  # s of a simulated run
EMPTY = 2  # pieces that make the tare

Record = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Bench:
    """A machine, its fit and its tare."""

    machine: Machine
    fit: Any
    tare: Tare
    rng: np.random.Generator

    @classmethod
    def of(cls, robot: dd.Robot, cause: str, seed: int) -> Bench:
        machine = make_machine(robot, cause, None, seed)
        fit = dd.identify(robot, machine.record(4, 4.0))
        runs = [machine.run_touched(PIECE, Touch(), first=10 + k) for k in range(EMPTY)]
        empty = [read_anew(fit, run.recording) for run in runs]
        return cls(machine, fit, Tare.of(fit, empty), np.random.default_rng([seed, 15]))

    def look(self, seconds: float, touch: Touch, first: int) -> ForceLog:
        """A log while something touches the machine."""
        run = self.machine.run_touched(seconds, touch, first=first)
        return find_contacts(self.fit, read_anew(self.fit, run.recording), self.tare)

    def alarms(self, hours: float) -> dict[str, Any]:
        """Alarms in empty motion at each rate that the tail promises."""
        count, pieces = dict.fromkeys(RATES, 0), max(1, round(hours * 3600 / PIECE))
        for first in range(20, 20 + pieces):
            log = self.look(PIECE, Touch(), first)
            for rate in RATES:
                over = log.t[log.statistic > self.tare.limit(rate)]
                count[rate] += int(np.sum(np.diff(over, prepend=-np.inf) > 0.25))
        return {"hours": pieces * PIECE / 3600, "count": count}

    def pushes(self, size: float, first: int) -> Record:
        """Pushes of one size in random directions on the platform."""
        n = 60_000
        starts = np.arange(1.0, n / 1e3 - APART, APART)
        t, force = np.arange(n) / 1e3, np.zeros((n, 3))
        for start in starts:
            force += pushed(t - start, size)[:, None] * direction(self.rng)
        log = self.look(n / 1e3, Touch(force=force), first)
        return push_record(log, t + log.recording.t[0], force, starts, size)

    def twists(self, first: int, size: float, axes: Sequence[int]) -> list[dict[str, Any]]:
        """Pushes on one arm after the other, or on the spindle."""
        n = 60_000
        starts = np.arange(1.0, n / 1e3 - APART, APART)
        t, pull = np.arange(n) / 1e3, np.zeros((n, self.machine.dof))
        chosen = [axes[k % len(axes)] for k in range(len(starts))]
        signs = self.rng.choice([-1, 1], len(starts))
        for start, axis, sign in zip(starts, chosen, signs, strict=True):
            pull[:, axis] += sign * pushed(t - start, size)
        log = self.look(n / 1e3, Touch(pull=pull), first)
        found = []
        for start, axis, sign in zip(starts, chosen, signs, strict=True):
            since = log.t - log.recording.t[0] - start
            rows = (since > 0.1) & (since < PUSH)
            seen = contact_of(log, start)
            found.append(
                {
                    "arm": f"arm {axis + 1}",
                    "delay": delays(log, start),
                    "where": seen and seen.where,
                    "error": float(np.median(log.force[rows, -1]) - sign * size),
                }
            )
        return found

    def walls(self, count: int = 12) -> list[dict[str, Any]]:
        """Times in s from the touch of a wall to the alarm, None where it is not found."""
        room, found = self.machine.room, []
        for stiffness, speed in (wall for wall in WALLS for _ in range(count)):
            way = direction(self.rng, height=0.3)
            touched_at = 0.5 * (0.7 * room.radius) / speed + 0.4
            start = room.middle - way * 0.35 * room.radius

            def path(t: Array, start: Array = start, way: Array = way, v: float = speed) -> Array:
                gone = v * np.clip(t - 0.4, 0, None)
                soft = np.clip((t - 0.2) / 0.2, 0, 1)  # rises to the speed within 0.2 s
                moved: Array = start + (gone + v * 0.1 * soft**2)[:, None] * way
                return np.column_stack([moved, np.zeros((len(t), self.machine.dof - 3))])

            at = start + way * speed * (touched_at - 0.4 + 0.1)
            wall = Touch(
                wall_at=tuple(at.tolist()),
                wall_normal=tuple((-way).tolist()),
                wall_stiffness=stiffness,
            )
            on = BEYOND / speed  # s that the motion goes on
            run = self.machine.run_touched(touched_at + on, wall, path=path)
            log = find_contacts(self.fit, read_anew(self.fit, run.recording), self.tare)
            inside = (run.truth.platform - at) @ way > 0
            if not inside.any():
                continue
            met = float(run.recording.t[np.argmax(inside)])
            later = [c.time - met for c in log.contacts if c.time >= met - 0.002]
            delay = later[0] if later else None
            found.append({"wall": wall_name(stiffness, speed), "delay": delay})
        return found

    def picks(self, first: int) -> list[dict[str, Any]]:
        """Loads of 0.5 to 4 kg, taken while the platform rests and put down at the next rest."""
        seconds = 60.0
        empty = self.machine.run_touched(seconds, Touch(), first=first)
        speed = np.linalg.norm(np.gradient(empty.truth.platform, 1e-3, axis=0), axis=1)
        rests = np.flatnonzero(np.diff((speed < 0.01).astype(int)) == 1) + 30
        carried = np.zeros(len(speed))
        loads = list(zip(rests[2::3].tolist(), rests[3::3].tolist(), strict=False))
        for begin, end in loads:
            carried[begin:end] = self.rng.uniform(0.5, 4.0)
        log = self.look(seconds, Touch(carried=carried), first)
        found = []
        for begin, end in loads:
            inside = [c for c in log.contacts if begin <= 1e3 * (c.time - log.recording.t[0]) < end]
            found.append({"mass": carried[begin], "kind": inside[0].kind if inside else None})
        return found

    def warmed(self) -> Bench:
        """The same machine with less friction than when its tare was taken."""
        drives = [copied(drive) for drive in self.machine.drives]
        for drive in drives:
            drive.viscous, drive.coulomb = 0.75 * drive.viscous, 0.9 * drive.coulomb
        return replace(self, machine=replace(self.machine, drives=tuple(drives)))


def read_anew(fit: Any, recording: dd.Recording) -> dd.Recording:
    """The log as it is read with the identified robot file: its encoders' eccentricity is known."""
    counted = fit.before.to_controller(recording.q)
    return recording.replace(q=fit.robot.from_controller(counted))


def pushed(since: Array, size: float) -> Array:
    """A push over the time since it began."""
    force: Array = size * np.clip(since / RAMP, 0, 1) * (since < PUSH)
    return force


def direction(rng: np.random.Generator, height: float = 1.0) -> Array:
    way = rng.normal(size=3) * [1, 1, height]
    unit: Array = way / np.linalg.norm(way)
    return unit


def delays(log: ForceLog, start: float) -> dict[float, float | None]:
    """Time in s from the begin of a push to the alarm at each rate."""
    since = log.t - log.recording.t[0] - start
    rows = (since >= 0) & (since < PUSH)
    found: dict[float, float | None] = {}
    for rate in RATES:
        over = since[rows][log.statistic[rows] > log.tare.limit(rate)]
        found[rate] = float(over[0]) if len(over) else None
    return found


def contact_of(log: ForceLog, start: float) -> Contact | None:
    began = log.recording.t[0] + start
    return next((c for c in log.contacts if 0 <= c.time - began < PUSH + 0.05), None)


def push_record(log: ForceLog, t: Array, force: Array, starts: Array, size: float) -> Record:
    """What became of pushes, and the error of the force once the filter has followed."""
    found: Record = {"pushes": [], "force": []}
    for start in starts:
        seen = contact_of(log, start)
        told = {"kind": seen and seen.kind, "where": seen and seen.where}
        found["pushes"].append({"size": size, "delay": delays(log, start)} | told)
    since = log.t[:, None] - log.recording.t[0] - starts
    held = ((since > 0.1) & (since < PUSH - 0.005)).any(axis=1)
    true = np.column_stack([np.interp(log.t, t, force[:, k]) for k in range(3)])
    q = log.recording.q
    rate = np.abs(np.gradient(q, log.recording.t, axis=0)).min(axis=1)
    slow = np.interp(log.t, log.recording.t, rate) < 0.2  # rad/s, some axis
    for name, rows in (("moving", held & ~slow), ("slow", held & slow)):
        error, std = log.force[rows, :3] - true[rows], log.std[rows, :3]
        found["force"].append(
            {
                "when": name,
                "rows": int(rows.sum()),
                "square": float(np.sum(np.mean(error**2, axis=1))),
                "inside": float(np.sum(np.abs(error) < 1.96 * std) / 3),
                "close": int(np.sum(np.linalg.norm(error, axis=1) < max(5.0, 0.05 * size))),
            }
        )
    return found


def measure(robot: dd.Robot, cause: str, seed: int, hours: float) -> Record:
    """All figures of a machine."""
    bench = Bench.of(robot, cause, seed)
    found: Record = {"pushes": [], "force": []}
    for size in PUSHES:
        for key, rows in bench.pushes(size, first=3).items():
            found[key] += rows
    found["alarms"] = [bench.alarms(hours)]
    found["warm"] = [bench.warmed().alarms(hours)]
    found["arms"] = bench.twists(4, TWIST, (0, 1, 2))
    if robot.dof == 4:
        found["spindle"] = bench.twists(6, TURN, (3,))
    found["walls"] = bench.walls()
    found["picks"] = bench.picks(first=5)
    return found


def measure_preset(robot: dd.Robot, preset: str, seed: int, runs: int = 8) -> Record:
    """Pushes on a machine of the test bench, whose gears are elastic; no hours, no walls."""
    drive, path = dd.PDFeedforward(robot), dd.motion.y1(robot)
    fit = dd.identify(
        robot, dd.simulate(robot, dd.motion.y2(robot), drive, preset=preset, seed=seed).recording
    )

    def run(number: int, force: Callable[[float], Array] | None = None) -> dd.Recording:
        story = dd.simulate(
            robot, path, drive, preset=preset, seed=100 * seed + number, external_force=force
        )
        return read_anew(fit, story.recording)

    tare = Tare.of(fit, [run(k) for k in range(24)])
    rng, end = np.random.default_rng([seed, 16]), float(path.t[-1])
    found: Record = {"pushes": [], "force": []}
    for number, size in ((k, size) for size in PUSHES for k in range(runs)):
        starts = rng.uniform(0.2, 0.4) + np.arange(0.0, end - 0.8, 0.5)
        t = np.arange(0.0, end, 5e-4)
        ways = [direction(rng) for _ in starts]
        force = sum(
            (pushed(t - a, size)[:, None] * way for a, way in zip(starts, ways, strict=True)),
            np.zeros((len(t), 3)),
        )

        def at(x: float, force: Array = force) -> Array:
            return force[min(round(x / 5e-4), len(force) - 1)]

        log = find_contacts(fit, run(50 + number, at), tare)
        late = log.recording.t[0] - path.t[0]
        for key, rows in push_record(log, t + path.t[0], force, starts - late, size).items():
            found[key] += rows
    return found


def wall_name(stiffness: float, speed: float) -> str:
    return f"{stiffness / 1e3:g} N/mm at {speed:g} m/s"


def together(records: Sequence[Record]) -> Record:
    """The records of several machines in one."""
    return {key: [row for record in records for row in record[key]] for key in records[0]}


def soon(rows: Sequence[Mapping[str, Any]], rate: float, within: float) -> float:
    """Share of pushes that are found within so many seconds at an alarm rate."""
    times = [row["delay"][rate] for row in rows]
    return float(np.mean([x is not None and x <= within for x in times]))


def table(record: Record) -> dict[str, str]:
    """Figures in words, a row each."""
    shown: dict[str, str] = {}
    for key, name in (("alarms", "fresh motion"), ("warm", "after warming up")):
        if key in record:
            hours = sum(row["hours"] for row in record[key])
            counts = [sum(row["count"][rate] for row in record[key]) / hours for rate in RATES[:3]]
            label = f"alarms an hour where 60, 10, 1 are stated, {name}"
            shown[label] = ", ".join(f"{x:.0f}" for x in counts) + f" ({hours:.2g} h)"
    for size in PUSHES:
        rows = [row for row in record["pushes"] if row["size"] == size]
        times = [row["delay"][1.0] for row in rows if row["delay"][1.0] is not None]
        middle = f", median {1e3 * float(np.median(times)):.0f} ms" if times else ""
        share = f"{percent(soon(rows, 1.0, PUSH))}, {percent(soon(rows, 1.0, SOON))}"
        shown[f"push of {size:g} N found, within 60 ms"] = share + middle
        seen = [row for row in rows if row["where"]]
        if seen:
            right = np.mean([row["where"] == "platform" for row in seen])
            label = f"push of {size:g} N: named platform, named contact"
            kind = np.mean([row["kind"] == "contact" for row in seen])
            shown[label] = f"{percent(right)}, {percent(kind)}"
    for stiffness, speed in WALLS if "walls" in record else ():
        name = wall_name(stiffness, speed)
        met = [row["delay"] for row in record["walls"] if row["wall"] == name]
        hit = [1e3 * x for x in met if x is not None]
        worst = f"median {np.median(hit):.0f}, worst {max(hit):.0f} ms, " if hit else ""
        shown[f"wall {name}"] = f"{worst}{len(hit)} of {len(met)}"
    for name in ("moving", "slow"):
        parts = [row for row in record["force"] if row["when"] == name]
        rows_, square, inside, close = (
            sum(row[key] for row in parts) for key in ("rows", "square", "inside", "close")
        )
        label = f"force while pushed, {name}: RMS of a component, within 5 N or 5 %, in 95 %"
        rms = np.sqrt(square / max(1, rows_))
        share = f"{percent(close / max(1, rows_))}, {percent(inside / max(1, rows_))}"
        shown[label] = f"{rms:.1f} N, {share}"
    if "arms" in record:
        seen = [row for row in record["arms"] if row["where"]]
        right = np.mean([row["where"] == row["arm"] for row in seen])
        shown[f"push of {TWIST:g} N m on an arm: named so"] = percent(right)
    if "spindle" in record:
        rows = record["spindle"]
        error = np.median(np.abs([row["error"] for row in rows]))
        text = (
            f"{percent(soon(rows, 1.0, PUSH))}, {percent(soon(rows, 1.0, SOON))}, {error:.2f} N m"
        )
        shown[f"moment of {TURN:g} N m about z found, within 60 ms, median error"] = text
    if "picks" in record:
        kinds = [row["kind"] for row in record["picks"]]
        seen_kinds = [kind for kind in kinds if kind]
        right = np.mean([kind == "pick" for kind in seen_kinds]) if seen_kinds else 0.0
        text = f"{len(seen_kinds)} of {len(kinds)}, {percent(float(right))}"
        shown["load of 0.5 to 4 kg: seen, named a pick"] = text
    return shown


def percent(share: Any) -> str:
    return f"{100 * share:.0f} %"


def printed(tables: Mapping[str, Mapping[str, str]]) -> str:
    """The tables of all columns side by side, as Markdown."""
    labels = list(dict.fromkeys(label for shown in tables.values() for label in shown))
    lines = ["| | " + " | ".join(tables) + " |", "|---" * (len(tables) + 1) + "|"]
    for label in labels:
        cells = (shown.get(label, "") for shown in tables.values())
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_roc(path: Path, records: Mapping[str, Record], about: str) -> Path:
    """The page with receiver operating characteristics: found pushes over stated false alarms."""
    blocks = []
    for within, words in ((SOON, "within 60 ms"), (PUSH, "within 250 ms")):
        figure = panels(1, len(PUSHES), titles=[f"{size:g} N" for size in PUSHES], across=0.06)
        for place, size in enumerate(PUSHES):
            for k, (name, record) in enumerate(records.items()):
                rows = [row for row in record["pushes"] if row["size"] == size]
                y = np.array([100 * soon(rows, rate, within) for rate in RATES])
                shade, x = colour(k), np.array(RATES)
                draw(figure, Curve(name, x, y, shade), column=place + 1, legend=place == 0)
                draw_points(figure, x.tolist(), y.tolist(), shade, column=place + 1)
        finished(figure, 380, y="found (%)", x="false alarms per hour")
        figure.update_xaxes(type="log", tickvals=list(RATES), ticktext=[f"{x:g}" for x in RATES])
        figure.update_yaxes(range=[-4, 104])
        note = "Pushes on the platform in random directions, grown in 20 ms. One line per cause."
        blocks.append(figure_html(f"Found {words}", figure, note))
    tables = {name: table(record) for name, record in records.items()}
    labels = list(dict.fromkeys(label for shown in tables.values() for label in shown))
    rows = [[label, *(shown.get(label, "") for shown in tables.values())] for label in labels]
    blocks.append(wide_table(["", *tables], rows, caption="At one stated false alarm an hour"))
    section = Section("roc", "Contacts found over false alarms", tuple(blocks))
    return write_sections(path, "Force and contact", about, [], [section])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of all columns; write figures and the page where asked for."""
    parser = argparse.ArgumentParser(description="Force and contact on an independent plant.")
    parser.add_argument("--causes", default="none,load,all,elastic", help="of tests/machines")
    parser.add_argument("--seeds", default="0", help="such as 0-5")
    parser.add_argument("--hours", type=float, default=0.25, help="of empty motion per machine")
    parser.add_argument("--robot", default="sipro-d3-1200")
    parser.add_argument("--presets", default="", help="of the test bench: lab,industrial")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--page", type=Path, help="write ROC curves and table there")
    asked = parser.parse_args(arguments)
    robot = dd.load_robot(asked.robot)
    print(machine_name(), flush=True)
    records: dict[str, Record] = {}
    for cause in filter(None, asked.causes.split(",")):
        seeds = seeds_of(asked.seeds)
        records[cause] = together([measure(robot, cause, seed, asked.hours) for seed in seeds])
        print(f"{cause}: seeds {asked.seeds} measured", flush=True)
        _save(asked.json, records)
    for preset in filter(None, asked.presets.split(",")):
        own = [measure_preset(robot, preset, seed + 1) for seed in seeds_of(asked.seeds)]
        records[f"preset {preset}"] = together(own)
    print(printed({name: table(record) for name, record in records.items()}))
    _save(asked.json, records)
    if asked.page:
        about = f"{asked.robot}, seeds {asked.seeds}, {machine_name()}"
        print(write_roc(asked.page, records, about))


def _save(path: Path | None, records: Mapping[str, Record]) -> None:
    if path is not None:
        path.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
