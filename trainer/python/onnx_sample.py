"""Exports a sample of PyTorch networks to ONNX, counts their multiply-accumulates, and checks what LiteCast reads.

usage: onnx_sample.py make FOLDER [--groups timm,torchvision,detectors,encoders,forms,unsimplified] [--timm 150] [--seed 0]
       onnx_sample.py check FOLDER --litecast BINARY

`make` writes FOLDER/NAME.onnx and a row for each in FOLDER/sample.csv; networks that have a row are left as they are, so
that it goes on where it stopped. Weights are random. Those of more than 1,024 values are cut out of the files and
named as if they were in another file, which keeps a file below a few megabytes and its network as it was.

The counter is `torch.utils.flop_counter`, which counts the products that PyTorch runs: attention in parts and
recurrent networks step by step, so that none of them hides in one operator that it does not know.

Groups: `timm` is a sample of classification networks, one of each file of timm's models in turn, in an order that the
seed draws; opsets 11 to 20 in turn. `torchvision` is all its networks of classification, segmentation and video. `detectors`
and `encoders` are of torchvision and of `transformers`, from configurations alone. `forms` is ten networks in float16, by
PyTorch 2's own exporter (opsets 18 to 21) and as int8 by onnxruntime, with Q and DQ around operators. `unsimplified` is
twenty networks as that exporter translates them, before it simplifies what it wrote.

`check` has BINARY count each file, and prints how many agree within 1 %, by group, and every one that does not, and the
kinds of operators that have no counterpart in TFLite.

Needs torch, torchvision, timm, transformers, onnx, onnxscript and onnxruntime: an environment of its own, which no test
needs. `make` takes some 10 s a network.
"""

import argparse
import collections
import contextlib
import copy
import csv
import io
import json
import logging
import multiprocessing
import pathlib
import random
import subprocess
import sys
import traceback
import warnings

# Networks with more parameters do not fit a file: protobuf messages have at most 2 GiB. Those below are quick to export.
MAX_PARAMETERS = 150e6
# Values of a weight tensor that stays in the file: shapes, axes and scales are shorter.
MAX_KEPT_VALUES = 1024
MAX_SECONDS = 600
TOLERANCE = 0.01
OPSETS = list(range(11, 21))
COLUMNS = ["name", "group", "exporter", "opset", "macs", "dims", "error"]
FORMS = [
    "resnet18", "mobilenetv2_100", "mobilenetv3_small_100", "efficientnet_lite0", "convnext_atto", "vit_tiny_patch16_224",
    "ghostnet_100", "regnety_002", "mixer_s32_224", "densenet121",
]  # fmt: skip

UNSIMPLIFIED = [
    "efficientnet_b0", "convnext_atto", "swin_tiny_patch4_window7_224", "mixer_s16_224", "densenet121", "inception_v3",
    "mobilevit_xxs", "levit_128s", "poolformer_s12", "regnety_004", "ghostnet_100", "lcnet_050", "edgenext_xx_small",
    "coat_lite_tiny", "xcit_nano_12_p8_224", "volo_d1_224", "efficientformer_l1", "tf_mobilenetv3_large_075", "repvgg_a0",
    "crossvit_9_240",
]  # fmt: skip


# ---- Networks: name → a function that makes the module and its inputs.


def image(side):
    import torch

    return (torch.rand(1, 3, side, side),)


def timm_network(name, opset=17):
    """`opset` below 14 has no operator for attention: timm writes it in parts."""

    def make():
        import timm

        network = timm.create_model(name, pretrained=False, exportable=opset < 14).eval()
        sides = network.pretrained_cfg.get("input_size", (3, 224, 224))
        import torch

        return network, (torch.rand(1, *sides),)

    return make


