/**
 * The keyboard's way through the graph: down and up follow the data flow, left and right go to the neighbour on the
 * same level (reversed if data flows to the right), Enter opens and closes, Backspace goes to the scope around.
 */

import type { Arrangement, PlacedItem } from "./arrangement.ts";
import type { ItemId, Scene } from "./scene.ts";
import { ZOOM_STEP } from "./toolbar.ts";

type Arrow = "ArrowDown" | "ArrowUp" | "ArrowLeft" | "ArrowRight";

export interface KeyActions {
  pan: (dx: number, dy: number) => void;
  zoom: (factor: number) => void;
  fit: () => void;
  search: () => void;
  go: (direction: Arrow) => void;
  toggle: () => void;
  goOut: () => void;
  letGo: () => void;
}

const PAN_STEP = 60;
const PANS: Record<Arrow, [number, number]> = {
  ArrowLeft: [PAN_STEP, 0],
  ArrowRight: [-PAN_STEP, 0],
  ArrowUp: [0, PAN_STEP],
  ArrowDown: [0, -PAN_STEP],
};

/** Handles a key of the graph, and hides it from the notebook; other keys are passed on. */
export function handleKey(event: KeyboardEvent, actions: KeyActions): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const { key } = event;
  const keys: Record<string, () => void> = {
    Enter: actions.toggle,
    " ": actions.toggle,
    Backspace: actions.goOut,
    Escape: actions.letGo,
    "+": () => actions.zoom(ZOOM_STEP),
    "=": () => actions.zoom(ZOOM_STEP),
    "-": () => actions.zoom(1 / ZOOM_STEP),
    "0": actions.fit,
    "/": actions.search,
  };
  if (isDirection(key)) {
    if (event.shiftKey) actions.pan(...PANS[key]);
    else actions.go(key);
  } else if (keys[key]) keys[key]();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function isDirection(key: string): key is Arrow {
  return ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"].includes(key);
}

/** The first box, in reading order. */
export function firstItem(arrangement: Arrangement): ItemId | null {
  const every = [...arrangement.items.values()];
  const outermost = Math.min(...every.map(({ depth }) => depth));
  const top = every.filter((placed) => placed.depth === outermost);
  if (arrangement.direction === "right") {
    top.sort((a, b) => a.x - a.width / 2 - (b.x - b.width / 2) || a.y - b.y);
  } else top.sort((a, b) => a.y - a.height / 2 - (b.y - b.height / 2) || a.x - b.x);
  return top[0]?.item ?? null;
}

export function nextItem(
  scene: Scene,
  arrangement: Arrangement,
  from: ItemId,
  direction: Arrow,
): ItemId | null {
  const here = arrangement.items.get(from);
  if (here === undefined) return firstItem(arrangement);
  const [on, back] =
    arrangement.direction === "right" ? ["ArrowRight", "ArrowLeft"] : ["ArrowDown", "ArrowUp"];
  if (direction === on && here.isOpen) {
    const inner = siblings(scene, arrangement, scene.scopeItem(scene.scopeOfItem(from)), true);
    return inner[0]?.item ?? null;
  }
  if (direction === on || direction === back) {
    const isDown = direction === on;
    const across = (a: PlacedItem, b: PlacedItem) =>
      Math.abs(on === "ArrowDown" ? a.x - b.x : a.y - b.y);
    const linked = arrangement.edges
      .filter(({ meta }) => (isDown ? meta.from : meta.to) === from && !meta.isBack)
      .map(({ meta }) => arrangement.items.get(isDown ? meta.to : meta.from)!)
      .sort((a, b) => across(a, here) - across(b, here));
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
  const isRight = arrangement.direction === "right";
  return [...arrangement.items.values()]
    .filter((placed) => scene.parentOf(placed.item) === parent)
    .sort((a, b) => (isRight ? a.x - b.x || a.y - b.y : a.y - b.y || a.x - b.x));
}

function nearest(items: PlacedItem[], here: PlacedItem, direction: Arrow): ItemId | null {
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
