/* The editor's page. Python owns the state: each parameter holds one pane's state as JSON text; the page draws it and sends
   intents back. Nothing here decides anything about schedules. */
import { render as draw } from "preact";
import { watchConnection } from "./connection.jsx";
import { Editor } from "./editor.jsx";
import { followTheHand } from "./frames.js";
import page from "../../../../assets/styles/page.css";
import theme from "../../../../assets/styles/theme.css";
import layout from "../../../../assets/styles/layout.css";
import panes from "../../../../assets/styles/panes.css";
import times from "../../../../assets/styles/timeline.css";
import schedule from "../../../../assets/styles/schedule.css";

/* Keeps each pane's text and what it means: a pane whose text stays the same keeps its object, and so is not drawn again. */
class State {
  constructor() {
    this.texts = {};
    this.panes = {};
  }
  take(panes) {
    for (const [name, text] of Object.entries(panes)) {
      if (this.texts[name] === text) continue;
      this.texts[name] = text;
      this.panes = { ...this.panes, [name]: JSON.parse(text) };
    }
  }
}

const plain = (value) => (value instanceof Map ? Object.fromEntries(value) : value);

function download({ name, text, mime }) {
  save(name, new Blob([text], { type: mime || "text/plain" }));
}

/* An SVG as a PNG, twice as large. */
/* Once the drawer is open and its figure laid out, bring that part of its height into the middle. */
function scrollTo(box, part) {
  setTimeout(() => box?.scrollTo({ top: part * box.scrollHeight - box.clientHeight / 2 }), 60);
}

function downloadPicture({ name, text }) {
  const picture = new Image();
  picture.onload = () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * picture.width, height: 2 * picture.height });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name, blob), "image/png");
  };
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function render({ model, view }) {
  const root = document.createElement("div");
  root.className = "warpdraft";
  root.tabIndex = -1;
  const style = document.createElement("style");
  style.textContent = theme + layout + panes + schedule + times;
  const host = document.createElement("div");
  host.className = "host";
  host.append(style, root);
  if (model.standalone && !document.documentElement.classList.contains("warpdraft-page")) {
    document.documentElement.classList.add("warpdraft-page");
    document.head.append(Object.assign(document.createElement("style"), { textContent: page }));
  }

  const state = new State();
  const local = { selection: null };
  let pending = false;
  let lost = false;
  const timeline = { element: null, minimap: null, head: null };
  const send = (intent) => {
    if (lost) return; // nobody is there to carry it out
    if (intent.type === "select") local.selection = { ...intent, ops: intent.kind === "op" ? intent.ids : [], resources: [] };
    const message = { revision: state.panes.chrome?.revision ?? 0, ...intent };
    model.send_msg(JSON.parse(JSON.stringify(message))); // less what is undefined
    if (intent.type === "select") redraw();
  };
  const show = () => {
    pending = false;
    const panes = local.selection ? { ...state.panes, selection: { ...state.panes.selection, ...local.selection } } : state.panes;
    const focused = root.contains(root.getRootNode().activeElement);
    draw(<Editor state={panes} send={send} model={model} root={root} timeline={timeline} lost={lost} />, root);
    // What had the focus may be gone: then the keys go on working.
    if (focused && !root.contains(root.getRootNode().activeElement)) root.focus({ preventScroll: true });
    requestAnimationFrame(() => setTimeout(keepFocus, 40)); // a drawing is replaced after the frame
    const chrome = panes.chrome;
    root.dataset.revision = chrome?.revision ?? "";
    root.dataset.kept = panes.kept ?? "";
    const verdict = chrome?.verdict;
    root.dataset.verdict = verdict && !verdict.checking ? chrome.revision : "";
    root.dataset.checked = verdict && !verdict.checking && !verdict.searching ? chrome.revision : "";
  };
  /* After a mouse edit nothing may have the focus: then the editor takes it, if it was used last. */
  let used = false;
  addEventListener("pointerdown", (event) => { used = event.composedPath().includes(root); }, true);
  const keepFocus = () => {
    if (used && root.isConnected && (document.activeElement ?? document.body) === document.body) root.focus({ preventScroll: true });
  };
  const redraw = () => {
    if (pending) return;
    pending = true;
    queueMicrotask(show);
  };
  model.on("msg:custom", (message) => {
    const said = plain(message);
    if (said.type === "download") return download(said);
    if (said.type === "picture") return downloadPicture(said);
    if (said.type === "scroll-timeline") return scrollTo(timeline.element?.closest(".figure"), said.to);
    if (said.type !== "state") return undefined;
    const panes = plain(said.panes);
    state.take(panes);
    if ("selection" in panes) local.selection = null;
    return redraw();
  });
  state.take(JSON.parse(model.initial));
  timeline.element = model.get_child("timeline");
  timeline.minimap = model.get_child("minimap");
  timeline.head = model.get_child("head");
  followTheHand(view);
  show(); // at once: what is embedded must have its place when this returns
  model.send_msg({ type: "hello" });
  setTimeout(() => watchConnection(() => { lost = true; redraw(); }));
  return host;
}
