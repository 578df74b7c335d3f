"""What every command does alike: errors in one sentence and a hint, exit status, JSON, records."""

from __future__ import annotations

import difflib
import errno
import json
import os
import re
import select
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltadyn.commands.project import FILE, project_robot, record_run
from deltadyn.errors import DeltadynError, InputError, OldFileWarning, UnknownNameError
from deltadyn.messages import escape_control_characters, hide_passwords
from deltadyn.systems import on_windows

if TYPE_CHECKING:
    from deltadyn.recording import ReadOptions, Recording
    from deltadyn.recording.prepare.stream import Streamed
    from deltadyn.robot import Robot


# What to do next after an error, in one line.


#: By the name of the error's class: the command line loads none of the folders that define them.
BY_KIND = {
    "RobotFileError": "`deltadyn robots sipro-d3-1200` prints a whole file to compare with",
    "RobotError": "docs/robot-file.md says what every field means",
    "RecordingFileError": "name the columns in a file and pass it with --columns; see "
    "docs/recordings.md",
    "MissingExtraError": "",
    "NoCheckoutError": "",
    "OtherPackageError": "",
    "UnidentifiableError": "--hold keeps what the logs cannot identify, and `deltadyn excite` "
    "designs a motion that identifies it",
    "UnreachableError": "`deltadyn robots ROBOT` shows the limits of the workspace",
    "LimitError": "slow the motion down, or give the limits in the robot file",
    "PlantStoppedError": "try a higher --rate, or the preset ideal",
    "FileNotFoundError": "paths are relative to the folder in which the command runs",
    "PermissionError": "choose another folder with --out",
}


#: What the library says, and what the command line calls it.
SPOKEN = {
    "pass check=False": "pass --no-check",
    "pass unidentifiable='hold'": "pass --hold",
    "pass unreachable='nan' to get NaN rows instead": "give a motion inside the workspace",
    ", or pass unidentifiable='drop' to design for the other parameters": "",
    ", or pass training=True to see the fit itself": "",
    "pass binary=False for": "pass --no-binary for",
    "overwrite=True (--force)": "--force",
    "Set `payload` of the recording.": "Give it with --payload.",
    "set `payload` of the recordings": "give it with --payload",
    "fit.details() has all": "--verbose and the report have all",
    'leave `terms` at "auto"': "leave --terms at auto",
    "repair(kinds=['not finite'])": "--repair nan",
    "repair(kinds=['duplicate time'])": "--repair duplicate-time",
    "repair(kinds=['decreasing time'])": "--repair decreasing-time",
    "repair(kinds=['gap'])": "--repair gap",
    "repair(kinds=['encoder wrap'])": "--repair encoder-wrap",
    "repair='nan'": "--repair nan",
    "repair='decreasing-time'": "--repair decreasing-time",
    "leave longer ones out by start, stop or exclude": "leave longer ones out by --from, --to or "
    "--exclude",
    "Cut these rows out, or": "Leave these rows out (--exclude, --from, --to), or",
    "or interpolate=True": "or --interpolate",
    'bad_rows="skip"': "--read bad_rows=skip",
    "bad_rows='skip'": "--read bad_rows=skip",
}


def spoken(text: str) -> str:
    """A text of the library in the words of the command line, fit for a terminal."""
    return escape_control_characters(hide_passwords(_in_words_of_options(text)))


def _in_words_of_options(text: str) -> str:
    """The text with options in the place of arguments.

    Advice to pass an option that the command does not have is left out.
    """
    for said, here in SPOKEN.items():
        if said in text and not _has_options(here):
            advice = rf"{re.escape(said)}[^;.]*"  # a sentence of its own, or the end of one
            text = re.sub(rf"(?<=\.) *Or {advice}\.?|(?:[,;]? *\bor )?{advice}", "", text).rstrip()
        text = text.replace(said, here)
    return text


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def _has_options(text: str) -> bool:
    """Whether the command that runs has all options that a text names outside of `...`."""
    context = click.get_current_context(silent=True)
    if context is None:
        return True
    known = {name for item in context.command.params for name in (*item.opts, "--help")}
    return set(OPTION.findall(re.sub("`[^`]*`", "", text))) <= known


