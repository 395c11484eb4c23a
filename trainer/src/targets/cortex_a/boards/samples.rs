//! Networks that others measured on boards, rebuilt or read, with their counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::targets::cortex_a::{
    self, Class, Costs, InstructionCount, KernelCounts, Source, instruction_counts,
};
use serde::Deserialize;

use super::args::FitCpuArgs;
use super::known::{BOARDS, IMX8MP, IMX93, KnownBoard, MP1, RPI4, RPI5};
use super::measurements::{self, MOBILENETS_SOURCE, RPI5_SOURCE};
use super::mobilenets::MobileNet;
use super::rebuild::{self, DEPLOYMENTS};
use crate::spaces::published::{self, WEIGHT_SEED};
use crate::writer::{self, Precision, to_tflite};

/// Threads of MLPerf's MobileNets on the Raspberry Pi 4. The source does not state them; all cores are assumed.
const MLPERF_THREADS: u32 = 4;
const XNNPACK_SOURCE: &str = "NobuoTsukamoto/benchmarks: TensorFlow Lite 2.18 with XNNPACK, or 2.5 divided by the ratio \
     of both, 1 to 4 threads; MobileNets: XNNPACK's own of 2022-02-08, 4 threads";
const NXP_SOURCE: &str = "NXP eIQ Model Zoo: TensorFlow Lite's benchmark_model";
const ST_SOURCE: &str = "ST's model zoo: X-LINUX-AI, two threads";

/// One measured network.
#[derive(Clone, Debug)]
pub struct BoardSample {
    /// Id of the board.
    pub board: &'static str,
    /// Name of the network.
    pub network: String,
    /// Family of networks that is left out together.
    pub family: String,
    /// Who measured it.
    pub source: &'static str,
    /// Whether it runs in int8; float32 otherwise.
    pub is_int8: bool,
    /// Number of threads.
    pub n_threads: u32,
    /// Measured latency in ms.
    pub measured_ms: f64,
    /// Measured energy of one inference in mJ.
    pub energy_mj: Option<f64>,
    /// Whether the board's constants are fitted to it: not if another runtime was measured than the one whose
    /// instructions are counted.
    pub is_fitted: bool,
    /// Counted instructions and bytes.
    pub counts: Counts,
    /// Kinds of the operators that XNNPACK runs and that multiply nothing, on cores that execute in order.
    pub operators: BTreeSet<String>,
    /// Logarithm of the interval factor of the instruction count.
    pub count_log_error: f64,
}

/// What the time of a network on one board is a function of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Millions of instructions of matrix, depthwise and other operators, and of the interpreter.
    pub by_class: [f64; 4],
    /// Those of them that run on one thread.
    pub serial: f64,
    /// Of the operators that the board's cache does not hold.
    pub megabytes: f64,
    /// Millions of multiply-accumulates, of bytes of activations and of bytes of weights.
    pub work: [f64; 3],
}

impl Counts {
    /// Millions of instructions.
    pub fn instructions(&self) -> f64 {
        self.by_class.iter().sum()
    }

    /// Share of the instructions that run on one thread.
    pub fn serial_share(&self) -> f64 {
        self.serial / self.instructions()
    }
}

/// All measured networks that can be rebuilt or whose file is available, board by board.
pub fn all(args: &FitCpuArgs) -> Result<Vec<BoardSample>> {
    let mut samples = Vec::new();
    nas_bench_201(args, &mut samples)?;
    mobilenets(args, &mut samples)?;
    detectors(args, &mut samples)?;
    nxp(args, &mut samples)?;
    st(args, &mut samples)?;
    Ok(samples)
}

fn board(target: &str) -> Result<&'static KnownBoard> {
    let known = BOARDS.iter().find(|board| board.target == target);
    known.with_context(|| format!("no board is known as {target}"))
}

/// A network's counts, before its measurements are attached.
struct CountedOperators {
    operators: Vec<KernelCounts>,
}

impl CountedOperators {
    fn new(bytes: &[u8]) -> Result<Self> {
        let model = tflite::parse(bytes)?;
        let graph = graph::build(&model, 0)?;
        let operators = cortex_a::kernel_counts(&graph, &analysis::analyze(&graph));
        Ok(Self { operators })
    }

    fn sample(&self, board: &'static KnownBoard, measurement: Measured) -> Result<BoardSample> {
        self.sample_under(&Runtime::COUNTED, board, measurement)
    }

