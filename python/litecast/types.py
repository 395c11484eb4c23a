"""What the methods take and give. Types of a report are named as in its JSON Schema, which says what each field is."""

import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict, Union

#: A path, the bytes of a file, or a graph without weights.
Model = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Mapping[str, Any]]

#: A folder with `predictor.onnx` and `manifest.json`, or those two, each as a path or as bytes.
Predictor = Union[str, "os.PathLike[str]", tuple[Any, Any]]


class TargetChoice(TypedDict, total=False):
    """A target, or a board in its place, in a configuration of your own; as the command's options of these names."""

    target: str
    board: str
    runtime: Literal["tflite-micro", "st-edge-ai"]
    #: Release of ST Edge AI on an STM32; `target` may name it as well, behind an `@`.
    release: Literal["7", "7-time", "8", "8-time", "9", "9-time", "10", "10-time"]
    system_config: str
    memory_mode: str
    arena_cache_bytes: int
    optimise: Literal["Performance", "Size"]
    vela_ini: str
    clock_mhz: float
    off_chip_bytes_per_s: float
    host: str
    #: Of devices of Qualcomm: another one that the network was measured on, and what it took there.
    measured_on: str
    measured_ms: float
    name: str
    device: str
    #: What :meth:`Estimator.measure_device` returned, in the place of ``target``.
    measured_device: "Device"


#: The id of a target, or a target in a configuration of your own.
Target = Union[str, TargetChoice]


class SubgraphFacts(TypedDict):
    name: str
    n_operators: int
    n_tensors: int


class ModelFacts(TypedDict):
    file_bytes: int
    format: Literal["tflite", "onnx", "graph-json", "ncnn"]
    schema_version: int
    description: str
    precision: str
    n_subgraphs: int
    n_operators: int
    n_tensors: int
    macs: int
    parameters: int
    weight_bytes: int
    arena_bytes: int | None
    activation_bytes: int | None
    peak_operator: int | None
    inputs: list[int]
    outputs: list[int]
    signatures: list[str]
    subgraphs: list[SubgraphFacts]


class _Provenance(TypedDict):
    kind: str
    tool: str
    version: str
    configuration: str


class Provenance(_Provenance, total=False):
    reference: Literal["measured", "measured-kind-left-out", "measured-parts", "runtime", "compiler"]
    #: The level of the interval, where it was checked.
    interval_percent: int
    #: What of the device the number is of, where that is not all.
    scope: str


class Settings(TypedDict, total=False):
    """What a target is set to where that can be chosen, by choice or by default."""

    clock_mhz: float
    system_config: str
    memory_mode: str
    arena_cache_bytes: int
    optimise: Literal["Performance", "Size"]
    #: Where they were chosen.
    off_chip_bytes_per_s: float
    #: The id of the processor that runs what the target leaves to it.
    host: str
    threads: int
    #: The id of the device that the network took ``measured_ms`` on, by which the estimate was corrected.
    measured_on: str
    measured_ms: float


class Dimension(TypedDict):
    name: str
    size: int


class _TargetResult(TypedDict):
    target: str
    device: str
    metric: str


class TargetResult(_TargetResult, total=False):
    """Either ``value``, ``unit`` and ``provenance``, or ``unavailable`` and ``reason``."""

    evidence: Literal["counted", "measured", "compiler", "assumed"]
    #: The precision of the estimate, where it is not that of the file.
    estimated_as: str
    #: What the target is set to, where an estimate depends on it.
    settings: Settings
    value: float
    unit: str
    lo: float
    hi: float
    provenance: Provenance
    expected_error_percent: float | None
    operators: list[float]
    unavailable: str
    reason: str


class OperatorFacts(TypedDict):
    index: int
    operator_idx: int
    name: str
    custom: bool
    inputs: list[int | None]
    outputs: list[int]
    macs: int
    parameters: int
    weight_bytes: int
    input_bytes: int
    output_bytes: int
    live_bytes: int | None
    attributes: dict[str, Any] | None


class QuantizationFacts(TypedDict):
    scale: list[float | None]
    zero_point: list[int]
    per_channel: int | None


class TensorFacts(TypedDict):
    index: int
    name: str
    type: str
    shape: list[int]
    shape_signature: list[int] | None
    bytes: int | None
    constant: bool
    variable: bool
    quantization: QuantizationFacts | None


class EdgeFacts(TypedDict):
    src: int
    dst: int
    tensor: int


class HostInfo(TypedDict):
    """A processor beside an accelerator."""

    id: str
    device: str


class LeftOperator(TypedDict):
    operator: int
    code: str
    reason: str


class _LeftOut(TypedDict):
    targets: list[str]
    operators: list[LeftOperator]


class LeftOut(_LeftOut, total=False):
    #: The processor that is assumed to run them.
    host: HostInfo


class _ReportDiagnostic(TypedDict):
    severity: Literal["info", "warning"]
    code: str
    message: str
    operator_idx: int | None


class ReportDiagnostic(_ReportDiagnostic, total=False):
    targets: list[str]


