"""What happens when a schedule function calls a method of a resource."""

from __future__ import annotations

import sys
from typing import Any

from ..document import OpKind, Token
from .ctas import ctas
from .errors import refuse
from .frames import stored_as
from .integers import optional_integer
from .recording import CapturedOp, Recorder
from .runtime import RunTimeInteger, run_time_integer
from .tokens import DataFlowToken, Tokens, declared, named_results
from .works import WorkSpec, plain, return_names, works_of

RESERVED = (
    "stage",
    "footprint",
    "tx",
    "results",
    "multicast",
    "cta",
)  # of the op, unless the work has a parameter of that name


def pipeline_op(
    recorder: Recorder,
    resource: Any,
    kind: OpKind,
    /,
    *positional: Any,
    implicit: bool = False,
    **reserved: Any,
) -> DataFlowToken | Tokens:
    """Record an op of the resource's pipeline. ``implicit``: the run time adds it, no line of the schedule says it. Raises
    ScheduleError for arguments that it cannot have."""
    if positional:
        raise refuse(f"{kind.value}() takes no positional arguments, and is given {positional[0]!r}")
    if unknown := set(reserved) - set(RESERVED) | {"multicast", "cta"} & set(reserved):
        raise refuse(f"{kind.value}() has no argument {min(unknown)!r}")
    variable = stored_as(sys._getframe(1))
    if resource.pipeline_config is None and getattr(type(resource), "is_work_queue", False):
        # nothing to wait for, as in Task Scheduling: one schedule fits both kinds of queues
        return DataFlowToken(recorder, None, kind.value, f"{kind.value}_of_nothing")
    op = recorder.op(kind, resource, implicit=bool(implicit))
    return _results(recorder, op, reserved, variable or f"{kind.value}_result", ())


def call_work(
    recorder: Recorder, resource: Any, name: str, /, *positional: Any, **keywords: Any
) -> DataFlowToken | Tokens:
    """Record a call of work ``name``; arguments bind as to the method itself, constants and tokens alike.

    Besides the work's own parameters: ``stage`` (of a resource without pipeline), ``footprint`` and ``tx`` of this op alone,
    ``multicast`` (of a TMA copy) or ``cta``: the CTAs of the cluster whose memory it is for (a rank or several, "peer",
    "all", "m", "n", "own"), ``results`` to name what it returns. Raises ScheduleError for an argument that no document can
    hold.
    """
    if getattr(type(resource), "is_pipeline_group", False):
        raise refuse(f"the group {resource.name!r} has no work {name}: call it on a member")
    spec = works_of(type(resource)).get(name)
    parameters = list(spec.parameters) if spec else []
    reserved = {key: keywords.pop(key) for key in RESERVED if key in keywords and key not in parameters}
    bound = dict(zip(parameters, positional, strict=False))
    bound |= {
        f"argument_{i}": v for i, v in enumerate(positional) if i >= len(parameters)
    }  # too many: kept, WD110
    bound |= keywords
    variable = stored_as(sys._getframe(1))
    args = tuple((key, argument(f"{name}({key}=)", value, recorder)) for key, value in _ordered(bound, spec))
    op = recorder.op(OpKind.WORK, resource, work=name, args=args)
    names = return_names(spec, type(resource)) if spec else ()
    return _results(recorder, op, reserved, variable or name, names)


def _results(
    recorder: Recorder, op: CapturedOp, reserved: dict[str, Any], base: str, names: tuple[str, ...]
) -> DataFlowToken | Tokens:
    resource = op.target
    op.stage, op.tx = (
        run_time_integer("stage=", reserved.get("stage"), recorder),
        optional_integer("tx=", reserved.get("tx"), 0),
    )
    if op.stage is not None and resource.pipeline_config is not None:
        raise refuse(
            f"{op.work or op.kind.value}(stage=): the pipeline of {resource.name or type(resource).__name__!r} chooses the "
            "stage by its cursor; leave stage= out"
        )
    op.footprint = reserved.get("footprint")
    op.ctas = ctas(f"{op.work}(multicast=)", reserved.get("multicast")) or ctas(
        f"{op.work}(cta=)", reserved.get("cta")
    )
    if reserved.get("results") is not None:
        return named_results(recorder, op, reserved["results"])
    return declared(recorder, op, base, names)


def argument(where: str, value: Any, recorder: Recorder) -> Any:
    """An argument as a captured op keeps it: a `document.Token`, a plain value, or an object that has a name."""
    if isinstance(value, DataFlowToken):
        return Token(value.name_for(recorder))
    if hasattr(type(value), "loop_variable"):
        return Token(value.loop_variable(recorder))
    if isinstance(value, RunTimeInteger):
        raise refuse(
            f"{where}: {value!r} cannot be an argument; pass the loops' variables, and compute with them inside the work"
        )
    if hasattr(type(value), "document_name"):
        return value
    try:
        return plain(value)
    except ValueError as error:
        raise refuse(f"{where}: {error}") from None


def _ordered(bound: dict[str, Any], spec: WorkSpec | None) -> list[tuple[str, Any]]:
    """Arguments in the order of the signature, defaults filled in, unknown ones last."""
    known = []
    for name, parameter in spec.parameters.items() if spec else ():
        if name in bound:
            known.append((name, bound.pop(name)))
        elif parameter.default is not parameter.empty:
            known.append((name, parameter.default))
    return known + list(bound.items())
