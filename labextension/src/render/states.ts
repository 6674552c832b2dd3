/**
 * Live states: one byte per node, written by tfnb/notebook/steps/step_publisher.py.
 *
 * The low three bits are the node's activity, bit 3 is set if it ran since the last message, and the high four bits are
 * the bit length of its number of runs in this step.
 */

import type { Arrangement } from "./arrangement.ts";
import type { ItemPainter } from "./item_painter.ts";
import type { ItemId, Scene } from "./scene.ts";

/**
 * `blocked`: a node that runs until another step provides a value, as an element of a queue; `stopped`: where a
 * debugger holds the step.
 */
export const STATE_NAMES = [
  "idle",
  "waiting",
  "running",
  "done",
  "dead",
  "failed",
  "blocked",
  "stopped",
] as const;
export const STATE = {
  idle: 0,
  waiting: 1,
  running: 2,
  done: 3,
  dead: 4,
  failed: 5,
  blocked: 6,
  stopped: 7,
} as const;
const STATE_BITS = 0b111;
const RAN_BIT = 0b1000;
const COUNT_SHIFT = 4;
/** Beyond this many visible boxes, states are painted only at every other message. */
const MANY_BOXES = 1500;

export class StatePainter {
  private bytes: Uint8Array = new Uint8Array();
  private readonly shown = new Map<ItemId, string>();
  private messages = 0;

  constructor(private readonly scene: Scene) {}

  get isEmpty(): boolean {
    return this.bytes.length === 0;
  }

  set(bytes: Uint8Array): void {
    this.bytes = bytes;
  }

  stateOf(node: number): string {
    return STATE_NAMES[(this.bytes[node] ?? 0) & STATE_BITS] ?? "idle";
  }

  /** The approximate number of runs of a node in this step: 0, 1, or the power of two below. */
  timesOf(node: number): number {
    const length = (this.bytes[node] ?? 0) >> COUNT_SHIFT;
    return length === 0 ? 0 : 2 ** (length - 1);
  }

  forget(): void {
    this.shown.clear();
  }

  paint(painter: ItemPainter, arrangement: Arrangement, isLast = false): void {
    if (this.bytes.length !== this.scene.count) return;
    this.messages++;
    if (!isLast && arrangement.items.size > MANY_BOXES && this.messages % 2 === 0) return;
    for (const [item, placed] of arrangement.items) {
      const group = painter.element(item);
      if (group === undefined) continue;
      if (placed.isOpen) {
        // The nodes inside show their own states; the state from before the scope was opened is removed.
        delete group.dataset["state"];
        group.classList.remove("tfnb-ran");
        continue;
      }
      if (this.scene.isScope(item)) this.paintScope(item, group);
      else this.paintNode(item, group);
      this.paintDots(placed.dots, group);
    }
  }

  /** A step may stand at a constant that is drawn as a dot of its consumer. */
  private paintDots(constants: readonly ItemId[], group: SVGGElement): void {
    if (constants.length === 0) return;
    const stopped = constants.find((one) => (this.bytes[one]! & STATE_BITS) === STATE.stopped);
    const before = group.querySelector<SVGElement>(".tfnb-dot[data-state]");
    if (before?.dataset["item"] === String(stopped)) return;
    delete before?.dataset["state"];
    const dot = group.querySelector<SVGElement>(`.tfnb-dot[data-item="${stopped}"]`);
    if (dot) dot.dataset["state"] = "stopped";
  }

  private paintNode(node: number, group: SVGGElement): void {
    const byte = this.bytes[node]!;
    const state = STATE_NAMES[byte & STATE_BITS] ?? "idle";
    const look = byte & RAN_BIT ? `${state} ran` : state;
    if (this.shown.get(node) === look) return;
    this.shown.set(node, look);
    group.dataset["state"] = state;
    group.classList.toggle("tfnb-ran", (byte & RAN_BIT) !== 0);
  }

  private paintScope(item: ItemId, group: SVGGElement): void {
    const [first, end] = this.scene.range(item);
    const tally = [0, 0, 0, 0, 0, 0, 0, 0];
    let ran = 0;
    for (let i = first; i < end; i++) {
      const byte = this.bytes[i]!;
      tally[byte & STATE_BITS]!++;
      if (byte & RAN_BIT) ran++;
    }
    const taking = end - first - tally[0]!;
    const [done, dead] = [tally[STATE.done]!, tally[STATE.dead]!];
    let state = "waiting";
    if (taking === 0) state = "idle";
    else if (tally[STATE.failed]! > 0) state = "failed";
    else if (tally[STATE.stopped]! > 0) state = "stopped";
    else if (tally[STATE.blocked]! > 0) state = "blocked";
    else if (tally[STATE.running]! > 0) state = "running";
    else if (done + dead === taking) state = done === 0 ? "dead" : "done";
    // Dead nodes have ended without running: they have a colour of their own in the bar.
    const share = (part: number) => (taking === 0 ? 0 : part / taking).toFixed(3);
    const look = [state, share(done), share(done + dead), ran > 0].join();
    if (this.shown.get(item) === look) return;
    this.shown.set(item, look);
    group.dataset["state"] = state;
    group.classList.toggle("tfnb-ran", ran > 0);
    const fill = (name: string, part: number) =>
      group.querySelector<SVGRectElement>(name)?.style.setProperty("--tf-share", share(part));
    fill(".tfnb-bar-dead", done + dead);
    fill(".tfnb-bar", done);
  }
}