    fn sample_under(
        &self,
        runtime: &Runtime,
        board: &'static KnownBoard,
        measurement: Measured,
    ) -> Result<BoardSample> {
        let costs = Costs::shipped().target(board.counted_as);
        let instructions = instruction_counts(
            costs.context("every board's kernels were counted")?,
            &self.operators,
        );
        let cached_bytes = if runtime.shares_memory {
            board.cached_bytes
        } else {
            0.0
        };
        let mut counts = Counts::default();
        let [mut all, mut widest] = [0.0; 2];
        for (operator, counted) in self.operators.iter().zip(&instructions) {
            let class = match operator.class {
                Class::Matrix | Class::Recurrent => 0,
                Class::Depthwise => 1,
                Class::Other => 2,
            };
            let millions = 1e-6 * counted.instructions * runtime.relative_instructions;
            let interpreted = counted.interpreted(operator.class) / counted.instructions;
            let interpreted = if interpreted.is_finite() {
                millions * interpreted
            } else {
                0.0
            };
            counts.by_class[class] += millions - interpreted;
            counts.by_class[3] += interpreted;
            if !counted.is_parallel(operator.class) {
                counts.serial += millions;
            }
            counts.megabytes += 1e-6 * operator.uncached_bytes(cached_bytes);
            let weights = operator.weight_bytes;
            let of_operator = [operator.macs, operator.bytes - weights, weights];
            for (sum, part) in counts.work.iter_mut().zip(of_operator) {
                *sum += 1e-6 * part;
            }
            all += counted.instructions;
            widest += counted.instructions * counted.interval_factor;
        }
        Ok(BoardSample {
            board: board.target,
            network: measurement.network,
            family: measurement.family.to_owned(),
            source: measurement.source,
            is_int8: measurement.is_int8,
            n_threads: measurement.n_threads,
            measured_ms: measurement.latency_ms,
            energy_mj: measurement.energy_mj,
            is_fitted: measurement.source != MOBILENETS_SOURCE,
            counts,
            operators: match board.copied_bytes_per_s {
                Some(_) => BTreeSet::new(),
                None => self.kinds_without_products(&instructions),
            },
            // Instructions are a small part where work takes the time.
            count_log_error: match board.copied_bytes_per_s {
                Some(_) => (widest / all).ln(),
                None => 0.0,
            },
        })
    }

    fn kinds_without_products(&self, counted: &[InstructionCount]) -> BTreeSet<String> {
        let operators = self.operators.iter().zip(counted);
        let of_xnnpack = operators.filter(|(operator, counted)| {
            operator.macs == 0.0 && counted.source == Source::Networks
        });
        let kinds = of_xnnpack.filter_map(|(operator, _)| operator.kernel.split(' ').next());
        kinds.map(str::to_owned).collect()
    }
}

/// What a runtime does otherwise than the one whose instructions are counted.
struct Runtime {
    relative_instructions: f64,
    /// Whether tensors that are not needed at the same time lie in the same memory, so that a cache holds small ones.
    shares_memory: bool,
}

