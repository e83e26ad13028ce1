/* A bar between two panes: drag it, or focus it and use the arrow keys. */
export function Splitter({ name, axis, value, sign, min, max, set, area }) {
  const clamp = (v) => Math.max(min, Math.min(max, Math.round(v)));
  const down = (event) => {
    event.preventDefault();
    const start = axis === "x" ? event.clientX : event.clientY;
    const bar = event.currentTarget;
    bar.setPointerCapture(event.pointerId);
    const move = (e) => set(clamp(value + sign * ((axis === "x" ? e.clientX : e.clientY) - start)));
    const up = () => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", up);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", up);
  };
  const key = (event) => {
    const step = { ArrowLeft: -16, ArrowUp: -16, ArrowRight: 16, ArrowDown: 16 }[event.key];
    if (!step || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    set(clamp(value + sign * step));
  };
  return (
    <div class={`splitter ${axis}`} style={{ gridArea: area }} role="separator" tabIndex={0} onPointerDown={down} onKeyDown={key}
      aria-orientation={axis === "x" ? "vertical" : "horizontal"} aria-label={`Size of ${name}`}
      aria-valuenow={value} aria-valuemin={min} aria-valuemax={max} />
  );
}

export function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null;
  }
}
