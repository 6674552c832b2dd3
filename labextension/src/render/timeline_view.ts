/**
 * The timeline: a lane for each device, and below it one for each iteration of a loop that was in flight beside
 * others.  It is drawn on a canvas; the list beside it has the same data for screen readers and keyboards.
 */

import { html, ICONS, iconButton, linkButton, setText } from "./dom.ts";
import type { MemoryCurve } from "./memory.ts";
import { KINDS, shortDevice } from "./palette.ts";
import type { Execution, RunRecord } from "./run_record.ts";
import type { Scene } from "./scene.ts";
import { bytesText, duration } from "./units.ts";

const LANE = 18;
const HEAD = 22;
const LABELS = 170;
const MOST_SLOTS = 12;
const MOST_SLOWEST = 12;
const MOST_HELD = 40;
/** Height of the memory curve below the lanes. */
const CURVE = 64;
const ZOOM = 1.6;

interface Lane {
  label: string;
  isFirst: boolean;
  executions: Execution[];
}

/** Attributes of the page's body by which JupyterLab and Notebook tell their theme. */
const THEME_ATTRIBUTES = ["data-jp-theme-name", "data-jp-theme-light"];

export class TimelineView {
  readonly element = html("div", "tfnb-timeline");
  private readonly canvas = html("canvas", "tfnb-timeline-canvas");
  private readonly status = html("div", "tfnb-timeline-status");
  private readonly slowest = html("ol", "tfnb-slowest");
  private readonly heldTitle = html("div", "tfnb-slowest-title");
  private readonly held = html("ol", "tfnb-slowest tfnb-held");
  private curve: MemoryCurve | null = null;
  /** Time whose live tensors are listed: under the pointer, else the cursor's. */
  private heldNs = -1;
  private record: RunRecord | null = null;
  private scene: Scene | null = null;
  private lanes: Lane[] = [];
  private from = 0;
  private to = 1;
  private events = 0;
  private selected = -1;
  private frame = -1;
  private drag: { x: number; from: number; to: number; hasMoved: boolean } | null = null;
  private isDue = false;
  private readonly resizes = new ResizeObserver(() => this.redraw());
  /** A canvas keeps its colours when the page changes those of its stylesheet. */
  private readonly themes = new MutationObserver(() => this.redraw());