class _Summary(TypedDict):
    schema_version: int
    litecast_version: str
    bundle: str | None
    interval_percent: int
    file: str
    sha256: str | None
    batch: int
    model: ModelFacts
    results: list[TargetResult]
    diagnostics: list[ReportDiagnostic]


class Report(_Summary, total=False):
    """With ``detail="summary"`` without ``operators``, ``tensors``, ``edges``, ``left_out`` and ``fits``."""

    #: Requested sizes of dimensions that the file leaves open, if any were.
    dimensions: list[Dimension]
    #: Requested precision of a network of floats, unless it was ``auto``.
    estimate_as: Literal["int8", "as-is"]
    operators: list[OperatorFacts]
    tensors: list[TensorFacts]
    edges: list[EdgeFacts]
    left_out: list[LeftOut]
    fits: dict[str, Any] | None


class _Change(TypedDict):
    before: float | None
    after: float | None
    difference: float | None
    change_percent: float | None


class FactChange(_Change):
    fact: str
    unit: str


class _ResultChange(_Change):
    target: str
    device: str
    metric: str
    unit: str | None
    is_within_intervals: bool | None


class ResultChange(_ResultChange, total=False):
    #: Why a side has no estimate, in words.
    unavailable_before: str
    unavailable_after: str
    #: What each number rests on.
    evidence_before: str
    evidence_after: str
    #: The precision that a side is estimated in, where it is not that of its file.
    estimated_as_before: str
    estimated_as_after: str
    #: What the target is set to on each side, where that differs. A report of an older version does not say it.
    settings_before: Settings
    settings_after: Settings


class Comparison(TypedDict):
    before: str
    after: str
    facts: list[FactChange]
    results: list[ResultChange]


class MeasuredNetwork(TypedDict):
    model: str
    sha256: str
    tool: str
    profile: str
    measured_ms: float
    base_ms: list[tuple[str, float]]
    n_calls: int
    observations: list[dict[str, Any]]
    #: Lines of the profile that are no operator of the model, and their milliseconds.
    unmatched: list[str]
    unmatched_ms: float


class _Device(TypedDict):
    litecast_device: int
    litecast_version: str
    name: str
    base: str
    threads: int
    networks: list[MeasuredNetwork]
    fit: dict[str, list[float]]
    #: Logarithm of each measured latency over its estimate from the other networks; empty for one network.
    left_out: list[float]


class Device(_Device, total=False):
    """A device of your own, from profiles; ``json`` keeps it, and ``litecast predict --device`` reads it."""

    #: ``ncnn`` where its kernels are scaled in the place of the base's operators.
    kernels: str


class NextMeasurement(TypedDict):
    """A network that could be measured next on a device."""

    #: Its position among the reports that were given, and its file.
    network_idx: int
    file: str
    #: On the device as it is known, and the upper end of the interval over it.
    estimate_ms: float
    interval_factor: float
    #: The geometric mean of these factors over the networks that are asked for, once this one is measured.
    factor_of_all_after: float
    #: For a shell; it measures the network with the tool that measured last.
    command: str


class Calibration(TypedDict):
    target: str
    center: float
    intercept: float
    slope: float
    n_measurements: int
    left_out_percent: float
    left_out_worst_factor: float


class Calibrated(TypedDict):
    latency_ms: float
    lo_ms: float
    hi_ms: float
    target: str
    n_measurements: int
    left_out_percent: float


class MetricInfo(TypedDict):
    metric: str
    unit: str
    expected_error_percent: float | None


class Family(TypedDict):
    """Targets that belong together in lists; ``group`` is None where they stand in the list of all."""

    id: str
    label: str
    group: str | None
    is_accelerator: bool


class _Description(TypedDict):
    family: Family
    short_label: str
    runtime: str
    #: That which is estimated where none is asked for.
    release: str
    aliases: list[str]
    options: list[Literal["threads", "clock", "memories", "host", "batch", "measured-elsewhere"]]
    advice: list[Literal["resident-weights", "larger-sram", "smaller-accelerator"]]
    channel_step: int | None


class Description(_Description, total=False):
    max_threads: int
    """What a target is, apart from what it estimates."""

    #: Those that may stand behind an `@` of the id, from the oldest, where there is a choice.
    releases: list[str]
    #: The runtime in each of them, in words.
    release_words: list[str]


class MetricWords(TypedDict):
    """A metric in words."""

    id: str
    unit: str
    label: str
    meaning: str


class TargetInfo(TypedDict):
    id: str
    is_default: bool
    description: Description
    device: str
    metrics: list[MetricInfo]
    learned_from: str
    provenance: Provenance


class NpuInfo(TypedDict):
    """An Ethos-U in its default configuration; ``arena_cache_bytes`` is None for all that it addresses."""

    id: str
    device: str
    system_config: str
    memory_mode: str
    clock_mhz: float
    arena_cache_bytes: int | None


class SystemInfo(TypedDict):
    name: str
    clock_mhz: float


class Accelerators(TypedDict):
    npus: list[NpuInfo]
    system_configs: list[SystemInfo]
    memory_modes: list[str]
    hosts: list[HostInfo]


class Boards(TypedDict):
    microcontrollers: list[dict[str, Any]]
    npus: list[dict[str, Any]]
