"""Builds the networks of [`accelerator_tables`] with random weights, and nothing but packages of PyPI: no file of weights,
and no request to anywhere."""

import importlib
import os

import torch
from torch import nn

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", YOLO_OFFLINE="true", QAIHM_CI="1")


def built(definition):
    """The network and the tensors that one inference takes."""
    if definition.form == "qualcomm":
        import qualcomm_networks

        return qualcomm_networks.built(definition)
    return BUILDERS[definition.package](definition)


def image(definition, usual=224):
    height, width = definition.sides or (usual, usual)
    return torch.empty(1, 3, height, width)


def timm_network(definition):
    import timm

    height, width = definition.sides
    if definition.model == "resnext26_32x4d":
        from timm.models.resnet import Bottleneck, ResNet

        return ResNet(Bottleneck, [2, 2, 2, 2], cardinality=32, base_width=4), [image(definition)]
    try:
        network = timm.create_model(definition.model, pretrained=False, img_size=(height, width))
    except TypeError:
        network = timm.create_model(definition.model, pretrained=False)
    if definition.form == "deployed":
        network = timm.utils.reparameterize_model(network.eval())
    elif definition.form == "batch norms":
        exchange(network, nn.LayerNorm, lambda norm: BatchNormOfTokens(norm.normalized_shape[0]))
    elif definition.form == "relu":
        exchange(network, nn.GELU, lambda _: nn.ReLU())
    return network, [image(definition)]


class BatchNormOfTokens(nn.BatchNorm1d):
    def forward(self, tokens):
        return super().forward(tokens.transpose(1, 2)).transpose(1, 2)


def exchange(network, kind, new):
    for name, child in network.named_children():
        if isinstance(child, kind):
            setattr(network, name, new(child))
        else:
            exchange(child, kind, new)


def torchvision_network(definition):
    import torchvision

    if definition.model == "r3d_18":
        height, width = definition.sides
        return torchvision.models.get_model("r3d_18", weights=None), [torch.empty(1, 3, 16, height, width)]
    options = {"init_weights": False} if definition.model in ("googlenet", "inception_v3") else {}
    if "deeplab" in definition.model or "fcn_" in definition.model:
        options["weights_backbone"] = None
    return torchvision.models.get_model(definition.model, weights=None, **options), [image(definition)]


def ultralytics_network(definition):
    from ultralytics.nn import tasks

    model, _, n_classes = definition.model.partition("/")
    kinds = {"seg": "SegmentationModel", "pose": "PoseModel", "cls": "ClassificationModel", "obb": "OBBModel"}
    kind = kinds.get(model.rpartition("-")[2], "DetectionModel")
    if model.startswith("yoloe"):
        kind = "YOLOESegModel"
    network = getattr(tasks, kind)(f"{model}.yaml", nc=int(n_classes) if n_classes else None, verbose=False)
    if definition.form == "anchors":
        head = network.model[-1]
        anchors = Anchors([branch[0].conv.in_channels for branch in head.cv2], head.nc)
        anchors.i, anchors.f = head.i, head.f
        network.model[-1] = anchors
    prepare_heads(network, definition.form == "cut")
    return network, [image(definition)]


class Anchors(nn.Module):
    """The head of YOLOv5 before boxes are decoded: a convolution for each scale, with place, objectness and classes of
    three anchors."""

    def __init__(self, channels, n_classes):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(n, 3 * (5 + n_classes), 1) for n in channels)

    def forward(self, features):
        return [convolution(feature) for convolution, feature in zip(self.convolutions, features)]


def prepare_heads(network, is_cut=False):
    """Heads as an export has them."""
    for module in network.modules():
        if hasattr(module, "export") and hasattr(module, "format"):
            module.export, module.format = True, "onnx"
        if isinstance(getattr(module, "stride", None), torch.Tensor):
            module.stride = [float(stride) for stride in module.stride]
        if is_cut and hasattr(module, "_inference") and hasattr(module, "cv2") and hasattr(module, "cv3"):
            module.forward = cut_forward(module)


def cut_forward(head):
    """What leaves the convolutions of a detector's head: boxes and classes by scale, and what further branches give."""

    def forward(features):
        boxes = getattr(head, "one2one_cv2", head.cv2)
        classes = getattr(head, "one2one_cv3", head.cv3)
        outs = [branch[at](feature) for at, feature in enumerate(features) for branch in (boxes, classes)]
        if hasattr(head, "cv4"):
            outs += [head.cv4[at](feature) for at, feature in enumerate(features)]
        if hasattr(head, "proto"):
            outs.append(head.proto(features[0]))
        return outs

    return forward


