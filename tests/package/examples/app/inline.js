// As main.js, with everything in one script.
import { load } from "litecast/inline";

const litecast = await load();
const bytes = await (await fetch("model.tflite")).arrayBuffer();
const { results } = litecast.estimate(bytes);
const lines = results.map(({ device, metric, unavailable, value, unit }) => `${device}, ${metric}: ${unavailable ?? `${value} ${unit}`}`);
document.querySelector("#result").textContent = lines.join("\n");
