//! GPUs as targets.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bundle::{Bundle, Mode, Run};
use super::estimate::{MIN_BUSY, Time, is_far, time};
use super::kernels::{Kernel, graph_batch, kernels};
use super::memory::{self, GpuMemory, Optimiser};
use super::mig::{self, HEADROOM, SLICED};
use super::specifications::{BUSY_POWER, GPUS, Gpu, IDLE_POWER};
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::op_row::Work;
use crate::graph::analysis::{Analysis, Precision, precision};
use crate::graph::{Graph, Node};
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind, Reference};
use crate::target::{
    Description, Family, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network, Outcome,
    PeakRates, Target, TargetEstimate, TargetInfo, TargetOption, UnavailableReason,
    UnsupportedOperator, compiled, uncountable,
};

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "gpus",
    label: "GPUs",
    group: Some("under PyTorch, with batch and training"),
    is_accelerator: false,
    durations: None,
};

/// One GPU with constants that were fitted to measurements on it.
struct GpuTarget {
    gpu: &'static Gpu,
    bundle: Arc<Bundle>,
}

/// Every GPU for which the bundle has a run. They are not in the registry, so they are estimated only on request.
pub fn targets(bundle: &Arc<Bundle>) -> Vec<Box<dyn Target>> {
    let is_known = |gpu: &&Gpu| bundle.run(gpu.id, Mode::Inference).is_some();
    let target = |gpu: &'static Gpu| -> Box<dyn Target> {
        let bundle = Arc::clone(bundle);
        Box::new(GpuTarget { gpu, bundle })
    };
    GPUS.iter().filter(is_known).map(target).collect()
}

impl Target for GpuTarget {
    fn id(&self) -> &str {
        self.gpu.id
    }

    fn description(&self) -> Description {
        let run = self.bundle.run(self.gpu.id, Mode::Inference);
        let framework = run.map_or("PyTorch", |run| run.framework.as_str());
        Description {
            options: &[TargetOption::Batch],
            ..Description::new(&FAMILY, self.gpu.device, framework)
        }
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let inference = self.bundle.run(self.gpu.id, Mode::Inference)?;
        let training = self.bundle.run(self.gpu.id, Mode::Training);
        // Errors on single operators say little about networks.
        let error = Run::mean_error_percent;
        let info = |metric: Metric, expected_error_percent| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent,
        };
        let mut metrics = vec![
            info(Metric::Latency, error(inference)),
            info(Metric::Throughput, error(inference)),
        ];
        metrics.extend(training.map(|run| info(Metric::TrainingStep, error(run))));
        metrics.extend(
            [
                Metric::Memory,
                Metric::TrainingMemory,
                Metric::Energy,
                Metric::SmUtilization,
            ]
            .map(|metric| info(metric, None)),
        );
        Some(TargetInfo {
            id: self.gpu.id.into(),
            device: self.gpu.device.into(),
            metrics,
            learned_from: provenance(inference),
            provenance: Provenance::own(
                ProvenanceKind::LearnedFromMeasurements,
                provenance(inference),
            ),
        })
    }

    /// PyTorch can run every operator that it can export.
    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn peak(&self) -> Option<PeakRates> {
        Some(PeakRates {
            macs_per_s: self.gpu.board.macs_per_s * self.gpu.precision.max_macs_per_multiply(),
            weight_bytes_per_s: self.gpu.board.bytes_per_s,
            cached_bytes: self.gpu.board.cache_bytes,
            map_bytes_per_s: self.gpu.board.bytes_per_s,
            cached_map_bytes: self.gpu.board.cache_bytes,
            bytes_per_value: Some(self.gpu.precision.bytes_per_value()),
        })
    }

    fn takes_any_batch(&self) -> bool {
        true
    }

    fn measured_range(&self, network: &Network) -> Option<MeasuredRange> {
        let run = self.bundle.run(self.gpu.id, Mode::Inference)?;
        let batch = batch_of(network).min(MAX_MEASURED_BATCH);
        Some(run.measured_range.scaled(f64::from(batch)))
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let estimated = match uncountable(network.graph, network.analysis)
            .or_else(|| compiled(network.graph))
        {
            Some(reason) => Err(reason),
            None => self.estimate_batch(network),
        };
        estimated.unwrap_or_else(|reason| TargetEstimate {
            device: self.gpu.device.to_owned(),
            metrics: vec![MetricEstimate {
                metric: Metric::Latency,
                outcome: Outcome::unavailable(reason),
            }],
            diagnostics: Vec::new(),
        })
    }
}

