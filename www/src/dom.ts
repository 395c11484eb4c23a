/** Elements in one expression. Text only ever becomes a text node, never markup. */

type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | EventListener | null | undefined>;

/**
 * An element with attributes and children. `on…` attributes are listeners; `true` sets an empty attribute; `false`,
 * `null` and `undefined` leave it out.
 */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined));
  return element;
}

/** A definition list row. */
export function term(name: string, ...value: Child[]): HTMLElement {
  return el("div", { class: "term" }, el("dt", {}, name), el("dd", {}, ...value));
}

/** The value in strong, the unit beside it. */
export function quantity([value, unit]: readonly [string, string]): HTMLElement {
  return el("span", { class: "quantity" }, el("span", { class: "value" }, value), unit && el("span", { class: "unit" }, `\u202f${unit}`));
}

/** Lets the browser answer a hand and paint before what follows. */
export function nextTask(): Promise<void> {
  // Goes on before tasks that came in meanwhile, where the browser knows how.
  if ("scheduler" in globalThis && "yield" in scheduler) return scheduler.yield();
  return new Promise((resolve) => setTimeout(resolve));
}
