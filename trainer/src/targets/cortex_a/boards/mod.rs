//! Measurements of boards → constants that turn counted instructions into milliseconds and
//! millijoules. Half of the drawn graphs fit, the other half tells the error.

pub mod fit;
pub mod measured;
pub mod measurements;
pub mod mobilenets;
pub mod networks;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use litecast::targets::cortex_a::{Board, Check, Constant, Constants, Energy, Errors};

use self::fit::{Sample, errors, proportion};
use self::measurements::{
    ByNetwork, MOBILENETS_SOURCE, Measured, RPI4_SOURCE, RPI5_RAIL, RPI5_SOURCE,
};
use self::mobilenets::MobileNet;
use self::networks::Graph;
use crate::labels::litert_qemu::{DEFAULT_EMULATOR, Instructions, LitertQemu};
use crate::labels::plan::Shard;
use crate::labels::record::{Label, Outcome};
use crate::labels::store::Labels;
use crate::labels::tool::LabellingTool;
use crate::labels::{self, LabelArgs, ToolChoice};
use crate::writer::Precision;

const RPI5: &str = "cortex-a76-rpi5";
const RPI4: &str = "cortex-a72-rpi4";
const RPI5_TASKS: [&str; 3] = ["cifar100", "ninapro", "darcy"];
const RPI4_TASKS: [&str; 1] = ["cifar10"];

/// Fits the constants of the Cortex-A targets to measured boards.
#[derive(Clone, Debug, clap::Args)]
pub struct FitCpuArgs {
    /// Graphs of NAS-Bench-201 to draw.
    #[arg(long, default_value_t = 40)]
    pub graphs: usize,
    /// Every so many-th pair of graphs, of which one fits and one is held out, is also counted at
    /// Darcy's size, which takes seven times as long; 0 for none.
    #[arg(long, default_value_t = 4)]
    pub darcy_every: usize,
    /// Targets to fit.
    #[arg(long, value_delimiter = ',', default_values_t = [RPI5.to_owned(), RPI4.to_owned()])]
    pub targets: Vec<String>,
    /// Seed of the draw.
    #[arg(long, default_value_t = 3)]
    pub seed: u64,
    /// Folder of the published measurements.
    #[arg(long, default_value = "../shared/data")]
    pub measurements: PathBuf,
    /// Folder that `make qemu` made.
    #[arg(long, default_value = DEFAULT_EMULATOR)]
    pub emulator: PathBuf,
    /// Folder for networks and labels; what it holds is not made again.
    #[arg(long, default_value = "trainer/runs/boards")]
    pub work: PathBuf,
    /// File for the constants.
    #[arg(long, default_value = "src/targets/cortex_a/constants.json")]
    pub out: PathBuf,
}

/// Draws, counts, fits, prints and writes.
pub fn run(args: &FitCpuArgs) -> Result<()> {
    measurements::ensure_there(&args.measurements)?;
    let rpi5 = measurements::read_device(&args.measurements, measurements::RPI5)?;
    let rpi4 = measurements::read_device(&args.measurements, measurements::RPI4)?;
    let graphs = networks::draw(&rpi5, args.graphs, args.seed);
    let tool = count(args, &graphs)?;
    let counts = read_counts(args)?;
    let mut boards = Vec::new();
    for (target, source, measured) in [(RPI5, RPI5_SOURCE, &rpi5), (RPI4, RPI4_SOURCE, &rpi4)] {
        if args.targets.iter().any(|wanted| wanted == target) {
            let networks = joined(target, &graphs, &counts, measured);
            boards.push(board(target, source, &networks)?);
        }
    }
    if let Some(board) = boards.iter_mut().find(|board| board.target == RPI4) {
        board.checks = check_on_mobilenets(args)?;
        board.int8_factor = int8_factor(&board.checks);
        board.checks.iter().for_each(print_check);
    }
    let constants = Constants {
        command: command(args),
        tool,
        boards,
    };
    let text = serde_json::to_string_pretty(&constants)? + "\n";
    fs::write(&args.out, text).with_context(|| format!("could not write {}", args.out.display()))
}

fn command(args: &FitCpuArgs) -> String {
    format!(
        "litecast-trainer fit-cpu --graphs {} --darcy-every {} --targets {} --seed {}",
        args.graphs,
        args.darcy_every,
        args.targets.join(","),
        args.seed
    )
}

