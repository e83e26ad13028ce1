"""CTAs of the cluster that an op names."""

from __future__ import annotations

from typing import Any

from ..clusters import MODES
from ..document import Ctas
from .errors import refuse
from .integers import index_of

WORDS = ("own", "peer", "all", *MODES)


def ctas(what: str, value: Any) -> Ctas:
    """``value`` as a document holds it: a rank or several, or one of `WORDS`; None is the own CTA. Raises ScheduleError,
    which calls it ``what``."""
    if value is None or value == "":
        return ""
    if isinstance(value, str) and value in WORDS:
        return value
    several = value if isinstance(value, tuple | list) else (value,)
    ranks = tuple(index_of(rank) for rank in several)
    if not ranks or None in ranks:
        raise refuse(
            f"{what} is a CTA's rank in the cluster, several of them, or one of {', '.join(WORDS)}, not {value!r}"
        )
    return ranks  # type: ignore[return-value]
