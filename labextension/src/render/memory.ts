/** The memory of a recorded step: bytes held at each time, the tensors that hold them, and each node's cost. */

import { KIND, type RunRecord } from "./run_record.ts";
import type { Cost } from "./scene.ts";

/** Times in order and the bytes held from each on; made once per record. */
export class MemoryCurve {
  readonly times: Float64Array;
  readonly held: Float64Array;
  /** The time of the peak. */
  peakNs = 0;
  peak = 0;

  constructor(private readonly record: RunRecord) {
    const { made, freed, bytes } = record.tensors;
    const changes: [number, number][] = [];
    made.forEach((ns, i) => {
      changes.push([ns, bytes[i]!]);
      if (freed[i]! < Number.POSITIVE_INFINITY) changes.push([freed[i]!, -bytes[i]!]);
    });
    changes.sort((a, b) => a[0] - b[0]);
    this.times = Float64Array.from(changes, ([ns]) => ns);
    let sum = 0;
    this.held = Float64Array.from(changes, ([, change]) => {
      sum += change;
      return sum;
    });
    this.held.forEach((held, i) => {
      if (held <= this.peak) return;
      this.peak = held;
      this.peakNs = this.times[i]!;
    });
  }

  /** The tensors held at a time, the largest first. */
  liveAt(ns: number): number[] {
    const { made, freed, bytes } = this.record.tensors;
    const live: number[] = [];
    for (let i = 0; i < made.length; i++) if (made[i]! <= ns && freed[i]! > ns) live.push(i);
    return live.sort((a, b) => bytes[b]! - bytes[a]!);
  }
}

/** The cost of each node of a record's scene; `live` is set by {@link markLive}. */
export function costsOf(record: RunRecord, count: number, curve: MemoryCurve): (Cost | null)[] {
  const costs: (Cost | null)[] = new Array(count).fill(null);
  const of = (node: number): Cost => {
    costs[node] ??= { runs: 0, ns: 0, bytes: 0, peak: 0, moved: 0, waited: 0, live: "" };
    return costs[node];
  };
  for (const one of record.executions) {
    const cost = of(one.node);
    if (one.isDead || one.end < 0) continue;
    const [begin, end] = record.span(one);
    cost.runs++;
    cost[one.isAsync && one.thread < 0 ? "waited" : "ns"] += end - begin;
  }
  for (let i = 0; i < record.count; i++) {
    if (record.kind[i]! >= KIND.sent) of(record.node[i]!).moved += record.iteration[i]!;
  }
  const { node, bytes } = record.tensors;
  node.forEach((maker, i) => {
    of(maker).bytes += bytes[i]!;
  });
  for (const i of curve.liveAt(curve.peakNs)) of(node[i]!).peak += bytes[i]!;
  markLive(record, costs, curve.peakNs);
  return costs;
}

/** Sets for each node whether its outputs are held at a time. */
export function markLive(record: RunRecord, costs: (Cost | null)[], ns: number): void {
  const { node, made, freed } = record.tensors;
  const rank = ["", "freed", "later", "live"];
  for (const cost of costs) if (cost) cost.live = "";
  node.forEach((maker, i) => {
    const state = made[i]! > ns ? "later" : freed[i]! > ns ? "live" : "freed";
    const cost = costs[maker];
    if (cost && rank.indexOf(state) > rank.indexOf(cost.live)) cost.live = state;
  });
}
