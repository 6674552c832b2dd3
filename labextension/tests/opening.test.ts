/** What is open: named so that another page finds it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openByNames, openNames } from "../src/render/opening.ts";
import { fittingScale } from "../src/render/viewport.ts";
import { makeScene } from "./make_scene.ts";

const scene = makeScene([
  { name: "a/x", op: "Const" },
  { name: "a/y", op: "Neg", inputs: [0] },
  { name: "b/z", op: "Neg", inputs: [1] },
]);

test("open scopes are found again by their names, in a graph that has grown, too", () => {
  const [, b] = scene.innerScopes(0);
  const names = openNames(scene, new Set([b!]));
  const grown = makeScene([
    { name: "c/first", op: "Const" },
    { name: "a/x", op: "Const" },
    { name: "b/z", op: "Neg", inputs: [1] },
  ]);
  const [found] = [...openByNames(grown, names)];

  assert.equal(grown.label(grown.scopeItem(found!)), "b");
  assert.equal(openByNames(grown, ["/none"]).size, 0);
});

test("the scale at which a drawing is seen whole has no least", () => {
  assert.ok(fittingScale({ width: 100_000, height: 50 }, { width: 500, height: 400 }) < 0.005);
});
