//! Counts and constants → latency and energy of an inference.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use super::constants::{Constants, Runtime, Target};
use super::operator_counts::{Kind, OperatorCounts, Program, Term, kind, operator_counts};
use super::support::{
    MAX_CLOCK_MHZ, MIN_CLOCK_MHZ, Refusal, check, multiplies, other_operand_types,
};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::targets::cortex_a;

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

/// The time of reading flash outside of the chip may be its estimate divided by this, or multiplied with it: two latencies of
/// the one measured network that reads it again and again ask for 0.5 and 1.3 of it.
const OFF_CHIP_WEIGHTS_FACTOR: f64 = 2.0;

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
    latency_of(
        &operators,
        &Kernels::new(graph, analysis),
        target,
        clock_mhz,
    )
}

/// [`latency`] on each target, by its id, at its own clock. Targets with the same program share one count.
pub fn latencies(
    graph: &Graph,
    analysis: &Analysis,
) -> Result<HashMap<&'static str, Result<Latency, Refusal>>, Refusal> {
    check(graph, analysis)?;
    let kernels = Kernels::new(graph, analysis);
    let mut counted: Vec<(&Program, Vec<OperatorCounts>)> = Vec::new();
    let of_target = |target: &'static Target| {
        let program = &target.program;
        let known = counted.iter().position(|(known, _)| *known == program);
        let idx = known.unwrap_or_else(|| {
            counted.push((program, operator_counts(graph, analysis, program)));
            counted.len() - 1
        });
        let latency = latency_of(&counted[idx].1, &kernels, target, target.clock_mhz);
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
        let is_unmeasured = is_unmeasured(runtime, counts) || is_other(idx);
        Some((idx, counts, is_unmeasured))
    });
    let kernels = Kernels::new(graph, analysis);
    Some(latency_sum(counted, &kernels, runtime, target, clock_mhz))
}

