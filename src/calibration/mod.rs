//! Calibration of a device that is not a target, from measurements on it.
//!
//! `calibrate` makes a `Device` of what benchmark tools print, operators included: any number of networks from one on. The
//! browser's module does not have it.
//! [`Calibration`] is a line through whole latencies alone, which a program measured itself.

#[cfg(not(target_arch = "wasm32"))]
mod calibrate;
#[cfg(not(target_arch = "wasm32"))]
mod estimated_network;
mod latency_line;
#[cfg(not(target_arch = "wasm32"))]
mod operator_matching;

#[cfg(not(target_arch = "wasm32"))]
pub use crate::targets::measured_device::{
    Class, DEVICE_VERSION, Device, DeviceError, MAX_DEVICE_BYTES,
};
#[cfg(not(target_arch = "wasm32"))]
pub use calibrate::{Addition, Measured, ProfileError, calibrate};
#[cfg(not(target_arch = "wasm32"))]
pub use estimated_network::EstimatedNetwork;
pub use latency_line::{
    Calibrated, Calibration, CalibrationError, MAX_MEASUREMENTS, MIN_MEASUREMENTS, Measurement,
};
