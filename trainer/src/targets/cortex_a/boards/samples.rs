//! Networks that others measured on boards, rebuilt or read, with their counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::targets::cortex_a::{self, Class, Costs, KernelCounts, instruction_counts};
use serde::Deserialize;

use super::args::FitCpuArgs;
use super::measurements::{self, MOBILENETS_SOURCE, RPI5_SOURCE};
use super::mobilenets::MobileNet;
use super::networks::{self, DEPLOYMENTS};
use crate::spaces::published::{self, WEIGHT_SEED};
use crate::writer::{Precision, to_tflite};

pub const RPI5: &str = "cortex-a76-rpi5";
pub const RPI4: &str = "cortex-a72-rpi4";
pub const IMX93: &str = "cortex-a55-imx93";
pub const IMX8MP: &str = "cortex-a53-imx8mp";
pub const MP1: &str = "cortex-a7-stm32mp157";
/// Threads of MLPerf's MobileNets on the Raspberry Pi 4. The source does not state them; all cores are assumed.
const MLPERF_THREADS: u32 = 4;
const EFFICIENTDET_SOURCE: &str =
    "NobuoTsukamoto/benchmarks: TensorFlow Lite 2.18, XNNPACK, 1 to 4 threads";
const NXP_SOURCE: &str = "NXP eIQ Model Zoo: TensorFlow Lite's benchmark_model";
const ST_SOURCE: &str = "ST's model zoo: X-LINUX-AI, two threads";

/// One measured network.
#[derive(Clone, Debug)]
pub struct Sample {
    pub board: &'static str,
    pub network: String,
    pub family: String,
    pub source: &'static str,
    pub is_int8: bool,
    pub n_threads: u32,
    pub measured_ms: f64,
    pub energy_mj: Option<f64>,
    /// Millions of instructions of matrix, depthwise and other operators, and megabytes.
    pub counts: [f64; 4],
    /// Logarithm of the interval factor of the instruction count.
    pub count_log_error: f64,
}

impl Sample {
    pub fn instructions(&self) -> f64 {
        self.counts[..3].iter().sum()
    }
}

/// The target whose counted kernels a board runs: with or without dot product instructions.
pub fn counted_as(board: &str) -> &'static str {
    match board {
        RPI5 | IMX93 => RPI5,
        _ => RPI4,
    }
}

/// All measured networks that can be rebuilt or whose file is available, board by board.
pub fn all(args: &FitCpuArgs) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    nas_bench_201(args, &mut samples)?;
    mobilenets(args, &mut samples)?;
    detectors(args, &mut samples)?;
    nxp(args, &mut samples)?;
    st(args, &mut samples)?;
    Ok(samples)
}

/// A network's counts, before its measurements are attached.
struct Network {
    operators: Vec<KernelCounts>,
}

impl Network {
    fn of(bytes: &[u8]) -> Result<Self> {
        let model = tflite::parse(bytes)?;
        let graph = graph::build(&model, 0)?;
        let operators = cortex_a::kernel_counts(&graph, &analysis::analyze(&graph));
        Ok(Self { operators })
    }

    fn sample(&self, board: &'static str, of: Measured) -> Result<Sample> {
        let costs = Costs::shipped().target(counted_as(board));
        let instructions = instruction_counts(
            costs.context("every board's kernels were counted")?,
            &self.operators,
        );
        let mut counts = [0.0; 4];
        let [mut all, mut widest] = [0.0; 2];
        for (operator, counted) in self.operators.iter().zip(&instructions) {
            let class = match operator.class {
                Class::Matrix => 0,
                Class::Depthwise => 1,
                Class::Other => 2,
            };
            counts[class] += 1e-6 * counted.instructions;
            counts[3] += 1e-6 * operator.bytes;
            all += counted.instructions;
            widest += counted.instructions * counted.interval_factor;
        }
        Ok(Sample {
            board,
            network: of.network,
            family: of.family.to_owned(),
            source: of.source,
            is_int8: of.is_int8,
            n_threads: of.n_threads,
            measured_ms: of.latency_ms,
            energy_mj: of.energy_mj,
            counts,
            count_log_error: (widest / all).ln(),
        })
    }
}

struct Measured {
    network: String,
    family: &'static str,
    source: &'static str,
    is_int8: bool,
    n_threads: u32,
    latency_ms: f64,
    energy_mj: Option<f64>,
}

