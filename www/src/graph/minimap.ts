/** The whole drawing in a corner, with a frame around what is in view; a press or drag goes there. */
import { el } from "../dom.ts";
import type { Camera } from "./camera.ts";
import { BOX_HEIGHT, ROW_STEP, type Scene } from "./scene.ts";
import type { Theme } from "./theme.ts";

const MAX_WIDTH = 110;
const MAX_HEIGHT = 170;
/** Of narrow drawings, so that they can be hit. */
const MIN_SIDE = 36;
const MIN_BOX_PX = 1.5;

/** The whole graph in small, with a frame around what is seen. */
export class Minimap {
  /** The keyboard goes through the drawing itself. */
  readonly element = el("canvas", { class: "minimap", "aria-hidden": "true", hidden: true });
  readonly #context = this.element.getContext("2d") as CanvasRenderingContext2D;
  /** The boxes alone, for as long as drawing and colours stay. */
  #boxes: HTMLCanvasElement | null = null;
  #camera: Camera | null = null;

  /** `moved` is called after the camera was moved. */
  constructor(moved: () => void) {
    const go = (event: PointerEvent): void => {
      const camera = this.#camera;
      if (!camera || event.buttons === 0) return;
      const x = (event.offsetX / this.element.clientWidth) * camera.world_width;
      const y = (event.offsetY / this.element.clientHeight) * camera.world_height;
      camera.pan(camera.width / 2 - (x * camera.scale + camera.x), camera.height / 2 - (y * camera.scale + camera.y));
      moved();
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      go(event);
    });
    this.element.addEventListener("pointermove", go);
  }

  /** The boxes or their colours are others. */
  forget(): void {
    this.#boxes = null;
  }

  paint(scene: Scene, camera: Camera, theme: Theme, shares: readonly number[]): void {
    this.#camera = camera;
    const fits = camera.world_width * camera.scale <= camera.width && camera.world_height * camera.scale <= camera.height;
    this.element.hidden = fits;
    if (fits) return;
    this.#boxes ??= this.#paintBoxes(scene, camera, theme, shares);
    const { width, height } = this.#boxes;
    if (this.element.width !== width || this.element.height !== height) {
      Object.assign(this.element, { width, height });
      this.element.style.width = `${width / devicePixelRatio}px`;
      this.element.style.height = `${height / devicePixelRatio}px`;
    }
    const [sx, sy] = [width / camera.world_width, height / camera.world_height];
    const [left, top] = camera.toWorld(0, 0);
    const [right, bottom] = camera.toWorld(camera.width, camera.height);
    this.#context.clearRect(0, 0, width, height);
    this.#context.drawImage(this.#boxes, 0, 0);
    this.#context.strokeStyle = theme.accent;
    this.#context.lineWidth = 1.5 * devicePixelRatio;
    const [x, y] = [Math.max(1, left * sx), Math.max(1, top * sy)];
    this.#context.strokeRect(x, y, Math.max(4, Math.min(width - 1, right * sx) - x), Math.max(4, Math.min(height - 1, bottom * sy) - y));
  }

  #paintBoxes(scene: Scene, camera: Camera, theme: Theme, shares: readonly number[]): HTMLCanvasElement {
    const scale = Math.min(MAX_WIDTH / camera.world_width, MAX_HEIGHT / camera.world_height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(Math.max(MIN_SIDE, camera.world_width * scale) * devicePixelRatio);
    canvas.height = Math.round(Math.max(MIN_SIDE, camera.world_height * scale) * devicePixelRatio);
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    const [sx, sy] = [canvas.width / camera.world_width, canvas.height / camera.world_height];
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const height = Math.max(MIN_BOX_PX, BOX_HEIGHT * sy);
    scene.boxes.forEach((box, node) => {
      const width = Math.max(2 * MIN_BOX_PX, box.width * sx);
      context.fillStyle = box.operator === null ? theme.line : theme.cost(Math.max(0.12, shares[node] ?? 0));
      context.fillRect(scene.layout.node_x[node] * sx - width / 2, scene.layout.node_row[node] * ROW_STEP * sy, width, height);
    });
    return canvas;
  }
}
