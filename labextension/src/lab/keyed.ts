/**
 * Lists that are updated in place: an element is kept as long as its key is in the list, so that focus stays
 * and no button is replaced under a click.
 */

export function keyed<T>(
  parent: HTMLElement,
  items: readonly T[],
  key: (item: T) => string,
  make: (item: T) => HTMLElement,
  fill: (element: HTMLElement, item: T) => void,
): void {
  const known = new Map(
    [...parent.children].map((one) => [(one as HTMLElement).dataset["key"], one]),
  );
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = known.get(name) as HTMLElement | undefined;
    known.delete(name);
    if (!element) {
      element = make(item);
      element.dataset["key"] = name;
    }
    if (element === next) next = next.nextElementSibling;
    else parent.insertBefore(element, next);
    fill(element, item);
  }
  for (const gone of known.values()) gone.remove();
}

/** The part of an element that was marked with `data-part`. */
export function part(element: Element, name: string): HTMLElement {
  return element.querySelector<HTMLElement>(`[data-part="${name}"]`)!;
}
