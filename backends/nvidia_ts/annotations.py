"""Annotation files (``*.annotations.toml``): what works do that Task Scheduling's objects do not tell.

`docs/ts-annotations.md` describes the format. Reading runs nothing: ranges are formulas (`.formulas`).
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from warpdraft.core.document import Engine, OpKind

from .formulas import Formula, FormulaError, names_in

VERSION = 1
VERSION_KEY = "warpdraft-annotations"
ENDING = ".annotations.toml"
GROUP_OPS = (OpKind.GROUP_COMMIT, OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)
BARRIER_OPS = (OpKind.BARRIER_SYNC, OpKind.BARRIER_ARRIVE)
LONE_OPS = (
    OpKind.FENCE_PROXY_ASYNC,
    OpKind.SYNC_WARP,
    OpKind.WGMMA_FENCE,
    OpKind.TCGEN05_WAIT_LD,
    OpKind.TCGEN05_WAIT_ST,
    OpKind.TCGEN05_FENCE_BEFORE,
    OpKind.TCGEN05_FENCE_AFTER,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
    OpKind.CLUSTER_WAIT,
)
GROUPS = (
    Engine.WGMMA,
    Engine.BULK_STORE,
    Engine.CP_ASYNC,
)  # channels whose groups are committed and waited for
ITERATIONS = ("first_iter", "last_iter")


class AnnotationError(ValueError):
    """An annotation file that cannot be used; the message is one line: file, place, what is wrong, what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """Bytes that a work reads or writes: of ``resource`` ("": its own), in ``stage`` (None: the one that the pipeline's
    cursor is at, or 0), [offset, offset + bytes) of the stage; ``bytes`` None: all of it. ``slices``: each warp of the task
    touches its equal part of that range only.

    Formulas may name ``stage``, ``warp`` (counted in the task), ``warps``, the work's compile-time arguments, and, for
    ``stage``, the loops around the call.
    """

    resource: str = ""
    stage: Formula | None = None
    offset: Formula = 0
    bytes: Formula | None = None
    slices: bool = False


@dataclass(frozen=True, slots=True)
class Sync:
    """A synchronisation inside a work's body, as an op beside the work.

    ``op``: a `document.OpKind` of `GROUP_OPS` (with ``group``: "wgmma", "bulk_store", "cp_async", and ``count`` newest
    groups that may stay open), of `BARRIER_OPS` (with ``barrier``, a name of [barriers]) or of `LONE_OPS`. ``at``: "before"
    or "after" the accesses of the work. Conditions, all of which must hold: ``warp`` of the task alone, one ``lane`` of each
    warp, ``iteration`` "first_iter" or "last_iter" of the loop around, ``every`` nth iteration from ``start``,
    ``when``/``unless`` a run-time condition of that name, ``arguments``: only calls with these compile-time arguments.
    """

    op: OpKind
    at: str = "after"
    group: Engine | None = None
    count: int | None = None
    barrier: str = ""
    warp: int | None = None
    lane: bool = False
    iteration: str = ""
    every: int | None = None
    start: int = 0
    when: str = ""
    unless: str = ""
    arguments: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Barrier:
    """A hardware barrier that bodies use: ``id`` 0..15, ``threads`` that take part."""

    id: int
    threads: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A symbol: its least value ``min``, and the symbols that always have its value (``same_as``); or the formula of other
    symbols that it ``equals``."""

    min: int | None = None
    same_as: tuple[str, ...] = ()
    equals: Formula | None = None


@dataclass(frozen=True, slots=True)
class WorkAnnotation:
    """What one work does. None and () leave Task Scheduling's default in force, which stays an assumption; a work that is
    annotated at all, and has nothing ``undecided``, is none any more.

    ``touches_nothing``: no bytes at all. ``view``: what it returns stands for the stage and is read where it is used.
    ``warp``, ``lane``: only that warp of the task, only one lane of each warp makes the accesses. ``tx``: bytes that a bulk
    copy completes, ``multicast``: in which CTAs ("m", "n", "all", ranks). ``only_sync``: its calls are nothing but its
    ``sync``. ``undecided``: what whoever drafted the file saw and could not decide; as long as there is one the work counts
    as assumed.
    """

    engine: Engine | None = None
    view: bool = False
    touches_nothing: bool = False
    warp: int | None = None
    lane: bool = False
    tx: int | None = None
    multicast: str = ""
    only_sync: bool = False
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    sync: tuple[Sync, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotations:
    """A whole file: works by "resource.work", barriers and symbols by name."""

    works: dict[str, WorkAnnotation] = field(default_factory=dict)
    barriers: dict[str, Barrier] = field(default_factory=dict)
    symbols: dict[str, Bound] = field(default_factory=dict)


def beside(script: str | os.PathLike[str]) -> Path:
    """Where the annotation file of ``script`` is looked for: ``gemm.py`` has ``gemm.annotations.toml``."""
    path = Path(script)
    return path.with_name(path.name.removesuffix(".py") + ENDING)


def load_annotations(path: str | os.PathLike[str]) -> Annotations:
    """The annotations in file ``path``. Raises AnnotationError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise AnnotationError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise AnnotationError(f"{path}: byte {error.start}: not UTF-8 text") from None
    return loads_annotations(text, str(path))


