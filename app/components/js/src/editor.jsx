import { useEffect, useRef, useState } from "preact/hooks";
import { Offer, Toolbar } from "./toolbar.jsx";
import { Resources } from "./resources.jsx";
import { Graph } from "./graph.jsx";
import { Schedule } from "./schedule.jsx";
import { Findings } from "./findings.jsx";
import { Details } from "./details.jsx";
import { Drawers } from "./drawers.jsx";
import { Dialogs } from "./dialogs.jsx";
import { Disconnected } from "./connection.jsx";
import { useAddress } from "./address.js";
import { handleKey } from "./keys.js";
import { Splitter, stored } from "./splitter.jsx";

const NONE = {};
const LATER = "warpdraft.layout";

export function Editor({ state, send, model, root, timeline, lost }) {
  const [sizes, setSizes] = useState(() => ({ left: 248, right: 352, graph: 190, bottom: 248, ...stored(LATER) }));
  const [theme, setTheme] = useState(() => stored("warpdraft.theme")?.name ?? preferred());
  const [dialog, setDialog] = useState(null);
  const [drawer, setDrawer] = useState("timeline");
  const latest = useRef({});
  latest.current = { state, send, dialog, setDialog, setDrawer, drawer, model, root };

  useEffect(() => {
    root.dataset.theme = theme;
    document.documentElement.dataset.warpdraftTheme = theme;
    localStorage.setItem("warpdraft.theme", JSON.stringify({ name: theme }));
    send({ type: "theme", name: theme });
  }, [theme]);

  useEffect(() => {
    const listen = (event) => handleKey(event, latest.current);
    root.addEventListener("keydown", listen);
    root.focus({ preventScroll: true });
    return () => root.removeEventListener("keydown", listen);
  }, []);

  useEffect(() => send({ type: "look", at: drawer }), [drawer]); // what is not looked at is not made

  useAddress(state, send, model.standalone);

  const resize = (name, value) => setSizes((old) => {
    const next = { ...old, [name]: value };
    localStorage.setItem(LATER, JSON.stringify(next));
    return next;
  });
  if (!state.chrome) return <div class="loading" role="status">Loading…</div>;
  const open = (name) => { setDrawer(name); if (sizes.bottom < 80) resize("bottom", 248); };
  const shared = { state, send, selection: state.selection, marks: state.marks };
  return (
    <>
      <Toolbar {...shared} chrome={state.chrome} files={state.files} theme={theme} setTheme={setTheme} setDialog={setDialog} open={open} />
      {state.chrome.recovery && <Offer send={send} />}
      <main class="panes" style={{
        "--left": `${sizes.left}px`, "--right": `${sizes.right}px`, "--graph": `${sizes.graph}px`, "--bottom": `${sizes.bottom}px`,
      }}>
        <Resources {...shared} data={state.resources} />
        <Splitter name="resources" axis="x" value={sizes.left} sign={1} min={150} max={480} set={(v) => resize("left", v)} area="s1" />
        <Graph {...shared} data={state.graph} />
        <Splitter name="graph" axis="y" value={sizes.graph} sign={1} min={60} max={520} set={(v) => resize("graph", v)} area="s2" />
        <Schedule {...shared} data={state.schedule} cursors={drawer === "debug" ? state.debug.cursors : NONE} breaks={state.debug.breaks.ops} setDialog={setDialog} />
        <Splitter name="findings" axis="x" value={sizes.right} sign={-1} min={220} max={640} set={(v) => resize("right", v)} area="s3" />
        <aside class="side" aria-label="Findings and details">
          <Findings {...shared} data={state.findings} verdict={state.chrome.verdict} />
          <Details {...shared} data={state.details} setDialog={setDialog} open={open} />
        </aside>
        <Splitter name="drawer" axis="y" value={sizes.bottom} sign={-1} min={32} max={640} set={(v) => resize("bottom", v)} area="s4" />
        <Drawers {...shared} tab={drawer} setTab={open} timeline={timeline} theme={theme} />
      </main>
      {lost && <Disconnected />}
      <Dialogs dialog={dialog} setDialog={setDialog} state={state} send={send} root={root} />
    </>
  );
}

function preferred() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
