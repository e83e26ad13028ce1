"""CTAs that a multiprocessor holds at a time, and what of it each may have."""

from __future__ import annotations

from .document import Document

# CUDA programming guide, compute capabilities 9.0 and 10.0
MOST_CTAS = 32  # of a multiprocessor
MOST_WARPS = 64  # of a multiprocessor
SMEM = 233_472  # bytes of a multiprocessor's shared memory, 228 KiB
RESERVED = 1024  # bytes of it that the system takes for each CTA


def ctas_per_sm(document: Document) -> int:
    """CTAs that are to run on a multiprocessor at a time; a number that none can have (WD605) is brought within bounds."""
    return min(MOST_CTAS, max(1, document.ctas_per_sm))


def smem_share(document: Document) -> int:
    """Bytes of shared memory that each of these CTAs may use."""
    return SMEM // ctas_per_sm(document) - RESERVED