def timm_sample(count, seed):
    """One network of each of timm's files in turn."""
    import timm
    import timm.models
    import torch

    by_file = collections.defaultdict(list)
    for module in timm.list_modules():
        by_file[module] = sorted(timm.list_models(module=module))
    order = random.Random(seed)
    files = sorted(name for name in by_file if by_file[name])
    for name in files:
        order.shuffle(by_file[name])
    order.shuffle(files)
    chosen = []
    while len(chosen) < count and any(by_file.values()):
        for name in files:
            while by_file[name] and len(chosen) < count:
                candidate = by_file[name].pop()
                with torch.device("meta"):
                    try:
                        network = timm.create_model(candidate, pretrained=False)
                    except Exception:
                        # Some compute tables from values when they are made.
                        network = None
                n_parameters = sum(p.numel() for p in network.parameters()) if network else 0
                if n_parameters <= MAX_PARAMETERS:
                    chosen.append(candidate)
                    break
    return chosen


def torchvision_networks():
    import torch
    import torchvision

    chosen = {}
    modules = {
        "classification": torchvision.models,
        "segmentation": torchvision.models.segmentation,
        "video": torchvision.models.video,
    }
    for kind, module in modules.items():
        for name in torchvision.models.list_models(module=module):

            def make(name=name, kind=kind):
                extra = {"weights_backbone": None} if kind == "segmentation" else {}
                network = torchvision.models.get_model(name, weights=None, **extra).eval()
                if kind == "video":
                    side = 224 if name.startswith(("mvit", "swin", "s3d")) else 112
                    return network, (torch.rand(1, 3, 16, side, side),)
                return network, image(299 if name == "inception_v3" else 224)

            with torch.device("meta"):
                try:
                    extra = {"weights_backbone": None} if kind == "segmentation" else {}
                    network = torchvision.models.get_model(name, weights=None, **extra)
                    n_parameters = sum(p.numel() for p in network.parameters())
                except Exception:
                    n_parameters = 0
            if n_parameters <= MAX_PARAMETERS:
                chosen[f"{kind}_{name}"] = make
    return chosen


def torchvision_detectors():
    import torchvision

    def maker(name):
        def make():
            network = torchvision.models.get_model(name, weights=None, weights_backbone=None).eval()
            return network, image(320)

        return make

    names = torchvision.models.list_models(module=torchvision.models.detection)
    return {f"detection_{name}": maker(name) for name in names}


def transformers_detectors():
    def yolos():
        import transformers

        config = transformers.YolosConfig(
            hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768, image_size=[320, 320]
        )
        return OutputsOnly(transformers.YolosForObjectDetection(config)), image(320)

    def detr():
        import transformers

        config = transformers.DetrConfig(use_timm_backbone=True, use_pretrained_backbone=False, backbone="resnet18")
        return OutputsOnly(transformers.DetrForObjectDetection(config)), image(320)

    def conditional_detr():
        import transformers

        config = transformers.ConditionalDetrConfig(
            use_timm_backbone=True, use_pretrained_backbone=False, backbone="resnet18"
        )
        return OutputsOnly(transformers.ConditionalDetrForObjectDetection(config)), image(320)

    def rt_detr():
        import transformers

        config = transformers.RTDetrConfig()
        return OutputsOnly(transformers.RTDetrForObjectDetection(config)), image(320)

    return {"yolos_tiny": yolos, "detr_resnet18": detr, "conditional_detr_resnet18": conditional_detr, "rt_detr": rt_detr}


def OutputsOnly(network):
    """The first result of a network that returns a dictionary."""
    import torch

    class First(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, *inputs):
            return self.network(*inputs, return_dict=False)[:2]

    return First(network).eval()


SEQUENCE = 64
SMALL = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 512}


