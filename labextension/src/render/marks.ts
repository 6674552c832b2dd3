/** Selection, neighbours, search hits and the chosen category, shown by classes on the boxes. */

import type { Arrangement } from "./arrangement.ts";
import type { ItemPainter } from "./item_painter.ts";
import type { Colouring } from "./palette.ts";
import type { ItemId, Scene } from "./scene.ts";

export interface Marks {
  selected: ItemId | null;
  /** The boxes at the other ends of the selected one's edges. */
  near: ReadonlySet<ItemId>;
  /** The nodes that a search found. */
  hits: ReadonlySet<number>;
  /** The category chosen in the legend; all others are dimmed. */
  category: number | null;
}

export function paintMarks(
  scene: Scene,
  items: ItemPainter,
  arrangement: Arrangement,
  colouring: Colouring,
  { selected, near, hits, category }: Marks,
): void {
  const holds = (item: ItemId, test: (node: number) => boolean): boolean => {
    const [first, end] = scene.range(item);
    for (let node = first; node < end; node++) if (test(node)) return true;
    return false;
  };
  const isFound = (node: number) => hits.has(node);
  const isSearching = hits.size > 0;
  for (const { item, isOpen, dots } of arrangement.items.values()) {
    const { classList } = items.element(item)!;
    classList.toggle("tfnb-selected", item === selected);
    classList.toggle("tfnb-near", near.has(item));
    const isHit = isSearching && !isOpen && (holds(item, isFound) || dots.some(isFound));
    classList.toggle("tfnb-hit", isHit);
    const isOther =
      category !== null && !isOpen && !holds(item, (node) => colouring.of[node] === category);
    classList.toggle("tfnb-dim", isOther || (isSearching && !isHit && !isOpen));
  }
}
