/** The parts of JupyterLab in use, as types: its packages come from the page (container.ts), not from npm. */

export interface Signal<T> {
  connect(slot: (sender: unknown, args: T) => void): void;
  disconnect(slot: (sender: unknown, args: T) => void): void;
}

/** A Lumino widget. */
export interface Widget {
  id: string;
  readonly node: HTMLElement;
  readonly title: { label: string; caption: string; closable: boolean; iconClass: string };
  readonly parent: Widget | null;
  tabBars?(): Iterable<{ readonly titles: readonly unknown[] }>; // of a dock panel
  currentWidget?: Widget; // of a panel of tabs
  readonly isDisposed: boolean;
  readonly disposed: Signal<void>;
  addClass(name: string): void;
  setHidden(hidden: boolean): void;
  /** Called when the cross of its tab is pressed; Lumino's own handler hides the widget and keeps it. */
  onCloseRequest(message: unknown): void;
  dispose(): void;
}

export interface IopubMessage {
  header: { msg_type: string };
  content: { comm_id?: string; data?: unknown };
  buffers?: (ArrayBuffer | ArrayBufferView)[];
}

export interface Kernel {
  readonly clientId: string;
  readonly username: string;
  readonly status: string;
  readonly iopubMessage: Signal<IopubMessage>;
  readonly statusChanged: Signal<string>;
  sendShellMessage(message: object, expectReply: boolean, disposeOnDone: boolean): unknown;
  requestCommInfo(content: { target_name: string }): Promise<{
    content: { comms?: Record<string, unknown> };
  }>;
  requestExecute(content: { code: string; store_history: boolean }): unknown;
  dispose(): void;
}

export interface SessionModel {
  path: string;
  name: string;
  type: string;
  kernel: { id: string; name: string } | null;
}

export interface ServiceManager {
  readonly sessions: {
    readonly ready: Promise<void>;
    readonly runningChanged: Signal<unknown>;
    running(): Iterable<SessionModel>;
  };
  readonly kernels: { connectTo(options: object): Kernel };
  readonly kernelspecs: {
    readonly ready: Promise<void>;
    readonly specs: {
      default: string;
      kernelspecs: Record<string, { language: string } | undefined>;
    } | null;
  };
}

/** A document or console: anything that has a kernel. */
export interface WithKernel extends Widget {
  sessionContext?: {
    session: { path?: string; kernel: { id: string } | null } | null;
    readonly statusChanged: Signal<string>;
  };
}

export interface NotebookModel {
  dirty: boolean;
  readonly stateChanged: Signal<{ name: string }>;
  toJSON(): {
    metadata: Record<string, unknown> & {
      kernelspec?: Record<string, unknown>;
      language_info?: Record<string, unknown>;
    };
  };
}

export interface NotebookPanel extends WithKernel {
  readonly toolbar: { insertBefore(at: string, name: string, widget: Widget): boolean } & {
    addItem(name: string, widget: Widget): boolean;
  };
  readonly context: { path: string; ready: Promise<void>; readonly model: NotebookModel };
  readonly content: {
    widgets: readonly { model: { sharedModel: { setSource(text: string): void } } }[];
  };
}

export interface Command {
  label: string | ((args: Record<string, unknown>) => string);
  caption?: string;
  iconClass?: string;
  isVisible?(): boolean;
  isEnabled?(): boolean;
  execute(args: Record<string, unknown>): unknown;
}

export interface App {
  readonly serviceManager: ServiceManager;
  readonly restored: Promise<void>;
  readonly commands: {
    addCommand(id: string, options: Command): unknown;
    execute(id: string, args?: object): Promise<unknown>;
  };
  readonly shell: {
    readonly currentWidget: WithKernel | null;
    readonly currentChanged?: Signal<unknown>;
    add(widget: Widget, area: string, options?: object): void;
    activateById(id: string): void;
    widgets?(area: string): Iterable<Widget>;
  };
  readonly docRegistry: {
    addWidgetExtension(name: string, extension: { createNew(panel: NotebookPanel): unknown }): void;
  };
}

export interface Tracker<T extends Widget> {
  add(widget: T): Promise<void>;
  forEach(each: (widget: T) => void): void;
}

export interface Restorer {
  add(widget: Widget, name: string): void;
  restore<T extends Widget>(
    tracker: Tracker<T>,
    options: { command: string; args(widget: T): object; name(widget: T): string },
  ): Promise<unknown>;
}

export interface Palette {
  addItem(item: { command: string; category: string; args?: object }): unknown;
}

export interface Launcher {
  add(item: { command: string; category: string; rank: number }): unknown;
}

/** The packages of the page. */
export interface Packages {
  Widget: new (options: { node: HTMLElement }) => Widget;
  WidgetTracker: new <T extends Widget>(options: { namespace: string }) => Tracker<T>;
}
