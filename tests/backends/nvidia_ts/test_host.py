"""What the host part of a script asks of torch, installed or not, and of CUDA: without a GPU."""

import re
import textwrap
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts import host, import_script

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]
SCRIPTS = Path(__file__).parent / "scripts"
ASKED = """
import torch

import tma_async

device = torch.device("cuda")
generator = torch.Generator(device="cuda").manual_seed(1)
a = torch.randn(4, 8, device=device, dtype=torch.float16)
b = torch.empty(4, 8, pin_memory=True).cuda().to("cuda:0")
c = torch.randint(0, 3, (4, 8), device=0, dtype=torch.int8)
assert a.is_cuda and tuple(b.shape) == (4, 8)

major, minor = torch.cuda.get_device_capability()
properties = torch.cuda.get_device_properties(0)
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
assert (major, minor) == (properties.major, properties.minor) == (10, 0)
assert properties.multi_processor_count * 2 == 296 and properties.name.startswith("NVIDIA")
assert torch.cuda.mem_get_info()[0] > torch.cuda.max_memory_allocated() == 0

stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream), torch.cuda.device(0):
    torch.cuda.nvtx.range_push("build")
    tma_async.build()
stream.synchronize()

start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
end.record()
torch.cuda.synchronize()
milliseconds = start.elapsed_time(end) / 10 + 1.0
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    pass
graph.replay()
torch.testing.assert_close(torch.zeros(4), torch.ones(4))  # nothing was computed that could be compared
assert torch.allclose(torch.zeros(4), torch.ones(4))
print("asked for all")
"""


@pytest.mark.skipif(host._has_gpu(), reason="there is a GPU, for which nothing stands in")
def test_what_scripts_ask_of_torch(task_scheduling, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_100a")
    for name in ("parts.py", "tma_async.py"):
        (tmp_path / name).write_text((SCRIPTS / name).read_text())
    (tmp_path / "asked.py").write_text(textwrap.dedent(ASKED))
    (found,) = import_script(str(tmp_path / "asked.py"))
    said = capsys.readouterr().err
    assert re.search("^asked for all$", said, re.MULTILINE) and "warpdraft:" not in said
    assert len(found.document.tasks) == 2
