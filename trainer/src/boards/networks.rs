//! The measured networks, drawn graph by graph and written again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::measurements::ByNetwork;
use crate::spaces::nas_bench_201::{Cell, Task, network_of};
use crate::writer::{
    LayerDistribution, Network, NetworkBuilder, Precision, WeightDistribution, to_tflite,
};

/// Weights do not change what float32 kernels execute.
const WEIGHTS: WeightDistribution =
    WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform);
const WEIGHT_SEED: u64 = 1;

/// Input `[height, width, channels]` and classes of a task. The source does not tell the classes
/// of Darcy, whose dense layer is nothing beside its convolutions.
pub const TASKS: [(&str, Task); 3] = [
    ("cifar100", task([32, 32, 3], 100)),
    ("ninapro", task([52, 16, 1], 18)),
    ("darcy", task([88, 88, 1], 1)),
];

const fn task(input: [i32; 3], classes: i32) -> Task {
    Task { input, classes }
}

/// One graph of the benchmark, whatever the task.
#[derive(Clone, Debug)]
pub struct Graph {
    pub arch: String,
    /// Whether the file that was measured probably holds what our writer writes. The files are
    /// not published; measured latencies suggest that a converter made two average pools of one
    /// tensor into one, where our writer writes both, and that a convolution of a node that
    /// nothing feeds left a constant to add, its batch norm's offset, which our writer drops.
    pub is_as_deployed: bool,
    pub cell: Cell,
}

impl Graph {
    fn network(&self, task: &Task) -> Network {
        let builder = NetworkBuilder::new("nas-bench-201", WEIGHTS, WEIGHT_SEED);
        network_of(&self.cell, task, builder)
    }
}

/// `n` different graphs among the measured ones, in an order that `seed` decides. Cells that
/// reduce to one graph count once; cells that compute nothing are left out.
pub fn draw(measured: &ByNetwork, n: usize, seed: u64) -> Vec<Graph> {
    let archs: BTreeSet<&String> = measured.keys().map(|(arch, _)| arch).collect();
    let mut archs: Vec<_> = archs.into_iter().collect();
    archs.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut seen = BTreeSet::new();
    let graphs = archs.into_iter().filter_map(|arch| {
        let graph = Graph {
            arch: arch.clone(),
            is_as_deployed: !has_twin_pools(arch) && !convolves_nothing(arch),
            cell: arch.parse().ok()?,
        };
        let is_new = seen.insert(graph.network(&TASKS[0].1).structure_hash());
        is_new.then_some(graph)
    });
    graphs.take(n).collect()
}

/// Whether two average pools read one node.
fn has_twin_pools(arch: &str) -> bool {
    (0..2).any(|from| arch.matches(&format!("avg_pool_3x3~{from}|")).count() > 1)
}

/// Whether a convolution reads a node that nothing feeds.
fn convolves_nothing(arch: &str) -> bool {
    let mut is_fed = vec![true];
    let mut convolves_nothing = false;
    for node in arch.split('+') {
        let operations: Vec<&str> = node.trim_matches('|').split('|').collect();
        let edges = || operations.iter().zip(&is_fed);
        convolves_nothing |= edges().any(|(op, fed)| op.starts_with("nor_conv") && !fed);
        let feeds = edges().any(|(op, fed)| *fed && !op.starts_with("none"));
        is_fed.push(feeds);
    }
    convolves_nothing
}

/// Writes the float32 network of each graph that `is_wanted` for a task into `folder/TASK`.
pub fn write(
    graphs: &[Graph],
    folder: &Path,
    is_wanted: impl Fn(usize, &str) -> bool,
) -> Result<()> {
    for (task, shape) in &TASKS {
        let folder = folder.join(task);
        fs::create_dir_all(&folder)
            .with_context(|| format!("could not create {}", folder.display()))?;
        for (idx, graph) in graphs.iter().enumerate() {
            let path = file(&folder, idx, task);
            if is_wanted(idx, task) && !path.exists() {
                let bytes = to_tflite(&graph.network(shape), WEIGHT_SEED, Precision::Float32);
                // Under another name until it is whole.
                let unfinished = path.with_extension("unfinished");
                fs::write(&unfinished, bytes)
                    .and_then(|()| fs::rename(&unfinished, &path))
                    .with_context(|| format!("could not write {}", path.display()))?;
            }
        }
    }
    Ok(())
}

fn file(folder: &Path, idx: usize, task: &str) -> PathBuf {
    folder.join(format!("{idx:04}-{task}.tflite"))
}

/// Index and task of the graph with this id in the label files.
pub fn of_graph_id(graph_id: &str) -> Option<(usize, &str)> {
    let name = graph_id.strip_prefix("file/")?.strip_suffix(".tflite")?;
    let (idx, task) = name.split_once('-')?;
    Some((idx.parse().ok()?, task))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_deploy_otherwise_are_told() {
        let plain =
            "|avg_pool_3x3~0|+|nor_conv_1x1~0|none~1|+|none~0|skip_connect~1|nor_conv_3x3~2|";
        let twins =
            "|avg_pool_3x3~0|+|avg_pool_3x3~0|none~1|+|none~0|skip_connect~1|nor_conv_3x3~2|";
        let unfed = "|avg_pool_3x3~0|+|none~0|none~1|+|none~0|skip_connect~1|nor_conv_1x1~2|";
        assert!(!has_twin_pools(plain) && !convolves_nothing(plain));
        assert!(has_twin_pools(twins) && !convolves_nothing(twins));
        assert!(!has_twin_pools(unfed) && convolves_nothing(unfed));
    }
}
