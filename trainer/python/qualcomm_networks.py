"""Qualcomm's networks whose sources are in no package of PyPI, put together from layers of packages: what the table states of
parameters and layers decides whether they are the measured ones."""

import functools
import types

import torch
from torch import nn
from torch.nn import functional

import accelerator_networks
import accelerator_tables
import mediapipe_networks
import edgetam_network

# What an inference takes that is not an image of three channels.
INPUTS = {
    "act": [(1, 14), (1, 3, 480, 640)],
    "bevdet/decoder": [(1, 64, 128, 128)],
    "bevdet/encoder": [(1, 18, 256, 704)],
    "mediapipe_hand_gesture/canned_gesture_classifier": [(1, 64), (1, 64)],
    "nomic_embed_text": [(1, 128), (1, 128)],
    "rangenet_plus_plus": [(1, 5, 64, 2048)],
    "yamnet": [(1, 1, 96, 64)],
}
OF_TOKENS = {"nomic_embed_text"}


def built(definition):
    """The network and the tensors that one inference takes."""
    network = BUILDERS[definition.model]()
    if isinstance(network, tuple):
        network, shapes = network
    else:
        shapes = INPUTS.get(definition.model, [(1, 3, *definition.sides)])
    tensors = [torch.empty(shape) for shape in shapes]
    if definition.model in OF_TOKENS:
        tensors = [torch.zeros(shape, dtype=torch.int64) for shape in shapes]
    return network, tensors


