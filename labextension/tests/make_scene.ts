/** A scene made of few words: nodes in an order where every scope is contiguous already. */

import { Scene } from "../src/render/scene.ts";

export interface PlainNode {
  name: string;
  op: string;
  inputs?: number[];
  controls?: number[];
  device?: string;
}

/** Scopes are one level deep; nodes without one come last, as in Python they come first within theirs. */
export function makeScene(nodes: PlainNode[]): Scene {
  const strings = [""];
  const text = (value: string): number => {
    const found = strings.indexOf(value);
    return found >= 0 ? found : strings.push(value) - 1;
  };
  const scopes = [""];
  const home = nodes.map(({ name }) => {
    const path = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
    const found = scopes.indexOf(path);
    return found >= 0 ? found : scopes.push(path) - 1;
  });
  const order = nodes.map((_, i) => i).sort((a, b) => home[a]! - home[b]! || a - b);
  const place = new Map(order.map((old, now) => [old, now]));
  const edges = order.flatMap((old) => [
    ...(nodes[old]!.inputs ?? []).flatMap((source, slot) => [
      place.get(source)!,
      0,
      place.get(old)!,
      slot,
    ]),
    ...(nodes[old]!.controls ?? []).flatMap((source) => [
      place.get(source)!,
      -1,
      place.get(old)!,
      -1,
    ]),
  ]);
  const column = <T>(make: (node: PlainNode, old: number) => T): T[] =>
    order.map((old) => make(nodes[old]!, old));
  const members = scopes.map((_, scope) => order.filter((old) => home[old] === scope).length);
  const ends = members.map((_, scope) =>
    members.slice(0, scope + 1).reduce((sum, count) => sum + count, 0),
  );
  return new Scene({
    version: 1,
    title: "",
    nodes: {
      name: column(({ name }) => name),
      op: column(({ op }) => text(op)),
      scope: column((_, old) => home[old]!),
      requested: column(() => 0),
      assigned: column(({ device }) => text(device ?? "")),
      partition: column(() => -1),
      attrs: column(() => 0),
      outputs: column(() => 0),
      site: column(() => -1),
      reason: column(() => 0),
    },
    scopes: {
      label: scopes,
      path: scopes,
      parent: scopes.map((_, scope) => (scope === 0 ? -1 : 0)),
      kind: scopes.map(() => "scope"),
      first: scopes.map((_, scope) => (scope === 0 ? 0 : ends[scope - 1]!)),
      end: scopes.map((_, scope) => (scope === 0 ? nodes.length : ends[scope]!)),
    },
    edges,
    partitions: [],
    opKinds: {},
    attrSets: [[]],
    outputSets: [[]],
    sites: [],
    strings,
  });
}
