"""Writes TFLite files as ONNX files with tf2onnx, one after another.

Arguments: a folder for the results, then files. Prints a JSON document a line: the file, and where its ONNX
form is or why there is none.
"""

import json
import logging
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tf2onnx  # noqa: E402

logging.disable(logging.CRITICAL)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    for path in sys.argv[2:]:
        result = {"file": path}
        try:
            to = folder / (pathlib.Path(path).stem + ".onnx")
            tf2onnx.convert.from_tflite(path, opset=15, output_path=str(to))
            result["onnx"] = str(to)
        except Exception as error:  # tf2onnx raises what it meets
            result["error"] = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(result), flush=True)


main()
