/** Search, device names and shapes as texts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compactShape, showsOp } from "../src/render/arrangement.ts";
import { cores, cutApart } from "../src/render/names.ts";
import { shortDevice } from "../src/render/palette.ts";
import { findNodes } from "../src/render/search_box.ts";
import { cutMiddle } from "../src/render/text_measure.ts";
import { duration } from "../src/render/units.ts";
import { makeScene } from "./make_scene.ts";

test("search knows names, ops and devices", () => {
  const scene = makeScene([
    { name: "layer/conv", op: "Conv2D", device: "/device:GPU:0" },
    { name: "layer/relu", op: "Relu" },
    { name: "conv_out", op: "Identity" },
  ]);
  const names = (query: string) => findNodes(scene, query).map((node) => scene.name(node));

  assert.deepEqual(names("conv").sort(), ["conv_out", "layer/conv"]);
  assert.deepEqual(names("op:conv"), ["layer/conv"]);
  assert.deepEqual(names("layer relu"), ["layer/relu"]);
  assert.deepEqual(names("device:gpu"), ["layer/conv"]);
  assert.deepEqual(names("  "), []);
});

test("devices of this process are short, others tell their job", () => {
  assert.equal(shortDevice("/job:localhost/replica:0/task:0/device:CPU:1"), "CPU:1");
  assert.equal(
    shortDevice("/job:worker/replica:0/task:3/device:GPU:0"),
    "/job:worker/task:3/GPU:0",
  );
  assert.equal(shortDevice("/device:GPU:2"), "GPU:2");
});

test("shapes and times are short", () => {
  assert.equal(compactShape("(?, 28, 28)"), "?×28×28");
  assert.equal(compactShape("<unknown>"), "");
  assert.equal(duration(850_000), "850 µs");
  assert.equal(duration(125e9), "2:05 min");
  assert.equal(cutMiddle("gradients/layer_1/MatMul_grad", 16), "gradients…l_grad");
});

test("an op's type is shown unless the label says it", () => {
  assert.equal(showsOp("MatMul_3", "MatMul"), false);
  assert.equal(showsOp("weights", "VariableV2"), true);
});

test("names that would be cut alike are cut where they are the same", () => {
  const of = (what: string) => `the_scope_of_the_generator_${what}_of_a_network`;
  const texts = ["kernel", "bias", "kernel_1", "kernel_2"].map(of);
  const cut = cutApart([...texts, "short"], 26);
  assert.equal(new Set(cut).size, 5);
  assert.equal(cut[4], "short");
  for (const text of cut) assert.ok(text.length <= 26, text);
  assert.match(cut[0]!, /^the_scop….*kernel/);
  assert.match(cut[1]!, /bias/);
  assert.deepEqual(cutApart([texts[0]!, texts[0]!], 26).length, 2);
});

test("a column shows where names differ that end alike", () => {
  const of = (what: string) => `gradients/block_0/${what}/tuple/control_dependency`;
  const found = cores([
    of("MatMul_grad"),
    of("BiasAdd_grad"),
    "gradients/block_0/a_name_of_its_own",
  ]);
  const shown = [...found].map(([name, [from, to]]) => name.slice(from, to));
  assert.deepEqual(shown, ["MatMul_grad", "BiasAdd_grad"]);
});
