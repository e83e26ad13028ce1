"""An edited document applied to the Task Scheduling script that it was imported from.

Only schedule functions that have changed are rewritten, and numbers in the calls that make tasks and pipelines. Works, their
bodies, comments and everything else stay as they are. What cannot be changed so is refused, with the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from warpdraft.core import PipelineConfig
from warpdraft.core.document import Document, Pipeline, Resource, Source, Task
from warpdraft.core.equality import without_positions
from warpdraft.core.python_text import literal

from ..writing.resources import PARAMETERS
from .matching import CannotPatch, Script, called, same_file, visible, visible_ops
from .renaming import renamed_back
from .rewriting import Rewriter

TASK_NUMBERS = {"warp_idx": 2, "num_warps": 3, "num_registers": None}  # with the place among the arguments
PIPELINE_WORDS = {  # field of a pipeline -> its argument
    "stages": "num_stages",
    "bytes": "num_bytes",
    "producer_count": "producer_group",
    "consumer_count": "consumer_group",
    "advance_on_wait": "advance_on_wait",
    "advance_on_acquire": "advance_on_acquire",
}
Edit = tuple[int, int, int, int, str]  # from line, column to line, column: new text


def patched(path: str, text: str, before: Document, after: Document) -> str:
    """The text of script ``path`` such that it builds ``after``, where it builds ``before`` now. Raises CannotPatch."""
    script = Script(path, text)
    after, names = renamed_back(before, after)
    blocks = dict(_functions(script, before, after))
    edits = [*_task_edits(script, before, after), *_pipeline_edits(script, before, after)]
    edits += [_name_edit(script, item, new) for item, new in names]
    _check_rest(before, after)
    lines = _with_edits(script.lines, edits)
    for (first, last), new in sorted(blocks.items(), reverse=True):
        lines[first - 1 : last] = new
    return "".join(_ended(lines, script))


def _ended(lines: list[str], script: Script) -> Iterator[str]:
    """``lines`` with the line ends of the script."""
    known, crlf = set(script.lines), sum(line.endswith("\r\n") for line in script.lines)
    end = "\r\n" if 2 * crlf > len(script.lines) else "\n"
    for line in lines:
        yield line if line in known or not line.endswith("\n") else line.rstrip("\r\n") + end


# -- schedule functions -----------------------------------------------------------------------------------------------------
def _functions(
    script: Script, before: Document, after: Document
) -> Iterator[tuple[tuple[int, int], list[str]]]:
    """The lines of each schedule function that changes, with the new ones."""
    done: dict[tuple[int, int], tuple[str, list[str]]] = {}
    for old, new in _pairs(before, after):
        _check_bodies(script, old, new)
        if _shape(old) == _shape(new):
            continue
        first, last, lines = Rewriter(script, script.match(old), new.body).lines()
        known = done.setdefault((first, last), (old.name, lines))
        if known[1] != lines:
            raise CannotPatch(
                f"{script.at(first)}: {known[0]} and {old.name} share this schedule function; change both alike, or give "
                "each a function of its own"
            )
    for place, (name, _) in done.items():
        for old, new in _pairs(before, after):
            shared = any(o.source and place[0] <= o.source.line <= place[1] for o in visible_ops(old.body))
            if shared and _shape(old) == _shape(new):
                raise CannotPatch(
                    f"{script.at(place[0])}: {name} and {old.name} share this schedule function, and only {name} changes; "
                    "give each a function of its own"
                )
    return ((place, lines) for place, (_, lines) in done.items())


def _pairs(before: Document, after: Document) -> list[tuple[Task, Task]]:
    names = [t.name for t in before.tasks]
    if names != [t.name for t in after.tasks]:
        changed = sorted(set(names) ^ {t.name for t in after.tasks}) or names
        raise CannotPatch(
            f"{', '.join(changed)}: tasks are added, removed and reordered in the script by hand"
        )
    return list(zip(before.tasks, after.tasks, strict=True))


def _shape(task: Task) -> Any:
    """The schedule of a task as its function says it."""
    return _shapes(task.body)


def _shapes(nodes: Any) -> tuple:
    found = []
    for node in visible(nodes):
        inner = _shapes(node.body) if hasattr(node, "body") else ()
        bare = replace(node, source=None, **({"body": ()} if hasattr(node, "body") else {"copy_of": ""}))
        found.append((bare, inner))
    return tuple(found)


def _check_bodies(script: Script, old: Task, new: Task) -> None:
    """Refuse changes of what works do inside: their bodies are the author's."""
    shown = {id(n) for n in _flat(visible(old.body), False)} | {
        id(n) for n in _flat(visible(new.body), False)
    }
    hidden = [
        [
            replace(n, source=None, copy_of="", id="")
            for n in _flat(t.body, True)
            if id(n) not in shown and not hasattr(n, "body")
        ]
        for t in (old, new)
    ]
    for a, b in zip(*(h + [None] * (max(map(len, hidden)) - len(h)) for h in hidden), strict=True):
        if a != b:
            found = b or a
            raise CannotPatch(
                f"{new.name}: {found.kind.value} {found.target} is done in the body of a work, which stays its author's; "
                "change the body, and the annotation of the work"
            )


