"""Validation: how well a model predicts torque on recordings that it has not seen, and why not."""

from deltadyn.validation.benefit import Benefit, predicted_tracking
from deltadyn.validation.diagnosis import CAUSES, Cause, Diagnosis
from deltadyn.validation.limits import LimitCheck, check_limits
from deltadyn.validation.metrics import Metrics, Segment, metrics
from deltadyn.validation.monte_carlo import (
    TorqueSpread,
    TrackingSpread,
    draw_machines,
    torque_spread,
    tracking_spread,
)
from deltadyn.validation.result import Validation
from deltadyn.validation.validate import Comparison, compare, validate

__all__ = [
    "CAUSES",
    "Benefit",
    "Cause",
    "Comparison",
    "Diagnosis",
    "LimitCheck",
    "Metrics",
    "Segment",
    "TorqueSpread",
    "TrackingSpread",
    "Validation",
    "check_limits",
    "compare",
    "draw_machines",
    "metrics",
    "predicted_tracking",
    "torque_spread",
    "tracking_spread",
    "validate",
]