impl Runtime {
    const COUNTED: Self = Self {
        relative_instructions: 1.0,
        shares_memory: true,
    };
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

fn nas_bench_201(args: &FitCpuArgs, samples: &mut Vec<BoardSample>) -> Result<()> {
    let measured = measurements::read_device(&args.measurements, measurements::RPI5)?;
    let graphs = rebuild::draw(&measured, args.graphs, args.seed);
    for deployment in DEPLOYMENTS.iter().filter(|d| d.task != "cifar10") {
        for graph in &graphs {
            let key = (graph.arch.clone(), deployment.task.to_owned());
            let Some(value) = measured.get(&key) else {
                continue;
            };
            let measurement = Measured {
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
            samples.push(
                CountedOperators::new(&graph.to_tflite(deployment))?
                    .sample(board(RPI5)?, measurement)?,
            );
        }
    }
    Ok(())
}

fn mobilenets(args: &FitCpuArgs, samples: &mut Vec<BoardSample>) -> Result<()> {
    for (name, latency_ms) in measurements::raspberry_pi_4_mobilenets(&args.measurements)? {
        let network = MobileNet::by_name(&name)?;
        let measurement = Measured {
            family: if name.contains("v1") {
                "MobileNet V1 under TFLite with ruy"
            } else {
                "MobileNet V3 under TFLite with ruy"
            },
            network: name,
            source: MOBILENETS_SOURCE,
            is_int8: network.precision.is_int8(),
            n_threads: MLPERF_THREADS,
            latency_ms,
            energy_mj: None,
        };
        samples
            .push(CountedOperators::new(&network.to_tflite()?)?.sample(board(RPI4)?, measurement)?);
    }
    Ok(())
}

#[derive(Deserialize)]
struct DetectorRow {
    board: String,
    network: String,
    precision: String,
    threads: u32,
    latency_ms: f64,
    runtime: String,
}

/// XNNPACK's own benchmark of 2022-02-08, whose networks give every tensor memory of its own.
const XNNPACK_2022: &str = "XNNPACK of 2022-02-08";

/// One network's instructions under both runtimes, in millions.
#[derive(Deserialize)]
struct CountsRow {
    network: String,
    precision: String,
    litert_minstr: f64,
    xnnpack_2022_minstr: f64,
}

const OLD_RUNTIME: &str = "TensorFlow Lite 2.5.0";
const NEW_RUNTIME: &str = "TensorFlow Lite 2.18.0";

/// The time under the old runtime relative to the new one: the geometric mean over the networks that were measured under
/// both, on the same board.
fn ratio_of_runtimes(rows: &[DetectorRow]) -> f64 {
    let key = |row: &DetectorRow| (row.network.clone(), row.precision.clone(), row.threads);
    let measured_under = |runtime: &'static str| {
        let rows = rows.iter().filter(move |row| row.runtime == runtime);
        rows.filter(|row| row.board == "Raspberry Pi 4")
    };
    let new: BTreeMap<_, f64> = measured_under(NEW_RUNTIME)
        .map(|r| (key(r), r.latency_ms))
        .collect();
    let both = measured_under(OLD_RUNTIME).filter_map(|r| Some(r.latency_ms / new.get(&key(r))?));
    let logs: Vec<f64> = both.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

/// Networks of one kind of backbone and head, which are left out together.
fn detector_family(network: &str) -> &'static str {
    const FAMILIES: [(&str, &str); 5] = [
        ("EfficientDet-Lite", "EfficientDet-Lite"),
        ("MobileDet", "SSDLite MobileDet"),
        ("YOLOX", "YOLOX"),
        ("FPN", "SSD FPN"),
        ("MobileNet", "MobileNet and SSD"),
    ];
    let is_part = |(part, _): &&(&str, &str)| network.contains(part);
    FAMILIES
        .iter()
        .find(is_part)
        .map_or("other", |(_, family)| family)
}

/// The network, and whether it is a detector, with the layers behind its outputs that were measured with it.
fn published_network(name: &str) -> Result<(writer::WriterNetwork, bool)> {
    let side = if name.starts_with("YOLOX") { 416 } else { 224 };
    let decoded = published::detector(name);
    let is_decoded = decoded.is_some();
    let network = decoded.or_else(|| published::network(name, side));
    let network = network.with_context(|| format!("no network is known as {name}"))?;
    Ok((network, is_decoded))
}

/// Writes the networks that were measured under the XNNPACK of 2022, for `count_files.py`.
pub fn write_networks_of_old_runtime(folder: &Path, args: &FitCpuArgs) -> Result<()> {
    for row in rows::<DetectorRow>(&args.detectors)? {
        if row.runtime != XNNPACK_2022 {
            continue;
        }
        let precision = match row.precision.as_str() {
            "int8" => Precision::Int8,
            _ => Precision::Float32,
        };
        let file = to_tflite(&published_network(&row.network)?.0, WEIGHT_SEED, precision);
        let path = folder.join(format!("{} {}.tflite", row.network, row.precision));
        std::fs::write(&path, file)
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

fn detector(name: &str, is_int8: bool) -> Result<CountedOperators> {
    let (network, is_decoded) = published_network(name)?;
    let in_precision =
        |precision| CountedOperators::new(&to_tflite(&network, WEIGHT_SEED, precision));
    let in_float32 = in_precision(Precision::Float32)?;
    if !is_int8 {
        return Ok(in_float32);
    }
    let mut in_int8 = in_precision(Precision::Int8)?;
    // The detection post-processing has no int8 kernel, so converters give it floats.
    if let (true, Some(last)) = (is_decoded, in_float32.operators.last()) {
        in_int8.operators.pop();
        in_int8.operators.push(last.clone());
    }
    Ok(in_int8)
}

/// The instructions of the runtime that a row was measured with, relative to the counted one.
fn detector_runtime(args: &FitCpuArgs, older: &[CountsRow], row: &DetectorRow) -> Result<Runtime> {
    let key = (&row.network, &row.precision);
    if row.runtime != XNNPACK_2022 {
        return Ok(Runtime::COUNTED);
    }
    let is_row = |counts: &&CountsRow| (&counts.network, &counts.precision) == key;
    let counts = older.iter().find(is_row);
    let counts = counts.with_context(|| {
        format!(
            "{}: no row for {} in {}",
            args.older_counts.display(),
            key.0,
            key.1
        )
    })?;
    Ok(Runtime {
        relative_instructions: counts.xnnpack_2022_minstr / counts.litert_minstr,
        shares_memory: false,
    })
}

fn detectors(args: &FitCpuArgs, samples: &mut Vec<BoardSample>) -> Result<()> {
    let rows: Vec<DetectorRow> = rows(&args.detectors)?;
    let older: Vec<CountsRow> = self::rows(&args.older_counts)?;
    let ratio = ratio_of_runtimes(&rows);
    println!("{OLD_RUNTIME} takes {ratio:.3} times as long as {NEW_RUNTIME}");
    let is_new = |row: &&DetectorRow| row.runtime == NEW_RUNTIME;
    let measured_anew: BTreeSet<String> = rows
        .iter()
        .filter(is_new)
        .map(|row| row.network.clone())
        .collect();
    let mut built: BTreeMap<(String, String), CountedOperators> = BTreeMap::new();
    for mut row in rows {
        if row.runtime == OLD_RUNTIME {
            if measured_anew.contains(&row.network) {
                continue;
            }
            row.latency_ms /= ratio;
        }
        let target = match row.board.as_str() {
            "Raspberry Pi 5" => RPI5,
            "Raspberry Pi 4" => RPI4,
            other => bail!("expected a Raspberry Pi 4 or 5, found `{other}`"),
        };
        let is_int8 = row.precision == "int8";
        let key = (row.network.clone(), row.precision.clone());
        if !built.contains_key(&key) {
            built.insert(key.clone(), detector(&row.network, is_int8)?);
        }
        let runtime = detector_runtime(args, &older, &row)?;
        let measurement = Measured {
            family: detector_family(&row.network),
            network: row.network,
            source: XNNPACK_SOURCE,
            is_int8,
            n_threads: row.threads,
            latency_ms: row.latency_ms,
            energy_mj: None,
        };
        samples.push(built[&key].sample_under(&runtime, board(target)?, measurement)?);
    }
    Ok(())
}

/// Networks of NXP's table that are available as files or can be rebuilt: name, family and file. The deep autoencoder
/// is left out, because the table gives 0.152 ms for both processors and for any number of threads.
const NXP_NETWORKS: [(&str, &str, NxpFile); 11] = [
    (
        "facenet512",
        "Inception-ResNet",
        NxpFile::Built("FaceNet512", 160),
    ),
    (
        "ssdlite-mobilenetv2",
        "MobileNet",
        NxpFile::Built("SSDLite MobileNet v2", 300),
    ),
    ("yolov4tiny", "YOLO", NxpFile::Built("YOLOv4-tiny", 416)),
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

fn nxp(args: &FitCpuArgs, samples: &mut Vec<BoardSample>) -> Result<()> {
    let rows = rows::<NxpRow>(&args.measurements.join("ethos_u/nxp_eiq_measured.csv"))?;
    for (name, family, file) in &NXP_NETWORKS {
        let network = CountedOperators::new(&match file {
            NxpFile::Main(file) => read(&args.models.join(file))?,
            NxpFile::Mcu(file) => read(&args.models_mcu.join(file))?,
            NxpFile::Built(name, side) => {
                let network = published::network(name, *side).context("a known network")?;
                to_tflite(&network, WEIGHT_SEED, Precision::Int8)
            }
        })?;
        let mut read_before: Vec<(&str, u32)> = Vec::new();
        for row in rows.iter().filter(|row| row.network == *name) {
            let target = match row.platform.as_str() {
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
            if read_before.contains(&(target, n_threads)) || (target == IMX93 && n_threads > 2) {
                continue;
            }
            read_before.push((target, n_threads));
            let measurement = Measured {
                network: (*name).to_owned(),
                family,
                source: NXP_SOURCE,
                is_int8: true,
                n_threads,
                latency_ms: row.latency_ms,
                energy_mj: None,
            };
            samples.push(network.sample(board(target)?, measurement)?);
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
fn st(args: &FitCpuArgs, samples: &mut Vec<BoardSample>) -> Result<()> {
    let mut read_before: Vec<String> = Vec::new();
    for row in rows::<StRow>(&args.measurements.join("mcu/st_edge_ai_measured.csv"))? {
        let latency_ms = row.latency_ms.filter(|_| row.board == "STM32MP157F-DK2");
        let (Some(latency_ms), false) = (latency_ms, row.file.is_empty()) else {
            continue;
        };
        let key = format!("{} {}", row.file, row.engine);
        if row.engine != "2 CPU" || read_before.contains(&key) || row.version.contains("5.1") {
            continue;
        }
        read_before.push(key);
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
        let measurement = Measured {
            network: row.file.clone(),
            family: family.unwrap_or("other"),
            source: ST_SOURCE,
            is_int8: true,
            n_threads: 2,
            latency_ms,
            energy_mj: None,
        };
        let bytes = read(&args.models_mcu.join(&row.file))?;
        samples.push(CountedOperators::new(&bytes)?.sample(board(MP1)?, measurement)?);
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
