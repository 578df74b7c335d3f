"""What a result becomes in a history: its entry, and the factors that belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.entry import Entry, deviations
from deltadyn.identification.fit import Fit
from deltadyn.identification.information import Information, joined
from deltadyn.identification.verdict import judge
from deltadyn.recording.recording import DataSource
from deltadyn.validation.judge import evidence_with
from deltadyn.validation.result import Validation

BLOCKS = 64  # of a log in the store, at most: neighbours are put together, without loss to a fit


def entry_of(
    result: Fit | Validation,
    serial: str,
    time: datetime,
    zone: str,
    temperature: float | None = None,
    note: str = "",
) -> Entry:
    """The entry of a fit or of a validation; `time` is in UTC."""
    if isinstance(result, Fit):
        return _of_fit(result, serial, time, zone, temperature, note)
    return _of_validation(result, serial, time, zone, temperature, note)


def _of_fit(
    fit: Fit, serial: str, time: datetime, zone: str, temperature: float | None, note: str
) -> Entry:
    verdict = fit.verdict
    return Entry(
        robot=fit.before.name,
        serial=serial,
        time=time,
        kind="fit",
        names=fit.names,
        units=fit.units,
        values=fit.values,
        std=deviations(fit),
        covariance=fit.covariance,
        residual=fit.residual,
        torque_level=fit.torque_level,
        grade=verdict.grade,
        verdict=verdict.text,
        method=fit.method,
        model=fit.model,
        temperature=temperature,
        zone=zone,
        log=log_fingerprint(fit.data),
        code=code_fingerprint(),
        note=note,
        payload=common_payload([source.payload for source in fit.data]),
    )


def _of_validation(
    found: Validation, serial: str, time: datetime, zone: str, temperature: float | None, note: str
) -> Entry:
    none = np.zeros(0)
    return Entry(
        robot=found.robot.name,
        serial=serial,
        time=time,
        kind="validation",
        names=(),
        units=(),
        values=none,
        std=none,
        covariance=np.zeros((0, 0)),
        residual=found.rms,
        torque_level=found.torque_level,
        grade=judge(evidence_with(found)).grade,
        verdict=found.verdict,
        model=found.model,
        temperature=temperature,
        zone=zone,
        log=_compared(found),
        code=code_fingerprint(),
        note=note,
        payload=common_payload(found.payloads),
    )


def common_payload(payloads: Sequence[float | None]) -> float | None:
    """What all logs carried (kg); None where they differ or do not say it."""
    masses = set(payloads)
    return masses.pop() if len(masses) == 1 else None


def kept(information: Information) -> Information:
    """What the store keeps: at most `BLOCKS` blocks of each recording."""
    return joined(information, BLOCKS * max(1, len(information.recordings)))


def log_fingerprint(sources: Sequence[DataSource]) -> str:
    """SHA-256 of the samples or of the file; of several logs that of all of them in any order."""
    digests = sorted(source.sha256 for source in sources)
    if len(digests) < 2:
        return digests[0] if digests else ""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


@cache
def code_fingerprint() -> str:
    """Version of deltadyn and a checksum of its source: two programs that differ have others."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode())
        digest.update(file.read_bytes())
    return f"deltadyn {version('deltadyn')} {digest.hexdigest()[:16]}"


def _compared(found: Validation) -> str:
    """SHA-256 of times and measured torques that a model was compared with."""
    digest = hashlib.sha256()
    for piece in found.compared[1]:
        for array in (piece.prepared.t, piece.prepared.tau):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _rms(values: FloatArray) -> FloatArray:
    out: FloatArray = np.sqrt(np.mean(values**2, axis=0))
    return out
