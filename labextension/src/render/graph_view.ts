/**
 * The interactive graph: keeps the open scopes, the selection, the search hits and the colouring, which painters show.
 *
 * Every change of the open scopes requests an arrangement; an answer to an outdated request is dropped.
 */

import type { LayoutClient, Layouter } from "../layout/layout_client.ts";
import type { Direction } from "../layout/layout_worker.ts";
import { type Arrangement, Arranger, HEADER, type PlacedItem } from "./arrangement.ts";
import { html, setText, svg } from "./dom.ts";
import { EdgePainter } from "./edge_painter.ts";
import { offer, type PictureForm, pngOf, svgText } from "./export_picture.ts";
import { helpPanel } from "./help_panel.ts";
import { InfoCard } from "./info_card.ts";
import { ItemPainter } from "./item_painter.ts";
import { firstItem, handleKey, nextItem } from "./keyboard.ts";
import { LaneHeads } from "./lane_heads.ts";
import { Legend } from "./legend.ts";
import { paintMarks } from "./marks.ts";
import { Minimap } from "./minimap.ts";
import {
  boxShowing,
  MAX_VISIBLE,
  openAround,
  openAsBefore,
  openByNames,
  openings,
  openLevel,
  openNames,
} from "./opening.ts";
import { type ColourBy, Colouring, colourings, patternDefinitions } from "./palette.ts";
import { type ItemId, ROOT, type Scene } from "./scene.ts";
import { SearchBox } from "./search_box.ts";
import { StatePainter } from "./states.ts";
import { useFontOf } from "./text_measure.ts";
import { Toolbar } from "./toolbar.ts";
import { type Box, FIT_MARGIN, fittingScale, MIN_SCALE, type Size, Viewport } from "./viewport.ts";

/** Initially scopes are open as long as the whole graph can be seen at this scale. */
const LEGIBLE_SCALE = 0.75;
/** A graph that does not fit at this scale, even with its scopes closed, first shows its beginning. */
const LEAST_LEGIBLE_SCALE = 0.62;
const CARD_WIDTH = 300;
const MIN_HEIGHT = 190;
/** For a field that has no width yet. */
const USUAL_WIDTH = 900;

/** The user's choices about the drawing; kept with the view and its page. */
export interface Look {
  /** The scopes that are open (`openNames`). */
  open?: string[];
  colourBy?: ColourBy;
  direction?: Direction;
}

export interface GraphViewOptions {
  /** The field's maximum height, in CSS pixels; the user may make it larger. */
  height: number;
  colourBy: ColourBy;
  onSelect?: (name: string) => void;
  look?: Look;
  onLook?: (look: Look) => void;
  /** The view as a separate page; null if its code is not available. */
  page?: () => string | null;
}

/** How to go to an item. */
interface Going {
  /** Whether its card may cover the graph. */
  mayCover?: boolean;
  /** A step to a neighbour leaves the scale as it is. */
  isStep?: boolean;
}

export class GraphView {
  readonly element = html("div", "tfnb-graph");
  // Every widget of a page has its own copy of this module, so a counter would not do.
  private readonly prefix = `tfnb-${Math.random().toString(36).slice(2, 10)}`;
  private readonly viewport = new Viewport((wasWhole) => this.resized(wasWhole));
  /** The smallest scale that was asked for with the whole; null while the first view is shown. */
  private leastScale: number | null = null;
  private readonly card: InfoCard;
  private readonly legend: Legend;
  private readonly search: SearchBox;
  private readonly status = html("div", "tfnb-status");
  private readonly toolbar: Toolbar;
  private readonly minimap = new Minimap(this.viewport);
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
  private direction: Direction = "down";
  private look: Look;
  private question = 0;
  /** How many layouts were asked for and are not there yet. */
  private awaited = 0;
  private hasStates = false;
  private about = "";
  /** The room for which scopes were opened; null while they are the user's choice. */
  private roomOfOpen: Size | null = null;
  /** The field's height as this view has set it; the user may have dragged it since. */
  private ownHeight = "";

