"""Of several documents that compute the same, the one that is predicted to be done first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document import Document
from .waves import SMS, Prediction, predict


def fastest(
    documents: Sequence[Document], sizes: Mapping[str, int] | None = None, sms: int = SMS
) -> tuple[Document, Prediction]:
    """The document with the fewest predicted cycles at ``sizes`` (of equal ones the first), and its prediction.

    Tiles and waves decide: which tile leaves the fewest multiprocessors idle, and how long its CTAs work. Raises ValueError
    without documents, and what `predict` raises.
    """
    if not documents:
        raise ValueError("there is nothing to choose from")
    predicted = [(document, predict(document, sizes, sms)) for document in documents]
    return min(predicted, key=lambda pair: pair[1].cycles)