  constructor(
    private readonly onPick: (node: number) => void,
    private readonly onMove: (events: number) => void,
    private readonly onFrame: (frame: number) => void,
  ) {
    const bar = html("div", "tfnb-timeline-bar");
    bar.append(
      this.status,
      html("span", "tfnb-gap"),
      iconButton("Zoom out (−)", ICONS.zoomOut, () => this.zoom(1 / ZOOM)),
      iconButton("Zoom in (+)", ICONS.zoomIn, () => this.zoom(ZOOM)),
      iconButton("The whole step (0)", ICONS.fit, () => this.showAll()),
    );
    const { canvas } = this;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.pointer(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
    const side = html("div", "tfnb-slowest-box");
    side.append(
      this.heldTitle,
      this.held,
      html("div", "tfnb-slowest-title", "Most time in"),
      this.slowest,
    );
    canvas.addEventListener("pointerleave", () => this.fillHeld());
    const rows = html("div", "tfnb-timeline-rows");
    const scroll = html("div", "tfnb-timeline-scroll");
    scroll.append(canvas);
    rows.append(scroll, side);
    this.element.append(bar, rows);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
    this.resizes.observe(scroll);
    this.themes.observe(document.body, { attributeFilter: THEME_ATTRIBUTES });
  }

  dispose(): void {
    this.resizes.disconnect();
    this.themes.disconnect();
  }

  setRecord(record: RunRecord, scene: Scene, curve: MemoryCurve): void {
    this.record = record;
    this.scene = scene;
    this.curve = curve;
    this.heldNs = -1;
    this.lanes = lanesOf(record, scene);
    this.canvas.setAttribute(
      "aria-label",
      `Timeline of ${duration(record.durationNs)}: ${this.lanes.length} lanes, ${record.executions.length} executions, at most ${bytesText(curve.peak)} in tensors`,
    );
    this.fillSlowest();
    this.showAll();
  }

  show(events: number): void {
    this.events = events;
    this.fillHeld();
    this.redraw();
  }

  /** Lists the tensors held at a time; without one, at the cursor's. */
  private fillHeld(ns = this.record?.timeAfter(this.events) ?? 0): void {
    const { record, scene, curve } = this;
    if (!record || !scene || !curve || ns === this.heldNs) return;
    this.heldNs = ns;
    const { node, slot, bytes, form, iteration } = record.tensors;
    const live = curve.liveAt(ns);
    const sum = live.reduce((total, i) => total + bytes[i]!, 0);
    const peak = curve.peak > 0 ? `, at most ${bytesText(curve.peak)}` : "";
    setText(this.heldTitle, `Held at ${duration(ns)}: ${bytesText(sum)}${peak}`);
    this.held.replaceChildren(
      ...live.slice(0, MOST_HELD).map((i) => {
        const row = html("li");
        // Tensors made inside a function that the node called are not its outputs.
        const output = slot[i]! < 0 ? " (inside)" : `:${slot[i]}`;
        const name = scene.name(node[i]!) + output;
        const button = linkButton(name, () => this.onPick(node[i]!));
        const often = iteration[i]! > 0 ? `, iteration ${iteration[i]}` : "";
        const what = `${record.header.forms[form[i]!]}${often}`;
        button.title = `${name} ${what}`;
        row.append(button, html("span", "tfnb-slowest-time", `${bytesText(bytes[i]!)} · ${what}`));
        return row;
      }),
    );
    if (live.length > MOST_HELD) {
      this.held.append(html("li", "", `and ${live.length - MOST_HELD} more`));
    }
  }

  /** Top of the memory curve. */
  private get curveTop(): number {
    return HEAD + this.lanes.length * LANE + 8;
  }

  select(node: number): void {
    this.selected = node;
    this.redraw();
  }

  /** Marks the lanes of a loop. */
  selectFrame(frame: number): void {
    this.frame = frame;
    this.redraw();
  }

  private fillSlowest(): void {
    const { record, scene } = this;
    if (!record || !scene) return;
    const total = new Map<number, [number, number]>();
    for (const one of record.executions) {
      if (one.isDead || one.isAsync) continue;
      const [begin, end] = record.span(one);
      const [ns, often] = total.get(one.node) ?? [0, 0];
      total.set(one.node, [ns + end - begin, often + 1]);
    }
    const ordered = [...total]
      .filter(([, [ns]]) => ns > 0)
      .sort((a, b) => b[1][0] - a[1][0])
      .slice(0, MOST_SLOWEST);
    this.slowest.replaceChildren(
      ...ordered.map(([node, [ns, often]]) => {
        const row = html("li");
        const button = linkButton(scene.name(node), () => this.onPick(node));
        button.title = `${scene.name(node)} (${scene.op(node)})`;
        const times = often > 1 ? ` in ${often.toLocaleString("en")} runs` : "";
        row.append(button, html("span", "tfnb-slowest-time", `${duration(ns)}${times}`));
        return row;
      }),
    );
  }

  // -- moving --------------------------------------------------------------------------------------

  private showAll(): void {
    this.from = 0;
    this.to = this.record?.durationNs ?? 1;
    this.redraw();
  }

  private zoom(factor: number, around = (this.from + this.to) / 2): void {
    const whole = this.record?.durationNs ?? 1;
    const width = Math.min(whole, Math.max((this.to - this.from) / factor, whole / 1e5, 50));
    const share = (around - this.from) / (this.to - this.from);
    this.from = Math.max(0, Math.min(whole - width, around - share * width));
    this.to = this.from + width;
    this.redraw();
  }

  private pan(ns: number): void {
    const whole = this.record?.durationNs ?? 1;
    const width = this.to - this.from;
    this.from = Math.max(0, Math.min(whole - width, this.from + ns));
    this.to = this.from + width;
    this.redraw();
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return; // without these keys the wheel scrolls the notebook
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, this.timeAt(event.offsetX));
  }

