/** Where a view goes: beside its notebook, never over it. */

import type { Widget } from "./jupyter.ts";

/** The group of tabs that a widget stands in. */
function groupOf(widget: Widget): unknown {
  for (const bar of widget.parent?.tabBars?.() ?? []) {
    if (bar.titles.includes(widget.title)) return bar;
  }
  return widget.parent;
}

/** The first of the other views that does not share a group of tabs with the notebook; a new one goes there. */
export function neighbour(notebook: Widget | null, others: readonly Widget[]): Widget | undefined {
  if (!notebook) return others[0];
  const home = groupOf(notebook);
  return others.find((one) => one.parent && groupOf(one) !== home);
}
