/** Files dropped anywhere on the window, or picked. */

export function acceptFiles(overlay: HTMLElement, picker: HTMLInputElement, open: (files: File[]) => void): void {
  let depth = 0;
  const show = (visible: boolean): void => {
    overlay.hidden = !visible;
  };
  addEventListener("dragenter", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth += 1;
    show(true);
  });
  addEventListener("dragover", (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  addEventListener("dragleave", (event) => {
    if (!carriesFiles(event)) return;
    depth = Math.max(0, depth - 1);
    show(depth > 0);
  });
  addEventListener("drop", (event) => {
    depth = 0;
    show(false);
    if (!carriesFiles(event)) return;
    event.preventDefault();
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) open(files);
  });
  picker.addEventListener("change", () => {
    const files = [...(picker.files ?? [])];
    picker.value = ""; // the same file can be picked again
    if (files.length > 0) open(files);
  });
}

function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
