/** A line above a view about its effect on steps, with a button that ends it. */

import { html, setText } from "./dom.ts";

export interface NoticeState {
  text?: string;
  label?: string;
  command?: string;
}

export class Notice {
  readonly element = html("div", "tfnb-notice");
  private readonly text = html("span", "tfnb-notice-text");
  private readonly button = html("button", "tfnb-notice-button");
  private command = "";

  constructor(send: (message: { command: string }) => void) {
    this.button.type = "button";
    this.button.addEventListener("click", () => send({ command: this.command }));
    this.text.setAttribute("role", "status");
    this.element.append(this.text, this.button);
    this.element.hidden = true;
  }

  show({ text = "", label = "", command = "" }: NoticeState): void {
    this.element.hidden = text === "";
    setText(this.text, text);
    setText(this.button, label);
    this.button.hidden = label === "";
    this.command = command;
  }
}
