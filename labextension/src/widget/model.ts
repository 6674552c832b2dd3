/** The model that anywidget gives to a view: the traits of tfnb/notebook/views/widget.py. */

import type { CurvesState } from "../render/curves.ts";
import type { DebugState, Message } from "../render/debug_panel.ts";
import type { Look } from "../render/graph_view.ts";
import type { NoticeState } from "../render/notice.ts";
import type { ColourBy } from "../render/palette.ts";
import type { PassState } from "../render/passes_view.ts";
import type { Counters } from "../render/progress_panel.ts";
import type { TableState } from "../render/table_view.ts";

export interface Options {
  view:
    | "graph"
    | "placement"
    | "partitions"
    | "progress"
    | "run"
    | "debug"
    | "passes"
    | "compare"
    | "times"
    | "values"
    | "partial";
  colourBy: ColourBy;
  height: number;
  /** Views of one group select together. */
  group?: string;
}

export interface Traits {
  _scene: DataView;
  _states: DataView;
  _record: DataView;
  _lanes: DataView;
  _passes: { passes?: PassState[] };
  _table: TableState | Record<string, never>;
  _counters: Counters | Record<string, never>;
  _curves: CurvesState | Record<string, never>;
  _debug: DebugState | Record<string, never>;
  /** Absent in a page that was saved. */
  _notice?: NoticeState;
  _options: Options;
  _look: Look;
  selected: string;
}

export interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  set<K extends keyof Traits>(name: K, value: Traits[K]): void;
  save_changes(): void;
  on(event: string, handler: (content?: unknown) => void): void;
  off(event: string, handler: (content?: unknown) => void): void;
  send(content: Message | { picture: string }): void;
}

export interface Context {
  model: Model;
  el: HTMLElement;
}
