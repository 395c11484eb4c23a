//! `litecast-trainer fit-silicon`: latencies that others measured on boards with an Ethos-U, beside the
//! compiler's rules, and the constants of `litecast::targets::ethos_u::silicon`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::formats::tflite;
use litecast::graph::{self, analysis::analyze};
use litecast::targets::boards;
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast::targets::ethos_u::configuration::{Configuration, VelaIni};
use litecast::targets::ethos_u::silicon::{LeftOut, MeasuredBoard, MeasuredNetwork};
use litecast::targets::ethos_u::totals::Totals;
use serde::Deserialize;

use crate::least_squares::non_negative;
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

/// One network: its name, its measured latency, and the estimates of the rules in each configuration.
struct Sample {
    name: &'static str,
    measured_ms: f64,
    by_rules_ms: Vec<f64>,
}

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
        let pairs: Vec<[f64; 2]> = (samples.iter())
            .map(|sample| [sample.by_rules_ms[idx], sample.measured_ms])
            .collect();
        println!("\n{}\n{}", configuration.in_words(), text(&samples, &pairs));
    }
    let pairs: Vec<[f64; 2]> = (samples.iter())
        .map(|sample| [sample.by_rules_ms[0], sample.measured_ms])
        .collect();
    let [fixed_ms, factor] = fit(&pairs);
    let errors = left_out(&pairs);
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
        fixed_ms: rounded(fixed_ms),
        factor: rounded(factor),
        left_out: LeftOut {
            mean_percent: rounded(percents.iter().sum::<f64>() / percents.len() as f64),
            median_percent: rounded(median(&percents)),
            worst_percent: rounded(percents[percents.len() - 1]),
            interval_factor,
            n_inside,
        },
        networks: (samples.iter().zip(&pairs))
            .map(|(sample, [by_rules_ms, measured_ms])| MeasuredNetwork {
                name: sample.name.into(),
                ratio: rounded(measured_ms / by_rules_ms),
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
        let by_rules_ms = accelerators
            .iter()
            .map(|accelerator| Totals::of(accelerator, &graph, &analysis).latency_ms);
        samples.push(Sample {
            name,
            measured_ms: median(&latencies),
            by_rules_ms: by_rules_ms.collect(),
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

/// Fits a fixed time in ms and a factor of the rules' latency, neither below 0, that minimise the sum of squared relative
/// errors.
fn fit(pairs: &[[f64; 2]]) -> [f64; 2] {
    let rows: Vec<[f64; 2]> = (pairs.iter())
        .map(|[by_rules_ms, measured_ms]| [1.0 / measured_ms, by_rules_ms / measured_ms])
        .collect();
    non_negative(&rows)
}

/// Pairs (estimate with constants fitted to the other networks, measured), in ms.
fn left_out(pairs: &[[f64; 2]]) -> Vec<(f64, f64)> {
    let one = |idx: usize| {
        let mut others = pairs.to_vec();
        let [by_rules_ms, measured_ms] = others.remove(idx);
        let [fixed_ms, factor] = fit(&others);
        (fixed_ms + factor * by_rules_ms, measured_ms)
    };
    (0..pairs.len()).map(one).collect()
}

fn text(samples: &[Sample], pairs: &[[f64; 2]]) -> String {
    let head = [
        Head::text("network"),
        Head::number("measured ms"),
        Head::number("rules ms"),
        Head::number("measured / rules"),
        Head::number("left out"),
    ];
    let [fixed_ms, factor] = fit(pairs);
    let rows = samples.iter().zip(pairs).zip(left_out(pairs));
    let rows = rows.map(|((sample, [by_rules_ms, measured_ms]), (estimate_ms, _))| {
        vec![
            sample.name.to_owned(),
            format!("{measured_ms:.2}"),
            format!("{by_rules_ms:.3}"),
            format!("{:.2}", measured_ms / by_rules_ms),
            format!("{:+.1} %", 100.0 * (estimate_ms / measured_ms - 1.0)),
        ]
    });
    format!(
        "{fixed_ms:.3} ms + {factor:.3} · rules\n{}",
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