/// The MobileNets that others measured on a Raspberry Pi 4, each precision apart.
fn check_on_mobilenets(args: &FitCpuArgs) -> Result<Vec<Check>> {
    let measured = measurements::raspberry_pi_4_mobilenets(&args.measurements)?;
    let folder = args.work.join("mobilenets");
    let mut networks = Vec::new();
    for (name, latency_ms) in &measured {
        let network = MobileNet::by_name(name)?;
        network.write(name, &folder)?;
        networks.push((
            format!("file/{name}.tflite"),
            network.precision,
            *latency_ms,
        ));
    }
    label(args, vec![folder], RPI4)?;
    let counts = instructions(args)?;
    let check = |precision| {
        let of_precision = networks.iter().filter(|(_, p, _)| *p == precision);
        let sample = |(graph_id, _, latency_ms): &(String, Precision, f64)| {
            let counted = counts.get(&(RPI4.to_owned(), graph_id.clone()))?;
            Some(mobilenets::Sample {
                instructions: counted.total() as f64,
                stores: (counted.store + counted.vector_store) as f64,
                latency_ms: *latency_ms,
            })
        };
        let samples: Vec<_> = of_precision.filter_map(sample).collect();
        mobilenets::check(MOBILENETS_SOURCE, precision, &samples)
    };
    Ok(vec![check(Precision::Float32), check(Precision::Int8)])
}

/// What the same networks say of int8 beside float32.
fn int8_factor(checks: &[Check]) -> Option<f64> {
    let ns = |precision: Precision| {
        let check = checks
            .iter()
            .find(|c| c.precision == precision.to_string())?;
        Some(check.ns_per_instruction)
    };
    Some(ns(Precision::Int8)? / ns(Precision::Float32)?)
}

/// Labels all networks, each on the boards that were measured with it; names the tool.
fn count(args: &FitCpuArgs, graphs: &[Graph]) -> Result<String> {
    let folder = args.work.join("networks");
    networks::write(graphs, &folder, |idx, task| {
        task != "darcy" || (args.darcy_every > 0 && idx / 2 % args.darcy_every == 0)
    })?;
    let label_tasks = |tasks: &[&str], target: &str| {
        label(
            args,
            tasks.iter().map(|task| folder.join(task)).collect(),
            target,
        )
    };
    for target in &args.targets {
        match target.as_str() {
            RPI5 => label_tasks(&RPI5_TASKS, RPI5)?,
            RPI4 => label_tasks(&RPI4_TASKS, RPI4)?,
            _ => bail!("unknown target `{target}`: expected {RPI5} or {RPI4}"),
        }
    }
    let labels = Labels::read(&args.work.join("labels"))?;
    let run = labels.runs.first().context("expected a run, found none")?;
    Ok(format!("{} {}", run.tool.name, run.tool.version))
}

fn label(args: &FitCpuArgs, files: Vec<PathBuf>, target: &str) -> Result<()> {
    labels::run(&LabelArgs {
        tool: ToolChoice::LitertQemu,
        targets: vec![target.to_owned()],
        spaces: Vec::new(),
        seed: args.seed,
        precision: Precision::Float32,
        batches: vec![1],
        files,
        jobs: 1,
        shard: Shard { index: 0, n: 1 },
        time_limit_s: 600.0,
        python: PathBuf::new(),
        emulator: args.emulator.clone(),
        out: args.work.join("labels"),
    })
}

/// What was executed, by target and graph id.
fn instructions(args: &FitCpuArgs) -> Result<BTreeMap<(String, String), Instructions>> {
    let labelled = Labels::read(&args.work.join("labels"))?.labelled;
    let counted = labelled.into_iter().filter_map(|labelled| {
        let Outcome::Ok(Label::Litert(label)) = &labelled.outcome else {
            return None;
        };
        Some(((labelled.target, labelled.graph_id), label.instructions))
    });
    Ok(counted.collect())
}

/// Executed instructions by (target, index of the graph, task).
type Counts = BTreeMap<(String, usize, String), f64>;

fn read_counts(args: &FitCpuArgs) -> Result<Counts> {
    let of_graph = |((target, graph_id), n): ((String, String), Instructions)| {
        let (idx, task) = networks::of_graph_id(&graph_id)?;
        Some(((target, idx, task.to_owned()), n.total() as f64))
    };
    Ok(instructions(args)?
        .into_iter()
        .filter_map(of_graph)
        .collect())
}

/// One network on one board.
struct Network {
    graph_idx: usize,
    task: String,
    instructions: f64,
    measured: Measured,
}

fn joined(target: &str, graphs: &[Graph], counts: &Counts, measured: &ByNetwork) -> Vec<Network> {
    let network = |((of, graph_idx, task), instructions): (&(String, usize, String), &f64)| {
        let graph = graphs.get(*graph_idx).filter(|_| of == target)?;
        Some(Network {
            graph_idx: *graph_idx,
            task: task.clone(),
            instructions: *instructions,
            measured: *measured.get(&(graph.arch.clone(), task.clone()))?,
        })
    };
    counts.iter().filter_map(network).collect()
}

