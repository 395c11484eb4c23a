//! A device that somebody measured: the operators of the most similar target, each class of them scaled by a factor that
//! the measurements tell, and what each call and each inference takes beside.
//!
//! `classes` sorts operators, `fit` finds the factors, `device` is the document that is stored, and `target` estimates.

mod classes;
mod device;
mod fit;
mod target;

pub use classes::{Class, operator_class};
pub use device::{
    DEVICE_VERSION, Device, DeviceError, MAX_DEVICE_BYTES, MeasuredNetwork, NetworkError,
    Observation,
};
pub use target::target;
