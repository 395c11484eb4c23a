/** The worker that computes the drawing of a graph. */
import { layOut } from "../layout/layered.ts";
import type { LayoutCall, LayoutValue } from "../protocol.ts";
import { answerRequests } from "./request_queue.ts";

answerRequests<LayoutCall, LayoutValue>((input, progress) => layOut(input, progress), ({ node_x, node_row, segments, leaps }) => [
  node_x.buffer as ArrayBuffer,
  node_row.buffer as ArrayBuffer,
  leaps.buffer as ArrayBuffer,
  ...Object.values(segments).map((array) => array.buffer as ArrayBuffer),
]);
