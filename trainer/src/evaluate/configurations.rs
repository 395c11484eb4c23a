//! `litecast-trainer evaluate-configurations`: Vela's rules, as the engine reproduces them, against Vela
//! in configurations that no network was trained on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use litecast::graph::analysis::analyze;
use litecast::targets::Metric;
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast::targets::ethos_u::configuration::Configuration;
use litecast::targets::ethos_u::totals::Totals;

use super::files::tflite_files;
use crate::labels::record::{Label, Outcome};
use crate::labels::target::Target;
use crate::labels::vela::{Vela, VelaLabel};
use crate::labels::worker::Worker;
use crate::markdown::{Head, table};
use crate::spaces::{self, Space};
use crate::targets::ethos_u::sets::Set;
use crate::targets::ethos_u::setup::Setup;

/// Of one graph in one configuration.
const LIMIT: Duration = Duration::from_secs(120);

/// Labels sampled networks and files with Vela in every configuration, and measures the rules.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateConfigurationsArgs {
    /// Networks of each design space.
    #[arg(long, default_value_t = 10)]
    pub count: u64,
    #[arg(long, default_value_t = 11)]
    pub seed: u64,
    /// Folders with real files, which count apart.
    #[arg(long)]
    pub files: Vec<PathBuf>,
    /// Which configurations.
    #[arg(long = "set", value_enum, default_value_t = Set::Named)]
    pub set: Set,
    /// Compare each configuration on so many of the networks, taken in turn, instead of all.
    #[arg(long)]
    pub networks_each: Option<usize>,
    /// Interpreter that has the packages of `trainer/python/requirements.txt`.
    #[arg(long, default_value = ".venv/bin/python")]
    pub python: PathBuf,
    /// Table, as Markdown.
    #[arg(long, default_value = "trainer/results/configurations.md")]
    pub out: PathBuf,
}

/// What is compared.
const METRICS: [Metric; 4] = [
    Metric::Latency,
    Metric::SramPeak,
    Metric::OffchipTraffic,
    Metric::SramTraffic,
];

/// Estimates and labels of one graph, by [`METRICS`].
type Pair = [(f64, f64); METRICS.len()];

/// Accelerator and configuration in words, pairs of sampled networks and of files, and graphs that were left out.
type Group<'p> = ([String; 2], &'p [Vec<Pair>; 2], usize);

/// A graph's bytes, and whether it is a real file.
struct Example {
    bytes: Vec<u8>,
    is_file: bool,
}

pub fn run(args: &EvaluateConfigurationsArgs) -> Result<()> {
    let vela = Vela {
        python: args.python.clone(),
    };
    let setups = args.set.setups(args.seed)?;
    let targets: Vec<Target> = setups.iter().map(Setup::vela_target).collect();
    let configurations: Vec<Configuration> =
        (setups.into_iter().map(|setup| setup.configuration)).collect();
    let accelerators: Vec<Accelerator> = configurations.iter().map(Accelerator::of).collect();
    let examples = examples(args)?;
    let mut worker = Worker::start(&vela, &targets)?;
    let mut pairs: Vec<[Vec<Pair>; 2]> = vec![Default::default(); targets.len()];
    let mut n_left_out = vec![0; targets.len()];
    // Every so many-th pair of a network and a configuration, so that each configuration has others.
    let step = args
        .networks_each
        .map_or(1, |n| (examples.len() / n.max(1)).max(1));
    for (example_idx, example) in examples.iter().enumerate() {
        let planned = totals(&example.bytes, &accelerators)?;
        for (idx, totals) in planned.iter().enumerate() {
            if (example_idx + idx) % step != 0 {
                continue;
            }
            let answer = worker.label(idx, &example.bytes, LIMIT);
            if !answer.leaves_worker_alive() {
                worker = Worker::start(&vela, &targets)?;
            }
            match &answer.outcome {
                // What stays on the CPU costs nothing in the compiler's totals.
                Outcome::Ok(Label::Vela(label)) if label.n_cpu_operators == 0 => {
                    pairs[idx][usize::from(example.is_file)].push(pair(totals, label));
                }
                _ => n_left_out[idx] += 1,
            }
        }
    }
    let text = markdown(&configurations, &pairs, &n_left_out);
    println!("{text}");
    fs::write(&args.out, text).with_context(|| args.out.display().to_string())
}