def _spoken_record(record: Any) -> Any:
    """The same for all texts of a record; JSON writes control characters in its own way."""
    if isinstance(record, str):
        return hide_passwords(_in_words_of_options(record))
    if isinstance(record, dict):
        return {key: _spoken_record(value) for key, value in record.items()}
    return [_spoken_record(item) for item in record] if isinstance(record, list) else record


def hint(error: BaseException, command: str) -> str:
    """A line that helps on, with the command's options; empty where the error says it all."""
    line = _hint_of(error, command)
    return line if _has_options(line) else f"`{command} --help` shows an example"


def _hint_of(error: BaseException, command: str) -> str:
    """What helps on after an error, whichever the command is."""
    if isinstance(error, UnknownNameError) and isinstance(error.value, str):
        near = difflib.get_close_matches(error.value, error.names, n=1)
        if near and "did you mean" not in str(error):
            return f"did you mean {near[0]!r}?"
        if error.quantity == "robot":
            return "`deltadyn robots` lists the catalogue"
    if _disk(error):
        return "the disk takes nothing more: choose another place with --out"
    if "cannot be written" in str(error):
        return BY_KIND["PermissionError"]
    if "does not exist" in str(error):
        return BY_KIND["FileNotFoundError"]
    if "pass check=False" in str(error):
        return "--no-check takes the log as it is"
    if "before another motion" in str(error):  # it is the log or the model that is wrong
        return "`deltadyn check ROBOT LOG` looks for a wrong sign, unit, order or homing"
    for kind in type(error).__mro__:
        if kind.__name__ in BY_KIND:
            return BY_KIND[kind.__name__]
    return f"`{command} --help` shows an example"


def error_record(error: BaseException, line: str) -> dict[str, Any]:
    """What went wrong, for `--json`: the sentence, and its parts where the error has them."""
    parts = {name: getattr(error, name, None) for name in ("quantity", "where", "path", "line")}
    found = {name: value for name, value in parts.items() if isinstance(value, str | int)}
    record = {"kind": type(error).__name__, "message": str(error), **found, "hint": line}
    return {"error": record}


def _disk(error: BaseException | None) -> bool:
    """Whether an error comes from a disk that takes nothing more."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return True
        error = error.__cause__ or error.__context__
    return False


NO_ROOM = (errno.ENOSPC, errno.EROFS, errno.EFBIG)
#: Exit status: the answer is no; the call or its input is wrong; the memory is used up.
ANSWER_NO, WRONG_CALL, OUT_OF_MEMORY = 1, 2, 3
STDOUT = 1  # the file number of the output
STOPPED, CUT_OFF = 130, 141  # by Ctrl-C, or by the end of a pipe, as shells count it


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Show what went wrong in one sentence and exit with 2, or 3 where the memory is used up.

    `--debug` shows the traceback.

    Inside a project the choices of a run that ended are recorded for `deltadyn repeat`.
    """

    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @wraps(command)
    def run(*args: Any, debug: bool, **kwargs: Any) -> None:
        context = click.get_current_context()
        try:
            with _made_folders(kwargs):
                command(*args, **kwargs)
        except Exception as error:
            memory = _memory_error(error)
            if debug or not (memory or isinstance(error, DeltadynError | OSError)):
                raise
            if memory:
                _end_out_of_memory(error, bool(kwargs.get("as_json")))
            if _broken_pipe(error) and _reader_has_gone():
                sys.exit(CUT_OFF)
            line = hint(error, context.command_path)
            if kwargs.get("as_json"):
                echo_json(error_record(error, line))
                sys.exit(WRONG_CALL)
            click.echo(f"deltadyn: {spoken(str(error))}", err=True)
            if line:
                click.echo(f"hint: {line}", err=True)
            sys.exit(WRONG_CALL)
        except KeyboardInterrupt:
            if debug:
                raise
            click.echo("\ndeltadyn: stopped; no file was left half written", err=True)
            sys.exit(STOPPED)
        except SystemExit as end:
            if end.code == ANSWER_NO:
                _record(context)
            raise
        _record(context)

    return run


