"""Measures timm's image models under PyTorch on a CUDA GPU: time, energy and memory of a batch.

usage: measure_gpu.py TASKS.csv OUT [--cudnn-trials] [--seconds 540] [--workers 5]

TASKS.csv has the columns model, image_size, batch, run (infer, train), precision (amp, bfloat16, float32, tf32) and
is_profiled (0, 1). Adjacent rows of one model and image size share the model. OUT is a folder; each worker writes one
table there, row by row, so that a run that ends early keeps what it measured, and gpu.json describes the machine.

A row is the mean over a loop of at least 0.35 s after a warm-up, as timm's own benchmark does it: random weights and
images, channels first, inference in `torch.inference_mode`, a training step with cross-entropy and SGD with momentum.
With --cudnn-trials, PyTorch chooses cuDNN's algorithms by trial, which takes several seconds a model; without, by
cuDNN's heuristics. "amp" is autocast to float16. "bfloat16" has weights in bfloat16. "float32" has no TF32, "tf32" has
it for convolutions and products. Columns:

- ms: mean time of a batch, from the host's clock between two synchronisations
- energy_mj: energy of the board in the loop (NVML's counter) divided by the number of batches
- allocated_bytes, reserved_bytes: peaks of PyTorch's caching allocator in the loop
- kernel_ms, n_kernels: sum of the durations of kernels and copies of a batch and their number, by PyTorch's profiler;
  only for profiled rows

Only one worker uses the GPU at a time; the others build the next models on the CPU. Needs torch, timm and nvidia-ml-py.
"""

import argparse
import contextlib
import csv
import itertools
import json
import pathlib
import time

import timm
import torch
import torch.multiprocessing

COLUMNS = [
    "model", "image_size", "batch", "run", "precision", "ms", "n_batches", "energy_mj", "allocated_bytes",
    "reserved_bytes", "kernel_ms", "n_kernels", "error",
]  # fmt: skip
MIN_LOOP_SECONDS = 0.35
MIN_LOOP_BATCHES = 5
MIN_WARM_UP_SECONDS = 0.15
MIN_WARM_UP_BATCHES = 3
N_PROFILED_BATCHES = 3
LEARNING_RATE = 1e-4
MOMENTUM = 0.9
N_TRIES = 3
# After the deadline, for rows that are being measured.
MAX_LAST_SECONDS = 15


class Step:
    """One batch of one run."""

    def __init__(self, model, device, task):
        self.device = device
        self.is_training = task["run"] == "train"
        self.precision = task["precision"]
        dtype = torch.bfloat16 if self.precision == "bfloat16" else torch.float32
        self.model = model.to(device=device, dtype=dtype).train(self.is_training)
        side = int(task["image_size"])
        self.images = torch.randn(int(task["batch"]), 3, side, side, device=device, dtype=dtype)
        if self.is_training:
            n_classes = self.model.num_classes
            self.labels = torch.randint(n_classes, (len(self.images),), device=device)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        tf32 = self.precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32

    def __call__(self):
        if not self.is_training:
            with torch.inference_mode(), self.autocast():
                self.model(self.images)
            return
        self.optimizer.zero_grad()
        with self.autocast():
            out = self.model(self.images)
            out = out[0] if isinstance(out, tuple) else out
            loss = torch.nn.functional.cross_entropy(out, self.labels)
        loss.backward()
        self.optimizer.step()

    def autocast(self):
        if self.precision == "amp":
            return torch.autocast(self.device.type, torch.float16 if self.device.type == "cuda" else torch.bfloat16)
        return contextlib.nullcontext()


class Board:
    """What NVML and CUDA say; without a GPU, zeros, so that the loop itself can be tried."""

    def __init__(self, device):
        self.device = device
        self.handle = None
        if device.type == "cuda":
            import pynvml

            pynvml.nvmlInit()
            self.nvml = pynvml
            self.handle = pynvml.nvmlDeviceGetHandleByIndex(0)

    def synchronize(self):
        if self.handle:
            torch.cuda.synchronize()

    def energy_mj(self):
        return self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle) if self.handle else 0

    def start_peak(self):
        if self.handle:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def peaks(self):
        if not self.handle:
            return 0, 0
        return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()

    def describe(self):
        """The machine, and the GPU memory that a process takes before it has tensors."""
        if not self.handle:
            return {}
        nvml = self.nvml
        before = nvml.nvmlDeviceGetMemoryInfo(self.handle).used
        # Loads the libraries of products and of convolutions.
        layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 8)).cuda()
        with torch.autocast("cuda", torch.float16):
            layers(torch.randn(8, 3, 8, 8, device="cuda")).sum().backward()
        torch.cuda.synchronize()
        used = nvml.nvmlDeviceGetMemoryInfo(self.handle).used
        properties = torch.cuda.get_device_properties(0)
        return {
            "gpu": properties.name,
            "multiprocessors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "cache_bytes": properties.L2_cache_size,
            "driver": nvml.nvmlSystemGetDriverVersion(),
            "power_limit_mw": nvml.nvmlDeviceGetEnforcedPowerLimit(self.handle),
            "idle_mw": nvml.nvmlDeviceGetPowerUsage(self.handle),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "timm": timm.__version__,
            "base_bytes": used - before - torch.cuda.memory_reserved(),
        }


