/** The whole graph as a picture, in the colours of the light theme: SVG for documents, PNG for everything else. */
import { costColour, onCostColour } from "../graph/ramp.ts";
import type { GraphView } from "../graph/graph.ts";
import { Camera } from "../graph/camera.ts";
import { paintGraph } from "../graph/painter.ts";
import { BOX_HEIGHT, ROW_STEP, type Scene } from "../graph/scene.ts";
import { readTheme } from "../graph/theme.ts";
import type { Report } from "../report.ts";

const MARGIN = 24;
/** Browsers refuse larger canvases; larger graphs are scaled down. */
const MAX_PNG_SIDE = 8192;
const MAX_PNG_PIXELS = 32_000_000;
const PNG_SCALE = 2;

/** Null before the graph is laid out. */
/** `left` are the operators that the chosen target leaves to a processor. */
export function graphSvg(report: Report, graph: GraphView | null, left: ReadonlyMap<number, string>): string | null {
  const scene = graph?.scene();
  if (!graph || !scene) return null;
  return new XMLSerializer().serializeToString(svgOf(report, scene, graph.shares(), left));
}

/** The graph as a vector drawing; `shares` are the parts of its operators, 0 to 1. */
export function svgOf(report: Report, scene: Scene, shares: readonly number[], left: ReadonlyMap<number, string>): SVGElement {
  const [width, height] = [scene.layout.width + 2 * MARGIN, scene.height + 2 * MARGIN];
  const svg = node("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${round(width)} ${round(height)}`, width: round(width), height: round(height), "font-family": "system-ui, sans-serif" });
  const title = node("title", {});
  title.textContent = `${report.file}: ${report.operators.length} operators`;
  const group = node("g", { transform: `translate(${MARGIN} ${MARGIN})` });
  group.append(lines(scene), ...scene.boxes.flatMap((_, i) => box(scene, i, shares, left)));
  svg.append(title, node("rect", { width: "100%", height: "100%", fill: "#ffffff" }), group);
  return svg;
}

function lines({ layout: { segments, leaps, node_x, node_row } }: Scene): SVGElement {
  const parts: string[] = [];
  segments.row.forEach((row, i) => {
    const [x0, x1] = [round(segments.x_from[i]), round(segments.x_to[i])];
    const [y0, y1] = [row * ROW_STEP + BOX_HEIGHT, (row + 1) * ROW_STEP];
    if (segments.from_waypoint[i]) parts.push(`M${x0} ${row * ROW_STEP}V${y0}`);
    parts.push(x0 === x1 ? `M${x0} ${y0}V${y1}` : `M${x0} ${y0}C${x0} ${y0 + 24} ${x1} ${y1 - 24} ${x1} ${y1}`);
  });
  for (let i = 0; i < leaps.length; i += 3) {
    const [src, dst] = [leaps[i], leaps[i + 1]];
    const [x0, x1] = [round(node_x[src]), round(node_x[dst])];
    const [y0, y1] = [node_row[src] * ROW_STEP + BOX_HEIGHT, node_row[dst] * ROW_STEP];
    parts.push(`M${x0} ${y0}C${x0} ${y0 + 4 * ROW_STEP} ${x1} ${y1 - 4 * ROW_STEP} ${x1} ${y1}`);
  }
  return node("path", { d: parts.join(""), fill: "none", stroke: "#a3abb9", "stroke-width": 1.25 });
}

function box(scene: Scene, i: number, shares: readonly number[], left: ReadonlyMap<number, string>): SVGElement[] {
  const { label, detail, width, operator, operators } = scene.boxes[i];
  const [x, y] = [scene.layout.node_x[i] - width / 2, scene.layout.node_row[i] * ROW_STEP];
  const share = operator === null ? null : (shares[i] ?? 0);
  const fill = share === null ? "#ffffff" : costColour(share, false);
  const colour = share === null ? "#171a21" : onCostColour(share, false);
  const radius = operator === null ? BOX_HEIGHT / 2 : 7;
  const words = (text: string, dy: number, weight: number, size: number): SVGElement => {
    const element = node("text", { x: round(x + width / 2), y: round(y + dy), "text-anchor": "middle", "font-size": size, "font-weight": weight, fill: colour });
    element.textContent = text;
    return element;
  };
  const is_left = operators.some((operator) => left.has(operator));
  const outline = is_left ? { stroke: "#8a5a00", "stroke-width": 2, "stroke-dasharray": "5 3" } : { stroke: "#b9bfcb" };
  const frame = node("rect", { x: round(x), y: round(y), width, height: BOX_HEIGHT, rx: radius, fill, ...outline, ...(operators.length > 0 ? { "data-operators": operators.join(" ") } : {}) });
  const tag = node("text", { x: round(x + width - 2), y: round(y - 3), "text-anchor": "end", "font-size": 10, "font-weight": 600, fill: "#8a5a00" });
  tag.textContent = "CPU";
  return [frame, ...(is_left ? [tag] : []), words(label, detail ? 19 : 27, 600, 12), ...(detail ? [words(detail, 34, 400, 11)] : [])];
}

/** As on the screen, all of it. */
export async function graphPng(report: Report, graph: GraphView | null, left: ReadonlyMap<number, string>): Promise<Blob | null> {
  const scene = graph?.scene();
  if (!graph || !scene) return null;
  const [width, height] = [scene.layout.width + 2 * MARGIN, scene.height + 2 * MARGIN];
  const scale = Math.min(PNG_SCALE, MAX_PNG_SIDE / width, MAX_PNG_SIDE / height, Math.sqrt(MAX_PNG_PIXELS / (width * height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const camera = new Camera(scene.layout.width, scene.height);
  // The painter works in CSS px: the canvas has `devicePixelRatio` of its own for each.
  camera.width = canvas.width / devicePixelRatio;
  camera.height = canvas.height / devicePixelRatio;
  camera.scale = scale / devicePixelRatio;
  camera.x = camera.y = (MARGIN * scale) / devicePixelRatio;
  const marks = { selected: null, hovered: null, peak: report.model.peak_operator, tensors: new Set<number>(), shares: graph.shares(), matches: null, left };
  paintGraph(canvas.getContext("2d") as CanvasRenderingContext2D, scene, camera, readTheme(), marks);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function node(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (key !== "xmlns") element.setAttribute(key, String(value));
  return element;
}
