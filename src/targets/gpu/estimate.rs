//! Kernels and a bundle's constants → time and its interval.

use super::bundle::{Mode, Run, position};
use super::costs::{Amounts, Execution, LAUNCHES, N_COSTS, amounts};
use super::kernels::Kernel;
use super::specifications::Gpu;

/// Time that the host takes to launch a kernel. At batch size 1, launches dominate in a framework that runs operator by
/// operator: HELP's latencies of NAS-Bench-201 at batch size 1 grow by 32 to 51 µs per launch on its five hosts. There
/// a batch norm is a launch of its own; here it is part of the convolution.
pub const LAUNCH_MS: f64 = 0.04;
/// The fastest and the slowest host, relative to [`LAUNCH_MS`]: the six hosts that were measured take 0.8 to 1.45 times as
/// long, and others may differ by more.
pub const LAUNCH_RANGE: [f64; 2] = [0.4, 2.0];
/// Time that a kernel runs at least, with the batch norms, casts and copies that belong to it: 5 to 7 µs at batch size 1
/// on an H100.
pub const MIN_KERNEL_MS: f64 = 0.005;
/// Lowest share of the time in which kernels run, relative to the estimate. The highest is all of it.
pub const MIN_BUSY: f64 = 0.6;
/// Launches of a training step, relative to inference: forward, backward, and the optimiser.
pub const TRAINING_LAUNCHES: f64 = 3.5;

/// Time of one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    pub value_ms: f64,
    pub lo_ms: f64,
    pub hi_ms: f64,
    /// Share of the value that each kernel takes.
    pub shares: Vec<f64>,
    /// Share of the value in which kernels run.
    pub busy_share: f64,
    /// Whether launching the kernels takes longer than running them.
    pub is_launch_bound: bool,
    /// Distance to the nearest measured network, from 0 to the square root of 2.
    pub distance: f64,
}

/// The time of `batch` inputs; `None` if the network takes no time.
pub fn time(run: &Run, kernels: &[Kernel], batch: f64, gpu: &Gpu) -> Option<Time> {
    let execution = Execution::new(kernels, gpu, run.mode);
    // Launches and casts are a fixed part of the time of a measured batch. For smaller batches, the host limits the
    // speed.
    let parts: Vec<f64> = kernels
        .iter()
        .map(|kernel| cost_ms(&amounts(kernel, batch.max(1.0), execution), &run.costs_ms))
        .collect();
    let total = sum_amounts(kernels, run.batches[1], gpu, run.mode);
    let roofline_ms: f64 = parts.iter().sum();
    if roofline_ms <= 0.0 || !roofline_ms.is_finite() {
        return None;
    }
    let position = position(&total, &run.costs_ms);
    let (correction, distance) = run.correction.at(&position);
    let launches_ms = run.costs_ms[LAUNCHES] * kernels.len() as f64 * correction.exp();
    let kernels_ms = batch * roofline_ms * correction.exp() - launches_ms;
    let half_width = run.correction.half_width_at(distance);
    let n_launches = kernels.len() as f64 * launches(run.mode);
    let host_ms = LAUNCH_MS * n_launches;
    // The launches of the fit are part of batches whose kernels run much longer than launching them takes. Where the host
    // limits the speed, they are part of its own time.
    let launches_share = (kernels_ms / host_ms - 1.0).clamp(0.0, 1.0);
    let gpu_ms = kernels_ms + launches_share * launches_ms;
    let value_ms = gpu_ms.max(host_ms);
    let busy_ms = gpu_ms + MIN_KERNEL_MS * n_launches;
    Some(Time {
        value_ms,
        lo_ms: (gpu_ms * (-half_width).exp()).max(host_ms * LAUNCH_RANGE[0]),
        hi_ms: (gpu_ms * half_width.exp()).max(host_ms * LAUNCH_RANGE[1]),
        shares: parts.iter().map(|part| part / roofline_ms).collect(),
        busy_share: (busy_ms / value_ms).clamp(0.0, 1.0),
        is_launch_bound: host_ms > gpu_ms,
        distance,
    })
}

fn launches(mode: Mode) -> f64 {
    match mode {
        Mode::Inference => 1.0,
        Mode::Training => TRAINING_LAUNCHES,
    }
}

/// Sum of the amounts of all kernels of a network.
pub fn sum_amounts(kernels: &[Kernel], batch: f64, gpu: &Gpu, mode: Mode) -> Amounts {
    let execution = Execution::new(kernels, gpu, mode);
    let mut sum = [0.0; N_COSTS];
    for kernel in kernels {
        for (sum, amount) in sum.iter_mut().zip(amounts(kernel, batch, execution)) {
            *sum += amount;
        }
    }
    sum
}

fn cost_ms(amounts: &Amounts, costs_ms: &[f64]) -> f64 {
    amounts.iter().zip(costs_ms).map(|(a, c)| a * c).sum()
}

/// Whether a network is so far from all measured networks that their errors say little about it.
pub fn is_far(time: &Time) -> bool {
    time.distance > FAR
}

/// The shares of two networks' times have a Bhattacharyya coefficient of 0.875 at this distance.
pub const FAR: f64 = 0.5;
