"""Work queues: where a persistent kernel's tiles come from; and the barriers of dependent launches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..document import Space
from ..expressions import Integer, symbol
from .enums import TileSchedulerType, WorkAttr
from .errors import refuse
from .resources import MemoryResource
from .works import consumer_work, producer_work


@dataclass(frozen=True)
class TileSchedulerConfig:
    """Kind of tile scheduler, with parameters that only a running kernel needs."""

    tile_scheduler_type: Any = TileSchedulerType.StaticPersistent
    tile_scheduler_params: Any = None
    response_ptr: Any = None

    @staticmethod
    def create_static_persistent_tile_scheduler_params(
        tile_scheduler_params: Any = None,
    ) -> TileSchedulerConfig:
        """CTAs take tiles in turn; nobody fetches."""
        return TileSchedulerConfig(TileSchedulerType.StaticPersistent, tile_scheduler_params)

    @staticmethod
    def create_clc_dynamic_persistent_tile_scheduler_params(
        tile_scheduler_params: Any = None, response_ptr: Any = None
    ) -> TileSchedulerConfig:
        """A scheduler warp fetches tiles at run time."""
        return TileSchedulerConfig(
            TileSchedulerType.ClcDynamicPersistent, tile_scheduler_params, response_ptr
        )


@dataclass(kw_only=True, eq=False)
class WorkQueue(MemoryResource):
    """The tiles of a persistent kernel: ``tiles`` is how many one CTA works on.

    Static by default; further keywords are the stock parameters of the tile order, e.g. ``band=8``.
    """

    is_work_queue: ClassVar[bool] = True

    tile_scheduler_config: TileSchedulerConfig = field(default_factory=TileSchedulerConfig)
    tiles: Integer | Any = None

    def __init__(
        self, tile_scheduler_config: TileSchedulerConfig | None = None, *, tiles: Any = None, **keywords: Any
    ) -> None:
        if not isinstance(tile_scheduler_config, TileSchedulerConfig | None):
            raise refuse(
                f"tile_scheduler_config must be a TileSchedulerConfig, not {tile_scheduler_config!r:.60}"
            )
        own = {k: keywords.pop(k) for k in list(keywords) if k in MemoryResource.__dataclass_fields__}
        own.setdefault("space", Space.QUEUE)
        own["params"] = {**own.get("params", {}), **keywords}
        super().__init__(**own)
        self.tile_scheduler_config = tile_scheduler_config or TileSchedulerConfig()
        self.tiles = symbol("tiles") if tiles is None else tiles
        if (
            str(getattr(self.tile_scheduler_config.tile_scheduler_type, "value", ""))
            == "ClcDynamicPersistent"
        ):
            self.params["scheduler"] = "ClcDynamicPersistent"
            if getattr(self.tile_scheduler_config.tile_scheduler_params, "insert_fence", True) is False:
                self.params.setdefault("insert_fence", False)

    @consumer_work(work_attrs=WorkAttr.AUXILIARY, returns=("work_tile", "skip_work_tile"))
    def init_work_tile(self, stage_info: Any) -> Any:
        """The first tile, before the loop."""

    @consumer_work(returns="work_tile")
    def get_and_advance_work_tile(self, stage_info: Any) -> Any:
        """Go on to the next tile: once a tile, in its tail."""

    def skip_work_tile_if(self, work_tile: Any) -> Any:
        """Override to say which tiles are left out: ``work_tile_loop(wq, skip_if=Mine.skip_work_tile_if)``."""
        return False

    @producer_work
    def fetch_work_tile(self, stage_info: Any) -> None:
        """Ask for the next tile (dynamic scheduler)."""


@dataclass(kw_only=True, eq=False)
class PdlWaitBarrier(MemoryResource):
    """Waits for the grid that this one depends on (PTX griddepcontrol.wait)."""

    space: Space | str | None = Space.PDL
    is_barrier: bool = True

    @consumer_work
    def wait_griddep(self, stage_info: Any) -> None:
        """Block until the results of the preceding grid are visible."""


@dataclass(kw_only=True, eq=False)
class PdlLaunchBarrier(MemoryResource):
    """Lets the dependent grid start (PTX griddepcontrol.launch_dependents).

    ``successor_waits=False``: that grid reads what this one stores and does not wait (griddepcontrol.wait) first.
    """

    space: Space | str | None = Space.PDL
    is_barrier: bool = True
    successor_waits: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.successor_waits:
            self.params = {**self.params, "successor_waits": False}

    @producer_work
    def launch_griddep(self, stage_info: Any) -> None:
        """Allow the successor to launch; it still waits for this grid's results."""
