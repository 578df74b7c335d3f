"""Recordings: read, write, check and repair logs of a robot, and what to make of their signals."""

from deltadyn.errors import MissingExtraError, RecordingFileError
from deltadyn.recording.alignment import (
    Aligned,
    Delay,
    Period,
    PeriodAverage,
    average_periods,
    estimate_delay,
    find_period,
    remove_delay,
)
from deltadyn.recording.checks import check_recording
from deltadyn.recording.checks.findings import Finding, Findings
from deltadyn.recording.conventions import Conventions, find_conventions
from deltadyn.recording.guess import ColumnGuess, GuessedColumn
from deltadyn.recording.rates.bandwidth import Bandwidth, choose_bandwidth
from deltadyn.recording.rates.differentiate import (
    Derivatives,
    FourierFit,
    differentiate,
    fit_fourier,
)
from deltadyn.recording.read import ReadOptions, guess_columns, iter_recording, read_recording
from deltadyn.recording.recording import (
    ColumnUse,
    Provenance,
    Recording,
    concatenate,
    write_recording,
)
from deltadyn.recording.repair import repair
from deltadyn.recording.segments import Move, Moves, find_moves

__all__ = [
    "Aligned",
    "Bandwidth",
    "ColumnGuess",
    "ColumnUse",
    "Conventions",
    "Delay",
    "Derivatives",
    "Finding",
    "Findings",
    "FourierFit",
    "GuessedColumn",
    "MissingExtraError",
    "Move",
    "Moves",
    "Period",
    "PeriodAverage",
    "Provenance",
    "ReadOptions",
    "Recording",
    "RecordingFileError",
    "average_periods",
    "check_recording",
    "choose_bandwidth",
    "concatenate",
    "differentiate",
    "estimate_delay",
    "find_conventions",
    "find_moves",
    "find_period",
    "fit_fourier",
    "guess_columns",
    "iter_recording",
    "read_recording",
    "remove_delay",
    "repair",
    "write_recording",
]
