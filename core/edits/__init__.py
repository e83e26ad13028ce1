"""Edits as values: each maps a document to a new one, so that undo is a tuple and a fix is an edit.

Ids of nodes survive every edit; new nodes get new ids. An edit that does not fit raises `EditError`.
"""

from .base import Edit, EditError, declared_names
from .declarations import (
    GROUPS,
    SetBarrier,
    SetDocument,
    SetPipeline,
    SetPipelineGroup,
    SetResource,
    SetStorage,
    SetTask,
)
from .fields import GUARD_FIELDS, LOOP_FIELDS, OP_FIELDS, SetField
from .kernel import AddKernel, AddTensor, RemoveKernel, RemoveTensor, SetKernel, SetTensor
from .members import Add, AddEdge, AddTask, Remove, RemoveEdge, RemoveTask, Rename, RenameTask, kinds_of, uses
from .nodes import DeleteNode, DuplicateNode, InsertNode, MoveNode, UnwrapNode, WrapNodes
from .split import SplitTask
from .symbols import RemoveSymbol, RenameSymbol, SetSymbol
from .trees import Place, body_of, copies, find, places
from .works import AddWork, RemoveWork, SetWork

__all__ = [
    "GROUPS",
    "GUARD_FIELDS",
    "LOOP_FIELDS",
    "OP_FIELDS",
    "Add",
    "AddEdge",
    "AddKernel",
    "AddTask",
    "AddTensor",
    "AddWork",
    "DeleteNode",
    "DuplicateNode",
    "Edit",
    "EditError",
    "InsertNode",
    "MoveNode",
    "Place",
    "Remove",
    "RemoveEdge",
    "RemoveKernel",
    "RemoveSymbol",
    "RemoveTask",
    "RemoveTensor",
    "RemoveWork",
    "Rename",
    "RenameSymbol",
    "RenameTask",
    "SetBarrier",
    "SetDocument",
    "SetField",
    "SetKernel",
    "SetPipeline",
    "SetPipelineGroup",
    "SetResource",
    "SetStorage",
    "SetSymbol",
    "SetTask",
    "SetTensor",
    "SetWork",
    "SplitTask",
    "UnwrapNode",
    "WrapNodes",
    "body_of",
    "copies",
    "declared_names",
    "find",
    "kinds_of",
    "places",
    "uses",
]
