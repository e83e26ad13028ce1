/* The timeline: the figure and its minimap, drawn by Bokeh, with search, measure, lanes, measured traces and export. */
import { useRef } from "preact/hooks";
import { memo } from "./memo.js";
import { Button } from "./icons.jsx";
import { Typed } from "./typed.jsx";

export function Timeline({ state, send, figures, hidden, table }) {
  const facts = state.timeline_facts;
  const shown = !table && !facts?.problem && facts?.rows.length > 0;
  return (
    <div class="panel timeline" role="tabpanel" id="panel-timeline" aria-labelledby="tab-timeline" hidden={hidden}>
      {facts?.problem && <p class="problem" role="alert">{facts.problem}</p>}
      {facts?.rows.length > 0 && <Tools data={state.timeline_tools} send={send} />}
      <Embedded element={figures.minimap} hidden={!shown} name="minimap" />
      <Embedded element={figures.head} hidden={!shown} name="timeline-head" />
      <div class="figure" hidden={!shown}><Embedded element={figures.element} name="drawn" /></div>
      {facts && !facts.problem && !facts.rows.length && <p class="empty">{facts.pending ? "Predicting…" : "Nothing happens in this schedule yet."}</p>}
      {table && facts && <BarTable facts={facts} measured={state.timeline_measured} send={send} />}
    </div>
  );
}

/* Holds a Bokeh figure; it stays in the page when its tab is hidden. */
function Embedded({ element, hidden, name }) {
  return <div class={name} ref={(box) => { if (box && element && element.parentNode !== box) box.append(element); }} hidden={hidden} />;
}

