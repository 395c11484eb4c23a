/** What the drawing shows, without how it looks: boxes in rows and the lines between them. */
import * as format from "../format.ts";
import type { Fold } from "../folding.ts";
import { type Kind, kindOf } from "../kinds.ts";
import { addTo } from "../layout/adjacency.ts";
import type { Layout } from "../layout/types.ts";
import type { LayoutCall } from "../protocol.ts";
import type { Operator, Report } from "../report.ts";

/** Height of a box and distance between the tops of two rows, in px at scale 1. */
export const BOX_HEIGHT = 44;
/** Distance of two rows in px. */
export const ROW_STEP = 84;

/** An operator, an input or a folded run of operators as it is drawn. */
export interface Box {
  label: string;
  detail: string;
  width: number;
  kind: Kind | "input" | "output";
  /** Index into the report's operators, of the one that stands for all; null for inputs and outputs of the model. */
  operator: number | null;
  /** All that it holds, in topological order. */
  operators: readonly number[];
  is_block: boolean;
}

/** Boxes and edges before they have places; node index is index into `boxes`. */
export interface Draft {
  /** The first boxes are the inputs of the model. */
  n_inputs: number;
  boxes: Box[];
  /** `src`, `dst`, `tensor` of each edge. */
  edges: number[];
}

/** Everything that is drawn, with its place. */
export interface Scene extends Draft {
  layout: Layout;
  height: number;
  /** Nodes of each row from left to right. */
  rows: number[][];
  node_of_operator: Int32Array;
  /** Of a row, made when it is first drawn: of a large network most rows never are. */
  shapeLabels(row: number): readonly ShapeLabel[];
}

/** The shape of a tensor beside its line. */
export interface ShapeLabel {
  x: number;
  text: string;
}

/** The boxes and lines of a graph before they are laid out. */
export function draftScene(report: Report, folds: readonly Fold[], textWidth: (text: string, small: boolean) => number): Draft {
  const boxes: Box[] = [];
  const edges: number[] = [];
  const addBox = (box: Omit<Box, "width">): number => {
    const width = Math.max(textWidth(box.label, false), textWidth(box.detail, true)) + 32;
    return boxes.push({ ...box, width: Math.max(72, Math.round(width)) }) - 1;
  };
  const inputs = report.model.inputs.map((tensor) => [tensor, addBox(borderBox(report, tensor, "input"))] as const);
  const first = boxes.length;
  const box_of = new Int32Array(report.operators.length);
  for (const fold of folds) {
    const box = addBox(foldBox(report, fold));
    for (const operator of fold.operators) box_of[operator] = box;
  }
  const readers = readersOf(report);
  const drawn_tensors = new Set<string>();
  const connect = (src: number, dst: number, tensor: number): void => {
    const key = `${src} ${dst} ${tensor}`;
    if (src === dst || drawn_tensors.has(key)) return;
    drawn_tensors.add(key);
    edges.push(src, dst, tensor);
  };
  for (const [tensor, box] of inputs) for (const reader of readers.get(tensor) ?? []) connect(box, box_of[reader], tensor);
  for (const { src, dst, tensor } of report.edges) connect(box_of[src], box_of[dst], tensor);
  const writers = new Map(report.operators.flatMap(({ index, outputs }) => outputs.map((tensor) => [tensor, index] as const)));
  for (const tensor of report.model.outputs) {
    const writer = writers.get(tensor);
    if (writer !== undefined) edges.push(box_of[writer], addBox(borderBox(report, tensor, "output")), tensor);
  }
  return { n_inputs: first, boxes, edges };
}

/** What the layout takes of a draft. */
export function layoutCall({ n_inputs, boxes, edges }: Draft): LayoutCall {
  return { n_inputs, node_widths: Float32Array.from(boxes, (box) => box.width), edges: Int32Array.from(edges) };
}

/** A draft with the places that the layout found. */
export function placeScene(report: Report, draft: Draft, layout: Layout): Scene {
  const rows: number[][] = Array.from({ length: layout.n_rows }, () => []);
  layout.node_row.forEach((row, node) => addTo(rows, row, node));
  for (const row of rows) if (row.length > 1) row.sort((a, b) => layout.node_x[a] - layout.node_x[b]);
  const node_of_operator = new Int32Array(report.operators.length);
  draft.boxes.forEach(({ operators }, node) => {
    for (const operator of operators) node_of_operator[operator] = node;
  });
  const height = Math.max(0, layout.n_rows - 1) * ROW_STEP + BOX_HEIGHT;
  return { ...draft, layout, height, rows, node_of_operator, shapeLabels: placeShapes(report, layout) };
}

