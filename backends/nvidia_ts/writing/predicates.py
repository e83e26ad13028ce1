"""What leaves tiles out: functions, or methods of a queue's class or of a class that it comes from."""

from __future__ import annotations

from warpdraft.core.document import Document, Loop, Resource
from warpdraft.core.to_python import class_name
from warpdraft.core.tree import walk

from .errors import NotExpressible

QUEUE = "WorkQueue"  # Task Scheduling's own class


def predicates_of(document: Document) -> dict[str, tuple[str, ...]]:
    """Each predicate, with the queues whose tiles it leaves out. Raises NotExpressible for a method of an inner class."""
    found: dict[str, dict[str, None]] = {}
    for task in document.tasks:
        for node in walk(task.body):
            if isinstance(node, Loop) and node.skip_if:
                found.setdefault(node.skip_if, {})[node.queue] = None
    for name in found:
        if name.count(".") > 1:
            raise NotExpressible(f"skip_if {name}: a method of a class inside another; name a function")
    return {name: tuple(queues) for name, queues in found.items()}


def has_predicates(document: Document, queue: Resource) -> bool:
    """Whether predicates of ``queue`` are methods, so that it needs a class that has them."""
    return any("." in name and queue.name in queues for name, queues in predicates_of(document).items())


def methods_of(document: Document, owner: str) -> list[str]:
    """The predicates that are methods of the class ``owner``."""
    parts = (name.rpartition(".") for name in predicates_of(document))
    return sorted(method for of, _, method in parts if of == owner)


def written_owners(document: Document) -> list[str]:
    """The classes that have predicates and are no resource's own: those that queues come from."""
    classes = {class_name(r) for r in document.resources}
    owners = {name.rpartition(".")[0] for name in predicates_of(document)}
    return sorted(owners - classes - {""})


def base_of(document: Document, queue: Resource) -> str:
    """The class that the class of ``queue`` comes from."""
    written = written_owners(document)
    found = predicates_of(document).items()
    owners = sorted(
        {of for name, queues in found if queue.name in queues and (of := name.rpartition(".")[0]) in written}
    )
    return ", ".join(owners) or QUEUE
