/** Selects which scopes are open: at first, and when one more level is requested. */

import type { Arrangement, Arranger } from "./arrangement.ts";
import { type ItemId, ROOT, type Scene } from "./scene.ts";

export const MAX_VISIBLE = 1500;
/** A graph with at most this number of nodes starts with scopes open while the boxes stay few. */
const SMALL_GRAPH = 100;
const FEW_BOXES = 18;
/** Up to this number of boxes, a level shows too little while its scopes are closed. */
const FEW_ALONE = 3;
const MANY_BOXES = 40;

/** Sets of scopes to open at first, smallest first; those below index `least` show too little. */
export interface Openings {
  choices: Set<number>[];
  least: number;
}

/** Opens whole levels of scopes while the boxes stay few, and scopes that are nearly alone. */
export function openings(scene: Scene, arranger: Arranger): Openings {
  const open = new Set<number>(scene.isLanes ? scene.innerScopes(ROOT) : []);
  const found: Openings = { choices: [new Set(open)], least: 0 };
  let isPlain = true;
  const drawn = (scope: number): ItemId[] => {
    const { items, auxiliary } = arranger.graphOf(scope);
    return [...items, ...auxiliary];
  };
  let level = drawn(ROOT);
  let visible = level.length;
  for (;;) {
    const scopes = level
      .filter((item) => scene.isScope(item) && !scene.isAside(item))
      .map((i) => scene.scopeOfItem(i));
    const next = scopes.flatMap(drawn);
    if (next.length === 0) return found;
    const isAlone = level.length <= FEW_ALONE && next.length <= MANY_BOXES;
    if (!isAlone && (scene.count > SMALL_GRAPH || visible + next.length > FEW_BOXES)) return found;
    for (const scope of scopes) open.add(scope);
    found.choices.push(new Set(open));
    isPlain &&= isAlone;
    if (isPlain) found.least = found.choices.length - 1;
    visible += next.length;
    level = next;
  }
}

/** Returns names of the open scopes, valid in another scene of the graph or on another page. */
export function openNames(scene: Scene, open: ReadonlySet<number>): string[] {
  const found: string[] = [];
  forEachScope(scene, (scope, way) => {
    if (open.has(scope)) found.push(way);
  });
  return found;
}

/** Returns the scopes with the names that `openNames` returned; lanes are always open. */
export function openByNames(scene: Scene, names: readonly string[]): Set<number> {
  const wanted = new Set(names);
  const found = new Set<number>(scene.isLanes ? scene.innerScopes(ROOT) : []);
  forEachScope(scene, (scope, way) => {
    if (wanted.has(way)) found.add(scope);
  });
  return found;
}

/** Visits every scope with the labels on its path; equal labels of sibling scopes are numbered. */
function forEachScope(scene: Scene, visit: (scope: number, way: string) => void): void {
  const stack: [number, string][] = [[ROOT, ""]];
  for (let top = stack.pop(); top; top = stack.pop()) {
    const [scope, way] = top;
    const counts = new Map<string, number>();
    for (const inner of scene.innerScopes(scope)) {
      const label = scene.label(scene.scopeItem(inner));
      const count = counts.get(label) ?? 0;
      counts.set(label, count + 1);
      const here = `${way}/${label}${count ? `#${count}` : ""}`;
      visit(inner, here);
      stack.push([inner, here]);
    }
  }
}

/** Returns the previous scene's open scopes in this scene, so that a growing graph stays open. */
export function openAsBefore(before: Scene, open: ReadonlySet<number>, scene: Scene): Set<number> {
  return scene.isLanes ? new Set() : openByNames(scene, openNames(before, open));
}

/** Opens every visible closed scope up to MAX_VISIBLE boxes; returns how many stayed closed. */
export function openLevel(scene: Scene, arrangement: Arrangement, open: Set<number>): number {
  let visible = arrangement.items.size;
  let skipped = 0;
  for (const { item, isOpen } of arrangement.items.values()) {
    if (!scene.isScope(item) || isOpen) continue;
    const scope = scene.scopeOfItem(item);
    const inner = scene.children(scope).length;
    if (visible + inner > MAX_VISIBLE) skipped++;
    else {
      open.add(scope);
      visible += inner;
    }
  }
  return skipped;
}

/** Opens the scopes around an item; returns whether any was closed. */
export function openAround(scene: Scene, item: ItemId, open: Set<number>): boolean {
  const before = open.size;
  for (let scope = scene.parentOf(item); scope > ROOT; ) {
    open.add(scope);
    scope = scene.parentOf(scene.scopeItem(scope));
  }
  return open.size > before;
}

/** Returns the box that shows an item: itself, a constant's consumer, or the closed scope around. */
export function boxShowing(
  scene: Scene,
  arranger: Arranger,
  arrangement: Arrangement,
  item: ItemId,
): ItemId {
  let shown = item;
  while (!arrangement.items.has(shown)) {
    const scope = scene.parentOf(shown);
    const graph = arranger.graphOf(laneOrScope(scene, scope));
    for (const [consumer, constants] of graph.embedded) {
      if (constants.includes(shown) && arrangement.items.has(consumer)) return consumer;
    }
    if (scope <= ROOT) return item;
    shown = scene.scopeItem(scope);
  }
  return shown;
}

/** Returns ROOT for a lane, because all lanes are drawn as one metagraph; else the scope. */
function laneOrScope(scene: Scene, scope: number): number {
  const isLane = scene.isLanes && scope > ROOT && scene.parentOf(scene.scopeItem(scope)) === ROOT;
  return isLane ? ROOT : Math.max(scope, ROOT);
}
