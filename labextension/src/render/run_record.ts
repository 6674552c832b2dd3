/**
 * A recorded step from Python (tfnb/notebook/steps/run_record.py): loops, and events as columns in order of time.
 *
 * `Replay` computes the state of every node after any number of events, from snapshots at intervals.
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

const VERSION = 2;
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
  tensors: number;
  forms: string[];
  threads: string[];
  elsewhere: number;
}

/** The tensors that a step made, as columns; `freed` is infinite for those that outlived it. */
export interface Tensors {
  made: Float64Array;
  freed: Float64Array;
  bytes: Float64Array;
  node: Int32Array;
  slot: Int32Array;
  iteration: Int32Array;
  form: Int32Array;
}

/** One loop that lived in the step; the first ones are the partitions' root frames. */
export interface Frame {
  index: number;
  partition: number;
  /** "" for a root frame. */
  name: string;
  /** The frame around it, -1 for a root frame; it was opened in `parentIteration` of that frame. */
  parent: number;
  parentIteration: number;
  depth: number;
}

/** One execution of a node: events `start` and `end`; `end` is -1 if it did not end. */
export interface Execution {
  node: number;
  frame: number;
  iteration: number;
  start: number;
  end: number;
  isDead: boolean;
  /** Another event happened between its start and its end: it waited, or ran in another thread. */
  isAsync: boolean;
  /** The thread of a pool that ran it, with begin and end; -1: the thread that drove the step. */
  thread: number;
  ran?: [number, number];
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
    readonly tensors: Tensors,
    elsewhere: Int32Array,
    elsewhereNs: Float64Array,
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
    this.collect(elsewhere, elsewhereNs);
  }

  private collect(elsewhere: Int32Array, elsewhereNs: Float64Array): void {
    const open = new Map<string, Execution & { before: number }>();
    const pooled = new Map<string, number>();
    for (let i = 0; 4 * i < elsewhere.length; i++) {
      pooled.set(elsewhere.subarray(4 * i, 4 * i + 3).join(" "), i);
    }
    let moves = 0; // sending and receiving is part of the node that does it
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
          thread: -1,
          before: moves,
        };
        open.set(key, found);
        this.executions.push(found);
        this.byFrame[frame]!.push(found);
      } else if (kind === KIND.done || kind === KIND.dead) {
        const found = open.get(key);
        if (found) {
          found.end = i;
          found.isDead = kind === KIND.dead;
          found.isAsync = i - moves > found.start - found.before + 1;
          const row = pooled.get(key);
          if (row !== undefined) {
            found.thread = elsewhere[4 * row + 3]!;
            found.ran = [elsewhereNs[2 * row]!, elsewhereNs[2 * row + 1]!];
          }
          open.delete(key);
        }
      } else if (kind === KIND.iterationStarted) {
        this.iterations[frame]!.push({ number: iteration, start: i, end: this.count });
      } else if (kind === KIND.iterationDone) {
        const list = this.iterations[frame]!; // in order, without gaps
        const found = list[iteration - (list[0]?.number ?? 0)];
        if (found) found.end = i;
      } else if (kind >= KIND.sent) {
        moves++;
      }
    }
  }

  /** The number of events up to a time. */
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
    if (execution.ran) return execution.ran;
    const begin = this.timeNs[execution.start]!;
    return [begin, execution.end < 0 ? this.durationNs : this.timeNs[execution.end]!];
  }
}

