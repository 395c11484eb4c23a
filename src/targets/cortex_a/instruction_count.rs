//! What is counted of an operator before a board is known.

use super::Class;

/// The source of an operator's number of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A fit to networks that contain the operator.
    Networks,
    /// Counts of files with this operator alone.
    SingleOperators,
    /// The operator was never counted; its instructions are bounded by bytes and arithmetic.
    GeneralCost,
    /// Nothing is known of the operator: it was compiled for an accelerator, or only its vendor knows what it computes.
    Unknown,
}

/// Instructions of one operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstructionCount {
    pub instructions: f64,
    /// Those of them that are a share of the inference outside of operators, which the interpreter executes.
    pub besides: f64,
    /// The 90 % interval of the count is `instructions` divided by and multiplied with this factor.
    pub interval_factor: f64,
    pub source: Source,
}

impl InstructionCount {
    /// Whether the operator runs on all threads: XNNPACK's operators do, the interpreter's own run on one.
    pub fn is_parallel(&self, class: Class) -> bool {
        match class {
            Class::Matrix | Class::Depthwise => true,
            Class::Recurrent => false,
            Class::Other => self.source == Source::Networks,
        }
    }

    /// The instructions that the interpreter or its own kernels execute, which are no part of the networks' operators of
    /// any class.
    pub fn interpreted(&self, class: Class) -> f64 {
        let is_own = class == Class::Other && self.source != Source::Networks;
        if is_own {
            self.instructions
        } else {
            self.besides
        }
    }
}
