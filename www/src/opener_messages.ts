/**
 * Other pages and tools that opened this page can have it estimate or show a model: docs/guide/page.md states the protocol.
 * An answer goes to whoever asked, and holds nothing but what follows from the model that was sent.
 */
import { MAX_FILE_BYTES } from "./limits.ts";
import { KnownError } from "./worker_messenger.ts";
import type { Report } from "./report.ts";

const VERSION_OF_MESSAGES = 1;
/** A page that asks for more at a time is told so. */
const MAX_WAITING = 16;
const MAX_TARGETS = 32;
const MAX_CHARACTERS = 300;

/** What a page can ask for. */
export interface Asked {
  kind: "estimate" | "open";
  file: File;
  batch: number;
  /** Null for those that every report is of. */
  targets: string[] | null;
}

/** Answers messages with what `estimate` gives, and tells whoever opened this page that it is ready. `open` shows the model. */
export function answerMessages(estimate: (asked: Asked) => Promise<Report>, open: (asked: Asked) => Promise<void>): void {
  let n_waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  addEventListener("message", ({ data, source, origin }) => {
    if (!isObject(data) || data["litecast"] !== VERSION_OF_MESSAGES || !("kind" in data) || !source) return;
    const { id = null } = data;
    // What has no origin, for example a page from disk, can be answered in no other way.
    const send = (fields: object): void => (source as Window).postMessage({ litecast: VERSION_OF_MESSAGES, ...fields }, origin === "null" ? "*" : origin);
    const answer = (fields: object): void => {
      try {
        send({ id, ...fields });
      } catch {
        // It was moved here, as a port is, and browsers copy none.
        send({ id: null, error: { kind: "message", message: "id: expected a value that can be sent back, found one that cannot" } });
      }
    };
    const refuse = (error: unknown): void => answer({ error: { kind: error instanceof KnownError ? error.kind : "internal", message: error instanceof Error ? error.message : String(error) } });
    if (n_waiting >= MAX_WAITING) return refuse(new KnownError("busy", `expected at most ${MAX_WAITING} messages at a time, found one more`));
    n_waiting += 1;
    const act = async (): Promise<void> => {
      const asked = read(data);
      if (asked.kind === "open") await open(asked).then(() => answer({ opened: true }));
      else answer({ report: await estimate(asked) });
    };
    last = last.then(act).catch(refuse).finally(() => (n_waiting -= 1));
  });
  (opener as Window | null)?.postMessage({ litecast: VERSION_OF_MESSAGES, ready: true }, "*");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function read({ kind, name, bytes, batch = 1, targets = null }: Record<string, unknown>): Asked {
  const refuse = (field: string, expected: string, found: unknown): KnownError => new KnownError("message", `${field}: expected ${expected}, found ${typeof found === "string" ? `\`${found.slice(0, 60)}\`` : typeof found}`);
  if (kind !== "estimate" && kind !== "open") throw refuse("kind", "`estimate` or `open`", kind);
  if (typeof name !== "string" || name === "" || name.length > MAX_CHARACTERS) throw refuse("name", `a file's name of at most ${MAX_CHARACTERS} characters`, name);
  if (!(bytes instanceof ArrayBuffer || bytes instanceof Blob)) throw refuse("bytes", "an ArrayBuffer or a Blob", bytes);
  const n_bytes = bytes instanceof Blob ? bytes.size : bytes.byteLength;
  if (n_bytes > MAX_FILE_BYTES) throw new KnownError("too-large", `expected a file of at most ${MAX_FILE_BYTES} bytes, found ${n_bytes}`);
  if (typeof batch !== "number" || !Number.isInteger(batch) || batch < 1 || batch > 2 ** 16) throw refuse("batch", "a whole number from 1 to 65,536", batch);
  const is_list = Array.isArray(targets) && targets.length > 0 && targets.length <= MAX_TARGETS && targets.every((target) => typeof target === "string" && target.length <= MAX_CHARACTERS);
  if (targets !== null && !is_list) throw refuse("targets", `a list of 1 to ${MAX_TARGETS} ids`, targets);
  return { kind, file: new File([bytes], name), batch, targets: targets as string[] | null };
}
