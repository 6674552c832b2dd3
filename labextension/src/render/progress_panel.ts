/** Progress of the running step as figures and bars: one row per partition, one per loop frame. */

import { html, setText } from "./dom.ts";
import { shortDevice } from "./palette.ts";
import { bytesText, duration } from "./units.ts";

export interface PartitionProgress {
  device: string;
  done: number;
  dead: number;
  total: number;
  runs: number;
  current: string;
}

export interface FrameProgress {
  name: string;
  device: string;
  depth: number;
  iteration: number;
  live: number;
  isDone: boolean;
  runs: number;
}

/** The counters that travel beside the states (tfnb/notebook/steps/step_publisher.py). */
export interface Counters {
  phase:
    | "waiting"
    | "running"
    | "blocked"
    | "held"
    | "stopped"
    | "idle"
    | "done"
    | "cancelled"
    | "failed";
  steps: number;
  failed?: number;
  cancelled?: number;
  running: number;
  elapsed_ns: number;
  step_ns: number;
  runs_per_second: number;
  steps_per_second?: number;
  /** Whether the steps are only sampled. */
  sampled?: boolean;
  sent_bytes?: number;
  queues?: { name: string; size: number; capacity: number; isClosed: boolean }[];
  partitions: PartitionProgress[];
  frames: FrameProgress[];
  moreFrames: number;
  /** What steps in flight wait for. */
  waits?: string[];
  /** The signatures to choose from, by their fetches; empty if the kernel cannot receive a choice. */
  choices?: { number: number; what: string; steps: number; ns: number }[];
  chosen?: number | null;
  dropped: number;
  error: string;
}

/** Whether steps are in flight. */
export function isActive(phase: Counters["phase"] | undefined): boolean {
  return phase !== undefined && ["running", "blocked", "held", "stopped"].includes(phase);
}

const PHASES: Record<Counters["phase"], string> = {
  waiting: "Waiting for a step",
  running: "Running",
  blocked: "Waits",
  held: "Held",
  stopped: "Stopped by the debugger",
  idle: "No step runs",
  done: "Done",
  cancelled: "Cancelled",
  failed: "Failed",
};

export class ProgressPanel {
  readonly element = html("div", "tfnb-progress");
  private readonly phase = html("span", "tfnb-phase");
  private readonly figures = html("div", "tfnb-figures");
  private readonly rows = html("div", "tfnb-progress-rows");
  private readonly frames = html("div", "tfnb-frames");
  private readonly queues = html("div", "tfnb-frames");
  private readonly waits = html("div", "tfnb-waits");
  private readonly note = html("div", "tfnb-note");
  private readonly choice = html("select", "tfnb-select");

  /** `onChoose` gets a signature's number, or "" for the steps that take longest. */
  constructor(onChoose: (number: string) => void = () => {}) {
    const head = html("div", "tfnb-progress-head");
    this.choice.setAttribute("aria-label", "Step on display");
    this.choice.hidden = true;
    this.choice.addEventListener("change", () => onChoose(this.choice.value));
    head.append(this.phase, this.figures, this.choice);
    this.waits.setAttribute("role", "status");
    this.element.append(head, this.waits, this.rows, this.frames, this.queues, this.note);
    this.element.setAttribute("aria-label", "Progress");
  }

  show(counters: Counters): void {
    const { phase } = counters;
    this.element.dataset["phase"] = phase;
    setText(this.phase, PHASES[phase]);
    this.showFigures(counters);
    this.showChoices(counters);
    setText(this.waits, (counters.waits ?? []).join("\n"));
    this.waits.hidden = !counters.waits?.length;
    const isRemote = counters.partitions.some((one) => shortDevice(one.device).startsWith("/job:"));
    // Devices with their tasks have longer names.
    this.rows.style.setProperty("--tf-name", isRemote ? "14em" : "6.5em");
    match(this.rows, counters.partitions.length, partitionRow);
    counters.partitions.forEach((partition, i) => {
      fillPartition(this.rows.children[i] as HTMLElement, partition, counters);
    });
    match(this.frames, counters.frames.length, frameRow);
    counters.frames.forEach((frame, i) => {
      fillFrame(this.frames.children[i] as HTMLElement, frame);
    });
    const queues = counters.queues ?? [];
    match(this.queues, queues.length, queueRow);
    queues.forEach((queue, i) => {
      fillQueue(this.queues.children[i] as HTMLElement, queue);
    });
    const notes = [];
    if (counters.error) notes.push(counters.error);
    if (counters.sampled) {
      notes.push("Steps are only sampled: nodes that run between two samples are not seen");
    }
    if (counters.moreFrames > 0) notes.push(`${counters.moreFrames} more frames`);
    if (counters.dropped > 0) {
      notes.push(
        `${counters.dropped.toLocaleString("en")} events skipped: the step runs faster than its picture`,
      );
    }
    setText(this.note, notes.join(" · "));
    this.note.hidden = notes.length === 0;
  }

  /** The list of signatures; it is not changed while it has focus. */
  private showChoices({ choices = [], chosen }: Counters): void {
    this.choice.hidden = choices.length < 2;
    if (this.choice.hidden || this.choice.matches(":focus")) return;
    match(this.choice, choices.length + 1, () => html("option"));
    const options = [...this.choice.options];
    options[0]!.value = "";
    setText(options[0]!, "Longest step");
    choices.forEach(({ number, what, steps, ns }, i) => {
      const option = options[i + 1]!;
      option.value = String(number);
      const times = `${steps.toLocaleString("en")}×`;
      setText(option, `${what || "no fetch"} · ${steps ? `${times} ${duration(ns)}` : "runs"}`);
    });
    this.choice.value = String(chosen ?? "");
  }

