//! A device that somebody measured: the operators of the most similar target, each class of them scaled by a factor that
//! the measurements tell, and what each call and each inference takes beside.
//!
//! `classes` sorts operators, `kernels` has what those of a known runtime cost, `prior` has what is expected before a measurement, `fit` finds the factors, `device` is the document that is stored, `estimable` what
//! estimates need of it, and `target` estimates.

mod classes;
mod device;
mod estimable;
mod fit;
mod flat;
mod kernels;
mod prior;
mod target;

pub use classes::{Class, N_CLASSES, operator_class, stride_h};
pub use device::{
    DEVICE_VERSION, Device, DeviceError, MAX_DEVICE_BYTES, MeasuredNetwork, NetworkError,
    Observation,
};
pub use estimable::Estimable;
pub use fit::{Expected, Fit, Measured, Plan};
pub use kernels::{KernelOperator, Kernels};
pub use prior::{ANY_RUNTIME, Prior};
pub use target::target;
