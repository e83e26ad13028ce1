"""The checker of NVIDIA Task Scheduling (in the wheel nvidia-cutlass-dsl) on the schedules of `verifier.py`, on the CPU.

python benchmarks/task_scheduling.py NAME: builds the schedule with its public interface and prints one line of JSON:
seconds, states, whether it says safe, and whether it stopped at its limit of states. All pipelines are its generic ones
(the checker counts credits, whatever the engine), tiles are left out, and named barriers, which it has none of.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

from warpdraft.core.document import Document, Loop, Op, OpKind, Task
from warpdraft.core.tree import walk

LIMIT = 60  # seconds that one measurement may take, with starting Python
TRIPS = {"ring": 64}
OTHERS = 8  # iterations of the others
PLAIN = (OpKind.ACQUIRE, OpKind.COMMIT, OpKind.WAIT, OpKind.RELEASE)


def measured(name: str) -> dict:
    """What a process of its own says of schedule ``name``; {} where Task Scheduling is not installed, "late" after LIMIT."""
    command = [sys.executable, str(Path(__file__)), name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"late": True}
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def built(document: Document, trips: int) -> list:
    """The tasks of ``document`` as those of Task Scheduling."""
    import cutlass.pipeline as pipeline
    from cutlass.experimental.task_scheduling import consumer_work, domain_loop, producer_work, schedule
    from cutlass.experimental.task_scheduling.resources import MemoryResource, PipelineConfig
    from cutlass.experimental.task_scheduling.task import Task as TheirTask

    threads = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)

    @dataclasses.dataclass(eq=False)
    class Ring(MemoryResource):
        @producer_work
        def put(self, stage_info):
            pass

        @consumer_work
        def get(self, stage_info):
            pass

    def ring(name: str, stages: int) -> Ring:
        config = PipelineConfig.create_async_async_pipeline_cfg(stages, threads, threads, None)
        return Ring(name=name, pipeline_config=config)

    rings = {r.name: ring(r.name, r.pipeline.stages) for r in document.resources if r.pipeline}
    works = {(r.name, w.name): w for r in document.resources for w in r.works}

    def record(nodes, known: dict) -> None:
        for node in nodes:
            if isinstance(node, Loop) and node.kind == "domain":
                with domain_loop(0, trips, 1):
                    record(node.body, known)
            elif not isinstance(node, Op):
                record(node.body, known)
            elif node.target in known and node.kind in PLAIN:
                getattr(known[node.target], node.kind.value)()
            elif node.target in known and node.kind is OpKind.WORK:
                known[node.target].put() if works[node.target, node.work].role == "producer" else known[
                    node.target
                ].get()

    def task(of: Task) -> TheirTask:
        ops = [n for n in walk(of.body) if isinstance(n, Op)]
        used = sorted({o.target for o in ops if o.target in rings})
        acquired = {o.target for o in ops if o.kind is OpKind.ACQUIRE}

        def all_of(known: dict) -> None:
            if any(isinstance(n, Loop) and n.kind == "domain" for n in walk(of.body)):
                record(of.body, known)
            else:
                with domain_loop(0, 1, 1):
                    record(of.body, known)

        named = ", ".join(f"{n}={n}" for n in used)
        space, source = {"all_of": all_of}, f"def traced({', '.join(used)}):\n    all_of(dict({named}))\n"
        exec(source, space)  # the decorator goes by the names of the parameters
        made = schedule(space["traced"])(*(rings[n] for n in used))
        sources, sinks = ([rings[n] for n in used if (n in acquired) is side] for side in (False, True))
        return TheirTask(sources, sinks, of.warp_idx, of.num_warps, schedule=made, name=of.name)

    return [task(t) for t in document.tasks]


def main() -> None:
    """Measure one schedule."""
    import verifier
    from cutlass.experimental.task_scheduling.exhaustive_checker import check_all_interleavings

    name = sys.argv[1]
    trips = TRIPS.get(name, OTHERS) if len(sys.argv) < 3 else int(sys.argv[2])
    documents = {
        "ring": verifier.two_tasks,
        "chain": verifier.chain,
        "loads3": lambda n: verifier.loads_to_mma(3, n),
        "loads4": lambda n: verifier.loads_to_mma(4, n),
        "attention": lambda n: verifier.attention(2),
    }
    tasks = built(documents[name](trips), trips)
    start = time.process_time()
    result = check_all_interleavings(tasks)
    seconds = time.process_time() - start
    print(
        json.dumps(
            {
                "seconds": seconds,
                "states": result.states_explored,
                "safe": result.is_safe,
                "limit": result.hit_state_limit,
            }
        )
    )


if __name__ == "__main__":
    main()
