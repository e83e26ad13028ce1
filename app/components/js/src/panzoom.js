/* Pans and zooms an SVG by its viewBox: wheel to zoom, drag to pan, fit to show all. Until then words stay large enough to read:
   of what has no room at that size the beginning is shown. */
const LARGEST = 1.5; // pixels per point
const LEAST = 0.85; // words of 12 and 11 points are about 10 pixels high then

export class PanZoom {
  constructor(svg, holder, before) {
    this.svg = svg;
    this.holder = holder;
    const [x, y, width, height] = svg.getAttribute("viewBox").split(/\s+/).map(Number);
    this.all = { x, y, width, height };
    this.moved = false;
    const kept = before && same(before.all, this.all) ? before : null;
    this.own = kept?.own ?? null; // the part that was chosen
    this.least = kept?.least ?? LEAST; // where none is: all of it, but no smaller than this
    this.wheel = (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), this.point(event));
    };
    this.down = (event) => this.pan(event);
    holder.addEventListener("wheel", this.wheel, { passive: false });
    holder.addEventListener("pointerdown", this.down);
    this.apply();
  }

  detach() {
    this.holder.removeEventListener("wheel", this.wheel);
    this.holder.removeEventListener("pointerdown", this.down);
  }

  apply() {
    const box = this.box();
    this.svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
  }

  /* What is seen. A pane of another size shows more or less of it, at the same scale. */
  box() {
    const { clientWidth: w, clientHeight: h } = this.holder;
    if (this.own && w && h) return { x: this.own.x, y: this.own.y, width: w * this.own.scale, height: h * this.own.scale };
    return this.whole(w, h);
  }

  take(box) {
    if (this.holder.clientWidth) this.own = { x: box.x, y: box.y, scale: box.width / this.holder.clientWidth };
    this.apply();
  }

  /* The whole graph in the middle, at most at its largest size; its beginning where it does not fit at the least. */
  whole(w, h) {
    if (!w || !h) return this.all;
    const scale = Math.max(this.least, Math.min(LARGEST, w / this.all.width, h / this.all.height));
    const width = w / scale, height = h / scale;
    const room = (free) => Math.max(0, free / 2);
    return { x: this.all.x - room(width - this.all.width), y: this.all.y - room(height - this.all.height), width, height };
  }

  fit() {
    this.own = null;
    this.least = 0;
    this.apply();
  }

  /* Pans, if it must, until the whole of ``element`` is seen, or its beginning. */
  reveal(element) {
    const box = this.box(), { x, y, width, height } = element.getBBox(), about = 8;
    const matrix = this.svg.getScreenCTM().inverse().multiply(element.getScreenCTM());
    const start = new DOMPoint(x, y).matrixTransform(matrix), end = new DOMPoint(x + width, y + height).matrixTransform(matrix);
    const far = (from, to, begin, size) => from - about < begin ? from - about - begin : Math.min(from - about - begin, Math.max(0, to + about - begin - size));
    const dx = far(start.x, end.x, box.x, box.width), dy = far(start.y, end.y, box.y, box.height);
    if (!dx && !dy) return;
    this.take({ ...box, x: box.x + dx, y: box.y + dy });
  }

  zoom(factor, at) {
    const box = this.box();
    const centre = at ?? { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    const width = Math.max(40, Math.min(this.all.width * 8, box.width / factor));
    const k = width / box.width;
    this.take({ x: centre.x - (centre.x - box.x) * k, y: centre.y - (centre.y - box.y) * k, width });
  }

  point(event) {
    const matrix = this.svg.getScreenCTM().inverse();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
  }

  /* The next pan is not for this press: something else was grabbed. */
  hold(event) {
    this.held = event.pointerId;
  }

  pan(event) {
    if (event.button !== 0 || event.target.closest?.("g.node, g.edge")) return;
    const start = { x: event.clientX, y: event.clientY }, box = this.box();
    const scale = box.width / this.holder.clientWidth;
    const move = (e) => {
      if (Math.hypot(e.clientX - start.x, e.clientY - start.y) > 3) this.moved = true;
      if (!this.moved) return;
      this.take({ ...box, x: box.x - (e.clientX - start.x) * scale, y: box.y - (e.clientY - start.y) * scale });
    };
    const up = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      setTimeout(() => { this.moved = false; });
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  }
}

function same(a, b) {
  return a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
}
