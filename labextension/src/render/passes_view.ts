/**
 * The graph before and after each pass: a list of passes with their changes, and the graph in both states, with marked
 * nodes.
 */

import { html } from "./dom.ts";
import type { GraphView } from "./graph_view.ts";
import type { Scene } from "./scene.ts";

export interface PassState {
  name: string;
  /** When it ran, and on which partition. */
  where: string;
  /** "3 folded, 2 removed". */
  summary: string;
  actions: string[];
  /** Scenes as base64. */
  before: string;
  after: string;
}

const MOST_ACTIONS = 200;
const MOMENTS = ["before", "after"] as const;

export class PassesView {
  readonly element = html("div", "tfnb-passes");
  private readonly list = html("div", "tfnb-pass-list");
  private readonly actions = html("ol", "tfnb-pass-actions");
  private readonly moments: HTMLButtonElement[];
  private passes: PassState[] = [];
  private chosen = 0;
  private moment: (typeof MOMENTS)[number] = "before";
  private selected = "";
  private asked = 0;

  constructor(
    private readonly graph: GraphView,
    private readonly decode: (text: string) => Promise<Scene>,
  ) {
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Passes");
    this.list.addEventListener("keydown", (event) => this.key(event));
    const bar = html("div", "tfnb-tabs");
    this.moments = MOMENTS.map((moment) => {
      const button = html("button", "tfnb-tab", moment === "before" ? "Before" : "After");
      button.type = "button";
      button.addEventListener("click", () => void this.show(this.chosen, moment));
      bar.append(button);
      return button;
    });
    this.actions.tabIndex = 0;
    this.actions.setAttribute("aria-label", "Changes by the pass");
    const side = html("div", "tfnb-pass-side");
    side.append(this.list, this.actions);
    const main = html("div", "tfnb-pass-main");
    main.append(bar, graph.element);
    this.element.append(side, main);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  async setPasses(passes: PassState[]): Promise<void> {
    this.passes = passes;
    this.list.replaceChildren(
      ...passes.map((pass, i) => {
        const button = html("button", "tfnb-frame-button");
        button.type = "button";
        button.setAttribute("role", "option");
        button.append(
          html("span", "tfnb-frame-button-name", `${i + 1}. ${pass.name}`),
          html("span", "tfnb-frame-button-note", `${pass.summary} · ${pass.where}`),
        );
        button.addEventListener("click", () => void this.show(i, this.moment));
        return button;
      }),
    );
    await this.show(0, "before");
  }

  /** A node was selected: it stays selected in the next picture. */
  noteSelected(name: string): void {
    if (name) this.selected = name;
  }

  private async show(index: number, moment: (typeof MOMENTS)[number]): Promise<void> {
    const pass = this.passes[index];
    if (!pass) return;
    const mine = ++this.asked;
    this.chosen = index;
    this.moment = moment;
    [...this.list.children].forEach((row, i) => {
      row.setAttribute("aria-selected", String(i === index));
      (row as HTMLElement).tabIndex = i === index ? 0 : -1;
    });
    this.moments.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(MOMENTS[i] === moment));
    });
    const lines = pass.actions.slice(0, MOST_ACTIONS).map((line) => html("li", "", line));
    const more = pass.actions.length - lines.length;
    if (more > 0) lines.push(html("li", "", `and ${more} more`));
    this.actions.replaceChildren(...lines);
    const scene = await this.decode(pass[moment]);
    if (mine !== this.asked) return;
    const { selected } = this;
    await this.graph.setScene(scene);
    this.element.dataset["shown"] = `${index} ${moment}`;
    if (selected) this.graph.goToName(selected);
  }

  private key(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(this.passes.length - 1, this.chosen + step));
    void this.show(next, this.moment);
    (this.list.children[next] as HTMLElement).focus();
  }
}
