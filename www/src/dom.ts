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

/** By what an element is found again after it was drawn anew. */
function nameOf(element: Element): string {
  const names = ["id", "name", "aria-label", "data-target", "data-group", "data-open"].map((name) => element.getAttribute(name) ?? "");
  return [element.tagName, ...names, element.textContent.slice(0, 80)].join("\n");
}

const FOCUSABLE = 'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea, summary, [tabindex="0"]';

/**
 * Draws a part anew, now or later. What had the focus has it again; where it is gone, what now stands in its place, so that
 * the keyboard goes on from there.
 */
export async function keepingFocus(part: HTMLElement, draw: () => unknown): Promise<void> {
  const held = part.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
  const all = (): HTMLElement[] => [...part.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((element) => element.checkVisibility());
  const [place, name] = held ? [all().indexOf(held), nameOf(held)] : [-1, ""];
  const drawn = draw();
  const restore = (): void => {
    // Somebody may have gone elsewhere meanwhile.
    const is_lost = document.activeElement === document.body || document.activeElement === null;
    if (!held || held.isConnected || !is_lost) return;
    const now = all();
    const next = now.find((element) => nameOf(element) === name) ?? now[Math.min(Math.max(place, 0), now.length - 1)];
    next?.focus({ preventScroll: true });
  };
  if (!(drawn instanceof Promise)) return restore();
  await drawn;
  restore();
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
