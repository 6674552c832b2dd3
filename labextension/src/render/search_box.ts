/** Finds nodes by name, or by op with `op:`; lists the first hits and marks all of them. */

import { html } from "./dom.ts";
import type { ItemId, Scene } from "./scene.ts";

const MAX_LISTED = 50;

/** Nodes whose name contains every word; `op:conv` asks for the op's type, `device:gpu` for the device. */
export function findNodes(scene: Scene, query: string): number[] {
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const tests = words.map((word): ((node: number) => boolean) => {
    const [, field, rest] = /^(op|device|cell|attr):(.*)$/.exec(word) ?? [];
    if (field === "op") return (node) => scene.op(node).toLowerCase().includes(rest!);
    if (field === "device") return (node) => scene.device(node).toLowerCase().includes(rest!);
    if (field === "cell") return (node) => String(scene.site(node)?.cell ?? "") === rest;
    if (field === "attr") return (node) => scene.attrs(node).some((pair) => hasAttr(pair, rest!));
    return (node) =>
      scene.name(node).toLowerCase().includes(word) || scene.op(node).toLowerCase() === word;
  });
  const found: number[] = [];
  for (let node = 0; node < scene.count; node++) {
    if (tests.every((test) => test(node))) found.push(node);
  }
  return found;
}

/** `attr:strides` finds nodes with an attribute, `attr:padding=same` those with its value, too. */
function hasAttr([name, value]: [string, string], asked: string): boolean {
  const [key, wanted] = asked.split("=", 2);
  if (wanted !== undefined && !value.toLowerCase().includes(wanted)) return false;
  return name.toLowerCase().includes(key!);
}

export class SearchBox {
  readonly element = html("div", "tfnb-search");
  private readonly input = html("input", "tfnb-search-input");
  private readonly list = html("ul", "tfnb-search-list");
  private readonly count = html("span", "tfnb-search-count");
  private hits: number[] = [];
  private cursor = -1;
  private scene: Scene | null = null;

  constructor(
    private readonly onHits: (hits: number[]) => void,
    private readonly onPick: (item: ItemId) => void,
  ) {
    this.input.type = "search";
    this.input.placeholder = "Find a node, or op:MatMul";
    this.input.spellcheck = false;
    this.input.setAttribute("aria-label", "Find nodes by name or op");
    this.list.setAttribute("role", "listbox");
    this.list.hidden = true;
    this.element.append(this.input, this.count, this.list);
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("focus", () => this.show(this.hits.length > 0));
    this.input.addEventListener("blur", () => setTimeout(() => this.show(false), 150));
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  setScene(scene: Scene): void {
    this.scene = scene;
    this.search();
    this.show(false);
  }

  private search(): void {
    this.hits = this.scene === null ? [] : findNodes(this.scene, this.input.value);
    this.cursor = -1;
    const hasQuery = this.input.value.trim() !== "";
    this.count.textContent = hasQuery ? this.hits.length.toLocaleString("en") : "";
    this.list.replaceChildren(...this.hits.slice(0, MAX_LISTED).map((node) => this.row(node)));
    if (this.hits.length > MAX_LISTED) {
      this.list.append(html("li", "tfnb-search-more", `${this.hits.length - MAX_LISTED} more`));
    }
    this.show(this.hits.length > 0);
    this.onHits(this.hits);
  }

  private row(node: number): HTMLLIElement {
    const row = html("li", "tfnb-search-hit");
    row.setAttribute("role", "option");
    row.append(
      html("span", "tfnb-search-name", this.scene!.name(node)),
      html("span", "tfnb-search-op", this.scene!.op(node)),
    );
    row.addEventListener("mousedown", (event) => {
      event.preventDefault();
      this.pick(node);
    });
    return row;
  }

  private key(event: KeyboardEvent): void {
    // Keys typed here must not reach the notebook's own shortcuts.
    event.stopPropagation();
    const listed = Math.min(this.hits.length, MAX_LISTED);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (listed === 0) return;
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.cursor = (this.cursor + step + listed) % listed;
      this.show(true);
      [...this.list.children].forEach((row, i) => {
        row.setAttribute("aria-selected", String(i === this.cursor));
        if (i === this.cursor) row.scrollIntoView({ block: "nearest" });
      });
    } else if (event.key === "Enter") {
      const node = this.hits[Math.max(0, this.cursor)];
      if (node !== undefined) this.pick(node);
    } else if (event.key === "Escape") {
      this.input.value = "";
      this.search();
      this.input.blur();
    }
  }

  private pick(node: number): void {
    this.show(false);
    this.onPick(node);
  }

  private show(isOpen: boolean): void {
    this.list.hidden = !isOpen;
  }
}
