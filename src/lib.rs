//! What a TensorFlow Lite model costs on edge hardware, estimated before any deployment.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use litecast::{Metric, ModelFile, Outcome, estimate};
//!
//! let bytes = std::fs::read("www/examples/cnn-kws-s7-i43.tflite")?;
//! let report = estimate(ModelFile::new("cnn-kws-s7-i43.tflite", &bytes), None)?;
//! println!("{} multiply-accumulates", report.model.macs);
//!
//! let latencies = report.results.iter().filter(|result| result.metric == Metric::Latency);
//! for result in latencies {
//!     match &result.outcome {
//!         Outcome::Estimate { value, unit, .. } => println!("{}: {value:.3} {unit}", result.device),
//!         Outcome::Unavailable { unavailable, .. } => println!("{}: {unavailable}", result.device),
//!     }
//! }
//! # let mut on_processor = report.results.iter().filter(|result| result.target == "cortex-a76-rpi5");
//! # assert!(on_processor.any(|result| matches!(result.outcome, Outcome::Estimate { .. })));
//! # Ok(())
//! # }
//! ```
//!
//! [`estimate()`] estimates one file and [`estimate_many`] many; both return a [`report`]. [`calibration`] estimates the
//! latencies of a device from a few measurements on it.
//!
//! [`estimate_on`](estimate::estimate_on) estimates on targets of one's own choice, and
//! [`sweep_batch`](batch_sweep::sweep_batch) by batch on a GPU:
//!
//! ```
//! # #[cfg(feature = "bundle")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use litecast::model_variants::Changes;
//! use litecast::batch_sweep::sweep_batch;
//! use litecast::estimate::estimate_on;
//! use litecast::gpu::{Bundle, Gpu};
//! use litecast::{Choice, ModelFile};
//!
//! let bytes = std::fs::read("www/examples/cnn-kws-s7-i43.tflite")?;
//! let file = ModelFile::new("cnn-kws-s7-i43.tflite", &bytes);
//! let choice = Choice {
//!     target: Some("ethos-u55-128".to_owned()),
//!     ..Choice::default()
//! };
//! let mut reports = estimate_on(&[file], None, &[choice.target()?])?;
//! let report = reports.remove(0)?;
//! assert!(report.results.iter().all(|result| result.target == "ethos-u55-128"));
//!
//! let gpu = Gpu::by_id("rtx-3090").ok_or("a known GPU")?;
//! let swept = sweep_batch(file, &Changes::default(), gpu, Bundle::shipped())?;
//! println!("knee at {:?}", swept.map(|swept| swept.knee_batch));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "bundle"))]
//! # fn main() {}
//! ```
//!
//! Types that later versions extend are `#[non_exhaustive]`; those that a program makes are made from what `new` or
//! `default` gives (`..ModelFile::new(name, bytes)`), so that new fields break no program.
//!
//! The other modules are the stages of the data, in order: `formats` (bytes → model), `graph` (model → operators,
//! tensors, batch size and exact facts), `learned` (features → estimates of a trained network) and `targets` (one folder
//! for each kind of hardware). The trainer uses them; they are not covered by semantic versioning, and are left out of
//! this documentation.
//!
//! Features: `cli` (the default) adds the dependencies of the command and includes `bundle`, the constants of GPUs, phones
//! and NPU boards. `tract` runs networks that a program loads (`Predictor::load`), for targets of one's own that ask one;
//! with `bundle`, one comes with the library (`Predictor::shipped`). The targets of this crate ask none: their estimates
//! are those of rules and models.
#![warn(missing_docs)]
// Unit tests run natively, with crates that browsers do not have. `wasm-pack test` compiles this crate once more for
// them, and finds none.
#![cfg(not(all(test, target_arch = "wasm32")))]

pub mod batch_sweep;
pub mod boards;
pub mod calibration;
pub mod diagnostic;
pub mod estimate;
mod evaluation;
mod fields;
#[doc(hidden)]
pub mod formats;
#[doc(hidden)]
pub mod graph;
#[doc(hidden)]
pub mod learned;
pub mod model_variants;
pub mod profiles;
pub mod provenance;
pub mod report;
pub mod sweep;
#[doc(hidden)]
pub mod target;
#[doc(hidden)]
pub mod targets;
#[doc(hidden)]
pub mod work;

pub use diagnostic::Diagnostic;
/// GPUs: their specifications, the constants fitted to measurements on them, and a network by batch.
pub mod gpu {
    pub use crate::targets::gpu::bundle::Bundle;
    pub use crate::targets::gpu::specifications::Gpu;
    pub use crate::targets::gpu::sweep::Sweep;
}

pub use estimate::{EstimateError, ModelFile, Request, estimate, estimate_many};
pub use learned::predictor::{Predictor, PredictorError};
pub use report::Report;
pub use target::{Metric, Outcome, Settings, Target, UnavailableReason};
pub use targets::choice::{Choice, ChoiceError};

#[cfg(all(target_arch = "wasm32", feature = "tract"))]
mod constructors;
/// What JavaScript calls: not in the module that makes devices from profiles.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod wasm;
/// What JavaScript calls in the module that makes devices from profiles.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod wasm_profiles;
