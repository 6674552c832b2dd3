/** The anywidget: connects the model's traits (tfnb/notebook/views/widget.py) with the views. */

import layoutSource from "layout-source";
import { DebugPanel, type DebugState, type Message } from "../render/debug_panel.ts";
import { Disposables, html } from "../render/dom.ts";
import { GraphView } from "../render/graph_view.ts";
import { LayoutClient } from "../render/layout_client.ts";
import type { ColourBy } from "../render/palette.ts";
import { PlacementTable } from "../render/placement_table.ts";
import { type Counters, ProgressPanel } from "../render/progress_panel.ts";
import { decodeRunRecord } from "../render/run_record.ts";
import { RunView } from "../render/run_view.ts";
import { decodeScene } from "../render/scene.ts";
import { keepKeys } from "./notebook_keys.ts";

interface Options {
  view: "graph" | "placement" | "partitions" | "progress" | "run" | "debug";
  colourBy: ColourBy;
  height: number;
}

interface Traits {
  _scene: DataView;
  _states: DataView;
  _record: DataView;
  _counters: Counters | Record<string, never>;
  _debug: DebugState | Record<string, never>;
  _options: Options;
  selected: string;
}

/** What anywidget hands to a view. */
interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  set<K extends keyof Traits>(name: K, value: Traits[K]): void;
  save_changes(): void;
  on(event: string, handler: () => void): void;
  off(event: string, handler: () => void): void;
  send(content: Message): void;
}

function bytesOf(view: DataView | null): Uint8Array<ArrayBuffer> {
  if (!view) return new Uint8Array();
  return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const undo = new Disposables();
  const options = model.get("_options");
  const root = html("div", `tfnb tfnb-view-${options.view}`);
  const layouts = new LayoutClient(layoutSource);
  const graph = new GraphView(layouts, {
    colourBy: options.colourBy,
    height: options.height,
    onSelect: (name) => {
      const isPicked = name !== model.get("selected");
      run?.selected(name);
      debug?.selected(name, isPicked);
      if (!isPicked) return;
      model.set("selected", name);
      model.save_changes();
    },
  });
  const table = options.view === "placement" ? new PlacementTable((n) => void graph.goTo(n)) : null;
  const panel = ["progress", "debug"].includes(options.view) ? new ProgressPanel() : null;
  const debug =
    options.view === "debug"
      ? new DebugPanel(
          (message) => model.send(message),
          (name) => graph.goToName(name),
        )
      : null;
  const run = options.view === "run" ? new RunView(graph) : null;
  const message = html("div", "tfnb-message");
  if (debug) root.append(debug.element);
  if (panel) root.append(panel.element);
  root.append(message, run?.element ?? graph.element);
  if (table) root.append(table.element);
  el.append(root);

  let shown = -1;
  let asked = 0;
  const showScene = async () => {
    const bytes = bytesOf(model.get("_scene"));
    const mine = ++asked;
    (run?.element ?? graph.element).hidden = bytes.length === 0;
    message.hidden = bytes.length > 0;
    message.textContent = panel
      ? "The graph appears with the first step."
      : "There is nothing to show.";
    if (bytes.length === 0) return;
    try {
      const scene = await decodeScene(bytes);
      if (mine !== asked) return;
      await graph.setScene(scene);
      table?.setScene(scene);
      run?.setRecord(await decodeRunRecord(bytesOf(model.get("_record"))), scene);
      shown = mine;
      showStates();
      showSelected();
      root.dataset["ready"] = "true";
    } catch (error) {
      message.hidden = false;
      message.textContent = `The graph cannot be drawn: ${String(error)}`;
    }
  };
  const showStates = () => {
    if (shown !== asked) return;
    const states = bytesOf(model.get("_states"));
    if (states.length === 0) return;
    const { phase } = model.get("_counters") as Partial<Counters>;
    graph.setStates(states, phase !== "running");
  };
  const showCounters = () => {
    const counters = model.get("_counters");
    if (panel && "phase" in counters) {
      panel.show(counters as Counters);
      root.dataset["phase"] = (counters as Counters).phase;
    }
  };
  const showSelected = () => {
    const name = model.get("selected");
    if (name) graph.goToName(name);
  };
  const listen = (event: string, handler: () => void) => {
    model.on(event, handler);
    undo.add(() => model.off(event, handler));
  };
  listen("change:_scene", () => void showScene());
  listen("change:_states", showStates);
  const showDebugger = () => {
    const state = model.get("_debug");
    if (debug && "stop" in state) debug.show(state as DebugState);
  };
  listen("change:_debug", showDebugger);
  listen("change:_counters", showCounters);
  listen("change:selected", showSelected);
  undo.add(keepKeys(root));
  undo.add(() => {
    run?.dispose();
    graph.dispose();
    layouts.dispose();
    root.remove();
  });
  showCounters();
  if (debug) showDebugger();
  void showScene();
  return () => undo.dispose();
}

export default { render };
