/**
 * The frame microscope: the loops that lived, and for one of them the iterations as columns and the nodes as rows, at
 * one time.  Iterations in flight are outlined; dead nodes are struck through.
 */

import { html, linkButton, setText } from "./dom.ts";
import { shortDevice } from "./palette.ts";
import type { Execution, Frame, RunRecord } from "./run_record.ts";
import type { Scene } from "./scene.ts";
import { duration } from "./units.ts";

const MOST_FRAMES = 200;
const MOST_COLUMNS = 16;
const MOST_ROWS = 120;

type CellState = "waiting" | "running" | "done" | "dead" | "absent";

const GLYPHS: Record<CellState, string> = {
  absent: "",
  waiting: "·",
  running: "▸",
  done: "●",
  dead: "✕",
};

export class FramesView {
  readonly element = html("div", "tfnb-microscope");
  private readonly tree = html("div", "tfnb-frame-tree");
  private readonly title = html("div", "tfnb-frame-title");
  private readonly table = html("table", "tfnb-cells");
  private readonly legend = html("div", "tfnb-cells-legend");
  private record: RunRecord | null = null;
  private scene: Scene | null = null;
  private chosen = 0;
  private events = 0;
  private selected = -1;
  private nodes: number[] = [];
  private byCell = new Map<string, Execution>();

