"""The networks that measurements of accelerators are of (`../shared/data/accelerators`), and where each is defined.

A table names its networks as its authors did. The rules here say which public package defines one, with which input, and
what the table states about it: parameters, multiply-accumulates, layers.
"""

import csv
import dataclasses
import gzip
import re

# Qualcomm's networks that are made of a package's layers: the package, and the image.
QUALCOMM = {
    "act": ("torchvision", (480, 640)),
    "beit": ("transformers", (224, 224)),
    "bevdet/decoder": ("torchvision", (128, 128)),
    "bevdet/encoder": ("torchvision", (256, 704)),
    "detectron2_detection/proposal_generator": ("torchvision", (800, 800)),
    "edgetam/encoder": ("qai-hub-models", (1024, 1024)),
    "edgetam/memory_encoder": ("qai-hub-models", (1024, 1024)),
    "edgetam/video_decoder": ("qai-hub-models", (1024, 1024)),
    "efficientvit_b2_cls": ("timm", (224, 224)),
    "efficientvit_l2_cls": ("timm", (224, 224)),
    "hrnet_pose": ("timm", (256, 192)),
    "levit": ("timm", (224, 224)),
    "lpdm": ("ultralytics", (640, 640)),
    "mediapipe_hand/hand_detector": ("torch", (256, 256)),
    "mediapipe_hand/hand_landmark_detector": ("torch", (256, 256)),
    "mediapipe_hand_gesture/canned_gesture_classifier": ("torch", ()),
    "mediapipe_hand_gesture/palm_detector": ("torch", (256, 256)),
    "mediapipe_pose/pose_detector": ("torch", (128, 128)),
    "mediapipe_pose/pose_landmark_detector": ("torch", (256, 256)),
    "midas": ("timm", (256, 256)),
    "nomic_embed_text": ("torch", (128,)),
    "posenet_mobilenet": ("torch", (513, 257)),
    "rangenet_plus_plus": ("torch", (64, 2048)),
    "sixd_repnet/face_detector": ("face-detection", (640, 640)),
    "sixd_repnet/pose_estimator": ("torch", (224, 224)),
    "track_anything/encode_key_with_shrinkage": ("torchvision", (320, 576)),
    "track_anything/encode_key_without_shrinkage": ("torchvision", (320, 576)),
    "yamnet": ("torch", (96, 64)),
}
# Those that MediaPipe's package has as a file.
MEDIAPIPE = {"mediapipe_selfie", "mediapipe_hand_gesture/hand_landmark_detector"}


