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
use litecast::targets::ethos_u::silicon::{
    LeftOut, MeasuredBoard, MeasuredNetwork, Silicon, UnmeasuredBoardFit,
};
use litecast::targets::ethos_u::support::{Npu, left_to_cpu};
use litecast::targets::ethos_u::totals::Totals;
use litecast::targets::{Network, boards, ethos_u};
use serde::Deserialize;

use crate::markdown::{heads, table};
use crate::metrics::{factor_of_groups, four_digits, median};
use crate::spaces::published::{WEIGHT_SEED, network};
use crate::writer::{Precision, to_tflite};

/// Fits what boards take beyond the compiler's estimate.
#[derive(Clone, Debug, clap::Args)]
pub struct FitSiliconArgs {
    /// Table of latencies measured by NXP.
    #[arg(long, default_value = "../shared/data/ethos_u/nxp_eiq_measured.csv")]
    pub measured: PathBuf,
    /// Table of latencies on other boards, and of networks that NXP's table lacks.
    #[arg(
        long,
        default_value = "../shared/data/ethos_u/silicon_and_fast_model.csv"
    )]
    pub more_measured: PathBuf,
    /// Folders that have the measured files.
    #[arg(long, default_values = ["../shared/models", "../shared/models-mcu"])]
    pub files: Vec<PathBuf>,
    /// System configurations and memory modes to compare besides the board's own: a file as Vela reads it,
    /// and `SYSTEM,MODE` pairs of its sections, or of those that Vela knows.
    #[arg(long)]
    pub vela_ini: Option<PathBuf>,
    /// System configurations and memory modes whose estimates are printed beside those of the board.
    #[arg(long, value_name = "SYSTEM,MODE")]
    pub beside: Vec<String>,
    /// File for the constants.
    #[arg(long, default_value = "src/targets/ethos_u/silicon.json")]
    pub out: PathBuf,
}

const BOARD: &str = "imx93";
const SOURCE: &str = "NXP's model zoo (github.com/NXP/eiq-model-zoo), benchmark_model with the Ethos-U \
                      delegate on i.MX 93, Ethos-U65-256 at 1 GHz";

/// A board of the table of which one network can be rebuilt.
struct FewBoard {
    /// Its id in the list of boards, and its name in the table.
    board: [&'static str; 2],
    /// End of the source in the table.
    source: &'static str,
    measurer: &'static str,
    network: &'static str,
    side: i32,
}

/// The transformer beside the ResNet-50 cannot be rebuilt, nor can the face detector beside the MobileNet, which is what
/// Renesas' `generate_IC_model_tflite.py` asks of Keras, and whose latency is in whole milliseconds.
const FEW_BOARDS: &[FewBoard] = &[
    FewBoard {
        board: ["alif-e8-kit", "Alif DK-E8"],
        source: "huggingface.co/Arm/resnet-50-int8-per-channel-ethos-u-executorch",
        measurer: "Arm",
        network: "ResNet-50 V1",
        side: 224,
    },
    FewBoard {
        board: ["ek-ra8p1", "Renesas EK-RA8P1"],
        source: "application_examples/image_classification/README.md",
        measurer: "Renesas",
        network: "MobileNet v1 0.25",
        side: 224,
    },
];

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
    ("visual-wake-word", Origin::File("tiny__vww_96_int8.tflite")),
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

/// A row of the table of other boards.
#[derive(Deserialize)]
struct BoardLine {
    board: String,
    /// A number, or words.
    measured_ms: String,
    source: String,
}

/// One network: its name, its measured latency, and what it is made of.
struct BoardMeasurement {
    name: &'static str,
    measured_ms: f64,
    /// By configuration, the NPU's part by the rules.
    by_rules_ms: Vec<f64>,
    n_starts: f64,
    /// Of the operators that the NPU leaves to the board's processor.
    on_host_ms: f64,
}

impl BoardMeasurement {
    fn parts(&self, configuration_idx: usize) -> LatencyParts {
        LatencyParts {
            n_starts: self.n_starts,
            by_rules_ms: self.by_rules_ms[configuration_idx],
            on_host_ms: self.on_host_ms,
            measured_ms: self.measured_ms,
        }
    }
}

#[derive(Clone, Copy)]
struct LatencyParts {
    n_starts: f64,
    by_rules_ms: f64,
    on_host_ms: f64,
    measured_ms: f64,
}

impl LatencyParts {
    /// What the NPU takes of the measured latency.
    fn npu_ms(&self) -> f64 {
        (self.measured_ms - self.on_host_ms).max(f64::MIN_POSITIVE)
    }

