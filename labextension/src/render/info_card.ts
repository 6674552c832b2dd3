/** The card about one box: all data about a node, or the contents of a scope. */

import { html, ICONS, iconButton, linkButton, setText } from "./dom.ts";
import { shortDevice } from "./palette.ts";
import { CONTROL, type Cost, type ItemId, type Scene, type Site } from "./scene.ts";
import { bytesText, duration } from "./units.ts";

const MAX_LINKS = 24;
const MAX_OPS = 10;

export interface CardLinks {
  go: (item: ItemId) => void;
  close: () => void;
  /** The state of the node, "" when nothing runs. */
  stateOf: (node: number) => string;
}

export class InfoCard {
  readonly element = html("aside", "tfnb-card");
  /** The node that it is about. */
  private node: number | null = null;

  constructor(private readonly links: CardLinks) {
    this.element.hidden = true;
    this.element.setAttribute("aria-label", "About the selected node");
    // The card's text may be selected and scrolled without moving the graph.
    for (const type of ["wheel", "pointerdown", "keydown"] as const) {
      this.element.addEventListener(type, (event) => event.stopPropagation());
    }
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.links.close();
    });
  }

  get isShown(): boolean {
    return !this.element.hidden;
  }

  show(scene: Scene, item: ItemId | null): void {
    this.element.hidden = item === null;
    if (item === null) return;
    const isScope = scene.isScope(item);
    this.node = isScope ? null : item;
    const head = html("header", "tfnb-card-head");
    const title = html("div", "tfnb-card-title");
    title.append(
      html("div", "tfnb-card-kind", isScope ? kindOfScope(scene, item) : scene.op(item)),
      html("div", "tfnb-card-name", scene.name(item)),
    );
    head.append(
      title,
      iconButton("Close", ICONS.close, () => this.links.close()),
    );
    const body = html("div", "tfnb-card-body");
    body.append(...(isScope ? this.aboutScope(scene, item) : this.aboutNode(scene, item)));
    this.element.replaceChildren(head, body);
  }

  /** The states have changed. */
  showState(): void {
    const shown = this.element.querySelector(".tfnb-card-state");
    if (shown && this.node !== null) setText(shown, this.links.stateOf(this.node));
  }

  private aboutNode(scene: Scene, node: number): HTMLElement[] {
    const parts: HTMLElement[] = [];
    const state = this.links.stateOf(node);
    if (state) parts.push(section("State", [html("div", "tfnb-card-text tfnb-card-state", state)]));
    const site = scene.site(node);
    if (site) parts.push(section("Made at", aboutSite(site)));
    const change = scene.change(node);
    if (change) parts.push(section("This pass", [html("div", "tfnb-card-text", change)]));
    parts.push(section("Device", aboutDevice(scene, node)));
    const cost = scene.costs?.[node];
    if (cost)
      parts.push(section("Cost in the recorded step", [table(aboutCost(scene, cost), true)]));
    const touched = scene.touched(node).map((line) => html("div", "tfnb-card-text", line));
    if (touched.length) parts.push(section("Passes that touched it", touched));
    const inputs = this.inputs(scene, node);
    if (inputs.length) parts.push(section(`Inputs · ${inputs.length}`, limited(inputs)));
    const outputs = this.outputs(scene, node);
    if (outputs.length) parts.push(section("Outputs", limited(outputs)));
    const attrs = scene.attrs(node);
    if (attrs.length) parts.push(section("Attributes", [table(attrs)]));
    return parts;
  }

  private aboutScope(scene: Scene, item: ItemId): HTMLElement[] {
    const [first, end] = scene.range(item);
    const ops = new Map<string, number>();
    const devices = new Map<string, number>();
    for (let node = first; node < end; node++) {
      ops.set(scene.op(node), (ops.get(scene.op(node)) ?? 0) + 1);
      const device = shortDevice(scene.device(node)) || "no device";
      devices.set(device, (devices.get(device) ?? 0) + 1);
    }
    const listed = (counts: Map<string, number>): [string, string][] => {
      const sorted = [...counts].sort((a, b) => b[1] - a[1]);
      const shown = sorted
        .slice(0, MAX_OPS)
        .map(([name, count]): [string, string] => [name, count.toLocaleString("en")]);
      if (sorted.length > MAX_OPS) shown.push([`${sorted.length - MAX_OPS} more types`, ""]);
      return shown;
    };
    const parts = [
      section(`Ops · ${(end - first).toLocaleString("en")}`, [table(listed(ops), true)]),
    ];
    const costs = (scene.costs ?? []).slice(first, end);
    if (costs.length) {
      const sum = { runs: 0, ns: 0, bytes: 0, peak: 0, moved: 0, waited: 0, live: "" };
      for (const cost of costs) {
        for (const key of ["runs", "ns", "bytes", "peak", "moved", "waited"] as const) {
          sum[key] += cost?.[key] ?? 0;
        }
      }
      const rows = aboutCost(scene, sum).filter(([name]) => name !== "a run");
      parts.push(section("Cost in the recorded step", [table(rows, true)]));
    }
    if (devices.size > 1 || !devices.has("no device")) {
      parts.push(section("Devices", [table(listed(devices), true)]));
    }
    return parts;
  }

  private inputs(scene: Scene, node: number): HTMLElement[] {
    const rows: HTMLElement[] = [];
    for (let e = scene.inStart[node]!; e < scene.inStart[node + 1]!; e++) {
      const source = scene.src[e]!;
      const slot = scene.srcSlot[e]!;
      const output = slot === CONTROL ? undefined : scene.outputs(source)[slot];
      const name = slot === CONTROL ? `^${scene.name(source)}` : `${scene.name(source)}:${slot}`;
      rows.push(this.link(name, source, output));
    }
    return rows;
  }

  private outputs(scene: Scene, node: number): HTMLElement[] {
    const consumers = new Map<number, number[]>();
    for (let k = scene.outStart[node]!; k < scene.outStart[node + 1]!; k++) {
      const e = scene.outEdges[k]!;
      const slot = scene.srcSlot[e]!;
      consumers.set(slot, [...(consumers.get(slot) ?? []), scene.dst[e]!]);
    }
    const rows: HTMLElement[] = [];
    const list = (slot: number, what: string, output?: [string, string]) => {
      const row = html("div", "tfnb-card-output");
      row.append(html("span", "tfnb-card-slot", what));
      if (output) row.append(typeOf(output));
      rows.push(row);
      for (const consumer of new Set(consumers.get(slot) ?? [])) {
        rows.push(this.link(scene.name(consumer), consumer, undefined, "→ "));
      }
      consumers.delete(slot);
    };
    scene.outputs(node).forEach((output, slot) => {
      list(slot, `:${slot}`, output);
    });
    for (const slot of [...consumers.keys()].sort((a, b) => b - a)) {
      list(slot, slot === CONTROL ? "control" : `:${slot}`);
    }
    return rows;
  }

  private link(name: string, target: number, output?: [string, string], mark = ""): HTMLElement {
    const row = html("div", "tfnb-card-link");
    const button = linkButton(mark + name, () => this.links.go(target));
    button.title = name;
    row.append(button);
    if (output) row.append(typeOf(output));
    return row;
  }
}