/// Latency from the counts of operators.
fn latency_of(
    operators: &[OperatorCounts],
    kernels: &Kernels,
    target: &Target,
    clock_mhz: f64,
) -> Result<Latency, Refusal> {
    let constants = Constants::shipped();
    let runtime = constants.runtime(target).ok_or(Refusal::NoOperators)?;
    let counted = operators.iter().enumerate();
    let counted = counted.map(|(idx, counts)| (idx, counts, is_unmeasured(runtime, counts)));
    let latency = latency_sum(counted, kernels, runtime, target, clock_mhz);
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

/// The instructions of each operator's kernel in TensorFlow Lite, which were counted on a Cortex-A.
struct Kernels<'g, 'm> {
    graph: &'g Graph<'m>,
    analysis: &'g Analysis,
    /// Counted when the first operator asks.
    instructions: OnceCell<Vec<f64>>,
}

impl<'g, 'm> Kernels<'g, 'm> {
    fn new(graph: &'g Graph<'m>, analysis: &'g Analysis) -> Self {
        Self {
            graph,
            analysis,
            instructions: OnceCell::new(),
        }
    }

    /// Cycles that a node takes at least: one for each instruction of its kernel, whose vectors no core here has. 0 where
    /// the kernel was not counted.
    fn min_cycles(&self, node_idx: usize) -> f64 {
        let count = || {
            let costs = cortex_a::Costs::shipped().target("cortex-a72-rpi4");
            let counts = cortex_a::kernel_counts(self.graph, self.analysis);
            let counted = costs.map(|costs| cortex_a::instruction_counts(costs, &counts));
            let of_kernel = |counted: cortex_a::InstructionCount| match counted.source {
                cortex_a::Source::Networks | cortex_a::Source::SingleOperators => {
                    counted.instructions - counted.besides
                }
                cortex_a::Source::GeneralCost | cortex_a::Source::Unknown => 0.0,
            };
            let counted = counted.unwrap_or_default().into_iter();
            counted.map(of_kernel).collect()
        };
        let instructions = self.instructions.get_or_init(count);
        instructions.get(node_idx).copied().unwrap_or(0.0)
    }
}

/// The sum over operators, each with its node and whether it was never measured.
fn latency_sum<'c>(
    operators: impl Iterator<Item = (usize, &'c OperatorCounts, bool)>,
    kernels: &Kernels,
    runtime: &Runtime,
    target: &Target,
    clock_mhz: f64,
) -> Latency {
    let (mut operators_ms, mut unmeasured) = (Vec::new(), BTreeSet::new());
    let [mut on_chip_ms, mut off_chip_ms, mut unmeasured_ms] = [0.0, 0.0, 0.0];
    let cycle_ms = target.cycles_factor / (1e3 * clock_mhz);
    let off_chip_cost = runtime.costs.get(&Term::OffChipWeightBytes);
    let off_chip_cost = off_chip_cost.copied().unwrap_or(0.0);
    for (node_idx, counts, is_unmeasured) in operators {
        let cycles = runtime.cycles(counts);
        let cycles = if is_unmeasured {
            cycles.max(kernels.min_cycles(node_idx))
        } else {
            cycles
        };
        let ms = cycles * cycle_ms;
        operators_ms.push(ms);
        if is_unmeasured {
            unmeasured_ms += ms;
            unmeasured.insert(counts.operator.name().to_owned());
        } else {
            let part_ms = off_chip_cost * counts.count(Term::OffChipWeightBytes) * cycle_ms;
            off_chip_ms += part_ms;
            on_chip_ms += ms - part_ms;
        }
    }
    // A sum of nothing would be -0.
    let value_ms = operators_ms.iter().fold(0.0, |sum, ms| sum + ms);
    let factor = target.interval_factor_at(value_ms);
    Latency {
        clock_mhz,
        value_ms,
        lo_ms: (on_chip_ms
            + off_chip_ms / OFF_CHIP_WEIGHTS_FACTOR
            + unmeasured_ms / UNMEASURED_FACTOR)
            / factor,
        hi_ms: (on_chip_ms
            + off_chip_ms * OFF_CHIP_WEIGHTS_FACTOR
            + unmeasured_ms * UNMEASURED_FACTOR)
            * factor,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::{OpKind, TensorType};
    use crate::graph::analysis::analyze;
    use crate::graph::analysis::fixtures::{graph_of, model, operator, subgraph, tensor};

    /// Weights that are read from outside of the chip are surer to take time than how much.
    #[test]
    fn flash_outside_of_the_chip_widens_the_interval() {
        let target = Constants::shipped().target("cortex-m7-stm32h747").unwrap();
        let map = || tensor(TensorType::Int8, &[1, 4]);
        let model = model(vec![subgraph(
            vec![map(), map()],
            vec![operator(OpKind::Relu, &[0], &[1])],
        )]);
        let graph = graph_of(&model);
        let analysis = analyze(&graph);
        let of_bytes = |bytes: f64| {
            let counts = OperatorCounts {
                operator: OpKind::Conv2d,
                terms: vec![
                    (Term::ConvolutionProducts, 1e9),
                    (Term::OffChipWeightBytes, bytes),
                ],
            };
            latency_of(&[counts], &Kernels::new(&graph, &analysis), target, 400.0).unwrap()
        };
        let (without, with) = (of_bytes(0.0), of_bytes(1e8));
        let off_chip_ms = with.value_ms - without.value_ms;
        println!("{:.0} ms, {off_chip_ms:.0} ms of it", with.value_ms);
        assert!((500.0..2000.0).contains(&off_chip_ms), "100 MB/s or so");
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let by_hand = target.interval_factor * without.value_ms;
        assert!(close(without.hi_ms, by_hand));
        let by_hand = target.interval_factor * (without.value_ms + 2.0 * off_chip_ms);
        assert!(close(with.hi_ms, by_hand));
        let by_hand = (without.value_ms + off_chip_ms / 2.0) / target.interval_factor;
        assert!(close(with.lo_ms, by_hand));
    }

    /// Reference kernels that take hundreds of instructions for a value: one in a cycle at 400 MHz is slower than a
    /// Cortex-A53 at 1.8 GHz.
    #[test]
    fn what_was_never_measured_takes_what_its_kernel_does() {
        let a53 = cortex_a::Constants::shipped().board("cortex-a53-imx8mp");
        for kind in [OpKind::Div, OpKind::L2Normalization, OpKind::Rsqrt] {
            let map = || tensor(TensorType::Int8, &[1, 64, 256]);
            let inputs: &[usize] = if kind == OpKind::Div { &[0, 1] } else { &[0] };
            let tensors = vec![map(), map(), map()];
            let model = model(vec![subgraph(tensors, vec![operator(kind, inputs, &[2])])]);
            let graph = graph_of(&model);
            let analysis = analyze(&graph);
            let operators = cortex_a::kernel_counts(&graph, &analysis);
            let faster = cortex_a::latency(a53.unwrap(), &operators, 1).unwrap();
            let m7 = Constants::shipped().target("cortex-m7-tflm").unwrap();
            let latency = latency(&graph, &analysis, m7, None).unwrap();
            let (slow, fast) = (latency.value_ms, faster.value_ms);
            println!("{}: {slow:.2} ms, {fast:.2} ms", kind.name());
            assert!(slow > fast);
            assert_eq!(latency.unmeasured.len(), 1);
        }
    }
}
