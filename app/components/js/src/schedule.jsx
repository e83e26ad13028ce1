import { useEffect, useRef } from "preact/hooks";
import Sortable from "sortablejs";
import { memo } from "./memo.js";
import { Button } from "./icons.jsx";
import { Mark } from "./resources.jsx";

export const Schedule = memo(["data", "selection", "marks", "cursors", "breaks"], function Schedule({ data, selection, marks, cursors, breaks, send, setDialog, state }) {
  const box = useRef(null);
  const chosen = new Set(selection.kind === "op" ? selection.ids : []);
  const lit = new Set(selection.ops);
  const first = selection.kind === "op" ? selection.ids[0] : selection.ops?.[0];
  useEffect(() => {
    if (first) box.current?.querySelector(`[data-id="${CSS.escape(first)}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [first, data]);
  const context = { cursors, breaks: new Set(breaks), chosen, lit, marks: marks.ops, send, setDialog, revision: state.chrome.revision };
  return (
    <section class="pane schedule" aria-label="Schedule">
      <div class="columns" ref={box}><div class="track">
        {data.columns.map((column) => (
          <Column key={column.task} column={column} context={context} selected={selection.kind === "task" && selection.ids[0] === column.task}
            mark={marks.tasks[column.task]} />
        ))}
        {data.columns.length === 0 && <p class="empty">No tasks yet: add one under Tasks, on the left.</p>}
      </div></div>
    </section>
  );
});

function Column({ column, context, selected, mark }) {
  const { send, setDialog } = context;
  return (
    <div class={`column task-${column.color}`} data-task={column.task}>
      <header class={selected ? "chosen" : ""}>
        <span class={`swatch task-${column.color}`} aria-hidden="true" />
        <button type="button" class="task-name mono" aria-pressed={selected} onClick={() => send({ type: "select", kind: "task", ids: [column.task] })}>
          {column.task}
        </button>
        <Mark severity={mark} />
        <span class="detail">{column.warps}{column.registers ? ` · ${column.registers} regs` : ""}</span>
        {column.split.length > 0 && <Button icon="split" kind="small bare" label={`Split ${column.task} in two tasks`}
          onClick={() => send({ type: "select", kind: "task", ids: [column.task] })} />}
        <Button icon="plus" kind="small bare" label={`Insert into ${column.task}`} title="Insert at the end (i: after the selected op)"
          onClick={() => setDialog({ kind: "insert", task: column.task, parent: column.task, index: column.nodes.length })} />
      </header>
      <Body nodes={column.nodes} parent={column.task} context={context} label={`Schedule of ${column.task}`} level={1} />
    </div>
  );
}

function Body({ nodes, parent, context, label, level }) {
  const list = useRef(null);
  const latest = useRef(context);
  latest.current = context;
  useEffect(() => {
    const sortable = Sortable.create(list.current, {
      group: "ops", animation: 90, draggable: ".node", forceFallback: true, fallbackTolerance: 4, fallbackOnBody: false,
      invertSwap: true, swapThreshold: 0.6, emptyInsertThreshold: 8, ghostClass: "ghost", dragClass: "dragged", scroll: true,
      filter: "button,input", preventOnFilter: false,
      onEnd: ({ item, from, to, oldDraggableIndex, newDraggableIndex }) => {
        // The page shows what Python says: put the element back, and ask for the move.
        const siblings = [...from.children].filter((child) => child !== item);
        from.insertBefore(item, siblings[oldDraggableIndex] ?? null);
        if (from === to && oldDraggableIndex === newDraggableIndex) return;
        latest.current.send({ type: "move", id: item.dataset.id, parent: to.dataset.parent, index: newDraggableIndex });
      },
    });
    return () => sortable.destroy();
  }, []);
  return (
    <ul class="body" ref={list} data-parent={parent} role={level === 1 ? "tree" : "group"} aria-label={label}>
      {nodes.map((node) => <Row key={node.id} node={node} context={context} level={level} />)}
    </ul>
  );
}

function Row({ node, context, level }) {
  const { cursors, breaks, chosen, lit, marks, send } = context;
  const pick = (event) => {
    event.stopPropagation();
    const more = (event.shiftKey || event.ctrlKey || event.metaKey) && chosen.size && !chosen.has(node.id);
    send({ type: "select", kind: "op", ids: more ? [...chosen, node.id] : [node.id] });
  };
  const severity = marks[node.id];
  const classes = `node is-${node.kind} ${chosen.has(node.id) ? "chosen" : ""} ${lit.has(node.id) ? "lit" : ""} ${severity ? `sev-${severity}` : ""}`;
  return (
    <li class={classes} data-id={node.id} role="treeitem" aria-level={level} aria-selected={chosen.has(node.id)}
      aria-label={`${node.kind === "op" ? spoken(node) : node.text}${severity ? `, ${severity}` : ""}`} onClick={pick}>
      {node.kind === "op" ? <Operation node={node} severity={severity} cursors={cursors[node.id]} broken={breaks.has(node.id)} send={send} /> : (
        <>
          <div class="head"><span class="gutter"><Mark severity={severity} /></span><span class="text">{node.text}</span></div>
          <Body nodes={node.nodes} parent={node.id} context={context} label={node.text} level={level + 1} />
        </>
      )}
    </li>
  );
}

function spoken(node) {
  return `${node.target ? `${node.target}.` : ""}${node.verb}(${node.args})`;
}

function Operation({ node, severity, cursors, broken, send }) {
  return (
    <div class={`op ${node.role}`} title={`${node.id}: ${node.results ? `${node.results} = ` : ""}${spoken(node)}`}>
      <span class="gutter"><Mark severity={severity} /></span>
      <span class="call">
        {node.results && <span class="made">{node.results} = </span>}
        {node.target && <span class="target">{node.target}.</span>}<b>{node.verb}</b>
        <span class="args">({node.args})</span>
      </span>
      {broken && <Button kind="small bare breakpoint" icon="breakpoint" label={`Take the breakpoint at ${node.id} away`} pressed onClick={(e) => { e.stopPropagation(); send({ type: "debug", do: "break", kind: "op", name: node.id }); }} />}
      {cursors && <span class="chip cursor" title="These warps are here">▸ {cursors.join(" ")}</span>}
      {node.copies > 1 && <span class="chip" title={`One of ${node.copies} copies of one line`}>×{node.copies}</span>}
      {node.engine && <span class={`chip engine ${node.engine}`}>{node.engine.replace("_", " ")}</span>}
    </div>
  );
}

