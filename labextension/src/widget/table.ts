/** A view that is a table: a row selects a node in the other views, and follows their selection. */

import { Disposables, html } from "../render/dom.ts";
import { offer } from "../render/export_picture.ts";
import { type TableState, TableView } from "../render/table_view.ts";
import { Link } from "./link.ts";
import type { Context, Traits } from "./model.ts";
import { keepKeys } from "./notebook_keys.ts";
import { pageOf } from "./page.ts";

export function renderTable({ model, el }: Context): () => void {
  const undo = new Disposables();
  const { view } = model.get("_options");
  const root = html("div", `tfnb tfnb-view-${view}`);
  const pick = (name: string) => {
    if (name !== model.get("selected")) {
      model.set("selected", name);
      model.save_changes();
    }
    table.select(name);
    link.tell({ name });
  };
  const link = new Link("", root, ({ name }) => {
    if (name) pick(name);
  });
  const table = new TableView(pick, () => {
    const page = pageOf((name) => model.get(name as keyof Traits), view);
    if (page) offer(`${view}.html`, new Blob([page], { type: "text/html" }));
  });
  table.canSave = Boolean(model.get("_esm" as keyof Traits));
  const show = () => {
    const state = model.get("_table");
    if (!("rows" in state)) return;
    link.group = (state as TableState).group;
    table.show(state as TableState);
    root.dataset["ready"] = "true";
  };
  const follow = () => table.select(model.get("selected"));
  for (const [event, handler] of [
    ["change:_table", show],
    ["change:selected", follow],
  ] as const) {
    model.on(event, handler);
    undo.add(() => model.off(event, handler));
  }
  undo.add(() => link.dispose());
  undo.add(keepKeys(root));
  undo.add(() => root.remove());
  root.append(table.element);
  el.append(root);
  show();
  follow();
  return () => undo.dispose();
}
