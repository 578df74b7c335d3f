"""What a validation adds to the evidence on a model."""

from __future__ import annotations

from dataclasses import replace

from deltadyn.identification.verdict import Evidence
from deltadyn.validation.result import Validation


def evidence_with(
    found: Validation, own: Evidence | None = None, against_file: float | None = None
) -> Evidence:
    """The evidence on a model with what a validation shows; `own` is that of a fit by itself.

    `against_file` is the model's relative RMS over that of the robot file.
    """
    if own is None:
        axes, units = found.robot.axis_names(), found.robot.axis_units("tau")
        own = Evidence(axes, None, None, None, converged=True, consistent=True, units=units)
    diagnosis = found.diagnosis
    white = zip(own.axes, diagnosis.whiteness.white, strict=True)
    inside = found.inside_band
    return replace(
        own,
        left=tuple(found.shares.tolist()),
        rms=tuple(found.rms.tolist()),
        r_squared=tuple(found.r_squared.tolist()),
        inside=None if inside is None else tuple(inside.tolist()),
        rest_rms=tuple(found.rest_rms.tolist()),
        rest_share=found.segment("rest").share,
        against_file=against_file,
        causes=tuple((cause.title, cause.sentence) for cause in diagnosis.causes),
        residual_alarm=diagnosis.follows if diagnosis.missing else "",
        not_white=tuple(name for name, yes in white if not yes),
    )
