/**
 * Node data of Model Explorer: the chosen cost of each operator, to be loaded over the same file there. Its keys are the
 * names of output tensors, its fields those of `model_explorer.node_data_builder` 0.1.
 */
import type { Focus } from "../focus.ts";
import type { Report } from "../report.ts";
import { costColour } from "../graph/ramp.ts";

/** The id that Model Explorer gives the only graph of a TFLite file. */
const MAIN_GRAPH = "main";

/** The chosen measure by operator, as Model Explorer reads node data. */
export function nodeData(report: Report, focus: Focus): string {
  const measure = focus.measureIn(report);
  const results: Record<string, { value: number }> = {};
  for (const { index, outputs } of report.operators) {
    const name = report.tensors[outputs[0] ?? -1]?.name;
    if (name && measure) results[name] = { value: measure.values[index] };
  }
  const gradient = [0, 0.25, 0.5, 0.75, 1].map((stop) => ({ stop, bgColor: costColour(stop, false) }));
  return JSON.stringify({ [report.model.subgraphs[0]?.name || MAIN_GRAPH]: { results, gradient } }, null, 2);
}
