import { useEffect, useState } from "preact/hooks";
import { Button, Icon } from "./icons.jsx";
import { Typed } from "./typed.jsx";

const TARGETS = ["sm_90a", "sm_100a"];
const NEW = "\u0000new"; // no file is called that

export function Toolbar({ chrome, files, send, theme, setTheme, setDialog, open }) {
  const [asking, setAsking] = useState(false);
  return (
    <header class="toolbar" role="toolbar" aria-label="Document">
      <span class="brand" aria-hidden="true"><b>warp</b>draft</span>
      <Files chrome={chrome} files={files} send={send} setDialog={setDialog} />
      <span class="group">
        <Button icon="save" label="Save" title="Save (Ctrl+S)" disabled={!chrome.dirty && chrome.file} onClick={() => send({ type: "save" })} />
        <SaveAs chrome={chrome} send={send} asking={asking} setAsking={setAsking} />
        <Button icon="download" label="Download the document" onClick={() => send({ type: "download" })} />
      </span>
      <span class="group">
        <Button icon="undo" label="Undo" disabled={chrome.undo === null} title={chrome.undo ? `Undo: ${chrome.undo} (Ctrl+Z)` : "Undo (Ctrl+Z)"}
          onClick={() => send({ type: "undo" })} />
        <Button icon="redo" label="Redo" disabled={chrome.redo === null} title={chrome.redo ? `Redo: ${chrome.redo} (Ctrl+Shift+Z)` : "Redo (Ctrl+Shift+Z)"}
          onClick={() => send({ type: "redo" })} />
      </span>
      <span class="group facts">
        <select class="arch" aria-label="Target architecture" value={chrome.target} onChange={(e) => send({ type: "set", kind: "document", name: "", key: "target", value: e.currentTarget.value })}>
          {[...new Set([...TARGETS, chrome.target])].map((target) => <option key={target}>{target}</option>)}
        </select>
        {chrome.symbols.map((symbol) => (
          <label class="trip" key={symbol.name} title={`Value of ${symbol.name} for the timeline and for runs (the verdict does not depend on it)`}>
            <span>{symbol.name}</span>
            <Typed value={String(symbol.value)} commit={(value) => send({ type: "trips", name: symbol.name, value })} size={3} numeric />
          </label>
        ))}
      </span>
      <span class="space" />
      <Verdict verdict={chrome.verdict} send={send} />
      <span class="group">
        <Button icon="export" kind="labelled" onClick={() => send({ type: "export" })} title="Generate the kernel module and download it">Export</Button>
        {chrome.running
          ? <Button icon="stop" kind="labelled" onClick={() => send({ type: "cancel" })} title="Stop the run">Stop</Button>
          : <Button icon="run" kind="labelled primary" onClick={() => { open("log"); send({ type: "run" }); }}
              title="Run it on the GPU, or in the emulator where there is none">Run</Button>}
      </span>
      <span class="group">
        <Button icon="theme" label={theme === "dark" ? "Light theme" : "Dark theme"} onClick={() => setTheme(theme === "dark" ? "light" : "dark")} />
        <Button icon="help" label="Keys" title="Keys (?)" onClick={() => setDialog({ kind: "help" })} />
      </span>
      <Notices notices={chrome.notices} send={send} askName={() => setAsking(true)} />
    </header>
  );
}

/* A row of its own: it may stand for long, and must not cover what is below. */
export function Offer({ send }) {
  return (
    <div class="offered" role="alert">
      <span>Unsaved changes of this file were found. They are kept until you decide.</span>
      <Button kind="small" onClick={() => send({ type: "recover", accept: true })}>Restore</Button>
      <Button kind="small" onClick={() => send({ type: "recover", accept: false })}>Discard</Button>
    </div>
  );
}

