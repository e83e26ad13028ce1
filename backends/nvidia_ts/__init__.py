"""NVIDIA Task Scheduling (`cutlass.experimental.task_scheduling`): its managers as documents. Needs no DSL to import."""

from .annotations import AnnotationError, Annotations, beside, dump_annotations, load_annotations
from .errors import ImportRefused
from .importing import Imported, import_script
from .manager import from_task_manager
from .opinion import Opinion, difference
from .patching.apply import Patch, patch_script
from .patching.matching import CannotPatch
from .writing.errors import NotExpressible
from .writing.module import Written, to_task_scheduling

__all__ = [
    "AnnotationError",
    "Annotations",
    "CannotPatch",
    "ImportRefused",
    "Imported",
    "NotExpressible",
    "Opinion",
    "Patch",
    "Written",
    "beside",
    "difference",
    "dump_annotations",
    "from_task_manager",
    "import_script",
    "load_annotations",
    "patch_script",
    "to_task_scheduling",
]
