"""Qualcomm's networks whose sources are in no package of PyPI, put together from layers of packages: what the table states of
parameters and layers decides whether they are the measured ones."""

import types

import torch
from torch import nn
from torch.nn import functional

import accelerator_networks
import accelerator_tables

def built(definition):
    """The network and the tensor that one inference takes."""
    channels = 1 if definition.model == "yamnet" else 3
    return BUILDERS[definition.model](), [torch.empty(1, channels, *definition.sides)]


class Normalized(nn.Module):
    """A network whose image is normalised first."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1))

    def forward(self, image):
        return self.network((image - self.mean) / self.deviation)


def of_timm(name):
    import timm

    return timm.create_model(name, pretrained=False)


class Pose(nn.Module):
    """HRNet-W32 with a map for each of 17 points from its finest branch, for which the last exchange computes no other."""

    def __init__(self):
        super().__init__()
        network = of_timm("hrnet_w32")
        for unused in ("incre_modules", "downsamp_modules", "final_layer", "classifier"):
            setattr(network, unused, None)
        last = network.stage4[-1]
        last.fuse_layers = nn.ModuleList([last.fuse_layers[0]])
        last.forward = types.MethodType(finest_branch, last)
        self.network, self.maps = network, nn.Conv2d(32, 17, 1)

    def forward(self, image):
        network = self.network
        stem = network.act1(network.bn1(network.conv1(image)))
        stem = network.act2(network.bn2(network.conv2(stem)))
        return self.maps(network.stages(stem)[0])


def finest_branch(module, branches):
    branches = [layers(branch) for layers, branch in zip(module.branches, branches)]
    finest = branches[0]
    for exchange, branch in zip(module.fuse_layers[0][1:], branches[1:]):
        finest = finest + exchange(branch)
    return [module.fuse_act(finest)]


def separable(channels, written, stride, dilation, has_norms):
    """A depthwise and a pointwise convolution, each with its activation."""
    layers = []
    for convolution in (
        nn.Conv2d(channels, channels, 3, stride, dilation, dilation, channels, bias=not has_norms),
        nn.Conv2d(channels, written, 1, bias=not has_norms),
    ):
        norm = [nn.BatchNorm2d(convolution.out_channels), nn.ReLU()] if has_norms else [nn.ReLU6()]
        layers += [convolution, *norm]
    return layers


# Channels written, stride and dilation of MobileNet's separable convolutions.
MOBILENET = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5]


class PoseNet(nn.Module):
    """MobileNet at a stride of 16, and four convolutions."""

    def __init__(self):
        super().__init__()
        layers, channels = [nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU6()], 32
        for written, stride, dilation in [*((*one, 1) for one in MOBILENET), (1024, 1, 1), (1024, 1, 2)]:
            layers += separable(channels, written, stride, dilation, has_norms=False)
            channels = written
        self.features = nn.Sequential(*layers)
        self.heads = nn.ModuleList(nn.Conv2d(channels, n, 1) for n in (17, 34, 32, 32))

    def forward(self, image):
        features = self.features(image * 2.0 - 1.0)
        maps, *others = [head(features) for head in self.heads]
        return [torch.sigmoid(maps), *others]


class Yamnet(nn.Module):
    """MobileNet on a spectrogram, and 521 classes."""

    def __init__(self):
        super().__init__()
        layers, channels = [nn.Conv2d(1, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()], 32
        for written, stride in [*MOBILENET, (1024, 2), (1024, 1)]:
            layers += separable(channels, written, stride, 1, has_norms=True)
            channels = written
        self.features, self.classes = nn.Sequential(*layers), nn.Linear(channels, 521)

    def forward(self, spectrogram):
        features = functional.adaptive_avg_pool2d(self.features(spectrogram), 1)
        return torch.sigmoid(self.classes(features.reshape(1, -1)))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, 1, 1) for _ in range(2))

    def forward(self, image):
        return self.second(functional.relu(self.first(functional.relu(image)))) + image


class Fusion(nn.Module):
    """Adds a finer map, where there is one, and doubles the sides."""

    def __init__(self, channels, written, is_first=False):
        super().__init__()
        self.finer = None if is_first else Residual(channels)
        self.sum, self.out = Residual(channels), nn.Conv2d(channels, written, 1)

    def forward(self, image, finer=None):
        if self.finer is not None:
            image = image + self.finer(finer)
        image = functional.interpolate(self.sum(image), scale_factor=2, mode="bilinear", align_corners=True)
        return self.out(image)


class Midas(nn.Module):
    """MiDaS 2.1 small: EfficientNet-Lite3, whose maps at four sizes are fused from the coarsest on."""

    def __init__(self):
        super().__init__()
        network = of_timm("tf_efficientnet_lite3")
        for unused in ("conv_head", "bn2", "classifier", "global_pool"):
            setattr(network, unused, None)
        self.network = network
        widths = zip((32, 48, 136, 384), (64, 128, 256, 512))
        self.widened = nn.ModuleList(nn.Conv2d(read, written, 3, 1, 1, bias=False) for read, written in widths)
        self.fusions = nn.ModuleList(
            Fusion(read, written, read == 512) for read, written in ((512, 256), (256, 128), (128, 64), (64, 64))
        )
        self.depth = nn.ModuleList([nn.Conv2d(64, 32, 3, 1, 1), nn.Conv2d(32, 32, 3, 1, 1), nn.Conv2d(32, 1, 1)])

    def forward(self, image):
        image, maps = self.network.bn1(self.network.conv_stem(image)), []
        for at, block in enumerate(self.network.blocks):
            image = block(image)
            if at in (1, 2, 4, 6):
                maps.append(image)
        maps = [widened(one) for widened, one in zip(self.widened, maps)]
        fused = maps.pop()
        fused = self.fusions[0](fused)
        for fusion in self.fusions[1:]:
            fused = fusion(fused, maps.pop())
        first, second, third = self.depth
        fused = functional.interpolate(first(fused), scale_factor=2, mode="bilinear", align_corners=False)
        return functional.relu(third(functional.relu(second(fused)))).squeeze(1)


class Beit(nn.Module):
    """BEiT whose biases of relative positions are constants, as in a file: 12 × 197 × 197 in each layer."""

    def __init__(self):
        super().__init__()
        import transformers as hf

        config = hf.BeitConfig(use_relative_position_bias=True, use_mask_token=False, num_labels=1000)
        config._attn_implementation = "eager"
        self.network = hf.BeitForImageClassification(config)
        for module in self.network.modules():
            if type(module).__name__ == "BeitRelativePositionBias":
                module.relative_position_bias_table = None
                module.biases = nn.Parameter(torch.zeros(1, 12, 197, 197))
                module.forward = types.MethodType(lambda module, *_, **__: module.biases, module)

    def forward(self, image):
        return self.network(image, return_dict=False)[0]


def levit():
    """LeViT-128S, its norms part of the layers before them."""
    network = of_timm("levit_128s").eval()
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child).__name__ in ("LinearNorm", "ConvNorm", "NormLinear"):
                setattr(module, name, child.fuse())
    return network


def plates():
    """YOLOv8n for one class."""
    definition = accelerator_tables.Definition("ultralytics", "yolov8n/1", (640, 640))
    return accelerator_networks.ultralytics_network(definition)[0]


BUILDERS = {
    "beit": Beit,
    "efficientvit_b2_cls": lambda: Normalized(of_timm("efficientvit_b2")),
    "efficientvit_l2_cls": lambda: Normalized(of_timm("efficientvit_l2")),
    "hrnet_pose": lambda: Normalized(Pose()),
    "levit": lambda: Normalized(levit()),
    "lpdm": plates,
    "midas": lambda: Normalized(Midas()),
    "posenet_mobilenet": PoseNet,
    "yamnet": Yamnet,
}
