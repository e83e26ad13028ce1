/* What the keys do while the editor has the focus. */
const TYPING = new Set(["INPUT", "SELECT", "TEXTAREA"]);

export function handleKey(event, now) {
  const { state, send, setDialog, root } = now;
  const typing = TYPING.has(event.composedPath()[0]?.tagName);
  const control = event.ctrlKey || event.metaKey;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const act = (intent) => { event.preventDefault(); event.stopPropagation(); if (intent) send(intent); };
  if (control && key === "s") return act({ type: "save" });
  if (typing) return undefined;
  if (control && key === "z") return act({ type: event.shiftKey ? "redo" : "undo" });
  if (control && key === "y") return act({ type: "redo" });
  if (control && key === "k") { act(); return setDialog({ kind: "goto" }); }
  const { kind, ids } = state.selection;
  const id = kind === "op" ? ids[0] : null;
  if (control && key === "d" && id) return act({ type: "duplicate", id });
  if (control) return undefined;
  if (event.altKey) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[key];
    return by && id ? act({ type: "shift", id, by }) : undefined;
  }
  switch (key) {
    case "/": act(); return setDialog({ kind: "goto" });
    case "?": act(); return setDialog({ kind: "help" });
    case "Escape": return act({ type: "select", kind: "", ids: [] });
    case "Delete": case "Backspace": return remove(state.selection, act);
    case "ArrowDown": case ".": return step(state, id, 1, act, root);
    case "ArrowUp": case ",": return step(state, id, -1, act, root);
    case "ArrowLeft": case "ArrowRight": return beside(state, id, key === "ArrowLeft" ? -1 : 1, act);
    case "b": return act(id && { type: "debug", do: "break", kind: "op", name: id });
    case "i": act(); return insert(state, id, setDialog);
    case "Enter": return firstField(event, root);
    case "n": return nextFinding(state, event.shiftKey ? -1 : 1, act);
    case "m": return act({ type: "timeline", do: "measure" });
    case "t": { const field = root.querySelector(".timeline-tools input[type=search]"); act(); return field?.focus(); }
    case "w": case "s": case "a": case "d": case "f": return act({ type: "time", key });
    default: return undefined;
  }
}

function remove({ kind, ids }, act) {
  if (!ids.length) return undefined;
  if (kind === "op") return act({ type: "delete", ids });
  return kind === "edge" ? act({ type: "remove", kind, name: ids[0] }) : undefined;
}

function flat(nodes) {
  return nodes.flatMap((node) => [node.id, ...(node.nodes ? flat(node.nodes) : [])]);
}

function column(state, id) {
  return state.schedule.columns.find((c) => flat(c.nodes).includes(id));
}

function step(state, id, by, act) {
  const here = column(state, id) ?? state.schedule.columns[0];
  const all = here ? flat(here.nodes) : [];
  const next = id && all.includes(id) ? all[all.indexOf(id) + by] : all[by > 0 ? 0 : all.length - 1];
  return act(next && { type: "select", kind: "op", ids: [next] });
}

function beside(state, id, by, act) {
  const { columns } = state.schedule;
  const at = columns.findIndex((c) => flat(c.nodes).includes(id));
  const to = columns[at < 0 ? 0 : at + by];
  if (!to) return act();
  const row = at < 0 ? 0 : flat(columns[at].nodes).indexOf(id);
  const all = flat(to.nodes);
  return act(all.length && { type: "select", kind: "op", ids: [all[Math.min(row, all.length - 1)]] });
}

function insert(state, id, setDialog) {
  const here = column(state, id);
  if (here) return setDialog({ kind: "insert", task: here.task, after: id });
  const task = state.schedule.columns.find((c) => state.selection.kind === "task" && c.task === state.selection.ids[0]) ?? state.schedule.columns[0];
  return task && setDialog({ kind: "insert", task: task.task, parent: task.task, index: task.nodes.length });
}

function firstField(event, root) {
  if (event.composedPath()[0] !== root) return;
  const field = root.querySelector(".details .form .grid input, .details .form .grid select");
  if (field) { event.preventDefault(); field.focus(); }
}

function nextFinding(state, by, act) {
  const keys = state.findings.items.map((item) => item.key);
  if (!keys.length) return act();
  const at = state.selection.kind === "finding" ? keys.indexOf(state.selection.ids[0]) : -1;
  const next = keys[(at + by + keys.length + (at < 0 && by < 0 ? 1 : 0)) % keys.length];
  return act({ type: "select", kind: "finding", ids: [next] });
}
