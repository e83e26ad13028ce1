import { useEffect, useRef, useState } from "preact/hooks";
import { memo } from "./memo.js";
import { Compare } from "./compare.jsx";
import { Debugger } from "./debugger.jsx";
import { Button } from "./icons.jsx";
import { Timeline } from "./timeline.jsx";

const TABS = [["timeline", "Timeline"], ["debug", "Debugger"], ["code", "Generated code"], ["source", "Authoring source"], ["compare", "Compare"], ["log", "Run log"]];

export function Drawers({ state, send, selection, tab, setTab, timeline, theme }) {
  const [table, setTable] = useState(false);
  const facts = state.timeline_facts;
  const keys = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.altKey || event.target.getAttribute("role") !== "tab") return;
    event.preventDefault();
    event.stopPropagation();
    const [next] = TABS[(TABS.findIndex(([name]) => event.target.id === `tab-${name}`) + by + TABS.length) % TABS.length];
    event.currentTarget.querySelector(`#tab-${next}`).focus();
    setTab(next);
  };
  return (
    <section class="pane drawers" aria-label="Timeline, code and runs">
      <div class="tabs" role="tablist" onKeyDown={keys}>
        {TABS.map(([name, title]) => (
          <button type="button" key={name} role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls={`panel-${name}`} onClick={() => setTab(name)}>{title}
            {name === "log" && state.log.state === "running" && <span class="busy" aria-label="running" />}</button>
        ))}
        <span class="summary">{tab === "timeline" && facts ? facts.summary : tab === "log" ? state.log.summary : ""}</span>
        {tab === "timeline" && <Button icon="table" kind="small bare" label="Show the timeline as a table" pressed={table} onClick={() => setTable(!table)} />}
        {tab === "code" && state.code.lines.length > 0 && <Button icon="copy" kind="small bare" label="Copy the code" onClick={() => navigator.clipboard?.writeText(state.code.lines.map((l) => l[0]).join("\n"))} />}
      </div>
      <Timeline state={state} send={send} figures={timeline} hidden={tab !== "timeline"} table={table} />
      {tab === "code" && <Code data={state.code} selection={selection} send={send} id="code" empty="Generating…" />}
      {tab === "source" && <Source data={state.source} selection={selection} send={send} />}
      {tab === "debug" && <Debugger data={state.debug} send={send} selection={selection} columns={state.schedule.columns} />}
      {tab === "compare" && <Compare data={state.compare} files={state.files} chrome={state.chrome} send={send} theme={theme} />}
      {tab === "log" && <Log data={state.log} send={send} />}
    </section>
  );
}

const Code = memo(["data", "selection"], function Code({ data, selection, send, id, empty }) {
  const box = useRef(null);
  const lit = new Set(selection.ops);
  const first = data.lines.findIndex(([, ids]) => ids.some((op) => lit.has(op)));
  useEffect(() => {
    const row = first >= 0 && box.current?.children[first];
    if (row) box.current.parentElement.scrollTop = Math.max(0, row.offsetTop - box.current.parentElement.clientHeight / 3);
  }, [first, data]);
  return (
    <div class="panel scroll" role="tabpanel" id={`panel-${id}`} aria-labelledby={`tab-${id}`}>
      {data.problem && <p class="problem" role="alert">{data.problem}</p>}
      {!data.lines.length && !data.problem && <p class="empty">{empty}</p>}
      <ol class="code" ref={box}>
        {data.lines.map(([text, ids], i) => (
          <li key={i} class={`${ids.length ? "linked" : ""} ${ids.some((op) => lit.has(op)) ? "lit" : ""}`}
            onClick={ids.length ? () => send({ type: "select", kind: "op", ids: [ids[0]] }) : undefined}>{text || " "}</li>
        ))}
      </ol>
    </div>
  );
});

/* The authoring file, or the document written back as Python: one of them at a time. */
function Source({ data, selection, send }) {
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, data.forms.length - 1);
  return (
    <>
      {data.forms.length > 1 && (
        <div class="forms" role="radiogroup" aria-label="Which source">
          {data.forms.map((form, i) => <button type="button" key={form.title} class="button small" role="radio" aria-checked={i === at} aria-pressed={i === at} onClick={() => setChosen(i)}>{form.title}</button>)}
        </div>
      )}
      <Code data={data.forms[at]} selection={selection} send={send} id="source" empty="Writing it back…" />
    </>
  );
}

function Log({ data }) {
  return (
    <div class="panel scroll" role="tabpanel" id="panel-log" aria-labelledby="tab-log">
      {data.facts.length > 0 && <dl class="run-facts">{data.facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>}
      {data.lines.length ? <pre class="log">{data.lines.join("\n")}</pre> : <p class="empty">No run yet. Run compares the kernel with its reference: on the GPU if there is one, else in the emulator.</p>}
    </div>
  );
}
