"""MediaPipe's networks as Qualcomm measured them, put together from what is published of their layers: the widths of their blocks,
windows and strides."""

import torch
from torch import nn
from torch.nn import functional


class Blaze(nn.Module):
    """A depthwise and a pointwise convolution beside a shortcut, which is halved by a maximum and widened by zeros, or by a
    convolution."""

    def __init__(self, read, written, window=3, stride=1, is_projected=False):
        super().__init__()
        # Where the window moves by two positions, the image is padded so that its last windows are whole.
        self.padding = (0, 2, 0, 2) if window == 3 else (1, 2, 1, 2)
        self.stride, self.wider = stride, written - read
        self.depthwise = nn.Conv2d(read, read, window, stride, 0 if stride == 2 else window // 2, groups=read)
        self.pointwise = nn.Conv2d(read, written, 1)
        self.shortcut = nn.Conv2d(read, written, 1) if is_projected else None

    def forward(self, image):
        padded = image
        if self.stride == 2:
            padded, image = functional.pad(image, self.padding), functional.max_pool2d(image, 2)
        if self.shortcut is not None:
            image = self.shortcut(image)
        elif self.wider:
            image = functional.pad(image, (0, 0, 0, 0, 0, self.wider))
        return functional.relu(self.pointwise(self.depthwise(padded)) + image)


def stage(read, written, n_blocks, window=3, is_projected=False):
    """Blocks of which the first halves the image."""
    first = Blaze(read, written, window, 2, is_projected)
    return [first, *(Blaze(written, written, window) for _ in range(n_blocks - 1))]


def narrowed(read, written):
    """A depthwise and a pointwise convolution without a shortcut."""
    return nn.Sequential(nn.Conv2d(read, read, 3, 1, 1, groups=read), nn.Conv2d(read, written, 1), nn.ReLU())


class Stem(nn.Module):
    """The first convolution, of every second position."""

    def __init__(self, written):
        super().__init__()
        self.convolution = nn.Conv2d(3, written, 3, 2)

    def forward(self, image):
        return functional.relu(self.convolution(functional.pad(image, (0, 1, 0, 1))))


def doubled(image):
    return functional.interpolate(image, scale_factor=2, mode="bilinear")


def listed(maps, n_values):
    """Values of each anchor, one after the other."""
    return maps.permute(0, 2, 3, 1).reshape(1, -1, n_values)


class PoseDetector(nn.Module):
    """Boxes and points of people at two sizes."""

    def __init__(self):
        super().__init__()
        blocks = [nn.Conv2d(3, 48, 5, 1, 2), nn.ReLU(), *(Blaze(48, 48, 5) for _ in range(3))]
        for read, written, n_blocks in ((48, 64, 4), (64, 96, 7), (96, 128, 8)):
            blocks += stage(read, written, n_blocks, 5, is_projected=True)
        self.fine = nn.Sequential(*blocks)
        self.coarse = nn.Sequential(*stage(128, 256, 7, 5, is_projected=True))
        self.scores = nn.ModuleList([nn.Conv2d(128, 2, 1), nn.Conv2d(256, 6, 1)])
        self.boxes = nn.ModuleList([nn.Conv2d(128, 24, 1), nn.Conv2d(256, 72, 1)])

    def forward(self, image):
        # As `qai-hub-models` changes it.
        fine = self.fine(functional.pad(image, (1, 2, 2, 2)))
        maps = fine, self.coarse(fine)
        boxes = [listed(head(one), 12) for head, one in zip(self.boxes, maps)]
        return boxes + [listed(head(one), 1) for head, one in zip(self.scores, maps)]


class PalmDetector(nn.Module):
    """Boxes and points of hands at three sizes, of which the coarser ones are added to the finer ones."""

    def __init__(self, is_decoded=False):
        super().__init__()
        self.is_decoded = is_decoded
        sides = ((2944, 9, 2), (2944, 1, 2))
        for name, shape in zip(("middle", "scale"), sides):
            self.register_buffer(name, torch.ones(1, *shape))
        fine = [Stem(32), *(Blaze(32, 32) for _ in range(7)), *stage(32, 64, 8), *stage(64, 128, 8)]
        self.stages = nn.ModuleList(nn.Sequential(*blocks) for blocks in (fine, stage(128, 256, 8), stage(256, 256, 8)))
        self.larger = nn.ModuleList([nn.ConvTranspose2d(256, 256, 2, 2), nn.ConvTranspose2d(256, 128, 2, 2)])
        self.sums = nn.ModuleList([Blaze(256, 256), Blaze(128, 128)])
        sizes = ((128, 2), (256, 2), (256, 6))
        self.scores = nn.ModuleList(nn.Conv2d(read, n, 1) for read, n in sizes)
        self.boxes = nn.ModuleList(nn.Conv2d(read, 18 * n, 1) for read, n in sizes)

    def forward(self, image):
        maps = []
        for blocks in self.stages:
            image = blocks(image)
            maps.append(image)
        for at, larger, blocks in zip((1, 0), self.larger, self.sums):
            maps[at] = blocks(maps[at] + functional.relu(larger(maps[at + 1])))
        values = ((self.boxes, 18), (self.scores, 1))
        boxes, scores = (torch.cat([listed(head(one), n) for head, one in zip(heads, maps)], 1) for heads, n in values)
        return self.decoded(boxes, scores) if self.is_decoded else [boxes, scores]

    def decoded(self, boxes, scores):
        """Corners and points beside the anchors, of which the sides of boxes have no middle."""
        boxes = (boxes.reshape(1, -1, 9, 2) * self.scale + self.middle).reshape(1, -1, 18)
        center, half = boxes[..., :2], boxes[..., 2:4] * 0.5
        corners = torch.cat([center - half, center + half], -1)
        return torch.cat([corners, boxes[..., 4:]], -1), torch.sigmoid(torch.clamp(scores, -100, 100)).squeeze(-1)


class HandLandmarks(nn.Module):
    """Points of a hand: an image is made coarser and finer again, and coarser for the results."""

    def __init__(self):
        super().__init__()
        first = [Stem(24), Blaze(24, 24, 5), Blaze(24, 24, 5), Blaze(24, 48, 5, 2)]
        self.stages = nn.ModuleList([nn.Sequential(*first)])
        for read, written in ((48, 96), (96, 96), (96, 96)):
            blocks = [Blaze(read, read, 5), Blaze(read, read, 5), Blaze(read, written, 5, 2)]
            self.stages.append(nn.Sequential(*blocks))
        self.sums = nn.ModuleList([Blaze(96, 96, 5), Blaze(96, 96, 5)])
        self.narrow = nn.Conv2d(96, 48, 1)
        blocks = [Blaze(48, 48, 5) for _ in range(4)]
        for read, written in ((48, 96), (96, 288), (288, 288), (288, 288), (288, 288)):
            blocks += stage(read, written, 5, 5)
        self.last = nn.Sequential(*blocks)
        self.heads = nn.ModuleList(nn.Conv2d(288, n, 2) for n in (1, 1, 63))

    def forward(self, image):
        maps = []
        for blocks in self.stages:
            image = blocks(image)
            maps.append(image)
        finest, finer, fine, coarse = maps
        fine = self.sums[0](fine + doubled(coarse))
        finer = self.narrow(self.sums[1](finer + doubled(fine)))
        image = self.last(finest + doubled(finer))
        is_hand, is_right, points = (head(image) for head in self.heads)
        return [torch.sigmoid(is_hand.reshape(-1)), torch.sigmoid(is_right.reshape(-1)), points.reshape(-1, 21, 3) / 256]


class PoseLandmarks(nn.Module):
    """Points of a person."""

    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([nn.Sequential(Stem(24), Blaze(24, 24), Blaze(24, 24))])
        widths = ((24, 48, 4), (48, 96, 5), (96, 192, 6), (192, 288, 7))
        for read, written, n_blocks in widths:
            self.stages.append(nn.Sequential(*stage(read, written, n_blocks)))
        self.finer = nn.ModuleList(narrowed(read, 48) for read in (288, 192, 96, 48))
        self.coarser = nn.ModuleList(nn.Sequential(*stage(*sizes)) for sizes in widths[1:])
        # What the second way down reads of the first.
        self.beside = nn.ModuleList(narrowed(width, width) for width in (96, 192, 288))
        self.last = nn.Sequential(*stage(288, 288, 8), *stage(288, 288, 7), Blaze(288, 288))
        self.coarser[0][0] = Blaze(48, 96, stride=2)
        self.heads = nn.ModuleList([nn.Conv2d(288, 1, 2), nn.Conv2d(288, 124, 2)])

    def forward(self, image):
        maps = []
        for blocks in self.stages:
            image = blocks(image)
            maps.append(image)
        image = self.finer[0](maps[4])
        for narrow, one in zip(self.finer[1:], reversed(maps[1:4])):
            image = narrow(one) + doubled(image)
        for blocks, beside, one in zip(self.coarser, self.beside, maps[2:]):
            image = blocks(image) + beside(one)
        image = self.last(image)
        is_person, points = (head(image) for head in self.heads)
        return [torch.sigmoid(is_person.reshape(-1)), points.reshape(1, 31, 4)[:, :25] / 256]


class Scaled(nn.Module):
    """A norm whose statistics are known: a product and a sum."""

    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, values):
        return values * self.scale + self.shift


class Gestures(nn.Module):
    """Which of eight gestures a hand makes, of its points and their mirror image."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.norms = nn.ModuleList(Scaled(128) for _ in range(7))
        self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(7))
        self.norm, self.embedding = Scaled(128), nn.Linear(128, 128)
        self.scale, self.classes = Scaled(128), nn.Linear(128, 8)

    def embedded(self, points):
        total = self.first(points)
        for norm, layer in zip(self.norms, self.layers):
            total = total + layer(functional.silu(norm(total)))
        return total

    def forward(self, points, mirrored):
        embedding = self.embedding(functional.silu(self.norm(self.embedded(points) + self.embedded(mirrored))))
        return functional.softmax(self.classes(functional.relu(self.scale(embedding))), -1)
