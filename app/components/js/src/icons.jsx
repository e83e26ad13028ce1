/* Small line icons, drawn here so that the page asks nothing from outside. */
const PATHS = {
  error: "M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2zM5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8",
  warning: "M8 1.8 15 14H1zM8 6v4M8 11.7v.4",
  advice: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 7.2v4M8 4.6v.5",
  ok: "M2.5 8.5 6.3 12l7.2-8",
  undo: "M5.5 3 2 6.5 5.5 10M2 6.5h7.5a4 4 0 0 1 0 8H6",
  redo: "M10.5 3 14 6.5 10.5 10M14 6.5H6.5a4 4 0 0 0 0 8H10",
  save: "M2.5 2.5h8.7l2.3 2.3v8.7h-11zM5 2.5v3.8h5V2.5M4.8 13.5V9.3h6.4v4.2",
  open: "M1.8 13V3h4l1.5 1.8h6.9V13z",
  export: "M8 10V1.8M4.8 4.6 8 1.5l3.2 3.1M2 9.5v4.5h12V9.5",
  run: "M4 2.5v11l9-5.5z",
  stop: "M3.5 3.5h9v9h-9z",
  theme: "M8 1.5a6.5 6.5 0 1 0 0 13zM8 1.5a6.5 6.5 0 0 1 0 13",
  help: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9 8 10M8 12.2v.5",
  plus: "M8 2.5v11M2.5 8h11",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  fit: "M2 5.5V2h3.5M10.5 2H14v3.5M14 10.5V14h-3.5M5.5 14H2v-3.5",
  zoomin: "M8 4v8M4 8h8",
  zoomout: "M4 8h8",
  ruler: "M1.5 5.5h13v5h-13zM4.5 5.5v2.5M7.5 5.5v2.5M10.5 5.5v2.5",
  first: "M3 3v10M13 3.5 6.5 8l6.5 4.5z",
  back: "M10.5 3.5 5 8l5.5 4.5z",
  forward: "M5.5 3.5 11 8l-5.5 4.5z",
  last: "M13 3v10M3 3.5 9.5 8 3 12.5z",
  breakpoint: "M8 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8z",
  table: "M2 3h12v10H2zM2 6.4h12M2 9.7h12M6 3v10",
  split: "M8 14V9.5M8 9.5C8 7 3.5 7.5 3.5 3M8 9.5C8 7 12.5 7.5 12.5 3M1.5 5l2-2.2L5.5 5M10.5 5l2-2.2 2 2.2",
  trash: "M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  download: "M8 2v8M4.8 7.3 8 10.4l3.2-3.1M2 10.5V14h12v-3.5",
};
const FILLED = new Set(["run", "stop"]);

export function Icon({ name, size = 14, label }) {
  return (
    <svg class={`icon icon-${name}`} width={size} height={size} viewBox="0 0 16 16" role={label ? "img" : undefined}
      aria-label={label} aria-hidden={label ? undefined : "true"} fill={FILLED.has(name) ? "currentColor" : "none"}
      stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Button({ icon, children, label, title, onClick, disabled, kind = "", pressed, ...rest }) {
  return (
    <button type="button" class={`button ${kind}`} onClick={onClick} disabled={disabled} aria-label={label} aria-pressed={pressed}
      title={title ?? label} {...rest}>
      {icon && <Icon name={icon} />}{children && <span>{children}</span>}
    </button>
  );
}
