"""Labels sampled networks on a Dask cluster: one task a shard, each `litecast-trainer label --shard`.

usage: label_on_dask.py --scheduler ADDRESS --shards N --out DIR [--trainer PATH] LABEL_ARGUMENTS...

LABEL_ARGUMENTS are those of `litecast-trainer label` (--spaces, --seed, --targets,
--time-limit-s, ...). --shard, --out, --jobs and --python are not among them: they are the task's. A
worker needs the packages of requirements.txt in the interpreter that it runs in, and
`litecast-trainer` at --trainer; it needs no folder in common with this process.

A shard's file is written into DIR whole or not at all, when its task is done; it has the name that a
local run gives it. Started again, this runs the shards without a file, and those with labels that a
run repeats (time-outs and crashes). Dask gives the shards of a worker that died to others. The
exit code is 1 where a shard failed more often than that, with its error.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from dask.distributed import Client, as_completed, progress

# Beside the label files: what was asked for, so that files of two requests do not mix.
REQUEST = "request.json"

# Of a task that raised, before the shard counts as failed. A worker that dies is no such attempt:
# Dask counts those by itself (distributed.scheduler.allowed-failures).
RETRIES = 2

BAR_INTERVAL_S = 1


def label_shard(trainer, shard, n_shards, arguments, earlier):
    """Runs in a worker: name and bytes of the shard's label file, `earlier` kept and completed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in earlier.items():
            Path(folder, name).write_bytes(content)
        own = ["--shard", f"{shard}/{n_shards}", "--out", folder]
        # A Dask worker's thread has one task at a time, hence one core.
        own += ["--jobs", "1", "--python", sys.executable]
        command = [trainer, "label", *arguments, *own]
        process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {process.stderr.strip()}")
        (path,) = Path(folder).glob("*.jsonl")
        return path.name, path.read_bytes()


def file_of_shard(folder, shard, n_shards):
    """Name and bytes of the file that is there already."""
    return {path.name: path.read_bytes() for path in folder.glob(f"*-{shard}-of-{n_shards}.jsonl")}


def is_complete(files):
    """Whether no label is missing: a file in this folder is whole, but time-outs and crashes of one
    run are tried again by the next."""
    statuses = {}
    for line in b"".join(files.values()).splitlines():
        record = json.loads(line)
        if record["record"] == "label":
            statuses[record["graph_id"], record["target"]] = record["outcome"]["status"]
    return bool(files) and set(statuses.values()) <= {"ok", "rejected"}


def claim(folder, request):
    """Makes the folder that of this request, or refuses another request's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REQUEST
    if not path.exists() and any(folder.glob("*.jsonl")):
        sys.exit(f"{folder}: holds labels of another run; use another folder")
    if path.exists() and json.loads(path.read_text()) != request:
        sys.exit(f"{path}: expected {json.dumps(request)}, found another request; use another folder")
    path.write_text(json.dumps(request, indent=1) + "\n")


def write(folder, name, content):
    unfinished = folder / f"{name}.unfinished"
    unfinished.write_bytes(content)
    os.replace(unfinished, folder / name)


def gather(folder, shard_of):
    """Writes each shard's file as soon as its task is done. Returns the errors of those that failed."""
    errors = []
    for future in as_completed(shard_of):
        if future.status == "finished":
            write(folder, *future.result())
            # Dask would run the task again if the worker that holds its result died.
            future.release()
        else:
            error = future.exception()
            errors.append(f"shard {shard_of[future]}: {type(error).__name__}: {error}")
    return errors


def run(client, folder, trainer, n_shards, arguments, missing):
    """Labels the shards that `missing` names, each with what there is of its file."""
    shard_of = {}
    for shard, earlier in missing.items():
        task = (label_shard, trainer, shard, n_shards, arguments, earlier)
        shard_of[client.submit(*task, retries=RETRIES)] = shard
    # Beside the work, and waited for only so long as it takes to draw the end: Dask's bar stops at
    # the first error, and never where a task was released before it looked.
    options = {"notebook": False, "interval": f"{BAR_INTERVAL_S}s"}
    bar = threading.Thread(target=progress, args=[*shard_of], kwargs=options, daemon=True)
    bar.start()
    errors = gather(folder, shard_of)
    bar.join(timeout=2 * BAR_INTERVAL_S)
    return errors


def main():
    usage = __doc__.split("usage: ")[1].split("\n")[0]
    parser = argparse.ArgumentParser(usage=usage, allow_abbrev=False)
    parser.add_argument("--scheduler", required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trainer", default="litecast-trainer")
    ours, arguments = parser.parse_known_args()
    claim(ours.out, {"shards": ours.shards, "arguments": arguments})
    files = {shard: file_of_shard(ours.out, shard, ours.shards) for shard in range(ours.shards)}
    missing = {shard: there for shard, there in files.items() if not is_complete(there)}
    print(f"{len(missing)} of {ours.shards} shards to label", file=sys.stderr)
    if missing:
        with Client(ours.scheduler) as client:
            errors = run(client, ours.out, ours.trainer, ours.shards, arguments, missing)
        if errors:
            sys.exit("\n".join(["", *errors]))


if __name__ == "__main__":
    main()