def _memory_error(error: BaseException | None) -> bool:
    """Whether an error comes from memory that is used up, here or in a worker process."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        if any(kind.__name__ == "TerminatedWorkerError" for kind in type(error).__mro__):
            return True  # of joblib: the system ends a process that takes too much
        if type(error) is RuntimeError and "can't start new thread" in str(error):
            return True  # of Python, for whose stack there is no room
        error = error.__cause__ or error.__context__
    return False


def _end_out_of_memory(error: BaseException, as_json: bool) -> None:
    """Say that the memory is used up, and exit with 3."""
    reason = " ".join(str(error).split())[:300]
    traceback.clear_frames(error.__traceback__)  # with the arrays in them
    text = "the memory is used up" + (f": {reason}" if reason else "")
    line = "close other programs, use fewer workers, or take shorter logs"
    if as_json:
        echo_json({"error": {"kind": "MemoryError", "message": text, "hint": line}})
    else:
        click.echo(f"deltadyn: {text}\nhint: {line}", err=True)
    sys.exit(OUT_OF_MEMORY)


def _record(context: click.Context) -> None:
    """Record the run of a project; a disk that refuses it is told apart from a run that failed."""
    try:
        record_run(context)
    except (DeltadynError, OSError) as error:
        told = f"the result is there, but the run could not be recorded in {FILE}: {error}"
        click.echo(f"deltadyn: {told}", err=True)
        sys.exit(WRONG_CALL)


#: Options that name what a command writes.
OUTPUTS = ("out", "save", "page", "loads_page", "write_columns", "bundle")


@contextmanager
def _made_folders(options: Mapping[str, Any]) -> Iterator[None]:
    """Make the folders around what is to be written, and say so; none stays behind in vain."""
    made: list[Path] = []
    for key in OUTPUTS:
        folder = Path(options[key]).parent if options.get(key) else Path()
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        if missing:
            folder.mkdir(parents=True, exist_ok=True)
        made += reversed(missing)
    try:
        yield
    finally:
        for place in reversed(made):
            with suppress(OSError):  # not empty: the command wrote into it
                place.rmdir()
        kept = [str(place) for place in made if place.exists()]
        if kept:
            click.echo(f"folder made: {', '.join(kept)}", err=True)


def _broken_pipe(error: BaseException) -> bool:
    """Whether a pipe may have lost its reader; Windows calls that a wrong argument."""
    if isinstance(error, BrokenPipeError):
        return True
    return on_windows() and isinstance(error, OSError) and error.errno == errno.EINVAL


def _reader_has_gone() -> bool:
    """Whether nobody reads our output any more, as behind `| head`; if so, the rest is dropped.

    It may also be another pipe that broke, such as that to a worker: an error to show.
    """
    if hasattr(select, "poll"):
        output = select.poll()
        output.register(STDOUT, 0)  # a pipe without a reader shows as an error
        gone = any(state & select.POLLERR for _, state in output.poll(0))
    else:  # Windows: what is left in our own buffer finds no reader either
        try:
            sys.stdout.flush()
            gone = False
        except OSError:
            gone = True
    if gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)  # Python writes what is left at its end
    return gone


def show(result: Any, as_json: bool, **more: Any) -> None:
    """Print a result as text, or its `as_dict()` and what else belongs to it as JSON.

    `warnings` come behind the text, too.
    """
    if as_json:
        echo_json({**result.as_dict(), **more})
        return
    click.echo(spoken(str(result)))
    for text in more.get("warnings", ()):
        click.echo(f"warning: {spoken(text)}")


def show_with_page(result: Any, out: str | None, as_json: bool, **more: Any) -> None:
    """Print a result, and write its page where `out` names one."""
    page = {} if out is None else {"page": str(result.page(out))}
    show(result, as_json, **page, **more)
    if out is not None and not as_json:
        click.echo(f"\n{written(out)}")


def echo_json(record: Any) -> None:
    """Print a record."""
    click.echo(json_text(record))


def json_text(record: Any) -> str:
    """A record as JSON; NaN has no place in it."""
    return json.dumps(_spoken_record(record), indent=2, allow_nan=False)


def written(*files: object) -> str:
    """The line that names what was written, a page last."""
    how = "" if str(files[-1]).endswith(".md") else " (open it in a browser)"
    return f"written: {', '.join(map(str, files))}{how}"


def checked_log(robot: Robot, path: str, options: ReadOptions, check: bool) -> Recording:
    """A log of a robot; one that counts otherwise, or is spoiled, is refused where asked."""
    from deltadyn.recording.checks import refuse_spoiled

    (recording,) = read_logs(robot, [path], None, options)
    if check:
        refuse_spoiled(robot, recording)
    return recording


def show_logs(
    robot: Robot,
    logs: Sequence[str],
    find: Callable[[str], Any],
    out: str | None,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Print what is found in each log, and write a page of each to `out`; the records."""
    records, texts = [], []
    for number, path in enumerate(logs, start=1):
        found, page = find(path), None
        if out is not None:
            place = Path(out)
            if len(logs) > 1:
                place = place.with_name(f"{place.stem}-{number}{place.suffix}")
            page = str(found.page(place))
        records.append({"log": path, **found.as_dict(), "page": page})
        texts.append(str(found) + (f"\n{written(page)}" if page else ""))
    if as_json:
        echo_json({"robot": robot.name, "logs": records})
    else:
        click.echo("\n\n".join(texts))
    return records


