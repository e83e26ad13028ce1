"""Seconds of CPU that it takes to read a manager of Task Scheduling and to verify its document, beyond the script's own.

python benchmarks/imports.py SCRIPT [ARGS]: for each manager that the script builds, the least of some repetitions. Needs the
CuTe DSL; the host's GPU calls are stood in for. By default the attention manager of the tests.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
import time
import warnings
from pathlib import Path

from warpdraft.backends.nvidia_ts import from_task_manager, host
from warpdraft.core import verify
from warpdraft.core.report import verdict_line

REPEAT = 5
ATTENTION = Path(__file__).parents[1] / "tests" / "backends" / "nvidia_ts" / "scripts" / "attention.py"


def main() -> None:
    """Measure one script."""
    script, *arguments = sys.argv[1:] or [str(ATTENTION)]
    host.prepare()
    from warpdraft.backends.nvidia_ts.watch import watching

    host.finish()

    def take(manager: object, trace: object, opinion: object) -> None:
        reading, verifying = [], []
        for _ in range(REPEAT):
            start = time.process_time()
            document = from_task_manager(manager, name=Path(script).stem, trace=trace)
            reading.append(time.process_time() - start)
            start = time.process_time()
            report = verify(document)
            verifying.append(time.process_time() - start)
        warps = sum(t.num_warps for t in document.tasks)
        print(f"{len(document.tasks)} tasks, {len(document.resources)} resources, {warps} warps", file=sys.stderr)
        print(f"read {min(reading):.3f} s, verified {min(verifying):.3f} s", file=sys.stderr)
        print(verdict_line(report), file=sys.stderr)

    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).parent)
    with watching(take), contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
