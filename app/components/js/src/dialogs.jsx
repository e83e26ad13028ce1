/* What opens over the page: the insert menu, go to, and the list of keys. */
import { Help } from "./help.jsx";
import { Palette } from "./palette.jsx";

export function Dialogs({ dialog, setDialog, state, send, root }) {
  const close = () => setDialog(null);
  if (dialog?.kind === "insert") {
    const { task, after, parent, index } = dialog;
    return <Palette title={`Insert into ${task}`} hint="acquire, wait, barrier, loop…" items={state.offers[task] ?? []} close={close} root={root}
      take={(offer) => send({ type: "insert", task, offer: offer.key, after, parent, index })} />;
  }
  if (dialog?.kind === "goto") {
    return <Palette title="Go to" hint="an operation, resource, task or finding" items={places(state)} close={close} root={root}
      take={({ select, ids }) => send({ type: "select", kind: select, ids })} />;
  }
  if (dialog?.kind === "new") {
    return <Palette title="New document" hint="empty, or a copy of an example" items={state.templates} close={close} root={root}
      take={({ template }) => send({ type: "new", template })} />;
  }
  return dialog?.kind === "help" ? <Help close={close} root={root} /> : null;
}

function places(state) {
  const nodes = (list, task) => list.flatMap((node) => [
    { group: task, key: node.id, label: node.kind === "op" ? `${node.target ? `${node.target}.` : ""}${node.verb}(${node.args})` : node.text, select: "op", ids: [node.id] },
    ...(node.nodes ? nodes(node.nodes, task) : []),
  ]);
  const named = (items, group, select) => items.map((item) => ({ group, key: `${select}:${item.name}`, label: item.name, select, ids: [item.name] }));
  const { items, barriers, mbarriers, groups, pipelines, tasks, symbols, kernel } = state.resources;
  return [
    ...state.findings.items.map((f) => ({ group: "findings", key: f.key, label: `${f.code} ${f.name}`, select: "finding", ids: [f.key] })),
    ...named(tasks, "tasks", "task"), ...named([...items, ...barriers, ...mbarriers, ...groups, ...pipelines], "resources", "resource"),
    ...named(symbols, "symbols", "symbol"), ...named(kernel.filter((item) => item.tensor), "tensors", "tensor"),
    ...state.schedule.columns.flatMap((column) => nodes(column.nodes, column.task)),
  ];
}
