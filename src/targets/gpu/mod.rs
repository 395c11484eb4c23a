//! GPUs under PyTorch: latency, throughput and training step of a batch, memory, energy.
//!
//! How a framework chooses kernels is not published, but thousands of networks were measured. A network is a list of
//! [`kernels`]; their [`costs`] are a roofline fitted to the measurements, and kriging over the measured networks
//! corrects it ([`bundle`]). [`memory`] is counted by rules. `litecast-trainer fit-gpu` fits the constants and prints
//! their errors on left-out networks, which `docs/method/gpu.md` lists.

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

pub use bundle::Bundle;
pub use target::{FAMILY, targets};

use std::sync::Arc;

use super::Target;

/// The constants of this version, if they are compiled into the library. The module of a browser is loaded without
/// them, whatever its features, and fetches them when a GPU is asked for.
pub fn shipped() -> Option<&'static Arc<Bundle>> {
    #[cfg(all(feature = "bundle", not(target_arch = "wasm32")))]
    return Some(Bundle::shipped());
    #[cfg(not(all(feature = "bundle", not(target_arch = "wasm32"))))]
    None
}

/// [`targets`] of the constants that the library contains.
pub fn shipped_targets() -> Vec<Box<dyn Target>> {
    shipped().map_or(Vec::new(), targets)
}

/// The target for the GPU with this id and these constants.
pub fn target(id: &str, bundle: &Arc<Bundle>) -> Option<Box<dyn Target>> {
    let mut targets = targets(bundle).into_iter();
    targets.find(|target| target.id() == id)
}
