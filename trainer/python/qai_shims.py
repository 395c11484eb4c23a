"""Lets PyPI's `qai-hub-models` build its networks with random weights: no download, no data set, no account.

The package asks for weights in many ways; each of them gives weights that do not exist here, and loading those changes
nothing. Packages that only data sets and demonstrations need are replaced by empty ones.
"""

import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import tempfile
import types
from unittest import mock

import torch

# Top-level packages that no network needs.
UNNEEDED = {
    "aimet_common", "aimet_onnx", "ai_edge_litert", "audio2numpy", "clip", "ftfy", "gradio", "imgaug", "jiwer", "lap",
    "librosa", "lmdb", "motmetrics", "nuscenes", "numba", "open3d", "panopticapi", "podm", "pyannote", "pypinyin",
    "pyquaternion", "pytorch_lightning", "sacremoses", "samplerate", "seaborn", "shapely", "sounddevice", "soundfile",
    "tensorboard", "tflite", "torchcodec", "torchmetrics", "wandb", "webdataset", "xtcocotools",
}  # fmt: skip


class Absent(dict):
    """Stands for weights that are not here, and for every part of them."""

    def __getitem__(self, key):
        return Absent()

    def __contains__(self, key):
        return True

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    def __call__(self, *_, **__):
        return Absent()

    def get(self, *_):
        return Absent()

    def pop(self, *_):
        return Absent()


class Empty(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda *_, **__: None}) if name[:1].isupper() else mock.MagicMock()


class EmptyPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in UNNEEDED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        pass


def configurations(hf):
    """Configurations of published networks, by the end of their name."""

    def whisper(width, depth, heads, **options):
        sides = {"encoder_layers": depth, "decoder_layers": depth, "encoder_attention_heads": heads,
                 "decoder_attention_heads": heads, "encoder_ffn_dim": 4 * width, "decoder_ffn_dim": 4 * width}  # fmt: skip
        return hf.WhisperConfig(**{"vocab_size": 51865, "d_model": width, **sides, **options})

    def detr(backbone, dilation=False):
        return hf.DetrConfig(backbone=backbone, dilation=dilation, num_labels=91, use_pretrained_backbone=False)

    def depth_anything(layers):
        backbone = hf.Dinov2Config(hidden_size=384, num_attention_heads=6, image_size=518, patch_size=14,
                                   out_indices=layers, apply_layernorm=True, reshape_hidden_states=False)  # fmt: skip
        return hf.DepthAnythingConfig(backbone_config=backbone, reassemble_hidden_size=384, fusion_hidden_size=64,
                                      neck_hidden_sizes=[48, 96, 192, 384], patch_size=14)  # fmt: skip

    def trocr():
        encoder = hf.DeiTConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536, image_size=384, qkv_bias=True)
        decoder = hf.TrOCRConfig(d_model=256, decoder_layers=6, decoder_attention_heads=8, decoder_ffn_dim=1024,
                                 vocab_size=64044, cross_attention_hidden_size=384)  # fmt: skip
        return hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)

    return {
        "bert-base-uncased": lambda: hf.BertConfig(),
        "distilbert-base-uncased": lambda: hf.DistilBertConfig(),
        "albert-base-v2": lambda: hf.AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072, hidden_act="gelu_new"),
        "electra-base-discriminator": lambda: hf.ElectraConfig(embedding_size=768, hidden_size=768, intermediate_size=3072, num_attention_heads=12),
        "mobilebert-uncased": lambda: hf.MobileBertConfig(),
        "all-minilm-l6-v2": lambda: hf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
        "minilm": lambda: hf.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
        "nomic-embed-text-v1.5": lambda: hf.BertConfig(),
        "beit-base-patch16-224": lambda: hf.BeitConfig(use_relative_position_bias=True, use_mask_token=False, num_labels=1000),
        "levit-128s": lambda: hf.LevitConfig(num_labels=1000),
        "mobilevit-small": lambda: hf.MobileViTConfig(num_labels=1000),
        "segformer-b0": lambda: hf.SegformerConfig(num_labels=150),
        "detr-resnet-101-dc5": lambda: detr("resnet101", True),
        "detr-resnet-50-dc5": lambda: detr("resnet50", True),
        "detr-resnet-101": lambda: detr("resnet101"),
        "detr-resnet-50": lambda: detr("resnet50"),
        "depth-anything-small-hf": lambda: depth_anything([9, 10, 11, 12]),
        "depth-anything-v2-small-hf": lambda: depth_anything([3, 6, 9, 12]),
        "owlvit-base-patch32": lambda: hf.OwlViTConfig(),
        "whisper-tiny": lambda: whisper(384, 4, 6),
        "distil-small.en": lambda: whisper(768, 12, 12, decoder_layers=4, vocab_size=51864),
        "clip-vit-base-patch16": lambda: hf.CLIPConfig(vision_config={"patch_size": 16}),
        "clip-vit-base-patch32": lambda: hf.CLIPConfig(),
        "siglip2-base-patch16-224": lambda: hf.SiglipConfig(text_config={"vocab_size": 256000}),
        "trocr-small-stage1": trocr,
        "trocr-small-handwritten": trocr,
        "videomae": lambda: hf.VideoMAEConfig(num_labels=400),
        "vjepa2": lambda: hf.VJEPA2Config(),
    }


