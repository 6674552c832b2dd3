/** Links views of one page: views of one graph select the same node, views of one recorded step show the same time. */

interface Pick {
  group: string;
  from: HTMLElement;
  name?: string;
  step?: number;
  ns?: number;
}

const EVENT = "tfnb-pick";

export class Link {
  private isFollowing = false;

  constructor(
    public group: string,
    private readonly root: HTMLElement,
    private readonly follow: (pick: Pick) => void,
  ) {
    document.addEventListener(EVENT, this.hear);
  }

  dispose(): void {
    document.removeEventListener(EVENT, this.hear);
  }

  /** Sends the selection of this view to the others. */
  tell(what: Omit<Pick, "group" | "from">): void {
    const { group, root } = this;
    if (!group || this.isFollowing) return;
    document.dispatchEvent(
      new CustomEvent<Pick>(EVENT, { detail: { ...what, group, from: root } }),
    );
  }

  private readonly hear = (event: Event): void => {
    const pick = (event as CustomEvent<Pick>).detail;
    if (!this.group || pick.group !== this.group || pick.from === this.root) return;
    this.isFollowing = true;
    try {
      this.follow(pick);
    } finally {
      this.isFollowing = false;
    }
  };
}
