/** Which scopes are open: at first, and when one more level is asked for. */

import type { Arrangement, Arranger } from "./arrangement.ts";
import { type ItemId, ROOT, type Scene } from "./scene.ts";

export const MAX_VISIBLE = 1500;
/** A graph of at most so many nodes starts with scopes open, if it stays at few boxes. */
const SMALL_GRAPH = 100;
const FEW_BOXES = 18;
/** So few boxes say nothing while they are closed. */
const FEW_ALONE = 3;
const MANY_BOXES = 40;

/** Whole levels of scopes, as long as few boxes come of it, and scopes that are nearly alone. */
export function initiallyOpen(scene: Scene, arranger: Arranger): Set<number> {
  const open = new Set<number>(scene.isLanes ? scene.innerScopes(ROOT) : []);
  const drawn = (scope: number): ItemId[] => {
    const { items, auxiliary } = arranger.graphOf(scope);
    return [...items, ...auxiliary];
  };
  let level = drawn(ROOT);
  let visible = level.length;
  for (;;) {
    const scopes = level.filter((item) => scene.isScope(item)).map((i) => scene.scopeOfItem(i));
    const next = scopes.flatMap(drawn);
    if (next.length === 0) return open;
    const isAlone = level.length <= FEW_ALONE && next.length <= MANY_BOXES;
    if (!isAlone && (scene.count > SMALL_GRAPH || visible + next.length > FEW_BOXES)) return open;
    for (const scope of scopes) open.add(scope);
    visible += next.length;
    level = next;
  }
}

/** What was open in the scene before, where this one has it too: a graph that grows does not close. */
export function openAsBefore(before: Scene, open: Set<number>, scene: Scene): Set<number> {
  const names = new Set([...open].map((scope) => before.name(before.scopeItem(scope))));
  const found = new Set<number>();
  const walk = (scope: number) => {
    for (const inner of scene.innerScopes(scope)) {
      if (!names.has(scene.name(scene.scopeItem(inner)))) continue;
      found.add(inner);
      walk(inner);
    }
  };
  if (!scene.isLanes) walk(ROOT);
  return found;
}

/** Opens every closed scope that is seen, as far as the boxes stay few enough; gives how many stayed closed. */
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

/** Opens the scopes around an item; says whether any was closed. */
export function openAround(scene: Scene, item: ItemId, open: Set<number>): boolean {
  const before = open.size;
  for (let scope = scene.parentOf(item); scope > ROOT; ) {
    open.add(scope);
    scope = scene.parentOf(scene.scopeItem(scope));
  }
  return open.size > before;
}

/** The box that shows an item: itself, the consumer of an embedded constant, or the closed scope around it. */
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

/** Lanes are drawn as one metagraph, that of the whole. */
function laneOrScope(scene: Scene, scope: number): number {
  const isLane = scene.isLanes && scope > ROOT && scene.parentOf(scene.scopeItem(scope)) === ROOT;
  return isLane ? ROOT : Math.max(scope, ROOT);
}
