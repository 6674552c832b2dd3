/** The row of controls above a graph. */

import type { Direction } from "../layout/layout_worker.ts";
import { html, ICONS, iconButton } from "./dom.ts";
import type { PictureForm } from "./export_picture.ts";
import { COLOUR_NAMES, type ColourBy } from "./palette.ts";

export interface ToolbarActions {
  colour: (by: ColourBy) => void;
  openLevel: () => void;
  closeAll: () => void;
  zoom: (factor: number) => void;
  fit: () => void;
  /** Sets the direction of the data flow: down, or to the right. */
  turn: () => void;
  help: () => void;
  save: (form: PictureForm) => void;
}

export class Toolbar {
  readonly element = html("div", "tfnb-toolbar");
  private readonly colourSelect = html("select", "tfnb-select");
  private readonly turn: HTMLButtonElement;

  constructor(search: HTMLElement, actions: ToolbarActions) {
    this.element.setAttribute("role", "toolbar");
    this.colourSelect.addEventListener("change", () => {
      actions.colour(this.colourSelect.value as ColourBy);
    });
    const label = html("label", "tfnb-colour-by");
    label.append(html("span", "", "Colour"), this.colourSelect);
    this.turn = iconButton("Let data flow to the right", ICONS.turn, actions.turn);
    const buttons = html("div", "tfnb-tools");
    buttons.append(
      iconButton("Open one more level of scopes", ICONS.expand, actions.openLevel),
      iconButton("Close all scopes", ICONS.collapse, actions.closeAll),
      html("span", "tfnb-rule"),
      iconButton("Zoom out (−)", ICONS.zoomOut, () => actions.zoom(1 / ZOOM_STEP)),
      iconButton("Zoom in (+)", ICONS.zoomIn, () => actions.zoom(ZOOM_STEP)),
      iconButton("Show the whole graph (0)", ICONS.fit, actions.fit),
      this.turn,
      html("span", "tfnb-rule"),
      iconButton("Save as SVG", ICONS.save, () => actions.save("svg")),
      iconButton("Save as PNG", ICONS.image, () => actions.save("png")),
      iconButton("Save as HTML", ICONS.page, () => actions.save("html")),
      iconButton("Mouse and keyboard", ICONS.help, actions.help),
    );
    this.element.append(search, label, buttons);
    // The notebook must not use keys that are pressed here as its own shortcuts.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** Shows the direction of the data flow; lanes allow only one. */
  showDirection(direction: Direction, isChoice: boolean): void {
    this.turn.hidden = !isChoice;
    this.turn.setAttribute("aria-pressed", String(direction === "right"));
  }

  /** Shows the available colourings, and the one in use. */
  showColouring(by: ColourBy, all: ColourBy[]): void {
    this.colourSelect.replaceChildren(
      ...all.map((one) => {
        const option = html("option", "", COLOUR_NAMES[one]);
        option.value = one;
        return option;
      }),
    );
    this.colourSelect.value = by;
  }
}

export const ZOOM_STEP = 1.3;
