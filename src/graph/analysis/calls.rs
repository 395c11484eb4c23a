//! Operators that run other subgraphs.

use crate::formats::tflite::BuiltinOptions;

/// Maximum depth of calls between subgraphs that is followed. Real files stay below 5, and the recursion must fit the
/// stack of a browser's worker.
pub const MAX_CALL_DEPTH: usize = 16;

/// Subgraph indices that one operator runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    Nothing,
    /// At the first inference only.
    Initially([usize; 1]),
    /// Once in every inference.
    Always([usize; 1]),
    /// One of them, chosen at run time.
    OneOf(Vec<usize>),
    /// Condition and body, whose number of runs depends on values at run time.
    Loop([usize; 2]),
}

impl Calls {
    /// The bodies of reductions and sorts, which combine two values, are elementwise work and not calls.
    pub fn from_options(options: &BuiltinOptions) -> Self {
        use BuiltinOptions::*;
        match *options {
            CallOnce { init_subgraph_idx } => Self::Initially([init_subgraph_idx]),
            Call { subgraph_idx } => Self::Always([subgraph_idx]),
            StablehloComposite {
                decomposition_subgraph_idx,
                ..
            } => Self::Always([decomposition_subgraph_idx]),
            If {
                then_subgraph_idx,
                else_subgraph_idx,
            } => Self::OneOf(vec![then_subgraph_idx, else_subgraph_idx]),
            StablehloCase {
                ref branch_subgraph_idxs,
            } => Self::OneOf(branch_subgraph_idxs.clone()),
            While {
                cond_subgraph_idx,
                body_subgraph_idx,
            } => Self::Loop([cond_subgraph_idx, body_subgraph_idx]),
            _ => Self::Nothing,
        }
    }

    /// In the order of the file.
    pub fn subgraphs(&self) -> &[usize] {
        match self {
            Self::Nothing => &[],
            Self::Initially(callees) | Self::Always(callees) => callees,
            Self::OneOf(callees) => callees,
            Self::Loop(callees) => callees,
        }
    }
}
