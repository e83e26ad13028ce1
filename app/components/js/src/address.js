/* The page's address restores the file and what is selected: ...#file=gemm.warpdraft.json&op=math.05 */
import { useEffect, useRef } from "preact/hooks";

const KINDS = ["op", "resource", "task", "finding", "edge", "work", "symbol", "document", "kernel", "tensor"];

export function useAddress(state, send, standalone) {
  const wanted = useRef(undefined);
  const { chrome, selection } = state;
  const checked = chrome && !chrome.verdict.checking && !chrome.verdict.searching;
  useEffect(() => {
    if (!standalone || !checked) return;
    if (wanted.current === undefined) wanted.current = new URLSearchParams(location.hash.slice(1));
    const file = wanted.current?.get("file");
    if (file && file !== chrome.file) {
      wanted.current.delete("file"); // asked for once, also where it cannot be opened
      send({ type: "open", name: file });
      return;
    }
    const kind = wanted.current && KINDS.find((name) => wanted.current.has(name));
    if (kind) {
      const ids = wanted.current.getAll(kind);
      wanted.current = null;
      send({ type: "select", kind, ids });
      return;
    }
    wanted.current = null;
    const now = new URLSearchParams();
    if (chrome.file) now.set("file", chrome.file);
    for (const id of selection.kind ? selection.ids : []) now.append(selection.kind, id);
    if (`#${now}` !== location.hash) history.replaceState(null, "", `#${now}`);
  }, [standalone, checked, chrome?.file, selection]);
}
