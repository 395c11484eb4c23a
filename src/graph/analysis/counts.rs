//! MACs, parameters and bytes of a subgraph's operators, including those of the subgraphs that they run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::calls::{Calls, MAX_CALL_DEPTH};
use super::constants::Constants;
use super::macs::{Uncountable, macs};
use super::weights::WeightStats;
use crate::formats::tflite::{Buffer, Model, OpKind, Operator, Subgraph, Tensor};

/// The work of one operator in one inference, including the subgraphs that it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Multiply-accumulates, see [`macs`](super::macs). An `IF` counts its costlier subgraph, a `WHILE` its condition
    /// and body once. 0 with a diagnostic if unknown.
    pub macs: u64,
    /// Number of constant values that the operator computes with, as stored in the file, without shapes, axes, paddings
    /// and index arithmetic. Constants that it reads through `DEQUANTIZE` or `DENSIFY` are its parameters, not those of
    /// the operator that unpacks them.
    pub parameters: u64,
    /// Bytes of those constants as the file stores them.
    pub weight_bytes: u64,
    /// Bytes of activations read, each tensor once. Constants are not activations, even if they are unpacked.
    pub input_bytes: u64,
    /// Bytes of activations written.
    pub output_bytes: u64,
    /// Statistics of the largest constant's values; absent if the operator has no constant. Shared by the operators that
    /// read it.
    pub weights: Option<Arc<WeightStats>>,
}

/// Sums over the graph and the subgraphs that it runs. They saturate instead of overflowing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub macs: u64,
    /// Each constant tensor counts once, however many operators read it.
    pub parameters: u64,
    /// Each buffer counts once, however many tensors share it.
    pub weight_bytes: u64,
}

/// Indices of operators whose MACs are not known, by reason and name.
pub type Uncounted = BTreeMap<(Uncountable, String), Vec<usize>>;

/// The counts of one subgraph.
#[derive(Default)]
pub struct SubgraphCounts {
    /// Parallel to [`Subgraph::operators`]; without [`Cost::weights`].
    pub costs: Vec<Cost>,
    /// For each operator the stored tensors it computes with.
    pub parameters: Vec<Vec<usize>>,
    pub uncounted: Uncounted,
    /// Sums over `costs`, cached because a subgraph may be called often.
    sums: Totals,
}

impl SubgraphCounts {
    fn push(&mut self, cost: Cost, parameters: Vec<usize>) {
        self.sums.macs = self.sums.macs.saturating_add(cost.macs);
        self.sums.parameters = self.sums.parameters.saturating_add(cost.parameters);
        self.sums.weight_bytes = self.sums.weight_bytes.saturating_add(cost.weight_bytes);
        self.costs.push(cost);
        self.parameters.push(parameters);
    }

    fn constants(&self) -> BTreeSet<usize> {
        self.parameters.iter().flatten().copied().collect()
    }
}

/// Counts subgraphs, each once however often it is called.
pub struct Counter<'m> {
    model: &'m Model<'m>,
    counted: BTreeMap<usize, SubgraphCounts>,
    /// Subgraphs on the path from the root, to detect cycles.
    path: Vec<usize>,
}

impl<'m> Counter<'m> {
    /// Counts `root` and what it calls.
    pub fn count(model: &'m Model<'m>, root: usize) -> Self {
        let mut counter = Self {
            model,
            counted: BTreeMap::new(),
            path: Vec::new(),
        };
        counter.visit(root);
        counter
    }

    /// The counts by subgraph index: the root and every subgraph called from it.
    pub fn subgraphs(&self) -> &BTreeMap<usize, SubgraphCounts> {
        &self.counted
    }

    /// Totals of one inference of `root`. Sums saturate at the largest 64-bit number.
    pub fn totals(&self, root: usize) -> Totals {
        let mut buffers = BTreeSet::new();
        let mut totals = Totals {
            macs: self.counted[&root].sums.macs,
            ..Totals::default()
        };
        for (&subgraph_idx, counts) in &self.counted {
            let tensors = &self.model.subgraphs[subgraph_idx].tensors;
            for tensor in counts
                .constants()
                .into_iter()
                .map(|tensor_idx| &tensors[tensor_idx])
            {
                totals.parameters = totals
                    .parameters
                    .saturating_add(stored_values(self.model, tensor));
                if buffers.insert(tensor.buffer_idx) {
                    totals.weight_bytes = totals
                        .weight_bytes
                        .saturating_add(stored_bytes(self.model, tensor));
                }
            }
        }
        totals
    }

