/** Small networks to measure on a device of one's own, as the command hands them out. */
import { el } from "../dom.ts";
import type { Estimator } from "../estimator.ts";
import type { MeasuringTool } from "../protocol.ts";

/** Stems of the files, and the kernels that take most of their time. */
export const PROBES: readonly (readonly [name: string, kernels: string])[] = [
  ["small-network", "several kinds, and the time of an inference"],
  ["convolutions-3x3", "3x3 convolutions of stride 1"],
  ["pointwise", "1x1 convolutions"],
  ["convolutions", "other convolutions"],
  ["depthwise", "depthwise convolutions"],
  ["matrix-products", "matrix products"],
  ["elementwise", "elementwise operators"],
  ["pooling", "pooling and reductions"],
  ["softmax", "softmax"],
  ["movement", "movements of data"],
];

/** Ends of the files' names, and what they are. */
const KINDS: readonly (readonly [end: string, words: string])[] = [
  ["float32.tflite", "float32"],
  ["int8.tflite", "int8"],
  ["float32.onnx", "ONNX"],
];

/** Beside the page. */
export const probeAddress = (file: string): string => `probes/${file}`;

/** To the file, to be saved. */
export const probeLink = (file: string, words: string): HTMLElement => el("a", { href: probeAddress(file), download: file }, words);

/** Links to the files, with a command to copy for each once a reader opens the list: that of the tool that measured last, or of another. */
export function probeList(estimator: Estimator, lastTool: () => string | undefined): HTMLElement {
  const commands = PROBES.map(() => el("code", {}));
  const links = (name: string): Node[] => KINDS.flatMap(([end, words], i) => [document.createTextNode(i === 0 ? "" : ", "), probeLink(`${name}-${end}`, words)]);
  const rows = PROBES.map(([name, kernels], i) => el("li", {}, `${kernels}: `, ...links(name), el("br"), commands[i]));
  const tools = el("select", { id: "measuring-tool" });
  const failure = el("p", { class: "doubt", hidden: true });
  const show = (tool: MeasuringTool | undefined): void => commands.forEach((command, i) => (command.textContent = tool?.commands[i] ?? ""));
  const fill = async (): Promise<void> => {
    if (tools.options.length > 0) return;
    try {
      const known = await estimator.measuringTools(PROBES.map(([name]) => name));
      tools.replaceChildren(...known.map(({ tool }) => el("option", { value: tool, selected: tool === lastTool() }, tool)));
      tools.onchange = () => show(known[tools.selectedIndex]);
      show(known[tools.selectedIndex]);
      failure.hidden = true;
    } catch (error) {
      failure.textContent = `${(error as Error).message}.`;
      failure.hidden = false;
    }
  };
  const list = el(
    "details",
    { class: "probes" },
    el("summary", {}, "Small networks to measure"),
    el("p", { class: "subtle" }, "Each spends most of its time in one class of kernels. Open one here, measure it on the device, and drop what the tool printed on its report."),
    el("p", {}, el("label", { for: "measuring-tool" }, "Commands of "), tools),
    failure,
    el("ul", { class: "plain" }, ...rows),
  );
  list.addEventListener("toggle", () => list.open && void fill());
  return list;
}
