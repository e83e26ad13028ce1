import { memo } from "./memo.js";
import { Button, Icon } from "./icons.jsx";
import { NodeForm } from "./form.jsx";

export const Details = memo(["data", "selection"], function Details({ data, send, setDialog, open }) {
  return (
    <section class="pane details" aria-label="Details">
      <div class="scroll">
        {data.kind === "empty" && <Nothing />}
        {data.kind === "finding" && <Finding data={data} send={send} open={open} />}
        {data.kind === "form" && <NodeForm key={`${data.of}:${data.name}`} data={data} send={send} setDialog={setDialog} />}
      </div>
    </section>
  );
});

function Nothing() {
  return (
    <div class="empty">
      <p>Select an operation, a resource, a task or a finding.</p>
      <p><kbd>↑</kbd> <kbd>↓</kbd> walk the schedule, <kbd>Alt</kbd>+<kbd>↑</kbd> <kbd>↓</kbd> move an operation, <kbd>i</kbd> inserts, <kbd>Del</kbd> deletes, <kbd>?</kbd> lists all keys.</p>
    </div>
  );
}

function Finding({ data, send, open }) {
  return (
    <article class="explained">
      <h2><span class={`mark sev-${data.severity}`}><Icon name={data.severity} label={data.severity} /></span><span class="mono">{data.code}</span> {data.name}</h2>
      {(data.expected || data.actual) && (
        <dl>
          {data.expected && <><dt>expected</dt><dd>{data.expected}</dd></>}
          {data.actual && <><dt>actual</dt><dd>{data.actual}</dd></>}
        </dl>
      )}
      {data.case && <p class="case">shown with {data.case} <button type="button" class="link" title="Take these trip counts for timeline and debugger" onClick={() => { open("timeline"); send({ type: "case", key: data.key }); }}>show it in the timeline</button></p>}
      {data.notes.map((note) => <p class="note" key={note}>{note}</p>)}
      {data.searching && <p class="note" role="status">Looking for a fix that verifies…</p>}
      {data.searched && !data.fixes.length && <p class="note" role="status">No fix that verifies was found.</p>}
      {data.fixes.map((fix, index) => (
        <section class="fix" key={fix.title} aria-label={`Fix: ${fix.title}`}>
          <header><b>{fix.title}</b><Button kind="small primary" icon="ok" onClick={() => send({ type: "fix", key: data.key, index })}>Apply</Button></header>
          <pre class="diff">{fix.diff.map(([sign, text], i) => <span key={i} class={{ "+": "plus", "-": "minus", "@": "at" }[sign] ?? ""}>{sign === "@" ? text : `${sign} ${text}`}{"\n"}</span>)}</pre>
        </section>
      ))}
      {data.witness.length > 0 && (
        <section aria-label="Witness">
          <div class="row"><h3>How it happens</h3><Button kind="small" icon="run" title="Follow these steps in the debugger" onClick={() => { open("debug"); send({ type: "debug", do: "replay", key: data.key }); }}>Replay</Button></div>
          <ol class="witness">
            {data.witness.map((step, i) => (
              <li key={i}>
                <button type="button" class="link mono" onClick={() => send({ type: "select", kind: "op", ids: [step.op] })} title={step.op}>{step.agent}</button>
                <span>{step.text}{step.at && <i>{step.at}</i>}</span>
              </li>
            ))}
          </ol>
        </section>
      )}
      {data.rule && <section aria-label="Rule"><h3>The rule</h3><p class="page">{data.rule}</p><h3>Why it hurts</h3><p class="page">{data.harm}</p></section>}
    </article>
  );
}