function Files({ chrome, files, send, setDialog }) {
  const change = (event) => {
    const name = event.currentTarget.value;
    event.currentTarget.value = chrome.file;
    if (name === NEW) setDialog({ kind: "new" });
    else if (name !== chrome.file) send({ type: "open", name });
  };
  const listed = files.includes(chrome.file);
  return (
    <span class="files">
      <label>
        <span class="hidden">Open document</span>
        <select value={chrome.file} onChange={change} onFocus={() => send({ type: "files" })} title={`Open a document under ${chrome.folder}`}>
          {!listed && <option value={chrome.file}>{chrome.file || `${chrome.name} (no file)`}</option>}
          <option value={NEW}>New document…</option>
          {files.map((file) => <option key={file} value={file}>{file}</option>)}
        </select>
      </label>
      {chrome.dirty && <span class="dirty" title="Unsaved changes (kept beside the file until they are saved)" role="status">●<span class="hidden">unsaved changes</span></span>}
      {chrome.others > 0 && <span class="others" role="status" title="Each keeps its own unsaved changes; who saves second is asked before anything is replaced"><Icon name="warning" />also open in {chrome.others > 1 ? `${chrome.others} other tabs` : "another tab"}</span>}
    </span>
  );
}

function SaveAs({ chrome, send, asking, setAsking }) {
  if (!asking) return <Button label="Save as" kind="small" onClick={() => setAsking(true)}>Save as</Button>;
  const done = (event) => {
    event.preventDefault();
    const name = event.currentTarget.elements.name.value.trim();
    event.currentTarget.closest(".warpdraft").focus({ preventScroll: true }); // the field goes: then the keys go on working
    setAsking(false);
    if (name) send({ type: "save_as", name });
  };
  return (
    <form class="saveas" onSubmit={done} onKeyDown={(e) => e.key === "Escape" && (e.stopPropagation(), setAsking(false))}>
      <input name="name" aria-label="Save as" defaultValue={chrome.file || `${chrome.name}.warpdraft.json`} ref={(e) => e && !e.dataset.seen && (e.dataset.seen = 1, e.select(), e.focus())} />
      <Button kind="small primary" label="Save under this name" type="submit" onClick={(e) => e.currentTarget.form.requestSubmit()}>Save</Button>
    </form>
  );
}

const LASTS = 4000; // milliseconds that a line stays which nobody has to act on

/* A question keeps its place until it is answered: what comes meanwhile is put below it. */
function Notices({ notices, send, askName }) {
  return <div class="notices" aria-live="polite">{notices.map((notice) => <Notice key={notice.number} notice={notice} send={send} askName={askName} />)}</div>;
}

function Notice({ notice, send, askName }) {
  const dismiss = () => send({ type: "dismiss", number: notice.number });
  useEffect(() => {
    if (notice.kind === "error") return undefined;
    const timer = setTimeout(dismiss, LASTS);
    return () => clearTimeout(timer);
  }, []);
  const act = (intent) => { dismiss(); if (intent.type === "ask_name") askName(); else send(intent); };
  return (
    <span class={`notice sev-${notice.kind}`} role={notice.kind === "error" ? "alert" : "status"} title={notice.text}>
      {notice.kind === "error" && <Icon name="error" />}{notice.kind === "done" && <Icon name="ok" />}
      <span class="said">{notice.text}</span>
      {notice.actions.map(({ label, intent }) => <Button key={label} kind="small" onClick={() => act(intent)}>{label}</Button>)}
      <Button icon="close" kind="small bare" label="Dismiss" onClick={dismiss} />
    </span>
  );
}

const WORDS = { empty: "Nothing to check yet", safe: "Safe", unsafe: "Unsafe", incomplete: "Incomplete", checking: "Checking", "not checked": "Not checked" };
const SIGNS = { safe: "ok", unsafe: "error", incomplete: "warning" };

function Verdict({ verdict }) {
  const { word, scope, counts, checking, searching } = verdict;
  const kinds = ["error", "warning", "advice"].filter((kind) => counts[kind]);
  return (
    <span class={`verdict ${word.replace(" ", "-")} ${checking ? "stale" : searching ? "searching" : ""}`} role="status" aria-live="polite"
      title={`${WORDS[word] ?? word}${scope ? `: ${scope}` : ""}${checking ? " (checking the newest edit)" : ""}`}>
      {SIGNS[word] && <Icon name={SIGNS[word]} />}
      <b>{WORDS[word] ?? word}</b>
      <span class="busy" aria-hidden="true" />
      {kinds.map((kind) => <span class={`count sev-${kind}`} key={kind}>{counts[kind]} {kind}{counts[kind] > 1 && kind !== "advice" ? "s" : ""}</span>)}
      {scope && <span class="scope">{scope}</span>}
    </span>
  );
}
