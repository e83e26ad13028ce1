"""The catalogue of rules: one file a rule, in the order in which findings are read, root causes first."""

from . import (
    alias_race,
    arrival_count,
    barrier_id,
    early_release,
    early_reuse,
    exit_in_flight,
    init_count,
    misassigned_arrival,
    missing_proxy_fence,
    over_arrival,
    participation,
    phase_error,
    phase_lap,
    race,
    read_before_complete,
    starved_wait,
    tx_bytes,
    unbalanced,
    wait_cycle,
)
from .base import Hazard

HAZARDS: tuple[Hazard, ...] = (
    init_count.HAZARD,
    arrival_count.HAZARD,
    tx_bytes.HAZARD,
    participation.HAZARD,
    barrier_id.HAZARD,
    phase_error.HAZARD,
    over_arrival.HAZARD,
    misassigned_arrival.HAZARD,
    phase_lap.HAZARD,
    unbalanced.HAZARD,
    wait_cycle.HAZARD,
    starved_wait.HAZARD,
    early_release.HAZARD,
    early_reuse.HAZARD,
    read_before_complete.HAZARD,
    alias_race.HAZARD,
    race.HAZARD,
    missing_proxy_fence.HAZARD,
    exit_in_flight.HAZARD,
)

__all__ = ["HAZARDS", "Hazard"]