fn board(target: &str, source: &str, networks: &[Network]) -> Result<Board> {
    let (fitted, held_out): (Vec<&Network>, Vec<&Network>) = networks
        .iter()
        .partition(|network| network.graph_idx % 2 == 0);
    ensure!(
        !fitted.is_empty() && !held_out.is_empty(),
        "{target}: expected networks to fit and to measure on, found {} and {}",
        fitted.len(),
        held_out.len()
    );
    let latencies: Vec<Sample> = fitted.iter().map(|network| latency(network)).collect();
    let ns_per_instruction = proportion(&latencies);
    let estimates = Estimates { ns_per_instruction };
    let targets = LitertQemu {
        emulator: PathBuf::new(),
    }
    .targets();
    let known = targets.iter().find(|known| known.id == target);
    let board = Board {
        target: target.to_owned(),
        device: known.map_or(String::new(), |known| known.device()),
        source: source.to_owned(),
        n_fitted: fitted.len(),
        ns_per_instruction,
        latency_error: estimates.latency_errors(held_out.iter().copied()),
        energy: estimates.energy(&fitted, &held_out),
        int8_factor: None,
        checks: Vec::new(),
    };
    print(&board);
    for task in RPI5_TASKS.iter().chain(&RPI4_TASKS) {
        let of_task = held_out.iter().filter(|network| network.task == *task);
        let errors = estimates.latency_errors(of_task.copied());
        if errors.n > 0 {
            print_errors(&format!("  of them {task}"), &errors);
        }
    }
    Ok(board)
}

fn latency(network: &Network) -> Sample {
    Sample {
        counted: 1e-6 * network.instructions,
        measured: network.measured.latency_ms,
    }
}

struct Estimates {
    ns_per_instruction: Constant,
}

impl Estimates {
    fn latency_ms(&self, network: &Network) -> f64 {
        1e-6 * self.ns_per_instruction.value * network.instructions
    }

    fn latency_errors<'n>(&self, networks: impl Iterator<Item = &'n Network>) -> Errors {
        let pair = |network: &Network| (self.latency_ms(network), network.measured.latency_ms);
        errors(&networks.map(pair).collect::<Vec<_>>())
    }

    /// Absent where no energy was measured.
    fn energy(&self, fitted: &[&Network], held_out: &[&Network]) -> Option<Energy> {
        let sample = |network: &&Network| {
            Some(Sample {
                counted: network.measured.latency_ms,
                measured: network.measured.energy_mj?,
            })
        };
        let samples: Vec<Sample> = fitted.iter().filter_map(sample).collect();
        let watts = (!samples.is_empty()).then(|| proportion(&samples))?;
        let pair = |network: &&Network| {
            let estimate_mj = watts.value * self.latency_ms(network);
            Some((estimate_mj, network.measured.energy_mj?))
        };
        let pairs: Vec<_> = held_out.iter().filter_map(pair).collect();
        Some(Energy {
            watts,
            rail: RPI5_RAIL.to_owned(),
            error: errors(&pairs),
        })
    }
}

fn print(board: &Board) {
    let ns = board.ns_per_instruction;
    println!("{}: {}", board.target, board.source);
    println!(
        "  {:.4} ± {:.4} ns an instruction, fitted on {} networks",
        ns.value, ns.standard_error, board.n_fitted
    );
    if let Some(energy) = &board.energy {
        let watts = energy.watts;
        println!("  {:.4} ± {:.4} W", watts.value, watts.standard_error);
        print_errors("energy, float32, held out", &energy.error);
    }
    print_errors("latency, float32, held out", &board.latency_error);
}

fn print_check(check: &Check) {
    let what = format!("MobileNets, {}, left out in turn", check.precision);
    print_errors(&what, &check.error);
    println!("    {:.4} ns an instruction", check.ns_per_instruction);
    print_errors("with stores as a second term", &check.with_stores.error);
    println!(
        "    {:.4} ns an instruction, {:.2} ns a store",
        check.with_stores.ns_per_instruction, check.with_stores.ns_per_store
    );
}

fn print_errors(what: &str, errors: &Errors) {
    println!(
        "  {what}: {} networks, mean error {:.2} %, 95th percentile {:.2} %, bias {:+.2} %",
        errors.n, errors.mean_percent, errors.p95_percent, errors.bias_percent
    );
}
