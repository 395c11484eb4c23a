//! Microcontrollers: Cortex-M cores and the ESP32 under ST Edge AI (Cube.AI) or TensorFlow Lite Micro, and the
//! STM32N6's NPU. The cycles of an operator are a sum of counts, which follow from its shapes (`operator_counts`),
//! times costs that are fitted to measured boards (`constants`). A factor adapts them from one core to another.

mod activation_ram;
mod constants;
mod estimate;
mod live_channels;
mod memory;
mod operator_counts;
mod support;
mod target;
mod unmeasured;

pub use self::activation_ram::{ActivationRam, StDevice, StRelease, StTool, activation_ram_bytes};
pub use self::constants::{
    Constants, CoreConversion, CoreErrors, Energy, Errors, Release, Runtime, ShortLatencies, Target,
};
pub use self::estimate::{InferenceEnergy, Latency, energy, latencies, latency, latency_of_nodes};
pub use self::memory::{st_code_flash_bytes, weights_flash_bytes};
pub use self::operator_counts::{
    Kind, OperatorCounts, Program, Term, kind, largest_working_set_bytes, operator_counts,
};
pub use self::support::{MAX_CLOCK_MHZ, MIN_CLOCK_MHZ, Refusal, is_known};
pub use self::target::{ChosenBoard, FAMILY, split_release, target, target_on, targets};
pub use self::unmeasured::{UnmeasuredBoard, never_measured};
