"""Excitation: motions that tell a model's parameters, within the limits of the robot."""

from deltadyn.excitation.criteria import CRITERIA
from deltadyn.excitation.design import design_excitation
from deltadyn.excitation.parameters import UnidentifiableError
from deltadyn.excitation.prediction import Noise, Prediction, predict
from deltadyn.excitation.result import Excitation, PredictedParameter
from deltadyn.excitation.screening import ScreenedStart, screen_starts

__all__ = [
    "CRITERIA",
    "Excitation",
    "Noise",
    "PredictedParameter",
    "Prediction",
    "ScreenedStart",
    "UnidentifiableError",
    "design_excitation",
    "predict",
    "screen_starts",
]