/// "PyTorch 2.4, AMP: measured on 1,200 networks of 120 families by the timm project".
fn provenance(run: &Run) -> String {
    let scaled = match &run.scaled_by {
        Some(words) if run.are_errors_of_others => format!(
            "; {words}; on other GPUs, costs scaled so were off by {:.0} % in the mean",
            run.errors.mean_percent
        ),
        Some(words) => format!("; {words}"),
        None => String::new(),
    };
    if run.n_networks == 0 {
        return format!("{}{scaled}", run.framework);
    }
    format!(
        "{}; measured on {} other networks of {} {} by {}{scaled}",
        run.framework,
        run.n_networks,
        run.n_families,
        if run.n_families == 1 {
            "family"
        } else {
            "families"
        },
        run.laboratory
    )
}

impl GpuTarget {
    fn estimate_batch(&self, network: &Network) -> Result<TargetEstimate, UnavailableReason> {
        let batch = batch_of(network);
        let kernels = kernels(network.graph);
        let inference = self.bundle.run(self.gpu.id, Mode::Inference);
        let run = inference.ok_or(UnavailableReason::NeverMeasured)?;
        let batch_size = f64::from(batch);
        let precision = self.gpu.precision;
        let timed = |run| time(run, &kernels, batch_size, self.gpu);
        let latency = timed(run).ok_or_else(|| unmeasured(&kernels))?;
        let step = self.bundle.run(self.gpu.id, Mode::Training);
        let step = step.and_then(|run| Some((run, timed(run)?)));
        let parameters = network.analysis.totals.parameters as f64;
        let memory = GpuMemory::inference(&kernels, parameters, batch_size, precision);
        let trained_with = |optimiser: Optimiser| {
            GpuMemory::training(&kernels, parameters, batch_size, optimiser, precision)
        };
        let training = trained_with(Optimiser::Adam);
        let mut metrics = latency_and_throughput(network, &kernels, run, &latency, batch_size);
        if let Some((run, step)) = &step {
            let operators = Some(by_node(network, &kernels, step));
            let interval = [step.value_ms, step.lo_ms, step.hi_ms];
            metrics.push(measured_estimate(
                Metric::TrainingStep,
                interval,
                run,
                batch_size,
                step,
                operators,
            ));
        }
        metrics.push(self.memory(Metric::Memory, &memory, batch, "inference"));
        let with_sgd = trained_with(Optimiser::Sgd);
        let use_ = format!(
            "training with Adam (with SGD and momentum {:.2} GB in all)",
            with_sgd.total_bytes() / 1e9
        );
        metrics.push(self.memory(Metric::TrainingMemory, &training, batch, &use_));
        metrics.extend(self.power(&latency));
        let mut diagnostics = doubts(run, &latency, network.graph, network.analysis);
        diagnostics.extend(self.too_large(&memory, batch));
        diagnostics.push(slices(&memory));
        Ok(TargetEstimate {
            device: self.gpu.device.to_owned(),
            metrics,
            diagnostics,
        })
    }

    fn memory(&self, metric: Metric, memory: &GpuMemory, batch: u32, use_: &str) -> MetricEstimate {
        let bytes = memory.total_bytes();
        let configuration = format!(
            "{use_}, batch {batch}, {}: weights {:.2}, gradients and optimiser {:.2}, activations {:.2}, \
             workspace {:.2}, framework {:.2} GB",
            self.gpu.precision.words(),
            memory.weight_bytes / 1e9,
            memory.state_bytes / 1e9,
            memory.activation_bytes / 1e9,
            memory.workspace_bytes / 1e9,
            memory.base_bytes / 1e9,
        );
        let [lo, hi] = memory::RANGE.map(|factor| bytes * factor);
        let ends = [bytes.round(), lo.round(), hi.round()];
        // The rules were compared with what PyTorch reserved on the H100.
        modelled_estimate(metric, ends, configuration).against(Reference::Measured)
    }