def encoders():
    import torch

    def tokens():
        return (torch.randint(0, 1000, (1, SEQUENCE)),)

    def torch_encoder(**options):
        def make():
            layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, **options)
            stack = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            return torch.nn.Sequential(torch.nn.Embedding(1000, 128), stack, torch.nn.Linear(128, 2)).eval(), tokens()

        return make

    def recurrent(kind, **options):
        def make():
            class Network(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.embedding = torch.nn.Embedding(1000, 64)
                    self.layers = getattr(torch.nn, kind)(64, 96, batch_first=True, **options)
                    self.head = torch.nn.Linear(96 * (2 if options.get("bidirectional") else 1), 2)

                def forward(self, x):
                    return self.head(self.layers(self.embedding(x))[0][:, -1])

            return Network().eval(), tokens()

        return make

    def of_config(name, **options):
        def make():
            import transformers

            config = getattr(transformers, f"{name}Config")(**options)
            network = getattr(transformers, f"{name}Model")(config)
            return OutputsOnly(network), tokens()

        return make

    def eager(name, **options):
        return of_config(name, attn_implementation="eager", **options)

    vocabulary = {"vocab_size": 1000}
    return {
        "transformer_encoder": torch_encoder(),
        "transformer_encoder_gelu_norm_first": torch_encoder(activation="gelu", norm_first=True),
        "lstm": recurrent("LSTM", num_layers=2),
        "lstm_bidirectional": recurrent("LSTM", bidirectional=True),
        "gru": recurrent("GRU", num_layers=2),
        "rnn": recurrent("RNN"),
        "bert": of_config("Bert", **SMALL, **vocabulary),
        "bert_eager": eager("Bert", **SMALL, **vocabulary),
        "roberta": of_config("Roberta", **SMALL, **vocabulary),
        "electra": of_config("Electra", **SMALL, **vocabulary, embedding_size=64),
        "albert": of_config("Albert", **SMALL, **vocabulary, embedding_size=64),
        "distilbert": of_config("DistilBert", dim=128, n_layers=4, n_heads=4, hidden_dim=512, **vocabulary),
        "mobilebert": of_config("MobileBert", num_hidden_layers=4, **vocabulary),
        "deberta_v2": eager("DebertaV2", **SMALL, **vocabulary),
        "mpnet": eager("MPNet", **SMALL, **vocabulary),
        "fnet": of_config("FNet", hidden_size=128, num_hidden_layers=4, intermediate_size=512, **vocabulary),
        "clip_text": of_config("CLIPText", **SMALL, **vocabulary),
        "gpt2": of_config("GPT2", n_embd=128, n_layer=4, n_head=4, **vocabulary, use_cache=False),
        "llama": of_config("Llama", **SMALL, **vocabulary, use_cache=False),
    }


# ---- Counting and exporting.


def counted(network, inputs):
    """Multiply-accumulates, by shapes alone where the network allows that."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    torch.backends.mha.set_fastpath_enabled(False)

    def run(network, inputs):
        # Neither attention nor recurrent layers as one operator.
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False), torch.no_grad():
            with FlopCounterMode(display=False) as counter:
                network(*inputs)
        return counter.get_total_flops() // 2

    try:
        shapes_alone = copy.deepcopy(network).to("meta")
        with torch.device("meta"):
            return run(shapes_alone, tuple(x.to("meta") for x in inputs))
    except Exception:
        return run(network, inputs)


def export(network, inputs, path, opset, is_dynamo, dynamic_axes=None, simplifies=True):
    import torch

    quiet = io.StringIO()
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        if is_dynamo:
            options = {"opset_version": opset, "external_data": False, "verbose": False, "optimize": simplifies}
            torch.onnx.export(network, inputs, str(path), dynamo=True, **options)
        else:
            names = {"input_names": ["input"], "dynamic_axes": dynamic_axes} if dynamic_axes else {}
            torch.onnx.export(network, inputs, str(path), dynamo=False, opset_version=opset, **names)


def without_weights(path):
    """Names long weights as if they were in another file."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    attributes = (a for node in model.graph.node for a in node.attribute if a.HasField("t"))
    for tensor in [*model.graph.initializer, *(attribute.t for attribute in attributes)]:
        n = 1
        for side in tensor.dims:
            n *= side
        if n > MAX_KEPT_VALUES and tensor.data_location != onnx.TensorProto.EXTERNAL:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
                tensor.ClearField(field)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights.bin")
    onnx.save(model, str(path))
    return next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))


