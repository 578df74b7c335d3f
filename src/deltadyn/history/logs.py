"""A log on its way into a history: when it was recorded, how warm it was, and its fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from deltadyn.errors import InputError
from deltadyn.files import file_digest
from deltadyn.history.results import kept, log_fingerprint
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.identification.information import Information
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.registry import method_of
from deltadyn.identification.options import FitOptions, Preparation
from deltadyn.identification.parametrisation import SOURCES
from deltadyn.identification.problem import Method
from deltadyn.options import merged, names_of, parted
from deltadyn.recording.prepare.stream import FilePath, Streamed
from deltadyn.recording.read import ReadOptions
from deltadyn.recording.recording import DataSource, Recording
from deltadyn.robot import Robot

FIRST_CLOCK, LAST_CLOCK = 1e9, 4e9  # s since 1970: 2001 to 2096; no other clock counts so far


@dataclass(frozen=True, eq=False)
class Night:
    """A log that may be longer than the memory."""

    log: Recording | Streamed
    file: str | None = None

    @classmethod
    def of(
        cls, robot: Robot, log: Recording | Streamed | FilePath, options: ReadOptions | None = None
    ) -> Self:
        """A log, or the file that it is in, with options of its reader."""
        if isinstance(log, str | os.PathLike):
            return cls(Streamed(robot, log, options), os.fspath(log))
        return cls(log)

    @property
    def head(self) -> Recording:
        """The first samples."""
        return self.log.head if isinstance(self.log, Streamed) else self.log

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the file, or of the samples where there is none."""
        log = self.log
        if self.file is not None and Path(self.file).is_file():
            return file_digest(self.file)  # as a fit has it, without reading all rows
        return log_fingerprint([log.source if isinstance(log, Streamed) else DataSource.of(log)])

    @property
    def recorded(self) -> datetime:
        """When the first sample was taken, as the file itself tells; local where it has no zone."""
        log = self.head
        first = float(log.t[0]) if len(log) else 0.0
        if FIRST_CLOCK < first < LAST_CLOCK:
            return datetime.fromtimestamp(first, UTC)
        if log.provenance.start is not None:
            return datetime.fromisoformat(log.provenance.start) + timedelta(seconds=first)
        allowed = (
            "given with the log: the file has no dates, and the file system's is that of a copy"
        )
        raise InputError("time", None, allowed, where=f"log {log.name!r}")

    @property
    def temperature(self) -> float | None:
        """The mean of the recorded one in degrees Celsius; None where there is none."""
        warm = self.head.temperature
        if warm is None or not np.isfinite(warm).any():
            return None
        return float(warm[np.isfinite(warm)].mean())


@dataclass(frozen=True, eq=False)
class Task:
    """How a log is fitted."""

    way: Method
    options: FitOptions

    @classmethod
    def of(
        cls, method: str | Method, options: FitOptions | None, keywords: Mapping[str, Any]
    ) -> Self:
        """The arguments of `identify`; what the log cannot identify is held unless they say."""
        of_fit, of_method = parted(FitOptions, keywords)
        asked = merged(FitOptions, options or FitOptions(unidentifiable="hold"), of_fit)
        return cls(method_of(method, of_method, names_of(FitOptions)), asked)

    @property
    def model(self) -> str:
        """The model that is fitted."""
        return str(self.options.model or self.way.model)

    def fitted(self, robot: Robot, night: Night) -> tuple[Fit, tuple[Information, ...]]:
        """The fit, and what is kept of it: factors with its terms and without."""
        fit = identify(robot, night.log, self.way, self.options)
        if fit.information is None:
            return fit, ()
        own = kept(fit.information)
        once = isinstance(night.log, Streamed) and not night.log.again
        if not own.terms or once:
            return fit, (own,)
        ready = Preparation(fit.band, self.options.rates, self.options.bandwidth, check=False)
        plain = Loaded(robot, night.log, ready).information(SOURCES[self.model])
        return fit, (own, kept(plain))
