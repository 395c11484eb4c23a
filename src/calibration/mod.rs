//! Calibration of a device that is not a target, from measurements on it.
//!
//! `calibrate` makes a `Device` of what benchmark tools print, operators included: any number of networks from one on. In
//! browsers it is a module of its own, which is loaded when somebody has a profile.
//! [`Calibration`] is a line through whole latencies alone, which a program measured itself.

mod calibrate;
#[cfg(feature = "schema")]
mod device_schema;
mod estimated_network;
mod facts;
mod latency_line;
mod next_measurement;
mod operator_matching;
mod probes;

pub use crate::targets::measured_device::{
    ANY_RUNTIME, Class, DEVICE_VERSION, Device, DeviceError, Kernels, MAX_DEVICE_BYTES, Prior,
};
pub use calibrate::{
    Measured, NewMeasurement, ProfileError, base_families, calibrate, calibrate_from,
};
#[cfg(feature = "schema")]
pub use device_schema::derived_device_schema;
pub use estimated_network::EstimatedNetwork;
pub use facts::{DeviceFacts, KernelFacts};
pub use latency_line::{
    Calibrated, Calibration, CalibrationError, MAX_MEASUREMENTS, MIN_MEASUREMENTS, Measurement,
};
pub use next_measurement::{NextMeasurement, next_as_json, next_measurements, next_of_documents};
pub use probes::{INT8 as INT8_PROBES, PROBES, Probe, Tool, probes_of, tools};

/// The JSON Schema, draft 2020-12, of the document of a [`Device`]. The trainer's tests compare it with what the types say.
#[cfg(not(target_arch = "wasm32"))]
pub const DEVICE_SCHEMA: &str = include_str!("device.schema.json");