  constructor(
    private readonly layouts: LayoutClient,
    private readonly options: GraphViewOptions,
  ) {
    this.look = { ...options.look };
    this.direction = this.look.direction ?? "down";
    if (this.look.colourBy) options.colourBy = this.look.colourBy;
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
    this.field.append(canvas, this.minimap.element, this.card.element, this.help, this.status);
    this.toolbar = new Toolbar(this.search.element, {
      colour: (by) => {
        this.colour(by);
        this.note({ colourBy: by });
      },
      openLevel: () => void this.openOneLevel(),
      closeAll: () => void this.closeAll(),
      zoom: (factor) => this.zoom(factor),
      fit: () => this.fit(),
      turn: () => void this.turn(this.direction === "down" ? "right" : "down"),
      help: () => {
        this.help.hidden = !this.help.hidden;
      },
      save: (form) => void this.save(form),
    });
    this.element.append(this.toolbar.element, this.field, this.legend.element);
  }

  dispose(): void {
    this.viewport.dispose();
  }

  get visibleCount(): number {
    return this.arrangement?.items.size ?? 0;
  }

  async setScene(scene: Scene): Promise<void> {
    const { scene: before, open } = this;
    this.scene = scene;
    this.roomOfOpen = null;
    this.arrangement = null; // of the scene before: its boxes have other numbers
    const arranger = this.makeArranger(scene);
    this.arranger = arranger;
    this.items = new ItemPainter(this.prefix, scene);
    this.edges = new EdgePainter(this.prefix, scene);
    this.lanes = new LaneHeads(scene);
    this.states = new StatePainter(scene);
    this.hasStates = false;
    const offered = colourings(scene);
    if (!offered.includes(this.options.colourBy)) this.options.colourBy = "kind";
    this.toolbar.showColouring(this.options.colourBy, offered);
    this.colouring = new Colouring(this.options.colourBy, scene);
    this.selected = null;
    this.card.show(scene, null);
    this.stage.replaceChildren(
      this.lanes.element,
      this.items.boxes,
      this.edges.lines,
      this.edges.labels,
      this.items.nodes,
      this.edges.far,
    );
    this.element.classList.remove("tfnb-live");
    if (this.options.colourBy === "state") this.options.colourBy = "kind";
    setText(this.legend.note, scene.note);
    this.legend.note.hidden = !scene.note;
    this.legend.show(this.colouring);
    this.search.setScene(scene);
    this.status.textContent = "";
    useFontOf(this.element);
    this.toolbar.showDirection(this.direction, !scene.isLanes);
    const kept = before && openAsBefore(before, open, scene);
    if (kept?.size) this.open = kept;
    else if (!before && this.look.open) this.open = openByNames(scene, this.look.open);
    else {
      this.roomOfOpen = this.room();
      const first = await openAtFirst(scene, arranger, this.roomOfOpen);
      if (this.scene !== scene) return;
      this.open = first;
    }
    await this.update();
    this.makeRoom(true);
    this.fitFirst();
  }

  private makeArranger(scene: Scene): Arranger {
    const direction = scene.isLanes ? "down" : this.direction;
    return new Arranger(scene, this.layOut, direction);
  }

  /** Asks for a layout; the view is marked as busy until it has been drawn. */
  private readonly layOut: Layouter = async (request) => {
    this.awaited += 1;
    this.element.ariaBusy = "true";
    try {
      return await this.layouts.layout(request);
    } finally {
      this.awaited -= 1;
      if (this.awaited === 0) this.element.ariaBusy = null;
    }
  };

  /** The size that the field has, or may grow to. */
  private room(): Size {
    const { field, options } = this;
    const { height } = field.style;
    field.style.height = `${options.height}px`;
    const room = {
      width: field.clientWidth || USUAL_WIDTH,
      height: field.clientHeight || options.height,
    };
    field.style.height = height;
    return room;
  }

