"""What ``torch.cuda`` answers where there is no GPU: of a device that is compiled for, and on which nothing happens."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

ARCH = "CUTE_DSL_ARCH"
DEFAULT_ARCH = "sm_100a"
# Streaming multiprocessors and bytes of memory (H100 and B200 data sheets): only grid sizes depend on them.
MULTIPROCESSORS = {"sm_90": 132, "sm_100": 148}
MEMORY = 80 << 30
NOTHING_USED = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")


def multiprocessors() -> int:
    """Of the device that is compiled for."""
    return MULTIPROCESSORS.get(os.environ[ARCH].rstrip("af"), MULTIPROCESSORS["sm_100"])


class Anything:
    """Accepts whatever is done with it."""

    def __call__(self, *_: Any, **__: Any) -> Anything:
        return self

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> Anything:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, _: Any) -> Anything:
        return self

    def _combined(self, _: Any) -> Anything:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _combined
    __floordiv__ = __rfloordiv__ = __mod__ = __pow__ = _combined

    def _compared(self, _: Any) -> bool:
        return True

    __lt__ = __le__ = __gt__ = __ge__ = _compared


class _Made(Anything):
    """What a class of ``torch.cuda`` makes: a stream (number 0), an event, a graph."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def elapsed_time(self, _: Any) -> float:
        """Milliseconds: any."""
        return 1.0


def answers() -> dict[str, Any]:
    """By name, what ``torch.cuda`` has for scripts; of anything else it accepts everything."""

    def always(value: Any) -> Any:
        return lambda *_, **__: value

    major, minor = _capability()
    properties = SimpleNamespace(
        name=f"NVIDIA sm_{major}{minor}",
        major=major,
        minor=minor,
        multi_processor_count=multiprocessors(),
        total_memory=MEMORY,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_multiprocessor=228 << 10,
        shared_memory_per_block_optin=227 << 10,
        L2_cache_size=50 << 20,
    )
    found = {name: type(name, (_Made,), {}) for name in ("Event", "Stream", "ExternalStream", "CUDAGraph")}
    stream = found["Stream"]()
    found |= {name: always(stream) for name in ("current_stream", "default_stream", "stream")}
    found |= {
        "is_available": always(True),
        "is_initialized": always(True),
        "is_bf16_supported": always(True),
        "is_current_stream_capturing": always(False),
        "device_count": always(1),
        "current_device": always(0),
        "get_device_capability": always((major, minor)),
        "get_device_properties": always(properties),
        "get_device_name": always(properties.name),
        "mem_get_info": always((MEMORY, MEMORY)),
    }
    return found | {name: always(0) for name in NOTHING_USED}


def _capability() -> tuple[int, int]:
    number = os.environ[ARCH].removeprefix("sm_").rstrip("af")
    return int(number[:-1]), int(number[-1])
