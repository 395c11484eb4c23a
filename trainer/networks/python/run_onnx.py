"""Runs an exported network on batches with ONNX Runtime: the independent view of the export test.

usage: run_onnx.py MODEL.onnx BATCHES.json

BATCHES.json is a list of batches, each {INPUT: {"shape", "values"}} with the values row after row; the
outputs of each batch, one after the other and flat, are printed as one JSON list.
"""

import json
import sys

import numpy
import onnx
import onnxruntime


DTYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}


def main(model_path: str, batches_path: str) -> None:
    onnx.checker.check_model(model_path, full_check=True)
    session = onnxruntime.InferenceSession(model_path, providers=["CPUExecutionProvider"])
    dtypes = {value.name: DTYPES[value.type] for value in session.get_inputs()}
    with open(batches_path, encoding="utf-8") as file:
        batches = json.load(file)
    estimates = []
    for batch in batches:
        feeds = {
            name: numpy.array(batch[name]["values"], dtype=dtype).reshape(batch[name]["shape"])
            for name, dtype in dtypes.items()
        }
        outputs = session.run(None, feeds)
        estimates.append(numpy.concatenate([output.ravel() for output in outputs]).tolist())
    print(json.dumps(estimates))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
