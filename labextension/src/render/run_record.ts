/**
 * A recorded step as it comes from Python (tfnb/notebook/run_record.py): loops, and events as columns in order of time.
 *
 * `Replay` answers what every node was doing after any number of events, from snapshots taken on the way.
 */

import { inflate } from "./inflate.ts";
import { STATE } from "./states.ts";

export const KIND = {
  started: 0,
  done: 1,
  dead: 2,
  frameEntered: 3,
  iterationStarted: 4,
  iterationDone: 5,
  frameDone: 6,
  sent: 7,
  received: 8,
} as const;

const VERSION = 1;
const SNAPSHOT_EVERY = 2048;

interface Header {
  version: number;
  step: number;
  durationNs: number;
  error: string;
  dropped: number;
  events: number;
  feeds: string[];
  fetches: string[];
  targets: string[];
  frames: [number, string, number, number][];
}

/** One loop that lived in the step; the first ones are the partitions' root frames. */
export interface Frame {
  index: number;
  partition: number;
  /** "" for a root frame. */
  name: string;
  /** The frame around it, -1 for a root frame; it was opened in `parentIteration` of that. */
  parent: number;
  parentIteration: number;
  depth: number;
}

/** One execution of a node: events `start` and `end`; `end` is -1 where it did not end. */
export interface Execution {
  node: number;
  frame: number;
  iteration: number;
  start: number;
  end: number;
  isDead: boolean;
  /** Other things happened between its start and its end: it waited, or ran elsewhere. */
  isAsync: boolean;
}

/** An iteration lives from event `start` to event `end`. */
export interface Iteration {
  number: number;
  start: number;
  end: number;
}

export class RunRecord {
  readonly count: number;
  readonly durationNs: number;
  readonly frames: Frame[];
  readonly executions: Execution[] = [];
  /** The iterations of each frame, in order. */
  readonly iterations: Iteration[][];
  /** The executions of each frame, in order of their starts. */
  readonly byFrame: Execution[][];

  constructor(
    readonly header: Header,
    readonly timeNs: Float64Array,
    readonly node: Int32Array,
    readonly frame: Int32Array,
    readonly iteration: Int32Array,
    readonly kind: Uint8Array,
  ) {
    this.count = header.events;
    this.durationNs = Math.max(header.durationNs, 1);
    this.frames = header.frames.map(([partition, name, parent, parentIteration], index) => ({
      index,
      partition,
      name,
      parent,
      parentIteration,
      depth: 0,
    }));
    for (const one of this.frames) {
      one.depth = one.parent < 0 ? 0 : this.frames[one.parent]!.depth + 1;
    }
    this.iterations = this.frames.map((one) =>
      one.parent < 0 ? [{ number: 0, start: 0, end: this.count }] : [],
    );
    this.byFrame = this.frames.map(() => []);
    this.collect();
  }

  private collect(): void {
    const open = new Map<string, Execution>();
    for (let i = 0; i < this.count; i++) {
      const kind = this.kind[i]!;
      const frame = this.frame[i]!;
      const iteration = this.iteration[i]!;
      const key = `${this.node[i]} ${frame} ${iteration}`;
      if (kind === KIND.started) {
        const found = {
          node: this.node[i]!,
          frame,
          iteration,
          start: i,
          end: -1,
          isDead: false,
          isAsync: true,
        };
        open.set(key, found);
        this.executions.push(found);
        this.byFrame[frame]!.push(found);
      } else if (kind === KIND.done || kind === KIND.dead) {
        const found = open.get(key);
        if (found) {
          found.end = i;
          found.isDead = kind === KIND.dead;
          found.isAsync = i > found.start + 1;
          open.delete(key);
        }
      } else if (kind === KIND.iterationStarted) {
        this.iterations[frame]!.push({ number: iteration, start: i, end: this.count });
      } else if (kind === KIND.iterationDone) {
        const list = this.iterations[frame]!; // in order, without gaps
        const found = list[iteration - (list[0]?.number ?? 0)];
        if (found) found.end = i;
      }
    }
  }

