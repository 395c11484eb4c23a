/** A panel that opens over the page from a summary, such as a menu. */

/** Closes it on Escape, on a click beside it, and when the keyboard goes on: it would cover what then has the focus. */
export function closeWhenLeft(panel: HTMLDetailsElement, signal: AbortSignal): void {
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !panel.open) return;
    panel.open = false;
    panel.querySelector("summary")?.focus();
  });
  panel.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !panel.contains(relatedTarget)) panel.open = false;
  });
  const close = ({ target }: Event): void => {
    if (panel.open && !panel.contains(target as Node)) panel.open = false;
  };
  addEventListener("click", close, { signal });
}
