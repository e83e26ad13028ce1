/* A list to choose from: type to filter, arrows to choose, Enter to take. */
import { useEffect, useRef, useState } from "preact/hooks";

export function Palette({ title, hint, items, take, close, root }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef(null);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = items.filter((offer) => words.every((w) => `${offer.group} ${offer.label} ${offer.key}`.toLowerCase().includes(w)));
  const current = Math.min(at, Math.max(0, found.length - 1));
  useEffect(() => { list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }); }, [current, text]);
  const leave = () => { close(); root.focus({ preventScroll: true }); };
  const choose = (item) => { take(item); leave(); };
  const key = (event) => {
    event.stopPropagation();
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && found[current]) choose(found[current]);
    else if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, current + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, current - 1));
    else return;
    event.preventDefault();
  };
  let group = "";
  return (
    <div class="veil" onClick={leave}>
      <div class="palette" role="dialog" aria-modal="true" aria-label={title} onClick={(e) => e.stopPropagation()}>
        <input autofocus ref={(e) => e && !e.dataset.seen && (e.dataset.seen = 1, e.focus())} value={text} placeholder={`${title}: ${hint}`}
          onInput={(e) => { setText(e.currentTarget.value); setAt(0); }} onKeyDown={key} role="combobox" aria-expanded="true"
          aria-controls="offers" aria-activedescendant={found[current] ? `offer-${current}` : undefined} aria-label="Filter" autocomplete="off" spellcheck={false} />
        <ul id="offers" role="listbox" ref={list}>
          {found.map((offer, i) => {
            const head = offer.group !== group;
            group = offer.group;
            return (
              <>
                {head && <li class="heading" role="presentation" key={`g:${offer.group}`}>{offer.group}</li>}
                <li key={offer.key} id={`offer-${i}`} role="option" aria-selected={i === current} class="mono" onClick={() => choose(offer)} onPointerMove={() => setAt(i)}>{offer.label}</li>
              </>
            );
          })}
          {!found.length && <li class="heading" role="presentation">Nothing like that.</li>}
        </ul>
      </div>
    </div>
  );
}
