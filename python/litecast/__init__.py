"""What a TensorFlow Lite model costs on edge hardware, before any deployment.

    import litecast

    estimator = litecast.load()
    report = estimator.estimate("model.tflite")
    for result in report["results"]:
        print(result["device"], result["metric"], result.get("value", result.get("unavailable")))

Everything runs in this process: no file leaves the machine.
"""

from litecast._native import VERSION as __version__
from litecast.errors import LitecastError
from litecast.estimator import LiteCast, ModelFile, load
from litecast.frame import to_frame

__all__ = ["LiteCast", "LitecastError", "ModelFile", "__version__", "load", "to_frame"]
