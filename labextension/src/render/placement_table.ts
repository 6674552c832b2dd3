/** The reason for each node's device: requested and chosen device with the placer's reason, one row per node. */

import { html, linkButton, type Span, shown } from "./dom.ts";
import { cores } from "./names.ts";
import { shortDevice } from "./palette.ts";
import type { Scene } from "./scene.ts";

const PAGE = 200;
const COLUMNS = ["Node", "Device", "Op", "Requested", "Why"] as const;

export class PlacementTable {
  readonly element = html("div", "tfnb-table-box");
  private readonly summary = html("div", "tfnb-table-summary");
  private readonly body = html("tbody");
  private scene: Scene | null = null;
  private order: number[] = [];
  private shown = 0;
  private device: string | null = null;
  private cores = new Map<string, Span>();

  constructor(private readonly onPick: (node: number) => void) {
    const table = html("table", "tfnb-table");
    const head = html("thead");
    const row = html("tr");
    COLUMNS.forEach((name, column) => {
      const cell = html("th");
      const button = html("button", "tfnb-link", name);
      button.type = "button";
      button.title = `Sort by ${name.toLowerCase()}`;
      button.addEventListener("click", () => this.sort(column));
      cell.append(button);
      row.append(cell);
    });
    head.append(row);
    table.append(head, this.body);
    const scroll = html("div", "tfnb-table-scroll");
    scroll.tabIndex = 0;
    scroll.append(table);
    scroll.addEventListener("scroll", () => {
      if (scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 200) this.more();
    });
    this.element.append(this.summary, scroll);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  setScene(scene: Scene): void {
    this.scene = scene;
    this.device = null;
    const names = Array.from({ length: scene.count }, (_, node) => scene.name(node));
    this.cores = cores(names);
    this.order = Array.from({ length: scene.count }, (_, node) => node);
    this.summarise();
    this.restart();
  }

  private summarise(): void {
    const { scene } = this;
    if (!scene) return;
    const counts = new Map<string, number>();
    for (let node = 0; node < scene.count; node++) {
      const device = scene.device(node);
      counts.set(device, (counts.get(device) ?? 0) + 1);
    }
    this.summary.replaceChildren(
      ...[...counts].sort().map(([device, count]) => {
        const button = html("button", "tfnb-chip");
        button.type = "button";
        button.setAttribute("aria-pressed", "false");
        button.append(
          html("span", "", shortDevice(device) || "no device"),
          html("span", "tfnb-chip-count", count.toLocaleString("en")),
        );
        button.addEventListener("click", () => {
          this.device = this.device === device ? null : device;
          for (const other of this.summary.children) {
            other.setAttribute("aria-pressed", String(other === button && this.device !== null));
          }
          this.restart();
        });
        return button;
      }),
    );
  }

  private texts(node: number): string[] {
    const scene = this.scene!;
    return [
      scene.name(node),
      shortDevice(scene.assignedDevice(node)) || "—",
      scene.op(node),
      shortDevice(scene.requestedDevice(node)) || "any",
      scene.reason(node),
    ];
  }

  private sort(column: number): void {
    const keys = new Map(this.order.map((node) => [node, this.texts(node)[column]!]));
    const sorted = [...this.order].sort((a, b) =>
      keys.get(a)!.localeCompare(keys.get(b)!, "en", { numeric: true }),
    );
    const isSame = sorted.every((node, i) => node === this.order[i]);
    this.order = isSame ? sorted.reverse() : sorted;
    this.restart();
  }

  private restart(): void {
    this.shown = 0;
    this.body.replaceChildren();
    this.more();
  }

  private more(): void {
    const { scene } = this;
    if (!scene) return;
    let added = 0;
    while (this.shown < this.order.length && added < PAGE) {
      const node = this.order[this.shown++]!;
      if (this.device !== null && scene.device(node) !== this.device) continue;
      this.body.append(this.row(node));
      added++;
    }
  }

  private row(node: number): HTMLElement {
    const row = html("tr");
    this.texts(node).forEach((text, column) => {
      const cell = html("td");
      if (column === 0) {
        cell.append(linkButton(text, () => this.onPick(node), this.cores.get(text)));
      } else {
        cell.textContent = shown(text);
      }
      cell.title = text;
      row.append(cell);
    });
    return row;
  }
}
