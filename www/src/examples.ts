/** Models that the page brings along, written by the trainer's samplers. */
import list from "../examples/examples.json";

/** A model that comes with the page. */
export interface Example {
  file: string;
  name: string;
  words: string;
  bytes: number;
}

/** Every example, in the order of the first screen. */
export const EXAMPLES: Example[] = list;

/** Where an example lies. */
export function exampleUrl({ file }: Example): string {
  return new URL(`examples/${file}${VERSION}`, document.baseURI).href;
}

/** An example as a file that was picked. */
export async function fetchExample(example: Example): Promise<File> {
  const response = await fetch(exampleUrl(example));
  if (!response.ok) throw new Error(`${example.file}: expected an example model, found HTTP status ${response.status}`);
  return new File([await response.arrayBuffer()], example.file);
}
