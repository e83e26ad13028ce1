/* The form of an op, loop, guard, resource, task or edge, and what can be done to it. */
import { useState } from "preact/hooks";
import { Button } from "./icons.jsx";
import { Typed } from "./typed.jsx";

export function NodeForm({ data, send, setDialog }) {
  const [all, setAll] = useState(false);
  const several = (data.chosen ?? 1) > 1;
  const copies = all && data.copies > 1;
  const set = (field) => (value) => send({ type: "set", kind: data.of, name: data.name, key: field.key, value, copies });
  return (
    <article class="form">
      <h2 class="mono">{several ? `${data.chosen} selected` : data.title}</h2>
      <p class="detail">{data.what}{data.of === "op" && !several ? ` ${data.name}` : ""}{data.source ? ` · ${data.source}` : ""}</p>
      {data.copies > 1 && !several && (
        <label class="copies"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> edit all {data.copies} copies of this line</label>
      )}
      {!several && <Fields fields={data.fields} set={set} />}
      {data.works && <Works data={data} send={send} />}
      <Actions data={data} send={send} setDialog={setDialog} copies={copies} />
      {data.split && <Split data={data} send={send} />}
      {data.why && <Why why={data.why} />}
    </article>
  );
}

function Fields({ fields, set }) {
  return (
    <div class="grid">
      {fields.map((field) => (
        <label key={field.key} class={field.kind} title={field.hint || undefined}>
          {field.kind !== "bool" && <span>{field.label}</span>}
          <Field field={field} commit={set(field)} />
          {field.kind === "bool" && <span>{field.label}</span>}
        </label>
      ))}
    </div>
  );
}

function Field({ field, commit }) {
  if (field.kind === "bool") return <input type="checkbox" checked={field.value} onChange={(e) => commit(e.currentTarget.checked)} />;
  if (field.kind === "choice") {
    return (
      <select value={field.value} onChange={(e) => { const to = e.currentTarget.value; e.currentTarget.value = field.value; commit(to); }}>
        {field.options.map((option) => <option key={option} value={option}>{option || `(${field.hint || "none"})`}</option>)}
      </select>
    );
  }
  return <Typed value={field.value} commit={commit} hint={field.hint} numeric={field.kind === "int"} options={field.kind === "combo" ? field.options : undefined} />;
}

function Actions({ data, send, setDialog, copies }) {
  const does = (name) => data.actions.includes(name);
  const ids = data.ids ?? [data.name];
  return (
    <div class="actions">
      {data.of === "op" && ids.length === 1 && <Button icon="plus" kind="small" title="Insert after it (i)" onClick={() => setDialog({ kind: "insert", task: data.task, after: data.name })}>Insert</Button>}
      {does("duplicate") && <Button icon="copy" kind="small" onClick={() => send({ type: "duplicate", id: data.name })}>Duplicate</Button>}
      {does("delete") && <Button icon="trash" kind="small" title="Delete (Del)" onClick={() => send({ type: "delete", ids, copies })}>{copies ? `Delete all ${data.copies}` : "Delete"}</Button>}
      {does("remove") && <Button icon="trash" kind="small" onClick={() => send({ type: "remove", kind: data.of, name: data.name })}>Remove</Button>}
      {does("unwrap") && <Button kind="small" title="Replace it by what is in it" onClick={() => send({ type: "unwrap", id: data.name })}>Unwrap</Button>}
      {does("wrap") && (
        <select class="small" aria-label="Wrap in a block" value="" onChange={(e) => { send({ type: "wrap", task: data.task, ids, offer: e.currentTarget.value }); e.currentTarget.value = ""; }}>
          <option value="">Wrap in…</option>
          {data.wraps.map((wrap) => <option key={wrap.key} value={wrap.key}>{wrap.label}</option>)}
        </select>
      )}
      {does("why") && <Button icon="help" kind="small" title="Delete it on a copy, verify again, and tell what breaks" onClick={() => send({ type: "why", id: data.name })}>Why is it here?</Button>}
    </div>
  );
}

/* What the resource's works are, and one more. */
function Works({ data, send }) {
  const add = (event) => {
    event.preventDefault();
    const { name, role, engine, parameters, returns, view } = event.currentTarget.elements;
    send({ type: "add", what: "work", resource: data.name, name: name.value, role: role.value, engine: engine.value,
      parameters: parameters.value, returns: returns.value, view: view.checked });
    event.currentTarget.reset();
  };
  return (
    <section class="works" aria-label="Works">
      <h3>Works</h3>
      <ul>{data.works.map((work) => (
        <li key={work.name}><button type="button" class="link mono" onClick={() => send({ type: "select", kind: "work", ids: [`${data.name}.${work.name}`] })}><b>{work.name}</b></button><span class="mono detail">{work.text}</span>
          <Button icon="close" kind="small bare" label={`Remove work ${work.name}`} onClick={() => send({ type: "remove", kind: "work", name: `${data.name}.${work.name}` })} /></li>
      ))}</ul>
      <details>
        <summary>Add a work</summary>
        <form onSubmit={add}>
          <div class="grid">
            <label><span>name</span><input class="typed" name="name" required autocomplete="off" spellcheck={false} /></label>
            <label><span>role</span><select name="role"><option>producer</option><option>consumer</option></select></label>
            <label><span>engine</span><select name="engine">{data.engines.map((e) => <option key={e} value={e}>{e || "(by default rule)"}</option>)}</select></label>
            <label><span>takes</span><input class="typed" name="parameters" placeholder="coord_m, coord_k" autocomplete="off" spellcheck={false} /></label>
            <label><span>makes</span><input class="typed" name="returns" placeholder="tiles" autocomplete="off" spellcheck={false} /></label>
            <label class="bool"><input type="checkbox" name="view" /><span>view</span></label>
          </div>
          <Button icon="plus" kind="small" type="submit" onClick={(e) => { e.preventDefault(); e.currentTarget.form.requestSubmit(); }}>Add</Button>
        </form>
      </details>
    </section>
  );
}

function Why({ why }) {
  return <section class={`why ${why.state}`} role="status" aria-label="Why it is here"><b>{why.title}</b>{why.lines.map((line) => <p key={line}>{line}</p>)}</section>;
}

function Split({ data, send }) {
  const [ring] = data.split.rings;
  const submit = (event) => {
    event.preventDefault();
    const form = event.currentTarget.elements;
    const works = ring.works.filter((work) => form[`work:${work}`].checked);
    send({ type: "split", task: data.name, works, name: form.name.value, warp: form.warp.value });
  };
  return (
    <form class="split" onSubmit={submit} aria-label={`Split ${data.name}`}>
      <h3>Split in two tasks</h3>
      <p class="detail">These works of <span class="mono">{ring.ring}</span> go to a task of their own:</p>
      {ring.works.map((work, i) => (
        <label key={work} class="mono"><input type="checkbox" name={`work:${work}`} defaultChecked={i === ring.works.length - 1} /> {work}</label>
      ))}
      <div class="grid">
        <label><span>new task</span><input class="typed" name="name" defaultValue={data.split.name} autocomplete="off" spellcheck={false} /></label>
        <label><span>on warp</span><input class="typed numeric" name="warp" defaultValue={data.split.warp} inputMode="numeric" /></label>
      </div>
      <Button icon="split" kind="small primary" onClick={(e) => e.currentTarget.form.requestSubmit()}>Split</Button>
    </form>
  );
}
