"""A split consumer: one task waits, another releases."""

from warpdraft.core import MemoryResource, PipelineConfig, Task, TaskManager, domain_loop, schedule, symbol

n = symbol("n")


@schedule
def fill(buffer):
    with domain_loop(0, n):
        buffer.acquire()
        buffer.commit()


@schedule
def watch(buffer, proxy):
    with domain_loop(0, n):
        buffer.wait()
        proxy.acquire()
        proxy.commit()


@schedule
def use(buffer, proxy):
    with domain_loop(0, n):
        proxy.wait()
        buffer.release()
        proxy.release()


def test_waiting_moves_its_own_cursor_where_another_task_releases():
    config = PipelineConfig(num_stages=2)
    buffer = MemoryResource(name="buffer", pipeline_config=config)
    proxy = MemoryResource(name="proxy", pipeline_config=config)
    tasks = [
        Task([], [buffer], 0, 1, schedule=fill(buffer), name="fill"),
        Task([buffer], [proxy], 1, 1, schedule=watch(buffer, proxy), name="watch"),
        Task([buffer, proxy], [], 2, 1, schedule=use(buffer, proxy), name="use"),
    ]
    document = TaskManager(tasks, {buffer: [], proxy: [buffer]}).document
    split = {r.name: r.pipeline.advance_on_wait for r in document.resources}
    assert split == {"buffer": True, "proxy": False}
