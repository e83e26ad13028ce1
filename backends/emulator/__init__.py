"""Runs a document's kernel on the CPU with NumPy twins of the stock work bodies."""

from .bodies import BODIES
from .emulate import emulate, emulate_all
from .orders import ORDERS
from .outcome import Blocked, EmulationError, Outcome, WrongTile

__all__ = ["BODIES", "ORDERS", "Blocked", "EmulationError", "Outcome", "WrongTile", "emulate", "emulate_all"]
