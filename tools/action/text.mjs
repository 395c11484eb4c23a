/** Text of strangers, made safe for Markdown, XML and the runner's log. */

/** Control characters, line ends of any script and marks that turn the direction of writing. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/gu;

/** A name on one line of at most `n` characters, in which every character can be seen. */
export function plain(name, n = 120) {
  const seen = name.toWellFormed?.() ?? name.replace(/\p{Surrogate}/gu, "\ufffd");
  const text = seen.replace(UNSEEN, (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`);
  const characters = [...text];
  const half = Math.floor((n - 1) / 2);
  return characters.length <= n ? text : `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}

/** A name as code in Markdown: neither markup nor a mention, in a table as well. */
export function code(name) {
  const text = plain(name).replaceAll("|", "\\|");
  const runs = [...text.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = "`".repeat(1 + Math.max(0, ...runs));
  const space = /^[` ]|[` ]$/.test(text) || text === "" ? " " : "";
  return `${fence}${space}${text}${space}${fence}`;
}

export function xml(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
  return plain(text, 4096).replace(/[&<>"']/g, (character) => entities[character]);
}

/** A value of a workflow command, as the runner decodes it. */
export function commandValue(text) {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

export function commandProperty(text) {
  return commandValue(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