def normalized(image):
    mean, deviation = (torch.tensor(values).reshape(1, 3, 1, 1) for values in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    return (image - mean) / deviation


class Normalized(nn.Module):
    """A network whose image is normalised first."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, image):
        return self.network(normalized(image))


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


class Darknet(nn.Module):
    """RangeNet++: Darknet-53 on the distances that a laser sees around it, of which columns alone become fewer and more again."""

    def __init__(self):
        super().__init__()
        self.stem = self.layers(nn.Conv2d(5, 32, 3, 1, 1, bias=False))
        self.coarser, self.finer = nn.ModuleList(), nn.ModuleList()
        for at, n_residuals in enumerate((1, 2, 8, 8, 4)):
            read, written = 32 << at, 64 << at
            fewer = self.layers(nn.Conv2d(read, written, 3, (1, 2), 1, bias=False))
            self.coarser.append(nn.Sequential(fewer, *(self.residual(written, read) for _ in range(n_residuals))))
            more = self.layers(nn.ConvTranspose2d(written, read, (1, 4), (1, 2), (0, 1)))
            self.finer.append(nn.Sequential(more, self.residual(read, written)))
        self.classes = nn.Conv2d(32, 20, 3, 1, 1)

    @staticmethod
    def layers(convolution):
        return nn.Sequential(convolution, nn.BatchNorm2d(convolution.out_channels), nn.LeakyReLU(0.1))

    def residual(self, width, within):
        first = self.layers(nn.Conv2d(width, within, 1, bias=False))
        return Added(nn.Sequential(first, self.layers(nn.Conv2d(within, width, 3, 1, 1, bias=False))))

    def forward(self, image):
        image, finer = self.stem(image), []
        for blocks in self.coarser:
            finer.append(image)
            image = blocks(image)
        for blocks in reversed(self.finer):
            image = blocks(image) + finer.pop()
        return self.classes(image)


class Added(nn.Module):
    """Layers beside a shortcut."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, image):
        return image + self.layers(image)


class Proposals(nn.Module):
    """Faster R-CNN's first part on ResNet-50, whose strides are in pointwise convolutions: boxes of 15 anchors at each place."""

    def __init__(self):
        super().__init__()
        self.network = network = resnet50("layer4")
        for layer in (network.layer2, network.layer3):
            layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
        self.features, self.scores, self.boxes = (nn.Conv2d(1024, n, side, 1, side // 2) for n, side in ((1024, 3), (15, 1), (60, 1)))
        # Width, height, and middle of the anchors.
        self.register_buffer("anchors", torch.ones(4, 50 * 50 * 15, 1))

    def forward(self, image):
        network, (width, height, x, y) = self.network, self.anchors
        image = stem(network, torch.flip(image, dims=[1]))
        image = network.layer3(network.layer2(network.layer1(image)))
        features = functional.relu(self.features(image))
        scores = self.scores(features).permute(0, 2, 3, 1).flatten(1)
        boxes = self.boxes(features).permute(0, 2, 3, 1).reshape(-1, 4)
        middle_x, middle_y = boxes[:, 0::4] / 1.0 * width + x, boxes[:, 1::4] / 1.0 * height + y
        wide, high = (torch.clamp(boxes[:, at::4] / 1.0, max=4.135) for at in (2, 3))
        wide, high = torch.exp(wide) * width, torch.exp(high) * height
        ends = (middle_x - 0.5 * wide, middle_y - 0.5 * high, middle_x + 0.5 * wide, middle_y + 0.5 * high)
        return image, torch.stack(ends, -1).reshape(1, -1, 4), scores


class Nomic(nn.Module):
    """Nomic's BERT: rotated queries and keys, gated perceptrons, no biases, and norms behind the sums."""

    def __init__(self):
        super().__init__()
        self.words, self.types, self.norm = nn.Embedding(30528, 768), nn.Embedding(2, 768), nn.LayerNorm(768)
        self.layers = nn.ModuleList(NomicLayer() for _ in range(12))

    def forward(self, words, mask):
        values = self.norm(self.words(words) + self.types(torch.zeros_like(words)))
        penalty = (1.0 - mask.to(values.dtype))[:, None, None] * -1e4
        for layer in self.layers:
            values = layer(values, penalty)
        mask = mask.unsqueeze(-1).to(values.dtype)
        mean = (values * mask).sum(1) / torch.clamp(mask.sum(1), min=1e-9)
        return functional.normalize(functional.layer_norm(mean, (768,))[:, :512])


class NomicLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.out = nn.Linear(768, 3 * 768, bias=False), nn.Linear(768, 768, bias=False)
        self.gate, self.up, self.down = (nn.Linear(*sides, bias=False) for sides in ((768, 3072), (768, 3072), (3072, 768)))
        self.norms = nn.ModuleList(nn.LayerNorm(768) for _ in range(2))
        self.register_buffer("cosine", torch.ones(1, 128, 1, 64))
        self.register_buffer("sine", torch.ones(1, 128, 1, 64))

    def rotated(self, values):
        first, second = values.chunk(2, dim=-1)
        return values * self.cosine + torch.cat((-second, first), dim=-1) * self.sine

    def forward(self, values, penalty):
        all_read = self.read(values).reshape(1, 128, 3, 12, 64)
        rotated = [self.rotated(all_read[:, :, at]) for at in range(2)]
        all_read = torch.stack((*rotated, all_read[:, :, 2]), 2)
        queries, keys, read = (all_read[:, :, at] for at in range(3))
        queries, keys = queries.permute(0, 2, 1, 3), keys.permute(0, 2, 3, 1)
        shares = functional.softmax(torch.matmul(queries, keys) / 8.0 + penalty, -1)
        read = torch.matmul(shares, read.permute(0, 2, 1, 3)).permute(0, 2, 1, 3).reshape(1, 128, 768)
        values = self.norms[0](self.out(read) + values)
        return self.norms[1](self.down(self.up(values) * functional.silu(self.gate(values))) + values)


class Policy(nn.Module):
    """ACT: actions of a robot's arms, by a transformer that sees ResNet-18's image, the arms' state, and a style that is none."""

    def __init__(self):
        super().__init__()
        import torchvision

        network = torchvision.models.resnet18(weights=None)
        network.fc = network.avgpool = nn.Identity()
        self.network, self.narrow = network, nn.Conv2d(512, 512, 1)
        self.state, self.style = nn.Linear(14, 512), nn.Linear(32, 512)
        self.encoder = nn.ModuleList(PolicyLayer(1) for _ in range(4))
        self.decoder = nn.ModuleList(PolicyLayer(2) for _ in range(7))
        self.norm, self.actions, self.padding = nn.LayerNorm(512), nn.Linear(512, 14), nn.Linear(512, 1)
        self.queries, self.places = (nn.Parameter(torch.empty(n, 1, 512)) for n in (100, 2))
        self.register_buffer("of_image", torch.empty(300, 1, 512))
        # What training alone needs.
        self.of_training = nn.ModuleList(PolicyLayer(1) for _ in range(4))
        self.read_in_training = nn.ModuleList([nn.Linear(14, 512), nn.Linear(14, 512), nn.Embedding(1, 512), nn.Linear(512, 64)])

    def forward(self, state, image):
        network = self.network
        image = stem(network, normalized(image))
        image = network.layer4(network.layer3(network.layer2(network.layer1(image))))
        others = torch.stack([self.style(torch.zeros(1, 32)), self.state(state)], 0)
        values = torch.cat([others, self.narrow(image).flatten(2).permute(2, 0, 1)], 0)
        places = torch.cat([self.places, self.of_image], 0)
        for layer in self.encoder:
            values = layer(values, places)
        actions, all_actions = torch.zeros_like(self.queries), []
        for layer in self.decoder:
            actions = layer(actions, self.queries, values, places)
            all_actions.append(self.norm(actions))
        return self.actions(torch.stack(all_actions).transpose(1, 2)[0])


class PolicyLayer(nn.Module):
    """Attention to each other, or to others as well, and a perceptron, with norms behind the sums."""

    def __init__(self, n_attentions):
        super().__init__()
        self.attentions = nn.ModuleList(nn.MultiheadAttention(512, 8) for _ in range(n_attentions))
        self.norms = nn.ModuleList(nn.LayerNorm(512) for _ in range(n_attentions + 1))
        self.up, self.down = nn.Linear(512, 3200), nn.Linear(3200, 512)

    def forward(self, values, places, others=None, places_of_others=None):
        placed = values + places
        values = self.norms[0](values + self.attentions[0](placed, placed, values)[0])
        if others is not None:
            read = self.attentions[1](values + places, others + places_of_others, others)[0]
            values = self.norms[1](values + read)
        return self.norms[-1](values + self.down(functional.relu(self.up(values))))


class HeadPose(nn.Module):
    """6DRepNet: RepVGG-B1g2 with its branches merged, and a rotation from six numbers."""

    def __init__(self):
        super().__init__()
        layers, read = [nn.Conv2d(3, 64, 3, 2, 1), nn.ReLU()], 64
        for written, n_layers in ((128, 4), (256, 6), (512, 16), (2048, 1)):
            for at in range(n_layers):
                # Every second layer has two groups, from the second one on.
                groups = 2 if len(layers) // 2 % 2 == 0 else 1
                layers += [nn.Conv2d(read, written, 3, 1 if at else 2, 1, groups=groups), nn.ReLU()]
                read = written
        self.features, self.numbers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()), nn.Linear(2048, 6)

    def forward(self, image):
        numbers = self.numbers(self.features(image))
        x = unit(numbers[:, :3])
        z = unit(across(x, numbers[:, 3:]))
        return torch.cat([axis.reshape(-1, 3, 1) for axis in (x, across(z, x), z)], 2)


def unit(vector):
    length = torch.sqrt(vector.pow(2).sum(1))
    length = torch.max(length, torch.tensor([1e-8]))
    return vector / length.reshape(1, 1).expand(1, 3)


def across(a, b):
    """The vector that is orthogonal to both."""
    parts = [a[:, i] * b[:, j] - a[:, j] * b[:, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return torch.cat([part.reshape(1, 1) for part in parts], 1)


class Faces(nn.Module):
    """RetinaFace on a MobileNet of a quarter of the width."""

    def __init__(self):
        super().__init__()
        from face_detection.retinaface.config import cfg_mnet
        from face_detection.retinaface.models.retinaface import RetinaFace

        self.network = RetinaFace(cfg_mnet)

    def forward(self, image):
        return self.network(torch.flip(image, dims=[1]) * 255.0 - torch.ones(1, 3, 1, 1))


def resnet50(*unused):
    import torchvision

    network = torchvision.models.resnet50(weights=None)
    for name in (*unused, "avgpool", "fc"):
        setattr(network, name, None)
    return network


def stem(network, image):
    return network.maxpool(network.relu(network.bn1(network.conv1(image))))


class BirdsEye(nn.Module):
    """BEVDet's first part: ResNet-50 on the images of six cameras, and how far away each place is."""

    def __init__(self):
        super().__init__()
        self.network = resnet50()
        self.narrowed = nn.ModuleList(nn.Conv2d(read, 512, 1) for read in (1024, 2048))
        self.sum, self.distances = nn.Conv2d(512, 512, 3, 1, 1), nn.Conv2d(512, 59 + 64, 1)

    def forward(self, images):
        network = self.network
        images = stem(network, normalized(images.reshape(6, 3, 256, 704)[:, [2, 1, 0]]))
        fine = network.layer3(network.layer2(network.layer1(images)))
        fine, coarse = (narrowed(one) for narrowed, one in zip(self.narrowed, (fine, network.layer4(fine))))
        values = self.distances(self.sum(fine + functional.interpolate(coarse, size=fine.shape[2:])))
        distances, values = functional.softmax(values[:, :59], 1), values[:, 59:]
        return distances.reshape(1, 6, *distances.shape[1:]), values.reshape(1, 6, *values.shape[1:])


def normed(read, written):
    return [nn.Conv2d(read, written, 3, 1, 1, bias=False), nn.BatchNorm2d(written), nn.ReLU()]


class BirdsEyeHead(nn.Module):
    """BEVDet's last part: residual blocks on what is seen from above, and six results for each place."""

    def __init__(self):
        super().__init__()
        from torchvision.models.resnet import BasicBlock

        self.coarser = nn.ModuleList()
        for read in (64, 128, 256):
            fewer = nn.Conv2d(read, 2 * read, 3, 2, 1)
            self.coarser.append(nn.Sequential(BasicBlock(read, 2 * read, 2, fewer), BasicBlock(2 * read, 2 * read)))
        self.sum, self.finer = nn.Sequential(*normed(640, 512), *normed(512, 512)), nn.Sequential(*normed(512, 256))
        self.shared = nn.Sequential(nn.Conv2d(256, 256, 1), *normed(256, 64))
        self.heads = nn.ModuleList(nn.Sequential(*normed(64, 64), nn.Conv2d(64, n, 3, 1, 1)) for n in (2, 1, 3, 2, 2, 10))

    def forward(self, image):
        maps = []
        for blocks in self.coarser:
            image = blocks(image)
            maps.append(image)
        larger = functools.partial(functional.interpolate, mode="bilinear", align_corners=True)
        image = self.sum(torch.cat([maps[0], larger(image, scale_factor=4)], 1))
        image = self.shared(self.finer(larger(image, scale_factor=2)))
        *boxes, classes = (head(image) for head in self.heads)
        return [*boxes, torch.sigmoid(classes)]


class Keys(nn.Module):
    """XMem's keys of an image, on ResNet-50 without its last stage."""

    def __init__(self, has_shrinkage):
        super().__init__()
        self.network, self.has_shrinkage = resnet50("layer4"), has_shrinkage
        self.keys, self.selection = nn.Conv2d(1024, 64, 3, 1, 1), nn.Conv2d(1024, 64, 3, 1, 1)
        self.shrinkage = nn.Conv2d(1024, 1, 3, 1, 1)

    def forward(self, image):
        fine = self.network.layer1(stem(self.network, image))
        coarse = self.network.layer2(fine)
        coarsest = self.network.layer3(coarse)
        keys, selection = self.keys(coarsest), torch.sigmoid(self.selection(coarsest))
        if self.has_shrinkage:
            return keys, self.shrinkage(coarsest) ** 2 + 1, selection, coarsest
        return keys, selection, coarsest, coarse, fine


BUILDERS = {
    "act": Policy,
    "bevdet/decoder": BirdsEyeHead,
    "bevdet/encoder": BirdsEye,
    "beit": Beit,
    "efficientvit_b2_cls": lambda: Normalized(of_timm("efficientvit_b2")),
    "efficientvit_l2_cls": lambda: Normalized(of_timm("efficientvit_l2")),
    "detectron2_detection/proposal_generator": lambda: Normalized(Proposals()),
    "edgetam/encoder": lambda: edgetam_network.built("encoder"),
    "edgetam/memory_encoder": lambda: edgetam_network.built("memory_encoder"),
    "edgetam/video_decoder": lambda: edgetam_network.built("video_decoder"),
    "hrnet_pose": lambda: Normalized(Pose()),
    "levit": lambda: Normalized(levit()),
    "lpdm": plates,
    "mediapipe_hand/hand_detector": mediapipe_networks.PalmDetector,
    "mediapipe_hand/hand_landmark_detector": mediapipe_networks.HandLandmarks,
    "mediapipe_hand_gesture/canned_gesture_classifier": mediapipe_networks.Gestures,
    "mediapipe_hand_gesture/palm_detector": lambda: mediapipe_networks.PalmDetector(is_decoded=True),
    "mediapipe_pose/pose_detector": mediapipe_networks.PoseDetector,
    "mediapipe_pose/pose_landmark_detector": mediapipe_networks.PoseLandmarks,
    "midas": lambda: Normalized(Midas()),
    "posenet_mobilenet": PoseNet,
    "nomic_embed_text": Nomic,
    "rangenet_plus_plus": Darknet,
    "sixd_repnet/face_detector": Faces,
    "sixd_repnet/pose_estimator": lambda: Normalized(HeadPose()),
    "track_anything/encode_key_with_shrinkage": lambda: Normalized(Keys(True)),
    "track_anything/encode_key_without_shrinkage": lambda: Normalized(Keys(False)),
    "yamnet": Yamnet,
}
