//! Measured latencies of microcontrollers: the tables of `shared/data/mcu` and `shared/data/ethos_u`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::targets::cortex_m::Program;
use serde::Deserialize;

use crate::spaces::published::{self, WEIGHT_SEED};
use crate::writer::{Precision, to_tflite};

/// One measured latency.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// `st-edge-ai`, `tflite-micro`, `esp-nn` or `neural-art`.
    pub runtime: &'static str,
    pub core: &'static str,
    pub board: String,
    /// Release of the runtime.
    pub version: String,
    /// Whether ST Edge AI compiled the program with `-O time`; the default is a balance of time and memory.
    pub is_made_for_time: bool,
    pub network: String,
    pub family: String,
    pub source: Source,
    /// Name of the operator, if only operators of one name were timed.
    pub operator: Option<String>,
    pub clock_mhz: f64,
    pub latency_ms: f64,
    pub program: Program,
}

impl Measurement {
    /// What a factor of a fit is asked for: no latency.
    pub fn unmeasured(runtime: &'static str) -> Self {
        Self {
            runtime,
            core: "",
            board: String::new(),
            version: String::new(),
            is_made_for_time: false,
            network: String::new(),
            family: String::new(),
            source: Source::File(PathBuf::new()),
            operator: None,
            clock_mhz: f64::NAN,
            latency_ms: f64::NAN,
            program: Program::default(),
        }
    }

    pub fn cycles(&self) -> f64 {
        1e3 * self.clock_mhz * self.latency_ms
    }
}

/// Where the measured network comes from.
#[derive(Clone, Debug)]
pub enum Source {
    File(PathBuf),
    /// A name of [`published::network`], and the side of the image.
    Published(&'static str, i32),
}

impl Source {
    /// The bytes of its file.
    pub fn read(&self) -> Result<Vec<u8>> {
        match self {
            Self::File(path) => {
                fs::read(path).with_context(|| format!("could not read {}", path.display()))
            }
            Self::Published(name, side) => {
                let network = published::network(name, *side).context("a known network")?;
                Ok(to_tflite(&network, WEIGHT_SEED, Precision::Int8))
            }
        }
    }
}

/// Folders of the tables and of the networks.
pub struct Folders {
    pub tables: PathBuf,
    pub models: Vec<PathBuf>,
}

impl Folders {
    /// The folders below a folder like `../shared`.
    pub fn new(shared: &Path) -> Self {
        Self {
            tables: shared.join("data"),
            models: vec![shared.join("models-mcu"), shared.join("models")],
        }
    }

    fn model(&self, file: &str) -> Option<PathBuf> {
        let places = self.models.iter().map(|folder| folder.join(file));
        places.into_iter().find(|path| path.is_file())
    }

    fn existing(&self, file: &str) -> Result<PathBuf> {
        self.model(file)
            .with_context(|| format!("no {file} in the folders of networks"))
    }
}

/// The measurements of all tables.
pub fn read(folders: &Folders) -> Result<Vec<Measurement>> {
    let mut all = st_edge_ai(folders)?;
    all.extend(mlperf_tiny(folders)?);
    all.extend(nxp(folders)?);
    all.extend(mcufit(folders)?);
    for measurement in &all {
        let ms = measurement.latency_ms;
        ensure!(
            ms.is_finite() && ms > 0.0,
            "{} on {}: expected positive milliseconds, found {ms}",
            measurement.network,
            measurement.board
        );
    }
    Ok(all)
}

/// Internal SRAM that is available to one buffer of activations on STM32H747 and STM32F769. Their boards have external
/// SDRAM as well.
const STM32_M7_ON_CHIP_BYTES: u64 = 512 << 10;
/// Data cache of the Cortex-M7 in STM32H747 and STM32F769.
pub const STM32_M7_CACHE_BYTES: u64 = 16 << 10;

/// Flash of one of the two banks of the STM32H747, each of which is one core's: weights that do not fit are in the board's
/// external flash. No network was measured with 0.85 to 1.3 MB of weights, above which they are.
pub const STM32H747_FLASH_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
struct StLine {
    board: String,
    version: String,
    model: String,
    input: String,
    file: String,
    latency_ms: f64,
}

impl StLine {
    /// Its network; `None` if it is neither in the table's file nor known by its name.
    fn network(&self, folders: &Folders) -> Result<Option<(String, Source)>> {
        let by_name = PUBLISHED.iter().find(|(model, _)| self.is_built_as(model));
        if let Some(&(model, name)) = by_name {
            let side = self.input.split('x').next().unwrap_or_default();
            let of_side = format!("_{side}");
            let network = model.trim_end_matches(&of_side).to_owned() + &of_side;
            return Ok(Some((network, Source::Published(name, side.parse()?))));
        }
        // The file is empty in the table if it is not available, and may be of another format.
        if !self.file.ends_with(".tflite") {
            return Ok(None);
        }
        let file = folders.existing(&self.file)?;
        Ok(Some((network(&self.file), Source::File(file))))
    }