function kindOfScope(scene: Scene, item: ItemId): string {
  const kind = scene.scopeKind(scene.scopeOfItem(item));
  if (kind === "names") return "Group of similar names";
  if (kind === "chunk") return "Stretch of the data flow";
  if (kind === "series") return "Alike, side by side";
  if (kind === "repeat") return "Repeated block";
  if (kind === "region") return "Region with one way out";
  return kind === "lane" ? "Partition" : "Name scope";
}

function aboutSite(site: Site): HTMLElement[] {
  const isNamed = site.func !== "" && site.func !== "<module>";
  const where =
    site.cell === null ? `${site.file}:${site.line}` : `cell [${site.cell}], line ${site.line}`;
  const line = html("div", "tfnb-card-text", isNamed ? `${where}, in ${site.func}` : where);
  if (site.cell === null) line.title = site.file;
  return site.text ? [line, html("code", "tfnb-card-code", site.text)] : [line];
}

function aboutDevice(scene: Scene, node: number): HTMLElement[] {
  const rows: [string, string][] = [];
  const assigned = scene.assignedDevice(node);
  rows.push(["requested", scene.requestedDevice(node) || "any"]);
  const add = (name: string, text: string) => text && rows.push([name, text]);
  add("allowed", scene.allowed(node));
  add("assigned", assigned);
  add("why", scene.reason(node));
  add("with", scene.colocated(node));
  add("kernel", scene.kernel(node));
  return [table(rows)];
}

function aboutCost(scene: Scene, cost: Cost): [string, string][] {
  const all = scene.costs!.reduce((sum, one) => sum + (one?.ns ?? 0), 0);
  const share = all > 0 ? ` (${((100 * cost.ns) / all).toFixed(1)} %)` : "";
  const rows: [string, string][] = [["runs", cost.runs.toLocaleString("en")]];
  rows.push(["time", duration(cost.ns) + share]);
  if (cost.runs > 1) rows.push(["a run", duration(cost.ns / cost.runs)]);
  for (const [name, count] of [
    ["made", cost.bytes],
    ["held at the peak", cost.peak],
    ["sent or received", cost.moved],
  ] as const) {
    if (count > 0) rows.push([name, bytesText(count)]);
  }
  if (cost.waited > 0) rows.push(["waited", duration(cost.waited)]);
  return rows;
}

function section(title: string, content: HTMLElement[]): HTMLElement {
  const part = html("section", "tfnb-card-section");
  part.append(html("h4", "tfnb-card-heading", title), ...content);
  return part;
}

function typeOf([dtype, shape]: [string, string]): HTMLElement {
  return html("span", "tfnb-card-type", `${dtype} ${shape}`);
}

function table(rows: [string, string][], isNumeric = false): HTMLElement {
  const list = html("dl", isNumeric ? "tfnb-card-table tfnb-card-counts" : "tfnb-card-table");
  for (const [name, value] of rows) list.append(html("dt", "", name), html("dd", "", value));
  return list;
}

/** The first rows, and a button for the rest. */
function limited(rows: HTMLElement[]): HTMLElement[] {
  if (rows.length <= MAX_LINKS) return rows;
  const more = html("button", "tfnb-link tfnb-more", `${rows.length - MAX_LINKS} more`);
  more.type = "button";
  const rest = rows.slice(MAX_LINKS);
  more.addEventListener("click", () => more.replaceWith(...rest));
  return [...rows.slice(0, MAX_LINKS), more];
}
