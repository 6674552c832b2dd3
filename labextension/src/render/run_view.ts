/** One recorded step in three views, with one cursor in time and one selection: graph, frames, timeline. */

import { html } from "./dom.ts";
import { FramesView } from "./frames_view.ts";
import type { GraphView } from "./graph_view.ts";
import { costsOf, MemoryCurve, markLive } from "./memory.ts";
import { PlayerBar } from "./player_bar.ts";
import { Replay, type RunRecord } from "./run_record.ts";
import type { Scene } from "./scene.ts";
import { TimelineView } from "./timeline_view.ts";

const TABS = ["graph", "devices", "frames", "timeline"] as const;
type Tab = (typeof TABS)[number];
const TAB_NAMES: Record<Tab, string> = {
  graph: "Graph",
  devices: "Devices",
  frames: "Frames",
  timeline: "Timeline",
};

export class RunView {
  readonly element = html("div", "tfnb-run");
  private readonly tabs: Record<Tab, HTMLButtonElement>;
  private readonly panels: Record<Tab, HTMLElement>;
  private readonly note = html("span", "tfnb-run-note");
  private readonly frames: FramesView;
  private readonly timeline: TimelineView;
  private readonly player: PlayerBar;
  private readonly prefix = `tfnb-${Math.random().toString(36).slice(2, 10)}`;
  private replay: Replay | null = null;
  private scene: Scene | null = null;
  private record: RunRecord | null = null;
  private tab: Tab = "graph";

  private curve: MemoryCurve | null = null;
  private lanes: Scene | null = null;
  private lanesDrawn = false;
  /** For each node of the lanes, the record's node. */
  private laneNodes = new Int32Array();

  constructor(
    private readonly graph: GraphView,
    private readonly devices: GraphView,
    private readonly onTime: (ns: number) => void,
  ) {
    const pick = (node: number) => void graph.goTo(node);
    this.frames = new FramesView(pick, (frame) => this.pickFrame(frame));
    this.timeline = new TimelineView(
      pick,
      (events) => this.player.move(events),
      (frame) => this.pickFrame(frame),
    );
    this.player = new PlayerBar((events) => this.show(events));
    this.panels = {
      graph: graph.element,
      devices: devices.element,
      frames: this.frames.element,
      timeline: this.timeline.element,
    };
    const bar = html("div", "tfnb-tabs");
    const list = html("div", "tfnb-tab-list");
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", "Views of the recorded step");
    this.tabs = Object.fromEntries(
      TABS.map((tab) => {
        const button = html("button", "tfnb-tab", TAB_NAMES[tab]);
        button.type = "button";
        button.id = `${this.prefix}-tab-${tab}`;
        button.setAttribute("role", "tab");
        button.setAttribute("aria-controls", `${this.prefix}-panel-${tab}`);
        button.addEventListener("click", () => this.open(tab));
        const panel = this.panels[tab];
        panel.id = `${this.prefix}-panel-${tab}`;
        panel.setAttribute("role", "tabpanel");
        panel.setAttribute("aria-labelledby", button.id);
        list.append(button);
        return [tab, button];
      }),
    ) as Record<Tab, HTMLButtonElement>;
    list.addEventListener("keydown", (event) => this.tabKey(event));
    bar.append(list, this.note);
    this.element.append(bar, this.player.element, ...TABS.map((tab) => this.panels[tab]));
    this.open("graph");
  }

  dispose(): void {
    this.player.dispose();
    this.timeline.dispose();
  }

  /** Stores the nodes' costs in the scene; call it before the scene is drawn. */
  prepare(record: RunRecord, scene: Scene): void {
    this.curve = new MemoryCurve(record);
    scene.costs = costsOf(record, scene.count, this.curve);
  }