  private showFigures(counters: Counters): void {
    const figures: [string, string][] = [
      [counters.steps === 1 ? "step done" : "steps done", counters.steps.toLocaleString("en")],
      ...(["cancelled", "failed"] as const)
        .filter((how) => (counters[how] ?? 0) > 0)
        .map((how): [string, string] => [how, counters[how]!.toLocaleString("en")]),
      ["elapsed", duration(counters.elapsed_ns)],
      ["this step", duration(counters.step_ns)],
    ];
    if (!counters.sampled) {
      figures.push(["nodes/s", Math.round(counters.runs_per_second).toLocaleString("en")]);
    }
    const rate = counters.steps_per_second ?? 0;
    if (rate > 0) figures.push(["steps/s", rate < 10 ? rate.toFixed(1) : String(Math.round(rate))]);
    if (counters.sent_bytes) figures.push(["moved", bytesText(counters.sent_bytes)]);
    match(this.figures, figures.length, () => {
      const figure = html("span", "tfnb-figure");
      figure.append(html("span", "tfnb-figure-value"), html("span", "tfnb-figure-name"));
      return figure;
    });
    figures.forEach(([name, value], i) => {
      const [shown, caption] = [...this.figures.children[i]!.children];
      setText(shown!, value);
      setText(caption!, name);
    });
  }
}

function partitionRow(): HTMLElement {
  const row = html("div", "tfnb-row");
  const track = html("div", "tfnb-track");
  track.setAttribute("role", "progressbar");
  track.append(html("div", "tfnb-track-done"), html("div", "tfnb-track-dead"));
  row.append(
    html("span", "tfnb-row-name"),
    track,
    html("span", "tfnb-row-count"),
    html("span", "tfnb-row-current"),
  );
  return row;
}

function fillPartition(
  row: HTMLElement,
  partition: PartitionProgress,
  { phase, dropped, sampled }: Counters,
): void {
  const [name, track, count, current] = [...row.children] as HTMLElement[];
  const share = (part: number) => `${partition.total ? (100 * part) / partition.total : 0}%`;
  setText(name!, shortDevice(partition.device));
  name!.title = partition.device;
  track!.setAttribute("aria-label", `Nodes done on ${shortDevice(partition.device)}`);
  const [done, dead] = [...track!.children] as HTMLElement[];
  done!.style.width = share(partition.done - partition.dead);
  dead!.style.width = share(partition.dead);
  track!.setAttribute("aria-valuenow", String(partition.done));
  track!.setAttribute("aria-valuemax", String(partition.total));
  setText(
    count!,
    `${sampled ? "≥ " : ""}${partition.done.toLocaleString("en")} / ${partition.total.toLocaleString("en")}`,
  );
  const runs = `${dropped > 0 || sampled ? "≥ " : ""}${partition.runs.toLocaleString("en")} runs`;
  setText(current!, isActive(phase) ? partition.current : runs);
  current!.title = partition.current;
}

function frameRow(): HTMLElement {
  const row = html("div", "tfnb-frame");
  row.append(
    html("span", "tfnb-frame-name"),
    html("span", "tfnb-frame-iteration"),
    html("span", "tfnb-frame-live"),
  );
  return row;
}

function fillFrame(row: HTMLElement, frame: FrameProgress): void {
  const [name, iteration, live] = [...row.children] as HTMLElement[];
  row.style.setProperty("--tf-depth", String(frame.depth));
  row.dataset["done"] = String(frame.isDone);
  setText(name!, frame.name);
  name!.title = `${frame.name} on ${frame.device}`;
  setText(iteration!, `iteration ${frame.iteration.toLocaleString("en")}`);
  const flight = frame.isDone ? "done" : `${frame.live} in flight`;
  setText(
    live!,
    frame.runs > 1 ? `${flight} · entered ${frame.runs.toLocaleString("en")}×` : flight,
  );
}

function queueRow(): HTMLElement {
  const row = html("div", "tfnb-frame");
  const level = html("meter");
  row.append(html("span", "tfnb-frame-name"), level, html("span", "tfnb-frame-live"));
  return row;
}

function fillQueue(
  row: HTMLElement,
  { name, size, capacity, isClosed }: NonNullable<Counters["queues"]>[number],
): void {
  const [title, level, text] = [...row.children] as [HTMLElement, HTMLMeterElement, HTMLElement];
  setText(title, `queue ${name}`);
  title.title = name;
  level.max = capacity || Math.max(size, 1);
  level.value = size;
  level.setAttribute("aria-label", `Elements in ${name}`);
  const count = size.toLocaleString("en");
  const most = capacity ? ` of ${capacity.toLocaleString("en")}` : "";
  setText(text, `${count}${most}${isClosed ? ", closed" : ""}`);
}

/** Gives a list as many rows as it needs and keeps those it has. */
function match(list: HTMLElement, count: number, make: () => HTMLElement): void {
  while (list.children.length > count) list.lastElementChild!.remove();
  while (list.children.length < count) list.append(make());
}
