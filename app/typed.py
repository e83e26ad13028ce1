"""Reading what a person typed into a field, back into the values of a document."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from warpdraft.core.document import Ctas, Parameters, Part, Token
from warpdraft.core.expressions import Integer, LoopVariable, Operation, Symbol, ceil_div

Typed = str | bool  # what a form's field holds
_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_CALLS = {"ceil_div", "min", "max"}


# What the forms call the fields whose names appear in refusals.
PLAIN = {
    "producer_count": "arrivals on full",
    "consumer_count": "arrivals on empty",
    "producer_signal": "commit signals",
    "consumer_signal": "release signals",
    "num_warps": "warps",
    "num_registers": "registers a thread",
    "warp_idx": "first warp",
    "skip_if": "skip if",
    "advance_on_acquire": "advance on acquire",
    "advance_on_wait": "advance on wait",
    "producer_cta_leader": "leading CTA produces",
    "consumer_cta_leader": "leading CTA consumes",
    "cta_layout": "cluster as V, M, N, K",
    "smem_capacity": "shared memory",
    "tmem_capacity": "tensor memory",
    "ctas_per_sm": "CTAs on a multiprocessor",
    "trip_counts": "trip counts",
    "small_sizes": "sizes in the emulator",
}
_PLAIN = re.compile(r"\b(?:" + "|".join(PLAIN) + r")\b")


def plain(text: str) -> str:
    """A refusal in the words of the forms, instead of the document's field names."""
    return _PLAIN.sub(lambda found: PLAIN.get(found[0], ""), text)


class NotUnderstood(Exception):
    """The text means nothing here; the message says what would."""


def number(text: str, what: str = "this field", empty: Any = None) -> int | None:
    """A whole number, in decimal or 0x hexadecimal, with _ , KiB allowed; ``empty`` for nothing."""
    text = text.strip().replace(",", "")
    if not text:
        return empty
    scale = 1
    for suffix, factor in (("KiB", 1024), ("k", 1024)):
        if text.endswith(suffix):
            text, scale = text[: -len(suffix)].strip(), factor
            break
    try:
        return int(text, 0) * scale
    except ValueError:
        raise NotUnderstood(f"{what} must be a whole number, not {text!r}") from None


def needed_number(text: str, what: str = "this field") -> int:
    """A whole number that may not be left out."""
    value = number(text, what)
    if value is None:
        raise NotUnderstood(f"{what} must be a whole number")
    return value


def names(text: str) -> tuple[str, ...]:
    """Names with commas or spaces between."""
    found = tuple(text.replace(",", " ").split())
    for name in found:
        if not name.isidentifier():
            raise NotUnderstood(f"{name!r} is not a name")
    return found


def numbers(text: str, what: str = "this field") -> tuple[int, ...]:
    """Whole numbers with commas or spaces between."""
    return tuple(needed_number(part, what) for part in text.replace(",", " ").split())


def ctas(text: str) -> Ctas:
    """CTAs of the cluster: a word, or their ranks."""
    text = text.strip()
    return numbers(text, "a CTA's rank") if text and text[0].isdigit() else text


def spans(text: str) -> tuple[tuple[int, int], ...]:
    """Ranges of bytes, each as "offset+bytes"."""
    return tuple(_span(part) for part in text.split(",") if part.strip())


def _span(text: str) -> tuple[int, int]:
    offset, plus, count = text.partition("+")
    if not plus:
        raise NotUnderstood(f"{text.strip()!r} is no range of bytes: write its offset + its bytes")
    return needed_number(offset, "an offset"), needed_number(count, "a range's bytes")


def parts(text: str) -> tuple[Part, ...]:
    """The parts of a stage, each as "name: offset+bytes"."""
    found = []
    for part in (part for part in text.split(",") if part.strip()):
        name, colon, span = part.partition(":")
        if not colon or not name.strip().isidentifier():
            raise NotUnderstood(f"{part.strip()!r} is no part: write its name: its offset + its bytes")
        found.append(Part(name.strip(), *_span(span)))
    return tuple(found)


