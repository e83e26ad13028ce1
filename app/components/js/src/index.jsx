/* The editor's page. Python owns the state: each parameter holds one pane's state as JSON text; the page draws it and sends
   intents back. Nothing here decides anything about schedules. */
import { render as draw } from "preact";
import { Editor } from "./editor.jsx";
import theme from "../../../../assets/styles/theme.css";
import layout from "../../../../assets/styles/layout.css";
import panes from "../../../../assets/styles/panes.css";
import schedule from "../../../../assets/styles/schedule.css";

const PANES = ["chrome", "resources", "graph", "schedule", "offers", "findings", "marks", "selection", "details",
  "timeline_facts", "code", "source", "log"];

/* Parses each pane's text once: a pane whose text is the same keeps its object, and so is not drawn again. */
function reader(model) {
  const seen = {};
  return () => {
    const state = {};
    for (const name of PANES) {
      const text = model[name];
      if (!seen[name] || seen[name].text !== text) seen[name] = { text, value: text ? JSON.parse(text) : null };
      state[name] = seen[name].value;
    }
    return state;
  };
}

function download({ name, text, mime }) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: mime || "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function render({ model }) {
  const root = document.createElement("div");
  root.className = "warpdraft";
  root.tabIndex = -1;
  const style = document.createElement("style");
  style.textContent = theme + layout + panes + schedule;
  const host = document.createElement("div");
  host.className = "host";
  host.append(style, root);
  if (model.standalone) document.documentElement.classList.add("warpdraft-page");

  const read = reader(model);
  const local = { selection: null };
  let pending = false;
  const timeline = { element: null };
  const send = (intent) => {
    if (intent.type === "select") local.selection = { ...intent, ops: intent.kind === "op" ? intent.ids : [], resources: [] };
    model.send_msg({ revision: read().chrome?.revision ?? 0, ...intent });
    if (intent.type === "select") redraw();
  };
  const show = () => {
    pending = false;
    const state = read();
    if (local.selection) state.selection = { ...state.selection, ...local.selection };
    draw(<Editor state={state} send={send} model={model} root={root} timeline={timeline} />, root);
    root.dataset.revision = state.chrome?.revision ?? "";
    root.dataset.checked = state.chrome && !state.chrome.verdict.checking ? state.chrome.revision : "";
  };
  const redraw = () => {
    if (pending) return;
    pending = true;
    queueMicrotask(show);
  };
  for (const name of PANES) {
    model.on(name, () => {
      if (name === "selection") local.selection = null;
      redraw();
    });
  }
  model.on("msg:custom", (message) => {
    const said = message?.data ?? message;
    if (said?.type === "download") download(said);
  });
  timeline.element = model.get_child("timeline");
  show(); // at once: what is embedded must have its place when this returns
  return host;
}
