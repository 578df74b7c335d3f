"""Excitation: motions that tell a model's parameters, within the limits of the robot."""

from deltadyn.excitation.criteria import CRITERIA
from deltadyn.excitation.design import design_excitation
from deltadyn.excitation.parameters import UnidentifiableError
from deltadyn.excitation.prediction import Noise, Prediction, predict
from deltadyn.excitation.result import Excitation, PredictedParameter

__all__ = [
    "CRITERIA",
    "Excitation",
    "Noise",
    "PredictedParameter",
    "Prediction",
    "UnidentifiableError",
    "design_excitation",
    "predict",
]
