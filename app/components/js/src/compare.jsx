/* Two documents: what differs, the verdicts, and the timelines one above the other. */
import { useEffect } from "preact/hooks";

export function Compare({ data, files, chrome, send, theme }) {
  const ask = (key) => send({ type: "compare", with: key, theme });
  const stale = data.with && (data.revision !== chrome.revision || data.theme !== theme);
  useEffect(() => { if (stale && data.state !== "asking") ask(data.with); }, [stale, data.state]);
  const { answer } = data;
  return (
    <div class="panel scroll compare" role="tabpanel" id="panel-compare" aria-labelledby="tab-compare">
      <div class="bar">
        <label>Compare with <select aria-label="Compare with" value={data.with} onFocus={() => send({ type: "files" })} onChange={(e) => ask(e.currentTarget.value)}>
          <option value="">choose…</option>
          {data.options.map(([key, title]) => <option key={key} value={key}>{title}</option>)}
          {files.map((file) => <option key={file} value={file}>{file}</option>)}
        </select></label>
        {data.state === "asking" && <span class="detail" role="status">comparing… <span class="busy" aria-hidden="true" /></span>}
        {answer?.faster && <b role="status">{answer.faster}</b>}
      </div>
      {data.problem && <p class="problem" role="alert">{data.problem}</p>}
      {!answer && !data.problem && data.state !== "asking" && <p class="empty">Choose an earlier state of this document, or another file: it is compared with what is shown now.</p>}
      {answer && <Answer answer={answer} />}
    </div>
  );
}

function Answer({ answer }) {
  return (
    <>
      <div class="sides">
        <section aria-label="Facts">
          <table class="facts-table">
            <thead><tr><th /><th>{answer.names[0]}</th><th>{answer.names[1]}</th></tr></thead>
            <tbody>{answer.facts.map(([name, a, b]) => <tr key={name} class={a === b ? "" : "changed"}><td>{name}</td><td>{a}</td><td>{b}</td></tr>)}</tbody>
          </table>
          {answer.gone.map((line) => <p class="plus" key={line}>− {line}</p>)}
          {answer.new.map((line) => <p class="minus" key={line}>+ {line}</p>)}
        </section>
        <section aria-label="Differences">
          {answer.diff.length ? <pre class="diff">{answer.diff.map(([sign, text], i) => <span key={i} class={{ "+": "plus", "-": "minus", "@": "at" }[sign] ?? ""}>{sign === "@" ? text : `${sign} ${text}`}{"\n"}</span>)}</pre>
            : <p class="empty">The schedules are the same.</p>}
        </section>
      </div>
      {answer.svgs.map((svg, i) => (
        <figure key={i}><figcaption class="detail">{answer.names[i]}</figcaption>
          <img alt={`Timeline ${answer.names[i]}: ${answer.facts.find(([name]) => name === "predicted cycles")[i + 1]} cycles`} src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`} /></figure>
      ))}
    </>
  );
}
