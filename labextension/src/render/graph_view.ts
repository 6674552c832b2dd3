/**
 * The interactive graph: holds what is open, selected, found and coloured, and has the painters show it.
 *
 * Every change of what is open asks for an arrangement; answers that were overtaken by a newer question are dropped.
 */

import { type Arrangement, Arranger, HEADER, type PlacedItem } from "./arrangement.ts";
import { html, ICONS, iconButton, svg } from "./dom.ts";
import { EdgePainter } from "./edge_painter.ts";
import { helpPanel } from "./help_panel.ts";
import { InfoCard } from "./info_card.ts";
import { ItemPainter } from "./item_painter.ts";
import { firstItem, isDirection, nextItem } from "./keyboard.ts";
import { LaneHeads } from "./lane_heads.ts";
import type { LayoutClient } from "./layout_client.ts";
import { Legend } from "./legend.ts";
import { COLOUR_NAMES, type ColourBy, Colouring, patternDefinitions } from "./palette.ts";
import { type ItemId, ROOT, type Scene } from "./scene.ts";
import { SearchBox } from "./search_box.ts";
import { StatePainter } from "./states.ts";
import { useFontOf } from "./text_measure.ts";
import { type Box, Viewport } from "./viewport.ts";

/** A graph of at most so many nodes starts with scopes open, if it stays at few boxes. */
const SMALL_GRAPH = 100;
const FEW_BOXES = 18;
/** So few boxes say nothing while they are closed. */
const FEW_ALONE = 3;
const MANY_BOXES = 40;
const MAX_VISIBLE = 1500;
/** A graph too large to be read as a whole first shows its beginning, at this scale. */
const LEGIBLE_SCALE = 0.72;
const CARD_WIDTH = 300;
const MIN_HEIGHT = 190;

export interface GraphViewOptions {
  /** The field's height at most, in CSS pixels; the user may pull it larger. */
  height: number;
  colourBy: ColourBy;
  onSelect?: (name: string) => void;
}

export class GraphView {
  readonly element = html("div", "tfnb-graph");
  // Every widget of a page has its own copy of this module, so a counter would not do.
  private readonly prefix = `tfnb-${Math.random().toString(36).slice(2, 10)}`;
  private readonly viewport = new Viewport(() => {
    if (!this.viewport.isUsersOwn) this.viewport.fit(undefined, false, LEGIBLE_SCALE);
  });
  private readonly card: InfoCard;
  private readonly legend: Legend;
  private readonly search: SearchBox;
  private readonly status = html("div", "tfnb-status");
  private readonly colourSelect = html("select", "tfnb-select");
  private readonly field = html("div", "tfnb-field");
  private readonly help = helpPanel();
  private readonly stage = svg("g");
  private scene: Scene | null = null;
  private arranger: Arranger | null = null;
  private items: ItemPainter | null = null;
  private edges: EdgePainter | null = null;
  private lanes: LaneHeads | null = null;
  private states: StatePainter | null = null;
  private arrangement: Arrangement | null = null;
  private colouring: Colouring | null = null;
  private open = new Set<number>();
  private selected: ItemId | null = null;
  private hits: ReadonlySet<number> = new Set();
  private category: number | null = null;
  private question = 0;

