//! Labels some graphs of a dataset again and compares the results, so that users can verify them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::labels::{GraphLabels, TargetLabels};
use super::remake;
use crate::labels::litert_qemu::{DEFAULT_EMULATOR, LitertQemu};
use crate::labels::tool::LabellingTool;
use crate::labels::vela::Vela;
use crate::labels::worker::Worker;
use crate::labels::{bytes_of, sha256_hex};

/// Labels graphs of a dataset again.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// Folder of the tables.
    #[arg(default_value = "trainer/data")]
    pub folder: PathBuf,
    /// Graphs to label again with each tool.
    #[arg(long, default_value_t = 50)]
    pub graphs: usize,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Interpreter that has the packages of `trainer/python/requirements.txt`.
    #[arg(long, default_value = ".venv/bin/python")]
    pub python: PathBuf,
    /// Folder that `make qemu` made; without it, Cortex-A labels are not checked.
    #[arg(long, default_value = DEFAULT_EMULATOR)]
    pub emulator: PathBuf,
}

/// Time limit for one file on one target.
const LIMIT: Duration = Duration::from_secs(300);
/// Relative tolerance between two counts of one inference. On the same machine counts are equal; on another one QEMU
/// may use another memory layout.
const COUNT_TOLERANCE: f64 = 1e-4;

/// Prints what differs, and fails where a label of Vela differs at all or a count of instructions by more
/// than [`COUNT_TOLERANCE`].
pub fn run(args: &CheckArgs) -> Result<()> {
    let (graphs, _) = remake::read_labels(&args.folder)?;
    let vela = Vela {
        python: args.python.clone(),
    };
    let mut n_different = label_again(args, &graphs, &vela, differences_of_vela)?;
    let emulator: &Path = &args.emulator;
    if emulator.is_dir() {
        let litert = LitertQemu {
            emulator: args.emulator.clone(),
        };
        n_different += label_again(args, &graphs, &litert, differences_of_counts)?;
    } else {
        println!(
            "no {}: Cortex-A labels are not checked; make it with `make qemu`",
            emulator.display()
        );
    }
    ensure!(
        n_different == 0,
        "{n_different} labels are not what the tools say today"
    );
    Ok(())
}

/// Differences between a stored label and a new one in words, and the relative difference of counts.
type Differences = fn(&TargetLabels, &TargetLabels) -> (Vec<String>, f64);

fn label_again(
    args: &CheckArgs,
    graphs: &[GraphLabels],
    tool: &dyn LabellingTool,
    differences: Differences,
) -> Result<usize> {
    let targets = tool.targets();
    let stored = |graph: &GraphLabels, target: &str| {
        let labels = graph.targets.get(target)?;
        (!labels.values.is_empty()).then(|| labels.clone())
    };
    let mut drawn: Vec<&GraphLabels> = graphs
        .iter()
        .filter(|graph| targets.iter().any(|t| stored(graph, &t.id).is_some()))
        .collect();
    drawn.shuffle(&mut ChaCha8Rng::seed_from_u64(args.seed));
    drawn.truncate(args.graphs);
    let mut n_different = 0;
    for group in targets.chunks(tool.targets_per_process().min(targets.len())) {
        let mut worker = Worker::start(tool, group)?;
        for (target_idx, target) in group.iter().enumerate() {
            let (mut n, mut largest) = (0, 0.0);
            for graph in &drawn {
                let Some(stored) = stored(graph, &target.id) else {
                    continue;
                };
                let id = graph.origin.graph_id();
                let bytes = bytes_of(&graph.origin)?;
                ensure!(
                    sha256_hex(&bytes) == graph.sha256,
                    "{id}: its seed gives other bytes than those that were labelled"
                );
                let answer = worker.label(target_idx, &bytes, LIMIT);
                let relabelled =
                    TargetLabels::from_outcome(&graph.origin, &target.id, &answer.outcome);
                let (words, difference) = differences(&stored, &relabelled);
                if !words.is_empty() {
                    println!("{id} on {}: {}", target.id, words.join("; "));
                    n_different += 1;
                }
                n += 1;
                largest = f64::max(largest, difference);
            }
            println!(
                "{}: {n} graphs labelled again, largest relative difference {largest:.1e}",
                target.id
            );
        }
    }
    Ok(n_different)
}

fn differences_of_vela(stored: &TargetLabels, relabelled: &TargetLabels) -> (Vec<String>, f64) {
    let values = stored.values.iter().filter_map(|(metric, value)| {
        let other = relabelled.values.get(metric).copied().unwrap_or(f64::NAN);
        if other == *value {
            None
        } else {
            Some(format!("{metric} was {value}, is {other}"))
        }
    });
    let differs =
        |(metric, values): &(&String, &Vec<u64>)| relabelled.operators.get(*metric) != Some(values);
    let operators = stored.operators.iter().filter(differs);
    let operators = operators.map(|(metric, _)| format!("{metric} of operators"));
    (values.chain(operators).collect(), 0.0)
}

/// Compares only the counts, from which the milliseconds follow.
fn differences_of_counts(stored: &TargetLabels, relabelled: &TargetLabels) -> (Vec<String>, f64) {
    let count = |labels: &TargetLabels| labels.values.get("instructions").copied();
    let Some((was, is)) = count(stored).zip(count(relabelled)) else {
        return (vec!["no instructions were counted".into()], f64::INFINITY);
    };
    let difference = (is / was - 1.0).abs();
    let words = format!("{was} instructions were counted, now {is}");
    let is_far = difference > COUNT_TOLERANCE;
    (is_far.then_some(words).into_iter().collect(), difference)
}