def quantized(path, to, inputs):
    """Q and DQ around operators, by onnxruntime with one random input as calibration."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quant_pre_process, quantize_static

    class Random(CalibrationDataReader):
        def __init__(self):
            import onnxruntime

            name = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).get_inputs()[0].name
            self.left = [{name: inputs[0].numpy()}]

        def get_next(self):
            return self.left.pop() if self.left else None

    prepared = path.with_suffix(".prepared.onnx")
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(to), Random(), quant_format=QuantFormat.QDQ, per_channel=True)
    prepared.unlink()


# ---- One row for each network.


def plan(args):
    """(name, group, what to do) of every network that is wanted."""
    groups = args.groups.split(",")
    if "timm" in groups:
        for idx, name in enumerate(timm_sample(args.timm, args.seed)):
            opset = OPSETS[idx % len(OPSETS)]
            yield f"timm_{name}", "timm", opset, lambda to, name=name, opset=opset: classic(timm_network(name, opset), to, opset)
    if "torchvision" in groups:
        for idx, (name, make) in enumerate(torchvision_networks().items()):
            opset = OPSETS[idx % len(OPSETS)]
            yield f"torchvision_{name}", "torchvision", opset, lambda to, make=make, opset=opset: classic(make, to, opset)
    if "detectors" in groups:
        for name, make in {**torchvision_detectors(), **transformers_detectors()}.items():
            yield name, "detectors", 17, lambda to, make=make: classic(make, to, 17)
    if "encoders" in groups:
        for name, make in encoders().items():
            yield f"encoder_{name}", "encoders", 17, lambda to, make=make: classic(make, to, 17, "sequence")
            yield f"encoder_{name}_dynamo", "encoders", 20, lambda to, make=make: by_dynamo(make, to, 20)
    if "forms" in groups:
        for idx, name in enumerate(FORMS):
            make = timm_network(name)
            opset = 18 + idx % 4
            yield f"dynamo_{name}", "dynamo", opset, lambda to, make=make, opset=opset: by_dynamo(make, to, opset)
            yield f"fp16_{name}", "fp16", 17, lambda to, make=make: halved(make, to)
            yield f"qdq_{name}", "qdq", 17, lambda to, make=make: as_int8(make, to)
    if "unsimplified" in groups:
        for name in UNSIMPLIFIED:
            make = timm_network(name)
            yield f"unsimplified_{name}", "unsimplified", 20, lambda to, make=make: by_dynamo(make, to, 20, False)


def classic(make, to, opset, dynamic=None):
    """By the TorchScript exporter; where it has no operator for this opset, by opset 17."""
    network, inputs = make()
    axes = {"input": {0: "batch", 1: dynamic}} if dynamic else None
    macs = counted(network, inputs)
    try:
        export(network, inputs, to, opset, False, axes)
    except Exception:
        if opset >= 17:
            raise
        export(network, inputs, to, 17, False, axes)
    return {"macs": macs, "exporter": "torchscript", "dims": f"{dynamic}={SEQUENCE}" if dynamic else ""}


def by_dynamo(make, to, opset, simplifies=True):
    network, inputs = make()
    macs = counted(network, inputs)
    export(network, inputs, to, opset, True, simplifies=simplifies)
    return {"macs": macs, "exporter": "dynamo"}


def halved(make, to):
    network, inputs = make()
    macs = counted(network, inputs)
    export(network.half(), tuple(x.half() for x in inputs), to, 17, False)
    return {"macs": macs, "exporter": "torchscript, float16"}


def as_int8(make, to):
    network, inputs = make()
    macs = counted(network, inputs)
    floats = to.with_suffix(".float.onnx")
    export(network, inputs, floats, 17, False)
    quantized(floats, to, inputs)
    floats.unlink()
    return {"macs": macs, "exporter": "onnxruntime, QDQ"}


def one(name, group, opset, action, folder, queue):
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    row = {"name": name, "group": group, "opset": opset}
    path = folder / f"{name}.onnx"
    try:
        row.update(action(path))
        row["opset"] = without_weights(path)
    except Exception as error:
        path.unlink(missing_ok=True)
        row["error"] = f"{type(error).__name__}: {error}"[:300].replace("\n", " ")
        traceback.print_exc(limit=-3)
    queue.put(row)


def make_all(args):
    args.folder.mkdir(parents=True, exist_ok=True)
    table = args.folder / "sample.csv"
    known = {row["name"] for row in rows_of(table)} if table.exists() else set()
    import timm
    import torch
    import torchvision  # noqa: F401

    del timm
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    context = multiprocessing.get_context("fork")
    with open(table, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if not known:
            writer.writeheader()
        for name, group, opset, action in plan(args):
            if name in known:
                continue
            queue = context.SimpleQueue()
            process = context.Process(target=one, args=(name, group, opset, action, args.folder, queue))
            process.start()
            process.join(MAX_SECONDS)
            if queue.empty():
                process.kill()
                queue.put({"name": name, "group": group, "opset": opset, "error": f"no end within {MAX_SECONDS} s, or killed"})
            row = queue.get()
            writer.writerow(row)
            file.flush()
            print(name, row.get("macs", ""), row.get("error", ""), flush=True)


def rows_of(table):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


# ---- What LiteCast counts.


def read(binary, path, dims):
    command = [binary, "facts", "--json", str(path)]
    for dim in filter(None, dims.split(" ")):
        command += ["--dim", dim]
    lines = subprocess.run(command, capture_output=True, text=True).stdout
    return json.loads(lines.splitlines()[0]) if lines else {"error": {"message": "no output"}}


def check_all(args):
    by_group = collections.defaultdict(collections.Counter)
    largest = collections.defaultdict(float)
    foreign = collections.defaultdict(collections.Counter)
    for row in rows_of(args.folder / "sample.csv"):
        counts = by_group[row["group"]]
        counts["wanted"] += 1
        path = args.folder / f"{row['name']}.onnx"
        if row["error"]:
            counts["not exported"] += 1
            print(f"{row['name']}: PyTorch exports it not: {row['error'][:90]}")
            continue
        report = read(args.litecast, path, row["dims"])
        if report.get("error"):
            print(f"{row['name']}: {report['error'].get('message', report['error'])}")
            continue
        counts["read"] += 1
        names = {operator["name"] for operator in report["operators"]}
        foreign[row["group"]].update(name for name in names if name.startswith("ONNX:"))
        macs, expected = report["model"]["macs"], int(row["macs"])
        difference = abs(macs - expected) / max(expected, 1)
        if difference <= TOLERANCE:
            counts["equal"] += 1
            largest[row["group"]] = max(largest[row["group"]], difference)
        else:
            codes = [f"{d['code']}: {d['message']}"[:140] for d in report.get("diagnostics", []) if d["severity"] != "info"]
            print(f"{row['name']} (opset {row['opset']}): {macs} for {expected}, {100 * (macs / max(expected, 1) - 1):+.2f} %", *codes)
    print("| group | networks | exported | read | within 1 % | largest difference of these |")
    print("|---|---:|---:|---:|---:|---:|")
    for group, counts in by_group.items():
        exported = counts["wanted"] - counts["not exported"]
        print(
            f"| {group} | {counts['wanted']} | {exported} | {counts['read']} | {counts['equal']} | "
            f"{100 * largest[group]:.3f} % |"
        )
    for group, counts in foreign.items():
        kinds = ", ".join(f"{name} ({n})" for name, n in counts.most_common())
        print(f"Kinds without a counterpart in TFLite, with the networks that have them, {group}: {kinds or 'none'}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["make", "check"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--groups", default="timm,torchvision,detectors,encoders,forms,unsimplified")
    parser.add_argument("--timm", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--litecast", default="target/release/litecast")
    args = parser.parse_args()
    make_all(args) if args.command == "make" else check_all(args)


if __name__ == "__main__":
    sys.exit(main())
