/** The worker that holds the WebAssembly module: bytes of a file in, its report out. */
import init, { Predictor, analyze, calibrate } from "../../../pkg/litecast.js";
import type { EstimateCall, Estimated, EstimatorCall, EstimatorValue, StartCall, Started } from "../protocol.ts";
import type { Report } from "../report.ts";
import { keepReport } from "../store.ts";
import { answerRequests, describe } from "./answer.ts";

let predictor: Predictor | null = null;
let memory: WebAssembly.Memory | null = null;
/** Set by the first file: from then on nothing is estimated that nobody asked for. */
let is_used = false;

async function start({ assets: { module, bundle, warm_up } }: StartCall): Promise<Started> {
  ({ memory } = await init({ module_or_path: module }));
  if ("kind" in bundle) return { targets: [], predictor_failure: bundle };
  try {
    predictor = new Predictor(new Uint8Array(bundle.onnx), bundle.manifest);
    if (warm_up) warmUp(new Uint8Array(warm_up), performance.now() + WARM_UP_MS);
    return { targets: predictor.targets(), predictor_failure: null };
  } catch (error) {
    predictor = null;
    return { targets: [], predictor_failure: describe(error) };
  }
}

/**
 * Time for estimates that nobody asked for, in ms. The browser compiles what runs often a second time, and better; a
 * first file should not have to wait for that.
 */
const WARM_UP_MS = 400;

/** One estimate a task, so that a file waits for no more than one. */
function warmUp(bytes: Uint8Array, until: number): void {
  setTimeout(() => {
    if (is_used || performance.now() > until) return;
    predictor?.estimate(bytes, "warm-up.tflite");
    warmUp(bytes, until);
  });
}

function estimate({ bytes, file, batch, key }: EstimateCall): Estimated {
  is_used = true;
  const model = new Uint8Array(bytes);
  const report: Report = predictor ? predictor.estimate(model, file, batch) : analyze(model, file, batch);
  if (key !== null) setTimeout(() => void keepReport(key, report)); // after the page has it
  return { report, memory_bytes: memory?.buffer.byteLength ?? 0 };
}

function answer(call: EstimatorCall): Promise<Started> | EstimatorValue {
  if (call.kind === "start") return start(call);
  if (call.kind === "estimate") return estimate(call);
  return calibrate(call.measurements, call.estimates_ms);
}

answerRequests<EstimatorCall, EstimatorValue>(answer, () => []);
