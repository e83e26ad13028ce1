import { useEffect, useRef, useState } from "preact/hooks";
import { memo } from "./memo.js";
import { Button } from "./icons.jsx";
import { PanZoom } from "./panzoom.js";
import { SVG, drawCycle } from "./cycle.js";

export const Graph = memo(["data", "selection", "marks"], function Graph({ data, selection, marks, send }) {
  const box = useRef(null);
  const view = useRef(null);
  const [table, setTable] = useState(false);

  useEffect(() => {
    const holder = box.current;
    if (!holder) return undefined;
    holder.innerHTML = data.svg;
    const svg = holder.querySelector("svg");
    if (!svg) return undefined;
    prepare(svg);
    view.current = new PanZoom(svg, holder, view.current);
    const watch = new ResizeObserver(() => view.current?.apply());
    watch.observe(holder);
    return () => { watch.disconnect(); view.current?.detach(); };
  }, [data.svg, table]);

  useEffect(() => {
    const svg = box.current?.querySelector("svg");
    if (!svg) return;
    for (const node of svg.querySelectorAll("g.node")) {
      const name = node.id.slice(4);
      mark(node, marks.resources[name]);
      node.classList.toggle("chosen", selection.kind === "resource" && selection.ids[0] === name);
      node.classList.toggle("lit", (selection.resources ?? []).includes(name));
      node.setAttribute("aria-label", `${name}${marks.resources[name] ? `, ${marks.resources[name]}` : ""}`);
    }
    for (const edge of svg.querySelectorAll("g.edge")) {
      edge.classList.toggle("chosen", selection.kind === "edge" && selection.ids[0] === edge.id.slice(5));
    }
  }, [data.svg, marks, selection, table]);

  useEffect(() => { // what was chosen elsewhere may lie outside; of several, the first is seen for certain
    const wanted = box.current?.querySelectorAll("g.node.chosen, g.node.lit, g.edge.chosen") ?? [];
    for (const element of [...wanted].reverse()) view.current?.reveal(element);
  }, [data.svg, selection, table]);

  useEffect(() => drawCycle(box.current?.querySelector("svg"), selection.cycle ?? []), [data.svg, selection, table]);

  const hit = (event) => event.target.closest?.("g.node, g.edge");
  const pick = (element) => {
    if (element.classList.contains("node")) send({ type: "select", kind: "resource", ids: [element.id.slice(4)] });
    else if (element.id.startsWith("edge:")) send({ type: "select", kind: "edge", ids: [element.id.slice(5)] });
    else {
      const [up, down] = element.id.slice(8).split("->");
      send({ type: "add_edge", up, down });
    }
  };
  const key = (event) => {
    if ((event.key === "Enter" || event.key === " ") && hit(event)) {
      event.preventDefault();
      event.stopPropagation();
      pick(hit(event));
    }
  };
  return (
    <section class="pane graph" aria-label="Dependency graph">
      <div class="tools">
        <Button icon="zoomin" kind="small bare" label="Zoom in" onClick={() => view.current?.zoom(1.25)} disabled={table} />
        <Button icon="zoomout" kind="small bare" label="Zoom out" onClick={() => view.current?.zoom(0.8)} disabled={table} />
        <Button icon="fit" kind="small bare" label="Fit the graph" onClick={() => view.current?.fit()} disabled={table} />
        <Button icon="table" kind="small bare" label="Show as a table" pressed={table} onClick={() => setTable(!table)} />
      </div>
      {data.problem && <p class="problem" role="alert">{data.problem}</p>}
      {table || !data.svg ? <EdgeTable rows={data.rows} send={send} /> : (
        <div class="drawing" ref={box} onClick={(e) => !view.current?.moved && hit(e) && pick(hit(e))} onKeyDown={key}
          onPointerDown={(e) => connect(e, box.current, view.current, send)} />
      )}
    </section>
  );
});

function mark(element, severity) {
  for (const kind of ["error", "warning", "advice"]) element.classList.toggle(`sev-${kind}`, severity === kind);
}

/* Sizes come from the pane; edges get a wide invisible stroke to be hit; nodes and edges can be focused. */
function prepare(svg) {
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Dependency graph");
  for (const edge of svg.querySelectorAll("g.edge")) {
    const path = edge.querySelector("path");
    if (path) {
      const wide = path.cloneNode();
      wide.setAttribute("class", "hit");
      edge.prepend(wide);
    }
    const missing = edge.id.startsWith("missing:");
    edge.setAttribute("aria-label", `${missing ? "missing dependency, press to add: " : ""}${edge.id.replace(/^\w+:/, "").replace("->", " to ")}`);
  }
  for (const element of svg.querySelectorAll("g.node, g.edge")) {
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
  }
}

/* Dragging from one node to another adds a dependency. */
function connect(event, box, view, send) {
  const from = event.target.closest?.("g.node");
  if (!from || event.button !== 0) return;
  view.hold(event);
  const line = document.createElementNS(SVG, "line");
  line.setAttribute("class", "rubber");
  const svg = box.querySelector("svg");
  const start = view.point(event);
  const root = box.getRootNode();
  let shown = false;
  const move = (e) => {
    const now = view.point(e);
    if (!shown && Math.hypot(now.x - start.x, now.y - start.y) < 6) return;
    if (!shown) svg.append(line);
    shown = true;
    view.moved = true;
    for (const [name, value] of [["x1", start.x], ["y1", start.y], ["x2", now.x], ["y2", now.y]]) line.setAttribute(name, value);
  };
  const up = (e) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    line.remove();
    const to = root.elementFromPoint(e.clientX, e.clientY)?.closest?.("g.node");
    if (shown && to && to !== from) send({ type: "add_edge", up: from.id.slice(4), down: to.id.slice(4) });
    setTimeout(() => { view.moved = false; });
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
}

function EdgeTable({ rows, send }) {
  return (
    <div class="scroll">
      <table class="facts-table">
        <thead><tr><th>from</th><th>to</th><th>by task</th><th /></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.up}->${row.down}`}>
              <td><button type="button" class="link mono" onClick={() => send({ type: "select", kind: "resource", ids: [row.up] })}>{row.up}</button></td>
              <td><button type="button" class="link mono" onClick={() => send({ type: "select", kind: "resource", ids: [row.down] })}>{row.down}</button></td>
              <td class="mono">{row.tasks}</td>
              <td>{row.missing ? <Button kind="small" onClick={() => send({ type: "add_edge", up: row.up, down: row.down })}>add, it is missing</Button> : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