    /// With these constants of [`fit`].
    fn estimate_ms(&self, [start_ms, factor]: [f64; 2]) -> f64 {
        start_ms * self.n_starts + factor * self.by_rules_ms + self.on_host_ms
    }

    /// What the NPU takes beyond `factor` · latency by the rules, for each start.
    fn start_ms(&self, factor: f64) -> f64 {
        ((self.npu_ms() - factor * self.by_rules_ms) / self.n_starts).max(0.0)
    }
}

/// Networks whose NPU takes less tell the time of starts, and the others the factor: a start is some tenths of it.
const SMALL_MS: f64 = 1.0;

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &FitSiliconArgs) -> Result<()> {
    let board = boards::by_id(BOARD).context("expected the board in the list")?;
    let configurations = configurations(args, &board.npu_configuration()?)?;
    let samples = samples(args, &configurations)?;
    for (idx, configuration) in configurations.iter().enumerate() {
        let parts: Vec<LatencyParts> = samples.iter().map(|sample| sample.parts(idx)).collect();
        println!("\n{}\n{}", configuration.in_words(), text(&samples, &parts));
    }
    let parts: Vec<LatencyParts> = samples.iter().map(|sample| sample.parts(0)).collect();
    let measured = measured_board(&samples, &parts);
    print_errors(&measured.errors(), samples.len());
    let few = FEW_BOARDS.iter();
    let few = few.map(|few| with_one_network(few, args, &measured));
    let few = few.collect::<Result<Vec<MeasuredBoard>>>()?;
    let mut ratios = vec![BoardRatios::of_large_networks(&measured, &parts)];
    ratios.extend(few.iter().map(BoardRatios::of_one_network));
    let boards: Vec<MeasuredBoard> = [vec![measured], few].concat();
    let elsewhere = fit_for_unmeasured_boards(&ratios);
    println!("elsewhere {elsewhere:?}");
    print_boards_left_out(&ratios);
    let silicon = Silicon { boards, elsewhere };
    let text = serde_json::to_string_pretty(&silicon)? + "\n";
    fs::write(&args.out, text).with_context(|| format!("could not write {}", args.out.display()))
}

/// The fit of the board, with its errors on networks that it was not fitted to.
fn measured_board(samples: &[BoardMeasurement], parts: &[LatencyParts]) -> MeasuredBoard {
    let [start_ms, factor] = fit(parts);
    let errors = left_out(parts);
    let log_errors: Vec<(f64, &str)> = (errors.iter().zip(samples))
        .filter(|(left, sample)| left.measured_ms - sample.on_host_ms >= SMALL_MS)
        .map(|(left, sample)| {
            (
                (left.estimate_ms / left.measured_ms).ln().abs(),
                sample.name,
            )
        })
        .collect();
    let interval_factor = four_digits(factor_of_groups(&log_errors));
    let n_inside = errors
        .iter()
        .filter(|left| left.is_inside(interval_factor))
        .count();
    let mut percents: Vec<f64> = (errors.iter())
        .map(|left| 100.0 * (left.estimate_ms / left.measured_ms - 1.0).abs())
        .collect();
    percents.sort_by(f64::total_cmp);
    MeasuredBoard {
        board: BOARD.into(),
        start_ms: four_digits(start_ms),
        start_range_ms: start_range(parts, factor).map(four_digits),
        factor: four_digits(factor),
        left_out: Some(LeftOut {
            mean_percent: four_digits(percents.iter().sum::<f64>() / percents.len() as f64),
            median_percent: four_digits(median(&mut percents)),
            worst_percent: four_digits(percents[percents.len() - 1]),
            interval_factor,
            n_inside,
        }),
        networks: (samples.iter().zip(parts))
            .map(|(sample, parts)| MeasuredNetwork {
                name: sample.name.into(),
                ratio: four_digits(parts.measured_ms / (parts.by_rules_ms + parts.on_host_ms)),
            })
            .collect(),
        source: SOURCE.into(),
    }
}

