"""EdgeTAM as Qualcomm measured it: SAM 2 with another encoder of images and a smaller memory, changed as `qai-hub-models`
changes SAM 2."""

import qai_shims
import torch
from torch import nn
from torch.nn import functional


class Features(nn.Module):
    """RepViT-M1 at four sizes."""

    def __init__(self):
        super().__init__()
        import timm

        self.network = timm.create_model("repvit_m1", pretrained=False, features_only=True, out_indices=(0, 1, 2, 3))
        self.channel_list = self.network.feature_info.channels()[::-1]

    def forward(self, image):
        return list(self.network(image))


class Attention(nn.Module):
    """Of one head, with norms before it."""

    def __init__(self, width, is_of_others):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.norm_of_others = nn.LayerNorm(width) if is_of_others else None
        self.queries, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.keys_and_values = nn.Linear(width, 2 * width, bias=False)

    def forward(self, values, others=None, places=None):
        values = self.norm(values)
        others = values if others is None else self.norm_of_others(others)
        queries = self.queries(values).unsqueeze(1)
        keys, read = (part.unsqueeze(1) for part in self.keys_and_values(others).chunk(2, dim=-1))
        if places is not None:
            keys, read = keys + places.unsqueeze(1), read + places.unsqueeze(1)
        return self.out(functional.scaled_dot_product_attention(queries, keys, read).squeeze(1))


def perceptron(width):
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width, bias=False), nn.GELU(), nn.Linear(4 * width, width, bias=False))


class Resampler(nn.Module):
    """Reads an image of 64 × 64 into 256 vectors that see all of it, and 256 that see a window of it each; the layers are the
    same for both."""

    def __init__(self, width, places):
        super().__init__()
        self.places = places
        self.whole, self.windows = (nn.Parameter(torch.empty(256, width)) for _ in range(2))
        layer = lambda: nn.ModuleList([Attention(width, True), perceptron(width), Attention(width, False), perceptron(width)])
        self.layers = nn.ModuleList(layer() for _ in range(2))
        self.norm = nn.LayerNorm(width)

    def resampled(self, vectors, values, places=None):
        for others, first, own, second in self.layers:
            vectors = others(vectors, values, places) + vectors
            vectors = first(vectors) + vectors
            vectors = own(vectors) + vectors
            vectors = second(vectors) + vectors
        return vectors

    def forward(self, image, places):
        width = image.shape[1]
        image, places = image.permute(0, 2, 3, 1), places.permute(0, 2, 3, 1).flatten(1, 2)
        whole = self.norm(self.resampled(self.whole.unsqueeze(0), image.flatten(1, 2), places))
        windows = image.reshape(1, 16, 4, 16, 4, width).permute(0, 1, 3, 2, 4, 5).reshape(256, 16, width)
        windows = self.resampled(self.windows.reshape(256, 1, width), windows).reshape(1, 256, width)
        return torch.cat([whole, self.norm(windows)], 1), None


def sam2_base():
    from sam2.modeling.backbones.image_encoder import FpnNeck, ImageEncoder
    from sam2.modeling.memory_encoder import CXBlock, Fuser, MaskDownSampler, MemoryEncoder
    from sam2.modeling.position_encoding import PositionEmbeddingSine
    from sam2.modeling.sam2_base import SAM2Base

    trunk = Features()
    neck = FpnNeck(PositionEmbeddingSine(256), 256, trunk.channel_list, fpn_top_down_levels=[2, 3], fpn_interp_model="nearest")
    fuser = Fuser(CXBlock(256, use_dwconv=True), 2)
    memory = MemoryEncoder(64, MaskDownSampler(kernel_size=3, stride=2, padding=1), fuser, PositionEmbeddingSine(64))
    network = SAM2Base(
        ImageEncoder(trunk, neck, scalp=1), nn.Identity(), memory, image_size=1024, sigmoid_scale_for_mem_enc=20.0,
        sigmoid_bias_for_mem_enc=-10.0, directly_add_no_mem_embed=True, use_high_res_features_in_sam=True,
        multimask_output_in_sam=True, iou_prediction_use_sigmoid=True, use_obj_ptrs_in_encoder=True,
        pred_obj_scores=True, pred_obj_scores_mlp=True, fixed_no_obj_ptr=True, use_mlp_for_obj_ptr_proj=True,
        multimask_output_for_tracking=True, use_multimask_token_for_obj_ptr=True, multimask_min_pt_num=0,
    )  # fmt: skip
    network.spatial_perceiver = Resampler(64, PositionEmbeddingSine(64))
    return network


class Memory(nn.Module):
    """What is kept of an image and of a mask in it."""

    def __init__(self, network):
        super().__init__()
        self.encoder, self.resampler = network.memory_encoder, network.spatial_perceiver

    def forward(self, image, mask):
        memory = self.encoder(image, mask * 20.0 - 10.0, skip_mask_sigmoid=True)
        return self.resampler(memory["vision_features"], memory["vision_pos_enc"][0])[0]


def concrete(cls):
    """The class with what loads weights."""
    return type(cls.__name__, (cls,), {"from_pretrained": None})


def built(part):
    """A part, and the tensors that it takes."""
    qai_shims.install()
    from qai_hub_models.models.templates.sam2 import model

    network = sam2_base().eval()
    model.SAM2Loader._patch_sam2_for_qnn_compatibility(network)
    if part == "memory_encoder":
        return Memory(network), [(1, 256, 64, 64), (1, 1, 1024, 1024)]
    if part == "encoder":
        return concrete(model.SAM2Encoder)(network), [(1, 3, 1024, 1024), (1, 2, 2), (1, 2)]
    return concrete(model.SAM2VideoDecoder)(network), [(1, 256, 64, 64), (1, 32, 256, 256), (1, 64, 128, 128), (1, 3, 256)]
