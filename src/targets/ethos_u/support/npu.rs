//! The families that share a list of operators.

/// A family of NPUs with one operator list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Npu {
    EthosU55U65,
    EthosU85,
}
