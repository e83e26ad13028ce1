/* A text field that commits on Enter or when it is left, and goes back on Escape. What Python answers is what it shows. */
import { useEffect, useRef, useState } from "preact/hooks";

let lists = 0;

export function Typed({ value, commit, size, numeric, hint, options, label, disabled }) {
  const [draft, setDraft] = useState(null);
  const sent = useRef(null);
  const list = useRef(null);
  if (options?.length && !list.current) list.current = `warpdraft-list-${lists++}`;
  useEffect(() => { setDraft(null); sent.current = null; }, [value]);
  const send = (text) => {
    if (text !== value && text !== sent.current) commit(text);
    sent.current = text;
  };
  const leave = (event) => {
    send(event.currentTarget.value);
    setDraft(null);
    sent.current = null;
  };
  const key = (event) => {
    const text = event.currentTarget.value;
    if (event.key === "Enter") {
      event.preventDefault();
      sent.current = null;
      send(text);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      sent.current = text;
      setDraft(null);
      event.currentTarget.blur();
    } else if (numeric && (event.key === "ArrowUp" || event.key === "ArrowDown") && /^-?\d+$/.test(text)) {
      event.preventDefault();
      event.stopPropagation();
      const next = String(Number(text) + (event.key === "ArrowUp" ? 1 : -1));
      setDraft(next);
      send(next);
    }
  };
  return (
    <>
      <input class={`typed ${numeric ? "numeric" : ""}`} value={draft ?? value} size={size} placeholder={hint} aria-label={label}
        disabled={disabled} list={list.current ?? undefined} onInput={(e) => setDraft(e.currentTarget.value)}
        onFocus={(e) => e.currentTarget.select()} onBlur={leave} onKeyDown={key}
        inputMode={numeric ? "numeric" : undefined} autocomplete="off" spellcheck={false} />
      {list.current && <datalist id={list.current}>{options.map((o) => <option key={o} value={o} />)}</datalist>}
    </>
  );
}