  private press(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, from: this.from, to: this.to, hasMoved: false };
  }

  private pointer(event: PointerEvent): void {
    const { drag } = this;
    if (drag) {
      const dx = event.offsetX - drag.x;
      if (Math.abs(dx) > 3) drag.hasMoved = true;
      if (drag.hasMoved) {
        const ns = (dx * (drag.to - drag.from)) / this.plotWidth();
        this.from = drag.from;
        this.to = drag.to;
        this.pan(-ns);
      }
      return;
    }
    if (event.offsetY > this.curveTop && event.offsetX > LABELS) {
      this.fillHeld(this.timeAt(event.offsetX));
    } else this.fillHeld();
    const found = this.at(event.offsetX, event.offsetY);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    setText(this.status, found ? this.describe(found) : this.range());
  }

  private release(event: PointerEvent): void {
    const { drag } = this;
    this.drag = null;
    if (!drag || drag.hasMoved || !this.record) return;
    if (event.offsetX < LABELS) {
      const lane = this.lanes[Math.floor((event.offsetY - HEAD) / LANE)];
      if (lane?.executions[0]) this.onFrame(lane.executions[0].frame);
      return;
    }
    const found = this.at(event.offsetX, event.offsetY);
    if (found) this.onPick(found.node);
    this.onMove(this.record.eventsAt(this.timeAt(event.offsetX)));
  }

  private key(event: KeyboardEvent): void {
    const width = this.to - this.from;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-width / 8),
      ArrowRight: () => this.pan(width / 8),
      "+": () => this.zoom(ZOOM),
      "=": () => this.zoom(ZOOM),
      "-": () => this.zoom(1 / ZOOM),
      "0": () => this.showAll(),
      ",": () => this.onMove(this.events - 1),
      ".": () => this.onMove(this.events + 1),
      m: () => this.onMove((this.record?.eventsAt(this.curve?.peakNs ?? 0) ?? 0) + 1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // -- drawing -------------------------------------------------------------------------------------

  private plotWidth(): number {
    return Math.max(1, this.canvas.clientWidth - LABELS - 8);
  }

  private timeAt(x: number): number {
    return this.from + ((x - LABELS) / this.plotWidth()) * (this.to - this.from);
  }

  private at(x: number, y: number): Execution | null {
    const { record } = this;
    const lane = this.lanes[Math.floor((y - HEAD) / LANE)];
    if (!record || !lane || x < LABELS) return null;
    const near = (2 * (this.to - this.from)) / this.plotWidth();
    const time = this.timeAt(x);
    let found: Execution | null = null;
    for (const one of lane.executions) {
      const [begin, end] = record.span(one);
      if (begin - near > time) break;
      if (end + near >= time) found = one;
    }
    return found;
  }

  private describe(one: Execution): string {
    const { record, scene } = this;
    if (!record || !scene) return "";
    const [begin, end] = record.span(one);
    const frame = record.frames[one.frame]!.name;
    const where = frame ? `, iteration ${one.iteration} of ${frame}` : "";
    const what = one.isDead ? "dead" : duration(end - begin);
    return `${scene.name(one.node)} (${scene.op(one.node)})${where}: ${what} at ${duration(begin)}`;
  }

  private range(): string {
    return `${duration(this.from)} – ${duration(this.to)}`;
  }

  private redraw(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  private draw(): void {
    const { canvas, record, scene } = this;
    const width = canvas.parentElement?.clientWidth ?? 0;
    if (!record || !scene || width === 0) return;
    const height = this.curveTop + (this.curve?.peak ? CURVE : 0);
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    if (!context) return;
    const colours = new Colours(canvas);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawAxis(context, colours, width, height);
    this.lanes.forEach((lane, i) => {
      this.drawLane(context, colours, lane, HEAD + i * LANE, width);
    });
    this.drawCurve(context, colours, width);
    const cursor = this.xOf(record.timeAfter(this.events));
    if (cursor >= LABELS && cursor <= width) {
      context.fillStyle = colours.get("--tf-accent");
      context.fillRect(cursor, 0, 1.5, height);
    }
    setText(this.status, this.range());
  }

  private xOf(ns: number): number {
    return LABELS + ((ns - this.from) / (this.to - this.from)) * this.plotWidth();
  }

  private drawAxis(
    context: CanvasRenderingContext2D,
    colours: Colours,
    width: number,
    height: number,
  ): void {
    const step = niceStep((this.to - this.from) / Math.max(2, this.plotWidth() / 110));
    context.textAlign = "left";
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = this.xOf(t);
      context.fillStyle = colours.get("--tf-border");
      context.fillRect(x, HEAD - 6, 1, height);
      context.fillStyle = colours.get("--tf-muted");
      if (x < width - 40) context.fillText(duration(t), x + 3, 9);
    }
  }

  /** Draws the bytes of tensors: a line over a hatched area, its highest value beside it. */
  private drawCurve(context: CanvasRenderingContext2D, colours: Colours, width: number): void {
    const { curve } = this;
    if (!curve?.peak) return;
    const [top, bottom] = [this.curveTop + 4, this.curveTop + CURVE - 6];
    const yOf = (held: number) => bottom - ((bottom - top) * held) / curve.peak;
    context.fillStyle = colours.get("--tf-border");
    context.fillRect(0, this.curveTop - 4, width, 1);
    context.fillStyle = colours.get("--tf-text");
    context.fillText("memory", 8, top + 8);
    context.fillStyle = colours.get("--tf-muted");
    context.fillText(`at most ${bytesText(curve.peak)}`, 8, top + 24);
    const path = new Path2D();
    path.moveTo(LABELS, bottom);
    let y = bottom;
    let right = LABELS;
    for (let i = 0; i < curve.times.length; i++) {
      const x = this.xOf(curve.times[i]!);
      if (x > width) break;
      if (x > LABELS) {
        path.lineTo(Math.max(LABELS, right), y);
        path.lineTo(x, y);
        right = x;
      }
      y = yOf(curve.held[i]!);
      path.lineTo(Math.max(LABELS, x), y);
    }
    path.lineTo(width - 8, y);
    path.lineTo(width - 8, bottom);
    context.save();
    context.globalAlpha = 0.22;
    context.fillStyle = colours.get("--tf-cat-4");
    context.fill(path);
    context.restore();
    context.strokeStyle = colours.get("--tf-cat-4");
    context.lineWidth = 1.2;
    context.stroke(path);
  }

  private drawLane(
    context: CanvasRenderingContext2D,
    colours: Colours,
    lane: Lane,
    y: number,
    width: number,
  ): void {
    const record = this.record!;
    const scene = this.scene!;
    if (lane.isFirst) {
      context.fillStyle = colours.get("--tf-border");
      context.fillRect(0, y - 0.5, width, 1);
    }
    if (lane.executions.some((one) => one.frame === this.frame)) {
      context.fillStyle = colours.get("--tf-accent");
      context.fillRect(1, y + 2, 3, LANE - 4);
    }
    context.fillStyle = colours.get(lane.isFirst ? "--tf-text" : "--tf-muted");
    context.fillText(shortened(context, lane.label, LABELS - 14), 8, y + LANE / 2);
    let lastX = -1;
    for (const one of lane.executions) {
      const [begin, end] = record.span(one);
      if (end < this.from) continue;
      if (begin > this.to) break;
      const x = Math.max(LABELS, this.xOf(begin));
      const w = Math.max(1, Math.min(width, this.xOf(end)) - x);
      if (x + w < lastX + 0.6 && one.node !== this.selected) continue; // too narrow to be visible
      lastX = x + w;
      const kind = KINDS.indexOf(scene.opKind(one.node) as (typeof KINDS)[number]);
      context.fillStyle = colours.get(`--tf-cat-${Math.max(0, kind)}`);
      context.globalAlpha = one.isDead ? 0.25 : 1;
      context.fillRect(x, y + 3, w, LANE - 6);
      context.globalAlpha = 1;
      if (one.node === this.selected) {
        context.strokeStyle = colours.get("--tf-text");
        context.lineWidth = 1.5;
        context.strokeRect(x, y + 2, w, LANE - 4);
      }
      if (w > 40) {
        context.fillStyle = colours.get("--tf-surface");
        context.fillText(shortened(context, scene.label(one.node), w - 6), x + 3, y + LANE / 2);
      }
    }
  }
}

