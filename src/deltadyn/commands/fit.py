"""From logs to a model: `deltadyn identify`, `validate` and `report`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from deltadyn.commands.common import (
    ANSWER_NO,
    bands,
    carried_option,
    complete_robot,
    echo_json,
    guarded,
    held_out_option,
    json_option,
    log_options,
    logs_argument,
    logs_to_fit,
    method_option,
    model_option,
    no_check_option,
    page_option,
    read_logs,
    reading_options,
    require_option,
    robot_argument,
    robot_of,
    seed_option,
    show,
    show_with_page,
    spoken,
    stribeck_option,
    terms_of,
    terms_option,
    written,
)
from deltadyn.errors import InputError
from deltadyn.files import file_set, with_ending

if TYPE_CHECKING:
    from deltadyn.calibration import Calibration
    from deltadyn.identification.verdict import Verdict
    from deltadyn.recording import Recording
    from deltadyn.robot import Robot
    from deltadyn.validation import LimitCheck

#: What --limbs means for `tied`.
LIMBS: dict[str | None, bool | Literal["auto"] | None] = {
    "tied": True,
    "own": False,
    "auto": "auto",
    None: None,
}


@click.command(
    epilog="Example: deltadyn identify sipro-d3-1200 log.csv --validate held-out.csv --out mine"
)
@robot_argument
@logs_argument
@method_option
@model_option
@click.option(
    "--limbs",
    type=click.Choice(["tied", "own", "auto"]),
    default=None,
    help="Common bodies for the three limbs, their own, or by a test.",
)
@click.option("--band", default="auto", help="Hz of the fit, auto or none.")
@carried_option
@log_options
@click.option("--hold", is_flag=True, help="Keep what the logs cannot identify at its value.")
@no_check_option
@stribeck_option
@terms_option
@held_out_option
@require_option
@click.option("--out", default="identified", help="Name of the files to write.")
@click.option("--verbose", is_flag=True, help="Print all parameters, terms and fields.")
@seed_option()
@json_option
@guarded
def identify(
    name: str,
    logs: tuple[str, ...],
    method: str,
    model: str | None,
    limbs: str | None,
    band: str,
    payload: float | None,
    columns: str | None,
    read: tuple[str, ...],
    hold: bool,
    no_check: bool,
    stribeck: bool,
    terms: str | None,
    held_out: tuple[str, ...],
    required: tuple[str, ...],
    out: str,
    verbose: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Identify a robot's base parameters from logs, and write a robot file that has them.

    Beside it come a JSON and a report, which say of every field whether it was identified.

    Exit status 1 where the verdict is "not to be trusted", or a --require is not met.
    """
    from dataclasses import replace

    from deltadyn.identification import FitOptions
    from deltadyn.identification import identify as run
    from deltadyn.identification.methods.two_step import without_rod
    from deltadyn.report.study import judged_on
    from deltadyn.report.write import write_report
    from deltadyn.validation import check_limits

    robot, options = robot_of(name), reading_options(columns, read)
    limits = _limits(robot, required)
    if limits and not held_out:
        raise InputError("--require", required[0], "left out without a held-out log (--validate)")
    apart = read_logs(robot, held_out, payload, options)
    # the first log of "two-step" is that of the robot without its rod
    bare = 1 if method == "two-step" else 0
    first = read_logs(without_rod(robot), logs[:bare], payload, options) if bare else []
    fit = run(
        robot,
        [*first, *logs_to_fit(robot, logs[bare:], payload, options)],
        method,
        FitOptions(
            model=model,
            tied=LIMBS[limbs],
            band=bands(band),
            unidentifiable="hold" if hold else "raise",
            stribeck=stribeck,
            terms=terms_of(terms),
            check=not no_check,
            seed=seed,
        ),
        validation=apart or None,
        progress=not as_json,
    )
    judged = judged_on(fit, apart)
    fit, found = replace(fit, judged=judged.verdict), judged.validation
    with file_set():
        page = write_report(judged, with_ending(out, ".html"), numbers=False)
        robot_file, record = fit.save(out)
    files = {"robot": str(robot_file), "record": str(record), "report": str(page)}
    checks = () if found is None else check_limits(found, limits)
    more = {"required": [item.as_dict() for item in checks]} if limits else {}
    if as_json or not verbose:
        validated = None if found is None else found.as_dict()
        show(fit, as_json, files=files, validation=validated, **more)
    else:
        click.echo(spoken(fit.details()))
    if not as_json:
        if found is not None:
            click.echo(f"\n{found}")
        _tell(replace(fit.verdict, notes=()))  # the fit's text has them
        _show_checks(checks)
        click.echo(f"\n{written(*files.values())}")
    _refuse_bad(fit.verdict)
    _refuse_unmet(checks)


