//! Measurements of boards → constants that turn counted instructions into milliseconds and
//! millijoules. Half of the drawn graphs fit, the other half tells the error; graphs whose deployed
//! file probably differs from ours are counted apart.

pub mod constants;
pub mod fit;
pub mod measurements;
pub mod networks;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use self::constants::{Board, Constants, Energy};
use self::fit::{Constant, Errors, Sample, errors, proportion};
use self::measurements::{ByNetwork, Measured, RPI4_SOURCE, RPI5_SOURCE};
use self::networks::Graph;
use crate::labels::litert_qemu::DEFAULT_EMULATOR;
use crate::labels::plan::Shard;
use crate::labels::record::{Label, Outcome};
use crate::labels::store::Labels;
use crate::labels::{self, LabelArgs, ToolChoice};

const RPI5: &str = "cortex-a76-rpi5";
const RPI4: &str = "cortex-a72-rpi4";
/// The Raspberry Pi 4 was measured on this task alone.
const RPI4_TASK: &str = "cifar100";

/// Fits the constants of the Cortex-A targets to measured boards.
#[derive(Clone, Debug, clap::Args)]
pub struct FitCpuArgs {
    /// Graphs of NAS-Bench-201 to draw.
    #[arg(long, default_value_t = 16)]
    pub graphs: usize,
    /// Every so many-th pair of graphs, of which one fits and one is held out, is also counted at
    /// Darcy's size, which takes seven times as long; 0 for none.
    #[arg(long, default_value_t = 4)]
    pub darcy_every: usize,
    /// Targets to fit.
    #[arg(long, value_delimiter = ',', default_values_t = [RPI5.to_owned(), RPI4.to_owned()])]
    pub targets: Vec<String>,
    /// Seed of the draw.
    #[arg(long, default_value_t = 1)]
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
    #[arg(long, default_value = "trainer/data/cpu_targets.json")]
    pub out: PathBuf,
}

/// Draws, counts, fits, prints and writes.
pub fn run(args: &FitCpuArgs) -> Result<()> {
    ensure!(
        args.measurements.is_dir(),
        "no {}: the measured latencies are not part of this repository and lie in `shared/data` \
         beside it",
        args.measurements.display()
    );
    let rpi5 = measurements::raspberry_pi_5(&args.measurements)?;
    let rpi4 = measurements::raspberry_pi_4(&args.measurements)?;
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

/// Labels all networks, each on the boards that were measured with it; names the tool.
fn count(args: &FitCpuArgs, graphs: &[Graph]) -> Result<String> {
    let folder = args.work.join("networks");
    networks::write(graphs, &folder, |idx, task| {
        task != "darcy" || (args.darcy_every > 0 && idx / 2 % args.darcy_every == 0)
    })?;
    let label = |tasks: &[&str], target: &str| {
        labels::run(&LabelArgs {
            tool: ToolChoice::LitertQemu,
            targets: vec![target.to_owned()],
            spaces: Vec::new(),
            seed: args.seed,
            files: tasks.iter().map(|task| folder.join(task)).collect(),
            jobs: 1,
            shard: Shard { index: 0, n: 1 },
            time_limit_s: 600.0,
            python: PathBuf::new(),
            emulator: args.emulator.clone(),
            out: args.work.join("labels"),
        })
    };
    for target in &args.targets {
        match target.as_str() {
            RPI5 => label(&networks::TASKS.map(|(task, _)| task), RPI5)?,
            RPI4 => label(&[RPI4_TASK], RPI4)?,
            _ => bail!("unknown target `{target}`: expected {RPI5} or {RPI4}"),
        }
    }
    let labels = Labels::read(&args.work.join("labels"))?;
    let run = labels.runs.first().context("expected a run, found none")?;
    Ok(format!("{} {}", run.tool.name, run.tool.version))
}

/// Executed instructions by (target, index of the graph, task).
type Counts = BTreeMap<(String, usize, String), f64>;

fn read_counts(args: &FitCpuArgs) -> Result<Counts> {
    let mut counts = Counts::new();
    for labelled in Labels::read(&args.work.join("labels"))?.labelled {
        let Outcome::Ok(Label::Litert(label)) = &labelled.outcome else {
            continue;
        };
        if let Some((idx, task)) = networks::of_graph_id(&labelled.graph_id) {
            let key = (labelled.target.clone(), idx, task.to_owned());
            counts.insert(key, label.instructions.total() as f64);
        }
    }
    Ok(counts)
}

/// One network on one board.
struct Network {
    graph_idx: usize,
    task: String,
    is_as_deployed: bool,
    instructions: f64,
    measured: Measured,
}

fn joined(target: &str, graphs: &[Graph], counts: &Counts, measured: &ByNetwork) -> Vec<Network> {
    let network = |((of, graph_idx, task), instructions): (&(String, usize, String), &f64)| {
        let graph = graphs.get(*graph_idx).filter(|_| of == target)?;
        Some(Network {
            graph_idx: *graph_idx,
            task: task.clone(),
            is_as_deployed: graph.is_as_deployed,
            instructions: *instructions,
            measured: *measured.get(&(graph.arch.clone(), task.clone()))?,
        })
    };
    counts.iter().filter_map(network).collect()
}

fn board(target: &str, source: &str, networks: &[Network]) -> Result<Board> {
    let (comparable, otherwise): (Vec<_>, Vec<_>) =
        networks.iter().partition(|network| network.is_as_deployed);
    let (fitted, held_out): (Vec<&Network>, Vec<&Network>) = comparable
        .into_iter()
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
    let board = Board {
        target: target.to_owned(),
        source: source.to_owned(),
        n_fitted: fitted.len(),
        ns_per_instruction,
        latency_error: estimates.latency_errors(held_out.iter().copied()),
        energy: estimates.energy(&fitted, &held_out),
    };
    print(&board);
    for (task, _) in networks::TASKS {
        let of_task = held_out.iter().filter(|network| network.task == task);
        let errors = estimates.latency_errors(of_task.copied());
        if errors.n > 0 {
            print_errors(&format!("  of them {task}"), &errors);
        }
    }
    print_errors(
        "latency, float32, graphs whose deployed file probably differs from ours",
        &estimates.latency_errors(otherwise.into_iter()),
    );
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

fn print_errors(what: &str, errors: &Errors) {
    println!(
        "  {what}: {} networks, mean error {:.2} %, 95th percentile {:.2} %, bias {:+.2} %",
        errors.n, errors.mean_percent, errors.p95_percent, errors.bias_percent
    );
}