/// A board on which one network of the table can be rebuilt, which is too few for constants of its own: with the starts of
/// `other`, and the network's ratio as its factor.
fn with_one_network(
    few: &FewBoard,
    args: &FitSiliconArgs,
    other: &MeasuredBoard,
) -> Result<MeasuredBoard> {
    let [id, name] = few.board;
    let board = boards::by_id(id).context("expected the board in the list")?;
    let lines = more_lines(args)?;
    let is_line = |line: &&BoardLine| line.board == name && line.source.ends_with(few.source);
    let line = lines.iter().find(is_line);
    let line = line.with_context(|| format!("expected {} on {name}", few.source))?;
    let measured_ms: f64 = line.measured_ms.parse()?;
    let bytes = bytes(&Origin::Published(few.network, few.side), &args.files)?;
    let model = tflite::parse(&bytes)?;
    let graph = graph::build(&model, 0)?;
    let accelerator = Accelerator::new(&board.npu_configuration()?);
    let by_rules_ms = Totals::new(&accelerator, &graph, &analyze(&graph)).latency_ms;
    let ratio = four_digits(measured_ms / by_rules_ms);
    Ok(MeasuredBoard {
        board: id.into(),
        factor: ratio,
        left_out: None,
        networks: vec![MeasuredNetwork {
            name: format!("{} {}", few.network, few.side),
            ratio,
        }],
        source: format!("{name}, {} ({})", few.measurer, line.source),
        ..other.clone()
    })
}

/// What the NPU takes on a board, relative to the rules.
#[derive(Clone)]
struct BoardRatios {
    board: String,
    /// Logarithm of the board's factor.
    log: f64,
    /// Logarithms of networks' own factors.
    of_networks: Vec<f64>,
}

impl BoardRatios {
    fn of_large_networks(board: &MeasuredBoard, parts: &[LatencyParts]) -> Self {
        let large = parts.iter().filter(|parts| parts.npu_ms() >= SMALL_MS);
        let ratios = large.map(|parts| {
            let work_ms = parts.npu_ms() - board.start_ms * parts.n_starts;
            (work_ms / parts.by_rules_ms).ln()
        });
        Self {
            board: board.board.clone(),
            log: board.factor.ln(),
            of_networks: ratios.collect(),
        }
    }

    fn of_one_network(board: &MeasuredBoard) -> Self {
        Self {
            board: board.board.clone(),
            log: board.factor.ln(),
            of_networks: vec![board.factor.ln()],
        }
    }
}

/// The mean of the boards, and an interval from what the networks of each board are off by from the mean of the others.
fn fit_for_unmeasured_boards(boards: &[BoardRatios]) -> UnmeasuredBoardFit {
    let mean_without = |out: Option<&str>| {
        let logs = boards
            .iter()
            .filter(|board| Some(board.board.as_str()) != out);
        let logs: Vec<f64> = logs.map(|board| board.log).collect();
        logs.iter().sum::<f64>() / logs.len() as f64
    };
    let errors = boards.iter().flat_map(|board| {
        let name = board.board.as_str();
        let mean = mean_without(Some(name));
        let networks = board.of_networks.iter();
        networks.map(move |log| (log - mean, name))
    });
    let errors: Vec<(f64, &str)> = errors.collect();
    UnmeasuredBoardFit {
        factor: four_digits(mean_without(None).exp()),
        interval_factor: four_digits(factor_of_groups(&errors)),
    }
}