/** Decodes the result of RunRecord.encode() in Python. */
export async function decodeRunRecord(bytes: Uint8Array<ArrayBuffer>): Promise<RunRecord> {
  const buffer = await inflate(bytes);
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size))) as Header;
  if (header.version !== VERSION) {
    throw new Error(`This record has version ${header.version}; version ${VERSION} is understood.`);
  }
  let at = 4 + size;
  const take = (size: number) => {
    const from = at;
    at += size;
    return from;
  };
  const floats = (count: number) => new Float64Array(buffer, take(8 * count), count);
  const integers = (count: number) => new Int32Array(buffer, take(4 * count), count);
  const { events: n, tensors: t, elsewhere: p } = header;
  const timeNs = floats(n);
  const [made, freed, sizes] = [floats(t), floats(t), floats(t)];
  const elsewhereNs = floats(2 * p);
  const [node, frame, iteration] = [integers(n), integers(n), integers(n)];
  const tensors: Tensors = {
    made,
    freed,
    bytes: sizes,
    node: integers(t),
    slot: integers(t),
    iteration: integers(t),
    form: integers(t),
  };
  const elsewhere = integers(4 * p);
  const kind = new Uint8Array(buffer, take(n), n);
  return new RunRecord(
    header,
    timeNs,
    node,
    frame,
    iteration,
    kind,
    tensors,
    elsewhere,
    elsewhereNs,
  );
}

/** The state of every node after a number of events. */
export class Replay {
  private readonly states: Uint8Array;
  private readonly runs: Uint32Array;
  /** The number of iterations in which each node runs now. */
  private readonly running: Int32Array;
  /** Whether a node only waits while it is in flight, as a Recv: it computes nothing. */
  private readonly waits: Uint8Array;
  private readonly snapshots: { states: Uint8Array; runs: Uint32Array; running: Int32Array }[] = [];
  private at = 0;

  constructor(
    private readonly record: RunRecord,
    private readonly nodeCount: number,
  ) {
    this.states = new Uint8Array(nodeCount).fill(STATE.idle);
    this.waits = new Uint8Array(nodeCount);
    for (const one of record.executions) {
      this.states[one.node] = STATE.waiting;
      if (one.isAsync && one.thread < 0 && one.end >= 0) this.waits[one.node] = 1;
    }
    this.runs = new Uint32Array(nodeCount);
    this.running = new Int32Array(nodeCount);
    this.keep();
  }

  private keep(): void {
    const { states, runs, running } = this;
    this.snapshots.push({ states: states.slice(), runs: runs.slice(), running: running.slice() });
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
    // The mark looks like that of a node which runs: at the end of the step there is none.
    if (last >= 0 && this.at < this.record.count) bytes[last]! |= 0b1000;
    return bytes;
  }

  private goTo(events: number): void {
    const nearest = Math.min(Math.floor(events / SNAPSHOT_EVERY), this.snapshots.length - 1);
    if (events < this.at || nearest * SNAPSHOT_EVERY > this.at) {
      const snapshot = this.snapshots[nearest]!;
      this.states.set(snapshot.states);
      this.runs.set(snapshot.runs);
      this.running.set(snapshot.running);
      this.at = nearest * SNAPSHOT_EVERY;
    }
    while (this.at < events) {
      this.apply(this.at++);
      if (this.at % SNAPSHOT_EVERY === 0 && this.at / SNAPSHOT_EVERY === this.snapshots.length) {
        this.keep();
      }
    }
    if (this.at !== this.record.count) return;
    // The step is over: nodes whose end was not kept ended with it.
    const left = this.record.header.error ? STATE.failed : STATE.done;
    for (let i = 0; i < this.nodeCount; i++) {
      if (this.running[i]! > 0) this.states[i] = left;
    }
  }

  private apply(event: number): void {
    const node = this.record.node[event]!;
    if (node < 0) return;
    switch (this.record.kind[event]) {
      case KIND.started:
        this.states[node] = this.inFlight(node);
        this.running[node]!++;
        break;
      case KIND.done:
        this.runs[node]!++;
        this.states[node] = this.isLeft(node) ? this.inFlight(node) : STATE.done;
        break;
      case KIND.dead:
        // A node of a loop is dead in the last iteration; it counts as dead only if it never ran.
        if (this.isLeft(node)) this.states[node] = this.inFlight(node);
        else this.states[node] = this.runs[node]! > 0 ? STATE.done : STATE.dead;
        break;
    }
  }

  private inFlight(node: number): number {
    return this.waits[node] ? STATE.waiting : STATE.running;
  }

  /** An iteration of a node has ended; whether another one of it still runs. */
  private isLeft(node: number): boolean {
    if (this.running[node]! > 0) this.running[node]!--;
    return this.running[node]! > 0;
  }
}
