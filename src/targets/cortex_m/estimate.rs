//! Counts and constants → latency and energy of an inference.

use std::collections::{BTreeSet, HashMap};

use super::constants::{Constants, Runtime, Target};
use super::operator_counts::{Kind, OperatorCounts, Program, kind, operator_counts};
use super::support::{
    MAX_CLOCK_MHZ, MIN_CLOCK_MHZ, Refusal, check, multiplies, other_operand_types,
};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;

/// A latency with its 90 % interval, which held nine of ten left-out networks.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub clock_mhz: f64,
    pub value_ms: f64,
    pub lo_ms: f64,
    pub hi_ms: f64,
    /// Part of each node, in the order of [`Graph::nodes`]; the parts add up to the latency.
    pub operators_ms: Vec<f64>,
    /// Operators that no measured network contains. They are counted like other operators of their kind.
    pub unmeasured: BTreeSet<String>,
}

impl Latency {
    /// The same latency with an interval that is wider by this factor on either side.
    pub fn wider_by(self, factor: f64) -> Self {
        Self {
            lo_ms: self.lo_ms / factor,
            hi_ms: self.hi_ms * factor,
            ..self
        }
    }
}

/// An energy with a 90 % interval, like [`Latency`].
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceEnergy {
    pub value_mj: f64,
    pub lo_mj: f64,
    pub hi_mj: f64,
    /// Part of each node, as in [`Latency`].
    pub operators_mj: Vec<f64>,
}

/// The cost of an operator that no measured network contains may be its count divided by this, or multiplied with it.
const UNMEASURED_FACTOR: f64 = 10.0;

/// Latency of one inference on a target of [`Constants::targets`], at `clock_mhz` if given. Linear in nodes and weight
/// bytes.
pub fn latency(
    graph: &Graph,
    analysis: &Analysis,
    target: &Target,
    clock_mhz: Option<f64>,
) -> Result<Latency, Refusal> {
    let clock_mhz = checked_clock(target, clock_mhz)?;
    check(graph, analysis)?;
    let operators = operator_counts(graph, analysis, &target.program);
    latency_of(&operators, target, clock_mhz)
}

/// [`latency`] on each target, by its id, at its own clock. Targets with the same program share one count.
pub fn latencies(
    graph: &Graph,
    analysis: &Analysis,
) -> Result<HashMap<&'static str, Result<Latency, Refusal>>, Refusal> {
    check(graph, analysis)?;
    let mut counted: Vec<(&Program, Vec<OperatorCounts>)> = Vec::new();
    let of_target = |target: &'static Target| {
        let program = &target.program;
        let known = counted.iter().position(|(known, _)| *known == program);
        let idx = known.unwrap_or_else(|| {
            counted.push((program, operator_counts(graph, analysis, program)));
            counted.len() - 1
        });
        let latency = latency_of(&counted[idx].1, target, target.clock_mhz);
        (target.target.as_str(), latency)
    };
    let targets = Constants::shipped().targets.iter();
    Ok(targets.map(of_target).collect())
}

/// Latency of some nodes, given by index, of a network whose other nodes run elsewhere. Products of other numbers than
/// int8 count as unmeasured. `None` if the target's runtime was never measured.
pub fn latency_of_nodes(
    graph: &Graph,
    analysis: &Analysis,
    target: &Target,
    clock_mhz: f64,
    nodes: &[usize],
) -> Option<Latency> {
    let runtime = Constants::shipped().runtime(target)?;
    let all = operator_counts(graph, analysis, &target.program);
    let is_other = |idx: usize| {
        let node = graph.nodes.get(idx);
        node.is_some_and(|node| multiplies(node) && other_operand_types(graph, node).is_some())
    };
    let counted = nodes.iter().filter_map(|&idx| {
        let counts = all.get(idx)?;
        Some((counts, is_unmeasured(runtime, counts) || is_other(idx)))
    });
    Some(latency_sum(counted, runtime, target, clock_mhz))
}

/// Latency from the counts of operators.
fn latency_of(
    operators: &[OperatorCounts],
    target: &Target,
    clock_mhz: f64,
) -> Result<Latency, Refusal> {
    let constants = Constants::shipped();
    let runtime = constants.runtime(target).ok_or(Refusal::NoOperators)?;
    let counted = operators
        .iter()
        .map(|counts| (counts, is_unmeasured(runtime, counts)));
    let latency = latency_sum(counted, runtime, target, clock_mhz);
    if latency.value_ms > 0.0 {
        Ok(latency)
    } else {
        Err(Refusal::NothingCounted {
            of: operators.len(),
        })
    }
}

fn is_unmeasured(runtime: &Runtime, counts: &OperatorCounts) -> bool {
    !runtime.operators.contains(counts.operator.name()) && kind(counts.operator) != Kind::Free
}

/// The sum over operators, each with whether it was never measured.
fn latency_sum<'c>(
    operators: impl Iterator<Item = (&'c OperatorCounts, bool)>,
    runtime: &Runtime,
    target: &Target,
    clock_mhz: f64,
) -> Latency {
    let (mut operators_ms, mut unmeasured) = (Vec::new(), BTreeSet::new());
    let [mut measured_ms, mut unmeasured_ms] = [0.0, 0.0];
    for (counts, is_unmeasured) in operators {
        let ms = runtime.cycles(counts) * target.cycles_factor / (1e3 * clock_mhz);
        operators_ms.push(ms);
        if is_unmeasured {
            unmeasured_ms += ms;
            unmeasured.insert(counts.operator.name().to_owned());
        } else {
            measured_ms += ms;
        }
    }
    // A sum of nothing would be -0.
    let value_ms = operators_ms.iter().fold(0.0, |sum, ms| sum + ms);
    let factor = target.interval_factor_at(value_ms);
    Latency {
        clock_mhz,
        value_ms,
        lo_ms: (measured_ms + unmeasured_ms / UNMEASURED_FACTOR) / factor,
        hi_ms: (measured_ms + unmeasured_ms * UNMEASURED_FACTOR) * factor,
        operators_ms,
        unmeasured,
    }
}

fn checked_clock(target: &Target, asked_mhz: Option<f64>) -> Result<f64, Refusal> {
    let Some(found) = asked_mhz else {
        return Ok(target.clock_mhz);
    };
    if !(MIN_CLOCK_MHZ..=MAX_CLOCK_MHZ).contains(&found) {
        return Err(Refusal::Clock { found });
    }
    if !target.has_other_clocks && found != target.clock_mhz {
        return Err(Refusal::OtherClock {
            measured: target.clock_mhz,
            found,
        });
    }
    Ok(found)
}

/// Energy of an inference that takes `latency` on `target`.
pub fn energy(target: &Target, latency: &Latency) -> Result<InferenceEnergy, Refusal> {
    let power = Refusal::Power {
        found: latency.clock_mhz,
    };
    let energy = target.energy.as_ref().ok_or_else(|| power.clone())?;
    if energy.clock_mhz != latency.clock_mhz {
        return Err(power);
    }
    let mj = |ms: f64| 1e-3 * energy.power_mw * energy.stated_factor() * ms;
    // Take the wider of two intervals: only that of the latency accounts for operators that were not measured.
    let factor = (energy.interval_factor / target.interval_factor).max(1.0);
    let [below, above] = energy.supply_factors();
    Ok(InferenceEnergy {
        value_mj: mj(latency.value_ms),
        lo_mj: mj(latency.lo_ms) / (factor * below),
        hi_mj: mj(latency.hi_ms) * factor * above,
        operators_mj: latency.operators_ms.iter().map(|&ms| mj(ms)).collect(),
    })
}
