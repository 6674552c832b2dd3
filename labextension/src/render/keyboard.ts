/**
 * The keyboard's way through the graph: down and up follow the data flow, left and right go to the neighbour on the
 * same level, Enter opens and closes, Backspace goes out to the scope around.
 */

import type { Arrangement, PlacedItem } from "./arrangement.ts";
import type { ItemId, Scene } from "./scene.ts";

export type Direction = "ArrowDown" | "ArrowUp" | "ArrowLeft" | "ArrowRight";

export function isDirection(key: string): key is Direction {
  return ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"].includes(key);
}

/** The first box, in reading order. */
export function firstItem(arrangement: Arrangement): ItemId | null {
  const top = [...arrangement.items.values()].filter((placed) => placed.depth === 0);
  top.sort((a, b) => a.y - a.height / 2 - (b.y - b.height / 2) || a.x - b.x);
  return top[0]?.item ?? null;
}

export function nextItem(
  scene: Scene,
  arrangement: Arrangement,
  from: ItemId,
  direction: Direction,
): ItemId | null {
  const here = arrangement.items.get(from);
  if (here === undefined) return firstItem(arrangement);
  if (direction === "ArrowDown" && here.isOpen) {
    const inner = siblings(scene, arrangement, scene.scopeItem(scene.scopeOfItem(from)), true);
    return inner[0]?.item ?? null;
  }
  if (direction === "ArrowDown" || direction === "ArrowUp") {
    const isDown = direction === "ArrowDown";
    const linked = arrangement.edges
      .filter(({ meta }) => (isDown ? meta.from : meta.to) === from && !meta.isBack)
      .map(({ meta }) => arrangement.items.get(isDown ? meta.to : meta.from)!)
      .sort((a, b) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x));
    if (linked[0]) return linked[0].item;
  }
  return nearest(siblings(scene, arrangement, from, false), here, direction);
}

/** The boxes drawn beside an item, or, for an open scope, inside it; in reading order. */
function siblings(
  scene: Scene,
  arrangement: Arrangement,
  item: ItemId,
  inside: boolean,
): PlacedItem[] {
  const parent = inside ? scene.scopeOfItem(item) : scene.parentOf(item);
  return [...arrangement.items.values()]
    .filter((placed) => scene.parentOf(placed.item) === parent)
    .sort((a, b) => a.y - b.y || a.x - b.x);
}

function nearest(items: PlacedItem[], here: PlacedItem, direction: Direction): ItemId | null {
  const isSideways = direction === "ArrowLeft" || direction === "ArrowRight";
  const sign = direction === "ArrowLeft" || direction === "ArrowUp" ? -1 : 1;
  let best: PlacedItem | null = null;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const placed of items) {
    const along = sign * (isSideways ? placed.x - here.x : placed.y - here.y);
    if (along <= 1) continue;
    const across = Math.abs(isSideways ? placed.y - here.y : placed.x - here.x);
    const cost = along + 2 * across;
    if (cost < bestCost) {
      best = placed;
      bestCost = cost;
    }
  }
  return best?.item ?? null;
}
