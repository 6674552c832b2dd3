/**
 * Nodes as rows of a table: the difference of two runs, values, partial runs (tfnb/notebook/views/table.py).  A row selects
 * its node; the rows that the selected one points to, or that point to it, are marked, too.
 */

import { html, ICONS, iconButton, linkButton, type Span, setText, svg } from "./dom.ts";
import { cores } from "./names.ts";

export interface TableCell {
  text: string;
  tip?: string;
  /** Below the text, smaller. */
  note?: string;
  tone?: string;
  /** The node that a click selects; a row selects that of its first cell. */
  node?: string;
  links?: [text: string, node: string][];
  /** The length of a bar, as a share of the longest. */
  bar?: number;
  /** Paths of a line in a box of 280 by 36. */
  lines?: string[];
  /** The value by which a table sorts, in place of the text. */
  order?: number;
}

export interface TableState {
  title: string;
  /** A sentence below the title. */
  note: string;
  tone: string;
  /** Views of one group select together. */
  group: string;
  columns: string[];
  /** A text is a heading for the rows that follow it. */
  rows: (TableCell[] | string)[];
  /** Whether the headings of columns sort the rows; then there are no texts between rows. */
  isSortable?: boolean;
}

interface Row {
  node: string;
  near: string[];
  element: HTMLElement;
  button: HTMLElement | null;
}

const HEAD = 26;

export class TableView {
  readonly element = html("div", "tfnb-list");
  private readonly title = html("h4", "tfnb-list-title");
  private readonly note = html("p", "tfnb-list-note");
  private readonly scroll = html("div", "tfnb-table-scroll");
  private readonly table = html("table", "tfnb-table");
  private readonly button: HTMLElement;
  private rows: Row[] = [];
  private state: TableState | null = null;
  private order: { column: number; isDown: boolean } | null = null;
  private selected = "";

  constructor(
    private readonly onPick: (node: string) => void,
    save: () => void,
  ) {
    const bar = html("div", "tfnb-toolbar");
    this.button = iconButton("Save as HTML", ICONS.page, save);
    bar.append(this.title, html("span", "tfnb-gap"), this.button);
    this.title.setAttribute("role", "status");
    this.scroll.append(this.table);
    this.scroll.addEventListener("keydown", (event) => this.key(event));
    this.element.append(bar, this.note, this.scroll);
  }

  private cores = new Map<string, Span>();

  set canSave(can: boolean) {
    this.button.hidden = !can;
  }

  show(state: TableState): void {
    const { title, note, tone, columns, isSortable = false } = state;
    this.state = state;
    const rows = isSortable ? this.inOrder(state.rows) : state.rows;
    const focused = this.rows.find(({ button }) => button?.matches(":focus"))?.node;
    setText(this.title, title);
    setText(this.note, note);
    this.note.hidden = !note;
    this.note.dataset["tone"] = tone;
    this.table.setAttribute("aria-label", title);
    const heads = html("tr");
    heads.append(
      ...columns.map((name, i) => (isSortable ? this.sorting(name, i) : heading(name, "col"))),
    );
    this.rows = [];
    const cells = rows.flatMap((row) => (typeof row === "string" ? [] : row));
    this.cores = cores(cells.filter(({ node }) => node).map(({ text }) => text));
    const body = rows.map((row) => {
      if (typeof row !== "string") return this.row(row);
      const head = heading(row, "rowgroup");
      head.colSpan = columns.length;
      const over = html("tr", "tfnb-list-over");
      over.append(head);
      return over;
    });
    this.table.replaceChildren(html("thead"), html("tbody"));
    this.table.tHead!.append(heads);
    this.table.tBodies[0]!.append(...body);
    this.scroll.hidden = rows.length === 0;
    const again = this.rows.find(({ node }) => node === focused)?.button;
    this.turnTo(again ?? this.rows[0]?.button);
    if (focused) again?.focus();
    this.select(this.selected);
  }