/// Prints what the interval that is made without a board holds of its networks.
fn print_boards_left_out(boards: &[BoardRatios]) {
    for (idx, board) in boards.iter().enumerate() {
        let mut others = boards.to_vec();
        others.remove(idx);
        let fit = fit_for_unmeasured_boards(&others);
        let is_inside = |log: &&f64| (**log - fit.factor.ln()).abs() <= fit.interval_factor.ln();
        println!(
            "{}: {:.2} times the rules; without it {:.2}, times and over {:.2}, which holds {} of {}",
            board.board,
            board.log.exp(),
            fit.factor,
            fit.interval_factor,
            board.of_networks.iter().filter(is_inside).count(),
            board.of_networks.len()
        );
    }
}

fn more_lines(args: &FitSiliconArgs) -> Result<Vec<BoardLine>> {
    let more = || format!("could not read {}", args.more_measured.display());
    let lines = csv::Reader::from_path(&args.more_measured)
        .with_context(more)?
        .deserialize()
        .collect::<Result<_, _>>();
    lines.with_context(more)
}

/// The configuration of the board, then those that stand beside it.
fn configurations(args: &FitSiliconArgs, of_board: &Configuration) -> Result<Vec<Configuration>> {
    let ini = match &args.vela_ini {
        Some(path) => &VelaIni::parse(&fs::read(path)?)?,
        None => VelaIni::shipped(),
    };
    let mut configurations = vec![of_board.clone()];
    for pair in &args.beside {
        let (system, mode) = pair.split_once(',').context("expected SYSTEM,MODE")?;
        configurations.push(Configuration::read(of_board.product, ini, system, mode)?);
    }
    Ok(configurations)
}

fn print_errors(left_out: &LeftOut, n_samples: usize) {
    println!(
        "median error {:.1} %, mean {:.1} %, worst {:.1} %; interval times and over {:.2}, which holds \
         {} of {}",
        left_out.median_percent,
        left_out.mean_percent,
        left_out.worst_percent,
        left_out.interval_factor,
        left_out.n_inside,
        n_samples
    );
}

fn samples(
    args: &FitSiliconArgs,
    configurations: &[Configuration],
) -> Result<Vec<BoardMeasurement>> {
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
    let more_lines = more_lines(args)?;
    let accelerators: Vec<Accelerator> = configurations.iter().map(Accelerator::new).collect();
    let mut samples = Vec::new();
    for (name, origin) in NETWORKS {
        let mut latencies = measured_latencies_ms(&lines, &more_lines, name)?;
        let bytes = bytes(origin, &args.files)?;
        let model = tflite::parse(&bytes)?;
        let graph = graph::build(&model, 0)?;
        let analysis = analyze(&graph);
        let totals: Vec<Totals> = (accelerators.iter())
            .map(|accelerator| Totals::new(accelerator, &graph, &analysis))
            .collect();
        let network = Network::new(&graph, &analysis);
        let left: Vec<usize> = (left_to_cpu(&network, Npu::EthosU55U65).iter())
            .map(|operator| operator.node_idx)
            .collect();
        let host = ethos_u::usual_host(Family::U65, None).context("expected the host's costs")?;
        let on_host = host.latency(&network, &left);
        let on_host = on_host.map_err(|reason| anyhow::anyhow!("{name}: {reason}"))?;
        samples.push(BoardMeasurement {
            name,
            measured_ms: median(&mut latencies),
            n_starts: totals[0].n_starts as f64,
            by_rules_ms: totals.iter().map(|totals| totals.latency_ms).collect(),
            on_host_ms: on_host.value_ms,
        });
    }
    Ok(samples)
}

