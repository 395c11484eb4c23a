/** Buttons that save a text or a picture as a file. */
import { el } from "../dom.ts";

type Content = string | Blob;

/** A button that saves what `content` makes when it is pressed. */
export function saveButton(label: string, name: string, type: string, content: () => Content | Promise<Content>): HTMLElement {
  return el("button", { type: "button", onclick: () => void save(name, type, content) }, label);
}

/** Saves a file under a name through the browser's downloads. */
export async function save(name: string, type: string, content: () => Content | Promise<Content>): Promise<void> {
  const made = await content();
  const url = URL.createObjectURL(made instanceof Blob ? made : new Blob([made], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // the download has begun by then
}