fn nas_bench_201(args: &FitCpuArgs, samples: &mut Vec<Sample>) -> Result<()> {
    let measured = measurements::read_device(&args.measurements, measurements::RPI5)?;
    let graphs = networks::draw(&measured, args.graphs, args.seed);
    for deployment in DEPLOYMENTS.iter().filter(|d| d.task != "cifar10") {
        for graph in &graphs {
            let key = (graph.arch.clone(), deployment.task.to_owned());
            let Some(value) = measured.get(&key) else {
                continue;
            };
            let of = Measured {
                network: format!("{} {}", graph.arch, deployment.task),
                family: match deployment.task {
                    "cifar100" => "NAS-Bench-201 (32×32)",
                    "ninapro" => "NAS-Bench-201 (52×16)",
                    _ => "NAS-Bench-201 (88×88)",
                },
                source: RPI5_SOURCE,
                is_int8: false,
                n_threads: 1,
                latency_ms: value.latency_ms,
                energy_mj: value.energy_mj,
            };
            samples.push(Network::of(&graph.to_tflite(deployment))?.sample(RPI5, of)?);
        }
    }
    Ok(())
}

fn mobilenets(args: &FitCpuArgs, samples: &mut Vec<Sample>) -> Result<()> {
    for (name, latency_ms) in measurements::raspberry_pi_4_mobilenets(&args.measurements)? {
        let network = MobileNet::by_name(&name)?;
        let of = Measured {
            family: match name.contains("v1") {
                true => "MobileNet V1",
                false => "MobileNet V3",
            },
            network: name,
            source: MOBILENETS_SOURCE,
            is_int8: network.precision.is_int8(),
            n_threads: MLPERF_THREADS,
            latency_ms,
            energy_mj: None,
        };
        samples.push(Network::of(&network.to_tflite()?)?.sample(RPI4, of)?);
    }
    Ok(())
}

#[derive(Deserialize)]
struct DetectorRow {
    board: String,
    graph: String,
    threads: u32,
    latency_ms: f64,
}

fn detectors(args: &FitCpuArgs, samples: &mut Vec<Sample>) -> Result<()> {
    let mut built: BTreeMap<String, Network> = BTreeMap::new();
    for row in rows::<DetectorRow>(
        &args
            .measurements
            .join("cpu/efficientdet_lite_raspberry_pi.csv"),
    )? {
        let board = match row.board.as_str() {
            "RasPi5" => RPI5,
            _ => RPI4,
        };
        let is_int8 = row.graph.contains("int8");
        if !built.contains_key(&row.graph) {
            let name = match row.graph.contains("lite1") {
                true => "EfficientDet-Lite1",
                false => "EfficientDet-Lite3",
            };
            let network = published::detector(name, true).context("a known detector")?;
            let precision = if is_int8 {
                Precision::Int8
            } else {
                Precision::Float32
            };
            let network = Network::of(&to_tflite(&network, WEIGHT_SEED, precision))?;
            built.insert(row.graph.clone(), network);
        }
        let of = Measured {
            network: row.graph.clone(),
            family: "EfficientDet-Lite",
            source: EFFICIENTDET_SOURCE,
            is_int8,
            n_threads: row.threads,
            latency_ms: row.latency_ms,
            energy_mj: None,
        };
        samples.push(built[&row.graph].sample(board, of)?);
    }
    Ok(())
}

/// Networks of NXP's table that are available as files or can be rebuilt: name, family and file. The deep autoencoder
/// is left out, because the table gives 0.152 ms for both processors and for any number of threads.
const NXP_NETWORKS: [(&str, &str, NxpFile); 8] = [
    (
        "keyword-spotting_DSCNN",
        "DS-CNN",
        NxpFile::Main("tiny__kws_ref_model.tflite"),
    ),
    (
        "tiny-resnet",
        "ResNet",
        NxpFile::Mcu("tiny__pretrainedResnet_quant.tflite"),
    ),
    (
        "mobilenetv1",
        "MobileNet",
        NxpFile::Main("coral__mobilenet_v1_0.25_128_quant.tflite"),
    ),
    (
        "movenet",
        "MoveNet",
        NxpFile::Main("coral__movenet_single_pose_lightning_ptq.tflite"),
    ),
    (
        "mobilenetv2",
        "MobileNet",
        NxpFile::Built("MobileNet v2 1.0", 224),
    ),
    ("MNasNet", "MNasNet", NxpFile::Built("MNasNet-A1 0.75", 224)),
    ("resnet", "ResNet", NxpFile::Built("ResNet-50 V1", 224)),
    (
        "deepface-emotion",
        "plain CNN",
        NxpFile::Built("DeepFace emotion", 48),
    ),
];

