/** Models that the page brings along, written by the trainer's samplers. */
import list from "../examples/examples.json";

export interface Example {
  file: string;
  name: string;
  words: string;
  bytes: number;
}

export const EXAMPLES: Example[] = list;

export function exampleUrl({ file }: Example): string {
  return new URL(`examples/${file}${VERSION}`, document.baseURI).href;
}

/** The smallest one, which warms the predictor up. */
export function warmUpUrl(): string | null {
  const smallest = EXAMPLES.reduce<Example | null>((least, example) => (least && least.bytes <= example.bytes ? least : example), null);
  return smallest && exampleUrl(smallest);
}

export async function fetchExample(example: Example): Promise<File> {
  const response = await fetch(exampleUrl(example));
  if (!response.ok) throw new Error(`${example.file}: expected an example model, found HTTP status ${response.status}`);
  return new File([await response.arrayBuffer()], example.file);
}
