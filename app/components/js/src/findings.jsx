import { memo } from "./memo.js";
import { Icon } from "./icons.jsx";

export const Findings = memo(["data", "selection", "verdict"], function Findings({ data, selection, verdict, send }) {
  const { items, problem, advice, opinion } = data;
  const asking = advice.state === "asking";
  return (
    <section class={`pane findings ${verdict.checking ? "stale" : ""}`} aria-label="Findings" aria-busy={verdict.checking || verdict.searching}>
      <div class="heading"><h3>Findings</h3><span class="detail">{items.length ? items.length : ""}</span>
        {opinion && <button type="button" class="link" disabled={opinion.state === "asking" || verdict.checking} title="What Task Scheduling's own check says of this schedule, and why it differs" onClick={() => send({ type: "opinion" })}>{opinion.state === "asking" ? "Asking Task Scheduling…" : "Second opinion"}</button>}
        <button type="button" class="link" disabled={asking || verdict.checking || verdict.word !== "safe"} title="What a safe schedule could do without, and what one more stage would buy: each proved on a copy" onClick={() => send({ type: "advise" })}>{asking ? "Looking for advice…" : "Advice"}</button>
      </div>
      <div class="scroll">
        {problem && <p class="problem" role="alert">{problem}</p>}
        {!items.length && !problem && <p class="empty">{verdict.word === "empty" ? "Nothing to check yet: the document has no operations." : verdict.word === "safe" ? "Nothing found: the schedule is safe." : verdict.checking ? "Checking…" : "Nothing found so far."}</p>}
        {opinion && opinion.notes.map((note) => <p class="empty" role="status" key={note}>{note}</p>)}
        {advice.notes.map((note) => <p class="empty" role="status" key={note}>{note}</p>)}
        <ul>
          {items.map((item) => {
            const chosen = selection.kind === "finding" && selection.ids[0] === item.key;
            return (
              <li key={item.key} class={`finding sev-${item.severity} ${chosen ? "chosen" : ""}`}>
                <button type="button" class="what" aria-pressed={chosen} onClick={() => send({ type: "select", kind: "finding", ids: [item.key] })}>
                  <Icon name={item.severity} label={item.severity} />
                  <span class="code mono">{item.code}</span> <span class="rule">{item.name}</span>
                  <span class="message">{item.message}</span>
                </button>
                <div class="where">
                  {item.where.map((name) => <span class="chip mono" key={name}>{name}</span>)}
                  <button type="button" class="link" onClick={() => send({ type: "select", kind: "finding", ids: [item.key] })}>show</button>
                  {item.fixable && <button type="button" class="link" onClick={() => send({ type: "select", kind: "finding", ids: [item.key] })}>fix</button>}
                </div>
              </li>
            );
          })}
        </ul>
      </div>
    </section>
  );
});
