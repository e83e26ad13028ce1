"""NVIDIA Task Scheduling (`cutlass.experimental.task_scheduling`): its managers as documents. Needs no DSL to import."""

from .annotations import AnnotationError, Annotations, beside, dump_annotations, load_annotations

__all__ = ["AnnotationError", "Annotations", "beside", "dump_annotations", "load_annotations"]