def _keywords(text: str, example: str) -> list[ast.keyword]:
    """The pairs of ``name = value, ...``."""
    try:
        call = ast.parse(f"f({text.strip()})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise NotUnderstood(f"{text!r} is not understood: write {example}")
    if not isinstance(call.func, ast.Name):
        raise NotUnderstood(f"{text!r} is not understood: write {example}")
    return call.keywords


def parameters(text: str) -> Parameters:
    """Constants by their name: ``dtype='fp16', tile=(128, 256)``."""
    pairs = _keywords(text, "name=value, name=value")
    try:
        return tuple((str(pair.arg), _plain(ast.literal_eval(pair.value))) for pair in pairs)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise NotUnderstood(f"{text!r} holds something else than constants") from None


def sizes(text: str) -> tuple[tuple[str, int], ...]:
    """Numbers by their name: ``M=4096, N=4096``."""
    pairs = parameters(text)
    for name, value in pairs:
        if not isinstance(value, int) or isinstance(value, bool):
            raise NotUnderstood(f"{name} must be a whole number, not {value!r}")
    return pairs  # type: ignore[return-value]


def counts(text: str, symbols: Iterable[Symbol]) -> tuple[tuple[str, Integer], ...]:
    """Expressions by their name: ``k_tiles=ceil_div(K, 64)``."""
    known: dict[str, Integer] = {symbol.name: symbol for symbol in symbols}
    pairs = _keywords(text, "symbol=expression, symbol=expression")
    return tuple((str(pair.arg), _integer(pair.value, known)) for pair in pairs)


def extents(text: str, symbols: Iterable[Symbol]) -> tuple[Integer, ...]:
    """A tensor's shape: sizes, numbers or expressions, with commas between; a name that is new becomes a size."""
    known: dict[str, Integer] = {symbol.name: symbol for symbol in symbols}
    try:
        tree = ast.parse(f"({text.strip()},)" if text.strip() else "()", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise NotUnderstood(f"{text!r} is no shape: write sizes with commas between") from None
    if not isinstance(tree, ast.Tuple):
        raise NotUnderstood(f"{text!r} is no shape: write sizes with commas between")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in _CALLS:
            known.setdefault(node.id, Symbol(node.id))
    return tuple(_integer(item, known) for item in tree.elts)


def argument(text: str) -> Token | Any:
    """A value for a work's parameter: a token's name, or a constant as in Python."""
    text = text.strip()
    if text.isidentifier() and text not in ("True", "False", "None"):
        return Token(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise NotUnderstood(f"{text!r} is neither the name of a value nor a constant") from None
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise NotUnderstood(f"{value!r} cannot be stored in a schedule")


def integer(text: str, symbols: Iterable[Symbol], loops: Iterable[str] = ()) -> Integer:
    """An expression over ``symbols`` and the variables of ``loops`` with + - * // % and ceil_div, min, max: a loop's bound,
    or a stage."""
    known: dict[str, Integer] = {symbol.name: symbol for symbol in symbols}
    known |= {name: LoopVariable(name) for name in loops}
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise NotUnderstood(f"{text!r} is not an expression") from None
    return _integer(tree, known)


def _integer(tree: ast.expr, known: dict[str, Integer]) -> Integer:
    match tree:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case ast.Name(id=name):
            if name not in known:
                have = ", ".join(known) or "none"
                raise NotUnderstood(f"there is no symbol {name}; known here: {have}")
            return known[name]
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            return Operation(_BINARY[type(op)], _integer(left, known), _integer(right, known))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if name in _CALLS:
            if name == "ceil_div":
                return ceil_div(_integer(left, known), _integer(right, known))
            return Operation(name, _integer(left, known), _integer(right, known))
    raise NotUnderstood(
        f"{ast.unparse(tree)} is not a whole number over symbols; use + - * // % ceil_div min max"
    )