def transformers_network(definition):
    import transformers as hf

    name, _, part = definition.model.partition("/")
    if name.startswith("clip"):
        return clip(hf, name, part, definition)
    if name.startswith("siglip"):
        return siglip(hf, name, part, definition)
    if name.startswith("depth-anything"):
        second = "-v2-" in name
        backbone = hf.Dinov2Config(
            hidden_size=384, num_attention_heads=6, image_size=518, patch_size=14, apply_layernorm=True,
            out_indices=[3, 6, 9, 12] if second else [9, 10, 11, 12], reshape_hidden_states=False,
        )  # fmt: skip
        config = hf.DepthAnythingConfig(
            backbone_config=backbone, reassemble_hidden_size=384, neck_hidden_sizes=[48, 96, 192, 384],
            fusion_hidden_size=64, patch_size=14,
        )  # fmt: skip
        return hf.DepthAnythingForDepthEstimation(config), [image(definition)]
    if name.startswith("detr"):
        config = hf.DetrConfig(use_timm_backbone=True, backbone="resnet50", use_pretrained_backbone=False, num_labels=91)
        return hf.DetrForObjectDetection(config), [image(definition)]
    sizes = {"whisper-tiny": (384, 4, 6), "whisper-base": (512, 6, 8)}
    width, depth, heads = sizes[name]
    config = hf.WhisperConfig(
        d_model=width, encoder_layers=depth, decoder_layers=depth, encoder_attention_heads=heads,
        decoder_attention_heads=heads, encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
        max_source_positions=definition.sides[1] // 2,
    )  # fmt: skip
    return hf.WhisperModel(config).encoder, [torch.empty(1, 80, definition.sides[1])]


class Part(nn.Module):
    """A network with fixed options, of which one result counts."""

    def __init__(self, network, *names, **options):
        super().__init__()
        self.network, self.names, self.options = network, names, options

    def forward(self, *inputs):
        out = self.network(*inputs, **self.options)
        return [out[name] for name in self.names] if self.names else out


def clip(hf, name, part, definition):
    patch = int(name[-2:])
    large = "large" in name
    if part == "text":
        width = 768 if large else 512
        config = hf.CLIPTextConfig(hidden_size=width, intermediate_size=4 * width, num_attention_heads=width // 64,
                                   projection_dim=width)  # fmt: skip
        length = 20 if definition.sides == (20,) else 77
        network = hf.CLIPTextModelWithProjection(config)
        return Part(network, "text_embeds"), [torch.zeros(1, length, dtype=torch.int64)]
    width, depth = (1024, 24) if large else (768, 12)
    config = hf.CLIPVisionConfig(
        hidden_size=width, intermediate_size=4 * width, num_attention_heads=width // 64, num_hidden_layers=depth,
        patch_size=patch, image_size=definition.sides[0], projection_dim=768 if large else 512,
    )  # fmt: skip
    return Part(hf.CLIPVisionModelWithProjection(config), "image_embeds"), [image(definition)]


def siglip(hf, name, part, definition):
    large = "large" in name
    width, depth = (1024, 24) if large else (768, 12)
    shape = {"hidden_size": width, "intermediate_size": 4 * width, "num_attention_heads": width // 64, "num_hidden_layers": depth}
    if part == "text":
        vocabulary = 256000 if name.startswith("siglip2") else 32000
        config = hf.SiglipTextConfig(vocab_size=vocabulary, **shape)
        return Part(hf.SiglipTextModel(config), "pooler_output"), [torch.zeros(1, 64, dtype=torch.int64)]
    config = hf.SiglipVisionConfig(patch_size=int(name[-2:]), image_size=definition.sides[0], **shape)
    return Part(hf.SiglipVisionModel(config), "pooler_output"), [image(definition)]


def qualcomm_network(definition):
    import qai_shims

    qai_shims.install()
    model, _, component = definition.model.partition("/")
    module = importlib.import_module(f"qai_hub_models.models.{model}")
    network = module.Model.from_pretrained()
    if component:
        network = dict(network.components)[component]
    elif hasattr(network, "components") and not isinstance(network, nn.Module):
        (network,) = dict(network.components).values()
    from qai_hub_models.utils.input_spec import make_torch_inputs

    data = [torch.as_tensor(data) for data in make_torch_inputs(network.get_input_spec())]
    prepare_heads(network)
    return network, data


BUILDERS = {
    "timm": timm_network,
    "torchvision": torchvision_network,
    "ultralytics": ultralytics_network,
    "transformers": transformers_network,
    "qai-hub-models": qualcomm_network,
}