@functools.cache
def install():
    """Takes effect for the whole process."""
    # Networks whose sources are in no package of PyPI stay without a graph: nothing is cloned.
    os.environ.update(QAIHM_DEV_MODE="1", GIT_ALLOW_PROTOCOL="none", QAIHM_STORE_ROOT=tempfile.mkdtemp())
    patch_torch()
    patch_transformers()
    patch_ultralytics()
    # Only now: transformers looks for packages, too.
    sys.meta_path.append(EmptyPackages())
    patch_others()
    patch_package()


def absent(*_, **__):
    return Absent()


def patch_torch():
    import timm
    import timm.models
    import torch.utils.model_zoo
    import torchvision._internally_replaced_utils
    import torchvision.models._api

    load, load_state = torch.load, torch.nn.Module.load_state_dict

    def load_if_there(file, *args, **options):
        is_there = hasattr(file, "read") or not isinstance(file, Absent) and os.path.exists(str(file))
        return load(file, *args, **options) if is_there else Absent()

    def load_what_fits(self, state, strict=True, assign=False):
        nothing = torch.nn.modules.module._IncompatibleKeys([], [])
        if isinstance(state, Absent) or not len(state):
            return nothing
        try:
            return load_state(self, state, strict=strict, assign=assign)
        except RuntimeError:
            return nothing

    torch.load = load_if_there
    torch.nn.Module.load_state_dict = load_what_fits
    torch.hub.load_state_dict_from_url = absent
    torch.utils.model_zoo.load_url = absent
    torchvision._internally_replaced_utils.load_state_dict_from_url = absent
    torchvision.models._api.WeightsEnum.get_state_dict = absent
    create = timm.create_model

    def create_without_weights(name, pretrained=False, **options):
        options.pop("pretrained_cfg", None)
        options.pop("checkpoint_path", None)
        return create(name, pretrained=False, **options)

    timm.create_model = timm.models.create_model = create_without_weights


