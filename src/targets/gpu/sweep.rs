//! Time and memory of a network by batch size: where throughput stops growing, and which batch sizes fit.

use serde::Serialize;

use super::bundle::{Bundle, Mode};
use super::estimate::{is_far, time};
use super::kernels::kernels;
use super::memory::{GpuMemory, Optimiser};
use super::mig::{SLICED, SlicedGpu};
use super::specifications::Gpu;
use super::target::doubts;
use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::provenance::{Evidence, Provenance, ProvenanceKind};

/// Largest batch size of a sweep, which is the largest one measured on a desktop GPU.
pub const MAX_BATCH: u32 = 1024;
/// Share of the best throughput at which the curve counts as flat.
pub const KNEE_SHARE: f64 = 0.9;
/// Common sizes of GPU memory, in units of 2³⁰ bytes.
pub const MEMORIES_GIB: [u32; 6] = [8, 12, 16, 24, 40, 80];

/// One network on one GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// Id of the target.
    pub target: &'static str,
    /// Of the GPU.
    pub memory_bytes: f64,
    /// One point for each batch size, doubled from 1 to [`MAX_BATCH`].
    pub points: Vec<Point>,
    /// Smallest batch of `points` with at least [`KNEE_SHARE`] of the best throughput.
    pub knee_batch: u32,
    /// By memory.
    pub fits: Vec<Fits>,
    /// What the latencies rest on where the GPU and not its host sets the pace.
    pub evidence: Evidence,
    /// Mean error of these latencies, each with its family of networks left out of the fit; absent where none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_error_percent: Option<f64>,
    /// Doubts about the latencies of batch size 1.
    pub diagnostics: Vec<Diagnostic>,
    /// GPUs that can be sliced ([`mig`](super::mig)), in the order of [`Point::slices`].
    pub sliced_gpus: Vec<&'static str>,
}

/// One batch.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    pub batch: u32,
    pub latency_ms: f64,
    pub latency_lo_ms: f64,
    pub latency_hi_ms: f64,
    /// Whether the time is that of the host, which nobody measured, and not of the GPU.
    pub is_launch_bound: bool,
    /// Inferences a second.
    pub throughput: f64,
    pub memory_bytes: f64,
    /// Absent where no training was measured on the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_step_ms: Option<f64>,
    /// With Adam.
    pub training_memory_bytes: f64,
    /// With stochastic gradient descent and momentum.
    pub sgd_memory_bytes: f64,
    /// Whether inference fits the GPU.
    pub fits: bool,
    /// The smallest slice of each GPU that holds inference; none where the whole GPU is too small.
    pub slices: Vec<Option<&'static str>>,
}

/// Largest batch sizes that fit a memory of this size, by the modelled count; 0 if one input does not fit, and the largest
/// number if memory does not grow with the batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fits {
    pub memory_gib: u32,
    pub inference_batch: u32,
    /// With Adam.
    pub training_batch: u32,
    /// With stochastic gradient descent and momentum.
    pub sgd_batch: u32,
}

/// The sweep of a graph of batch size 1; `None` if the bundle has no such GPU, or the network takes no time.
pub fn sweep(graph: &Graph, analysis: &Analysis, gpu: &Gpu, bundle: &Bundle) -> Option<Sweep> {
    let run = bundle.run(gpu.id, Mode::Inference)?;
    let training = bundle.run(gpu.id, Mode::Training);
    let kernels = kernels(graph);
    let time = |run, batch: f64| time(run, &kernels, batch, gpu);
    let parameters = analysis.totals.parameters as f64;
    let inference_bytes =
        |batch: f64| GpuMemory::inference(&kernels, parameters, batch, gpu.precision).total_bytes();
    let trained_with = |optimiser: Optimiser, batch: f64| {
        GpuMemory::training(&kernels, parameters, batch, optimiser, gpu.precision).total_bytes()
    };
    let adam_bytes = |batch: f64| trained_with(Optimiser::Adam, batch);
    let sgd_bytes = |batch: f64| trained_with(Optimiser::Sgd, batch);
    let batches = std::iter::successors(Some(1), |batch| Some(batch * 2));
    let points = batches
        .take_while(|&batch| batch <= MAX_BATCH)
        .map(|batch| {
            let inputs = f64::from(batch);
            let latency = time(run, inputs)?;
            let step = training.and_then(|run| time(run, inputs));
            let memory_bytes = inference_bytes(inputs);
            Some(Point {
                batch,
                latency_ms: latency.value_ms,
                latency_lo_ms: latency.lo_ms,
                latency_hi_ms: latency.hi_ms,
                is_launch_bound: latency.is_launch_bound,
                throughput: inputs / latency.value_ms * 1e3,
                memory_bytes,
                training_step_ms: step.map(|step| step.value_ms),
                training_memory_bytes: adam_bytes(inputs),
                sgd_memory_bytes: sgd_bytes(inputs),
                fits: memory_bytes <= gpu.board.memory_bytes,
                slices: smallest_slices(memory_bytes),
            })
        });
    let points: Vec<Point> = points.collect::<Option<_>>()?;
    let knee = knee(&points)?;
    let fits = |&memory_gib: &u32| Fits {
        memory_gib,
        inference_batch: largest_batch(memory_gib, inference_bytes),
        training_batch: largest_batch(memory_gib, adam_bytes),
        sgd_batch: largest_batch(memory_gib, sgd_bytes),
    };
    // That of the largest batch, where the GPU sets the pace if it does anywhere.
    let largest = time(run, f64::from(MAX_BATCH))?;
    let source = Provenance {
        reference: run.reference(is_far(&largest)),
        ..Provenance::own(ProvenanceKind::Modelled, String::new())
    };
    Some(Sweep {
        evidence: source.evidence(),
        expected_error_percent: run.mean_error_percent().filter(|_| !is_far(&largest)),
        diagnostics: doubts(run, &time(run, 1.0)?, graph, analysis),
        target: gpu.id,
        memory_bytes: gpu.board.memory_bytes,
        knee_batch: knee.batch,
        fits: MEMORIES_GIB.iter().map(fits).collect(),
        sliced_gpus: SLICED.iter().map(|gpu| gpu.name).collect(),
        points,
    })
}

/// The smallest batch that is almost as fast for each input as any.
fn knee(points: &[Point]) -> Option<&Point> {
    let best = points
        .iter()
        .map(|point| point.throughput)
        .fold(0.0, f64::max);

    points
        .iter()
        .find(|point| point.throughput >= KNEE_SHARE * best)
}

fn smallest_slices(memory_bytes: f64) -> Vec<Option<&'static str>> {
    let smallest = |gpu: &SlicedGpu| Some(gpu.smallest(memory_bytes)?.name);
    SLICED.iter().map(smallest).collect()
}

/// Memory grows linearly with the batch.
fn largest_batch(memory_gib: u32, bytes_of: impl Fn(f64) -> f64) -> u32 {
    let memory = f64::from(memory_gib) * f64::from(1u32 << 30);
    let (one, two) = (bytes_of(1.0), bytes_of(2.0));
    if one > memory || !two.is_finite() {
        return 0;
    }
    // A network without activations has no largest batch.
    if two <= one {
        return u32::MAX;
    }
    (1.0 + ((memory - one) / (two - one)).floor()) as u32
}
