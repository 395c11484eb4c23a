//! GPUs under PyTorch: latency, throughput and training step of a batch, memory, energy.
//!
//! Nobody publishes how a framework chooses kernels, but thousands of networks were measured. A network is a
//! list of [`kernels`]; their [`costs`] are a roofline fitted to the measurements, and kriging over the
//! measured networks corrects it ([`bundle`]). [`memory`] is counted by rules. `litecast-trainer fit-gpu`
//! makes the constants and prints their errors on networks that were left out; `docs/gpu.md` has them.

pub mod bundle;
pub mod costs;
mod dimensions;
pub mod estimate;
pub mod kernels;
pub mod memory;
pub mod mig;
pub mod specifications;
pub mod sweep;
mod target;

pub use target::targets;

#[cfg(feature = "bundle")]
use super::Target;

/// The GPU with this id, with the constants of this version.
#[cfg(feature = "bundle")]
pub fn target(id: &str) -> Option<Box<dyn Target>> {
    let mut targets = targets(bundle::Bundle::shipped()).into_iter();
    targets.find(|target| target.id() == id)
}