    /// Since release 10, a name without `_fft`, `_tfs` or `_tl` is a network of 1,000 classes, while the file of that name,
    /// of an earlier release, has five: two pairs of files are the same but for their weights, and their latencies on the
    /// NPU differ by the time of 1,000 classes' weights.
    fn is_built_as(&self, model: &str) -> bool {
        self.model == model && (self.version.starts_with("10.") || self.file.is_empty())
    }
}

/// Networks without a file: name in the table, and in [`published::network`].
const PUBLISHED: &[(&str, &str)] = &[
    ("mobilenet_v1_0.25_224", "MobileNet v1 0.25"),
    ("mobilenet_v1_0.5_224", "MobileNet v1 0.5"),
    ("mobilenet_v1_1.0_224", "MobileNet v1 1.0"),
    ("mobilenet_v2_0.35_128", "MobileNet v2 0.35"),
    ("mobilenet_v2_0.35_224", "MobileNet v2 0.35"),
    ("mobilenet_v2_1.0_224", "MobileNet v2 1.0"),
    ("mobilenet_v2_1.4_224", "MobileNet v2 1.4"),
    ("tiny_yolo_v2", "Tiny YOLO v2"),
];

/// Boards of ST's table: name in the table, core, clock, and on-chip bytes if the board has external memory.
const ST_BOARDS: &[(&str, &str, f64, Option<u64>)] = &[
    (
        "STM32H747I-DISCO",
        "cortex-m7",
        400.0,
        Some(STM32_M7_ON_CHIP_BYTES),
    ),
    (
        "STM32F769I-DISCO",
        "cortex-m7",
        216.0,
        Some(STM32_M7_ON_CHIP_BYTES),
    ),
    ("B-U585I-IOT02A", "cortex-m33", 160.0, None),
    ("STM32N6570-DK", NPU, NPU_CLOCK_MHZ, None),
    ("STM32N6 Nucleo", NPU, NPU_CLOCK_MHZ, None),
];

const NPU: &str = "neural-art";
const NPU_CLOCK_MHZ: f64 = 1000.0;

fn st_edge_ai(folders: &Folders) -> Result<Vec<Measurement>> {
    let lines: Vec<StLine> = table(&folders.tables.join("mcu/st_edge_ai_measured.csv"))?;
    let mut measurements = Vec::new();
    for line in lines {
        let board = ST_BOARDS.iter().find(|(name, ..)| *name == line.board);
        let Some(&(board, core, clock_mhz, on_chip_bytes)) = board else {
            continue;
        };
        let Some((network, source)) = line.network(folders)? else {
            continue;
        };
        let version = match core {
            NPU => "2.0".to_owned(),
            _ => version(&line.version),
        };
        measurements.push(Measurement {
            runtime: if core == NPU { NPU } else { "st-edge-ai" },
            core,
            board: board.to_owned(),
            program: Program {
                drops_dead_channels: !version.starts_with('7'),
                on_chip_bytes,
                cache_bytes: (core == "cortex-m7").then_some(STM32_M7_CACHE_BYTES),
                flash_bytes: (board == "STM32H747I-DISCO").then_some(STM32H747_FLASH_BYTES),
            },
            version,
            is_made_for_time: false,
            family: family(&network),
            network,
            source,
            operator: None,
            clock_mhz,
            latency_ms: line.latency_ms,
        });
    }
    Ok(measurements)
}

/// One row without a release is among others of 8.1.
fn version(stated: &str) -> String {
    match stated.split('.').next().unwrap_or_default().trim() {
        "7" => "7.3",
        "10" => "10.0",
        _ => "8.1",
    }
    .to_owned()
}

/// The file's name without its hash and the words that distinguish weights of the same architecture.
fn network(file: &str) -> String {
    let name = file.split_once("__").map_or(file, |(_, name)| name);
    let name = name.trim_end_matches(".tflite");
    let replaced = [
        ("_tfs", ""),
        ("_fft", ""),
        ("_tl", "_from_scratch"),
        ("_int8", ""),
        ("squeezenetv", "squeezenet_v"),
        ("st_mnist_v1_28", "stmnist_v1"),
    ];
    let replace = |name: String, (from, to): &(&str, &str)| name.replace(from, to);
    replaced.iter().fold(name.to_owned(), replace)
}

/// Family of networks of one to three layers, which others built under several tools.
pub const FEW_LAYERS: &str = "baseline";

/// Architectures. The first one that is part of a name is used.
const FAMILIES: &[&str] = &[
    FEW_LAYERS,
    "ssd_mobilenet",
    "fdmobilenet",
    "mobilenet_v1",
    "mobilenet_v2",
    "tiny_yolo",
    "squeezenet",
    "mnist",
    "miniresnetv2",
    "miniresnet",
    "resnet",
    "yamnet",
    "yolo",
];

fn family(network: &str) -> String {
    let family = FAMILIES.iter().find(|family| network.contains(**family));
    family.map_or(network, |family| family).to_owned()
}

#[derive(Deserialize)]
struct TinyLine {
    round: String,
    org: String,
    system: String,
    variant: String,
    latency_ms: f64,
    freq: String,
    fw: String,
}

/// Reference networks of MLPerf Tiny: variant and file.
const TINY: &[(&str, &str)] = &[
    ("ad", "tiny__ad01_int8.tflite"),
    ("ic", "tiny__pretrainedResnet_quant.tflite"),
    ("kws", "tiny__kws_ref_model.tflite"),
    ("vww", "tiny__vww_96_int8.tflite"),
];

fn tiny_file(variant: &str) -> Option<&'static str> {
    let row = TINY.iter().find(|(name, _)| *name == variant);
    row.map(|(_, file)| *file)
}

