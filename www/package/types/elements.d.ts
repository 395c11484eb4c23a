/**
 * Registers two custom elements, each of which estimates in one worker that all of them share:
 *
 * - `<litecast-report src="model.tflite" target="ethos-u55-256" budget="10 ms, 256 KiB">`: a sentence that says whether
 *   the model meets the budget, or what it costs, cards of every metric, and the graph with each operator's part of the
 *   latency, also as a table;
 * - `<litecast-badge src="model.tflite" target="ethos-u55-256" metric="latency">`: one number, "2.1 ms on Ethos-U55-256".
 *
 * `batch` is an attribute of both, and `board="imx93"` names a board instead of a target. A `budget` has at most one latency (`us`, `ms`, `s`), memory (`KiB`, `MiB`, `kB`, `MB`),
 * energy (`uJ`, `mJ`, `J`) and rate of inferences (`/s`). Each attribute is a property of the same name as well, a string. The property `report`
 * holds the report that is shown, or null, and shows one that is set.
 * An element dispatches `litecast-report` with the report as `detail`, or `litecast-error` with a `LitecastError`. The
 * attribute `data-state` is `loading`, `ready`, `error`, or `empty` where there is no model.
 *
 * CSS variables: `--litecast-color`, `--litecast-background`, `--litecast-accent`, `--litecast-line`,
 * `--litecast-muted`, `--litecast-error`, `--litecast-font`, `--litecast-radius`, `--litecast-space`,
 * `--litecast-graph-height`, and `--litecast-badge-color`.
 *
 * Does nothing where there is no document.
 */
export function defineElements(): void;