def _flat(nodes: Any, everything: bool) -> Iterator[Any]:
    for node in nodes if everything else visible(nodes):
        yield node
        if hasattr(node, "body"):
            yield from _flat(node.body, everything)


# -- numbers ----------------------------------------------------------------------------------------------------------------
def _task_edits(script: Script, before: Document, after: Document) -> Iterator[Edit]:
    for old, new in _pairs(before, after):
        changed = [n for n in TASK_NUMBERS if getattr(old, n) != getattr(new, n)]
        if not changed:
            continue
        made = _call_at(script, old.source, f"task {old.name}")
        for name in changed:
            yield _number(script, made, name, TASK_NUMBERS[name], getattr(new, name), f"{name} of {old.name}")


def _pipeline_edits(script: Script, before: Document, after: Document) -> Iterator[Edit]:
    olds = {r.name: r for r in before.resources}
    for new in after.resources:
        old = olds.get(new.name)
        if old is None or old.pipeline is None or new.pipeline is None or old.pipeline == new.pipeline:
            continue
        config = _config(script, old)
        known = PARAMETERS.get(called(config), tuple(f.name for f in fields(PipelineConfig)))
        for name, word in PIPELINE_WORDS.items():
            value = getattr(new.pipeline, name)
            if value == getattr(old.pipeline, name):
                continue
            what, place = f"{name} of {old.name}", known.index(word) if word in known else None
            if word.endswith("_group"):
                yield _count(script, config, word, place, value, what)
            else:
                yield _number(script, config, word, place, value, what)


def _call_at(script: Script, source: Source | None, what: str) -> ast.Call:
    """The call in the line ``source``."""
    if source is None or not same_file(source.file, script.path):
        where = f"{source}: " if source else ""
        raise CannotPatch(f"{where}{what} is not made in {script.path}; change it there by hand")
    calls = [
        n
        for n in ast.walk(script.tree)
        if isinstance(n, ast.Call) and n.lineno <= source.line <= (n.end_lineno or n.lineno)
    ]
    outer = [c for c in calls if c.lineno == source.line] or calls
    if not outer:
        raise CannotPatch(
            f"{source}: no call makes {what} there; the script has changed since: import it again"
        )
    return max(outer, key=lambda c: (c.end_lineno or 0, c.end_col_offset or 0))


def _config(script: Script, resource: Resource) -> ast.Call:
    """The call that makes the pipeline configuration of ``resource``."""
    made = _call_at(script, resource.source, resource.name)
    given = next((k.value for k in made.keywords if k.arg == "pipeline_config"), None)
    if isinstance(given, ast.Name):
        values = [
            n.value
            for n in ast.walk(script.tree)
            if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == given.id for t in n.targets)
        ]
        given = values[0] if len(values) == 1 else None
    if not isinstance(given, ast.Call):
        raise CannotPatch(
            f"{script.at(made.lineno)}: the pipeline_config of {resource.name} is made elsewhere; change it by hand"
        )
    return given


def _number(script: Script, made: ast.Call, name: str, place: int | None, value: Any, what: str) -> Edit:
    """The edit that gives ``made`` the argument ``name=value``; what stands there must be a literal."""
    found = next((k.value for k in made.keywords if k.arg == name), None)
    if found is None and place is not None and place < len(made.args):
        found = made.args[place]
    if found is None:
        return _added(script, made, f"{name}={value!r}")
    if isinstance(found, ast.Name):
        found = _constant(script, found) or found
    if not isinstance(found, ast.Constant):
        raise CannotPatch(
            f"{script.at(found.lineno)}: {what} is {script.source(found)}, not a number; change what it stands for by hand"
        )
    return (found.lineno, found.col_offset, *_end(found), repr(value))


def _added(script: Script, made: ast.Call, text: str) -> Edit:
    """The edit that gives ``made`` one more argument."""
    given = [*made.args, *(k.value for k in made.keywords)]
    if not given:
        raise CannotPatch(
            f"{script.at(made.lineno)}: {script.source(made)} is given no {text}; add it by hand"
        )
    last = max(given, key=_end)
    return (*_end(last), *_end(last), f", {text}")


