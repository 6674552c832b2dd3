/**
 * The module that anywidget imports: it unpacks the views (index.ts) and calls them.
 *
 * Every saved widget contains this module, so that the views are deflated; they are unpacked once per widget.
 */

import packed from "app-source";
import { unpack } from "../render/unpack.ts";

interface Context {
  el: HTMLElement;
}

type Render = (context: Context) => () => void;

let loaded: Promise<Render> | null = null;

async function load(): Promise<Render> {
  return ((await unpack(packed)) as { default: { render: Render } }).default.render;
}

function render(context: Context): () => void {
  let undo: (() => void) | null = null;
  let isGone = false;
  loaded ??= load();
  loaded.then(
    (draw) => {
      if (!isGone) undo = draw(context);
    },
    (error) => {
      context.el.textContent = `The view cannot be started: ${String(error)}`;
    },
  );
  return () => {
    isGone = true;
    undo?.();
  };
}

export default { render };