def robot_of(name: str) -> Robot:
    """The robot of a catalogue name or a file; "." is the one of the project in this folder."""
    from deltadyn.robot.file import load_robot

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", OldFileWarning)
        robot = load_robot(project_robot() if name == "." else name)
    for item in told:
        click.echo(f"note: {item.message}", err=True)
    return robot


def note_frictionless(robot: Robot) -> None:
    """Say that a robot without friction is hardly an identified one: its torque is not measured."""
    friction = robot.friction
    if not any((*friction.viscous, *friction.coulomb)):
        text = "its friction will look like a load or a force; `deltadyn identify` finds it"
        click.echo(f"note: robot {robot.name!r} has no friction: {text}", err=True)


def complete_robot(_context: Any, _parameter: Any, incomplete: str) -> list[Any]:
    """Catalogue names, and robot files in this folder, for the shell."""
    from click.shell_completion import CompletionItem

    from deltadyn.robot.file import robot_names

    names = [name for name in robot_names() if name.startswith(incomplete)]
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


# Arguments and options that several commands have.

robot_argument = click.argument("name", metavar="ROBOT", shell_complete=complete_robot)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
logs_argument = click.argument("logs", nargs=-1, required=True, metavar="LOG...")
page_option = click.option("--out", default=None, help="HTML page to write.")
method_option = click.option("--method", default="convex", help="How to fit; see the docs.")
model_option = click.option(
    "--model", default=None, help="What to fit: exact, rigid, virtual-work, ..."
)
carried_option = click.option(
    "--payload", type=float, default=None, help="What the robot carried, in kg."
)
convention_option = click.option(
    "--convention",
    type=click.Choice(["controller", "deltadyn"]),
    default=None,
    help="Whose angles and torques the data hold; default: the controller's.",
)
stribeck_option = click.option(
    "--stribeck", is_flag=True, help="Add Stribeck friction to every drive."
)
terms_option = click.option(
    "--terms",
    default=None,
    metavar="auto|file|NAMES",
    help="Terms beyond the robot file's model: found from the logs (auto, the default where the "
    "method can), none (file), or names such as offset,ripple.",
)
no_check_option = click.option(
    "--no-check", is_flag=True, help="Take logs with a wrong sign or unit as they are."
)
require_option = click.option(
    "--require",
    "required",
    multiple=True,
    metavar="NAME=LIMIT",
    help="Limit of the residual on held-out logs: rms, maximum, mean, std or relative, as rms=2Nm, "
    "rms=2,2,3Nm (by axis) or relative=5%; exit status 1 where it is not met.",
)
held_out_option = click.option(
    "--validate", "held_out", multiple=True, metavar="LOG", help="Held-out log."
)


def bands(value: str) -> Any:
    """ "auto", "none" or a number of Hz."""
    if value in ("auto", "none"):
        return None if value == "none" else value
    try:
        return float(value)
    except ValueError:
        raise InputError("--band", value, "auto, none or a frequency in Hz") from None


def terms_of(value: str | None) -> str | tuple[str, ...] | None:
    """`terms` of `identify` for the option `--terms`."""
    if value is None or value in ("auto", "file"):
        return value
    return tuple(name.strip() for name in value.split(",") if name.strip())


def seed_option(what: str = "methods that draw numbers") -> Callable[..., Any]:
    """The option `--seed`."""
    return click.option("--seed", default=0, help=f"Seed of {what}.")


