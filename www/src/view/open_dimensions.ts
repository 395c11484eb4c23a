/** Sizes of dimensions that a file leaves open: those of an ONNX file by name, those of a TFLite file by place. */
import { el } from "../dom.ts";
import type { Report } from "../report.ts";
import type { Sizes } from "../scenario.ts";

/** Beside a report; networks with more are rare, and all of theirs stand in the facts. */
const MAX_SHOWN = 4;
const MAX_SIZE = 2 ** 31 - 1;
/** What a first size is, by what its name has in it: that of a sentence for text encoders, and of an image otherwise. */
const TEXT_NAME = /seq|token|len|text|ids|mask/i;
const [TEXT_SIZE, IMAGE_SIZE] = [128, 224];

/** Those of a report, as they were counted. The first dimension is the batch, which is asked for by itself. */
export function openDimensions({ model, tensors }: Report, given: Sizes): Sizes {
  const sizes: Record<string, number> = { ...given };
  const inputs = model.inputs.map((input) => tensors[input]);
  const n_named = new Map<string, number>();
  for (const { name } of inputs) n_named.set(name, (n_named.get(name) ?? 0) + 1);
  inputs.forEach(({ name, shape, shape_signature }, number) => {
    // Names may be missing, or those of several inputs.
    const is_named = name !== "" && n_named.get(name) === 1;
    (shape_signature ?? []).forEach((size, axis) => {
      if (size < 0 && axis > 0) sizes[`${is_named ? name : number}.${axis}`] = shape[axis];
    });
  });
  return sizes;
}

/** Beside a report: `change` is called with the sizes shown once one is another; null where the file is not at hand. */
export function sizesControl(sizes: Sizes, change: ((sizes: Sizes) => void) | null): HTMLElement[] {
  const fields = Object.entries(sizes).slice(0, MAX_SHOWN).map(([name, size]) => sizeField(name, size, change === null));
  const apply = (): void => {
    const wanted = valuesOf(fields);
    if (wanted && fields.some(({ name }) => wanted[name] !== sizes[name])) change?.(wanted);
  };
  return fields.map(({ input, element }) => {
    input.addEventListener("change", apply);
    return element;
  });
}

/** In the place of a report: asks for all of `names`. */
export function sizesForm(names: readonly string[], give: (sizes: Sizes) => void): HTMLElement {
  const fields = names.map((name) => sizeField(name, TEXT_NAME.test(name) ? TEXT_SIZE : IMAGE_SIZE, false));
  const submit = (event: Event): void => {
    event.preventDefault();
    const sizes = valuesOf(fields);
    if (sizes) give(sizes);
  };
  const button = el("button", { class: "primary", type: "submit" }, "Estimate with these sizes");
  return el("form", { class: "sizes-form", onsubmit: submit }, ...fields.map(({ element }) => element), button);
}

interface SizeField {
  name: string;
  input: HTMLInputElement;
  element: HTMLElement;
}

function sizeField(name: string, size: number, disabled: boolean): SizeField {
  const input = el("input", { id: `size-${name}`, type: "number", min: 0, max: MAX_SIZE, step: 1, required: true, value: size, disabled });
  const title = disabled ? "Open the file again to estimate another size" : `${name}: a dimension whose size the file leaves open`;
  return { name, input, element: el("label", { class: "size", title }, el("span", {}, shortName(name)), " ", input) };
}

/** Without what TensorFlow adds to the names of inputs. */
function shortName(name: string): string {
  return name.replace(/^serving_default_/, "").replace(/:0(?=\.\d+$)/, "");
}

/** Null where one of them is no size. */
function valuesOf(fields: readonly SizeField[]): Sizes | null {
  if (!fields.every(({ input }) => input.validity.valid)) return null;
  return Object.fromEntries(fields.map(({ name, input }) => [name, input.valueAsNumber]));
}
