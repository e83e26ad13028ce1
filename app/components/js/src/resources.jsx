import { memo } from "./memo.js";
import { Button, Icon } from "./icons.jsx";
import { Typed } from "./typed.jsx";

export const Resources = memo(["data", "selection", "marks"], function Resources({ data, selection, marks, send }) {
  const chosen = (kind, name) => selection.kind === kind && selection.ids[0] === name;
  const lit = new Set(selection.resources);
  const row = (item, kind, group) => (
    <li key={item.name} class={`resource ${INLINE.has(group) ? "inline" : ""} ${chosen(kind, item.name) ? "chosen" : ""} ${lit.has(item.name) ? "lit" : ""}`}>
      <button type="button" class="name" aria-pressed={chosen(kind, item.name)} onClick={() => send({ type: "select", kind, ids: [item.name] })}>
        {kind === "task" && <span class={`swatch task-${item.color}`} aria-hidden="true" />}
        <span class="mono">{item.label ?? item.name}</span>
        <Mark severity={(kind === "task" ? marks.tasks : marks.resources)[item.name]} />
        <span class="detail">{[item.space, item.detail].filter(Boolean).join(" · ")}</span>
      </button>
      {item.fields.length > 0 && (
        <div class="fields">
          {item.fields.map((field) => (
            <label key={field.key} title={field.derived !== null ? `derived: ${field.derived}` : undefined}>
              <span class={INLINE.has(group) ? "hidden" : ""}>{field.label}</span>
              <Typed numeric value={field.value === null ? "" : String(field.value)} hint={field.derived !== null ? String(field.derived) : "auto"}
                label={`${field.label} of ${item.name}`}
                commit={(value) => send({ type: "set", kind, name: item.name, key: path(item, kind, field.key), value })} />
            </label>
          ))}
        </div>
      )}
    </li>
  );
  return (
    <section class="pane resources" aria-label="Resources">
      <div class="meters">
        {data.meters.map((meter) => (
          <div class={`meter ${meter.over ? "over" : ""}`} key={meter.label} role="meter" aria-label={meter.label} aria-valuenow={meter.percent}
            aria-valuemin={0} aria-valuemax={100} aria-valuetext={`${meter.text} of ${meter.limit}`}>
            <span class="label">{meter.label}</span><span class="used">{meter.over && <Icon name="error" label="over the limit" />}{meter.text} <i>/ {meter.limit}</i></span>
            <span class="track"><span style={{ width: `${meter.part * 100}%` }} /></span>
          </div>
        ))}
      </div>
      <div class="scroll">
        <Group title="Tasks" what="task" send={send} labels={labels(data.tasks)}>{data.tasks.map((item) => row(item, "task", "tasks"))}</Group>
        <Group title="Resources" what="ring" send={send}>{data.items.map((item) => row(item, "resource"))}</Group>
        <Group title="Barriers" what="barrier" send={send} labels={labels(data.barriers)}>{data.barriers.map((item) => row(item, "resource", "barriers"))}</Group>
        <Group title="Mbarriers" what="mbarrier" send={send} labels={labels(data.mbarriers)}>{data.mbarriers.map((item) => row(item, "resource", "barriers"))}</Group>
        <Group title="Async groups" what="group" send={send}>{data.groups.map((item) => row(item, "resource"))}</Group>
        <Group title="Pipeline groups" what="pipelines" send={send}>{data.pipelines.map((item) => row(item, "resource"))}</Group>
        <Group title="Symbols" what="symbol" send={send}>{data.symbols.map((symbol) => (
          <li key={symbol.name} class={`resource symbol ${chosen("symbol", symbol.name) ? "chosen" : ""}`}>
            <button type="button" class="name" aria-pressed={chosen("symbol", symbol.name)} onClick={() => send({ type: "select", kind: "symbol", ids: [symbol.name] })}>
              <span class="mono">{symbol.name}</span><span class="detail">{symbol.detail}</span></button>
            <label title="The least value that is checked, and that the kernel accepts">at least <Typed numeric size={3} value={String(symbol.min)} label={`least ${symbol.name}`}
              commit={(value) => send({ type: "set", kind: "symbol", name: symbol.name, key: "min", value })} /></label>
            <Button icon="close" kind="small bare" label={`Remove symbol ${symbol.name}`} onClick={() => send({ type: "remove", kind: "symbol", name: symbol.name })} /></li>
        ))}</Group>
        <Group title="Document">{row(data.document, "document")}</Group>
        <Group title="Kernel" what={data.kernel.length ? "tensor" : "kernel"} send={send}>{data.kernel.map((item) => row(item, item.tensor ? "tensor" : "kernel"))}</Group>
      </div>
    </section>
  );
});

function path(item, kind, key) {
  return kind === "resource" && item.pipeline ? `pipeline.${key}` : key;
}

export function Mark({ severity }) {
  return severity ? <span class={`mark sev-${severity}`}><Icon name={severity} size={12} label={severity} /></span> : null;
}

const INLINE = new Set(["tasks", "barriers"]); // lists whose fields stand in one line, under one heading

function labels(items) {
  const same = new Set(items.map((item) => item.fields.map((field) => field.label).join()));
  return same.size === 1 ? items[0].fields.map((field) => field.label) : [];
}

function Group({ title, what, send, labels = [], children }) {
  const add = (event) => {
    event.preventDefault();
    const input = event.currentTarget.elements.name;
    if (input.value.trim()) send({ type: "add", what, name: input.value });
    input.value = "";
    input.blur();
  };
  return (
    <div class="group-block">
      <div class="heading">
        <h3>{title}</h3>
        {what && <form onSubmit={add}><input name="name" placeholder={title === "Kernel" ? `+ ${what}` : "+ add"} aria-label={`Add to ${title}: name`} autocomplete="off" spellcheck={false}
          onKeyDown={(e) => e.key === "Escape" && (e.stopPropagation(), (e.currentTarget.value = ""), e.currentTarget.blur())} /></form>}
      </div>
      {labels.length > 0 && <div class="labels" aria-hidden="true">{labels.map((label) => <span key={label}>{label}</span>)}</div>}
      <ul>{children}</ul>
    </div>
  );
}