def robot_option(default: str, text: str) -> Callable[..., Any]:
    """The option `--robot` of commands that work without a robot of one's own."""
    return click.option(
        "--robot",
        "name",
        default=default,
        help=text,
        shell_complete=complete_robot,
    )


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How the logs of a command are read: columns, options of the reader, what is mended.

    What is mended goes into `read`, as KEY=VALUE of the reader's options.
    """
    columns = click.option(
        "--columns", default=None, metavar="FILE", help="Column map of the logs (YAML)."
    )
    read = click.option(
        "--read",
        multiple=True,
        metavar="KEY=VALUE",
        help="How to read them, e.g. torque_side=motor, sample_time=0.001; see docs/recordings.md.",
    )
    repair = click.option(
        "--repair",
        "repair_kinds",
        multiple=True,
        type=click.Choice(["nan", "gap", "duplicate-time", "decreasing-time", "encoder-wrap"]),
        help="Repair logs as they are read: NaN cells and missing rows, up to 5 in a row, ...",
    )
    interpolate = click.option(
        "--interpolate", is_flag=True, help="Take channels of other clocks at the times of q1."
    )
    start = click.option(
        "--from", "start_s", type=float, default=None, metavar="S", help="Leave out rows before."
    )
    stop = click.option(
        "--to", "stop_s", type=float, default=None, metavar="S", help="Leave out rows from here on."
    )
    exclude = click.option(
        "--exclude",
        "excluded_s",
        multiple=True,
        callback=_checked_ranges,
        metavar="S:S",
        help="Leave out the rows of a time range, e.g. 3.2:4.5, on the log's own clock.",
    )

    @wraps(command)
    def with_corrections(*args: Any, **options: Any) -> None:
        options["read"] = (*options["read"], *_corrections(options))
        command(*args, **options)

    for option in (exclude, stop, start, interpolate, repair, read, columns):
        with_corrections = option(with_corrections)
    return with_corrections


def _corrections(options: dict[str, Any]) -> Iterator[str]:
    """The options that mend a log, as KEY=VALUE of the reader; they are taken out."""
    kinds, ranges = options.pop("repair_kinds"), options.pop("excluded_s")
    if kinds:
        yield f"repair={json.dumps(list(kinds))}"
    if options.pop("interpolate"):
        yield "interpolate=true"
    for key in ("start", "stop"):
        value = options.pop(f"{key}_s")
        if value is not None:
            yield f"{key}={value!r}"
    if ranges:
        yield f"exclude={json.dumps([_time_range(text) for text in ranges])}"


def _checked_ranges(_context: Any, _parameter: Any, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The same texts, each of two times."""
    for text in texts:
        try:
            _time_range(text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not two times in s, as 3.2:4.5") from None
    return texts


def _time_range(text: str) -> list[float]:
    """The two times of "3.2:4.5"."""
    low, high = (float(part) for part in text.split(":"))
    return [low, high]


def reading_options(columns: str | None, read: Sequence[str]) -> ReadOptions:
    """How logs are read, as `--columns` and `--read` say it."""
    import tomllib

    from deltadyn.options import names_of
    from deltadyn.recording import ReadOptions

    known = names_of(ReadOptions)
    options: dict[str, Any] = {"columns": columns}
    for text in read:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError("--read", text, "KEY=VALUE, e.g. torque_side=motor")
        if key not in known:
            raise UnknownNameError("--read", key, known)
        try:
            options[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[key] = value
    return ReadOptions(**options)


LONG = 256_000_000  # bytes of a log that is read in pieces


def logs_to_fit(
    robot: Robot, paths: Sequence[str], payload: float | None, options: ReadOptions
) -> list[Recording | Streamed]:
    """The same; of files above `LONG` bytes, logs that are read in pieces as the fit goes on."""
    from dataclasses import replace

    from deltadyn.recording.prepare.stream import Streamed

    given = options if payload is None else replace(options, payload=payload)
    return [
        Streamed(robot, path, given)
        if Path(path).is_file() and Path(path).stat().st_size > LONG
        else read_logs(robot, [path], payload, options)[0]
        for path in paths
    ]


def read_logs(
    robot: Robot, paths: Sequence[str], payload: float | None, options: ReadOptions
) -> list[Recording]:
    """The recordings of some files; a `payload` (kg) stands above what the files say."""
    from deltadyn.recording import read_recording

    records = [read_recording(path, robot, options) for path in paths]
    return records if payload is None else [item.replace(payload=payload) for item in records]
