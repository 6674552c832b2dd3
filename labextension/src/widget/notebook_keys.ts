/**
 * Keys pressed in a view are the view's, not the notebook's: without this, arrows move between cells, Enter edits one and "b" adds one.
 *
 * Shortcuts of the page (with Ctrl or Command) and Shift+Enter, which runs the cell, stay what they are.
 */

/** Lumino passes over a key whose target carries it; a listener on the window is asked before Lumino's on the document. */
const SUPPRESS = "data-lm-suppress-shortcuts";

/** Keeps plain keys within an element; gives what undoes that. */
export function keepKeys(root: HTMLElement): () => void {
  const decide = ({ target, ctrlKey, metaKey, shiftKey, key }: KeyboardEvent) => {
    if (!(target instanceof Element && root.contains(target))) return;
    target.toggleAttribute(SUPPRESS, !(ctrlKey || metaKey || (shiftKey && key === "Enter")));
  };
  window.addEventListener("keydown", decide, true);
  return () => window.removeEventListener("keydown", decide, true);
}
