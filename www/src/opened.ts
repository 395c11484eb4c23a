/** Files that were chosen, as far as they could be opened. */
import type { KnownError } from "./messenger.ts";

export type Model = File | { name: string; failure: KnownError };
