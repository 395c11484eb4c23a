/** Keys of the timeline: those that Perfetto and speedscope have for the same. */

/** What a key does. */
export type Command = "zoom-in" | "zoom-out" | "pan-left" | "pan-right" | "next" | "previous" | "first" | "last" | "focus" | "fit" | "fold" | "next-stretch" | "previous-stretch" | "unselect" | "help";

interface Key {
  command: Command;
  keys: readonly string[];
  words: string;
}

/** In the order in which they are listed. */
export const KEYS: readonly Key[] = [
  { command: "zoom-in", keys: ["w", "+", "="], words: "Zoom in; also Ctrl and the wheel" },
  { command: "zoom-out", keys: ["s", "-"], words: "Zoom out" },
  { command: "pan-left", keys: ["a", "Shift+ArrowLeft"], words: "Earlier; also a drag to the right" },
  { command: "pan-right", keys: ["d", "Shift+ArrowRight"], words: "Later; also a drag to the left" },
  { command: "next", keys: ["ArrowRight", "ArrowDown", "."], words: "Next operator" },
  { command: "previous", keys: ["ArrowLeft", "ArrowUp", ","], words: "Operator before" },
  { command: "first", keys: ["Home"], words: "First operator" },
  { command: "last", keys: ["End"], words: "Last operator" },
  { command: "focus", keys: ["f", "Enter"], words: "Zoom to the selected operator or block; also a double click" },
  { command: "fit", keys: ["0", "r"], words: "Show all of it" },
  { command: "fold", keys: ["b"], words: "Fold or unfold repeated blocks" },
  { command: "next-stretch", keys: ["]"], words: "Next stretch on the CPU" },
  { command: "previous-stretch", keys: ["["], words: "Stretch on the CPU before" },
  { command: "unselect", keys: ["Escape"], words: "Select nothing" },
  { command: "help", keys: ["?"], words: "These keys" },
];

/** Null where a key does nothing here. */
export function commandOf({ key, shiftKey, altKey, ctrlKey, metaKey }: Pick<KeyboardEvent, "key" | "shiftKey" | "altKey" | "ctrlKey" | "metaKey">): Command | null {
  if (altKey || ctrlKey || metaKey) return null;
  const pressed = shiftKey && key.startsWith("Arrow") ? `Shift+${key}` : key.length === 1 ? key.toLowerCase() : key;
  return KEYS.find(({ keys }) => keys.includes(pressed))?.command ?? null;
}
