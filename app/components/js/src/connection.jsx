/* Says when the server is gone, and when it is back. Until then nothing is sent: what was acknowledged lies in the autosave. */
import { useEffect, useState } from "preact/hooks";
import { Button, Icon } from "./icons.jsx";

const PAUSE = 1000; // milliseconds between two looks for the server

/* Calls back when the page's connection to the server is lost. In a notebook there is none. */
export function watchConnection(lost) {
  const documents = globalThis.Bokeh?.documents ?? [];
  for (const document of documents) document.on_event("connection_lost", lost);
}

async function answers() {
  try {
    return (await fetch(location.href.split("#")[0], { method: "HEAD", cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}

export function Disconnected() {
  const [back, setBack] = useState(false);
  useEffect(() => {
    if (back) return undefined;
    let over = false;
    const timer = setInterval(async () => { if (await answers() && !over) setBack(true); }, PAUSE);
    return () => { over = true; clearInterval(timer); };
  }, [back]);
  return (
    <div class={`connection ${back ? "back" : "gone"}`} role="alert">
      <Icon name={back ? "ok" : "warning"} />
      <span class="said">{back
        ? "The server is back. Reload to go on: unsaved changes are offered again."
        : "Disconnected: the server has stopped. Edits made until now are kept beside the file; start it again (warpdraft show) to go on."}</span>
      {back && <Button kind="small primary" onClick={() => location.reload()}>Reload</Button>}
      {!back && <span class="busy" aria-hidden="true" />}
    </div>
  );
}
