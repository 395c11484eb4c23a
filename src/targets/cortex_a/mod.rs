//! Cortex-A processors. A network's instructions are the sum of its operators', each a sum of counts
//! of its shapes (`work`) times costs fitted to what an emulator counted: of whole networks (`costs`)
//! or, where no network of the fit has the operator, of the operator alone (`single_operators`). What
//! turns them into milliseconds and millijoules was fitted to measured boards (`constants`); `latency`
//! puts all of it together.

mod constants;
mod costs;
mod latency;
mod single_operators;
mod target;
mod work;

pub use self::constants::{
    Board, Constant, Constants, Energy, Errors, Family, Fit, NEVER_MEASURED, Nanoseconds,
};
pub use self::costs::{
    COMMON, Class as CostClass, Costs, KernelCosts, RARE_SHARE, SMALL, TargetCosts,
};
pub use self::latency::{Counted, Latency, Source, count, latency, latency_of};
pub use self::single_operators::{Bound, SingleKernel, SingleOperators, SingleTarget};
pub use self::target::targets;
pub use self::work::{Class, Terms, Work, inference, work};

/// Whether the latency of a target follows from instructions.
pub fn is_modelled(target: &str) -> bool {
    Constants::shipped().board(target).is_some()
}