/// Latencies of a network on the board's NPU, in ascending order.
fn measured_latencies_ms(lines: &[Line], more_lines: &[BoardLine], name: &str) -> Result<Vec<f64>> {
    let mut latencies: Vec<f64> = (lines.iter())
        .filter(|line| line.platform == "i.MX 93" && line.accelerator == "NPU")
        .filter(|line| line.network == name)
        .map(|line| line.latency_ms)
        .collect();
    if latencies.is_empty() {
        let more = more_lines.iter().filter(|line| line.board == "i.MX 93");
        let of_network = more.filter(|line| line.source.ends_with(&format!("/{name}")));
        latencies.extend(of_network.filter_map(|line| line.measured_ms.parse::<f64>().ok()));
    }
    ensure!(
        !latencies.is_empty(),
        "{name}: expected a measured latency, found none"
    );
    latencies.sort_by(f64::total_cmp);
    Ok(latencies)
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

/// Fits the time of a start of the NPU, in ms, and a factor of the rules' latency that minimise the sum of absolute
/// logarithmic errors, of which one unusual network is a part as large as its error alone.
fn fit(all: &[LatencyParts]) -> [f64; 2] {
    let factors = all.iter().map(|parts| parts.npu_ms() / parts.by_rules_ms);
    // The sum of absolute errors has its minimum where it is 0 for two networks, or for one without starts.
    let pairs = all
        .iter()
        .flat_map(|one| all.iter().map(move |other| (one, other)));
    let through_two = pairs.filter_map(|(one, other)| {
        let determinant = one.n_starts * other.by_rules_ms - other.n_starts * one.by_rules_ms;
        let start_ms =
            (one.npu_ms() * other.by_rules_ms - other.npu_ms() * one.by_rules_ms) / determinant;
        let factor = (one.n_starts * other.npu_ms() - other.n_starts * one.npu_ms()) / determinant;
        (start_ms >= 0.0 && factor > 0.0 && start_ms.is_finite()).then_some([start_ms, factor])
    });
    let candidates: Vec<[f64; 2]> = through_two
        .chain(factors.map(|factor| [0.0, factor]))
        .collect();
    let loss = |constants: &[f64; 2]| -> f64 {
        let errors = all.iter();
        errors
            .map(|parts| {
                (parts.estimate_ms(*constants) / parts.measured_ms)
                    .ln()
                    .abs()
            })
            .sum()
    };
    let best = candidates
        .into_iter()
        .min_by(|a, b| loss(a).total_cmp(&loss(b)));
    best.unwrap_or([0.0, 1.0])
}

/// The times of a start that the small networks tell.
fn start_range(all: &[LatencyParts], factor: f64) -> [f64; 2] {
    let small = all.iter().filter(|parts| parts.npu_ms() < SMALL_MS);
    let starts = small.map(|parts| parts.start_ms(factor));
    starts.fold([f64::MAX, 0.0], |[lo, hi], start| {
        [start.min(lo), start.max(hi)]
    })
}

/// One network with constants that are fitted to the others.
struct LeftOutNetwork {
    parts: LatencyParts,
    factor: f64,
    start_range_ms: [f64; 2],
    estimate_ms: f64,
    measured_ms: f64,
}

impl LeftOutNetwork {
    fn is_inside(&self, interval_factor: f64) -> bool {
        let end =
            |start_ms: f64, width: f64| self.parts.estimate_ms([start_ms, self.factor * width]);
        let [lo_ms, hi_ms] = self.start_range_ms;
        (end(lo_ms, 1.0 / interval_factor)..=end(hi_ms, interval_factor))
            .contains(&self.measured_ms)
    }
}

fn left_out(all: &[LatencyParts]) -> Vec<LeftOutNetwork> {
    let one = |idx: usize| {
        let mut others = all.to_vec();
        let parts = others.remove(idx);
        let [start_ms, factor] = fit(&others);
        LeftOutNetwork {
            parts,
            factor,
            start_range_ms: start_range(&others, factor),
            estimate_ms: parts.estimate_ms([start_ms, factor]),
            measured_ms: parts.measured_ms,
        }
    };
    (0..all.len()).map(one).collect()
}

fn text(samples: &[BoardMeasurement], all: &[LatencyParts]) -> String {
    let head = heads(
        "network",
        "measured ms | rules ms | starts | host ms | measured / sum | left out",
    );
    let [start_ms, factor] = fit(all);
    let rows = samples.iter().zip(all).zip(left_out(all));
    let rows = rows.map(|((sample, parts), left)| {
        let LatencyParts {
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
            format!("{:+.1} %", 100.0 * (left.estimate_ms / measured_ms - 1.0)),
        ]
    });
    format!(
        "{factor:.3} · rules + {start_ms:.3} ms a start + host\n{}",
        table(&head, rows)
    )
}
