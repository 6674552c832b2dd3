/** Builders for HTML and SVG elements.  Text goes through textContent only: names of nodes are untrusted. */

const SVG = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number>;

export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = "",
  text?: string,
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = shown(text);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  text?: string,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  if (text !== undefined) element.textContent = shown(text);
  return element;
}

export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, typeof value === "number" ? round(value) : value);
  }
}

/** A number with at most two decimals, so that paths stay short. */
export function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A button with a line icon (24 x 24 path data) and an accessible name. */
export function iconButton(label: string, path: string, onClick: () => void): HTMLButtonElement {
  const button = html("button", "tfnb-button");
  button.type = "button";
  button.title = label;
  button.setAttribute("aria-label", label);
  const icon = svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" });
  icon.append(svg("path", { d: path }));
  button.append(icon);
  button.addEventListener("click", onClick);
  return button;
}

export const ICONS = {
  zoomIn: "M12 5v14M5 12h14",
  zoomOut: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  turn: "M4 6v12M8 12h12M15 7l5 5-5 5",
  expand: "M7 9l5-5 5 5M7 15l5 5 5-5",
  collapse: "M7 4l5 5 5-5M7 20l5-5 5 5",
  close: "M6 6l12 12M18 6L6 18",
  play: "M7 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  first: "M6 5v14M18 6l-8 6 8 6z",
  last: "M18 5v14M6 6l8 6-8 6z",
  back: "M15 6l-6 6 6 6",
  forward: "M9 6l6 6-6 6",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01",
  page: "M6 3h8l4 4v14H6zM14 3v4h4M9.5 12l-2 2 2 2M14.5 12l2 2-2 2",
  stop: "M6 6h12v12H6z",
  help: "M9.5 9a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M12 17v.2",
} as const;

// Control characters have no picture, and those of direction turn the text around them.
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029\ufeff]/gu;

/** A text whose invisible characters are written out, as in `a\u202eb`: a name of a stranger looks like what it is. */
export function shown(text: string): string {
  return text.replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Sets a text only if it changes, to avoid a new layout. */
export function setText(element: Element, text: string): void {
  const plain = shown(text);
  if (element.textContent !== plain) element.textContent = plain;
}

const LEAST_CUT = 18;
export const MOST_END = 16;

/** The part of a text between two positions. */
export type Span = [number, number];

/**
 * A text that is cut before its end if there is no room for it: names differ at their ends.
 *
 * With `core`, the part where the text differs from others, it is cut before and behind that part.
 */
export function cutBeforeEnd(text: string, core?: Span): HTMLElement {
  if (text.length < LEAST_CUT) return html("span", "", text);
  if (core) {
    const [from, to] = core;
    const element = html("span", "tfnb-cut tfnb-cut-around");
    element.append(
      html("span", "", text.slice(0, from)),
      html("span", "tfnb-cut-end", text.slice(from, to)),
      html("span", "", text.slice(to)),
    );
    return element;
  }
  const slash = text.lastIndexOf("/", text.length - 2);
  const end = slash > 0 && text.length - slash <= MOST_END ? slash : text.length - MOST_END;
  const element = html("span", "tfnb-cut");
  element.append(
    html("span", "", text.slice(0, end)),
    html("span", "tfnb-cut-end", text.slice(end)),
  );
  return element;
}

/** A button that looks like a link and has a name as its text. */
export function linkButton(text: string, onClick: () => void, core?: Span): HTMLButtonElement {
  const button = html("button", "tfnb-link");
  button.type = "button";
  button.append(cutBeforeEnd(text, core));
  // Screen readers read the parts as one name.
  button.setAttribute("aria-label", text);
  button.addEventListener("click", onClick);
  return button;
}

/** Functions to call when a view is removed. */
export class Disposables {
  private readonly undo: (() => void)[] = [];

  add(undo: () => void): void {
    this.undo.push(undo);
  }

  listen<K extends keyof HTMLElementEventMap>(
    target: HTMLElement | SVGElement,
    type: K,
    handler: (event: HTMLElementEventMap[K]) => void,
    options?: AddEventListenerOptions,
  ): void {
    const listener = handler as EventListener;
    target.addEventListener(type, listener, options);
    this.add(() => target.removeEventListener(type, listener, options));
  }

  dispose(): void {
    for (const undo of this.undo.splice(0).reverse()) undo();
  }
}