@click.command(epilog="Example: deltadyn validate identified.yaml held-out.csv --out report.html")
@robot_argument
@logs_argument
@click.option(
    "--model",
    default=None,
    help="The model that predicts; default: gray-box where the robot file has it, else exact.",
)
@click.option("--against", default=None, metavar="ROBOT", help="Another robot to compare with.")
@click.option("--band", default="auto", help="Hz that count, auto or none.")
@carried_option
@log_options
@no_check_option
@require_option
@page_option
@json_option
@guarded
def validate(
    name: str,
    logs: tuple[str, ...],
    model: str | None,
    against: str | None,
    band: str,
    payload: float | None,
    columns: str | None,
    read: tuple[str, ...],
    no_check: bool,
    required: tuple[str, ...],
    out: str | None,
    as_json: bool,
) -> None:
    """How well a robot's model predicts the torque of logs, and what it misses.

    Exit status 1 where a --require is not met.
    """
    from dataclasses import asdict

    from deltadyn.recording.checks import refuse_spoiled
    from deltadyn.recording.recording import DataSource
    from deltadyn.validation import check_limits, compare
    from deltadyn.validation import validate as run

    robot = robot_of(name)
    limits = _limits(robot, required)
    if limits and against is not None:
        raise InputError("--require", required[0], "left out with --against")
    records = read_logs(robot, logs, payload, reading_options(columns, read))
    warnings: list[str] = []
    for record in () if no_check else records:
        warnings += refuse_spoiled(robot, record).sentences
    found: Any
    if against is None:
        found = run(robot, records, band=bands(band), dynamics=model)
    else:
        other = robot_of(against)
        pairs = ((name, robot), (against, other))
        names = [item.name if given == "." else given for given, item in pairs]
        both = {names[0]: robot, names[1]: other}
        laws = None if model is None else dict.fromkeys(both, model)
        found = compare(both, records, band=bands(band), dynamics=laws)
    data = [asdict(DataSource.of(record)) for record in records]
    checks = check_limits(found, limits) if limits else ()
    more = {"required": [item.as_dict() for item in checks]} if limits else {}
    show_with_page(found, out, as_json, warnings=warnings, data=data, **more)
    if not as_json:
        _show_checks(checks)
    _refuse_unmet(checks)


# The whole report of a fit, or several fits side by side.


