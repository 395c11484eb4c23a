// As main.js, with the estimator in a worker.
import { load } from "litecast/worker";

const litecast = await load();
const bytes = await (await fetch("model.tflite")).arrayBuffer();
const { results } = await litecast.estimate(bytes);
const lines = results.map(({ device, metric, unavailable, value, unit }) => `${device}, ${metric}: ${unavailable ?? `${value} ${unit}`}`);
document.querySelector("#result").textContent = lines.join("\n");
litecast.dispose();
