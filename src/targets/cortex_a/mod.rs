//! Cortex-A processors. A network's instructions are the sum of its operators' instructions. Those of an operator are a
//! sum of counts, which follow from its shapes (`kernel_counts`), times costs. The costs are fitted to instructions
//! that an emulator counted: for whole networks (`costs`) or, if no network of the fit contains the operator, for the
//! operator alone (`single_operators`). The constants that turn instructions into milliseconds and millijoules are
//! fitted to measured boards (`constants`). `latency` combines all of them.

mod constants;
mod costs;
mod instruction_count;
mod kernel_counts;
mod latency;
mod shared_counts;
mod single_operators;
mod target;

pub use self::constants::{
    Board, Constant, Constants, Energy, Errors, Family, Fit, INSTRUCTION_SPREAD, NEVER_MEASURED,
    Nanoseconds, WorkNanoseconds,
};
pub use self::costs::{
    COMMON, Class as CostClass, Costs, KernelCosts, RARE_SHARE, SMALL, TargetCosts,
};
pub use self::instruction_count::{InstructionCount, Source};
pub use self::kernel_counts::{
    Class, KernelCounts, Terms, inference_counts, is_uncounted_of_vendor, kernel_counts,
};
pub use self::latency::{Latency, instruction_counts, is_loose, latency, latency_of};
pub use self::shared_counts::{instruction_counts_of, kernel_counts_of};
pub use self::single_operators::{GeneralCost, SingleKernel, SingleOperators, SingleTarget};
pub use self::target::{FAMILY, is_id, targets};

/// Whether the latency of a target is modelled from instructions.
pub fn is_modelled(target: &str) -> bool {
    Constants::shipped().board(target).is_some()
}
