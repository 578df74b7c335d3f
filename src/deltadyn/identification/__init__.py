"""Identification: from recordings to a robot that predicts torque."""

from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.body import Hull
from deltadyn.identification.bodies.consistency import Consistency, consistency
from deltadyn.identification.bodies.guesses import geometric_guess
from deltadyn.identification.bodies.realise import robot_from_standard
from deltadyn.identification.determined import Determined, FieldStatus
from deltadyn.identification.extra import Extra
from deltadyn.identification.fit import Fit
from deltadyn.identification.gains import Gains, drive_gains
from deltadyn.identification.identifiability import (
    Identifiability,
    UnidentifiableError,
    identifiability,
)
from deltadyn.identification.identify import identify
from deltadyn.identification.information import (
    Information,
    gather,
    information_of,
    load_information,
)
from deltadyn.identification.methods.base import Base, Robust
from deltadyn.identification.methods.convex import Convex
from deltadyn.identification.methods.gray_box import GrayBoxFit, GrayBoxResult, Grid, gray_box
from deltadyn.identification.methods.l1 import L1
from deltadyn.identification.methods.log_cholesky import LogCholesky
from deltadyn.identification.methods.recursive import Damped, Rls, Svd
from deltadyn.identification.methods.registry import METHODS
from deltadyn.identification.methods.swarm import (
    AbsoluteErrorSum,
    Swarm,
    SwarmResult,
    swarm,
)
from deltadyn.identification.methods.two_step import (
    TwoStep,
    TwoStepResult,
    two_step,
    without_rod,
)
from deltadyn.identification.options import FitOptions, Preparation
from deltadyn.identification.parametrisation import Parametrisation, parametrise
from deltadyn.identification.problem import Certificate, Method
from deltadyn.identification.production import LogReport, LogRequest, log_report
from deltadyn.identification.selection import LimbChoice, compare_limbs
from deltadyn.identification.shared import Shared
from deltadyn.identification.terms.found import FoundTerm, Terms
from deltadyn.identification.uncertainty import Bootstrap, Covariance, bootstrap, covariance
from deltadyn.recording.prepare.band import choose_band
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.recording.prepare.stream import Streamed

__all__ = [
    "L1",
    "METHODS",
    "AbsoluteErrorSum",
    "Base",
    "Bodies",
    "Bootstrap",
    "Certificate",
    "Consistency",
    "Convex",
    "Covariance",
    "Damped",
    "Determined",
    "Extra",
    "FieldStatus",
    "Fit",
    "FitOptions",
    "FoundTerm",
    "Gains",
    "GrayBoxFit",
    "GrayBoxResult",
    "Grid",
    "Hull",
    "Identifiability",
    "Information",
    "LimbChoice",
    "LogCholesky",
    "LogReport",
    "LogRequest",
    "Method",
    "Parametrisation",
    "Preparation",
    "Prepared",
    "Rls",
    "Robust",
    "Shared",
    "Streamed",
    "Svd",
    "Swarm",
    "SwarmResult",
    "Terms",
    "TwoStep",
    "TwoStepResult",
    "UnidentifiableError",
    "bootstrap",
    "choose_band",
    "compare_limbs",
    "consistency",
    "covariance",
    "drive_gains",
    "gather",
    "geometric_guess",
    "gray_box",
    "identifiability",
    "identify",
    "information_of",
    "load_information",
    "log_report",
    "parametrise",
    "prepare",
    "robot_from_standard",
    "swarm",
    "two_step",
    "without_rod",
]