const Tools = memo(["data"], function Tools({ data, send }) {
  const ask = (doing, more) => send({ type: "timeline", do: doing, ...more });
  const { measured } = data;
  const search = useRef(null);
  const keys = (event) => {
    if (event.key === "Enter") ask(event.shiftKey ? "previous" : "next");
    else if (event.key === "Escape") { event.currentTarget.value = ""; ask("find", { text: "" }); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="timeline-tools" role="toolbar" aria-label="Timeline">
      <input type="search" ref={search} placeholder="Search (T)" aria-label="Search the timeline" title="Words of an operation, resource, lane or iteration; Enter: next, Shift+Enter: previous"
        defaultValue={data.text} onInput={(e) => ask("find", { text: e.currentTarget.value })} onKeyDown={keys} />
      {data.text && <span class="detail" role="status">{data.found ? `${data.at + 1} of ${data.found}: ${data.current}` : "nothing"}</span>}
      {data.found > 1 && <Button kind="small bare" icon="back" label="Previous match" onClick={() => ask("previous")} />}
      {data.found > 1 && <Button kind="small bare" icon="forward" label="Next match" onClick={() => ask("next")} />}
      <Button kind="small" icon="ruler" label="Measure" title="A drag measures instead of panning; the selection is measured at once (M)" pressed={data.measuring} onClick={() => ask("measure")}>Measure</Button>
      {data.measure && <span class="measure mono" role="status">{data.measure}</span>}
      {data.measure && <Button kind="small bare" icon="close" label="Clear the measure" onClick={() => ask("clear")} />}
      <span class="right">
        <Legend />
        <Lanes lanes={data.lanes} pin={(lane) => ask("pin", { lane })} />
        {measured ? <MeasuredTrace measured={measured} ask={ask} /> : <Load ask={ask} send={send} />}
        <select class="small" aria-label="Export the timeline" value="" onChange={(e) => { ask("export", { as: e.currentTarget.value }); e.currentTarget.value = ""; }}>
          <option value="">Export…</option>
          <option value="perfetto">Perfetto trace</option>
          <option value="svg">SVG</option>
          <option value="png">PNG</option>
        </select>
      </span>
    </div>
  );
});

const SIGNS = [["work", "works"], ["flight", "in flight"], ["wait", "waits"], ["filling", "stage fills"], ["full", "full"], ["reading", "read"]];

/* In the bar where there is room for it, else behind a button there. */
function Legend() {
  const signs = SIGNS.map(([kind, text]) => <li key={kind}><span class={`swatch ${kind}`} />{text}</li>);
  return (
    <>
      <ul class="legend wide" aria-label="Legend">{signs}</ul>
      <Menu name="legend-menu" label="Legend" title="What the bars mean"><ul class="menu legend" aria-label="Legend">{signs}</ul></Menu>
    </>
  );
}

/* A button that opens what is in it; Escape closes it. */
function Menu({ name, label, title, children }) {
  const close = (event) => {
    if (event.key !== "Escape") return;
    event.currentTarget.open = false;
    event.stopPropagation();
    event.currentTarget.firstElementChild.focus();
  };
  return <details class={`opens ${name}`} onKeyDown={close}><summary class="button small" aria-label={title} title={title}>{label}</summary>{children}</details>;
}

function Lanes({ lanes, pin }) {
  const number = lanes.filter((lane) => lane.pinned).length;
  return (
    <Menu name="lanes" label={number ? `${number} pinned` : "Lanes"} title="Pin lanes">
      <ul class="menu" aria-label="Lanes that stay on top">
        {lanes.map(({ label, pinned }) => (
          <li key={label}><label><input type="checkbox" checked={pinned} onChange={() => pin(label)} /><span class="mono">{label}</span></label></li>
        ))}
      </ul>
    </Menu>
  );
}

function Load({ ask, send }) {
  const field = useRef(null);
  const take = async (event) => {
    const [file] = event.currentTarget.files;
    if (file) ask("load", { name: file.name, text: await file.text() });
  };
  return (
    <>
      <input type="file" class="hidden" accept=".json,application/json" tabIndex={-1} aria-label="Measured trace" ref={field} onChange={take} />
      <Button kind="small" label="Measured trace" title="Lay a measured trace over the prediction: Chrome or Perfetto JSON, its events named by op and lane" onClick={() => field.current.click()}>Measured…</Button>
      <Button kind="small" label="Profile on the GPU" title="Run the profile build on this machine's GPU, and lay what it measures over the prediction" onClick={() => send({ type: "profile" })}>Profile</Button>
    </>
  );
}

function MeasuredTrace({ measured, ask }) {
  return (
    <span class="group measured" title={`${measured.name}: ${measured.note}`}>
      <select class="small" aria-label="What is shown" value={measured.mode} onChange={(e) => ask("mode", { mode: e.currentTarget.value })}>
        <option value="both">Both</option><option value="predicted">Predicted</option><option value="measured">Measured</option>
      </select>
      {measured.differs > 0 && <Button kind="small" label="Waits in another order" title="Outline the waits that are held up in the measurement only, or in the prediction only: there the two differ in what comes first"
        onClick={() => ask("find", { text: measured.mark })}>{`${measured.differs} in another order`}</Button>}
      <label class="trip" title="Cycles a microsecond"><span>cycles/µs</span>
        <Typed value={String(measured.clock)} hint="file" commit={(value) => ask("clock", { value })} size={5} numeric /></label>
      <Button kind="small bare" icon="close" label="Take the measured trace away" onClick={() => ask("mode", { mode: "none" })} />
    </span>
  );
}

/* The bars as rows, of what the figure shows: the prediction, a measured trace, or both. */
function BarTable({ facts, measured, send }) {
  const parts = [];
  if (measured.mode !== "measured") parts.push(["predicted", facts]);
  if (measured.mode !== "predicted" && measured.rows.length) parts.push(["measured", measured]);
  return (
    <div class="scroll">
      {parts.map(([name, { rows, more }]) => (
        <section key={name} aria-label={`Timeline, ${name}`}>
          <table class="facts-table">
            {parts.length > 1 && <caption>{name}</caption>}
            <thead><tr><th>lane</th><th>op</th><th>iteration</th><th>kind</th><th class="num">start</th><th class="num">end</th></tr></thead>
            <tbody>
              {rows.map((row, i) => (
                <tr key={i}><td class="mono">{row[0]}</td>
                  <td><button type="button" class="link mono" onClick={() => send({ type: "select", kind: "op", ids: [row[1]] })}>{row[1]}</button></td>
                  <td>{row[2]}</td><td>{row[3]}</td><td class="num">{row[4]}</td><td class="num">{row[5]}</td></tr>
              ))}
            </tbody>
          </table>
          {more > 0 && <p class="detail">and {more} more bars</p>}
        </section>
      ))}
    </div>
  );
}