    /// Energy, and the share of time in which multiprocessors work.
    fn power(&self, latency: &Time) -> Vec<MetricEstimate> {
        let busy = latency.busy_share;
        let [lo, value, hi] = self.gpu.board.watts(busy);
        let energies = [
            value * latency.value_ms,
            lo * latency.lo_ms,
            hi * latency.hi_ms,
        ];
        let words = format!(
            "latency times {value:.0} W: {:.0} % of the board's {:.0} W while kernels run, {:.0} % while they \
             do not",
            BUSY_POWER[1] * 100.0,
            self.gpu.board.board_watts,
            IDLE_POWER[1] * 100.0
        );
        let utilization = [busy * 100.0, busy * MIN_BUSY * 100.0, 100.0];
        let share = "share of the latency in which a kernel runs, by the roofline".to_owned();
        vec![
            modelled_estimate(Metric::Energy, energies, words)
                .with_scope("the GPU's board, without its computer"),
            modelled_estimate(Metric::SmUtilization, utilization, share),
        ]
    }

    fn too_large(&self, memory: &GpuMemory, batch: u32) -> Option<Diagnostic> {
        let bytes = memory.total_bytes();
        (bytes > self.gpu.board.memory_bytes).then(|| Diagnostic {
            severity: Severity::Warning,
            code: "gpu-memory",
            message: format!(
                "batch {batch} needs about {:.1} GB, and {} has {:.0} GB: the times are of a batch that does \
                 not fit",
                bytes / 1e9,
                self.gpu.device,
                self.gpu.board.memory_bytes / 1e9
            ),
            operator_idx: None,
        })
    }
}

/// The timm project's largest batch.
const MAX_MEASURED_BATCH: u32 = 2048;

/// The batch size of the graph, or the requested one if the graph has batch size 1.
fn batch_of(network: &Network) -> u32 {
    match graph_batch(network.graph) {
        1 => network.batch.get(),
        of_graph => of_graph,
    }
}

/// Latency of the batch and throughput.
fn latency_and_throughput(
    network: &Network,
    kernels: &[Kernel],
    run: &Run,
    latency: &Time,
    batch: f64,
) -> Vec<MetricEstimate> {
    let operators = Some(by_node(network, kernels, latency));
    let interval = [latency.value_ms, latency.lo_ms, latency.hi_ms];
    let per_second = |ms: f64| batch / ms * 1e3;
    let throughput = [
        per_second(latency.value_ms),
        per_second(latency.hi_ms),
        per_second(latency.lo_ms),
    ];
    vec![
        measured_estimate(Metric::Latency, interval, run, batch, latency, operators),
        measured_estimate(Metric::Throughput, throughput, run, batch, latency, None),
    ]
}

/// The part of each node of the graph: the sum over the kernels that end with it.
fn by_node(network: &Network, kernels: &[Kernel], time: &Time) -> Vec<f64> {
    let mut parts = vec![0.0; network.graph.nodes.len()];
    for (kernel, share) in kernels.iter().zip(&time.shares) {
        parts[kernel.node_idx] += share * time.value_ms;
    }
    parts
}

fn measured_estimate(
    metric: Metric,
    [value, lo, hi]: [f64; 3],
    run: &Run,
    batch: f64,
    time: &Time,
    operators: Option<Vec<f64>>,
) -> MetricEstimate {
    // Where the host sets the pace, its range is not the one that was checked on the GPU.
    let is_checked = !is_far(time) && !time.is_launch_bound;
    let kind = if run.scaled_by.is_some() || time.is_launch_bound {
        ProvenanceKind::Modelled
    } else {
        ProvenanceKind::LearnedFromMeasurements
    };
    let source = Provenance::own(kind, format!("batch {batch:.0}; {}", provenance(run)))
        .checked(run.checked_percent().filter(|_| is_checked));
    MetricEstimate {
        metric,
        outcome: Outcome::Estimate {
            value,
            lo: Some(lo),
            hi: Some(hi),
            unit: metric.unit(),
            provenance: match run
                .reference(is_far(time))
                .filter(|_| !time.is_launch_bound)
            {
                Some(reference) => source.against(reference),
                None => source,
            },
            // The stated error applies only to networks that resemble the measured ones.
            expected_error_percent: if is_checked {
                run.mean_error_percent()
            } else {
                None
            },
            operators,
        },
    }
}

