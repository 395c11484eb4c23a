//! Work and fitted costs → latency and its interval.

use super::work::{Amounts, N_TERMS, ONCE, Work, summed};
use crate::target::fitted::Run;

/// Time of one inference.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    pub value_ms: f64,
    pub lo_ms: f64,
    pub hi_ms: f64,
    /// By node.
    pub operators_ms: Vec<f64>,
    /// How far the network is from all that were measured, from 0 to 1: [`unfamiliar`].
    pub unfamiliar: f64,
}

/// Millions of bytes a millisecond: no memory of these devices is faster than that of an X2 Elite.
const MAX_MEGABYTES_PER_MS: f64 = 228.0;
/// Millions of bytes that memory on the chip holds, at most.
const MAX_HELD_MEGABYTES: f64 = 64.0;

/// What memories allow: each operator moves what the chip does not hold.
fn least_ms(works: &[Work], activation_bytes: f64) -> f64 {
    let beyond = works
        .iter()
        .map(|work| (activation_bytes * work.elements - MAX_HELD_MEGABYTES).max(0.0));
    beyond.sum::<f64>() / MAX_MEGABYTES_PER_MS
}

/// The time of a network with activations of so many bytes; `None` if it has no work.
pub fn time(run: &Run, works: &[Work], activation_bytes: f64) -> Option<Time> {
    let amounts = summed(works);
    let fitted_ms: f64 = shares(&amounts, &run.costs_ms).iter().sum();
    if fitted_ms <= 0.0 || !fitted_ms.is_finite() {
        return None;
    }
    let least_ms = least_ms(works, activation_bytes);
    let value_ms = fitted_ms.max(least_ms);
    let unfamiliar = unfamiliar(&amounts, &run.costs_ms, &run.max_shares);
    let half_width = run.correction.half_width_at(unfamiliar);
    // What an inference takes beside its operators is spread over them, so that parts add up.
    let of_operators = fitted_ms - run.costs_ms[ONCE];
    let spread = if of_operators > 0.0 {
        value_ms / of_operators
    } else {
        0.0
    };
    let operators_ms = works.iter().map(|work| work.cost(&run.costs_ms) * spread);
    Some(Time {
        value_ms,
        lo_ms: (value_ms * (-half_width).exp()).max(least_ms),
        hi_ms: value_ms * half_width.exp(),
        operators_ms: operators_ms.collect(),
        unfamiliar,
    })
}

/// Time of each term.
pub fn shares(amounts: &Amounts, costs: &[f64]) -> [f64; N_TERMS] {
    std::array::from_fn(|term| amounts[term] * costs[term])
}

/// The share of a network's time in kinds of work that no measured network spends as large a share in.
pub fn unfamiliar(amounts: &Amounts, costs: &[f64], max_shares: &[f64]) -> f64 {
    let parts = shares(amounts, costs);
    let total: f64 = parts.iter().sum();
    let beyond = parts.iter().zip(max_shares);
    beyond
        .map(|(part, max)| (part / total - max).max(0.0))
        .sum()
}

/// From this share on, the errors of measured networks say little about a network.
pub const FAR: f64 = 0.2;
