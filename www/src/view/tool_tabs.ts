/** What is done with a report besides reading it: one thing at a time, below a row of buttons. */
import { el } from "../dom.ts";

/** One thing that can be done with a report. */
export interface Tool {
  id: string;
  label: string;
  /** Beside the label: what it is about, or how much there is. */
  hint: HTMLElement;
  /** Made when it is first opened. */
  body: () => HTMLElement;
}

const OPEN_KEY = "litecast.tool";

/** `first` is open where nothing was opened before. */
export function toolTabs(tools: readonly Tool[], first: string | null): HTMLElement {
  const bodies = new Map<string, HTMLElement>();
  const stage = el("div", { class: "workshop-body", hidden: true, id: "workshop-body" });
  const buttons = tools.map(({ id, label, hint }) =>
    el("button", { type: "button", id: `tool-${id}`, "aria-expanded": "false", "aria-controls": "workshop-body", onclick: () => toggle(id) }, label, " ", hint),
  );
  const show = (wanted: string | null): void => {
    const tool = tools.find(({ id }) => id === wanted);
    tools.forEach(({ id }, i) => buttons[i].setAttribute("aria-expanded", String(id === tool?.id)));
    stage.hidden = !tool;
    if (!tool) return;
    const body = bodies.get(tool.id) ?? tool.body();
    bodies.set(tool.id, body);
    stage.replaceChildren(body);
  };
  const toggle = (id: string): void => {
    const is_open = buttons[tools.findIndex((tool) => tool.id === id)].getAttribute("aria-expanded") === "true";
    sessionStorage.setItem(OPEN_KEY, is_open ? "" : id);
    show(is_open ? null : id);
  };
  show(first ?? sessionStorage.getItem(OPEN_KEY));
  return el("section", { class: "workshop panel", "aria-label": "What if, advice, accelerators" }, el("div", { class: "workshop-bar" }, ...buttons), stage);
}
