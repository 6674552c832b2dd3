/** One view in a tab: it finds its kernel again after a reload, and shows when the kernel is gone. */

import { html, setText } from "../render/dom.ts";
import { cutMiddle } from "../render/text_measure.ts";
import type { Packages, Widget } from "./jupyter.ts";
import type { KernelLink } from "./kernel_link.ts";
import type { Links } from "./links.ts";
import { button } from "./panel.ts";

/** Identifies the view in a tab; saved in JupyterLab's layout. */
export interface ViewArgs {
  path: string;
  view: string;
  session: string;
  signature: number | null;
}

const MOST_TITLE = 34;

export function tabId({ path, view, session, signature }: ViewArgs): string {
  return `tfnb-view:${[path, view, session, signature ?? ""].join("|")}`;
}

export class ViewTab {
  readonly widget: Widget;
  private readonly notice = html("div", "tfnb-lab-notice");
  private readonly text = html("span");
  private readonly place = html("div", "tfnb-lab-view");
  private link: KernelLink | null = null;
  private undraw: (() => void) | undefined;
  private name = "";
  /** The kernel's snapshot when the view was drawn; later ones list the view while it is open. */
  private drawnWith: unknown = null;
  private state: "away" | "asking" | "drawn" | "refused" = "away";
  private readonly unlisten: () => void;

  constructor(
    packages: Packages,
    private readonly links: Links,
    readonly args: ViewArgs,
  ) {
    const root = html("div", "tfnb-lab-tab");
    const again = button("Try again", "Ask the kernel again", () => this.attach(true));
    this.notice.setAttribute("role", "status");
    this.notice.append(this.text, again);
    root.append(this.notice, this.place);
    this.widget = new packages.Widget({ node: root });
    this.widget.id = tabId(args);
    const { title } = this.widget;
    title.label = args.view === "run" ? "Recorded step" : args.view;
    title.caption = `${args.view} of ${args.path}`;
    title.closable = true;
    title.iconClass = "tfnb-lab-icon";
    this.unlisten = links.listen(() => this.update());
    // Closing the tab disposes it: the kernel stops feeding the view, which can be opened anew.
    this.widget.onCloseRequest = () => this.widget.dispose();
    this.widget.disposed.connect(() => this.dispose());
    this.update();
  }

  /** The kernel whose view the tab shows. */
  get kernel(): KernelLink | null {
    return this.link;
  }

  /** Asks the kernel for the view; `anew` skips a view that is already open. */
  attach(anew: boolean): void {
    const link = this.links.atPath(this.args.path);
    if (!link?.isHere || this.state === "asking") return;
    const { view, session, signature } = this.args;
    this.link = link;
    this.state = "asking";
    this.say("Asking the kernel…", false);
    Promise.all([link.renderer(), link.open(view, session, signature, anew)])
      .then(([renderer, { name, title, model, openedWith }]) => {
        if (this.widget.isDisposed) {
          link.close(name);
          return;
        }
        this.undraw?.();
        this.place.replaceChildren();
        this.undraw = renderer.render({ model, el: this.place });
        this.name = name;
        this.state = "drawn";
        this.drawnWith = openedWith;
        this.widget.title.label = cutMiddle(this.fullTitle(title, link), MOST_TITLE);
        this.widget.title.caption = `${title}, in ${link.name}`;
        this.notice.hidden = true;
        this.showAway(false);
        // The kernel may have closed the view meanwhile.
        this.update();
      })
      .catch((error: unknown) => {
        this.state = link.isHere ? "refused" : "away";
        this.say(error instanceof Error ? error.message : String(error), true);
      });
  }

  /** The tab's title; it names the kernel if several kernels have views. */
  private fullTitle(title: string, link: KernelLink): string {
    const here = this.links.all.filter((one) => one.isHere);
    return here.length > 1 ? `${title}, ${link.name}` : title;
  }

  private update(): void {
    const found = this.links.atPath(this.args.path);
    if (found?.isHere) {
      // A kernel that refused the view would refuse it again; ask only another kernel.
      const isOther = this.link !== found;
      const { snapshot } = found;
      // The kernel was away for a while, or another page closed the view.
      const isNews = snapshot !== null && snapshot !== this.drawnWith;
      const isClosed = this.state === "drawn" && isNews && !(this.name in snapshot.views);
      if (this.state === "away" || isClosed || (isOther && this.state !== "asking")) {
        this.attach(false);
      }
      return;
    }
    if (this.state === "asking") return;
    this.state = "away";
    this.showAway(true);
    const what = this.undraw ? " The picture is from before." : "";
    if (!found) this.say(`No kernel of ${this.args.path} runs.${what}`, false);
    else this.say(`tfnb is not loaded in the kernel of ${found.name}.${what}`, false);
  }

  /** The picture of a kernel that is gone stays, without the buttons that only the kernel could obey. */
  private showAway(isAway: boolean): void {
    this.place.classList.toggle("tfnb-lab-away", isAway);
    for (const part of this.place.querySelectorAll<HTMLElement>(".tfnb-debug")) part.inert = isAway;
  }

  private say(text: string, canRetry: boolean): void {
    setText(this.text, text);
    (this.notice.lastElementChild as HTMLElement).hidden = !canRetry;
    this.notice.hidden = false;
  }

  private dispose(): void {
    this.unlisten();
    this.undraw?.();
    if (this.name && this.state === "drawn") this.link?.close(this.name);
  }
}
