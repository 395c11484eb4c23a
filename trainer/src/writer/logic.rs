//! The builder's operators on truth values, selections and conversions.

use super::builder::NetworkBuilder;
use super::elementwise::broadcast;
use super::network::{Content, ElementType, TensorIdx};
use super::operator_kind::{Comparison, Logic, OperatorKind};

impl NetworkBuilder {
    /// Truth values.
    pub fn compare(
        &mut self,
        name: &str,
        comparison: Comparison,
        left: TensorIdx,
        right: TensorIdx,
    ) -> TensorIdx {
        let shape = broadcast(self.shape(left), self.shape(right));
        self.truth(
            name,
            OperatorKind::Compare(comparison),
            &[left, right],
            shape,
        )
    }

    /// Adds LOGICAL_AND or LOGICAL_OR.
    pub fn logical(
        &mut self,
        name: &str,
        logic: Logic,
        left: TensorIdx,
        right: TensorIdx,
    ) -> TensorIdx {
        let shape = broadcast(self.shape(left), self.shape(right));
        self.truth(name, OperatorKind::Logical(logic), &[left, right], shape)
    }

    /// Adds LOGICAL_NOT.
    pub fn logical_not(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let shape = self.shape(input).to_vec();
        self.truth(name, OperatorKind::LogicalNot, &[input], shape)
    }

    /// Whether all (or any) truth values over `axis` hold; the axis stays as 1.
    pub fn reduce_truth(
        &mut self,
        name: &str,
        logic: Logic,
        input: TensorIdx,
        axis: usize,
    ) -> TensorIdx {
        let mut shape = self.shape(input).to_vec();
        shape[axis] = 1;
        let axis = self.int32_constant(&format!("{name}/axis"), &[1], vec![axis as i32]);
        let kind = match logic {
            Logic::And => OperatorKind::ReduceAll { keep_dims: true },
            Logic::Or => OperatorKind::ReduceAny { keep_dims: true },
        };
        self.truth(name, kind, &[input, axis], shape)
    }

    fn truth(
        &mut self,
        name: &str,
        kind: OperatorKind,
        inputs: &[TensorIdx],
        shape: Vec<i32>,
    ) -> TensorIdx {
        let output = self.tensor(name, shape, ElementType::Bool, Content::Activation);
        self.add_operator(kind, inputs, &[output]);
        output
    }

    /// `left` where `condition` holds, else `right`; in one scale. `broadcasts`: SELECT_V2, whose
    /// shapes need not be equal.
    pub fn select(
        &mut self,
        name: &str,
        condition: TensorIdx,
        [left, right]: [TensorIdx; 2],
        broadcasts: bool,
    ) -> TensorIdx {
        let unified = self.requantized_to_one_scale(name, &[left, right]);
        let shape = broadcast(self.shape(left), self.shape(right));
        let kind = if broadcasts {
            OperatorKind::SelectV2
        } else {
            OperatorKind::Select
        };
        let spread = self.spread(left);
        self.operator(
            name,
            kind,
            &[condition, unified[0], unified[1]],
            shape,
            spread,
        )
    }
}