  /** How many events had happened at a time. */
  eventsAt(ns: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.timeNs[middle]! <= ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The time after `events` events. */
  timeAfter(events: number): number {
    if (events <= 0) return 0;
    return events >= this.count ? this.durationNs : this.timeNs[events - 1]!;
  }

  /** The iterations of a frame that live after `events` events. */
  living(frame: number, events: number): Iteration[] {
    return this.iterations[frame]!.filter((one) => one.start < events && events <= one.end);
  }

  /** When an execution began and ended, in nanoseconds. */
  span(execution: Execution): [number, number] {
    const begin = this.timeNs[execution.start]!;
    return [begin, execution.end < 0 ? this.durationNs : this.timeNs[execution.end]!];
  }
}

/** Reads what RunRecord.encode() in Python wrote. */
export async function decodeRunRecord(bytes: Uint8Array<ArrayBuffer>): Promise<RunRecord> {
  const buffer = await inflate(bytes);
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size))) as Header;
  if (header.version !== VERSION) {
    throw new Error(`This record has version ${header.version}; version ${VERSION} is understood.`);
  }
  let at = 4 + size;
  const take = (width: number) => {
    const from = at;
    at += width * header.events;
    return from;
  };
  const n = header.events;
  return new RunRecord(
    header,
    new Float64Array(buffer, take(8), n),
    new Int32Array(buffer, take(4), n),
    new Int32Array(buffer, take(4), n),
    new Int32Array(buffer, take(4), n),
    new Uint8Array(buffer, take(1), n),
  );
}

/** What every node was doing after a number of events. */
export class Replay {
  private readonly states: Uint8Array;
  private readonly runs: Uint32Array;
  private readonly snapshots: { states: Uint8Array; runs: Uint32Array }[] = [];
  private at = 0;

  constructor(
    private readonly record: RunRecord,
    private readonly nodeCount: number,
  ) {
    this.states = new Uint8Array(nodeCount).fill(STATE.idle);
    for (const one of record.executions) this.states[one.node] = STATE.waiting;
    this.runs = new Uint32Array(nodeCount);
    this.keep();
  }

  private keep(): void {
    this.snapshots.push({ states: this.states.slice(), runs: this.runs.slice() });
  }

  /** One byte per node, as states.ts paints it. */
  after(events: number): Uint8Array {
    this.goTo(Math.max(0, Math.min(events, this.record.count)));
    const bytes = new Uint8Array(this.nodeCount);
    for (let i = 0; i < bytes.length; i++) {
      const often = Math.min(15, 32 - Math.clz32(this.runs[i]!));
      bytes[i] = this.states[i]! | (often << 4);
    }
    const last = this.record.node[this.at - 1] ?? -1;
    if (last >= 0) bytes[last]! |= 0b1000;
    return bytes;
  }

  private goTo(events: number): void {
    const nearest = Math.min(Math.floor(events / SNAPSHOT_EVERY), this.snapshots.length - 1);
    if (events < this.at || nearest * SNAPSHOT_EVERY > this.at) {
      const snapshot = this.snapshots[nearest]!;
      this.states.set(snapshot.states);
      this.runs.set(snapshot.runs);
      this.at = nearest * SNAPSHOT_EVERY;
    }
    while (this.at < events) {
      this.apply(this.at++);
      if (this.at % SNAPSHOT_EVERY === 0 && this.at / SNAPSHOT_EVERY === this.snapshots.length) {
        this.keep();
      }
    }
    if (this.at === this.record.count && this.record.header.error) {
      for (let i = 0; i < this.nodeCount; i++) {
        if (this.states[i] === STATE.running) this.states[i] = STATE.failed;
      }
    }
  }

  private apply(event: number): void {
    const node = this.record.node[event]!;
    if (node < 0) return;
    switch (this.record.kind[event]) {
      case KIND.started:
        this.states[node] = STATE.running;
        break;
      case KIND.done:
        this.states[node] = STATE.done;
        this.runs[node]!++;
        break;
      case KIND.dead:
        // A node of a loop is dead in the last iteration; it counts as dead only if it never ran.
        this.states[node] = this.runs[node]! > 0 ? STATE.done : STATE.dead;
        break;
    }
  }
}