fn modelled_estimate(
    metric: Metric,
    [value, lo, hi]: [f64; 3],
    configuration: String,
) -> MetricEstimate {
    MetricEstimate {
        metric,
        outcome: Outcome::Estimate {
            value,
            lo: Some(lo),
            hi: Some(hi),
            unit: metric.unit(),
            provenance: Provenance::own(ProvenanceKind::Modelled, configuration),
            expected_error_percent: None,
            operators: None,
        },
    }
}

fn unmeasured(kernels: &[Kernel]) -> UnavailableReason {
    let kinds: BTreeSet<String> = kernels
        .iter()
        .map(|kernel| format!("{:?}", kernel.kind))
        .collect();
    let kinds: Vec<String> = kinds.into_iter().map(|kind| kind.to_lowercase()).collect();
    UnavailableReason::OfTarget {
        code: "no-measured-kernels",
        words: format!(
            "no network that was measured on this GPU spends time on what this one is made of: {}",
            if kinds.is_empty() {
                "no kernels".to_owned()
            } else {
                kinds.join(", ")
            }
        ),
    }
}

/// What a reader has to know of a latency of the network.
pub fn doubts(run: &Run, latency: &Time, graph: &Graph, analysis: &Analysis) -> Vec<Diagnostic> {
    let doubt = |code: &'static str, severity: Severity, message: String| Diagnostic {
        severity,
        code,
        message,
        operator_idx: None,
    };
    let mut doubts = Vec::new();
    if is_far(latency) {
        let words = if run.n_networks == 0 {
            "no network was measured on this GPU: the interval is wide"
        } else {
            "no network measured on this GPU is made of the same kernels as this one: the interval is wide"
        };
        doubts.push(doubt(
            "gpu-far-from-measured",
            Severity::Warning,
            words.to_owned(),
        ));
    }
    if latency.is_launch_bound {
        let words = "at this batch the GPU waits for the host, which launches kernels one by one: the time depends on the \
                     host, and larger batches were measured";
        doubts.push(doubt(
            "gpu-launch-bound",
            Severity::Warning,
            words.to_owned(),
        ));
    }
    if !is_float(graph, analysis) {
        let words = "estimated for the float network under PyTorch, not for this file's integers";
        doubts.push(doubt("gpu-precision", Severity::Info, words.to_owned()));
    }
    let is_volume = |node: &Node| {
        let work = node.operator.code.kind.row().work;
        matches!(work, Work::Convolution3d | Work::TransposedConvolution3d)
    };
    if graph.nodes.iter().any(is_volume) {
        let words = "no network with convolutions in three dimensions was measured: they count as those of images";
        doubts.push(doubt("gpu-volumes", Severity::Warning, words.to_owned()));
    }
    doubts
}

/// Whether PyTorch computes the network in the precision that it has.
fn is_float(graph: &Graph, analysis: &Analysis) -> bool {
    matches!(
        precision(graph, analysis),
        Precision::Float32 | Precision::Float16 | Precision::None
    )
}

/// Names the profiles of Multi-Instance GPU that hold the network.
fn slices(memory: &GpuMemory) -> Diagnostic {
    let bytes = memory.total_bytes();
    let advice = SLICED.iter().map(|gpu| match gpu.smallest(bytes) {
        Some(profile) => format!(
            "{} {} (at most {:.1} times the latency of the whole GPU)",
            gpu.name,
            profile.name,
            gpu.slowdown(profile)
        ),
        None => format!("{} is too small", gpu.name),
    });
    let advice: Vec<String> = advice.collect();
    let dippm = mig::dippm_profile(bytes).unwrap_or("none");
    Diagnostic {
        severity: Severity::Info,
        code: "mig-profile",
        message: format!(
            "smallest slices that hold {:.1} GB with {:.0} % to spare: {}; DIPPM's rule for the A100 40 GB: \
             {dippm}; modelled, nobody measured slices",
            bytes / 1e9,
            HEADROOM * 100.0,
            advice.join(", ")
        ),
        operator_idx: None,
    }
}
