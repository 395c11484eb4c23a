"""Runs an exported network on graphs with ONNX Runtime: the independent view of the export test.

usage: run_onnx.py MODEL.onnx GRAPHS.json

GRAPHS.json is a list of {"node_features", "category", "edge_src", "edge_dst"}; the outputs of each
graph, one after the other and flat, are printed as one JSON list.
"""

import json
import sys

import numpy
import onnx
import onnxruntime


def main(model_path: str, graphs_path: str) -> None:
    onnx.checker.check_model(model_path, full_check=True)
    session = onnxruntime.InferenceSession(model_path, providers=["CPUExecutionProvider"])
    n_columns = session.get_inputs()[0].shape[1]
    with open(graphs_path, encoding="utf-8") as file:
        graphs = json.load(file)
    estimates = []
    for graph in graphs:
        feeds = {
            name: numpy.array(graph[name], dtype=numpy.int64)
            for name in ("category", "edge_src", "edge_dst")
        }
        rows = numpy.array(graph["node_features"], dtype=numpy.float32)
        feeds["node_features"] = rows.reshape(-1, n_columns)
        outputs = session.run(None, feeds)
        estimates.append(numpy.concatenate([output.ravel() for output in outputs]).tolist())
    print(json.dumps(estimates))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
