/** Bundles of edges, embedded constants, hubs, and what lies outside a scope. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { metagraph } from "../src/render/metagraph.ts";
import { CONTROL } from "../src/render/scene.ts";
import { makeScene } from "./make_scene.ts";

test("edges between two scopes are one bundle", () => {
  const scene = makeScene([
    { name: "a/x", op: "Neg" },
    { name: "a/y", op: "Neg", inputs: [0] },
    { name: "b/x", op: "Neg", inputs: [0] },
    { name: "b/y", op: "Neg", inputs: [1, 2] },
  ]);
  const { edges, items } = metagraph(scene, 0);

  assert.deepEqual(items.map((item) => scene.label(item)).sort(), ["a", "b"]);
  assert.equal(edges.length, 1);
  assert.equal(edges[0]!.edges.length, 2);
});

test("a constant with one consumer is a dot at it", () => {
  const scene = makeScene([
    { name: "c", op: "Const" },
    { name: "x", op: "Placeholder" },
    { name: "y", op: "Add", inputs: [0, 1] },
  ]);
  const { embedded, items } = metagraph(scene, 0);

  assert.deepEqual([...embedded], [[2, [0]]]);
  assert.ok(!items.includes(0));
});

test("a constant with two consumers keeps its box", () => {
  const scene = makeScene([
    { name: "c", op: "Const" },
    { name: "x", op: "Neg", inputs: [0] },
    { name: "y", op: "Neg", inputs: [0] },
  ]);

  assert.equal(metagraph(scene, 0).embedded.size, 0);
});

test("a node with very many neighbours stands aside", () => {
  const nodes = [{ name: "step", op: "VariableV2", inputs: [] as number[] }];
  for (let i = 1; i <= 30; i++) {
    nodes.push({ name: `n${i}`, op: "Neg", inputs: i > 1 ? [0, i - 1] : [0] });
  }
  const scene = makeScene(nodes);
  const { auxiliary, edges, hasInputTail } = metagraph(scene, 0);

  assert.deepEqual(auxiliary, [0]);
  assert.equal(edges.length, 29);
  assert.ok(hasInputTail.has(1));
});

test("inputs from outside a scope are tails", () => {
  const scene = makeScene([
    { name: "x", op: "Placeholder" },
    { name: "s/y", op: "Neg", inputs: [0] },
    { name: "s/z", op: "Neg", inputs: [1] },
    { name: "w", op: "Neg", inputs: [2] },
  ]);
  const inner = metagraph(scene, scene.parentOf(scene.count - 1));

  assert.equal(inner.scope, 1);
  assert.deepEqual(
    [...inner.hasInputTail].map((item) => scene.name(item)),
    ["s/y"],
  );
  assert.deepEqual(
    [...inner.hasOutputTail].map((item) => scene.name(item)),
    ["s/z"],
  );
});

test("a control edge counts as such, and the edge that closes a loop is known", () => {
  const scene = makeScene([
    { name: "merge", op: "Merge", inputs: [1] },
    { name: "next", op: "NextIteration", inputs: [0] },
    { name: "after", op: "NoOp", controls: [0] },
  ]);
  const { edges } = metagraph(scene, 0);
  const between = (from: number, to: number) =>
    edges.find((edge) => edge.from === from && edge.to === to)!;

  assert.equal(scene.dstSlot[between(0, 2).edges[0]!], CONTROL);
  assert.equal(between(0, 2).controls, 1);
  assert.equal(between(1, 0).isBack, true);
  assert.equal(between(0, 1).isBack, false);
});
