"""The dependency graph: resources as nodes, what is made from what as edges, named by the tasks that carry them.

Graphviz' ``dot`` lays it out in a process of its own; colours come from the page's style sheet, so that both themes and
the marks of findings need no new layout.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import graphviz
from graphviz.backend import dot_command

from warpdraft.core.document import Document, Edge, Op, OpKind, Resource, Task, Token
from warpdraft.core.tree import find_resource, find_work, ops_of

from . import words
from .colors import task_colors

TASK_INK = "#0000a{}"  # stands for the colour of a task until the style sheet says it
MOST_NAMES = 2  # tasks named at an edge; the table names all
NO_DOT = "Graphviz was not found: install it (dot on the PATH), or graphviz-pure from PyPI, to see the graph"


class NoGraph(Exception):
    """The graph cannot be drawn; the message says why and what helps."""


def graph_view(document: Document) -> dict[str, Any]:
    """The drawing as SVG text, or the reason why there is none, and the same facts as rows."""
    rows = _rows(document)
    try:
        return {"svg": draw(dot_source(document)), "problem": "", **rows}
    except NoGraph as problem:
        return {"svg": "", "problem": str(problem), **rows}


def dot_source(document: Document) -> str:
    """The graph in DOT. Nodes have the id ``res:NAME``, edges ``edge:UP->DOWN``; edges that tasks imply but the document
    does not state are dashed and have the id ``missing:UP->DOWN``."""
    graph = graphviz.Digraph("dependencies")
    graph.attr(rankdir="LR", bgcolor="transparent", nodesep="0.22", ranksep="0.42", pad="0.12", margin="0")
    graph.attr(
        "node",
        shape="box",
        style="rounded",
        margin="0.13,0.06",
        height="0.3",
        fontname="Helvetica",
        fontsize="12",
    )
    graph.attr("edge", fontname="Helvetica", fontsize="11", arrowsize="0.65")
    inks = {name: TASK_INK.format(color) for name, color in task_colors(document).items()}
    # Keys of their own: a colon in a name would mean a port to Graphviz.
    keys = {resource.name: f"n{i}" for i, resource in enumerate(document.resources)}
    for resource in document.resources:
        graph.node(
            keys[resource.name],
            _label(resource),
            id=f"res:{resource.name}",
            **{"class": f"res {resource.space.value}"},
        )
    for edge in document.graph:
        label = _carriers(document, edge, inks)
        graph.edge(
            keys[edge.upstream], keys[edge.downstream], label, id=f"edge:{edge.upstream}->{edge.downstream}"
        )
    for edge in missing_edges(document):
        label = _carriers(document, edge, inks)
        id = f"missing:{edge.upstream}->{edge.downstream}"
        graph.edge(
            keys[edge.upstream], keys[edge.downstream], label, id=id, style="dashed", **{"class": "missing"}
        )
    return graph.source


def _label(resource: Resource) -> str:
    name = f"<B>{escape(resource.name)}</B>"
    facts = [] if resource.space.value == "none" else [resource.space.value]
    stages = (
        resource.pipeline.stages if resource.pipeline else resource.storage.stages if resource.storage else 0
    )
    if resource.storage and resource.space.value == "smem":
        facts.append(f"{stages} x {words.bytes_text(resource.storage.bytes)}")
    elif stages:
        facts.append(f"{stages} stages" if stages != 1 else "1 stage")
    if not facts:
        return f"<{name}>"
    return f'<{name}<BR/><FONT POINT-SIZE="10">{escape(" · ".join(facts))}</FONT>>'


def _carriers(document: Document, edge: Edge, inks: dict[str, str]) -> str:
    """The label of an edge: the tasks that carry it, the first few by name."""
    names = [t.name for t in document.tasks if edge.upstream in (*t.src, *t.dst) and edge.downstream in t.dst]
    if not names:
        return ""
    shown = [f'<FONT COLOR="{inks[n]}"><B>{escape(n)}</B></FONT>' for n in names[:MOST_NAMES]]
    more = [f"+{len(names) - MOST_NAMES}"] if len(names) > MOST_NAMES else []
    return "<" + " ".join(shown + more) + ">"


def missing_edges(document: Document) -> tuple[Edge, ...]:
    """Dependencies that a value passed from one resource's work to another's implies, and that the graph does not state."""
    stated = {(edge.upstream, edge.downstream) for edge in document.graph}
    found: dict[Edge, None] = {}
    for task in document.tasks:
        for pair in _passed(document, task):
            if pair not in stated and pair[0] != pair[1]:
                found[Edge(*pair)] = None
    return tuple(found)


def _passed(document: Document, task: Task) -> list[tuple[str, str]]:
    made: dict[str, str] = {}
    pairs = []
    for op in ops_of(task):
        if op.kind is not OpKind.WORK:
            continue
        if op.target in task.dst and _produces(document, op):
            sources = (made.get(v.name) for _, v in op.args if isinstance(v, Token))
            pairs += [(source, op.target) for source in sources if source]
        made.update((result, op.target) for result in op.results)
    return pairs


def _produces(document: Document, op: Op) -> bool:
    work = find_work(find_resource(document, op.target), op.work)
    return work is None or work.role == "producer"


@lru_cache(maxsize=64)
def draw(source: str) -> str:
    """The SVG element that ``dot`` makes of ``source``, less what the style sheet says. Raises NoGraph."""
    program = dot_program()
    if program is None:
        raise NoGraph(NO_DOT)
    dot_command.DOT_BINARY = program
    try:
        text = graphviz.Source(source).pipe(format="svg", encoding="utf-8", quiet=True)
    except (subprocess.CalledProcessError, graphviz.ExecutableNotFound, OSError) as error:
        raise NoGraph(f"{program.name} could not draw the graph: {_words(error)}") from error
    return _for_page(text)


def dot_program() -> Path | None:
    """The layout program: ``dot`` on the PATH, else ``graphviz-pure`` there or beside this Python."""
    for name in ("dot", "graphviz-pure"):
        if found := shutil.which(name):
            return Path(found)
    beside = Path(sys.executable).with_name("graphviz-pure")
    return beside if beside.is_file() else None


def _words(error: Exception) -> str:
    said = getattr(error, "stderr", None)
    said = said.decode(errors="replace") if isinstance(said, bytes) else said
    return (said or str(error)).strip().splitlines()[0]


def _for_page(text: str) -> str:
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.S)
    svg = re.sub(r'fill="#0000a(\d)"', r'class="ink-\1"', svg)
    svg = re.sub(r' (?:fill|stroke)="(?!none)[^"]*"', "", svg)
    return re.sub(r"<title>.*?</title>\n?", "", svg)


def _rows(document: Document) -> dict[str, Any]:
    """The graph as rows: for the table that says the same without a picture."""
    missing = set(missing_edges(document))
    rows = []
    for edge in (*document.graph, *missing):
        tasks = [
            t.name for t in document.tasks if edge.upstream in (*t.src, *t.dst) and edge.downstream in t.dst
        ]
        rows.append(
            {
                "up": edge.upstream,
                "down": edge.downstream,
                "tasks": ", ".join(tasks),
                "missing": edge in missing,
            }
        )
    return {"rows": rows}
