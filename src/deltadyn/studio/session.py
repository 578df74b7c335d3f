"""What one browser window has before it, and the files that it sends; windows share nothing.

Every method of a session changes it as a whole or raises and leaves it as it was.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from deltadyn.errors import DeltadynError, InputError
from deltadyn.force import find_contacts
from deltadyn.motion.motion import Motion, read_motion
from deltadyn.recording import guess_columns, read_recording
from deltadyn.recording.guess import ColumnGuess
from deltadyn.recording.readers.bounded import unpacking_at_most
from deltadyn.recording.recording import Recording
from deltadyn.report.study import Study
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.studio.columns import Draft, draft_of, uses_of
from deltadyn.studio.drawing import home
from deltadyn.studio.force import ForceTrack
from deltadyn.studio.forms import Values
from deltadyn.studio.log import CheckedLog, checked
from deltadyn.studio.motion import (
    FROM_LOG,
    SCENARIOS,
    UPLOADED,
    Track,
    log_track,
    motion_track,
    scenario_track,
)
from deltadyn.studio.pose import Pose, pose_at, pose_of_joints
from deltadyn.studio.robot import edited
from deltadyn.studio.volumes import Volume, volume_of

# Files that a browser sends: bounded in size, never opened by the name they bring.

T = TypeVar("T")
MEGABYTE = 1_000_000
LONGEST_NAME = 60


class UploadError(DeltadynError):
    """A file that cannot be used; the message names the upload and not a path of this machine."""


@dataclass(frozen=True)
class Upload:
    """What a browser sent: a name, for messages only, and bytes."""

    name: str
    content: bytes

    @property
    def shown(self) -> str:
        """The name without folders and without what is no letter, digit, dot, dash or blank."""
        bare = PureWindowsPath(PurePosixPath(self.name).name).name
        kept = re.sub(r"[^\w.() -]", "_", bare).strip()
        return kept[:LONGEST_NAME] or "upload"


def check_size(name: str, size: int, limit: int) -> None:
    """Refuse a file larger than `limit` bytes."""
    if size > limit:
        raise UploadError(
            f"{name} has {size / MEGABYTE:.1f} MB; allowed: up to {limit / MEGABYTE:g} MB "
            "(start the studio with a larger --max-upload, or identify it with `deltadyn identify`)"
        )


def parse_upload(upload: Upload, limit: int, suffix: str, read: Callable[[Path], T]) -> T:
    """What `read` makes of the upload, through a temporary file with a name of our own."""
    check_size(upload.shown, len(upload.content), limit)
    with tempfile.TemporaryDirectory(prefix="deltadyn-") as folder:
        path = Path(folder) / f"upload{suffix}"
        path.write_bytes(upload.content)
        try:
            with unpacking_at_most(limit):
                return read(path)
        except (DeltadynError, OSError, UnicodeDecodeError) as error:
            text = str(error).replace(str(path), upload.shown).replace(path.name, upload.shown)
            text = text.replace(f"{folder}/", "")
            raise UploadError(
                text if upload.shown in text else f"{upload.shown}: {text}"
            ) from error


def robot_upload(upload: Upload, limit: int) -> Robot:
    """The robot of an uploaded robot file."""
    return parse_upload(upload, limit, ".yaml", load_robot)


def motion_upload(upload: Upload, robot: Robot, limit: int) -> Motion:
    """The motion of an uploaded CSV file, as `deltadyn excite` writes it."""
    motion = parse_upload(upload, limit, ".csv", lambda path: read_motion(path, robot))
    if len(motion) < 2:
        raise UploadError(f"{upload.shown} has {len(motion)} sample; allowed: at least 2")
    return motion


def log_upload(
    upload: Upload,
    robot: Robot,
    limit: int,
    *,
    columns: Upload | None = None,
    payload: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Recording:
    """The recording of an uploaded log, by the reader of the command line.

    `columns` is an uploaded column map; `payload` (kg) is used where the file does not say it;
    `options` are those of `read_recording`.
    """
    stem = Path(upload.shown).stem or "upload"
    read = _with_map(columns, lambda path, more: read_recording(path, robot, name=stem, **more))
    found = parse_upload(
        upload, limit, known_ending(upload.shown), lambda path: read(path, options)
    )
    if found.payload is None and payload:
        found = found.replace(payload=payload)
    provenance = dataclasses.replace(found.provenance, file=upload.shown)
    return found.replace(provenance=provenance)


def draft_upload(
    upload: Upload, robot: Robot, limit: int, *, columns: Upload | None = None
) -> Draft:
    """The columns of an uploaded log as they are guessed; the rows are not read."""
    guessed = _with_map(columns, lambda path, more: guess_columns(path, robot, **more))
    return _judged(upload, limit, guessed, None, lambda guess: draft_of(upload, guess))


def examined(draft: Draft, robot: Robot, limit: int) -> Draft:
    """The draft with what keeps it from being read as it was chosen."""
    guessed = _with_map(None, lambda path, more: guess_columns(path, robot, **more))
    return _judged(draft.upload, limit, guessed, draft.options, lambda _: draft)


def _judged(
    upload: Upload,
    limit: int,
    guessed: Callable[[Path, Mapping[str, Any] | None], ColumnGuess],
    options: Mapping[str, Any] | None,
    made: Callable[[ColumnGuess], Draft],
) -> Draft:
    def read(path: Path) -> Draft:
        found = guessed(path, options)
        problems = [
            (error.quantity, str(error).replace(str(path), upload.shown))
            for error in found.problems
        ]
        return dataclasses.replace(made(found), problems=tuple(problems), whole=uses_of(found))

    return parse_upload(upload, limit, known_ending(upload.shown), read)


def _with_map(
    columns: Upload | None, read: Callable[[Path, Mapping[str, Any]], T]
) -> Callable[[Path, Mapping[str, Any] | None], T]:
    """`read` with an uploaded column map beside the file, where no other one is given."""
    if columns is not None:
        check_size(columns.shown, len(columns.content), MEGABYTE)

    def reads(path: Path, options: Mapping[str, Any] | None) -> T:
        if columns is None or options:
            return read(path, options or {})
        own = path.with_name("columns.yaml")
        own.write_bytes(columns.content)
        return read(path, {"columns": own})

    return reads


def known_ending(name: str) -> str:
    """The ending of a log, where it is one that readers look at."""
    known = (".csv", ".txt", ".tsv", ".mat", ".parquet", ".tdms", ".mcap", ".db3", ".bag")
    ending = Path(name).suffix.lower()
    return ending if ending in known else ".csv"


def refuse_dof(recording: Recording, robot: Robot) -> None:
    """Refuse a recording with another number of axes than the robot's."""
    if recording.dof != robot.dof:
        raise InputError(
            "axes of the recording", recording.dof, f"{robot.dof}, as robot {robot.name!r} has"
        )


