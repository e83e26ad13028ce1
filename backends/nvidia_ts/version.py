"""Which Task Scheduling is installed. Its managers are read field by field, so each release is tried before it is let in."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from .errors import ImportRefused

PACKAGE = "nvidia-cutlass-dsl"
SUPPORTED = ("4.8.1",)
ROOT = "cutlass.experimental.task_scheduling"


@dataclass(frozen=True, slots=True)
class TaskScheduling:
    """The modules of Task Scheduling that are read."""

    enums: ModuleType
    memory: ModuleType
    resources: ModuleType
    schedule_builder: ModuleType
    pipeline_group: ModuleType
    task: ModuleType
    task_manager: ModuleType
    checker: ModuleType


def installed() -> str:
    """The release of the CuTe DSL. Raises ImportRefused where there is none, or one that is not supported."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        raise ImportRefused(
            f"{PACKAGE} is not installed, so no Task Scheduling script can run: pip install 'warpdraft[cutedsl]'"
        ) from None
    if found not in SUPPORTED:
        raise ImportRefused(
            f"{PACKAGE} {found} is installed; managers of Task Scheduling are read from {', '.join(SUPPORTED)} only: "
            f"pip install {PACKAGE}=={SUPPORTED[-1]}"
        )
    return found


@functools.cache
def task_scheduling() -> TaskScheduling:
    """The modules of the installed Task Scheduling. Raises ImportRefused."""
    installed()
    names = ("enums", "memory", "resources", "schedule_builder", "pipeline_group", "task", "task_manager")
    try:
        found = [importlib.import_module(f"{ROOT}.{name}") for name in (*names, "exhaustive_checker")]
    except ImportError as error:
        raise ImportRefused(f"{ROOT} of {PACKAGE} cannot be imported: {error}") from None
    return TaskScheduling(*found)
