/** Someone who builds tools wants to hand a report on without a file. */
import { litecast } from "../all_plans.mjs";
import { residualModel } from "../model.mjs";
import { importSource } from "../sources.mjs";

const { measure, text } = await importSource("format.ts");
const { reportOfLink } = await importSource("share.ts");
const bytes = residualModel(300);

export default {
  question: "Which address opens this report, with the same numbers, in a browser that has no file?",
  files: [["tool.tflite", bytes]],
  before: [],
  after: [{ click: ".take summary" }, { click: 'button:text-is("Copy link")' }],
  shown: 'button:text-is("Copied")',
  /** What the page gives is read as its own reader does, and must say what the package says. */
  read: async (page) => {
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const { results } = await reportOfLink(new URLSearchParams(new URL(link).hash.slice(1)).get("report"));
    const { value, unit } = results.find(({ target, metric }) => target === "ethos-u55-256" && metric === "latency");
    return `${link.length} characters: ${text(measure(value, unit))}`;
  },
  answer: () => {
    const { value, unit } = litecast.estimate(bytes, { name: "tool" }).results.find(({ target, metric }) => target === "ethos-u55-256" && metric === "latency");
    return text(measure(value, unit));
  },
};
