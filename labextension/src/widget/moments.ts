/**
 * The moments of a live view: a graph, with the states of its nodes and the counters of the same message.
 *
 * A graph takes a while to be drawn, and messages do not wait.  Picture and header always show the same moment: while
 * another graph is drawn both keep the one before, and then show the latest of the new graph.
 */

export interface Moment<Scene, States, Counters> {
  scene: Scene;
  states: States;
  counters: Counters;
}

export class Moments<Scene, States, Counters> {
  private latest: Moment<Scene, States, Counters> | null = null;
  /** The latest of the graph that is being drawn. */
  private next: Moment<Scene, States, Counters> | null = null;
  /** The graph on show, in a box: a scene may be null, too. */
  private drawn: { scene: Scene } | null = null;

  /** `draw` resolves when the graph is there, and does not fail; `show` gets a moment of that graph. */
  constructor(
    private readonly draw: (scene: Scene) => Promise<void>,
    private readonly show: (moment: Moment<Scene, States, Counters>) => void,
  ) {}

  /** What the latest message says; scenes are the same if they are one object. */
  take(moment: Moment<Scene, States, Counters>): void {
    this.latest = moment;
    if (this.next !== null) {
      if (moment.scene === this.next.scene) this.next = moment;
    } else if (this.isDrawn(moment.scene)) this.show(moment);
    else void this.drawAll();
  }

  /** Draws one graph after the other; those that came and went meanwhile are left out. */
  private async drawAll(): Promise<void> {
    while (!this.isDrawn(this.latest!.scene)) {
      const { scene } = this.latest!;
      this.next = this.latest!;
      await this.draw(scene);
      this.drawn = { scene };
      this.show(this.next);
    }
    this.next = null;
  }

  private isDrawn(scene: Scene): boolean {
    return this.drawn !== null && this.drawn.scene === scene;
  }
}
