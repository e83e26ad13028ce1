/* A deadlock on the dependency graph. */
export const SVG = "http://www.w3.org/2000/svg";

/* Its cycle: from each task that waits to the resource whose barrier it waits for, and on to the task that owes. */
export function drawCycle(svg, links) {
  svg?.querySelector("g.cycle")?.remove();
  const frame = svg?.querySelector("g.graph");
  if (!frame || !links.length) return;
  const group = document.createElementNS(SVG, "g");
  group.setAttribute("class", "cycle");
  group.setAttribute("role", "img");
  group.setAttribute("aria-label", `Cycle of waits: ${links.map((l) => `${l.waits} waits for ${l.resource}, which ${l.owes} owes`).join("; ")}`);
  for (const { waits, resource, owes } of links) {
    const node = svg.querySelector(`g.node[id="${CSS.escape(`res:${resource}`)}"]`);
    if (!node) continue;
    const from = labelOf(svg, waits, resource), to = labelOf(svg, owes, resource);
    if (from) group.append(...arrow(from.getBBox(), node.getBBox(), true));
    if (to) group.append(...arrow(node.getBBox(), to.getBBox(), false));
  }
  frame.append(group);
}

/* Where a task is named: at an edge of the resource if there is one. */
function labelOf(svg, task, resource) {
  const texts = [...svg.querySelectorAll("g.edge text")].filter((text) => text.textContent.trim() === task);
  const beside = (text) => text.closest("g.edge").id.replace(/^\w+:/, "").split("->").includes(resource);
  return texts.find(beside) ?? texts[0];
}

/* An arrow between two boxes: over their tops to what is waited for, under their bottoms to who owes it. */
function arrow(a, b, over) {
  const middle = (box) => box.x + box.width / 2;
  const side = (box, other) => middle(box) + Math.sign(middle(other) - middle(box)) * box.width * 0.22;
  const height = (box) => (over ? box.y : box.y + box.height);
  const p = { x: side(a, b), y: height(a) }, q = { x: side(b, a), y: height(b) };
  const bend = { x: (p.x + q.x) / 2, y: over ? Math.min(p.y, q.y) - 20 : Math.max(p.y, q.y) + 20 };
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", `M${p.x} ${p.y}Q${bend.x} ${bend.y} ${q.x} ${q.y}`);
  const turn = Math.atan2(q.y - bend.y, q.x - bend.x);
  const wing = (by) => `${q.x - 8 * Math.cos(turn + by)} ${q.y - 8 * Math.sin(turn + by)}`;
  const head = document.createElementNS(SVG, "polygon");
  head.setAttribute("points", `${q.x} ${q.y} ${wing(0.45)} ${wing(-0.45)}`);
  return [path, head];
}
