"""How many SM cycles a launch takes, of many schedules: `python benchmarks/gpu/cycles.py [NAME ...]`, on a GPU.

Writes `cycles.json` beside this file; where names are given, only the schedules that begin so are measured anew.

What `predict` is held against. Each schedule is a process of its own, which launches a profile build that keeps only the
header of each warp's records (times of its start and end), and no stamp of an op; the median of some launches is kept. A
launch lasts from the first warp's start to the last one's end by the global timer, times the SM clock's rate in that launch.
Data are normal.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from store_task import store_task
from variants import VARIANTS

from warpdraft.assets.examples.hopper.gemm import gemm as family
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.backends.cutedsl import lower
from warpdraft.core.document import Document
from warpdraft.core.edits import SetPipeline
from warpdraft.core.store import load

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
OUT = Path(__file__).with_name("cycles.json")
PROCESSES = 16  # that compile at a time; they measure one after another
SIZES = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (2048, 2048, 8192), (8192, 1024, 2048))
FAMILY = (  # tile, cluster, form
    ((128, 256), (2, 1), "hopper"),
    ((128, 256), (1, 2), "hopper"),
    ((128, 256), (1, 1), "hopper"),
    ((128, 128), (2, 1), "hopper"),
    ((128, 192), (1, 2), "hopper"),
    ((256, 128), (2, 1), "hopper"),
    ((64, 256), (2, 1), "hopper"),
    ((64, 256), (2, 1), "apart"),
    ((64, 128), (1, 1), "apart"),
    ((64, 256), (2, 1), "ping-pong"),
    ((64, 256), (1, 1), "ping-pong"),
    ((64, 192), (1, 2), "ping-pong"),
    ((128, 128), (2, 1), "ping-pong"),
    ((128, 128), (1, 1), "ping-pong"),
)
TILES = ((64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 128, 8), (128, 192, 8), (256, 128, 8))  # m, n, warps
TIMING = """
import fcntl, json, statistics, sys
def cycles(kernel, sizes, launches=7):
    inputs, outputs = make_tensors(sizes)
    start, found = bind(kernel, inputs + outputs), []
    for _ in range(launches):
        device_records().zero_()
        start()
        synchronize()
        rows = device_records().reshape(-1, HEADER).cpu().tolist()
        rows = [r for r in rows if r[0] and r[2]]
        span = max(r[2] for r in rows) - min(r[0] for r in rows)
        long = [r for r in rows if r[2] - r[0] > min(span / 4, 3000)]  # ns
        rates = [((r[3] - r[1]) & 0xFFFFFFFF) / (r[2] - r[0]) for r in long]
        found.append(span * statistics.median(rates))
    return statistics.median(found[2:])
kernel = build()
with open(sys.argv[1], "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(json.dumps([cycles(kernel, sizes) for sizes in json.loads(sys.argv[2])]))
"""


def documents() -> dict[str, Document]:
    """Every schedule that is measured, by name."""
    persistent, gemm = (load(EXAMPLES / f"{n}.warpdraft.json") for n in ("persistent_gemm", "gemm"))
    found = {"persistent": persistent, "gemm": gemm, "gemm, alone on its SM": replace(gemm, ctas_per_sm=1)}
    found |= {f"persistent, {label}": edit(persistent) for label, edit in VARIANTS.items()}
    for tile, cluster, form in FAMILY:
        name = f"{form}, {tile[0]} x {tile[1]}, cluster {cluster[0]} x {cluster[1]}"
        subtile = 32 if form == "ping-pong" and tile == (128, 128) else 64
        plan = Plan((*tile, 64), cluster, form == "ping-pong", form == "apart", subtile=subtile)
        found[name] = family(plan, "gemm").document
    found["persistent, stages 2"] = SetPipeline("smem_ab", "stages", 2).apply(persistent)
    found["gemm, stages 2"] = SetPipeline("smem_ab", "stages", 2).apply(gemm)
    for m, n, warps in TILES:
        most = (220 * 1024 - 2 * m * 64 * 2) // ((m + n) * 64 * 2)
        for stages in sorted({2, 3, min(8, most)}):
            found[f"store task, {m} x {n}, stages {stages}"] = store_task(m, n, warps, stages)
    return found


def measure(document: Document, lock: Path) -> list[float] | str:
    """Cycles at each of `SIZES`, or what went wrong."""
    source = lower(document, build="profile").replace("    @stamped\n", "")
    source = re.sub(r"(?m)^STEPS = .*$", "STEPS = 0", source)
    source = re.sub(r"(?m)^CTAS = .*$", "CTAS = 32768", source)
    source = source[: source.index('if __name__ == "__main__"')] + TIMING
    asked = [dict(zip("MNK", size, strict=True)) for size in SIZES]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.py")
        path.write_text(source)
        command = [sys.executable, str(path), str(lock), json.dumps(asked)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:200]
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure, and write what was found."""
    wanted = tuple(sys.argv[1:]) or ("",)
    every = {name: document for name, document in documents().items() if name.startswith(wanted)}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PROCESSES) as pool:
        lock = Path(folder, "lock")
        found = dict(zip(every, pool.map(lambda d: measure(d, lock), every.values()), strict=True))
    rows = (
        [row for row in json.loads(OUT.read_text()) if row["schedule"] not in every] if OUT.exists() else []
    )
    for name, cycles in found.items():
        if isinstance(cycles, str):
            print(f"{name}: {cycles}")
            continue
        for size, number in zip(SIZES, cycles, strict=True):
            rows.append({"schedule": name, "sizes": size, "cycles": round(number)})
            print(f"{name:40} {' x '.join(map(str, size)):20} {number:12,.0f} cycles")
    lines = ",\n".join(json.dumps(row) for row in rows)
    OUT.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
