/**
 * Keeps keys pressed in a view from the notebook: else arrows move between cells, Enter edits one and "b" adds one.
 *
 * Shortcuts of the page (with Ctrl or Command) and Shift+Enter, which runs the cell, are not changed.
 */

/** Lumino skips a key whose target carries it; a listener on the window runs before Lumino's on the document. */
const SUPPRESS = "data-lm-suppress-shortcuts";

/** Keeps plain keys within an element; returns a function that undoes that. */
export function keepKeys(root: HTMLElement): () => void {
  const decide = ({ target, ctrlKey, metaKey, shiftKey, key }: KeyboardEvent) => {
    if (!(target instanceof Element && root.contains(target))) return;
    target.toggleAttribute(SUPPRESS, !(ctrlKey || metaKey || (shiftKey && key === "Enter")));
  };
  window.addEventListener("keydown", decide, true);
  return () => window.removeEventListener("keydown", decide, true);
}