  /** `lanes` is the same graph, a lane for each device. */
  setRecord(record: RunRecord, scene: Scene, lanes: Scene | null): void {
    const curve = this.curve!;
    this.scene = scene;
    this.record = record;
    this.lanes = lanes;
    this.lanesDrawn = false;
    this.tabs.devices.hidden = lanes === null;
    if (lanes) {
      const place = new Map<string, number>();
      for (let i = 0; i < scene.count; i++) place.set(`${scene.partition(i)} ${scene.name(i)}`, i);
      this.laneNodes = Int32Array.from(
        { length: lanes.count },
        (_, i) => place.get(`${lanes.partition(i)} ${lanes.name(i)}`) ?? -1,
      );
      lanes.costs = [...this.laneNodes].map((node) => scene.costs![node] ?? null);
    }
    this.replay = new Replay(record, scene.count);
    this.frames.setRecord(record, scene);
    this.timeline.setRecord(record, scene, curve);
    const { header } = record;
    const what = [...header.fetches, ...header.targets].slice(0, 4).join(", ");
    const notes = [what && `run: ${what}`];
    if (header.error) notes.push(`failed: ${header.error.split("\n", 1)[0]}`);
    if (header.dropped > 0)
      notes.push(`${header.dropped.toLocaleString("en")} later events not kept`);
    this.note.textContent = notes.filter(Boolean).join(" · ");
    this.note.title = header.error || this.note.textContent;
    this.player.setRecord(record, scene);
    // A tab that was opened before the record was there has nothing drawn in it yet.
    this.open(this.tab === "devices" && !lanes ? "graph" : this.tab);
  }

  /** A node was selected in the graph. */
  selected(name: string): void {
    const { scene } = this;
    if (!scene) return;
    let found = -1;
    if (name)
      for (let i = 0; i < scene.count && found < 0; i++) if (scene.name(i) === name) found = i;
    this.frames.select(found);
    this.timeline.select(found);
    if (this.lanesDrawn && name !== this.devices.selectedName) this.devices.goToName(name);
  }

  /** Shows another time, as another view of this record does. */
  goToTime(ns: number): void {
    if (this.record) this.player.move(this.record.eventsAt(ns));
  }

  /** A loop was picked: its lanes and nodes are marked, and its iterations shown. */
  private pickFrame(frame: number): void {
    const { record } = this;
    if (!record) return;
    this.frames.choose(frame);
    this.timeline.selectFrame(frame);
    const isLoop = record.frames[frame]!.name !== "";
    this.graph.showOnly(isLoop ? record.byFrame[frame]!.map((one) => one.node) : []);
  }

  private async drawLanes(): Promise<void> {
    const { lanes } = this;
    if (!lanes || this.lanesDrawn) return;
    this.lanesDrawn = true;
    await this.devices.setScene(lanes);
    this.show(this.player.events);
  }

  open(tab: Tab): void {
    this.tab = tab;
    if (tab === "devices") void this.drawLanes();
    for (const one of TABS) {
      const isOpen = one === tab;
      this.tabs[one].setAttribute("aria-selected", String(isOpen));
      this.tabs[one].tabIndex = isOpen ? 0 : -1;
      this.panels[one].hidden = !isOpen;
    }
    if (this.replay) this.show(this.player.events);
  }

  private show(events: number): void {
    const { replay, record, scene, lanes } = this;
    if (!replay || !record) return;
    const states = replay.after(events);
    const ns = record.timeAfter(events);
    const view = this.tab === "devices" ? this.devices : this.graph;
    if (scene?.costs) markLive(record, scene.costs, ns);
    if (view.colourBy === "liveness") view.colour("liveness");
    this.graph.setStates(states, true);
    if (lanes && this.lanesDrawn) {
      this.devices.setStates(
        Uint8Array.from(this.laneNodes, (node) => states[node] ?? 0),
        true,
      );
    }
    this.onTime(ns);
    if (this.tab === "frames") this.frames.show(events);
    if (this.tab === "timeline") this.timeline.show(events);
  }

  private tabKey(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    event.stopPropagation();
    if (step === 0) return;
    const tabs = TABS.filter((one) => !this.tabs[one].hidden);
    const next = tabs[(tabs.indexOf(this.tab) + step + tabs.length) % tabs.length]!;
    this.open(next);
    this.tabs[next].focus();
  }
}