def _name_edit(script: Script, item: Task | Resource, new: str) -> Edit:
    """The edit that calls a task or resource ``new`` where it is made."""
    made = _call_at(script, item.source, item.name)
    found = next((k.value for k in made.keywords if k.arg == "name"), None)
    if found is None:
        return _added(script, made, f"name={literal(new)}")
    if not isinstance(found, ast.Constant) or found.value != item.name:
        raise CannotPatch(
            f"{script.at(found.lineno)}: the name of {item.name} is {script.source(found)}, not the text; change it by hand"
        )
    return (found.lineno, found.col_offset, *_end(found), literal(new))


def _constant(script: Script, name: ast.Name) -> ast.Constant | None:
    """The number that ``name`` stands for in the whole module: assigned at its top level, once, and nowhere else. What else
    it is used for changes with it, which the import of the result shows."""
    bound = [
        n
        for n in ast.walk(script.tree)
        if (isinstance(n, ast.Name) and n.id == name.id and not isinstance(n.ctx, ast.Load))
        or (isinstance(n, ast.arg) and n.arg == name.id)
        or (isinstance(n, ast.Global | ast.Nonlocal) and name.id in n.names)
    ]
    values = [
        n.value
        for n in script.tree.body
        if isinstance(n, ast.Assign) and [t.id for t in n.targets if isinstance(t, ast.Name)] == [name.id]
    ]
    known = len(bound) == 1 and len(values) == 1 and isinstance(values[0], ast.Constant)
    return values[0] if known and type(values[0].value) is int else None


def _count(script: Script, made: ast.Call, word: str, place: int | None, value: Any, what: str) -> Edit:
    """The edit of the number inside the group that ``made`` is given."""
    group = next((k.value for k in made.keywords if k.arg == word), None)
    if group is None and place is not None and place < len(made.args):
        group = made.args[place]
    given = [group, *getattr(group, "args", []), *(k.value for k in getattr(group, "keywords", []))]
    numbers = [a for a in given if isinstance(a, ast.Constant) and type(a.value) is int]
    if len(numbers) != 1:
        line = getattr(group, "lineno", made.lineno)
        raise CannotPatch(f"{script.at(line)}: {what} does not stand there as a number; change it by hand")
    return (numbers[0].lineno, numbers[0].col_offset, *_end(numbers[0]), repr(value))


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _with_edits(lines: list[str], edits: list[Edit]) -> list[str]:
    """``lines`` with each edit made; columns count bytes, as `ast` does."""
    if len({edit[:4] for edit in edits}) < len(set(edits)):
        raise CannotPatch("one number of the script would have to become several; change it by hand")
    found = [line.encode() for line in lines]
    for first, start, last, end, text in sorted(set(edits), reverse=True):
        before, after = found[first - 1][:start], found[last - 1][end:]
        found[first - 1 : last] = [before + text.encode() + after, *[b""] * (last - first)]
    return [line.decode() for line in found]


# -- everything else --------------------------------------------------------------------------------------------------------
def _check_rest(before: Document, after: Document) -> None:
    """Refuse differences that no schedule function and no number says."""
    found = _difference(_rest(before), _rest(after), "")
    if found:
        raise CannotPatch(f"{found}; that is changed in the script by hand")


def difference(before: Document, after: Document) -> str:
    """The first difference of two documents that are not equal, in words."""
    return _difference(without_positions(before), without_positions(after), "")


def _rest(document: Document) -> Document:
    """What is left when all that can be patched is taken away."""
    bare = without_positions(document)
    tasks = tuple(replace(t, body=(), **dict.fromkeys(TASK_NUMBERS)) for t in bare.tasks)
    resources = tuple(replace(r, pipeline=_rest_of(r.pipeline), storage=None) for r in bare.resources)
    return replace(bare, tasks=tasks, resources=resources, symbols=(), barriers=(), groups=())


def _rest_of(pipeline: Pipeline | None) -> Pipeline | None:
    if pipeline is None:
        return None
    return replace(pipeline, **{**dict.fromkeys(PIPELINE_WORDS), "stages": 0})


def _difference(a: Any, b: Any, where: str) -> str:
    """The first difference, in words."""
    if a == b:
        return ""
    if is_dataclass(a) and type(a) is type(b):
        name = getattr(a, "name", "")
        for f in fields(a):
            inner = f"{where}{name}.{f.name}" if where or name else f.name
            if found := _difference(getattr(a, f.name), getattr(b, f.name), inner):
                return found
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        for one, other in zip(a, b, strict=True):
            if found := _difference(one, other, f"{where} "):
                return found
    return f"{where.strip()} changes from {_short(a)} to {_short(b)}"


def _short(value: Any) -> str:
    text = ", ".join(getattr(v, "name", str(v)) for v in value) if isinstance(value, tuple) else str(value)
    return text if len(text) < 80 else text[:77] + "..."
