/** The worker that holds the WebAssembly module: bytes of a file in, its report out. */
import init, { Predictor, analyze, calibrate } from "../../../pkg/litecast.js";
import type { CalibrateCall, EstimateCall, StartCall, Started } from "../protocol.ts";
import type { Calibrated, Report } from "../report.ts";
import { answerRequests, describe } from "./answer.ts";
import { fetchAsset, fetchBytes, fetchModule } from "./assets.ts";

let predictor: Predictor | null = null;

async function start({ urls }: StartCall): Promise<Started> {
  const bundle = Promise.all([fetchBytes(urls.predictor), fetchAsset(urls.manifest).then((response) => response.text())]);
  bundle.catch(() => undefined); // reported below, after the module has been waited for
  const warm_up = urls.warm_up === null ? null : fetchBytes(urls.warm_up);
  warm_up?.catch(() => undefined);
  await init({ module_or_path: await fetchModule(urls.wasm) });
  try {
    const [onnx, manifest] = await bundle;
    predictor = new Predictor(onnx, manifest);
    if (warm_up) warmUp(predictor, await warm_up);
    return { targets: predictor.targets(), predictor_failure: null };
  } catch (error) {
    predictor = null;
    return { targets: [], predictor_failure: describe(error) };
  }
}

/**
 * Time spent on estimates that nobody asked for, in ms. The browser compiles what runs often a second time, and better;
 * a first file should not have to wait for that.
 */
const WARM_UP_MS = 150;

function warmUp(predictor: Predictor, bytes: Uint8Array): void {
  const started = performance.now();
  while (performance.now() - started < WARM_UP_MS) predictor.estimate(bytes, "warm-up.tflite");
}

function estimate({ bytes, file, batch }: EstimateCall): Report {
  const model = new Uint8Array(bytes);
  return predictor ? predictor.estimate(model, file, batch) : analyze(model, file, batch);
}

function answer(call: StartCall | EstimateCall | CalibrateCall): Promise<Started> | Report | Calibrated {
  if (call.kind === "start") return start(call);
  if (call.kind === "estimate") return estimate(call);
  return calibrate(call.measurements, call.estimates_ms);
}

answerRequests<StartCall | EstimateCall | CalibrateCall, Started | Report | Calibrated>(answer, () => []);
