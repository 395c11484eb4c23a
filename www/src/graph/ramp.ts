/**
 * Colours of costs: lightness in OKLab goes evenly from the page's ground to its opposite, so that equal steps of cost
 * look equal and the order is seen without telling hues apart.
 */

interface Ramp {
  lightness: readonly [number, number];
  chroma: readonly [number, number];
  /** Degrees. */
  hue: readonly [number, number];
}

const LIGHT: Ramp = { lightness: [0.97, 0.42], chroma: [0.02, 0.17], hue: [95, 20] };
const DARK: Ramp = { lightness: [0.27, 0.88], chroma: [0.03, 0.15], hue: [265, 95] };
/** Lightness from which dark text reads better than light text. */
const DARK_TEXT_FROM = 0.66;
const STEPS = 64;

/** As `#rrggbb`; `share` is 0 to 1. */
export function costColour(share: number, is_dark: boolean): string {
  const step = Math.round(Math.min(1, Math.max(0, share)) * STEPS);
  return (is_dark ? darkColours : lightColours)[step];
}

/** Text on that colour. */
export function onCostColour(share: number, is_dark: boolean): string {
  const [from, to] = (is_dark ? DARK : LIGHT).lightness;
  return from + (to - from) * share >= DARK_TEXT_FROM ? "#14171d" : "#ffffff";
}

const lightColours = coloursOf(LIGHT);
const darkColours = coloursOf(DARK);

function coloursOf({ lightness, chroma, hue }: Ramp): string[] {
  const between = ([from, to]: readonly [number, number], share: number): number => from + (to - from) * share;
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const share = step / STEPS;
    return hexOf(between(lightness, share), between(chroma, share), (between(hue, share) * Math.PI) / 180);
  });
}

/** OKLCh to sRGB with the matrices of Björn Ottosson's definition of OKLab. */
function hexOf(lightness: number, chroma: number, hue: number): string {
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return `#${linear.map((part) => channel(part).toString(16).padStart(2, "0")).join("")}`;
}

function channel(linear: number): number {
  const part = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055));
}
