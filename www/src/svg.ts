/** Elements of drawings. */
const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
export function node(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** Text at a place in an SVG drawing. */
export function label(text: string, x: number, y: number, anchor: "start" | "middle" | "end"): SVGElement {
  const element = node("text", { x, y, "text-anchor": anchor });
  element.textContent = text;
  return element;
}
