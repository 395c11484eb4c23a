//! Cortex-A processors. A network's instructions are the sum of its operators', each a sum of counts
//! of its shapes ([`work`]) times costs fitted to what an emulator counted ([`costs`]). What turns them
//! into milliseconds and millijoules was fitted to measured boards ([`constants`]).

mod constants;
mod costs;
mod target;
mod work;

pub use self::constants::{Board, Check, Constant, Constants, Energy, Errors, WithStores};
pub use self::costs::{COMMON, Class, Costs, KernelCosts, RARE_SHARE, SMALL, TargetCosts};
pub use self::target::targets;
pub use self::work::{Work, inference, work};

/// Whether the latency of a target follows from instructions.
pub fn is_modelled(target: &str) -> bool {
    Constants::shipped().board(target).is_some()
}