@dataclasses.dataclass(frozen=True)
class Definition:
    """A network that a package defines."""

    # timm, torchvision, ultralytics, transformers, qai-hub-models, torch or mediapipe
    package: str
    model: str
    # Height and width of the image; of text and sound, what the definition says.
    sides: tuple = ()
    # "": as the package makes it; "deployed": branches that exist for training alone are merged; "cut": without the
    # decoding of boxes; "anchors": as "cut", with the head of YOLOv5 up to its release 7.0; "qualcomm": Qualcomm's network
    # of this name, made of the package's layers (`qualcomm_networks.py`).
    form: str = ""


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A network of a table. Statements that the table does not make are `None`."""

    table: str
    network: str
    # None where no package is known.
    definition: Definition | None
    parameters: float | None = None
    macs: float | None = None
    # By runtime.
    layers: tuple = ()


def rows(tables, name):
    with gzip.open(tables / f"{name}.csv.gz", "rt") as file:
        yield from csv.DictReader(file)


def sides(text):
    """Height and width in `224x224`, `[1, 3, 640, 640]` or `224`."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if text.startswith("[1"):
        numbers = numbers[2:]
    return tuple((numbers * 2)[:2]) if len(numbers) < 2 else tuple(numbers[:2])


def number(text):
    """`3.2  M`, `878K` or `11.27` (millions) as a number."""
    match = re.match(r"~?\s*([\d.]+)\s*([KMGB]?)", text or "")
    if not match:
        return None
    return float(match[1]) * {"K": 1e3, "M": 1e6, "": 1e6, "G": 1e9, "B": 1e9}[match[2]]


def yolo(name, image, form):
    """Ultralytics' networks, under the names that tables use: `YOLOv8n-Seg`, `yolov11l`, `YOLOE-11S-Seg`."""
    match = re.fullmatch(r"yolo(e-)?v?(\d+)(n|t|s|m|b|c|l|e|x)(u?)(?:[-_](seg|pose|cls|obb|v7\.0))?", name.lower())
    if not match:
        return None
    is_open, version, size, is_anchor_free, task = match.groups()
    known = {"5": "nsmlx", "8": "nsmlx", "9": "tsmce", "10": "nsmblx", "11": "nsmlx", "12": "nsmlx", "26": "nsmlx"}
    if size not in known.get(version, ""):
        return None
    if version == "5" and not is_anchor_free:
        # The package has the body alone; what decodes the boxes, and masks, were defined elsewhere.
        has_head = form == "cut" and task in (None, "v7.0")
        return Definition("ultralytics", f"yolov5{size}", image, "anchors") if has_head else None
    prefix = "yoloe-" if is_open else "yolov" if int(version) <= 10 else "yolo"
    task = f"-{task}" if task else ""
    return Definition("ultralytics", f"{prefix}{version}{size}{task}", image, "" if task == "-cls" else form)


def classifier(package, model, image, form=""):
    return Definition(package, model, image, form)


# Names of D-Robotics' and Hailo's classifiers that are not timm's in lower case: package, model and form.
CLASSIFIERS = {
    "googlenet": ("torchvision", "googlenet", ""),
    "inception_v1": ("torchvision", "googlenet", ""),
    "mobilenetv1": ("timm", "mobilenetv1_100", ""),
    "mobilenet_v1": ("timm", "mobilenetv1_100", ""),
    "mobilenetv2": ("torchvision", "mobilenet_v2", ""),
    "mobilenet_v2_1.0": ("torchvision", "mobilenet_v2", ""),
    "mobilenet_v2_1.4": ("timm", "mobilenetv2_140", ""),
    "mobilenet_v3": ("torchvision", "mobilenet_v3_large", ""),
    "mobilenetv4": ("timm", "mobilenetv4_conv_small", ""),
    "repvgg": ("timm", "repvgg_a1", "deployed"),
    "resnet_v1_18": ("torchvision", "resnet18", ""),
    "resnet_v1_34": ("torchvision", "resnet34", ""),
    "resnet_v1_50": ("torchvision", "resnet50", ""),
    "resnet18": ("torchvision", "resnet18", ""),
    "resnet50": ("torchvision", "resnet50", ""),
    "squeezenet_v1.1": ("torchvision", "squeezenet1_1", ""),
    "squeezenetv11": ("torchvision", "squeezenet1_1", ""),
    "squeezenetv10": ("torchvision", "squeezenet1_0", ""),
    "regnetx_1.6gf": ("timm", "regnetx_016", ""),
    "regnetx_800mf": ("timm", "regnetx_008", ""),
    "efficientvit_msra_m5": ("timm", "efficientvit_m5", ""),
    "efficientnet_lite0": ("timm", "tf_efficientnet_lite0", ""),
    "efficientnet_lite1": ("timm", "tf_efficientnet_lite1", ""),
    "efficientnet_lite2": ("timm", "tf_efficientnet_lite2", ""),
    "efficientnet_lite3": ("timm", "tf_efficientnet_lite3", ""),
    "efficientnet_lite4": ("timm", "tf_efficientnet_lite4", ""),
    "deit_base": ("timm", "deit_base_patch16_224", ""),
    "deit_small": ("timm", "deit_small_patch16_224", ""),
    "deit_tiny": ("timm", "deit_tiny_patch16_224", ""),
    "deit_t": ("timm", "deit_tiny_patch16_224", ""),
    "vit_base": ("timm", "vit_base_patch16_224", ""),
    "vit_small": ("timm", "vit_small_patch16_224", ""),
    "vit_tiny": ("timm", "vit_tiny_patch16_224", ""),
    "vit_base_bn": ("timm", "vit_base_patch16_224", "batch norms"),
    "vit_small_bn": ("timm", "vit_small_patch16_224", "batch norms"),
    "vit_tiny_bn": ("timm", "vit_tiny_patch16_224", "batch norms"),
    "vit_b": ("torchvision", "vit_b_16", ""),
    "swin_t": ("torchvision", "swin_t", ""),
    "vgg16": ("torchvision", "vgg16", ""),
    "inceptionv3": ("torchvision", "inception_v3", ""),
    "inceptionv1": ("torchvision", "googlenet", ""),
    "resmlp12_relu": ("timm", "resmlp_12_224", "relu"),
    "r3d_18": ("torchvision", "r3d_18", ""),
    "fastvit_sa12": ("timm", "fastvit_sa12", "deployed"),
    "vision transformer(base)": ("timm", "vit_base_patch16_224", ""),
    "vision transformer(small)": ("timm", "vit_small_patch16_224", ""),
    "vision transformer(tiny)": ("timm", "vit_tiny_patch16_224", ""),
    "resnext26_32x4d": ("timm", "resnext26_32x4d", ""),
    "clip_vit_b_16_image_encoder": ("transformers", "clip-vit-base-patch16/image", ""),
    "clip_vit_b_32_image_encoder": ("transformers", "clip-vit-base-patch32/image", ""),
    "clip_vit_b_16_text_encoder": ("transformers", "clip-vit-base-patch16/text", ""),
    "clip_vit_b_32_text_encoder": ("transformers", "clip-vit-base-patch32/text", ""),
    "clip_vit_l_14_text_encoder": ("transformers", "clip-vit-large-patch14/text", ""),
    "clip_vit_l_14_laion2b_text_encoder": ("transformers", "clip-vit-large-patch14/text", ""),
    "clip_vit_l_14_laion2b_image_encoder": ("transformers", "clip-vit-large-patch14/image", ""),
    "clip_vit_l_14_336_image_encoder": ("transformers", "clip-vit-large-patch14/image", ""),
    "clip_resnet_50_image_encoder": ("timm", "resnet50_clip", ""),
    "clip_resnet_50": ("timm", "resnet50_clip", ""),
    "siglip_b_16_image_encoder": ("transformers", "siglip-base-patch16/image", ""),
    "siglip_l_16_256_image_encoder": ("transformers", "siglip-large-patch16/image", ""),
    "siglip2_b_32_256_image_encoder": ("transformers", "siglip-base-patch32/image", ""),
    "siglip_b_16_text_encoder": ("transformers", "siglip-base/text", ""),
    "siglip_l_16_256_text_encoder": ("transformers", "siglip-large/text", ""),
    "siglip2_b_16_text_encoder": ("transformers", "siglip2-base/text", ""),
    "siglip2_b_32_256_text_encoder": ("transformers", "siglip2-base/text", ""),
    "siglip2_l_16_256_text_encoder": ("transformers", "siglip2-large/text", ""),
    "depth_anything_vits": ("transformers", "depth-anything-small", ""),
    "depth_anything_v2_vits": ("transformers", "depth-anything-v2-small", ""),
    "depth-anything-v2": ("transformers", "depth-anything-v2-small", ""),
    "detr_resnet_v1_50": ("transformers", "detr-resnet-50", ""),
    "fast_sam_s": ("ultralytics", "yolov8s-seg/1", "cut"),
    "whisper_tiny_10s_encoder": ("transformers", "whisper-tiny/encoder", ""),
    "whisper_base_5s_encoder": ("transformers", "whisper-base/encoder", ""),
}


def by_name(name, image, form, is_deployed):
    """A network that is named as packages name theirs."""
    name = name.lower()
    if name in CLASSIFIERS:
        package, model, own_form = CLASSIFIERS[name]
        return Definition(package, model, image, own_form)
    of_yolo = yolo(name, image, form)
    if of_yolo or "yolo" in name:
        return of_yolo
    deployed = is_deployed and name.startswith(("repvgg", "fastvit", "mobileone", "repvit"))
    return Definition("timm", name, image, "deployed" if deployed else "")


def renesas(tables):
    for row in rows(tables, "renesas_drpai"):
        image, package, model = sides(row["input"]), row["package"], row["package_model"]
        if package in ("timm", "torchvision") and model:
            definition = Definition(package, model, image)
        elif model.startswith("yolov8") or row["network"].startswith("Vision"):
            definition = by_name(model or row["network"], image, "", False)
        else:
            definition = None
        yield Wanted("renesas_drpai", row["network"], definition)


def rdk(tables):
    for row in rows(tables, "drobotics_rdk"):
        definition = None
        if row["graph_source"].startswith("timm"):
            definition = by_name(row["network"], sides(row["input"]), "cut", True)
        yield Wanted("drobotics_rdk", row["network"], definition, number(row["params_m"]))


def hailo(tables):
    for row in rows(tables, "hailo_current"):
        is_known = row["graph_rebuild"].startswith(("exact", "near")) or row["network"].lower() in CLASSIFIERS
        name = row["network"].replace("yolov11", "yolo11").replace("yolov12", "yolo12")
        image = sides(row["input_hwc"])
        if name.startswith(("yolov8", "yolov9", "yolo1")) and "bbox" not in name:
            is_known = True
        definition = by_name(name, image, "cut", True) if is_known else None
        macs = float(row["ops_g"]) * 5e8 if row["ops_g"] else None
        yield Wanted("hailo_current", row["network"], definition, number(row["params_m"]), macs)


def rockchip(tables):
    for row in rows(tables, "rockchip_rknn"):
        name, image = row["network"], sides(row["input"])
        known = {
            "mobilenetv2-12": Definition("torchvision", "mobilenet_v2", image),
            "resnet50-v2-7": Definition("timm", "resnetv2_50", image),
            "clip_images": Definition("transformers", "clip-vit-base-patch32/image", image),
            "clip_text": Definition("transformers", "clip-vit-base-patch32/text", (20,)),
        }
        yield Wanted("rockchip_rknn", name, known.get(name) or yolo(name, image, "cut"))


def jetson(tables):
    for row in rows(tables, "trtutils_jetson"):
        name = row["network"]
        yield Wanted("trtutils_jetson", name, yolo(name, sides(row["input"]), ""))
    for row in rows(tables, "efficientvit_jetson"):
        size = row["network"].removeprefix("EfficientViT-").lower()
        is_classifier = row["group"].endswith("ImageNet")
        model = Definition("timm", f"efficientvit_{size}", sides(row["input"])) if is_classifier else None
        yield Wanted("efficientvit_jetson", row["network"], model)


def axera(tables):
    for row in rows(tables, "axera_ax"):
        yield Wanted("axera_ax", row["network"], by_name(row["network"], sides(row["input"]), "cut", True))


def qualcomm(tables):
    """Networks and parts of networks, with the number of layers that each runtime runs in float."""
    stated = {}
    for row in rows(tables, "qualcomm_ai_hub"):
        if row["runtime"] not in ("tflite", "qnn_dlc", "onnx") or row["precision"] != "float":
            continue
        key = (row["model_id"], row["component"])
        parameters, layers = stated.setdefault(key, (row["params_text"], {}))
        layers.setdefault(row["runtime"], set()).add(int(float(row["layers_total"] or 0)))
    n_parts = {}
    for model, _ in stated:
        n_parts[model] = n_parts.get(model, 0) + 1
    for (model, component), (parameters, layers) in stated.items():
        is_whole = n_parts[model] == 1
        name = model if is_whole else f"{model}/{component}"
        definition = Definition("mediapipe" if name in MEDIAPIPE else "qai-hub-models", name)
        if name in QUALCOMM:
            package, of_image = QUALCOMM[name]
            definition = Definition(package, name, of_image, "qualcomm")
        counts = tuple(sorted((runtime, max(counts)) for runtime, counts in layers.items()))
        # What the package says about the parameters of a network says nothing about its parts.
        yield Wanted("qualcomm_ai_hub", name, definition,
                     number(parameters) if is_whole else None, None, counts)  # fmt: skip


def all_wanted(tables):
    """Every network of every table, once."""
    kept = {}
    for source in (qualcomm, hailo, rdk, rockchip, jetson, axera, renesas):
        for wanted in source(tables):
            kept.setdefault((wanted.table, wanted.network, wanted.definition), wanted)
    return list(kept.values())
