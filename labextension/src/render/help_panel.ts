/** The list of mouse and keyboard actions. */

import { html } from "./dom.ts";

const CONTROLS: [string, string][] = [
  ["Click", "open a scope, or select a node"],
  ["Click on a title", "close a scope"],
  ["Drag", "move the graph"],
  ["Ctrl + wheel", "zoom"],
  ["↓ ↑", "follow the data, where it flows down"],
  ["← →", "go to the neighbour"],
  ["Enter", "open or close"],
  ["Backspace", "go out to the scope around"],
  ["Shift + arrows", "move the graph"],
  ["+ −", "zoom"],
  ["0", "show the whole graph"],
  ["/", "search: words, op:, device:, cell:, attr:name=value"],
  ["Esc", "let go"],
];

export function helpPanel(): HTMLElement {
  const panel = html("div", "tfnb-help");
  panel.hidden = true;
  const list = html("dl", "tfnb-card-table");
  for (const [keys, meaning] of CONTROLS)
    list.append(html("dt", "", keys), html("dd", "", meaning));
  panel.append(list);
  return panel;
}