def loads_annotations(text: str, name: str = "annotations") -> Annotations:
    """The annotations in ``text``; ``name`` is the file's for messages. Raises AnnotationError."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AnnotationError(f"{name}: not TOML: {error}") from None
    version = values.pop(VERSION_KEY, None)
    if version != VERSION or type(version) is not int:
        raise AnnotationError(f"{name}: needs the line {VERSION_KEY} = {VERSION}, and has {version!r}")
    try:
        return _checked(_record(Annotations, values, ""))
    except _Misfit as misfit:
        raise AnnotationError(f"{name}: {misfit}") from None


class _Misfit(ValueError):
    pass


def _checked(found: Annotations) -> Annotations:
    for key, barrier in found.barriers.items():
        if not 0 <= barrier.id <= 15 or barrier.threads < 32 or barrier.threads % 32:
            raise _Misfit(f"barriers.{key}: id is 0..15, threads a multiple of 32 (PTX ISA, barrier)")
    for key, work in found.works.items():
        if key.count(".") != 1 or not all(part.strip() for part in key.split(".")):
            raise _Misfit(f'works."{key}": a work is named "resource.work"')
        if work.touches_nothing and (work.reads or work.writes):
            raise _Misfit(f'works."{key}": touches_nothing with reads or writes')
        for place, sync in enumerate(work.sync):
            _check_sync(sync, found, f'works."{key}".sync[{place}]')
    return found


def _check_sync(sync: Sync, found: Annotations, where: str) -> None:
    if sync.op not in (*GROUP_OPS, *BARRIER_OPS, *LONE_OPS):
        known = ", ".join((*GROUP_OPS, *BARRIER_OPS, *LONE_OPS))
        raise _Misfit(f"{where}: op {str(sync.op)!r} is none of {known}")
    if (sync.op in GROUP_OPS) is not (sync.group is not None):
        raise _Misfit(f"{where}: group= belongs to {', '.join(GROUP_OPS)}, and is needed there")
    if sync.group is not None and sync.group not in GROUPS:
        raise _Misfit(f"{where}: group {str(sync.group)!r} is none of {', '.join(GROUPS)}")
    if sync.count is not None and (sync.count < 0 or sync.op not in GROUP_OPS[1:]):
        raise _Misfit(f"{where}: count= is a number of open groups, of {', '.join(GROUP_OPS[1:])}")
    if sync.op in BARRIER_OPS and sync.barrier not in found.barriers:
        raise _Misfit(f"{where}: barrier {sync.barrier!r} is not in [barriers]")
    if sync.barrier and sync.op not in BARRIER_OPS:
        raise _Misfit(f"{where}: barrier= belongs to {', '.join(BARRIER_OPS)}")
    if sync.at not in ("before", "after"):
        raise _Misfit(f"{where}: at is before or after, not {sync.at!r}")
    if sync.iteration and sync.iteration not in ITERATIONS:
        raise _Misfit(f"{where}: iteration is {' or '.join(ITERATIONS)}, not {sync.iteration!r}")
    if (sync.every is not None and sync.every < 1) or sync.start < 0:
        raise _Misfit(f"{where}: every is at least 1, start at least 0")
    if sync.when and sync.unless:
        raise _Misfit(f"{where}: when and unless together; write two entries")


TABLES = {"works": WorkAnnotation, "barriers": Barrier, "symbols": Bound}
LISTS = {"reads": Access, "writes": Access, "sync": Sync}
FORMULAS = ("stage", "offset", "bytes", "equals")
ENUMS = {"engine": Engine, "group": Engine, "op": OpKind}
TEXTS = ("resource", "multicast", "at", "barrier", "iteration", "when", "unless")
FLAGS = ("slices", "lane", "view", "touches_nothing", "only_sync")
WORD_LISTS = ("undecided", "same_as")


def _record(cls: type, values: Any, where: str) -> Any:
    if not isinstance(values, dict):
        raise _Misfit(f"{where or 'top level'}: must be a table, not {values!r:.40}")
    known = {f.name for f in fields(cls)}
    for key in values:
        if key not in known:
            raise _Misfit(f"{where or 'top level'}: {key!r} is unknown; there are {', '.join(sorted(known))}")
    made = {k: _value(cls, k, v, f"{where}.{k}" if where else k) for k, v in values.items()}
    try:
        return cls(**made)
    except TypeError as error:
        needed = str(error).rsplit(":", 1)[-1].strip()
        raise _Misfit(f"{where}: lacks {needed}") from None


def _value(cls: type, key: str, value: Any, where: str) -> Any:
    if cls is Annotations:
        if not isinstance(value, dict):
            raise _Misfit(f"{where}: must be a table of tables")
        return {name: _record(TABLES[key], v, f'{where}."{name}"') for name, v in value.items()}
    if key in LISTS:
        if not isinstance(value, list):
            raise _Misfit(f"{where}: must be a list of tables")
        return tuple(_record(LISTS[key], v, f"{where}[{i}]") for i, v in enumerate(value))
    if key in FORMULAS:
        return _formula(value, where)
    if key in ENUMS:
        if value not in list(ENUMS[key]):
            raise _Misfit(f"{where}: {value!r} is none of {', '.join(ENUMS[key])}")
        return ENUMS[key](value)
    if key in WORD_LISTS:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise _Misfit(f"{where}: must be a list of texts")
        return tuple(value)
    if key == "arguments":
        if not isinstance(value, dict) or any(isinstance(v, dict | list) for v in value.values()):
            raise _Misfit(f"{where}: must be a table of plain values")
        return tuple(value.items())
    wanted = str if key in TEXTS else bool if key in FLAGS else int
    if type(value) is not wanted:
        raise _Misfit(f"{where}: must be {wanted.__name__}, not {value!r:.40}")
    return value


def _formula(value: Any, where: str) -> Formula:
    if type(value) is int and value >= 0:
        return value
    if not isinstance(value, str):
        raise _Misfit(f"{where}: must be a number of at least 0 or a formula, not {value!r:.40}")
    try:
        names_in(value)
    except FormulaError as error:
        raise _Misfit(f"{where}: {error}") from None
    return value


def dump_annotations(annotations: Annotations, notes: dict[str, tuple[str, ...]] | None = None) -> str:
    """``annotations`` as text that `loads_annotations` reads back equal; ``notes``: comment lines above a work."""
    lines = [f"{VERSION_KEY} = {VERSION}"]
    for table, records in (("barriers", annotations.barriers), ("symbols", annotations.symbols)):
        for name, record in records.items():
            lines += ["", f"[{table}.{_key(name)}]", *_assignments(record)]
    for name, work in annotations.works.items():
        lines += ["", *(f"# {line}" for line in (notes or {}).get(name, ()))]
        lines += [f"[works.{_key(name)}]", *_assignments(work)]
    return "\n".join(lines) + "\n"


def _assignments(record: Any) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in _said(record).items()]


def _said(record: Any) -> dict[str, Any]:
    """The fields that differ from their defaults."""
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {
        k: v
        for (k, v), f in zip(values.items(), fields(record), strict=True)
        if v != f.default or type(v) is not type(f.default)
    }


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(str(value))
    if isinstance(value, tuple) and value and all(isinstance(v, tuple) for v in value):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value) + " }"
    if isinstance(value, tuple):
        items = [_toml(v) for v in value]
        one = f"[{', '.join(items)}]"
        return one if len(one) <= 90 else "[\n" + "".join(f"  {item},\n" for item in items) + "]"
    return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in _said(value).items()) + " }"


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else _text(name)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