  /** The heading of a column, which sorts by it, numbers from the largest; pressed again, in reverse. */
  private sorting(name: string, column: number): HTMLElement {
    const head = heading("", "col");
    const own = this.order?.column === column ? this.order : null;
    head.ariaSort = own ? (own.isDown ? "descending" : "ascending") : "none";
    const button = html("button", "tfnb-table-sort", name);
    button.append(html("span", "tfnb-table-arrow", own ? (own.isDown ? "▾" : "▴") : ""));
    button.lastElementChild!.ariaHidden = "true";
    button.addEventListener("click", () => {
      const cells = this.state!.rows.flatMap((row) =>
        typeof row === "string" ? [] : [row[column]],
      );
      const isNumber = cells.some((cell) => cell?.order !== undefined);
      this.order = { column, isDown: own ? !own.isDown : isNumber };
      this.show(this.state!);
      this.table.tHead!.querySelectorAll("button")[column]!.focus();
    });
    head.append(button);
    return head;
  }

  private inOrder(rows: TableState["rows"]): TableState["rows"] {
    const { order } = this;
    if (!order) return rows;
    const compare = (a: TableCell | undefined, b: TableCell | undefined) =>
      a?.order !== undefined && b?.order !== undefined
        ? a.order - b.order
        : (a?.text ?? "").localeCompare(b?.text ?? "", "en", { numeric: true });
    const sorted = rows.filter((row) => typeof row !== "string");
    sorted.sort((a, b) => compare(a[order.column], b[order.column]) * (order.isDown ? -1 : 1));
    // "… 3 more" stays at the end.
    return [...sorted, ...rows.filter((row) => typeof row === "string")];
  }

  select(name: string): void {
    const isNew = name !== this.selected;
    this.selected = name;
    const here = this.rows.filter(({ node }) => name && node === name);
    for (const row of this.rows) {
      row.element.setAttribute("aria-current", String(here.includes(row)));
      const isNear = row.near.includes(name) || here.some(({ near }) => near.includes(row.node));
      row.element.classList.toggle("tfnb-near", isNear);
    }
    const { scroll } = this;
    const row = here[0]?.element;
    if (!row || !isNew) return;
    // Scroll within the table only: the notebook keeps its position.
    const { offsetTop, offsetHeight } = row;
    const below = offsetTop + offsetHeight - scroll.clientHeight;
    if (offsetTop - HEAD < scroll.scrollTop || below > scroll.scrollTop) {
      scroll.scrollTop = offsetTop - scroll.clientHeight / 2;
    }
  }

  private row(cells: TableCell[]): HTMLElement {
    const element = html("tr");
    const node = cells[0]?.node ?? "";
    const near = cells.flatMap(({ links }) => (links ?? []).map(([, name]) => name));
    element.append(...cells.map((cell) => this.cell(cell)));
    const button = node ? element.querySelector<HTMLElement>("button") : null;
    if (button) button.tabIndex = -1;
    this.rows.push({ node, near, element, button });
    return element;
  }

  private cell({ text, tip, note, tone, node, links, bar, lines }: TableCell): HTMLElement {
    const cell = html("td");
    if (tone) cell.dataset["tone"] = tone;
    cell.title = tip ?? text;
    if (bar !== undefined) {
      const track = html("div", "tfnb-list-bar");
      track.style.width = `${Math.max(1, 60 * bar)}px`;
      cell.append(track);
    }
    if (lines) {
      const box = svg("svg", { viewBox: "0 0 280 36", "aria-hidden": "true" });
      box.append(...lines.map((d) => svg("path", { d, class: "tfnb-list-line" })));
      cell.append(box);
    }
    if (node) cell.append(this.link(text, node));
    else if (text) cell.append(html("span", "", text));
    for (const [label, name] of links ?? []) cell.append(this.link(label, name));
    if (note) cell.append(html("div", "tfnb-list-more", note));
    return cell;
  }

  private link(text: string, node: string): HTMLElement {
    return linkButton(text, () => this.onPick(node), this.cores.get(text));
  }

  /** The only row that Tab reaches. */
  private turnTo(button: HTMLElement | null | undefined): void {
    for (const row of this.rows) row.button?.setAttribute("tabindex", "-1");
    button?.setAttribute("tabindex", "0");
  }

  private key(event: KeyboardEvent): void {
    const { key, target } = event;
    const buttons = this.rows.flatMap(({ button }) => button ?? []);
    const row = target instanceof Element ? target.closest("tr") : null;
    const at = buttons.findIndex((button) => row?.contains(button));
    const last = buttons.length - 1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    const button = buttons[Math.max(0, Math.min(last, next))]!;
    this.turnTo(button);
    button.focus();
  }
}

function heading(text: string, scope: string): HTMLTableCellElement {
  const cell = html("th", "", text);
  cell.scope = scope;
  return cell;
}
