"""Excitation: motions that identify a model's parameters, within the limits of the robot."""

from deltadyn.excitation.criteria import CRITERIA, Noise, Prediction, UnidentifiableError, predict
from deltadyn.excitation.design import ScreenedStart, design_excitation, screen_starts
from deltadyn.excitation.request import Design, SearchOptions
from deltadyn.excitation.result import Excitation, PredictedParameter

__all__ = [
    "CRITERIA",
    "Design",
    "Excitation",
    "Noise",
    "PredictedParameter",
    "Prediction",
    "ScreenedStart",
    "SearchOptions",
    "UnidentifiableError",
    "design_excitation",
    "predict",
    "screen_starts",
]
