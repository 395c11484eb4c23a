//! Draws graphs among the measured ones and rebuilds their networks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::measurements::ByNetwork;
use crate::spaces::nas_bench_201::{Cell, Task, TwinPools, network_of};
use crate::writer::{
    LayerDistribution, NetworkBuilder, Precision, WeightDistribution, WriterNetwork, to_tflite,
};

/// Weights do not change what float32 kernels execute.
const WEIGHTS: WeightDistribution =
    WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform);
const WEIGHT_SEED: u64 = 1;

/// The form in which the networks of a task were deployed.
pub struct Deployment {
    /// Name of the task in the source.
    pub task: &'static str,
    shape: Task,
    /// Whether two average pools of the same tensor are merged. The measured latencies show it: on the Raspberry Pi 4,
    /// the second pool takes as long as the first; on the Raspberry Pi 5 it takes no time.
    twin_pools: TwinPools,
}

/// CIFAR-10 was measured on the Raspberry Pi 4, the other tasks on the Raspberry Pi 5. The source does not state the
/// number of classes of Darcy, but the dense layer is negligible beside the convolutions.
pub const DEPLOYMENTS: [Deployment; 4] = [
    deployment("cifar100", [32, 32, 3], 100, TwinPools::Merged),
    deployment("ninapro", [52, 16, 1], 18, TwinPools::Merged),
    deployment("darcy", [88, 88, 1], 1, TwinPools::Merged),
    deployment("cifar10", [32, 32, 3], 10, TwinPools::Kept),
];

const fn deployment(
    task: &'static str,
    input: [i32; 3],
    classes: i32,
    twin_pools: TwinPools,
) -> Deployment {
    Deployment {
        task,
        shape: Task { input, classes },
        twin_pools,
    }
}

/// One graph of the benchmark, independent of the task.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The cell as NAS-Bench-201 writes it.
    pub arch: String,
    /// The same cell as a graph.
    pub cell: Cell,
}

impl Graph {
    /// The float32 file of the graph for a task.
    pub fn to_tflite(&self, deployment: &Deployment) -> Vec<u8> {
        to_tflite(&self.network(deployment), WEIGHT_SEED, Precision::Float32)
    }

    fn network(&self, deployment: &Deployment) -> WriterNetwork {
        let builder = NetworkBuilder::new("nas-bench-201", WEIGHTS, WEIGHT_SEED);
        network_of(
            &self.cell,
            &deployment.shape,
            deployment.twin_pools,
            builder,
        )
    }
}

/// Draws `n` different graphs among the measured ones, in an order that follows from `seed`. Cells that reduce to the
/// same graph count once; cells that compute nothing are left out.
pub fn draw(measured: &ByNetwork, n: usize, seed: u64) -> Vec<Graph> {
    let archs: BTreeSet<&String> = measured.keys().map(|(arch, _)| arch).collect();
    let mut archs: Vec<_> = archs.into_iter().collect();
    archs.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut visited = BTreeSet::new();
    let graphs = archs.into_iter().filter_map(|arch| {
        let graph = Graph {
            arch: arch.clone(),
            cell: arch.parse().ok()?,
        };
        let is_new = visited.insert(graph.network(&DEPLOYMENTS[0]).structure_hash());
        is_new.then_some(graph)
    });
    graphs.take(n).collect()
}

/// Writes the float32 network of each graph into `folder/TASK`, for each task for which it `is_wanted`.
pub fn write(
    graphs: &[Graph],
    folder: &Path,
    is_wanted: impl Fn(usize, &str) -> bool,
) -> Result<()> {
    for deployment in &DEPLOYMENTS {
        let task = deployment.task;
        let of_task = folder.join(task);
        fs::create_dir_all(&of_task)
            .with_context(|| format!("could not create {}", of_task.display()))?;
        for (idx, graph) in graphs.iter().enumerate() {
            let path = folder.join(relative_path(idx, task));
            if is_wanted(idx, task) && !path.exists() {
                let bytes = graph.to_tflite(deployment);
                // The file has another name until it is complete.
                let unfinished = path.with_extension("unfinished");
                fs::write(&unfinished, bytes)
                    .and_then(|()| fs::rename(&unfinished, &path))
                    .with_context(|| format!("could not write {}", path.display()))?;
            }
        }
    }
    Ok(())
}

/// Path of the graph with an index, relative to the folder that `write` wrote.
pub fn relative_path(idx: usize, task: &str) -> PathBuf {
    Path::new(task).join(format!("{idx:04}-{task}.tflite"))
}
