/* The debugger: one interleaving, forward and back. Python steps; this shows where every warp is and why it waits. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "./icons.jsx";

const PACE = 180; // milliseconds between steps while playing

export function Debugger({ data, send, selection, columns }) {
  const [playing, setPlaying] = useState(false);
  const ask = (doing, more) => send({ type: "debug", do: doing, ...more });
  const over = !data.open || data.ended || data.stuck || Boolean(data.wrong);
  useEffect(() => { if (!data.open) ask("open"); }, [data.open]);
  useEffect(() => {
    if (!playing || over || data.hit) { if (playing) setPlaying(false); return undefined; }
    const timer = setTimeout(() => ask("forward"), PACE);
    return () => clearTimeout(timer);
  }, [playing, over, data.hit, data.position]);
  const start = () => { setPlaying(!playing); if (!playing && data.hit) ask("forward"); };
  if (!data.open) return <div class="panel" role="tabpanel" id="panel-debug" aria-labelledby="tab-debug"><p class="empty">Unrolling…</p></div>;
  const op = selection.kind === "op" ? selection.ids[0] : null;
  const color = Object.fromEntries(columns.map((column) => [column.task, column.color]));
  const verdict = data.wrong ? `undefined behaviour: ${data.wrong}` : data.stuck ? "stuck: nobody can go on" : data.ended ? "every warp has ended" : "";
  return (
    <div class="panel debugger" role="tabpanel" id="panel-debug" aria-labelledby="tab-debug">
      <div class="bar" role="toolbar" aria-label="Debugger">
        <Button kind="small" icon="first" label="To the start" onClick={() => ask("start")} disabled={!data.position} />
        <Button kind="small" icon="back" label="Step back" onClick={() => ask("back")} disabled={!data.position} />
        <Button kind="small" icon={playing ? "stop" : "run"} label={playing ? "Pause" : "Play"} onClick={start} disabled={over} />
        <Button kind="small" icon="forward" label="Step forward" onClick={() => ask("forward")} disabled={over && data.position === data.length} />
        <Button kind="small" icon="last" label="Run to the next breakpoint, or to the end" onClick={() => ask("run")} disabled={over} />
        <Button kind="small" label="Run to the selected operation" disabled={!op || over} onClick={() => ask("op", { op })}>{op ? `Run to ${op}` : "Run to op"}</Button>
        <Button kind="small" icon="breakpoint" label="Break at the selected operation (B)" pressed={data.breaks.ops.includes(op)} disabled={!op} onClick={() => ask("break", { kind: "op", name: op })}>Break</Button>
        <span class="detail">step {data.position}{data.length > data.position ? ` of ${data.length}` : ""} · {data.values}</span>
        <span class={`said ${data.stuck || data.wrong ? "bad" : ""}`} role="status">{verdict || data.note}</span>
      </div>
      <div class="parts">
        <Warps data={data} ask={ask} color={color} send={send} />
        <Barriers data={data} ask={ask} send={send} />
        <Steps data={data} ask={ask} />
      </div>
    </div>
  );
}

function Warps({ data, ask, color, send }) {
  return (
    <section aria-label="Warps"><h3>Warps and engines</h3>
      <ul class="warps">
        {data.warps.map((warp) => (
          <li key={warp.name} class={warp.state}>
            <span class={`swatch task-${color[warp.task]}`} aria-hidden="true" />
            <b class="mono">{warp.name}</b>
            <span class="state">{warp.state}</span>
            <span class="does">{warp.op && <button type="button" class="link mono" onClick={() => send({ type: "select", kind: "op", ids: [warp.op] })}>{warp.op}</button>} {warp.text} <i>{warp.at}</i></span>
            <span class="buttons">
              <Button kind="small" label={`Step ${warp.name}`} disabled={warp.state !== "ready"} onClick={() => ask("step", { stream: warp.index })}>step</Button>
              <Button kind="small bare" label={`Run ${warp.name} to its next wait`} disabled={warp.state === "ended"} onClick={() => ask("wait", { stream: warp.index })}>to wait</Button>
            </span>
            {warp.why.map((why) => <span class="why-line" key={why}>{why}</span>)}
          </li>
        ))}
        {data.flights.map((flight) => (
          <li key={`${flight.stream}.${flight.event}`} class="flight">
            <span class="swatch" aria-hidden="true" />
            <b class="mono">{flight.agent}</b><span class="state">in flight</span>
            <span class="does"><button type="button" class="link mono" onClick={() => send({ type: "select", kind: "op", ids: [flight.op] })}>{flight.op}</button> {flight.text} <i>{flight.at}</i></span>
            <span class="buttons"><Button kind="small" label={`Complete ${flight.op}`} disabled={!flight.ready} onClick={() => ask("end", { stream: flight.stream, event: flight.event, read: flight.read })}>complete</Button></span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Barriers({ data, ask, send }) {
  return (
    <section aria-label="Barriers"><h3>Barriers</h3>
      <table class="facts-table">
        <thead><tr><th>barrier</th><th class="num" title="Phases completed">phase</th><th>pending</th><th class="num" title="Bytes still expected">tx</th><th>waiting</th></tr></thead>
        <tbody>
          {data.barriers.map((barrier) => (
            <tr key={barrier.name} class={barrier.waiting.length ? "awaited" : ""}>
              <td><Button kind="small bare" icon="breakpoint" label={`Break when ${barrier.name} flips`} pressed={data.breaks.barriers.includes(barrier.name)} onClick={() => ask("break", { kind: "barrier", name: barrier.name })} />
                <button type="button" class="link mono" disabled={!barrier.resource} onClick={() => send({ type: "select", kind: "resource", ids: [barrier.resource] })}>{barrier.name}</button></td>
              <td class="num">{barrier.phase}</td><td>{barrier.pending}</td><td class="num">{barrier.tx}</td><td class="mono">{barrier.waiting.join(" ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Steps({ data, ask }) {
  return (
    <section aria-label="Steps so far"><h3>Steps so far</h3>
      <ol class="steps">
        {data.history.map(([position, agent, text, , at]) => (
          <li key={position}><button type="button" class="link mono" title="Back to here" onClick={() => ask("go", { position })}>{position}</button> <b class="mono">{agent}</b> {text} <i>{at}</i></li>
        ))}
        {!data.history.length && <li class="detail">Nothing has happened yet. Step a warp, or play.</li>}
      </ol>
    </section>
  );
}
