"""Validation: how well a model predicts torque on recordings that it has not seen, and why not."""

from deltadyn.validation.benefit import Benefit, predicted_tracking
from deltadyn.validation.comparison import Comparison, compare
from deltadyn.validation.diagnosis import CAUSES, Cause, Diagnosis
from deltadyn.validation.metrics import Metrics, metrics
from deltadyn.validation.result import Validation
from deltadyn.validation.segments import Segment
from deltadyn.validation.validate import validate

__all__ = [
    "CAUSES",
    "Benefit",
    "Cause",
    "Comparison",
    "Diagnosis",
    "Metrics",
    "Segment",
    "Validation",
    "compare",
    "metrics",
    "predicted_tracking",
    "validate",
]