def profiled(step, board):
    """Milliseconds of kernels and copies of one batch, and their number."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(N_PROFILED_BATCHES):
            step()
        board.synchronize()
    events = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    total_us = sum(event.time_range.elapsed_us() for event in events)
    return total_us / 1e3 / N_PROFILED_BATCHES, len(events) / N_PROFILED_BATCHES


def measure(model, board, task):
    step = Step(model, board.device, task)
    start = time.perf_counter()
    for n_warm_up in itertools.count():
        if n_warm_up >= MIN_WARM_UP_BATCHES and time.perf_counter() - start > MIN_WARM_UP_SECONDS:
            break
        if n_warm_up == MIN_WARM_UP_BATCHES - 1:
            board.synchronize()
            last = time.perf_counter()
        step()
        if n_warm_up >= MIN_WARM_UP_BATCHES - 1:
            board.synchronize()
    batch_seconds = (time.perf_counter() - last) / (n_warm_up - MIN_WARM_UP_BATCHES + 1)
    n_batches = max(MIN_LOOP_BATCHES, int(MIN_LOOP_SECONDS / batch_seconds))
    board.start_peak()
    energy = board.energy_mj()
    start = time.perf_counter()
    for _ in range(n_batches):
        step()
    board.synchronize()
    seconds = time.perf_counter() - start
    energy = board.energy_mj() - energy
    allocated, reserved = board.peaks()
    row = {
        "ms": round(1e3 * seconds / n_batches, 5),
        "n_batches": n_batches,
        "energy_mj": round(energy / n_batches, 3),
        "allocated_bytes": allocated,
        "reserved_bytes": reserved,
    }
    if task.get("is_profiled") == "1":
        kernel_ms, n_kernels = profiled(step, board)
        row |= {"kernel_ms": round(kernel_ms, 5), "n_kernels": round(n_kernels, 1)}
    return row


def tried(model, board, task):
    """Halves the batch while it does not fit."""
    task = dict(task)
    row = {}
    for _ in range(N_TRIES):
        try:
            row = measure(model, board, task)
            break
        except torch.OutOfMemoryError:
            row = {"error": "out of memory"}
            task["batch"] = str(max(1, int(task["batch"]) // 2))
        except Exception as error:
            row = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
            break
        finally:
            model.zero_grad(set_to_none=True)
            board.start_peak()
    return named(task) | row


def named(task):
    return {name: task[name] for name in COLUMNS if name in task}


def work(worker, groups, queue, lock, out, deadline, device, has_trials):
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = has_trials
    board = Board(torch.device(device))
    with lock:
        board.describe()
    with open(out / f"rows-{worker}.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        while time.time() < deadline:
            with queue.get_lock():
                idx = queue.value
                queue.value += 1
            if idx >= len(groups):
                break
            group = groups[idx]
            size = int(group[0]["image_size"])
            try:
                try:
                    model = timm.create_model(group[0]["model"], img_size=size)
                except Exception:  # Not every model takes a size.
                    model = timm.create_model(group[0]["model"])
            except Exception as error:
                table.writerow(named(group[0]) | {"error": f"not built: {error}".splitlines()[0][:120]})
                continue
            with lock:
                for task in group:
                    if time.time() < deadline:
                        row = tried(model, board, task)
                        table.writerow(row)
                        file.flush()
                        if "CUDA error" in row.get("error", ""):
                            return  # Every later row of this process would fail.
                model.to("meta")
                del model
                board.start_peak()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cudnn-trials", action="store_true")
    args = parser.parse_args()
    deadline = time.time() + args.seconds
    with open(args.tasks) as file:
        rows = list(csv.DictReader(file))
    groups = [list(group) for _, group in itertools.groupby(rows, lambda row: (row["model"], row["image_size"]))]
    if args.device == "cuda":
        (args.out / "gpu.json").write_text(json.dumps(Board(torch.device("cuda")).describe(), indent=1) + "\n")
    context = torch.multiprocessing.get_context("spawn")
    queue, lock = context.Value("i", 0), context.Lock()
    workers = [
        context.Process(target=work, args=(worker, groups, queue, lock, args.out, deadline, args.device, args.cudnn_trials))
        for worker in range(args.workers)
    ]
    for process in workers:
        process.start()
    for process in workers:
        process.join(max(1.0, deadline + MAX_LAST_SECONDS - time.time()))
        process.terminate()
    n_done = min(queue.value, len(groups))
    print(f"{n_done} of {len(groups)} models were taken in {args.seconds + time.time() - deadline:.0f} s")


if __name__ == "__main__":
    main()
