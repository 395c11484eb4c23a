//! Work and fitted costs → latency and its interval.

use super::devices::{NumberFormat, Runtime};
use super::work::{Amounts, ENDS, N_TERMS, NetworkWork, ONCE};
use crate::target::fitted::{Elsewhere, Run};

/// Time of one inference.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    pub value_ms: f64,
    pub lo_ms: f64,
    pub hi_ms: f64,
    /// By node.
    pub operators_ms: Vec<f64>,
    /// How far the network is from all that were measured, from 0 to 1: [`unfamiliar_share`].
    pub unfamiliar: f64,
}

/// What the same network took on another device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// Measured time / estimate there.
    pub ratio: f64,
    /// What that is worth here.
    pub errors: Elsewhere,
}

/// Millions of bytes a millisecond: no memory of these devices is faster than that of an X2 Elite.
const MAX_MEGABYTES_PER_MS: f64 = 228.0;
/// Millions of bytes that memory on the chip holds, at most.
const MAX_HELD_MEGABYTES: f64 = 64.0;

/// What memories allow: each operator moves what the chip does not hold, and so do the network's inputs and outputs, which
/// may belong to operators that move nothing beside others.
fn memory_floor_ms(work: &NetworkWork, activation_bytes: f64) -> f64 {
    let beyond = |elements: f64| (activation_bytes * elements - MAX_HELD_MEGABYTES).max(0.0);
    let of_operators: f64 = work.nodes.iter().map(|node| beyond(node.elements)).sum();
    of_operators.max(beyond(work.ends)) / MAX_MEGABYTES_PER_MS
}

/// The time of a network under a runtime with numbers, by what it took on another device where that is known; `None` if it
/// has no work.
pub fn time(
    run: &Run,
    work: &NetworkWork,
    (runtime, numbers): (Runtime, NumberFormat),
    beside: Option<Beside>,
) -> Option<Time> {
    let amounts = work.amounts(runtime);
    let nodes = &work.nodes;
    let fitted_ms: f64 = time_by_term(&amounts, &run.costs_ms).iter().sum();
    if fitted_ms <= 0.0 || !fitted_ms.is_finite() {
        return None;
    }
    let least_ms = memory_floor_ms(work, numbers.activation_bytes());
    let factor = beside.map_or(1.0, |there| there.ratio.powf(there.errors.trust));
    let value_ms = (fitted_ms * factor).max(least_ms);
    let unfamiliar = unfamiliar_share(&amounts, &run.costs_ms, &run.max_shares);
    let half_width = match beside {
        Some(there) => there.errors.half_width[0] + there.errors.half_width[1] * unfamiliar,
        None => run.correction.half_width_at(unfamiliar),
    };
    // What an inference takes beside its operators is spread over them, so that parts add up.
    let of_operators = fitted_ms - run.costs_ms[ONCE] - run.costs_ms[ENDS] * work.ends;
    let even_ms = value_ms / nodes.len() as f64;
    let operators_ms = nodes.iter().map(|node| match node {
        _ if of_operators <= fitted_ms * 1e-9 => even_ms,
        node => node.cost(&run.costs_ms, runtime) * value_ms / of_operators,
    });
    Some(Time {
        value_ms,
        lo_ms: (value_ms * (-half_width).exp()).max(least_ms),
        hi_ms: value_ms * half_width.exp(),
        operators_ms: operators_ms.collect(),
        unfamiliar,
    })
}

/// Time of each term.
pub fn time_by_term(amounts: &Amounts, costs: &[f64]) -> [f64; N_TERMS] {
    std::array::from_fn(|term| amounts[term] * costs[term])
}

/// The share of a network's time in kinds of work that no measured network spends as large a share in.
pub fn unfamiliar_share(amounts: &Amounts, costs: &[f64], max_shares: &[f64]) -> f64 {
    let parts = time_by_term(amounts, costs);
    let total: f64 = parts.iter().sum();
    let beyond = parts.iter().zip(max_shares);
    beyond
        .map(|(part, max)| (part / total - max).max(0.0))
        .sum()
}

/// From this share on, the errors of measured networks say little about a network.
pub const FAR: f64 = 0.2;
