const KEYS = [
  ["↑ ↓", "previous, next operation (also , and .)"], ["← →", "the column beside"], ["Alt+↑ ↓", "move the operation, also into and out of blocks"],
  ["I", "insert after the selection"], ["Del", "delete"], ["Ctrl+D", "duplicate"], ["Enter", "edit the first field"], ["Shift+click", "select more"],
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"], ["Ctrl+S", "save"], ["W S", "zoom the timeline"], ["A D", "pan the timeline"], ["F", "timeline to the selection"], ["M", "measure the selection, or by dragging"], ["T", "search the timeline"],
  ["B", "break the debugger at the operation"], ["N, Shift+N", "next, previous finding"], ["/, Ctrl+K", "go to anything by name"], ["Esc", "clear the selection"], ["?", "this list"],
];

export function Help({ close, root }) {
  const leave = () => { close(); root.focus({ preventScroll: true }); };
  return (
    <div class="veil" onClick={leave}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keys" tabIndex={-1} ref={(e) => e && !e.dataset.seen && (e.dataset.seen = 1, e.focus())}
        onClick={(e) => e.stopPropagation()} onKeyDown={(e) => { e.stopPropagation(); if (e.key === "Escape" || e.key === "?") leave(); }}>
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, what]) => <div key={key}><dt>{key.split(", ").map((chord, n) => <>{n > 0 && " or "}{chord.split(/(?<=\S)[+](?=\S)/).map((k, i) => <>{i > 0 && "+"}<kbd>{k}</kbd></>)}</>)}</dt><dd>{what}</dd></div>)}</dl>
        <p class="detail">Wheel or pinch zooms graph and timeline, drag pans. Drag an operation to move it, drag from node to node to add a dependency.</p>
      </div>
    </div>
  );
}