  /** Fits the drawing into a field of another size, unless the user has chosen what of it is shown. */
  private resized(wasWhole: boolean): void {
    const { viewport, leastScale } = this;
    if (leastScale === null && !viewport.isUsersOwn) {
      this.fitFirst();
      void this.openAnew();
    } else if (wasWhole) viewport.fit(undefined, false);
    else if (leastScale !== null && !viewport.isUsersOwn) {
      viewport.fit(undefined, false, leastScale);
    }
  }

  /** Opens the scopes that are readable in the present room, unless the user has chosen them. */
  private async openAnew(): Promise<void> {
    const { scene, arranger, roomOfOpen: before } = this;
    if (!scene || !arranger || !before || this.look.open || !this.arrangement) return;
    const room = this.room();
    if (room.width === before.width && room.height === before.height) return;
    this.roomOfOpen = room;
    const open = await openAtFirst(scene, arranger, room);
    const isOutdated = this.roomOfOpen !== room || this.arranger !== arranger;
    if (isOutdated || this.look.open || this.viewport.isUsersOwn) return;
    this.open = open;
    if (!(await this.update())) return;
    this.makeRoom(this.field.style.height === this.ownHeight);
    this.fitFirst();
  }

  /** Shows the whole, and again when the view gets another size; at less than `leastScale` its beginning. */
  private fit(leastScale = 0): void {
    this.leastScale = leastScale;
    this.viewport.fit(undefined, true, leastScale);
  }

  /** Shows the whole graph if it is readable, else its beginning. */
  private fitFirst(): void {
    const { viewport } = this;
    this.leastScale = null;
    viewport.fit(undefined, false, firstScale(fittingScale(viewport.bounds, viewport.extent)));
  }

  private zoom(factor: number): void {
    const { selected, arrangement, viewport } = this;
    const about = selected === null ? null : arrangement?.items.get(this.shownFor(selected));
    viewport.zoom(factor, about);
  }

  /** Sets the direction of the data flow: down, or to the right. */
  private async turn(direction: Direction): Promise<void> {
    const { scene } = this;
    if (!scene || scene.isLanes) return;
    this.direction = direction;
    this.arranger = this.makeArranger(scene);
    this.toolbar.showDirection(direction, true);
    this.note({ direction });
    if (!(await this.update())) return;
    this.makeRoom();
    this.fitFirst();
  }

  /** Stores the user's choices. */
  private note(change: Look): void {
    this.look = { ...this.look, ...change };
    this.options.onLook?.(this.look);
  }

  private noteOpen(): void {
    if (this.scene) this.note({ open: openNames(this.scene, this.open) });
  }

  /** Makes the field as high as the graph needs, up to its full height; opened scopes make it grow. */
  private makeRoom(isNew = false): void {
    const { arrangement, field, options } = this;
    if (!arrangement) return;
    const wide = (field.clientWidth || USUAL_WIDTH) - 2 * FIT_MARGIN;
    // A drawing that is scaled down to the width needs less height.
    const scale = isNew ? Math.min(1, firstScale(wide / arrangement.width)) : 1;
    const needed = arrangement.height * scale + 36;
    const wanted = Math.min(Math.max(needed, MIN_HEIGHT), options.height);
    if (isNew || wanted > field.clientHeight) {
      this.ownHeight = `${Math.ceil(wanted)}px`;
      field.style.height = this.ownHeight;
    }
    this.viewport.measure();
  }

  setStates(bytes: Uint8Array, isLast = false): void {
    const { states, items, arrangement } = this;
    if (states === null) return;
    states.set(bytes);
    if (!this.hasStates) {
      this.hasStates = true;
      this.colour("state");
    }
    if (items && arrangement) states.paint(items, arrangement, isLast);
    if (this.card.isShown) this.card.showState();
  }

  /** The selected node's name, "" for none. */
  get selectedName(): string {
    return this.about;
  }

