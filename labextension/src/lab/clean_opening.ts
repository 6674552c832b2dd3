/**
 * Keeps a notebook of tfnb unchanged that is only opened. JupyterLab writes the kernel's version of
 * Python into a notebook as soon as the kernel reports it, which makes the notebook dirty, and saves
 * it two minutes later, although nothing was run or typed.
 */

import type { NotebookModel, NotebookPanel } from "./jupyter.ts";

/** Watches a notebook until something else in it changes. */
export function keepClean({ context }: NotebookPanel): void {
  void context.ready.then(() => {
    const { model } = context;
    if (model.dirty) return;
    const before = content(model);
    if (!before.includes("tfnb")) return;
    const look = (_: unknown, change: { name: string }) => {
      if (change.name !== "dirty" || !model.dirty) return;
      // Other listeners get this change first.
      queueMicrotask(() => {
        if (content(model) === before) model.dirty = false;
        else model.stateChanged.disconnect(look);
      });
    };
    model.stateChanged.connect(look);
  });
}

/** The notebook as text, without the data that JupyterLab copies from its kernel. */
function content(model: NotebookModel): string {
  const { metadata, ...rest } = model.toJSON();
  const { kernelspec, language_info: language, ...own } = metadata;
  return JSON.stringify([rest, own, kernelspec?.["name"], language?.["name"]]);
}