function borderBox(report: Report, tensor: number, kind: "input" | "output"): Omit<Box, "width"> {
  const stored_tensor = report.tensors[tensor];
  const detail = stored_tensor ? `${stored_tensor.type} ${shapeText(report, tensor)}` : "";
  return { label: kind, detail, kind, operator: null, operators: [], is_block: false };
}

/** Of an operator with what unpacks its weights, or of a block. */
function foldBox(report: Report, { operators, block }: Fold): Omit<Box, "width"> {
  const members = operators.map((index) => report.operators[index]);
  if (!block) {
    const main = members[members.length - 1];
    return { label: main.name, detail: detailOf(report, main), kind: kindOf(main), operator: main.index, operators, is_block: false };
  }
  const costliest = members.reduce((most, operator) => (operator.macs > most.macs ? operator : most));
  const macs = members.reduce((sum, { macs }) => sum + macs, 0);
  const detail = `${format.plural(operators.length, "operator")}${macs > 0 ? ` · ${format.text(format.count(macs, "MACs"))}` : ""}`;
  return { label: `Block ${block.number} of ${block.of}`, detail, kind: kindOf(costliest), operator: costliest.index, operators, is_block: true };
}

function readersOf(report: Report): Map<number, number[]> {
  const readers = new Map<number, number[]>();
  for (const { index, inputs } of report.operators) {
    for (const tensor of new Set(inputs)) {
      if (tensor === null) continue;
      const others = readers.get(tensor);
      if (others) others.push(index);
      else readers.set(tensor, [index]);
    }
  }
  return readers;
}

/** As it was counted: what the file leaves open has the size that the estimates are for. */
export function shapeText(report: Report, tensor: number): string {
  const stored_tensor = report.tensors[tensor];
  return stored_tensor ? format.shape(stored_tensor.shape) : "";
}

function detailOf(report: Report, operator: Operator): string {
  const macs = operator.macs > 0 ? `${format.text(format.count(operator.macs, "MACs"))}` : "";
  return [windowOf(report, operator), macs].filter(Boolean).join(" · ");
}

/** Kernel and stride of convolutions and pools, for example `3×3 /2`. */
function windowOf(report: Report, operator: Operator): string {
  const { stride_h, stride_w, filter_h, filter_w } = operator.attributes ?? {};
  const kernel = filter_h ? [filter_h, filter_w] : kernelShape(report, operator);
  if (!kernel) return "";
  const stride = [stride_h, stride_w].filter((s): s is number => typeof s === "number");
  const strided = stride.some((s) => s > 1);
  const strides = stride[0] === stride[1] ? `${stride[0]}` : stride.join("×");
  return `${kernel.join("×")}${strided ? ` /${strides}` : ""}`;
}

function kernelShape(report: Report, operator: Operator): number[] | null {
  if (!operator.name.includes("CONV_2D") && operator.name !== "TRANSPOSE_CONV") return null;
  const weights = operator.inputs[1];
  const shape = weights === null || weights === undefined ? undefined : report.tensors[weights]?.shape;
  return shape?.length === 4 ? shape.slice(1, 3) : null;
}

/** One label a tensor and writer, on its straightest piece; none where it would touch another. */
function placeShapes(report: Report, layout: Layout): Scene["shapeLabels"] {
  const { segments } = layout;
  const straightest = new Map<number, number>();
  segments.tensor.forEach((tensor, i) => {
    if (segments.from_waypoint[i]) return;
    const best = straightest.get(tensor);
    if (best === undefined || bend(layout, i) < bend(layout, best)) straightest.set(tensor, i);
  });
  const of_row: number[][] = Array.from({ length: layout.n_rows }, () => []);
  for (const i of straightest.values()) addTo(of_row, segments.row[i], i);
  const known = new Map<number, readonly ShapeLabel[]>();
  return (row) => {
    const labels = known.get(row) ?? withoutOverlaps(of_row[row].map((i) => ({ x: (segments.x_from[i] + segments.x_to[i]) / 2, text: shapeText(report, segments.tensor[i]) })));
    known.set(row, labels);
    return labels;
  };
}

function bend({ segments }: Layout, i: number): number {
  return Math.abs(segments.x_to[i] - segments.x_from[i]);
}

/** Width of one character of a shape label, in px at scale 1, rounded up. */
const SHAPE_CHARACTER = 7;

function withoutOverlaps(labels: ShapeLabel[]): ShapeLabel[] {
  let free = -Infinity;
  return labels
    .sort((a, b) => a.x - b.x)
    .filter(({ x, text }) => {
      if (x < free) return false;
      free = x + text.length * SHAPE_CHARACTER + 12;
      return true;
    });
}
