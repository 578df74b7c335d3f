"""Recordings: read, write, check and repair logs of a robot, and what to make of their signals."""

from deltadyn.recording.alignment import Aligned, Delay, estimate_delay, remove_delay
from deltadyn.recording.bandwidth import Bandwidth, choose_bandwidth
from deltadyn.recording.checks import check_recording
from deltadyn.recording.derivatives import Derivatives, differentiate
from deltadyn.recording.failures import MissingExtraError, RecordingFileError
from deltadyn.recording.findings import Finding, Findings
from deltadyn.recording.fourier_fit import FourierFit, fit_fourier
from deltadyn.recording.periods import Period, PeriodAverage, average_periods, find_period
from deltadyn.recording.read import iter_recording, read_recording
from deltadyn.recording.recording import ColumnUse, Provenance, Recording, concatenate
from deltadyn.recording.repair import repair
from deltadyn.recording.segments import Move, Moves, find_moves
from deltadyn.recording.write import write_recording

__all__ = [
    "Aligned",
    "Bandwidth",
    "ColumnUse",
    "Delay",
    "Derivatives",
    "Finding",
    "Findings",
    "FourierFit",
    "MissingExtraError",
    "Move",
    "Moves",
    "Period",
    "PeriodAverage",
    "Provenance",
    "Recording",
    "RecordingFileError",
    "average_periods",
    "check_recording",
    "choose_bandwidth",
    "concatenate",
    "differentiate",
    "estimate_delay",
    "find_moves",
    "find_period",
    "fit_fourier",
    "iter_recording",
    "read_recording",
    "remove_delay",
    "repair",
    "write_recording",
]