@click.command(
    epilog="Example: deltadyn report mine.yaml log.csv --validate held-out.csv --out report.html. "
    "Several fits: deltadyn report --compare may.json june.json --out compare.html"
)
@click.argument("name", metavar="ROBOT", required=False, shell_complete=complete_robot)
@click.argument("logs", nargs=-1, metavar="LOG...")
@held_out_option
@click.option("--methods", default="convex,base,l1", help="With commas; the first one is judged.")
@model_option
@carried_option
@click.option("--payload-log", default=None, metavar="LOG", help="Log to cut into picks.")
@click.option("--empty", default=None, metavar="LOG", help="Log without load, for their noise.")
@click.option(
    "--calibrate",
    multiple=True,
    metavar="FILE",
    help="Measured poses: the geometry is calibrated first, as `deltadyn calibrate` does.",
)
@log_options
@stribeck_option
@click.option("--compare", is_flag=True, help="Records of fits or reports (JSON) side by side.")
@click.option("--out", default="report.html", help="Page to write.")
@seed_option()
@json_option
@guarded
def report(
    name: str | None,
    logs: tuple[str, ...],
    held_out: tuple[str, ...],
    methods: str,
    model: str | None,
    payload: float | None,
    payload_log: str | None,
    empty: str | None,
    calibrate: tuple[str, ...],
    columns: str | None,
    read: tuple[str, ...],
    stribeck: bool,
    compare: bool,
    out: str,
    seed: int,
    as_json: bool,
) -> None:
    """Identify, judge on held-out motion, and write one page with its numbers beside it.

    Exit status 1 where the verdict is "not to be trusted". With --compare the arguments are JSON
    files as `identify` and `report` write them.
    """
    if compare:
        files = (name, *logs) if name is not None else ()
        fitted = {"--validate": held_out, "--payload-log": payload_log, "--empty": empty,
                  "--payload": payload, "--model": model, "--stribeck": stribeck,
                  "--calibrate": calibrate}  # fmt: skip
        _compare([str(item) for item in files], fitted, out, as_json)
        return
    if name is None or not logs:
        raise InputError("call", "no log", "a robot and at least one log, or --compare with JSON")
    _refuse_json((name, *logs))
    from deltadyn.identification import FitOptions
    from deltadyn.report import study

    robot, options = robot_of(name), reading_options(columns, read)
    calibration = _calibration(robot, calibrate)
    robot = robot if calibration is None else calibration.robot

    def one(path: str | None) -> Recording | None:
        return None if path is None else read_logs(robot, [path], None, options)[0]

    found = study(
        robot,
        read_logs(robot, logs, payload, options),
        held_out=read_logs(robot, held_out, payload, options),
        methods=[part.strip() for part in methods.split(",") if part.strip()],
        payload_log=one(payload_log),
        empty=one(empty),
        calibration=calibration,
        tell=None if as_json else lambda text: click.echo(f"{text} ...", err=True),
        options=FitOptions(model=model, stribeck=stribeck, unidentifiable="hold", seed=seed),
    )
    page = found.report(out)
    verdict = found.verdict
    files_written = {"page": str(page), "numbers": str(page.with_suffix(".json"))}
    if as_json:
        warnings = [*found.fit.warnings, *found.fit.findings]
        record = {"robot": robot.name, "verdict": verdict.as_dict(), "warnings": warnings}
        echo_json({**record, "files": files_written})
    else:
        _tell(verdict)
        click.echo(f"\nwritten: {', '.join(files_written.values())} (open the page in a browser)")
    _refuse_bad(verdict)


def _limits(robot: Robot, required: tuple[str, ...]) -> dict[str, Any]:
    """The limits of --require."""
    if not required:
        return {}
    from deltadyn.validation.limits import parse_limits

    return dict(parse_limits(required, robot))


def _show_checks(checks: Sequence[LimitCheck]) -> None:
    for item in checks:
        click.echo(str(item))


def _refuse_unmet(checks: Sequence[LimitCheck]) -> None:
    """Exit status 1 where a limit of the user is not met."""
    if not all(item.met for item in checks):
        sys.exit(ANSWER_NO)


def _calibration(robot: Robot, files: tuple[str, ...]) -> Calibration | None:
    """The calibration by measured poses; None where there are none."""
    if not files:
        return None
    from deltadyn.calibration import calibrate, read_measurements

    return calibrate(robot, [item for path in files for item in read_measurements(path, robot)])


def _tell(verdict: Verdict) -> None:
    """The grade, what decided it, the three answers, and what did not decide."""
    click.echo(f"\nverdict: {verdict.grade}")
    sentences = [item.sentence for item in verdict.answers]
    answers = [item.text for item in verdict.answers if item.sentence not in verdict.reasons]
    notes = [text for text in verdict.notes if text not in sentences]
    for text in (*verdict.reasons, *answers, *notes):
        click.echo(f"  {spoken(text)}")


def _refuse_bad(verdict: Verdict) -> None:
    """Exit status 1 where a model is not to be trusted."""
    from deltadyn.identification.verdict import BAD

    if verdict.grade == BAD:
        sys.exit(ANSWER_NO)


def _compare(files: list[str], fitted: dict[str, Any], out: str, as_json: bool) -> None:
    """The page of several records."""
    from deltadyn.report import compare_fits

    for option, value in fitted.items():
        if value:
            raise InputError(option, value, "left out with --compare")
    show_with_page(compare_fits(files), out, as_json)


def _refuse_json(names: tuple[str, ...]) -> None:
    """Records given as logs: the option was forgotten."""
    records = [name for name in names if name.endswith(".json")]
    if records:
        raise InputError("log", records[0], "a log; pass --compare to compare records")