fn mlperf_tiny(folders: &Folders) -> Result<Vec<Measurement>> {
    let lines: Vec<TinyLine> = table(&folders.tables.join("mcu/mlperf_tiny_measured.csv"))?;
    let mut measurements = Vec::new();
    for line in &lines {
        let Some(file) = tiny_file(&line.variant) else {
            continue;
        };
        let Some(system) = system(line) else { continue };
        measurements.push(Measurement {
            runtime: system.runtime,
            core: system.core,
            board: system.board.to_owned(),
            program: Program {
                drops_dead_channels: !matches!(system.version, "7" | "7.3" | "8.0")
                    && system.runtime == "st-edge-ai",
                ..Program::default()
            },
            version: system.version.to_owned(),
            is_made_for_time: system.runtime == "st-edge-ai",
            network: format!("tiny_{}", line.variant),
            family: format!("tiny_{}", line.variant),
            source: Source::File(folders.existing(file)?),
            operator: None,
            clock_mhz: system.clock_mhz,
            latency_ms: line.latency_ms,
        });
    }
    Ok(measurements)
}

/// For each round of MLPerf Tiny, two systems of one submitter that ran the same networks under the same runtime.
pub struct Comparison {
    pub measured_core: &'static str,
    /// The runtime that was measured on both, in words.
    pub common_runtime: &'static str,
    pub submitter: &'static str,
    /// By round: the system whose core is converted, and the system with `measured_core`.
    pub systems: &'static [(&'static str, [&'static str; 2])],
}

/// Ratios of the cycles of the first system to those of the second, by round and network.
pub fn cycle_ratios(folders: &Folders, comparison: &Comparison) -> Result<Vec<f64>> {
    let lines: Vec<TinyLine> = table(&folders.tables.join("mcu/mlperf_tiny_measured.csv"))?;
    let cycles = |round: &str, system: &str| -> Result<BTreeMap<&str, f64>> {
        let of_system = |line: &&TinyLine| {
            line.org == comparison.submitter && line.round == round && line.system == system
        };
        let of_system = lines.iter().filter(of_system);
        of_system
            .map(|line| {
                let cycles = 1e3 * line.latency_ms * megahertz(&line.freq)?;
                Ok((line.variant.as_str(), cycles))
            })
            .collect()
    };
    let mut ratios = Vec::new();
    for (round, systems) in comparison.systems {
        let [converted, measured] = systems.map(|system| cycles(round, system));
        let (converted, measured) = (converted?, measured?);
        let ratio = |(variant, cycles): (&str, f64)| Some(cycles / measured.get(variant)?);
        ratios.extend(converted.into_iter().filter_map(ratio));
    }
    Ok(ratios)
}

/// Parses `64 MHz`.
fn megahertz(text: &str) -> Result<f64> {
    let number = text.trim().strip_suffix("MHz").map(str::trim);
    let number = number.with_context(|| format!("expected a clock in MHz, found `{text}`"))?;
    Ok(number.parse()?)
}

struct System {
    runtime: &'static str,
    core: &'static str,
    board: &'static str,
    clock_mhz: f64,
    version: &'static str,
}

/// The runtime and board of a submission; `None` if the runtime is not fitted, or the board has an accelerator (xG24's
/// MVP, STM32U3C5's HSP). Submissions with ST Edge AI are compiled for time, as their projects state
/// (`optimization=time` in the `.ioc` files); ST's own tables use the default.
fn system(line: &TinyLine) -> Option<System> {
    let st = |core, board, clock_mhz, version| System {
        runtime: "st-edge-ai",
        core,
        board,
        clock_mhz,
        version,
    };
    let micro = |core, board, clock_mhz, version| System {
        runtime: "tflite-micro",
        ..st(core, board, clock_mhz, version)
    };
    let l4r5 = |version| st("cortex-m4", "NUCLEO-L4R5ZI", 120.0, version);
    match (line.org.as_str(), line.round.as_str()) {
        ("STMicroelectronics", _) if line.system.contains("U3C5") => None,
        ("STMicroelectronics", "1.3") if line.system.contains("U385") => {
            Some(st("cortex-m33", "NUCLEO-U385RG-Q", 96.0, "10.2"))
        }
        // The table does not name the release, which is older than that of the next round.
        ("STMicroelectronics", "0.7") => Some(l4r5("7")),
        ("STMicroelectronics", "1.0") => Some(l4r5("7.3")),
        ("STMicroelectronics", "1.1") => Some(l4r5("8.1")),
        ("STMicroelectronics", "1.2") => Some(l4r5("9.0")),
        ("STMicroelectronics", "1.3") => Some(l4r5("10.2")),
        ("Krai", _) if line.fw == "X-CUBE-AI v7.3.0" => Some(l4r5("7.3")),
        ("Krai", _) if line.fw == "X-CUBE-AI v8.0.0" => Some(l4r5("8.0")),
        ("reference", "0.5") => Some(micro("cortex-m4", "NUCLEO-L4R5ZI", 120.0, "2.3.1")),
        ("renesas", "0.7") if line.system == "EK-RA6M4" => {
            Some(micro("cortex-m33", "EK-RA6M4", 200.0, "2022"))
        }
        _ => None,
    }
}

#[derive(Deserialize)]
struct NxpLine {
    platform: String,
    accelerator: String,
    network: String,
    latency_ms: f64,
}

/// Networks of NXP's table whose shapes equal those of an available file.
const NXP_NETWORKS: &[(&str, &str, &str)] = &[
    ("deep-autoencoder", "tiny_ad", "tiny__ad01_int8.tflite"),
    (
        "keyword-spotting_DSCNN",
        "tiny_kws",
        "tiny__kws_ref_model.tflite",
    ),
    (
        "tiny-resnet",
        "tiny_ic",
        "tiny__pretrainedResnet_quant.tflite",
    ),
    (
        "mobilenetv1",
        "mobilenet_v1_0.25_128",
        "coral__mobilenet_v1_0.25_128_quant.tflite",
    ),
];

const NXP_BOARDS: &[(&str, &str, f64)] = &[
    ("MCX N947", "cortex-m33", 150.0),
    ("i.MX RT1050", "cortex-m7", 600.0),
    ("i.MX RT1170", "cortex-m7", 996.0),
];

/// The table repeats a row for each state of its source.
fn nxp(folders: &Folders) -> Result<Vec<Measurement>> {
    let lines: Vec<NxpLine> = table(&folders.tables.join("ethos_u/nxp_eiq_measured.csv"))?;
    let mut networks = BTreeMap::new();
    for line in lines.iter().filter(|line| line.accelerator == "CPU") {
        let board = NXP_BOARDS.iter().find(|(name, ..)| *name == line.platform);
        let known = NXP_NETWORKS.iter().find(|(name, ..)| *name == line.network);
        let (Some(&(board, core, clock_mhz)), Some(&(_, network, file))) = (board, known) else {
            continue;
        };
        let measurement = Measurement {
            runtime: "tflite-micro",
            core,
            board: board.to_owned(),
            version: "2024".to_owned(),
            is_made_for_time: false,
            network: network.to_owned(),
            family: network.to_owned(),
            source: Source::File(folders.existing(file)?),
            operator: None,
            clock_mhz,
            latency_ms: line.latency_ms,
            program: Program::default(),
        };
        networks.insert((board, network), measurement);
    }
    Ok(networks.into_values().collect())
}

#[derive(Deserialize)]
struct McufitLine {
    model: Option<String>,
    target: Option<String>,
    kernels: Option<String>,
    cpu_mhz: Option<f64>,
    p50_us: Option<f64>,
    op: Option<String>,
    us_per_inference: Option<f64>,
}

const MCUFIT_MODELS: &[(&str, &str, &str)] = &[
    (
        "person_detect.tflite",
        "person_detect",
        "mcufit_person_detect.tflite",
    ),
    (
        "kws_ref_model.tflite",
        "tiny_kws",
        "tiny__kws_ref_model.tflite",
    ),
    (
        "pretrainedResnet_quant.tflite",
        "tiny_ic",
        "tiny__pretrainedResnet_quant.tflite",
    ),
    ("ad01_int8.tflite", "tiny_ad", "tiny__ad01_int8.tflite"),
];

/// Timed operators whose counts can be fitted; all others take a thousandth of an inference.
const TIMED: &[&str] = &[
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "ADD",
    "AVERAGE_POOL_2D",
];

/// Latencies of whole inferences, and the total latency of each operator name. If a network was measured several times
/// on a board, the last latency is used.
fn mcufit(folders: &Folders) -> Result<Vec<Measurement>> {
    let mut networks = BTreeMap::new();
    for file in ["mcufit_results.jsonl", "mcufit_layers.jsonl"] {
        for line in json_lines::<McufitLine>(&folders.tables.join("mcu").join(file))? {
            let (Some(model), Some(target), Some(kernels), Some(clock_mhz)) =
                (&line.model, &line.target, &line.kernels, line.cpu_mhz)
            else {
                continue;
            };
            let Some(us) = line.p50_us.or(line.us_per_inference) else {
                continue;
            };
            let board = match (target.as_str(), kernels.as_str()) {
                ("nano33ble", _) => ("tflite-micro", "cortex-m4", "Arduino Nano 33 BLE"),
                ("esp32", "esp-nn-optimized") => ("esp-nn", "xtensa-lx6", "ESP32 DevKit"),
                _ => continue,
            };
            let known = MCUFIT_MODELS.iter().find(|(name, ..)| name == model);
            let Some(&(_, network, file)) = known else {
                continue;
            };
            if line.op.as_deref().is_some_and(|op| !TIMED.contains(&op)) {
                continue;
            }
            let (runtime, core, board) = board;
            let measurement = Measurement {
                runtime,
                core,
                board: board.to_owned(),
                version: "2026".to_owned(),
                is_made_for_time: false,
                network: network.to_owned(),
                family: network.to_owned(),
                source: Source::File(folders.existing(file)?),
                operator: line.op.clone(),
                clock_mhz,
                latency_ms: us / 1e3,
                program: Program::default(),
            };
            networks.insert((board, network, line.op.clone()), measurement);
        }
    }
    Ok(networks.into_values().collect())
}

fn table<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let open = || format!("could not read {}", path.display());
    let mut reader = csv::Reader::from_path(path).with_context(open)?;
    let lines = reader.deserialize().collect::<Result<_, _>>();
    lines.with_context(open)
}

fn json_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let open = || format!("could not read {}", path.display());
    let text = std::fs::read_to_string(path).with_context(open)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).with_context(open))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_architecture_are_one_network() {
        let names = [
            "6fad83ce1825__mobilenet_v1_0.5_224_fft_int8.tflite",
            "0c285277f1af__mobilenet_v1_0.5_224_int8.tflite",
        ];
        assert_eq!(network(names[0]), "mobilenet_v1_0.5_224");
        assert_eq!(network(names[0]), network(names[1]));
        assert_eq!(family("ssd_mobilenet_v1_025_192"), "ssd_mobilenet");
        assert_eq!(family("st_fdmobilenet_v1_224"), "fdmobilenet");
        assert_eq!(family("tiny"), "tiny");
    }
}