# The session.


class Session:
    """Robot, pose, motion, logs and fit of one window.

    `reference` is the robot as it was loaded, `robot` the same with the changes made since.
    """

    def __init__(self, robot: Robot, max_upload: float = 200.0) -> None:
        self.limit = int(max_upload * MEGABYTE)  # bytes
        self.notice = ""  # what the last change of robot or log put away, and why
        self.lock = threading.RLock()
        self._volumes: dict[tuple[object, ...], Volume] = {}
        self._start(robot)

    def _start(self, robot: Robot) -> None:
        pose = pose_at(robot, home(robot))
        self.reference = self.robot = robot
        self.pose: Pose = pose
        self.track: Track | None = None
        self.uploaded: Motion | None = None
        self.log: CheckedLog | None = None
        self.held_out: CheckedLog | None = None
        self.empty: CheckedLog | None = None  # a run without contact and load
        self.columns: Upload | None = None
        self.draft: Draft | None = None
        self.payload: float | None = None  # kg, of a log that does not say it
        self.held_out_draft: Draft | None = None
        self.empty_draft: Draft | None = None
        self._force: tuple[tuple[object, ...], ForceTrack] | None = None
        self.motion_file: Upload | None = None
        self.reading: dict[str, float] = {}  # options for a log that a column map cannot hold
        self.study: Study | None = None
        self._volumes.clear()

    def take(self, other: Session) -> None:
        """Become another session; nothing of this one is left."""
        own = {"lock": self.lock, "limit": self.limit}
        self.__dict__.update({**other.__dict__, **own})

    # robot

    def choose(self, name: str) -> None:
        """Take a robot of the catalogue; motion, logs and fit are put away."""
        self._start(load_robot(name))

    def upload_robot(self, upload: Upload) -> None:
        """Take the robot of an uploaded file."""
        self._start(robot_upload(upload, self.limit))

    def edit(self, values: Mapping[str, float]) -> None:
        """Change numbers of the robot; the pose stays where the changed robot reaches it."""
        self.replace_robot(edited(self.robot, values))

    def undo(self) -> None:
        """Take back all changes."""
        self.replace_robot(self.reference)

    def use_identified(self) -> None:
        """Take the identified robot as the changed one."""
        if self.study is None:
            raise DeltadynError("there is no identified robot yet: identify a log first")
        self.replace_robot(self.study.fit.robot)

    def replace_robot(self, robot: Robot) -> None:
        """Take another robot as the changed one; pose and motion stay where it reaches them."""
        try:
            pose = pose_at(robot, self.pose.p)
        except DeltadynError:
            pose = pose_at(robot, home(robot))
        self.robot, self.pose, self.notice = robot, pose, ""
        self._volumes.clear()
        if self.track is not None:
            name, self.track = self.track.name, None
            try:
                self.play(name)
            except DeltadynError as error:
                self.notice = f"the motion {name!r} was put away: {error}"

    # pose

    def move(self, p: npt.ArrayLike) -> Pose:
        """Move the platform to p (dof,)."""
        self.pose = pose_at(self.robot, p)
        return self.pose

    def move_axis(self, axis: int, value: float) -> Pose:
        """Move along one coordinate of the platform (m, or rad for psi)."""
        p = self.pose.p.copy()
        p[axis] = value
        return self.move(p)

    def turn_joint(self, axis: int, value: float) -> Pose:
        """Turn one joint to an angle (rad), or slide a carriage to a place (m); the others stay."""
        q = self.pose.q.copy()
        q[axis] = value
        self.pose = pose_of_joints(self.robot, q, self.pose.p)
        return self.pose

    def drag(self, position: npt.ArrayLike) -> Pose:
        """Move the platform point to a position (3,), psi stays; in a plane it stays in it."""
        p = self.pose.p.copy()
        for name, value in zip("xyz", np.asarray(position, dtype=float), strict=False):
            if name in self.robot.coordinates:
                p[self.robot.coordinates.index(name)] = value
        return self.move(p)

    # volumes

    def volume(self, kind: str, margin: float, height: float | None, psi: float = 0.0) -> Volume:
        """A coloured volume; the last ones are kept."""
        robot = self.robot
        cut = None if height is None else round(height, 4)
        key = (kind, round(margin, 6), cut, round(psi, 4))
        if key not in self._volumes:
            found = volume_of(robot, kind, margin=margin, height=height, psi=psi)
            if robot is not self.robot:  # edited while this was computed
                return found
            while len(self._volumes) >= 12:
                self._volumes.pop(next(iter(self._volumes)))
            self._volumes[key] = found
        return self._volumes[key]

    # motion

    def play(self, name: str) -> Track:
        """Make a motion ready: a scenario, the uploaded one, or that of the log."""
        if name == UPLOADED:
            if self.uploaded is None:
                raise InputError("motion", name, "uploaded first")
            track = motion_track(self.robot, UPLOADED, self.uploaded, self.reference)
        elif name == FROM_LOG:
            if self.log is None:
                raise InputError("motion", name, "a log that was uploaded first")
            track = self._with_force(self.overlay(), self.log.recording)
        else:
            track = scenario_track(self.robot, name, self.reference)
        self.track = track
        return track

    def overlay(self) -> Track:
        """Measured and predicted torque of the log."""
        if self.log is None:
            raise InputError("log", None, "one that was uploaded first")
        fit = None if self.study is None else self.study.fit
        return log_track(self.robot, self.log.recording, fit)

    def _with_force(self, track: Track, log: Recording) -> Track:
        """The log's motion with the external force, where there is an empty run to find it by."""
        if self.empty is None or not log.has_torque:
            return track
        model = self.robot if self.study is None else self.study.fit
        made_of = (model, log, self.empty.recording)
        if self._force is None or any(
            a is not b for a, b in zip(self._force[0], made_of, strict=True)
        ):
            try:
                found = find_contacts(model, log, [self.empty.recording])
            except DeltadynError as error:
                note = f"no external force: {error}"
                return dataclasses.replace(track, notes=(*track.notes, note))
            self._force = made_of, ForceTrack(found, self.robot)
        return dataclasses.replace(track, force=self._force[1])

    def upload_motion(self, upload: Upload) -> Track:
        """Take the motion of an uploaded CSV file."""
        motion = motion_upload(upload, self.robot, self.limit)
        track = motion_track(self.robot, UPLOADED, motion, self.reference)
        self.uploaded, self.track, self.motion_file = motion, track, upload
        return track

    def motion_names(self) -> tuple[str, ...]:
        """What can be played now."""
        more = [UPLOADED] * (self.uploaded is not None) + [FROM_LOG] * (self.log is not None)
        return (*SCENARIOS, *more)

    # log

    def upload_log(
        self, upload: Upload, *, held_out: bool = False, payload: float | None = None
    ) -> CheckedLog:
        """Take an uploaded log; an earlier fit is put away, for it belongs to another log.

        A log whose columns are not clear stays as a draft, for which columns can be chosen.
        """
        draft = draft_upload(upload, self.robot, self.limit, columns=self.columns)
        if held_out:
            if self.draft is not None:
                draft = draft.like(self.draft)
            self.held_out, self.study = self._read(draft, payload), None
            self.held_out_draft = draft
            return self.held_out
        self.payload = payload
        return self._take(dataclasses.replace(draft, asked=self.reading))

    def upload_empty(self, upload: Upload) -> CheckedLog:
        """Take a log of usual motion without contact and load: it tells what a force is not."""
        draft = draft_upload(upload, self.robot, self.limit, columns=self.columns)
        if self.draft is not None:
            draft = draft.like(self.draft)
        self.empty, self.empty_draft = self._read(draft, None), draft
        if self.track is not None and self.track.name == FROM_LOG:
            self.play(FROM_LOG)
        return self.empty

    def choose_columns(self, values: Values) -> CheckedLog:
        """Read the log again with the choices of the table."""
        return self._take(self._draft().chosen(values))

    def guess_columns(self) -> CheckedLog:
        """Read the log again as it is guessed, by the column map where there is one."""
        upload = self._draft().upload
        return self._take(draft_upload(upload, self.robot, self.limit, columns=self.columns))

    def take_conventions(self) -> CheckedLog:
        """Read the log again with the conventions that were found in it, and the robot by them."""
        if self.log is None or self.log.conventions is None:
            raise DeltadynError("no conventions were found: upload a log first")
        found = self.log.conventions
        draft = self._draft().mapped(found.columns)
        before = {name: getattr(self, name) for name in ("reference", "robot", "draft", "log")}
        self.reference, self.robot = found.apply(self.reference), found.apply(self.robot)
        try:
            return self._take(draft)
        except DeltadynError:
            self.__dict__.update(before)
            raise

    def _draft(self) -> Draft:
        if self.draft is None:
            raise DeltadynError("there is no log yet: upload one first")
        return self.draft

    def _take(self, draft: Draft) -> CheckedLog:
        """Make a draft the log; where it cannot be read, there is none, and an error says why."""
        draft = examined(draft, self.robot, self.limit) if draft.changed else draft
        self.draft, self.log, self.study = draft, None, None
        if self.track is not None and self.track.name == FROM_LOG:
            self.track = None
        self.log = self._read(draft, self.payload)
        self._read_beside_again(draft)
        return self.log

    def _read_beside_again(self, like: Draft) -> None:
        """Read held-out log and empty run as the log is read now: by its columns and the robot.

        One that cannot be read so is put away, with a notice.
        """
        self.notice = ""
        for name, title in (("held_out", "held-out log"), ("empty", "empty run")):
            before: Draft | None = getattr(self, f"{name}_draft")
            read: CheckedLog | None = getattr(self, name)
            if before is None or read is None:
                continue
            try:
                draft = draft_upload(before.upload, self.robot, self.limit, columns=self.columns)
                draft = draft.like(like)
                log: CheckedLog | None = self._read(draft, read.recording.payload)
            except DeltadynError as error:
                self.notice = f"the {title} was put away: {error}"
                draft, log = before, None
            setattr(self, f"{name}_draft", None if log is None else draft)
            setattr(self, name, log)

    def _read(self, draft: Draft, payload: float | None) -> CheckedLog:
        if draft.problems:
            raise UploadError(draft.problems[0][1])
        found = log_upload(
            draft.upload,
            self.robot,
            self.limit,
            columns=self.columns,
            payload=payload,
            options=draft.options,
        )
        refuse_dof(found, self.robot)
        return checked(found, self.robot)

    def keep(self, found: Study) -> None:
        """Take what an identification found."""
        self.study = found
        if self.track is not None and self.track.name == FROM_LOG:
            self.play(FROM_LOG)
