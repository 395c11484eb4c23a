//! When each tensor is alive, step by step, as TensorFlow Lite Micro counts steps.

use std::ops::RangeInclusive;

use super::calls::{Calls, MAX_CALL_DEPTH};
use super::unplannable::{MAX_WALKED, Unplannable};
use crate::formats::tflite::{Model, OpKind, Operator};

/// Step of tensors that nothing writes or reads. The arena holds all of them at the same time.
pub const NEVER: i64 = -1;

/// Lifetimes in steps. Step 0 is the start of the root subgraph; each operator takes the next step, and each call of a
/// subgraph takes one more step before its operators.
pub struct Lifetimes {
    /// First and last step of each tensor, by subgraph.
    pub steps: Vec<Vec<(i64, i64)>>,
    /// Steps of each operator of the root subgraph, those of its callees included.
    pub operator_steps: Vec<RangeInclusive<i64>>,
}

/// Walks `root` and the subgraphs it calls, in the order of the file.
pub fn lifetimes(model: &Model, root: usize) -> Result<Lifetimes, Unplannable> {
    let never =
        |subgraph: &crate::formats::tflite::Subgraph| vec![(NEVER, NEVER); subgraph.tensors.len()];
    let mut walk = Walk {
        model,
        step: 0,
        n_walked: 0,
        steps: model.subgraphs.iter().map(never).collect(),
    };
    let operator_steps = walk.subgraph(root, 0)?;
    Ok(Lifetimes {
        steps: walk.steps,
        operator_steps,
    })
}

struct Walk<'m> {
    model: &'m Model<'m>,
    step: i64,
    n_walked: usize,
    steps: Vec<Vec<(i64, i64)>>,
}

impl Walk<'_> {
    fn subgraph(
        &mut self,
        idx: usize,
        depth: usize,
    ) -> Result<Vec<RangeInclusive<i64>>, Unplannable> {
        if depth > MAX_CALL_DEPTH {
            return Err(Unplannable::CallDepth);
        }
        let model = self.model;
        let subgraph = model
            .subgraphs
            .get(idx)
            .ok_or(Unplannable::Subgraph { subgraph_idx: idx })?;
        self.spend(1 + subgraph.inputs.len() + subgraph.outputs.len())?;
        subgraph
            .inputs
            .iter()
            .for_each(|&tensor_idx| self.create_and_use(idx, tensor_idx));
        let mut operator_steps = Vec::with_capacity(subgraph.operators.len());
        for operator in subgraph.operators.iter() {
            operator_steps.push(self.operator(idx, operator, depth)?);
        }
        subgraph
            .outputs
            .iter()
            .for_each(|&tensor_idx| self.create_and_use(idx, tensor_idx));
        Ok(operator_steps)
    }

    fn operator(
        &mut self,
        subgraph_idx: usize,
        operator: &Operator,
        depth: usize,
    ) -> Result<RangeInclusive<i64>, Unplannable> {
        self.spend(1 + operator.inputs.len() + operator.outputs.len())?;
        self.step += 1;
        let first_step = self.step;
        operator
            .outputs
            .iter()
            .for_each(|&tensor_idx| self.create(subgraph_idx, tensor_idx));
        for &callee in micro_calls(operator).subgraphs() {
            self.step += 1;
            self.subgraph(callee, depth + 1)?;
        }
        let inputs = operator.inputs.iter().flatten();
        inputs
            .chain(&operator.outputs)
            .for_each(|&tensor_idx| self.use_now(subgraph_idx, tensor_idx));
        Ok(first_step..=self.step)
    }

    fn spend(&mut self, n: usize) -> Result<(), Unplannable> {
        self.n_walked += n;
        if self.n_walked > MAX_WALKED {
            Err(Unplannable::TooManyWalked)
        } else {
            Ok(())
        }
    }

    fn create(&mut self, subgraph_idx: usize, tensor_idx: usize) {
        let (first_step, _) = &mut self.steps[subgraph_idx][tensor_idx];
        if *first_step == NEVER {
            *first_step = self.step;
        }
    }

    fn use_now(&mut self, subgraph_idx: usize, tensor_idx: usize) {
        self.steps[subgraph_idx][tensor_idx].1 = self.step;
    }

    fn create_and_use(&mut self, subgraph_idx: usize, tensor_idx: usize) {
        self.create(subgraph_idx, tensor_idx);
        self.use_now(subgraph_idx, tensor_idx);
    }
}

/// The calls that TensorFlow Lite Micro plans for: not those of StableHLO and `CALL`.
fn micro_calls(operator: &Operator) -> Calls {
    match operator.code.kind {
        OpKind::If | OpKind::While | OpKind::CallOnce => Calls::from_options(&operator.options),
        _ => Calls::Nothing,
    }
}
