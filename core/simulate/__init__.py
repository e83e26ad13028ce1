"""The predicted timeline: a discrete-event simulation of one CTA with a small cost table."""

from .bound import bound
from .costs import SM90_COSTS, SM100_COSTS, Costs, costs_of
from .differences import Difference, differences
from .fastest import fastest
from .perfetto import to_perfetto
from .simulate import simulate
from .timeline import Arrow, Bar, Blocked, Lane, Occupancy, Timeline
from .values import default_values
from .waves import Prediction, cta_values, predict

__all__ = [
    "SM90_COSTS",
    "SM100_COSTS",
    "Arrow",
    "Bar",
    "Blocked",
    "Costs",
    "Difference",
    "Lane",
    "Occupancy",
    "Prediction",
    "Timeline",
    "bound",
    "costs_of",
    "cta_values",
    "default_values",
    "differences",
    "fastest",
    "predict",
    "simulate",
    "to_perfetto",
]
