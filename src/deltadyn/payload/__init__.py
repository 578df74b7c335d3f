"""Payload: its mass online with a standard deviation, picks, lost grips, logs cut into picks."""

from deltadyn.payload.bound import ColouredNoise, bound_over_time, cramer_rao, payload_column
from deltadyn.payload.effector_load import EffectorLoad, effector_load
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.events import Pick
from deltadyn.payload.forgetting import ForgettingEstimator, forgetting_masses, forgetting_matrices
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.offline import PickLog, find_picks, product_mass
from deltadyn.payload.settings import EstimatorNumbers, EstimatorOptions, numbers_of

__all__ = [
    "ColouredNoise",
    "EffectorLoad",
    "EstimatorNumbers",
    "EstimatorOptions",
    "ForgettingEstimator",
    "NoiseModel",
    "PayloadEstimator",
    "Pick",
    "PickLog",
    "bound_over_time",
    "cramer_rao",
    "effector_load",
    "find_picks",
    "forgetting_masses",
    "forgetting_matrices",
    "numbers_of",
    "payload_column",
    "product_mass",
]