  constructor(
    private readonly onPick: (node: number) => void,
    private readonly onFrame: (frame: number) => void,
  ) {
    this.tree.setAttribute("role", "listbox");
    this.tree.setAttribute("aria-label", "Frames");
    const scroll = html("div", "tfnb-cells-scroll");
    scroll.tabIndex = 0;
    scroll.append(this.table);
    const main = html("div", "tfnb-frame-main");
    for (const [state, glyph] of Object.entries(GLYPHS)) {
      if (!glyph) continue;
      const entry = html("span", "tfnb-cell-key");
      const mark = html("span", "tfnb-cell", glyph);
      mark.dataset["state"] = state;
      entry.append(mark, html("span", "", state));
      this.legend.append(entry);
    }
    main.append(this.title, scroll, this.legend);
    this.element.append(this.tree, main);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  setRecord(record: RunRecord, scene: Scene): void {
    this.record = record;
    this.scene = scene;
    const firstLoop = record.frames.find((frame) => frame.name !== "");
    this.fillTree();
    this.choose(firstLoop?.index ?? 0);
  }

  show(events: number): void {
    this.events = events;
    this.paint();
  }

  select(node: number): void {
    this.selected = node;
    for (const row of this.table.tBodies[0]?.rows ?? []) {
      row.classList.toggle("tfnb-picked", Number(row.dataset["node"]) === node);
    }
  }

  private fillTree(): void {
    const { record, scene } = this;
    if (!record || !scene) return;
    const shown = record.frames.slice(0, MOST_FRAMES);
    const rows = shown.map((frame) => {
      const button = html("button", "tfnb-frame-button");
      button.type = "button";
      button.setAttribute("role", "option");
      button.style.setProperty("--tf-depth", String(frame.depth));
      const where = frame.parent >= 0 && record.frames[frame.parent]!.name;
      button.append(
        html("span", "tfnb-frame-button-name", frame.name || "graph"),
        html(
          "span",
          "tfnb-frame-button-note",
          where ? `opened in iteration ${frame.parentIteration}` : this.device(frame),
        ),
      );
      button.title = frame.name || "graph";
      button.addEventListener("click", () => {
        this.choose(frame.index);
        this.onFrame(frame.index);
      });
      return button;
    });
    const more = record.frames.length - shown.length;
    this.tree.replaceChildren(...rows);
    if (more > 0) this.tree.append(html("div", "tfnb-frame-more", `and ${more} more`));
  }

  private device(frame: Frame): string {
    return shortDevice(this.scene?.partitions[frame.partition] ?? "");
  }

  /** Shows a frame's iterations. */
  choose(index: number): void {
    const { record, scene } = this;
    if (!record || !scene) return;
    this.chosen = index;
    [...this.tree.children].forEach((row, i) => {
      row.setAttribute("aria-selected", String(i === index));
    });
    this.byCell = new Map();
    const nodes = new Set<number>();
    for (const one of record.byFrame[index] ?? []) {
      nodes.add(one.node);
      this.byCell.set(`${one.node} ${one.iteration}`, one);
    }
    this.nodes = [...nodes].slice(0, MOST_ROWS);
    this.table.replaceChildren();
    this.paint();
  }

  /** The iterations to show: those in flight, with some before them. */
  private columns(): number[] {
    const record = this.record!;
    const all = record.iterations[this.chosen] ?? [];
    const begun = all.filter((one) => one.start < this.events || one.start === 0);
    const last = begun.length ? begun[begun.length - 1]!.number : 0;
    const first = Math.max(
      0,
      Math.min(last - MOST_COLUMNS + 2, (all.at(-1)?.number ?? 0) - MOST_COLUMNS + 1),
    );
    const numbers = all.map((one) => one.number).filter((n) => n >= first);
    return numbers.slice(0, MOST_COLUMNS);
  }

  private paint(): void {
    const { record, scene, table } = this;
    if (!record || !scene) return;
    const frame = record.frames[this.chosen]!;
    const living = new Set(record.living(this.chosen, this.events).map((one) => one.number));
    this.paintTitle(frame, living);
    const columns = this.columns();
    const key = columns.join();
    if (table.dataset["columns"] !== key || !table.tHead) this.build(frame, columns);
    table.dataset["columns"] = key;
    const head = table.tHead!.rows[0]!.cells;
    columns.forEach((number, i) => {
      head[i + 1]!.classList.toggle("tfnb-in-flight", living.has(number));
    });
    this.nodes.forEach((node, row) => {
      const cells = table.tBodies[0]!.rows[row]!.cells;
      columns.forEach((number, i) => {
        const cell = cells[i + 1]!;
        const [state, text] = this.cell(node, number, living.has(number));
        if (cell.dataset["state"] !== state) {
          cell.dataset["state"] = state;
          cell.textContent = GLYPHS[state];
          cell.setAttribute("aria-label", state);
        }
        if (cell.title !== text) cell.title = text;
        cell.classList.toggle("tfnb-in-flight", living.has(number));
      });
    });
  }

  private paintTitle(frame: Frame, living: Set<number>): void {
    const record = this.record!;
    const all = record.iterations[this.chosen] ?? [];
    const begun = all.filter((one) => one.start < this.events).length;
    const more = (record.byFrame[this.chosen] ?? []).length > 0 ? "" : " · nothing ran in it";
    if (!frame.name) {
      setText(this.title, `The graph on ${this.device(frame)}, outside of loops${more}`);
      return;
    }
    setText(
      this.title,
      `${frame.name} on ${this.device(frame)} · ${begun} of ${all.length} iterations begun · ${living.size} in flight${more}`,
    );
  }

  private build(frame: Frame, columns: number[]): void {
    const { scene, table } = this;
    const head = html("thead");
    const top = html("tr");
    const corner = html("th", "tfnb-cells-corner", "node");
    corner.scope = "col";
    top.append(corner);
    for (const number of columns) {
      const cell = html("th", "tfnb-iteration-head", frame.name ? String(number) : "");
      cell.scope = "col";
      if (frame.name) cell.title = `iteration ${number}`;
      top.append(cell);
    }
    head.append(top);
    const body = html("tbody");
    for (const node of this.nodes) {
      const row = html("tr");
      row.dataset["node"] = String(node);
      row.classList.toggle("tfnb-picked", node === this.selected);
      const name = html("th", "tfnb-cells-name");
      name.scope = "row";
      const button = linkButton(scene!.name(node), () => this.onPick(node));
      button.title = `${scene!.name(node)} (${scene!.op(node)})`;
      name.append(button);
      row.append(name);
      for (const _ of columns) row.append(html("td", "tfnb-cell"));
      body.append(row);
    }
    table.replaceChildren(head, body);
  }

  private cell(node: number, iteration: number, isLiving: boolean): [CellState, string] {
    const record = this.record!;
    const found = this.byCell.get(`${node} ${iteration}`);
    if (!found) return ["absent", ""];
    const [begin, end] = record.span(found);
    if (found.end >= 0 && found.end < this.events) {
      if (found.isDead) return ["dead", `iteration ${iteration}: dead`];
      return ["done", `iteration ${iteration}: at ${duration(begin)} for ${duration(end - begin)}`];
    }
    if (found.start < this.events) return ["running", `iteration ${iteration}: runs`];
    return [isLiving ? "waiting" : "absent", ""];
  }
}
