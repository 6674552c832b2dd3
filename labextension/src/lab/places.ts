/** The place of a new view: beside its notebook, never over it. */

import type { Widget } from "./jupyter.ts";

/** The group of tabs that contains a widget. */
function groupOf(widget: Widget): unknown {
  for (const bar of widget.parent?.tabBars?.() ?? []) {
    if (bar.titles.includes(widget.title)) return bar;
  }
  return widget.parent;
}

/** The first of the other views that is in another group of tabs than the notebook; new views join it. */
export function neighbour(notebook: Widget | null, others: readonly Widget[]): Widget | undefined {
  if (!notebook) return others[0];
  const home = groupOf(notebook);
  return others.find((one) => one.parent && groupOf(one) !== home);
}