/** Makes lanes by partition; an iteration takes the first slot that is free when it begins. */
function lanesOf(record: RunRecord, scene: Scene): Lane[] {
  const slotOf = new Map<string, number>();
  const groups = new Map<string, Group>();
  for (const frame of record.frames) {
    const key = `${frame.partition} ${frame.depth} ${frame.name}`;
    if (!groups.has(key)) {
      const label = frame.name || shortDevice(scene.partitions[frame.partition] ?? "");
      groups.set(key, { label, partition: frame.partition, depth: frame.depth, slots: [] });
    }
    const free: number[] = [];
    for (const one of record.iterations[frame.index]!) {
      let slot = free.findIndex((end) => end <= one.start);
      if (slot < 0) slot = Math.min(free.length, MOST_SLOTS - 1);
      free[slot] = one.end;
      slotOf.set(`${frame.index} ${one.number}`, slot);
    }
  }
  for (const one of record.executions) {
    const frame = record.frames[one.frame]!;
    const group = groups.get(`${frame.partition} ${frame.depth} ${frame.name}`)!;
    if (one.thread >= 0) {
      const name = record.header.threads[one.thread]!;
      const key = `${frame.partition} thread ${name}`;
      const label = `thread ${name}`;
      const lane = groups.get(key) ?? {
        label,
        partition: frame.partition,
        depth: 1e9,
        slots: [[]],
      };
      lane.slots[0]!.push(one);
      groups.set(key, lane);
      continue;
    }
    const slot = slotOf.get(`${one.frame} ${one.iteration}`) ?? 0;
    while (group.slots.length <= slot) group.slots.push([]);
    group.slots[slot]!.push(one);
  }
  const ordered = [...groups.values()].sort(
    (a, b) => a.partition - b.partition || a.depth - b.depth,
  );
  return ordered.flatMap((group) => lanesOfGroup(group));
}

