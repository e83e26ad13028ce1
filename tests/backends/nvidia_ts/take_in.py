"""Started by tests as a process of its own: runs modules that have ``build()`` with Task Scheduling.

``python take_in.py FOLDER``: prints a line of JSON for each module in FOLDER: the document that an import gives, or what is
refused, and what Task Scheduling's own check (without its search) says of it.
"""

import contextlib
import io
import json
import sys
import types
import warnings
from pathlib import Path


def main() -> None:
    from warpdraft.backends.nvidia_ts import host

    host.prepare()
    from warpdraft.backends.nvidia_ts.watch import watching

    host.finish()
    warnings.simplefilter("ignore")
    for path in sorted(Path(sys.argv[1]).glob("*.py")):
        found = {"name": path.stem}
        managers = []
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                with watching(lambda manager, trace, _, out=managers: out.append((manager, trace))):
                    built(path)
                found["document"] = document_of(*managers[0])
            except Exception as error:
                found["refused"] = f"{type(error).__name__}: {error}"
            try:
                built(path, exhaustive_deadlock_race_check=False)
            except Exception as error:
                found["theirs"] = f"{type(error).__name__}: {error}"
                with contextlib.suppress(Exception):
                    built(path, exhaustive_deadlock_race_check=False, skip_validation=True)
                    found["built"] = True
        print(json.dumps(found))


def built(path: Path, **options) -> None:
    """Runs the module and its ``build``."""
    module = types.ModuleType(path.stem)
    sys.modules[path.stem] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    module.build(**options)


def document_of(manager, trace) -> str:
    """The manager as a document's text."""
    from warpdraft.backends.nvidia_ts.manager import from_task_manager
    from warpdraft.core.store import dumps

    return dumps(from_task_manager(manager, trace=trace))


main()