  constructor(
    private readonly layouts: LayoutClient,
    private readonly options: GraphViewOptions,
  ) {
    this.card = new InfoCard({
      go: (item) => void this.goTo(item),
      close: () => {
        this.select(null);
        this.viewport.svg.focus();
      },
      stateOf: (node) => this.stateText(node),
    });
    this.legend = new Legend(this.prefix, (category) => {
      this.category = category;
      this.mark();
    });
    this.search = new SearchBox(
      (hits) => {
        this.hits = new Set(hits);
        this.mark();
      },
      (item) => void this.goTo(item),
    );
    const canvas = this.viewport.svg;
    canvas.prepend(patternDefinitions(this.prefix));
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "tree");
    canvas.setAttribute("aria-label", "Dataflow graph");
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("dblclick", (event) => event.preventDefault());
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.viewport.content.append(this.stage);
    this.status.setAttribute("role", "status");
    this.field.append(canvas, this.card.element, this.help, this.status);
    this.element.append(this.toolbar(), this.field, this.legend.element);
  }

  dispose(): void {
    this.viewport.dispose();
  }

  get visibleCount(): number {
    return this.arrangement?.items.size ?? 0;
  }

  async setScene(scene: Scene): Promise<void> {
    this.scene = scene;
    this.arranger = new Arranger(scene, this.layouts.layout);
    this.items = new ItemPainter(this.prefix, scene);
    this.edges = new EdgePainter(this.prefix, scene);
    this.lanes = new LaneHeads(scene);
    this.states = new StatePainter(scene);
    this.colouring = new Colouring(this.options.colourBy, scene);
    this.selected = null;
    this.card.show(scene, null);
    this.open = this.initiallyOpen(scene, this.arranger);
    this.stage.replaceChildren(
      this.lanes.element,
      this.items.boxes,
      this.edges.lines,
      this.edges.labels,
      this.items.nodes,
      this.edges.far,
    );
    this.element.classList.remove("tfnb-live");
    this.legend.show(this.colouring);
    this.search.setScene(scene);
    this.status.textContent = "";
    this.viewport.startsLeft = scene.isLanes;
    useFontOf(this.element);
    await this.update();
    this.makeRoom(true);
    this.viewport.fit(undefined, false, LEGIBLE_SCALE);
  }

  /** A small graph takes little room; what opens in it makes the field grow, up to its full height. */
  private makeRoom(isNew = false): void {
    const { arrangement, field, options } = this;
    if (!arrangement) return;
    const wanted = Math.min(Math.max(arrangement.height + 36, MIN_HEIGHT), options.height);
    if (isNew || wanted > field.clientHeight) field.style.height = `${Math.ceil(wanted)}px`;
    this.viewport.measure();
  }

  setStates(bytes: Uint8Array, isLast = false): void {
    const { states, items, arrangement } = this;
    if (states === null) return;
    states.set(bytes);
    if (!this.element.classList.contains("tfnb-live")) {
      this.element.classList.add("tfnb-live");
      this.legend.showStates();
    }
    if (items && arrangement) states.paint(items, arrangement, isLast);
  }

  /** Opens the scopes around an item, selects it and brings it into view. */
  async goTo(item: ItemId): Promise<void> {
    const { scene } = this;
    if (scene === null) return;
    let changed = false;
    for (let scope = scene.parentOf(item); scope > ROOT; ) {
      if (!this.open.has(scope)) {
        this.open.add(scope);
        changed = true;
      }
      scope = scene.parentOf(scene.scopeItem(scope));
    }
    if (changed && (await this.update())) this.makeRoom();
    const shown = this.shownFor(item);
    this.select(shown, item);
    const placed = this.arrangement?.items.get(shown);
    if (placed) this.viewport.reveal(frame(placed));
  }

  goToName(name: string): void {
    const { scene } = this;
    if (scene === null) return;
    for (let node = 0; node < scene.count; node++) {
      if (scene.name(node) === name) {
        void this.goTo(node);
        return;
      }
    }
  }

  async toggle(scope: number): Promise<void> {
    const { scene } = this;
    if (scene === null) return;
    const item = scene.scopeItem(scope);
    const before = this.arrangement?.items.get(item);
    if (this.open.has(scope)) this.open.delete(scope);
    else this.open.add(scope);
    if (!(await this.update())) return;
    this.makeRoom();
    const after = this.arrangement?.items.get(item);
    if (before && after) {
      this.viewport.hold(corner(before), corner(after));
      this.viewport.reveal(frame(after));
    }
  }

  private async update(): Promise<boolean> {
    const { arranger, items, edges, colouring, lanes } = this;
    if (!arranger || !items || !edges || !colouring || !lanes) return false;
    const mine = ++this.question;
    const arrangement = await arranger.arrange(this.open);
    if (mine !== this.question) return false;
    this.arrangement = arrangement;
    items.paint(arrangement, colouring);
    edges.paint(arrangement);
    lanes.paint(arrangement);
    this.viewport.bounds = { x: 0, y: 0, width: arrangement.width, height: arrangement.height };
    this.states?.forget();
    this.states?.paint(items, arrangement, true);
    this.mark();
    return true;
  }

  /** Whole levels of scopes, as long as few boxes come of it, and scopes that are nearly alone. */
  private initiallyOpen(scene: Scene, arranger: Arranger): Set<number> {
    const open = new Set<number>(scene.isLanes ? scene.innerScopes(ROOT) : []);
    const drawn = (scope: number) => {
      const { items, auxiliary } = arranger.graphOf(scope);
      return [...items, ...auxiliary];
    };
    let level = drawn(ROOT);
    let visible = level.length;
    for (;;) {
      const scopes = level.filter((item) => scene.isScope(item)).map((i) => scene.scopeOfItem(i));
      const next = scopes.flatMap(drawn);
      if (next.length === 0) return open;
      const isAlone = level.length <= FEW_ALONE && next.length <= MANY_BOXES;
      if (!isAlone && (scene.count > SMALL_GRAPH || visible + next.length > FEW_BOXES)) return open;
      for (const scope of scopes) open.add(scope);
      visible += next.length;
      level = next;
    }
  }

  private toolbar(): HTMLElement {
    const bar = html("div", "tfnb-toolbar");
    bar.setAttribute("role", "toolbar");
    for (const [value, name] of Object.entries(COLOUR_NAMES)) {
      const option = html("option", "", name);
      option.value = value;
      this.colourSelect.append(option);
    }
    this.colourSelect.value = this.options.colourBy;
    this.colourSelect.addEventListener("change", () => {
      this.colour(this.colourSelect.value as ColourBy);
    });
    const label = html("label", "tfnb-colour-by");
    label.append(html("span", "", "Colour"), this.colourSelect);
    bar.append(
      this.search.element,
      label,
      html("span", "tfnb-gap"),
      iconButton("Open one more level of scopes", ICONS.expand, () => void this.openLevel()),
      iconButton("Close all scopes", ICONS.collapse, () => void this.closeAll()),
      html("span", "tfnb-rule"),
      iconButton("Zoom out (−)", ICONS.zoomOut, () => this.viewport.zoom(1 / 1.3)),
      iconButton("Zoom in (+)", ICONS.zoomIn, () => this.viewport.zoom(1.3)),
      iconButton("Show the whole graph (0)", ICONS.fit, () => this.viewport.fit()),
      iconButton("Mouse and keyboard", ICONS.help, () => {
        this.help.hidden = !this.help.hidden;
      }),
    );
    // The notebook must not take what is typed or pressed here for its own shortcuts.
    bar.addEventListener("keydown", (event) => event.stopPropagation());
    return bar;
  }

  colour(by: ColourBy): void {
    const { scene, items, arrangement } = this;
    this.options.colourBy = by;
    this.colourSelect.value = by;
    if (!scene) return;
    this.colouring = new Colouring(by, scene);
    this.category = null;
    this.legend.show(this.colouring);
    if (items && arrangement) {
      items.paint(arrangement, this.colouring);
      this.states?.forget();
      this.states?.paint(items, arrangement, true);
    }
    this.mark();
  }

  private async openLevel(): Promise<void> {
    const { scene, arrangement } = this;
    if (!scene || !arrangement) return;
    const closed = [...arrangement.items.values()]
      .filter(({ item, isOpen }) => scene.isScope(item) && !isOpen)
      .map(({ item }) => scene.scopeOfItem(item));
    let visible = arrangement.items.size;
    let skipped = 0;
    for (const scope of closed) {
      const inner = scene.children(scope).length;
      if (visible + inner > MAX_VISIBLE) skipped++;
      else {
        this.open.add(scope);
        visible += inner;
      }
    }
    this.say(skipped ? `${skipped} scopes stay closed: more than ${MAX_VISIBLE} boxes.` : "");
    if (!(await this.update())) return;
    this.makeRoom();
    this.viewport.fit();
  }

  private async closeAll(): Promise<void> {
    const { scene } = this;
    if (!scene) return;
    this.open = new Set(scene.isLanes ? scene.innerScopes(ROOT) : []);
    this.select(null);
    if (await this.update()) this.viewport.fit();
  }

  private click(event: MouseEvent): void {
    const { scene } = this;
    const target = event.target instanceof Element ? event.target.closest("[data-item]") : null;
    if (!scene || !target) {
      this.select(null);
      return;
    }
    const item = Number(target.getAttribute("data-item"));
    if (!scene.isScope(item)) {
      this.select(this.shownFor(item), item);
      return;
    }
    const scope = scene.scopeOfItem(item);
    const isBody = this.open.has(scope) && !target.contains(closestHandle(event));
    if (isBody) {
      this.select(item);
      return;
    }
    // Opening is for looking inside: no card lies over what appears, unless one is there already.
    this.select(item, this.card.isShown ? item : null);
    void this.toggle(scope);
  }

  private key(event: KeyboardEvent): void {
    const { scene, arrangement, selected } = this;
    if (!scene || !arrangement || event.altKey) return;
    const { key } = event;
    let isOurs = true;
    if (isDirection(key) && event.shiftKey) {
      const step = 60;
      if (key === "ArrowLeft") this.viewport.pan(step, 0);
      else if (key === "ArrowRight") this.viewport.pan(-step, 0);
      else if (key === "ArrowUp") this.viewport.pan(0, step);
      else this.viewport.pan(0, -step);
    } else if (isDirection(key)) {
      const next =
        selected === null
          ? firstItem(arrangement)
          : nextItem(scene, arrangement, this.shownFor(selected), key);
      if (next !== null) void this.goTo(next);
    } else if (key === "Enter" || key === " ") {
      if (selected !== null && scene.isScope(selected)) {
        void this.toggle(scene.scopeOfItem(selected));
      }
    } else if (key === "Backspace" && selected !== null) {
      const parent = scene.parentOf(selected);
      if (parent > ROOT && arrangement.items.has(scene.scopeItem(parent))) {
        void this.goTo(scene.scopeItem(parent));
      }
    } else if (key === "Escape") {
      if (selected === null) this.viewport.svg.blur();
      this.select(null);
    } else if (key === "+" || key === "=") this.viewport.zoom(1.3);
    else if (key === "-") this.viewport.zoom(1 / 1.3);
    else if (key === "0") this.viewport.fit();
    else if (key === "/") this.search.focus();
    else isOurs = false;
    if (isOurs && !(event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** The box that shows an item: itself, the consumer of an embedded constant, or the closed scope around it. */
  private shownFor(item: ItemId): ItemId {
    const { scene, arrangement } = this;
    if (!scene || !arrangement) return item;
    let shown = item;
    while (!arrangement.items.has(shown)) {
      const scope = scene.parentOf(shown);
      for (const [consumer, constants] of this.arranger!.graphOf(laneOrScope(scene, scope))
        .embedded) {
        if (constants.includes(shown) && arrangement.items.has(consumer)) return consumer;
      }
      if (scope <= ROOT) return item;
      shown = scene.scopeItem(scope);
    }
    return shown;
  }

  private select(item: ItemId | null, about: ItemId | null = item): void {
    const { scene, items } = this;
    if (!scene || !items) return;
    this.selected = item;
    this.card.show(scene, about);
    this.viewport.coveredRight = this.card.isShown ? CARD_WIDTH : 0;
    const canvas = this.viewport.svg;
    if (item === null) canvas.removeAttribute("aria-activedescendant");
    else canvas.setAttribute("aria-activedescendant", items.idOf(item));
    this.mark();
    this.options.onSelect?.(about === null || scene.isScope(about) ? "" : scene.name(about));
  }

  /** Shows selection, neighbours, hits and the chosen category by classes on the boxes. */
  private mark(): void {
    const { scene, items, edges, arrangement, colouring } = this;
    if (!scene || !items || !edges || !arrangement || !colouring) return;
    const near = edges.light(this.selected, arrangement, (node) => this.shownFor(node));
    const holds = (item: ItemId, test: (node: number) => boolean): boolean => {
      const [first, end] = scene.range(item);
      for (let node = first; node < end; node++) if (test(node)) return true;
      return false;
    };
    const isSearching = this.hits.size > 0;
    for (const { item, isOpen, dots } of arrangement.items.values()) {
      const { classList } = items.element(item)!;
      classList.toggle("tfnb-selected", item === this.selected);
      classList.toggle("tfnb-near", near.has(item));
      const isHit =
        isSearching &&
        !isOpen &&
        (holds(item, (node) => this.hits.has(node)) || dots.some((node) => this.hits.has(node)));
      classList.toggle("tfnb-hit", isHit);
      const isOther =
        this.category !== null &&
        !isOpen &&
        !holds(item, (node) => colouring.of[node] === this.category);
      classList.toggle("tfnb-dim", isOther || (isSearching && !isHit && !isOpen));
    }
    this.element.classList.toggle("tfnb-has-selection", this.selected !== null);
  }

  private stateText(node: number): string {
    const { states } = this;
    if (states === null || states.isEmpty) return "";
    const times = states.timesOf(node);
    const often = times > 1 ? `, ran at least ${times.toLocaleString("en")} times` : "";
    return states.stateOf(node) + often;
  }

  private say(text: string): void {
    this.status.textContent = text;
    if (text) setTimeout(() => this.status.textContent === text && this.say(""), 5000);
  }
}

function laneOrScope(scene: Scene, scope: number): number {
  return scene.isLanes && scope > ROOT && scene.parentOf(scene.scopeItem(scope)) === ROOT
    ? ROOT
    : Math.max(scope, ROOT);
}

function closestHandle(event: MouseEvent): Element | null {
  const target = event.target as Element;
  return target.closest(".tfnb-handle, .tfnb-chevron, .tfnb-scope-label, .tfnb-count");
}

function corner({ x, y, width, height }: PlacedItem): { x: number; y: number } {
  return { x: x - width / 2, y: y - height / 2 };
}

/** A box with a little room, from its header down. */
function frame({ x, y, width, height }: PlacedItem): Box {
  const room = HEADER / 2;
  return {
    x: x - width / 2 - room,
    y: y - height / 2 - room,
    width: width + 2 * room,
    height: height + 2 * room,
  };
}