enum NxpFile {
    Main(&'static str),
    Mcu(&'static str),
    Built(&'static str, i32),
}

#[derive(Deserialize)]
struct NxpRow {
    platform: String,
    accelerator: String,
    network: String,
    latency_ms: f64,
}

fn nxp(args: &FitCpuArgs, samples: &mut Vec<Sample>) -> Result<()> {
    let rows = rows::<NxpRow>(&args.measurements.join("ethos_u/nxp_eiq_measured.csv"))?;
    for (name, family, file) in &NXP_NETWORKS {
        let network = Network::of(&match file {
            NxpFile::Main(file) => read(&args.models.join(file))?,
            NxpFile::Mcu(file) => read(&args.models_mcu.join(file))?,
            NxpFile::Built(name, side) => {
                let network = published::network(name, *side).context("a known network")?;
                to_tflite(&network, WEIGHT_SEED, Precision::Int8)
            }
        })?;
        let mut seen: Vec<(&str, u32)> = Vec::new();
        for row in rows.iter().filter(|row| row.network == *name) {
            let board = match row.platform.as_str() {
                "i.MX 93" => IMX93,
                "i.MX 8M Plus" | "i.MX 8MP" => IMX8MP,
                _ => continue,
            };
            let threads = row
                .accelerator
                .strip_prefix("CPU (")
                .and_then(|rest| rest.get(..1));
            let Some(n_threads) = threads.and_then(|n| n.parse().ok()) else {
                continue;
            };
            // The table repeats rows, and lists four threads for a processor with two cores.
            if seen.contains(&(board, n_threads)) || (board == IMX93 && n_threads > 2) {
                continue;
            }
            seen.push((board, n_threads));
            let of = Measured {
                network: (*name).to_owned(),
                family,
                source: NXP_SOURCE,
                is_int8: true,
                n_threads,
                latency_ms: row.latency_ms,
                energy_mj: None,
            };
            samples.push(network.sample(board, of)?);
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct StRow {
    board: String,
    engine: String,
    version: String,
    model: String,
    file: String,
    latency_ms: Option<f64>,
}

/// Only the first row of each file is used: later releases repeat it, or use the same name for another file.
fn st(args: &FitCpuArgs, samples: &mut Vec<Sample>) -> Result<()> {
    let mut seen: Vec<String> = Vec::new();
    for row in rows::<StRow>(&args.measurements.join("mcu/st_edge_ai_measured.csv"))? {
        let latency_ms = row.latency_ms.filter(|_| row.board == "STM32MP157F-DK2");
        let (Some(latency_ms), false) = (latency_ms, row.file.is_empty()) else {
            continue;
        };
        let key = format!("{} {}", row.file, row.engine);
        if row.engine != "2 CPU" || seen.contains(&key) || row.version.contains("5.1") {
            continue;
        }
        seen.push(key);
        let name = row.model.to_lowercase().replace(['_', ' '], "");
        let families = [
            "fdmobilenet",
            "mobilenetv1",
            "mobilenetv2",
            "squeezenet",
            "yolo",
            "resnet",
        ];
        let family = families.into_iter().find(|family| name.contains(family));
        let of = Measured {
            network: row.file.clone(),
            family: family.unwrap_or("other"),
            source: ST_SOURCE,
            is_int8: true,
            n_threads: 2,
            latency_ms,
            energy_mj: None,
        };
        let bytes = read(&args.models_mcu.join(&row.file))?;
        samples.push(Network::of(&bytes)?.sample(MP1, of)?);
    }
    Ok(())
}

fn read(path: &PathBuf) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("could not read {}", path.display()))
}

fn rows<R: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<R>> {
    let place = || format!("could not read {}", path.display());
    let mut reader = csv::Reader::from_path(path).with_context(place)?;
    reader
        .deserialize()
        .map(|row| row.with_context(place))
        .collect()
}
