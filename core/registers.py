"""The registers of a multiprocessor and what the threads of a launch begin with."""

from __future__ import annotations

REGISTER_FILE = 65_536  # 32-bit registers of a multiprocessor, sm_90 and sm_100 (CUDA programming guide)
MOST_OF_A_THREAD = 255  # CUDA programming guide, compute capabilities
STEP = 8  # registers are given to threads in eights (PTX ISA, setmaxnreg)


def entry_registers(threads: int, ctas: int = 1) -> int:
    """Registers that each thread starts with: as many as it can have where ``ctas`` CTAs of so many threads share them."""
    return min(MOST_OF_A_THREAD, REGISTER_FILE // max(1, threads * ctas)) // STEP * STEP
