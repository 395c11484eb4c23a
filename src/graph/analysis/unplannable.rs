//! Why activations have no plan, and the limits that can cause this.

use super::calls::MAX_CALL_DEPTH;
use crate::formats::tflite::TensorType;

/// Maximum number of tensors and working buffers that are placed. Placing is quadratic, and this number takes about a
/// tenth of a second. The largest deployed networks have a few thousand.
pub const MAX_PLANNED_TENSORS: usize = 10_000;

/// Maximum number of operators and operands that are visited, where a subgraph counts again at each call, because
/// nested calls of small subgraphs can multiply without bound. This number takes about ten milliseconds, and is more
/// than a file without calls can have.
pub const MAX_WALKED: usize = 1 << 21;

/// Metadata entry with which a compiler prescribes offsets.
pub const OFFLINE_PLAN: &str = "OfflineMemoryAllocation";

/// Why there is no [`MemoryPlan`](super::MemoryPlan).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unplannable {
    #[error(
        "tensor `{name}` (subgraph {subgraph_idx}, tensor {tensor_idx}): expected a static shape, found {signature:?}"
    )]
    RunTimeShape {
        name: String,
        subgraph_idx: usize,
        tensor_idx: usize,
        signature: Vec<i32>,
    },
    #[error(
        "tensor `{name}` (subgraph {subgraph_idx}, tensor {tensor_idx}): expected values of a fixed size, found {tensor_type:?}"
    )]
    UnknownSize {
        name: String,
        subgraph_idx: usize,
        tensor_idx: usize,
        tensor_type: TensorType,
    },
    #[error(
        "tensor `{name}` (subgraph {subgraph_idx}, tensor {tensor_idx}): expected a size below 2^64 bytes, found the shape {shape:?}"
    )]
    TooLarge {
        name: String,
        subgraph_idx: usize,
        tensor_idx: usize,
        shape: Vec<i32>,
    },
    #[error(
        "operator {operator_idx} of subgraph {subgraph_idx} ({name}): expected operands whose shapes the file tells, found others"
    )]
    OperandShapes {
        name: String,
        subgraph_idx: usize,
        operator_idx: usize,
    },
    #[error(
        "expected at most {MAX_PLANNED_TENSORS} activations and working buffers, found {found}"
    )]
    TooManyTensors { found: usize },
    #[error(
        "expected at most {MAX_WALKED} operators and operands in all calls together, found more"
    )]
    TooManyWalked,
    #[error("expected subgraphs that call each other at most {MAX_CALL_DEPTH} deep, found more")]
    CallDepth,
    #[error("an operator calls subgraph {subgraph_idx}, which the file does not have")]
    Subgraph { subgraph_idx: usize },
    #[error("metadata `{OFFLINE_PLAN}`: expected {expected} offsets, found {found}")]
    OfflinePlan { expected: usize, found: String },
    #[error("expected an arena below 2^64 bytes, found more")]
    Overflow,
}
