/** The lanes of a partitioned graph: a column and a head for every device. */

import { type Arrangement, HEADER } from "./arrangement.ts";
import { svg } from "./dom.ts";
import { shortDevice } from "./palette.ts";
import { ROOT, type Scene } from "./scene.ts";

export class LaneHeads {
  readonly element = svg("g", { class: "tfnb-lanes" });

  constructor(private readonly scene: Scene) {}

  paint({ lanes, height }: Arrangement): void {
    const { scene } = this;
    const scopes = scene.innerScopes(ROOT);
    this.element.replaceChildren(
      ...lanes.flatMap(({ lane, x, width }) => {
        const item = scene.scopeItem(scopes[lane]!);
        const count = `${scene.size(item).toLocaleString("en")} nodes`;
        const head = svg("text", { class: "tfnb-lane-name", x: x + width / 2, y: 20 });
        head.append(
          svg("tspan", {}, shortDevice(scene.label(item))),
          svg("tspan", { class: "tfnb-lane-count", dx: 8 }, count),
        );
        return [
          svg("rect", {
            class: `tfnb-lane tfnb-lane-${lane % 2}`,
            x: x - 6,
            y: 2,
            width: width + 12,
            height: height - 4,
            rx: 8,
          }),
          svg("path", {
            class: "tfnb-lane-rule",
            d: `M${x - 6} ${HEADER + 3}H${x + width + 6}`,
          }),
          head,
        ];
      }),
    );
  }
}
