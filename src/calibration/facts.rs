//! What a device's document says in numbers that people read.

use serde::Serialize;

use crate::targets::measured_device::{Class, Device};

/// What follows from the measurements on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceFacts {
    /// Mean absolute error in percent of networks that were estimated from the others; `None` for one network.
    pub left_out_percent: Option<f64>,
    /// Milliseconds of a call of a kernel, beside what it computes.
    pub call_ms: f64,
    /// Milliseconds of an inference, beside its calls.
    pub inference_ms: f64,
    /// One for each class of kernels.
    pub kernels: Vec<KernelFacts>,
}

/// How fast kernels of one class are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelFacts {
    /// The class in words.
    pub kernels: &'static str,
    /// Factor on the cost of the base.
    pub factor: f64,
    /// Whether measurements tell the factor, which is the expected one otherwise.
    pub is_measured: bool,
}

impl DeviceFacts {
    /// Of a device.
    pub fn new(device: &Device) -> Self {
        let unmeasured: Vec<Class> = device.unconstrained_classes().collect();
        let [call_ms, inference_ms] = device.overheads_ms();
        let kernels = device.kernels.classes().map(|class| KernelFacts {
            kernels: class.words(),
            factor: device.factor(class),
            is_measured: !unmeasured.contains(&class),
        });
        Self {
            left_out_percent: device.left_out_percent(),
            call_ms,
            inference_ms,
            kernels: kernels.collect(),
        }
    }
}
