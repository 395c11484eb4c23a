/** Files and folders dropped anywhere on the window, or picked. */

/** Names that a folder is searched for. */
const MODEL_NAME = /\.(tflite|tflite\.gz|lite|task|zip|onnx|param|cc)$/i;
/** Files taken from folders, and how deep these may lie. */
const MAX_FILES = 2000;
const MAX_DEPTH = 12;

/** Opens what is dropped on the window or picked; `overlay` is shown while something is dragged over it. */
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
    if (!carriesFiles(event) || event.defaultPrevented) return;
    event.preventDefault();
    const dropped = droppedEntries(event);
    const opened = (files: File[]): void => void (files.length > 0 && open(files.slice(0, MAX_FILES)));
    if (dropped.some(({ folder }) => folder)) void filesInside(dropped).then(opened);
    else opened(dropped.map(({ file }) => file)); // at once: every task in between is waited for
  });
  picker.addEventListener("change", () => {
    const files = [...(picker.files ?? [])];
    picker.value = ""; // the same file can be picked again
    if (files.length > 0) open(files);
  });
}

/** A file of such a name, dropped on `place`, is no model. */
export function onFileDropped(place: HTMLElement, names: RegExp, take: (file: File) => void): void {
  place.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file || !names.test(file.name)) return;
    event.preventDefault();
    take(file);
  });
}

function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

interface Dropped {
  file: File;
  folder: FileSystemDirectoryEntry | null;
}

function droppedEntries({ dataTransfer }: DragEvent): Dropped[] {
  const entries = [...(dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.() ?? null); // only during the event
  return [...(dataTransfer?.files ?? [])].map((file, i) => ({ file, folder: entries[i]?.isDirectory ? (entries[i] as FileSystemDirectoryEntry) : null }));
}

/** Folders are walked; one without models is handed on as it is, so that it is refused in words. */
async function filesInside(dropped: readonly Dropped[]): Promise<File[]> {
  const files: File[] = [];
  for (const { file, folder } of dropped) {
    const inside = folder ? await filesIn(folder, MAX_DEPTH) : [];
    files.push(...(inside.length > 0 ? inside : [file]));
  }
  return files;
}

async function filesIn(folder: FileSystemDirectoryEntry, depth: number): Promise<File[]> {
  const files: File[] = [];
  const reader = folder.createReader();
  for (;;) {
    // A reader gives some entries at a time, and none at the end.
    const entries = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (entries.length === 0 || files.length >= MAX_FILES) return files;
    for (const entry of entries) {
      if (entry.isDirectory && depth > 1) files.push(...(await filesIn(entry as FileSystemDirectoryEntry, depth - 1)));
      if (entry.isFile && MODEL_NAME.test(entry.name)) files.push(await fileOf(entry as FileSystemFileEntry));
    }
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
