//! `litecast-trainer fit-silicon`: latencies that others measured on boards with an Ethos-U, beside the
//! compiler's rules, and the constants of `litecast::targets::ethos_u::silicon`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::formats::tflite;
use litecast::graph::{self, analysis::analyze};
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast::targets::ethos_u::configuration::Family;
use litecast::targets::ethos_u::configuration::{Configuration, VelaIni};
use litecast::targets::ethos_u::silicon::{LeftOut, MeasuredBoard, MeasuredNetwork};
use litecast::targets::ethos_u::support::{Npu, left_to_cpu};
use litecast::targets::ethos_u::totals::Totals;
use litecast::targets::{Network, boards, ethos_u};
use serde::Deserialize;

use crate::least_squares::{Row, non_negative_weighted};
use crate::markdown::{Head, table};
use crate::metrics::factor_of_groups;
use crate::spaces::published::{WEIGHT_SEED, network};
use crate::writer::{Precision, to_tflite};

/// Fits what boards take beyond the compiler's estimate.
#[derive(Clone, Debug, clap::Args)]
pub struct FitSiliconArgs {
    /// Table of latencies measured by NXP.
    #[arg(long, default_value = "../shared/data/ethos_u/nxp_eiq_measured.csv")]
    pub measured: PathBuf,
    /// Folders that have the measured files.
    #[arg(long, default_values = ["../shared/models", "../shared/models-mcu"])]
    pub files: Vec<PathBuf>,
    /// System configurations and memory modes to compare besides the board's own: a file as Vela reads it,
    /// and `SYSTEM,MODE` pairs of its sections, or of those that Vela knows.
    #[arg(long)]
    pub vela_ini: Option<PathBuf>,
    #[arg(long, value_name = "SYSTEM,MODE")]
    pub beside: Vec<String>,
    /// File for the constants.
    #[arg(long, default_value = "src/targets/ethos_u/silicon.json")]
    pub out: PathBuf,
}

const BOARD: &str = "imx93";
const SOURCE: &str = "NXP's model zoo (github.com/NXP/eiq-model-zoo), benchmark_model with the Ethos-U \
                      delegate on i.MX 93, Ethos-U65-256 at 1 GHz";

