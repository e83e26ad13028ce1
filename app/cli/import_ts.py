"""`warpdraft import-ts`: a script of NVIDIA Task Scheduling as documents."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .check import BADNESS, CODES
from .errors import BadInput
from .output import DOCUMENT, print_json

if TYPE_CHECKING:
    from warpdraft.backends.nvidia_ts import Imported, Opinion
    from warpdraft.core.document import Document
    from warpdraft.core.findings import Report


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "import-ts",
        parents=[_own_options()],  # in front of the script; behind it they are part of the rest
        allow_abbrev=False,
        help="open a script of NVIDIA Task Scheduling: its managers as documents, checked",
        usage="warpdraft import-ts [options] SCRIPT|MODULE:FUNCTION [ARGS ...] [options] [-- ARGS ...]",
        description="Runs the script in a process of its own, without a GPU, and reads every TaskManager that it builds. "
        "What is none of the options is the script's; behind -- everything is.",
    )
    parser.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGS ...]", help="what to run; options may stand behind it, too"
    )
    parser.set_defaults(command=run)


def _own_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="warpdraft import-ts", add_help=False, allow_abbrev=False)
    parser.add_argument(
        "-o",
        dest="output",
        metavar="PATH",
        help="a folder for the documents, or NAME.warpdraft.json for the only one",
    )
    parser.add_argument("--manager", metavar="NAME", help="take one of several managers")
    parser.add_argument(
        "--annotations", metavar="FILE", help="what works do (default: SCRIPT's .annotations.toml)"
    )
    parser.add_argument("--second-opinion", action="store_true", help="run Task Scheduling's own check too")
    parser.add_argument("--target", default="", metavar="ARCH", help="sm_90a or sm_100a")
    parser.add_argument(
        "--time-limit", type=float, default=None, metavar="SECONDS", help="for the script (300)"
    )
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    """Exit code of the worst verdict: 0 safe, 1 errors found, 3 incomplete."""
    mine, theirs = _split(options.rest)
    found, arguments = _own_options().parse_known_args(mine, options)
    if not arguments or arguments[0].startswith("-"):
        raise BadInput("import-ts takes a script, or module:function")
    managers = imported(arguments[0], [*arguments[1:], *theirs], found)
    if found.manager is not None:
        managers = tuple(m for m in managers if m.document.name == found.manager) or _no(
            found.manager, managers
        )
    paths = _paths(found.output, managers)
    reports = [checked(m) for m in managers]
    for manager, path in zip(managers, paths, strict=True):
        if path:
            _save(manager, path)
    _print(managers, reports, paths, found.json)
    return max((CODES[r.verdict] for r in reports), key=BADNESS.index)


def imported(script: str, arguments: list[str], found: argparse.Namespace) -> tuple[Imported, ...]:
    """The managers of ``script``. Raises BadInput."""
    from warpdraft.backends.nvidia_ts import AnnotationError, ImportRefused, import_script

    limit = {} if found.time_limit is None else {"time_limit": found.time_limit}
    if found.time_limit is not None and not found.time_limit > 0:
        raise BadInput(f"--time-limit {found.time_limit:g}: must be more than 0 seconds")
    try:
        return import_script(
            script,
            arguments,
            annotations=found.annotations,
            second_opinion=found.second_opinion,
            target=found.target,
            **limit,
        )
    except (ImportRefused, AnnotationError) as error:
        raise BadInput(str(error)) from None


def checked(manager: Imported) -> Report:
    """Our verdict."""
    from warpdraft.core.verify import verify

    return verify(manager.document)


def described(manager: Imported, report: Report) -> dict[str, Any]:
    """The report as JSON, with where the manager was built and what Task Scheduling says."""
    from warpdraft.core.report import report_json

    found = report_json(manager.document, report) | {"source": manager.source}
    if manager.opinion is not None:
        found["task_scheduling"] = beside(manager.document, report, manager.opinion)
    return found


def beside(document: Document, report: Report, opinion: Opinion) -> dict[str, Any]:
    """Task Scheduling's opinion as data, with why it differs from ours."""
    from dataclasses import asdict

    from warpdraft.backends.nvidia_ts import difference

    symbols = tuple(s.name for s in document.symbols)
    return asdict(opinion) | {"difference": difference(report, opinion, symbols)}


def _split(rest: list[str]) -> tuple[list[str], list[str]]:
    if "--" in rest:
        place = rest.index("--")
        return rest[:place], rest[place + 1 :]
    return rest, []


def _no(name: str, managers: tuple[Imported, ...]) -> tuple[Imported, ...]:
    listed = ", ".join(f"{m.document.name} ({m.source})" for m in managers)
    raise BadInput(f"--manager {name}: no such manager; there are {listed}")


def _paths(output: str | None, managers: tuple[Imported, ...]) -> list[str]:
    """Where each is saved, "" for nowhere. Raises BadInput."""
    if output is None:
        return [""] * len(managers)
    if output.endswith(DOCUMENT):
        if len(managers) > 1:
            names = ", ".join(m.document.name for m in managers)
            raise BadInput(
                f"-o {output}: the script builds {len(managers)} managers ({names}); take one with --manager NAME, or give "
                "a folder"
            )
        return [output]
    if os.path.exists(output) and not os.path.isdir(output):
        raise BadInput(f"-o {output}: give a folder, or a name that ends in {DOCUMENT}")
    return [os.path.join(output, m.document.name + DOCUMENT) for m in managers]


def _save(manager: Imported, path: str) -> None:
    from warpdraft.core.store import DocumentError, save

    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save(manager.document, path)
    except DocumentError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def _print(managers: tuple[Imported, ...], reports: list[Report], paths: list[str], as_json: bool) -> None:
    from warpdraft.backends.nvidia_ts.bounds import taken_apart
    from warpdraft.core.report import render_report

    if as_json:
        values = [described(m, r) for m, r in zip(managers, reports, strict=True)]
        print_json(values[0] if len(values) == 1 else values)
        return
    parts = []
    for manager, report, path in zip(managers, reports, paths, strict=True):
        lines = [render_report(manager.document, report), f"  built at {manager.source}"]
        apart = (taken_apart(manager.document, dict(f.case)) for f in report.errors)
        lines += [f"  {words}" for words in filter(None, dict.fromkeys(apart))]
        if manager.opinion is not None:
            lines += opinion_below(beside(manager.document, report, manager.opinion))
        lines += [f"  saved as {path}"] if path else []
        parts.append("\n".join(lines))
    print("\n\n".join(parts))


def opinion_below(said: dict[str, Any]) -> list[str]:
    """What Task Scheduling says, in lines below a report."""
    from ..views.opinions import opinion_lines

    first, *more = opinion_lines(said)
    return [f"  {first}", *(f"    {line}" for line in more)]