fn examples(args: &EvaluateConfigurationsArgs) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for space in Space::all() {
        for index in 0..args.count {
            examples.push(Example {
                bytes: spaces::sample(space, args.seed, index).to_tflite(),
                is_file: false,
            });
        }
    }
    for folder in &args.files {
        let files = tflite_files(folder)?.into_iter();
        let files = files.filter(|(_, bytes)| litecast::formats::tflite::parse(bytes).is_ok());
        examples.extend(files.map(|(_, bytes)| Example {
            bytes,
            is_file: true,
        }));
    }
    Ok(examples)
}

/// In each configuration.
fn totals(bytes: &[u8], accelerators: &[Accelerator]) -> Result<Vec<Totals<'static>>> {
    let model = litecast::formats::tflite::parse(bytes).map_err(|error| anyhow!("{error}"))?;
    let graph = litecast::graph::build(&model, 0).map_err(|error| anyhow!("{error}"))?;
    let analysis = analyze(&graph);
    let accelerators = accelerators.iter();
    Ok(accelerators
        .map(|accelerator| Totals::of(accelerator, &graph, &analysis))
        .collect())
}

fn pair(totals: &Totals, label: &VelaLabel) -> Pair {
    let sram = label.memories.get("Sram");
    let sram_bytes = sram.map_or(0, |sram| sram.read_bytes + sram.written_bytes);
    [
        (totals.latency_ms, label.latency_ms),
        (totals.sram_peak_bytes, label.sram_peak_bytes as f64),
        (
            totals.offchip_traffic_bytes,
            label.offchip_traffic_bytes as f64,
        ),
        (totals.sram_traffic_bytes, sram_bytes as f64),
    ]
}

/// Mean, median, 90th and 95th percentile over the pairs with a label: one of 0 has no relative error.
fn percents(pairs: &[(f64, f64)]) -> Option<[f64; 4]> {
    let labelled = pairs.iter().filter(|(_, label)| *label > 0.0);
    let mut percents: Vec<f64> = labelled
        .map(|(found, label)| 100.0 * (found / label - 1.0).abs())
        .collect();
    percents.sort_by(f64::total_cmp);
    let n = percents.len();
    let quantile = |share: f64| percents[((share * n as f64) as usize).min(n - 1)];
    (n > 0).then(|| {
        let mean = percents.iter().sum::<f64>() / n as f64;
        [mean, quantile(0.5), quantile(0.9), quantile(0.95)]
    })
}

fn markdown(
    configurations: &[Configuration],
    pairs: &[[Vec<Pair>; 2]],
    n_left_out: &[usize],
) -> String {
    let mut heads = vec![Head::text("accelerator"), Head::text("configuration")];
    heads.extend(["graphs", "left out"].map(Head::number));
    for metric in METRICS {
        heads.extend(
            ["mean", "median", "p90", "p95"].map(|what| Head::number(format!("{metric} {what}"))),
        );
    }
    let named = configurations.iter().map(|configuration| {
        let name = configuration.product.name();
        [name.to_owned(), configuration.in_words()]
    });
    let all = std::array::from_fn(|kind| {
        pairs
            .iter()
            .flat_map(|pairs| &pairs[kind])
            .copied()
            .collect()
    });
    let of_all: [Vec<Pair>; 2] = all;
    let mut groups: Vec<Group> = (named.zip(pairs).zip(n_left_out))
        .map(|((names, pairs), &n_left_out)| (names, pairs, n_left_out))
        .collect();
    let names = ["all", "all of them"].map(str::to_owned);
    groups.push((names, &of_all, n_left_out.iter().sum()));
    let rows = |kind: usize| {
        groups.iter().map(move |(names, pairs, n_left_out)| {
            let pairs = &pairs[kind];
            let mut cells = names.to_vec();
            cells.extend([pairs.len(), *n_left_out].map(|n| n.to_string()));
            for idx in 0..METRICS.len() {
                let column: Vec<(f64, f64)> = pairs.iter().map(|pair| pair[idx]).collect();
                cells.extend(match percents(&column) {
                    Some(percents) => percents.map(|percent| format!("{percent:.2} %")),
                    None => [const { String::new() }; 4].map(|_| "-".to_owned()),
                });
            }
            cells
        })
    };
    format!(
        "# Vela's rules beside Vela, by configuration\n\n\
         Relative errors of the rules alone, none of them cut off. Graphs that Vela refuses, or of which it \
         leaves a part to the CPU, are left out.\n\n## Sampled networks\n\n{}\n## Real files\n\n{}",
        table(&heads, rows(0)),
        table(&heads, rows(1)),
    )
}
