/** The anywidget: connects the model's traits (tfnb/notebook/views/widget.py) with the views. */

import layoutSource from "layout-source";
import { LayoutClient } from "../layout/layout_client.ts";
import { CurvesPanel, type CurvesState } from "../render/curves.ts";
import { DebugPanel, type DebugState } from "../render/debug_panel.ts";
import { Disposables, html } from "../render/dom.ts";
import { pngOf } from "../render/export_picture.ts";
import { GraphView } from "../render/graph_view.ts";
import { Notice } from "../render/notice.ts";
import { PassesView } from "../render/passes_view.ts";
import { PlacementTable } from "../render/placement_table.ts";
import { type Counters, isActive, ProgressPanel } from "../render/progress_panel.ts";
import { decodeRunRecord } from "../render/run_record.ts";
import { RunView } from "../render/run_view.ts";
import { decodeScene } from "../render/scene.ts";

import { KernelNews } from "./kernel_news.ts";
import { Link } from "./link.ts";
import type { Context, Traits } from "./model.ts";
import { Moments } from "./moments.ts";
import { keepKeys } from "./notebook_keys.ts";
import { base64, pageOf } from "./page.ts";
import { renderTable } from "./table.ts";

function bytesOf(view: DataView | null): Uint8Array<ArrayBuffer> {
  if (!view) return new Uint8Array();
  return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

function render({ model, el }: Context): () => void {
  const options = model.get("_options");
  if (["compare", "values", "partial", "times"].includes(options.view))
    return renderTable({ model, el });
  const undo = new Disposables();
  const root = html("div", `tfnb tfnb-view-${options.view}`);
  const layouts = new LayoutClient(layoutSource);
  let recorded = -1;
  const select = (name: string) => {
    if (name === model.get("selected")) return;
    model.set("selected", name);
    model.save_changes();
    if (name) link.tell({ name });
  };
  const link = new Link(options.group ?? "", root, ({ name, step, ns }) => {
    if (name) select(name);
    else if (step === recorded && ns !== undefined) run?.goToTime(ns);
    if (name) showSelected();
  });
  undo.add(() => link.dispose());
  const page = () => pageOf((name) => model.get(name as keyof Traits), options.view);
  const settings = { colourBy: options.colourBy, height: options.height, page };
  const graph = new GraphView(layouts, {
    ...settings,
    look: model.get("_look") ?? {},
    onLook: (look) => {
      model.set("_look", look);
      model.save_changes();
    },
    onSelect: (name) => {
      run?.selected(name);
      debug?.selected(name, name !== model.get("selected"));
      passes?.noteSelected(name);
      select(name);
    },
  });
  const table = options.view === "placement" ? new PlacementTable((n) => void graph.goTo(n)) : null;
  const panel = ["progress", "debug"].includes(options.view)
    ? new ProgressPanel((number) => model.send({ command: "show", number }))
    : null;
  const debug =
    options.view === "debug"
      ? new DebugPanel(
          (message) => model.send(message),
          (name) => graph.goToName(name),
        )
      : null;
  const lanes =
    options.view === "run"
      ? new GraphView(layouts, {
          ...settings,
          onSelect: (name) => {
            if (name && name !== graph.selectedName) graph.goToName(name);
          },
        })
      : null;
  const run = lanes ? new RunView(graph, lanes, (ns) => link.tell({ step: recorded, ns })) : null;
  const passes =
    options.view === "passes"
      ? new PassesView(graph, (text) => decodeScene(fromBase64(text)))
      : null;
  const message = html("div", "tfnb-message");
  const news = panel ? new KernelNews(el) : null;
  const notice = new Notice((words) => model.send(words));
  if (news) root.append(news.element);
  root.append(notice.element);
  if (debug) root.append(debug.element);
  const curves = options.view === "progress" ? new CurvesPanel() : null;
  if (panel) root.append(panel.element);
  if (curves) root.append(curves.element);
  const main = (run ?? passes ?? graph).element;
  root.append(message, main);
  if (table) root.append(table.element);
  el.append(root);

  const say = (text: string) => {
    message.hidden = text === "";
    message.textContent = text;
  };
  const drawScene = async (view: DataView) => {
    const bytes = bytesOf(view);
    if (passes) {
      say("");
      await passes.setPasses(model.get("_passes").passes ?? []);
      root.dataset["ready"] = "true";
      return;
    }
    main.hidden = bytes.length === 0;
    if (bytes.length === 0) {
      say(nothing());
      return;
    }
    say("");
    try {
      const scene = await decodeScene(bytes);
      const record = run ? await decodeRunRecord(bytesOf(model.get("_record"))) : null;
      if (record) {
        recorded = record.header.step;
        run!.prepare(record, scene);
      }
      await graph.setScene(scene);
      table?.setScene(scene);
      if (record) {
        const inLanes = bytesOf(model.get("_lanes"));
        run!.setRecord(record, scene, inLanes.length ? await decodeScene(inLanes) : null);
      }
      showSelected();
      hasPicture = true;
      root.dataset["ready"] = "true";
    } catch (error) {
      say(`The graph cannot be drawn: ${String(error)}`);
    }
  };
  const nothing = () => {
    if (panel) return "The graph appears with the next step.";
    return options.view === "run"
      ? "The step appears here when it has ended."
      : "There is nothing to show.";
  };
  const showCounters = (counters: Traits["_counters"]) => {
    if (!panel || !("phase" in counters)) return;
    panel.show(counters as Counters);
    const isNew = root.dataset["phase"] !== (counters as Counters).phase;
    root.dataset["phase"] = (counters as Counters).phase;
    if (isNew) showDebugger();
  };
  let hasPicture = false;
  const moments = new Moments<DataView, DataView, Traits["_counters"]>(
    drawScene,
    ({ states, counters }) => {
      const bytes = bytesOf(states);
      if (bytes.length > 0) {
        graph.setStates(bytes, !isActive((counters as Partial<Counters>).phase));
      }
      showCounters(counters);
    },
  );
  let isAsked = false;
  let isGone = false;
  undo.add(() => {
    isGone = true;
  });
  /** A message changes several traits; all are there when the first is told. */
  const look = () => {
    isAsked = false;
    if (isGone) return;
    const counters = model.get("_counters");
    news?.heard(isActive((counters as Partial<Counters>).phase));
    // Before there is a graph the header is all there is to see.
    if (!hasPicture) showCounters(counters);
    moments.take({ scene: model.get("_scene"), states: model.get("_states"), counters });
  };
  const lookSoon = () => {
    if (!isAsked) queueMicrotask(look);
    isAsked = true;
  };
  const showSelected = () => {
    const name = model.get("selected");
    // A stop selects its node. The panel tells of it, so that no card has to cover a narrow graph.
    if (debug && name === graph.selectedName) return;
    if (name) graph.goToName(name, { mayCover: debug === null });
  };
  const listen = (event: string, handler: (content?: unknown) => void) => {
    model.on(event, handler);
    undo.add(() => model.off(event, handler));
  };
  // Python requests the picture (views/widget.py).
  listen("msg:custom", (content) => {
    if ((content as { draw?: string } | undefined)?.draw !== "png") return;
    pngOf(graph.picture()).then(async (png) => {
      const bytes = new Uint8Array(await png.arrayBuffer());
      model.send({ picture: base64(new DataView(bytes.buffer)) });
    }, console.warn);
  });
  for (const part of ["_scene", "_states", "_counters"]) listen(`change:${part}`, lookSoon);
  if (news) {
    // The front end marks the view when it learns of this itself.
    const check = () => void setTimeout(() => news.check());
    for (const event of ["comm_live_update", "comm:close"]) listen(event, check);
    undo.add(() => news.dispose());
  }
  const showDebugger = () => {
    const state = model.get("_debug");
    const { phase } = model.get("_counters") as Partial<Counters>;
    if (!debug || !("stop" in state)) return;
    const { isUndriven } = state as DebugState;
    debug.show(state as DebugState, isActive(phase));
    // The panel counts nothing of a step that began before this view.
    if (panel) panel.element.hidden = isUndriven === true && !isActive(phase) && !hasPicture;
  };
  const showNotice = () => notice.show(model.get("_notice") ?? {});
  listen("change:_debug", showDebugger);
  listen("change:_notice", showNotice);
  const showCurves = () => {
    const state = model.get("_curves") ?? {};
    if ("curves" in state) curves?.show(state as CurvesState);
  };
  listen("change:_curves", showCurves);
  listen("change:selected", showSelected);
  undo.add(keepKeys(root));
  undo.add(() => {
    run?.dispose();
    lanes?.dispose();
    graph.dispose();
    layouts.dispose();
    root.remove();
  });
  showNotice();
  showCurves();
  look();
  if (debug) showDebugger();
  return () => undo.dispose();
}

export default { render };