    fn visit(&mut self, subgraph_idx: usize) {
        let Some(subgraph) = self.model.subgraphs.get(subgraph_idx) else {
            return;
        };
        self.path.push(subgraph_idx);
        let constants = Constants::new(subgraph, &self.model.buffers);
        let n_operators = subgraph.operators.len();
        let mut counts = SubgraphCounts {
            costs: Vec::with_capacity(n_operators),
            parameters: Vec::with_capacity(n_operators),
            ..SubgraphCounts::default()
        };
        let mut of_customs = HashSet::new();
        for (operator_idx, operator) in subgraph.operators.iter().enumerate() {
            let mut parameters = constants.parameters_of(subgraph, operator);
            // Compiled operators share one constant with the weights of all of them.
            if operator.code.kind == OpKind::Custom {
                parameters.retain(|&idx| of_customs.insert(subgraph.tensors[idx].buffer_idx));
            }
            let mut cost =
                cost_without_callees(self.model, subgraph, operator, &constants, &parameters);
            let n_macs = match Calls::from_options(&operator.options) {
                Calls::Nothing => macs(operator, &subgraph.tensors),
                calls => self.add_callees(&calls, &mut cost),
            };
            cost.macs = n_macs.unwrap_or_else(|reason| {
                let key = (reason, operator.code.name().to_owned());
                counts.uncounted.entry(key).or_default().push(operator_idx);
                0
            });
            counts.push(cost, parameters);
        }
        self.path.pop();
        self.counted.insert(subgraph_idx, counts);
    }

    /// Adds the parameters of the subgraphs that an operator calls to its own, and returns the MACs of these subgraphs.
    fn add_callees(&mut self, calls: &Calls, cost: &mut Cost) -> Result<u64, Uncountable> {
        let mut macs = Vec::new();
        for &callee in calls.subgraphs() {
            if self.path.contains(&callee) || self.path.len() > MAX_CALL_DEPTH {
                return Err(Uncountable::Operator);
            }
            if !self.counted.contains_key(&callee) {
                self.visit(callee);
            }
            let sums = self.counted.get(&callee).ok_or(Uncountable::Operator)?.sums;
            cost.parameters = cost.parameters.saturating_add(sums.parameters);
            cost.weight_bytes = cost.weight_bytes.saturating_add(sums.weight_bytes);
            macs.push(sums.macs);
        }
        Ok(match calls {
            Calls::Nothing | Calls::Initially(_) => 0,
            Calls::Always(_) | Calls::Loop(..) => macs.into_iter().fold(0, u64::saturating_add),
            Calls::OneOf(_) => macs.into_iter().max().unwrap_or(0),
        })
    }
}

fn cost_without_callees(
    model: &Model,
    subgraph: &Subgraph,
    operator: &Operator,
    constants: &Constants,
    parameters: &[usize],
) -> Cost {
    let tensor = |tensor_idx: usize| &subgraph.tensors[tensor_idx];
    let sum = |bytes_of: fn(&Model, &Tensor) -> u64| {
        parameters
            .iter()
            .map(|&tensor_idx| bytes_of(model, tensor(tensor_idx)))
            .fold(0, u64::saturating_add)
    };
    let activation_bytes = |tensor_indices: BTreeSet<usize>| {
        let activations = tensor_indices
            .into_iter()
            .filter(|&tensor_idx| !constants.contains(tensor_idx));
        let bytes = activations.map(|tensor_idx| tensor(tensor_idx).byte_len().unwrap_or(0));
        bytes.fold(0, u64::saturating_add)
    };
    Cost {
        parameters: sum(stored_values),
        weight_bytes: sum(stored_bytes),
        input_bytes: activation_bytes(operator.inputs.iter().flatten().copied().collect()),
        output_bytes: activation_bytes(operator.outputs.iter().copied().collect()),
        ..Cost::default()
    }
}

/// Number of values of a constant that the file stores: for a sparse tensor its stored values, and never more than fit
/// in the buffer.
fn stored_values(model: &Model, tensor: &Tensor) -> u64 {
    if let Some(Buffer::Described { n_parameters, .. }) = model.buffers.get(tensor.buffer_idx) {
        return *n_parameters;
    }
    let sparse = tensor
        .sparsity
        .as_ref()
        .and_then(|sparsity| sparsity.stored_values);
    let values = sparse
        .or_else(|| tensor.element_count())
        .unwrap_or(u64::MAX);
    match tensor.tensor_type.bits_per_value() {
        Some(bits) => values.min(stored_bytes(model, tensor).saturating_mul(8) / u64::from(bits)),
        None => values.min(stored_bytes(model, tensor)),
    }
}

fn stored_bytes(model: &Model, tensor: &Tensor) -> u64 {
    model
        .buffers
        .get(tensor.buffer_idx)
        .map_or(0, Buffer::n_bytes)
}