interface Group {
  label: string;
  partition: number;
  depth: number;
  slots: Execution[][];
}

/** Makes a lane for each slot, and one for nodes that wait meanwhile. */
function lanesOfGroup(group: Group): Lane[] {
  if (group.depth === 1e9) {
    const ran = group.slots[0]!.sort((a, b) => a.ran![0] - b.ran![0]);
    return [{ label: group.label, isFirst: false, executions: ran }];
  }
  const indent = "  ".repeat(group.depth);
  const lanes = group.slots.map((executions, slot) => ({
    label: `${indent}${group.label}${group.slots.length > 1 ? ` #${slot + 1}` : ""}`,
    isFirst: group.depth === 0 && slot === 0,
    executions: executions.filter((one) => !one.isAsync),
  }));
  const waiting = group.slots.flat().filter((one) => one.isAsync);
  if (waiting.length > 0) {
    waiting.sort((a, b) => a.start - b.start);
    lanes.push({ label: `${indent}${group.label} waits`, isFirst: false, executions: waiting });
  }
  return lanes;
}

/** Returns 1, 2 or 5 times a power of ten, at least the given value. */
function niceStep(ns: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(ns, 1)));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= ns) ?? 10);
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  const short = text.slice(0, 200);
  if (context.measureText(short).width <= width) return short;
  const room = Math.max(1, Math.floor(width / 6.2) - 1);
  return `…${short.slice(-room)}`;
}

/** Colours of the stylesheet, each looked up once per picture. */
class Colours {
  private readonly style: CSSStyleDeclaration;
  private readonly known = new Map<string, string>();

  constructor(element: HTMLElement) {
    this.style = getComputedStyle(element);
  }

  get(name: string): string {
    let found = this.known.get(name);
    if (found === undefined) {
      found = this.style.getPropertyValue(name).trim() || "#888";
      this.known.set(name, found);
    }
    return found;
  }
}
