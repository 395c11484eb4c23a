import type { Request } from "./protocol.ts";
import { answer } from "./thread.ts";

const scope = self as unknown as { postMessage(message: unknown): void; onmessage: ((event: { data: Request }) => void) | null };
const take = answer((message) => scope.postMessage(message));
scope.onmessage = ({ data }) => take(data);
