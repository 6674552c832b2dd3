/** The legend: the present categories with colour, shape or pattern, and count; a click dims the others. */

import { html, svg } from "./dom.ts";
import { outline } from "./glyphs.ts";
import { CATEGORY_COUNT, type Colouring, KINDS } from "./palette.ts";
import { STATE_NAMES } from "./states.ts";
import { cutMiddle } from "./text_measure.ts";

export class Legend {
  readonly element = html("div", "tfnb-legend");
  /** A note about the whole graph. */
  readonly note = html("span", "tfnb-legend-count");
  private chosen: number | null = null;

  constructor(
    private readonly prefix: string,
    private readonly onChoose: (category: number | null) => void,
  ) {}

  show(colouring: Colouring): void {
    this.chosen = null;
    const totals = colouring.total;
    const buttons = colouring.categories.map((category, place) => {
      const button = html("button", "tfnb-legend-entry");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.title = "Show these, dim the others";
      const swatch = svg("svg", { viewBox: "-12 -7 24 14", "aria-hidden": "true" });
      const kind = ["kind", "state"].includes(colouring.by)
        ? (KINDS[category.colour] ?? "other")
        : "other";
      const path = outline(kind, 20, 11);
      const group = svg("g", { class: `tfnb-cat-${category.colour % CATEGORY_COUNT}` });
      group.append(svg("path", { class: "tfnb-shape", d: path }));
      if (category.pattern > 0) {
        const fill = `url(#${this.prefix}-pattern-${category.pattern})`;
        group.append(svg("path", { class: "tfnb-hatch", d: path, fill }));
      }
      swatch.append(group);
      button.append(
        swatch,
        html("span", "tfnb-legend-label", cutMiddle(category.label, 40)),
        html("span", "tfnb-legend-count", totals[place]!.toLocaleString("en")),
      );
      button.addEventListener("click", () => this.choose(place));
      return button;
    });
    this.element.replaceChildren(...buttons, this.note);
  }

  /** The states of nodes while a step runs, instead of categories. */
  showStates(): void {
    const entries = STATE_NAMES.map((state) => {
      const entry = html("span", "tfnb-legend-entry tfnb-legend-state");
      const swatch = svg("svg", { viewBox: "-12 -7 24 14", "aria-hidden": "true" });
      const group = svg("g", { class: "tfnb-node", "data-state": state });
      group.append(svg("path", { class: "tfnb-shape", d: outline("other", 20, 11) }));
      swatch.append(group);
      entry.append(swatch, html("span", "tfnb-legend-label", state));
      return entry;
    });
    this.element.replaceChildren(...entries, this.note);
  }

  private choose(place: number): void {
    this.chosen = this.chosen === place ? null : place;
    [...this.element.querySelectorAll("button")].forEach((button, i) => {
      button.setAttribute("aria-pressed", String(i === this.chosen));
    });
    this.onChoose(this.chosen);
  }
}
