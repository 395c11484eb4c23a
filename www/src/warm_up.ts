/**
 * Estimates and draws what nobody sees while the page waits for its first file. The browser compiles what runs often a
 * second time, and better; a first file should not have to wait for that.
 */
import { fetchBytes } from "./assets.ts";
import { nextTask } from "./dom.ts";
import type { Estimator } from "./estimator.ts";
import type { Report } from "./report.ts";

/** After so many the browser has compiled what a first file runs, some 0.6 s; after half as many it compiles beside that file. */
const N_ESTIMATES = 20;
/** On a slow machine it ends sooner than that. */
const MAX_MS = 1500;

/** Ends early where `is_over`, or where a file was dropped. Nothing depends on it: whoever calls may ignore its errors. */
export async function warmUp(urls: readonly string[], estimator: Estimator, draw: (report: Report) => void, is_over: () => boolean): Promise<void> {
  const models = await Promise.all(urls.map(fetchBytes));
  const end = performance.now() + MAX_MS;
  for (let i = 0; i < N_ESTIMATES && performance.now() < end && !is_over(); i++) {
    const report = await estimator.warmUp(models[i % models.length]);
    await nextTask(); // reading the answer was one of its own
    if (!report || is_over()) return;
    draw(report);
  }
}
