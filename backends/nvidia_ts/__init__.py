"""NVIDIA Task Scheduling (`cutlass.experimental.task_scheduling`): its managers as documents. Needs no DSL to import."""

from .annotations import AnnotationError, Annotations, beside, dump_annotations, load_annotations
from .errors import ImportRefused
from .importing import Imported, import_script
from .manager import from_task_manager
from .opinion import Opinion, difference

__all__ = [
    "AnnotationError",
    "Annotations",
    "ImportRefused",
    "Imported",
    "Opinion",
    "beside",
    "difference",
    "dump_annotations",
    "from_task_manager",
    "import_script",
    "load_annotations",
]
