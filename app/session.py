"""The editor's one mutable object: the document with its history, what is selected, and the latest results about it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import param

from warpdraft.core.consistency import problem
from warpdraft.core.document import Document
from warpdraft.core.edits import Edit, EditError
from warpdraft.core.history import History
from warpdraft.core.simulate import default_values
from warpdraft.core.store import DocumentError

from .analysis import Analyst, Child
from .autosave import Autosave
from .background import Background
from .files import fingerprint
from .questions import Questions
from .saving import save
from .tools import TOOLS, Tools
from .typed import plain
from .values import Notice, Result, Selection, known_names
from .views.findings import finding_key

FLEETING = {"fixes", "why", "advise", "opinion"}  # questions whose answers hold for the present document only
UNWRITTEN = Document("")  # what a file holds that is not there yet
Post = Callable[[Callable[[], None]], None]


class Session(param.Parameterized):
    """One person's work on one document. Views read its parameters and call its methods; nothing else changes them.

    ``post`` runs a function on the thread that owns the page: results computed in the background arrive through it.
    """

    history = param.ClassSelector(class_=History, constant=False)
    revision = param.Integer(0, doc="Counts the documents that were present.")
    saved = param.ClassSelector(class_=Document, doc="What the file holds.")
    path = param.ClassSelector(class_=Path, allow_None=True)
    selection = param.ClassSelector(class_=Selection, default=Selection())
    trip_counts = param.Dict({}, doc="The value of each symbol for the timeline and for runs.")
    report = param.ClassSelector(class_=Result, default=Result(), doc="The verifier's Report.")
    fixes = param.Dict(
        {}, doc="For findings of the report that were asked about: key to tuple of Fix, None while asking."
    )
    graph = param.ClassSelector(class_=Result, default=Result(), doc="The graph's drawing.")
    timeline = param.ClassSelector(class_=Result, default=Result(), doc="The timeline's drawing and facts.")
    code = param.ClassSelector(
        class_=Result, default=Result(), doc="The generated module's text, once `read`."
    )
    python = param.ClassSelector(class_=Result, default=Result(), doc="The authoring source, written back.")
    kept = param.Integer(0, doc="The newest revision that would survive a crash.")
    notice = param.ClassSelector(class_=Notice, allow_None=True)
    asked = param.ClassSelector(
        class_=tuple, default=(), doc="Earlier notices whose question waits for an answer."
    )
    recovery = param.ClassSelector(
        class_=Document, allow_None=True, doc="Unsaved changes found beside the file."
    )
    others = param.Integer(0, doc="How many other tabs, notebooks or servers show the same file.")

    def __init__(
        self,
        document: Document,
        path: Path | None = None,
        tools: Tools = TOOLS,
        post: Post | None = None,
        analyst: Callable[[], Analyst] = Child,
        living: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(history=History(document), saved=document, path=path)
        self.tools = tools
        self.lock = threading.RLock()  # held while the session changes, where no page has a thread of its own
        self.post: Post = post or self._locked
        self._background = Background(analyst, self.post, self._take)
        self._questions = Questions(analyst)
        self._autosave = Autosave(tools.save, living, lambda: self._later(self.meet))
        self._autosave.enter(path)
        self.seen = fingerprint(path)  # the file as it was read or written last
        self._begun: Document | None = None  # a new document as it was at the start
        self._notices = 0
        self._reading = False
        self._told = False
        self._reset_trip_counts()
        self._analyse()

    def _locked(self, function: Callable[[], None]) -> None:
        with self.lock:
            function()

    @property
    def document(self) -> Document:
        """The present document."""
        return self.history.present

    @property
    def dirty(self) -> bool:
        """Whether the file holds something else."""
        return self.document != self.saved

    @property
    def checking(self) -> bool:
        """Whether the report is an earlier document's, or not whole yet."""
        return self.report.revision != self.revision or not self.report.whole

    # Changing the document

    def do(self, edit: Edit, title: str = "") -> bool:
        """Apply one edit; a refused one becomes a notice and changes nothing. True where it was applied."""
        return self.do_all((edit,), title)

    def do_all(self, edits: tuple[Edit, ...], title: str = "") -> bool:
        """Apply edits as one step of the history, or none of them."""
        document = self.document
        try:
            for edit in edits:
                document = edit.apply(document)
        except EditError as error:
            self.say("error", plain(str(error)))
            return False
        if broken := problem(document):
            self.say("error", f"That would break the document: {broken[1]}")
            return False
        self._become(self.history.push(document, title or type(edits[0]).__name__ if edits else title))
        return True

    def undo(self) -> None:
        """One step back."""
        self._become(self.history.undo())

    def redo(self) -> None:
        """One step forward."""
        self._become(self.history.redo())

    def _become(self, history: History) -> None:
        if history is self.history:
            return
        with self.lock, param.parameterized.batch_call_watchers(self):
            self.history = history
            self.revision += 1
            self.fixes = {}
            self._keep_selection()
            self._reset_trip_counts()
            self.notice, self.asked = None, ()
            self._analyse()  # before the views are drawn: the verdict takes longest
        self._keep_autosave()

    def _keep_selection(self) -> None:
        """Drop from the selection what the document no longer has."""
        if self.selection.kind == "finding":
            return
        known = known_names(self.document, self.selection.kind)
        ids = tuple(id for id in self.selection.ids if id in known)
        if ids != self.selection.ids:
            self.selection = Selection(self.selection.kind, ids) if ids else Selection()

    def _reset_trip_counts(self) -> None:
        counts = {
            name: self.trip_counts.get(name, value) for name, value in default_values(self.document).items()
        }
        if counts != self.trip_counts:
            self.trip_counts = counts

    # Selecting and telling

    def select(self, kind: str, ids: tuple[str, ...] = ()) -> None:
        """Choose what the views light up; unknown names choose nothing."""
        if kind != "finding":
            known = known_names(self.document, kind)
            ids = tuple(id for id in ids if id in known)
        self.selection = Selection(kind, ids) if ids else Selection()

    def say(self, kind: str, text: str, action: Any = None) -> None:
        """Answer what the person just did with a line, and a button that does ``action``, if given; earlier ones go."""
        with param.parameterized.batch_call_watchers(self):
            self.asked, self.notice = (), self._noticed(kind, text, action)

    def tell(self, kind: str, text: str, action: Any = None) -> None:
        """The same for what comes by itself, of work in the background: a question that waits for an answer stays."""
        with self.lock, param.parameterized.batch_call_watchers(self):
            if self.notice is not None and self.notice.action:
                self.asked = (*self.asked, self.notice)
            self.notice = self._noticed(kind, text, action)

    def dismiss(self, number: int) -> None:
        """Take the notice of that number away."""
        self.asked = tuple(notice for notice in self.asked if notice.number != number)
        if self.notice is not None and self.notice.number == number:
            self.notice = None

    def _noticed(self, kind: str, text: str, action: Any) -> Notice:
        self._notices += 1
        return Notice(kind, text, self._notices, action)

    def set_trip_counts(self, counts: Mapping[str, int]) -> None:
        """Choose the symbols' values for the timeline and for runs."""
        self.trip_counts = {**self.trip_counts, **{k: v for k, v in counts.items() if k in self.trip_counts}}
        self._predict()

    # Files

    def open(self, path: Path) -> bool:
        """Show the document in ``path``, with a new history; a bad file becomes a notice and changes nothing."""
        self._autosave.wait()
        seen = fingerprint(path)
        try:
            document, written = Autosave.read(path, self.tools.load)
        except DocumentError as error:
            self.say("error", str(error))
            return False
        if written:
            self._show(document, path, document)
            self.seen = seen
        else:
            self.start(document, path)
            self._begun = None
        self.recovery = self._autosave.look(path, document, self.tools.load)
        return True

    def _show(self, document: Document, path: Path | None, saved: Document) -> None:
        if self._begun is not None and self._begun == self.document and self.path != path:
            self._autosave.drop(self.path)  # nothing was done on it
            self._autosave.wait()
        self._begun = None
        self._autosave.enter(path)
        with self.lock, param.parameterized.batch_call_watchers(self):
            self.path, self.saved, self.history = path, saved, History(document)
            self.revision += 1
            self.selection, self.trip_counts, self.fixes = Selection(), {}, {}
            self.notice, self.asked, self.recovery = None, (), None
            self.report = self.graph = self.timeline = self.code = self.python = Result()
            self._background.forget()
            self._reset_trip_counts()
            self._analyse()

    def start(self, document: Document, path: Path) -> None:
        """A new document, whose file comes with the first save; until then its autosave stands for it."""
        self._autosave.wait()
        self._show(document, path, UNWRITTEN)
        self.seen = ""
        self._begun = document
        self._keep_autosave()

    def save(self, path: Path | None = None, over: bool = False) -> bool:
        """Write the document to ``path`` (its file, if not given), atomically; the autosave is then done with. Asks first
        where that would replace what another has written there, unless ``over``."""
        return save(self, path, over)

    def written(self, document: Document, path: Path) -> None:
        """``path`` holds ``document`` from now on, and is this session's file."""
        moved = path != self.path
        self._autosave.drop(self.path, path)
        self._autosave.wait()
        with param.parameterized.batch_call_watchers(self):
            self.path, self.saved, self._begun, self.seen = path, document, None, fingerprint(path)
            if moved:
                self._autosave.enter(path)  # what is offered belongs to the former file, and stays beside it
                self.recovery = None
            self._become(self.history.push(document, "Name it as its file"))

    def recover(self, accept: bool) -> None:
        """Take up the unsaved changes that were found, or throw them away; then the next that were found are offered."""
        with self.lock:  # others may come or go meanwhile
            document, path = self.recovery, self.path
            if document is None or path is None:
                return
            self.recovery = self._autosave.decided(path, accept)
            if accept:
                self._become(self.history.push(document, "Recovered changes"))
            self._keep_autosave()

    def _keep_autosave(self) -> None:
        if self.path is None:
            return
        if self._autosave.problem and not self._told:
            self._told = True
            self.tell("info", f"Unsaved changes cannot be kept beside the file: {self._autosave.problem}")
        revision = self.revision
        if self.dirty:
            self._autosave.keep(
                self.document, self.path, lambda: self._later(lambda: self._now_kept(revision))
            )
        else:
            self._autosave.drop(self.path)
            self._now_kept(revision)

    def _later(self, function: Callable[[], None]) -> None:
        """Post it from a thread of its own: whoever holds this session, or another, may be waiting."""
        threading.Thread(target=self.post, args=(function,), name="warpdraft-post", daemon=True).start()

    def arrive(self) -> None:
        """Somebody sees the session from now on."""
        self.meet()
        self._autosave.arrive()

    def meet(self) -> None:
        """See who else shows the file. Who has left may have left unsaved changes: offered where nothing is done yet."""
        self.others = self._autosave.others()
        if self.path is not None and self.recovery is None and not self.history.past and not self.dirty:
            self.recovery = self._autosave.look(self.path, self.saved, self.tools.load)

    def _now_kept(self, revision: int) -> None:
        self.kept = max(self.kept, revision)

    # Results

    def _analyse(self) -> None:
        self._background.analyse(self.document, self.revision, self.trip_counts, self._wanted())

    def _predict(self) -> None:
        self._background.predict(self.document, self.revision, self.trip_counts, self._wanted())

    def _wanted(self) -> dict[str, str]:
        """What is not made yet of the module and the source, where somebody looks at them, by the functions that do."""
        made = {"code": "lower", "python": "to_python"} if self._reading else {}
        return {name: how for name, how in made.items() if getattr(self, name).revision != self.revision}

    def read(self, on: bool) -> None:
        """Whether somebody looks at the generated module and the source: else they are not made at each edit."""
        self._reading = on
        if on and self.revision not in (self.code.revision, self.python.revision):
            self._predict()

    def _take(self, name: str, result: Result) -> None:
        """What comes too late for its document is dropped."""
        with self.lock, param.parameterized.batch_call_watchers(self):
            if result.revision != self.revision:
                return
            setattr(self, name, result)
            if name == "report" and result.whole and self.selection.kind == "finding":
                keys = {finding_key(f) for f in result.value.findings} if result.value else set()
                if self.selection.first not in keys:
                    self.selection = Selection()

    def ask(self, answer: Callable[[Result], None], function: str, *arguments: Any) -> None:
        """Ask one more question about the present document in the background; ``answer`` gets the result, unless a newer
        question of its kind comes first, or an edit to one of `FLEETING`."""
        revision = self.revision
        self._questions.ask(
            function,
            (self.document, *arguments),
            lambda value, problem: self.post(lambda: answer(Result(revision, value, problem))),
            lambda: function in FLEETING and revision != self.revision,
        )

    def settle(self, timeout: float = 20.0) -> bool:
        """Wait for the results and the autosave of the present document: for tests and scripts."""
        return all(work.wait(timeout) for work in (self._background, self._questions, self._autosave))

    def close(self) -> None:
        """Stop the background work; the autosave stays for the next time."""
        for work in (self._background, self._questions, self._autosave):
            work.close()


def open_session(
    path: Path,
    tools: Tools = TOOLS,
    post: Post | None = None,
    analyst: Callable[[], Analyst] = Child,
    living: Callable[[], bool] = lambda: False,
) -> Session:
    """A session on the document in ``path``. Raises DocumentError for a file that is no document."""
    seen = fingerprint(path)
    document, written = Autosave.read(path, tools.load)
    session = Session(document, path, tools, post, analyst, living)
    session.seen = seen
    session.saved = session.saved if written else UNWRITTEN
    with session.lock:
        session.recovery = session._autosave.look(path, document, tools.load)
    return session