  get colourBy(): ColourBy {
    return this.options.colourBy;
  }

  /** Opens the scopes around an item, selects it and brings it into view, large enough to be read. */
  async goTo(item: ItemId, { mayCover = true, isStep = false }: Going = {}): Promise<void> {
    const { scene } = this;
    if (scene === null) return;
    if (openAround(scene, item, this.open)) {
      this.noteOpen();
      if (await this.update()) this.makeRoom();
    }
    const shown = this.shownFor(item);
    this.select(shown, item, mayCover);
    const placed = this.arrangement?.items.get(shown);
    if (!placed) return;
    const isLegible = this.viewport.currentScale >= LEAST_LEGIBLE_SCALE;
    this.viewport.reveal(frame(placed), isStep || isLegible ? 0 : LEGIBLE_SCALE);
  }

  /** Dims all nodes but these; without any, none. */
  showOnly(nodes: number[]): void {
    this.hits = new Set(nodes);
    this.mark();
  }

  goToName(name: string, going: Going = {}): void {
    const { scene } = this;
    if (scene === null) return;
    for (let node = 0; node < scene.count; node++) {
      if (scene.name(node) === name) {
        void this.goTo(node, going);
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
    this.noteOpen();
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
    this.viewport.startsAt = startOf(arrangement, this.scene?.isLanes ?? false);
    this.minimap.show(arrangement);
    this.states?.forget();
    this.states?.paint(items, arrangement, true);
    this.mark();
    return true;
  }

  colour(by: ColourBy): void {
    const { scene, items, arrangement } = this;
    this.options.colourBy = by;
    if (!scene) return;
    this.toolbar.showColouring(by, colourings(scene, this.hasStates));
    this.colouring = new Colouring(by, scene);
    this.category = null;
    this.element.classList.toggle("tfnb-live", by === "state");
    if (by === "state") this.legend.showStates();
    else this.legend.show(this.colouring);
    if (items && arrangement) {
      items.paint(arrangement, this.colouring);
      this.states?.forget();
      this.states?.paint(items, arrangement, true);
    }
    this.mark();
  }

  /** Gives the picture to the user as a file. */
  private async save(form: PictureForm): Promise<void> {
    const name = (this.scene?.title || "graph").replace(/[^\w-]+/g, "_").slice(0, 60);
    try {
      const page = form === "html" ? this.options.page?.() : null;
      if (form === "html" && !page) this.say("This page cannot be saved again as HTML.");
      else if (page) offer(`${name}.html`, new Blob([page], { type: "text/html" }));
      else if (form === "svg") {
        offer(`${name}.svg`, new Blob([this.picture()], { type: "image/svg+xml" }));
      } else if (form === "png") offer(`${name}.png`, await pngOf(this.picture()));
    } catch (error) {
      this.say(`Not saved: ${String(error)}`);
    }
  }

  /** The drawing as an SVG document. */
  picture(): string {
    const { scene, viewport } = this;
    return svgText(viewport.svg, viewport.bounds, scene?.title || "dataflow graph");
  }

  private async openOneLevel(): Promise<void> {
    const { scene, arrangement } = this;
    if (!scene || !arrangement) return;
    const skipped = openLevel(scene, arrangement, this.open);
    this.say(skipped ? `${skipped} scopes stay closed: more than ${MAX_VISIBLE} boxes.` : "");
    this.noteOpen();
    if (!(await this.update())) return;
    this.makeRoom();
    this.fit(MIN_SCALE);
  }

  private async closeAll(): Promise<void> {
    const { scene } = this;
    if (!scene) return;
    this.open = new Set(scene.isLanes ? scene.innerScopes(ROOT) : []);
    this.noteOpen();
    this.select(null);
    if (await this.update()) this.fit(MIN_SCALE);
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
    // No card covers the contents of a scope that is opened, unless a card is shown already.
    this.select(item, this.card.isShown ? item : null);
    void this.toggle(scope);
  }

  private key(event: KeyboardEvent): void {
    const { scene, arrangement, selected, viewport } = this;
    if (!scene || !arrangement) return;
    handleKey(event, {
      pan: (dx, dy) => viewport.pan(dx, dy),
      zoom: (factor) => this.zoom(factor),
      fit: () => this.fit(),
      search: () => this.search.focus(),
      go: (direction) => {
        const next =
          selected === null
            ? firstItem(arrangement)
            : nextItem(scene, arrangement, this.shownFor(selected), direction);
        if (next !== null) void this.goTo(next, { isStep: true });
      },
      toggle: () => {
        if (selected !== null && scene.isScope(selected)) {
          void this.toggle(scene.scopeOfItem(selected));
        }
      },
      goOut: () => {
        const parent = selected === null ? ROOT : scene.parentOf(selected);
        if (parent > ROOT && arrangement.items.has(scene.scopeItem(parent))) {
          void this.goTo(scene.scopeItem(parent), { isStep: true });
        }
      },
      letGo: () => {
        if (selected === null) viewport.svg.blur();
        this.select(null);
      },
    });
  }

  private shownFor(item: ItemId): ItemId {
    const { scene, arranger, arrangement } = this;
    return scene && arranger && arrangement ? boxShowing(scene, arranger, arrangement, item) : item;
  }

  private select(item: ItemId | null, about: ItemId | null = item, mayCover = true): void {
    const { scene, items } = this;
    if (!scene || !items) return;
    this.selected = item;
    this.card.show(scene, about);
    const { offsetWidth, offsetHeight } = this.card.element;
    // In a narrow view the card is as wide as the view, and at its bottom.
    const isBelow = offsetWidth > (2 / 3) * this.field.clientWidth;
    if (isBelow && !mayCover) this.card.show(scene, null);
    this.viewport.coveredRight = this.card.isShown && !isBelow ? CARD_WIDTH : 0;
    this.viewport.coveredBottom = this.card.isShown && isBelow ? offsetHeight : 0;
    const canvas = this.viewport.svg;
    if (item === null) canvas.removeAttribute("aria-activedescendant");
    else canvas.setAttribute("aria-activedescendant", items.idOf(item));
    this.mark();
    this.about = about === null || scene.isScope(about) ? "" : scene.name(about);
    this.options.onSelect?.(this.about);
  }

  /** Shows selection, neighbours, hits and the chosen category by classes of the boxes. */
  private mark(): void {
    const { scene, items, edges, arrangement, colouring } = this;
    if (!scene || !items || !edges || !arrangement || !colouring) return;
    const near = edges.light(this.selected, arrangement, (node) => this.shownFor(node));
    const { selected, hits, category } = this;
    paintMarks(scene, items, arrangement, colouring, { selected, near, hits, category });
    this.element.classList.toggle("tfnb-has-selection", selected !== null);
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

/** Opens as many levels of scopes as stay readable in a room. */
async function openAtFirst(scene: Scene, arranger: Arranger, room: Size): Promise<Set<number>> {
  const { choices, least } = openings(scene, arranger);
  for (let i = choices.length - 1; i > least; i--) {
    const arrangement = await arranger.arrange(choices[i]!);
    if (fittingScale(arrangement, room) >= LEGIBLE_SCALE) return choices[i]!;
  }
  return choices[least]!;
}

/** The scale of a first view: the whole if that is readable, else the beginning. */
function firstScale(whole: number): number {
  return whole < LEAST_LEGIBLE_SCALE ? LEGIBLE_SCALE : whole;
}

/** Where data begins to flow, in a drawing that is wider than high: null for the middle of its width. */
function startOf(arrangement: Arrangement, isLanes: boolean): number | null {
  if (!isLanes) return arrangement.direction === "right" ? 0 : null;
  const first = firstItem(arrangement);
  return first === null ? 0 : arrangement.items.get(first)!.x;
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
