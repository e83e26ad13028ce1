"""Reads what a command line names: documents, scripts that build them, and assignments such as ``k_tiles=0:64``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from warpdraft.core.document import Document
from warpdraft.core.store import DocumentError, load

from .errors import BadInput
from .scripts import run_script

TARGETS = ("sm_90a", "sm_100a")
MOST_VALUES = 10_000  # of one symbol: more is a slip, and would run for hours


def is_script(path: str) -> bool:
    """Whether ``path`` names authoring source, which is run, and not a document, which is only read."""
    return path.endswith(".py")


def read_document(path: str) -> Document:
    """The document in a file. Raises BadInput."""
    try:
        return load(path)
    except DocumentError as error:
        raise BadInput(str(error)) from None


def one_document(path: str, target: str = "") -> Document:
    """The document at ``path``, or the only one that a script builds; for ``target``, if given. Raises BadInput."""
    documents = documents_at(path)
    if len(documents) != 1:
        names = ", ".join(d.name for d in documents)
        raise BadInput(f"{path} builds {len(documents)} schedules ({names}); this command takes one")
    document = documents[0]
    if target and target not in TARGETS:
        raise BadInput(f"target {target} is unknown; there are {', '.join(TARGETS)}")
    return replace(document, target=target) if target else document


def documents_at(path: str) -> tuple[Document, ...]:
    """The document at ``path``, or all that a script builds. Raises BadInput."""
    if not is_script(path):
        return (read_document(path),)
    built = run_script(path)
    if built.error:
        raise BadInput(f"{path}: {built.error}")
    return built.documents


def need_kernel(document: Document) -> None:
    """Refuses a document that does not say what is computed. Raises BadInput."""
    if document.kernel is None:
        raise BadInput(
            f"{document.name} has no kernel, which says what is computed on which tensors and sizes: "
            "give its TaskManager one, TaskManager(..., kernel=Kernel(...))"
        )


def existing(path: str) -> str:
    """``path``, if there is such a file. Raises BadInput."""
    if not Path(path).is_file():
        raise BadInput(f"{path}: {'is a folder' if Path(path).is_dir() else 'no such file'}")
    return path


def assignments(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``["M=1,N=2", "K=3"]`` as a dictionary. Raises BadInput for text without ``=`` and for a name given twice."""
    result: dict[str, str] = {}
    for item in (part for text in texts or () for part in text.split(",")):
        name, equals, value = (x.strip() for x in item.partition("="))
        if not equals or not name or not value:
            raise BadInput(f"{option} {item!r} is not NAME=VALUE")
        if name in result:
            raise BadInput(f"{option} gives {name} twice")
        result[name] = value
    return result


def integers(texts: Sequence[str] | None, option: str) -> dict[str, int]:
    """`assignments` of integers. Raises BadInput."""
    return {name: _integer(value, f"{option} {name}") for name, value in assignments(texts, option).items()}


def trip_counts(texts: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """``["k_tiles=0:64", "tiles=2"]``: each symbol's values, both ends of a range included. Raises BadInput."""
    result = {}
    for name, value in assignments(texts, "--set").items():
        first, colon, last = value.partition(":")
        low = _integer(first, f"--set {name}")
        high = _integer(last, f"--set {name}") if colon else low
        if not 0 <= low <= high:
            raise BadInput(
                f"--set {name}={value}: a range goes from a smaller to a larger count, both at least 0"
            )
        if high - low >= MOST_VALUES:
            raise BadInput(f"--set {name}={value}: more than {MOST_VALUES} values")
        result[name] = tuple(range(low, high + 1))
    return result


def check_symbols(names: Iterable[str], documents: Sequence[Document]) -> None:
    """Refuses names that no document uses as a symbol. Raises BadInput."""
    known = {s.name for d in documents for s in d.symbols}
    for name in names:
        if name not in known:
            raise BadInput(f"--set {name}: no such symbol; there are {', '.join(sorted(known)) or 'none'}")


def _integer(text: str, what: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{what}: {text!r} is not an integer") from None
