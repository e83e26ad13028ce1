"""Edits as values: each maps a document to a new one, so that undo is a tuple and a fix is an edit.

Ids of nodes survive every edit; new nodes get new ids. An edit that does not fit raises `EditError`.
"""

from .base import Edit, EditError, declared_names
from .contents import AddWork, RemoveSymbol, RemoveWork, SetSymbol
from .declarations import SetBarrier, SetDocument, SetPipeline, SetResource, SetStorage, SetTask
from .fields import GUARD_FIELDS, LOOP_FIELDS, OP_FIELDS, SetField
from .members import Add, AddEdge, AddTask, Remove, RemoveEdge, RemoveTask, Rename, RenameTask, kinds_of, uses
from .nodes import DeleteNode, DuplicateNode, InsertNode, MoveNode, UnwrapNode, WrapNodes
from .split import SplitTask
from .trees import Place, body_of, copies, find, places

__all__ = [
    "GUARD_FIELDS",
    "LOOP_FIELDS",
    "OP_FIELDS",
    "Add",
    "AddEdge",
    "AddTask",
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
    "RemoveSymbol",
    "RemoveTask",
    "RemoveWork",
    "Rename",
    "RenameTask",
    "SetBarrier",
    "SetDocument",
    "SetField",
    "SetPipeline",
    "SetResource",
    "SetStorage",
    "SetSymbol",
    "SetTask",
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
