//! Calibration of a device that is not a target, from measurements on it.
//!
//! `calibrate` makes a `Device` of what benchmark tools print, operators included: any number of networks from one on. The
//! browser's module does not have it.
//! [`Calibration`] is a line through whole latencies alone, which a program measured itself.

#[cfg(not(target_arch = "wasm32"))]
mod estimated;
mod line;
#[cfg(not(target_arch = "wasm32"))]
mod matching;
#[cfg(not(target_arch = "wasm32"))]
mod networks;

#[cfg(not(target_arch = "wasm32"))]
pub use crate::targets::calibrated::{
    Class, DEVICE_VERSION, Device, DeviceError, MAX_DEVICE_BYTES,
};
#[cfg(not(target_arch = "wasm32"))]
pub use estimated::EstimatedNetwork;
pub use line::{
    Calibrated, Calibration, CalibrationError, MAX_MEASUREMENTS, MIN_MEASUREMENTS, Measurement,
};
#[cfg(not(target_arch = "wasm32"))]
pub use networks::{Addition, Measured, ProfileError, calibrate};