def patch_transformers():
    import transformers as hf
    from transformers import configuration_utils, feature_extraction_utils, modeling_utils, processing_utils
    from transformers import tokenization_utils_base
    from transformers.models.auto import auto_factory

    known = configurations(hf)

    def configuration(name):
        for end in sorted(known, key=len, reverse=True):
            if end in str(name).lower():
                return known[end]()
        raise LookupError(f"no configuration of {name}")

    def of_model(cls, name, *_, **options):
        config = options.get("config") or configuration(name)
        attention = options.get("attn_implementation")
        return cls._from_config(config, **({"attn_implementation": attention} if attention else {}))

    modeling_utils.PreTrainedModel.from_pretrained = classmethod(of_model)
    auto_factory._BaseAutoModelClass.from_pretrained = classmethod(
        lambda cls, name, *_, **options: cls.from_config(configuration(name))
    )
    by_name = classmethod(lambda cls, name, *_, **__: configuration(name))
    configuration_utils.PretrainedConfig.from_pretrained = by_name
    hf.AutoConfig.from_pretrained = by_name

    def anything_of(cls, *_, **__):
        anything = mock.MagicMock()
        anything.__class__ = cls
        return anything

    # A mask of four axes is complete, as in later versions.
    from transformers.models.siglip import modeling_siglip as siglip

    of_tokens = siglip._prepare_4d_attention_mask
    siglip._prepare_4d_attention_mask = lambda mask, *rest: mask if mask.dim() == 4 else of_tokens(mask, *rest)
    anything = classmethod(anything_of)
    for cls in (
        tokenization_utils_base.PreTrainedTokenizerBase, hf.AutoTokenizer, hf.AutoProcessor, hf.AutoImageProcessor,
        processing_utils.ProcessorMixin, feature_extraction_utils.FeatureExtractionMixin,
    ):  # fmt: skip
        cls.from_pretrained = anything


def patch_ultralytics():
    import ultralytics
    from ultralytics.engine.model import Model
    from ultralytics.nn import tasks

    init = Model.__init__

    def init_from_definition(self, model="yolo11n.pt", task=None, verbose=False, **_):
        stem = os.path.basename(str(model)).removesuffix(".pt")
        if stem.startswith("FastSAM"):
            stem, task = f"yolov8{stem[-1]}-seg", "segment"
            self.__class__ = ultralytics.YOLO
        # The anchor-free version of networks that had anchors.
        if stem.startswith(("yolov3", "yolov5")):
            stem = stem.removesuffix("u")
        init(self, stem if stem.endswith(".yaml") else f"{stem}.yaml", task)

    Model.__init__ = init_from_definition
    # What an encoder of texts, which is a network of its own, makes of the classes' names.
    tasks.YOLOEModel.get_text_pe = lambda self, names, *_, **__: torch.zeros(1, len(names), 512)


def patch_others():
    import clip
    import easyocr.detection
    import easyocr.easyocr
    import mmcv
    import mmengine.runner

    def clip_without_weights(name, *_, **__):
        patch = int(name.rpartition("/")[2])
        return clip.model.CLIP(512, 224, 12, 768, patch, 77, 49408, 512, 8, 12), mock.MagicMock()

    # mmpose and mmdet refuse it, and what networks need of it has not changed.
    mmcv.__version__ = "2.1.0"
    mmengine.runner.checkpoint.load_state_dict = absent
    clip.load = clip_without_weights
    easyocr.easyocr.download_and_unzip = easyocr.detection.copyStateDict = absent
    easyocr.easyocr.calculate_md5 = lambda *_: mock.ANY


def patch_package():
    from qai_hub_models.utils import asset_loaders

    def nowhere(self, *_, **__):
        path = self.local_cache_path
        return path if path.exists() else f"/nonexistent/{path.name}"

    for name in ("CachedWebAsset", "CachedWebModelAsset"):
        getattr(asset_loaders, name).fetch = nowhere
    asset_loaders.load_torch = absent
    asset_loaders.query_yes_no = lambda *_, **__: True
    feet = importlib.import_module("qai_hub_models.models.foot_track_net.model")
    feet.FootTrackNet.load_weights = absent
    eyes = importlib.import_module("qai_hub_models.models.eyegaze.model")
    eyes.load_torch = lambda *_: {"nstack": 3, "nfeatures": 32, "nlandmarks": 34, "model_state_dict": Absent()}
    # What most networks need, so that it is loaded once for all of them.
    for name in ("resnet18", "yolov8_det", "bert_base_uncased_hf", "detr_resnet50"):
        importlib.import_module(f"qai_hub_models.models.{name}")
