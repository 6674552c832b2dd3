/** The row of controls above a graph. */

import { html, ICONS, iconButton } from "./dom.ts";
import { COLOUR_NAMES, type ColourBy } from "./palette.ts";

export interface ToolbarActions {
  colour: (by: ColourBy) => void;
  openLevel: () => void;
  closeAll: () => void;
  zoom: (factor: number) => void;
  fit: () => void;
  help: () => void;
}

export class Toolbar {
  readonly element = html("div", "tfnb-toolbar");
  private readonly colourSelect = html("select", "tfnb-select");

  constructor(search: HTMLElement, actions: ToolbarActions) {
    this.element.setAttribute("role", "toolbar");
    for (const [value, name] of Object.entries(COLOUR_NAMES)) {
      const option = html("option", "", name);
      option.value = value;
      this.colourSelect.append(option);
    }
    this.colourSelect.addEventListener("change", () => {
      actions.colour(this.colourSelect.value as ColourBy);
    });
    const label = html("label", "tfnb-colour-by");
    label.append(html("span", "", "Colour"), this.colourSelect);
    this.element.append(
      search,
      label,
      html("span", "tfnb-gap"),
      iconButton("Open one more level of scopes", ICONS.expand, actions.openLevel),
      iconButton("Close all scopes", ICONS.collapse, actions.closeAll),
      html("span", "tfnb-rule"),
      iconButton("Zoom out (−)", ICONS.zoomOut, () => actions.zoom(1 / ZOOM_STEP)),
      iconButton("Zoom in (+)", ICONS.zoomIn, () => actions.zoom(ZOOM_STEP)),
      iconButton("Show the whole graph (0)", ICONS.fit, actions.fit),
      iconButton("Mouse and keyboard", ICONS.help, actions.help),
    );
    // The notebook must not take what is typed or pressed here for its own shortcuts.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** Shows which colouring is in use. */
  showColouring(by: ColourBy): void {
    this.colourSelect.value = by;
  }
}

export const ZOOM_STEP = 1.3;