/// The source of a measured network.
enum Origin {
    /// The measured file itself.
    File(&'static str),
    /// Built from the description in its paper, with inputs of this many pixels a side.
    Published(&'static str, i32),
}

/// Networks of the table that are available, by their name there. Networks that ran on the CPU according to the table,
/// and networks whose description is not public, are left out.
const NETWORKS: &[(&str, Origin)] = &[
    (
        "tiny-resnet",
        Origin::File("tiny__pretrainedResnet_quant.tflite"),
    ),
    (
        "mobilenetv1",
        Origin::File("coral__mobilenet_v1_0.25_128_quant.tflite"),
    ),
    ("mobilenetv2", Origin::Published("MobileNet v2 1.0", 224)),
    ("resnet", Origin::Published("ResNet-50 V1", 224)),
    (
        "deepface-emotion",
        Origin::Published("DeepFace emotion", 48),
    ),
    ("facenet512", Origin::Published("FaceNet512", 160)),
    (
        "ssdlite-mobilenetv2",
        Origin::Published("SSDLite MobileNet v2", 300),
    ),
    ("yolov4tiny", Origin::Published("YOLOv4-tiny", 416)),
];

#[derive(Deserialize)]
struct Line {
    platform: String,
    accelerator: String,
    network: String,
    latency_ms: f64,
}

/// One network: its name, its measured latency, and what it is made of.
struct Sample {
    name: &'static str,
    measured_ms: f64,
    /// By configuration, the NPU's part by the rules.
    by_rules_ms: Vec<f64>,
    n_starts: f64,
    /// Of the operators that the NPU leaves to the board's processor.
    on_host_ms: f64,
}

impl Sample {
    fn parts(&self, configuration_idx: usize) -> Parts {
        Parts {
            n_starts: self.n_starts,
            by_rules_ms: self.by_rules_ms[configuration_idx],
            on_host_ms: self.on_host_ms,
            measured_ms: self.measured_ms,
        }
    }
}

#[derive(Clone, Copy)]
struct Parts {
    n_starts: f64,
    by_rules_ms: f64,
    on_host_ms: f64,
    measured_ms: f64,
}

impl Parts {
    /// What the NPU takes of the measured latency.
    fn npu_ms(&self) -> f64 {
        (self.measured_ms - self.on_host_ms).max(f64::MIN_POSITIVE)
    }

    /// With these constants of [`fit`].
    fn estimate_ms(&self, [least_ms, factor]: [f64; 2]) -> f64 {
        (least_ms * self.n_starts).max(factor * self.by_rules_ms) + self.on_host_ms
    }
}

/// Rounds after which no network of a handful changes sides.
const MAX_ROUNDS: usize = 20;

pub fn run(args: &FitSiliconArgs) -> Result<()> {
    let board = boards::by_id(BOARD).context("expected the board in the list")?;
    let own = board.npu_configuration()?;
    let ini = match &args.vela_ini {
        Some(path) => &VelaIni::parse(&fs::read(path)?)?,
        None => VelaIni::shipped(),
    };
    let mut configurations = vec![own.clone()];
    for pair in &args.beside {
        let (system, mode) = pair.split_once(',').context("expected SYSTEM,MODE")?;
        configurations.push(Configuration::read(own.product, ini, system, mode)?);
    }
    let samples = samples(args, &configurations)?;
    for (idx, configuration) in configurations.iter().enumerate() {
        let parts: Vec<Parts> = samples.iter().map(|sample| sample.parts(idx)).collect();
        println!("\n{}\n{}", configuration.in_words(), text(&samples, &parts));
    }
    let parts: Vec<Parts> = samples.iter().map(|sample| sample.parts(0)).collect();
    let [least_ms, factor] = fit(&parts);
    let errors = left_out(&parts);
    let log_errors: Vec<(f64, &str)> = (errors.iter().zip(&samples))
        .map(|((estimate_ms, measured_ms), sample)| {
            ((estimate_ms / measured_ms).ln().abs(), sample.name)
        })
        .collect();
    let interval_factor = rounded(factor_of_groups(&log_errors));
    let n_inside = log_errors
        .iter()
        .filter(|(error, _)| error.exp() <= interval_factor)
        .count();
    let mut percents: Vec<f64> = (errors.iter())
        .map(|(estimate_ms, measured_ms)| 100.0 * (estimate_ms / measured_ms - 1.0).abs())
        .collect();
    percents.sort_by(f64::total_cmp);
    let measured = MeasuredBoard {
        board: BOARD.into(),
        least_ms: rounded(least_ms),
        factor: rounded(factor),
        left_out: LeftOut {
            mean_percent: rounded(percents.iter().sum::<f64>() / percents.len() as f64),
            median_percent: rounded(median(&percents)),
            worst_percent: rounded(percents[percents.len() - 1]),
            interval_factor,
            n_inside,
        },
        networks: (samples.iter().zip(&parts))
            .map(|(sample, parts)| MeasuredNetwork {
                name: sample.name.into(),
                ratio: rounded(parts.measured_ms / (parts.by_rules_ms + parts.on_host_ms)),
            })
            .collect(),
        source: SOURCE.into(),
    };
    println!(
        "median error {:.1} %, mean {:.1} %, worst {:.1} %; interval times and over {interval_factor:.2}, which holds \
         {n_inside} of {}",
        measured.left_out.median_percent,
        measured.left_out.mean_percent,
        measured.left_out.worst_percent,
        samples.len()
    );
    let text = serde_json::to_string_pretty(&[measured])? + "\n";
    fs::write(&args.out, text).with_context(|| format!("could not write {}", args.out.display()))
}

fn samples(args: &FitSiliconArgs, configurations: &[Configuration]) -> Result<Vec<Sample>> {
    ensure!(
        args.measured.is_file(),
        "no {}: the measured latencies are not part of this repository and lie in `shared/data` beside it",
        args.measured.display()
    );
    let open = || format!("could not read {}", args.measured.display());
    let mut reader = csv::Reader::from_path(&args.measured).with_context(open)?;
    let lines: Vec<Line> = reader
        .deserialize()
        .collect::<Result<_, _>>()
        .with_context(open)?;
    let accelerators: Vec<Accelerator> = configurations.iter().map(Accelerator::of).collect();
    let mut samples = Vec::new();
    for (name, origin) in NETWORKS {
        let mut latencies: Vec<f64> = (lines.iter())
            .filter(|line| line.platform == "i.MX 93" && line.accelerator == "NPU")
            .filter(|line| line.network == *name)
            .map(|line| line.latency_ms)
            .collect();
        ensure!(
            !latencies.is_empty(),
            "{name}: expected a measured latency, found none"
        );
        latencies.sort_by(f64::total_cmp);
        let bytes = bytes(origin, &args.files)?;
        let model = tflite::parse(&bytes)?;
        let graph = graph::build(&model, 0)?;
        let analysis = analyze(&graph);
        let totals: Vec<Totals> = (accelerators.iter())
            .map(|accelerator| Totals::of(accelerator, &graph, &analysis))
            .collect();
        let network = Network::new(&graph, &analysis);
        let left: Vec<usize> = (left_to_cpu(&network, Npu::EthosU55U65).iter())
            .map(|operator| operator.node_idx)
            .collect();
        let host = ethos_u::usual_host(Family::U65, None).context("expected the host's costs")?;
        let on_host = host.latency(&network, &left);
        let on_host = on_host.map_err(|reason| anyhow::anyhow!("{name}: {reason}"))?;
        samples.push(Sample {
            name,
            measured_ms: median(&latencies),
            n_starts: totals[0].n_starts as f64,
            by_rules_ms: totals.iter().map(|totals| totals.latency_ms).collect(),
            on_host_ms: on_host.value_ms,
        });
    }
    Ok(samples)
}

fn bytes(origin: &Origin, folders: &[PathBuf]) -> Result<Vec<u8>> {
    match origin {
        Origin::File(name) => {
            let paths = folders.iter().map(|folder| folder.join(name));
            let path = paths.clone().find(|path| Path::is_file(path));
            let path = path.with_context(|| format!("expected {name} in one of the folders"))?;
            fs::read(&path).with_context(|| path.display().to_string())
        }
        Origin::Published(name, side) => {
            let network = network(name, *side).with_context(|| {
                format!("expected a network of `spaces::published`, found `{name}`")
            })?;
            Ok(to_tflite(&network, WEIGHT_SEED, Precision::Int8))
        }
    }
}

/// Fits the least time of a start of the NPU, in ms, and a factor of the rules' latency that minimise the sum of squared
/// errors relative to the measured latencies. Of equally good least times, the shortest.
fn fit(all: &[Parts]) -> [f64; 2] {
    let candidates = all.iter().map(|parts| parts.npu_ms() / parts.n_starts);
    let fits = [0.0].into_iter().chain(candidates).map(|least_ms| {
        let factor = factor_above(all, least_ms);
        let error = |parts: &Parts| parts.estimate_ms([least_ms, factor]) / parts.measured_ms - 1.0;
        let loss: f64 = all.iter().map(|parts| error(parts).powi(2)).sum();
        (loss, [least_ms, factor])
    });
    let mut fits: Vec<(f64, [f64; 2])> = fits.collect();
    fits.sort_by(|(a, [first, _]), (b, [second, _])| a.total_cmp(b).then(first.total_cmp(second)));
    fits[0].1
}

/// The factor of the networks that take longer than the least time; which these are depends on the factor.
fn factor_above(all: &[Parts], least_ms: f64) -> f64 {
    let mut factor = 0.0;
    for _ in 0..MAX_ROUNDS {
        let is_above = |parts: &&Parts| {
            factor == 0.0 || factor * parts.by_rules_ms > least_ms * parts.n_starts
        };
        // What the host takes is no part of the fit.
        let row = |parts: &Parts| Row {
            weight: (parts.npu_ms() / parts.measured_ms).powi(2),
            ..Row::of([parts.by_rules_ms / parts.npu_ms()])
        };
        let rows: Vec<Row<1>> = all.iter().filter(is_above).map(row).collect();
        let [next] = non_negative_weighted(&rows, [0.0]);
        if next == factor {
            break;
        }
        factor = next;
    }
    factor
}

/// Pairs (estimate with constants fitted to the other networks, measured), in ms.
fn left_out(all: &[Parts]) -> Vec<(f64, f64)> {
    let one = |idx: usize| {
        let mut others = all.to_vec();
        let parts = others.remove(idx);
        (parts.estimate_ms(fit(&others)), parts.measured_ms)
    };
    (0..all.len()).map(one).collect()
}

fn text(samples: &[Sample], all: &[Parts]) -> String {
    let head = [
        Head::text("network"),
        Head::number("measured ms"),
        Head::number("rules ms"),
        Head::number("starts"),
        Head::number("host ms"),
        Head::number("measured / sum"),
        Head::number("left out"),
    ];
    let [least_ms, factor] = fit(all);
    let rows = samples.iter().zip(all).zip(left_out(all));
    let rows = rows.map(|((sample, parts), (estimate_ms, _))| {
        let Parts {
            n_starts,
            by_rules_ms,
            on_host_ms,
            measured_ms,
        } = parts;
        vec![
            sample.name.to_owned(),
            format!("{measured_ms:.2}"),
            format!("{by_rules_ms:.3}"),
            n_starts.to_string(),
            format!("{on_host_ms:.3}"),
            format!("{:.2}", measured_ms / (by_rules_ms + on_host_ms)),
            format!("{:+.1} %", 100.0 * (estimate_ms / measured_ms - 1.0)),
        ]
    });
    format!(
        "{factor:.3} · rules, at least {least_ms:.3} ms a start, + host\n{}",
        table(&head, rows)
    )
}

/// Median of sorted values, of which there must be at least one.
fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

/// Four significant digits, which is more than the latencies have.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}")
        .parse()
        .expect("a printed number is one")
}
