//! Small networks to measure on a device: each spends most of its time in one class of kernels. `litecast-trainer probes` wrote
//! the files.

use crate::report::sha256;

/// A network that is handed out, in both precisions.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Stem of its file.
    pub name: &'static str,
    /// The kernels that take most of its time, in words.
    pub kernels: &'static str,
    /// The TFLite file of floats.
    pub float32: &'static [u8],
    /// The same of 8-bit integers, which TensorFlow Lite Micro runs too.
    pub int8: &'static [u8],
}

macro_rules! probes {
    ($($name:literal: $kernels:literal,)*) => {
        [$(Probe {
            name: $name,
            kernels: $kernels,
            float32: include_bytes!(concat!("probes/", $name, "-float32.tflite")),
            int8: include_bytes!(concat!("probes/", $name, "-int8.tflite")),
        }),*]
    };
}

/// All of them, one for each class of kernels and a classifier that has several.
pub const PROBES: [Probe; 10] = probes! {
    "small-network": "several kinds, and the time of an inference",
    "convolutions-3x3": "3x3 convolutions of stride 1",
    "pointwise": "1x1 convolutions",
    "convolutions": "other convolutions",
    "depthwise": "depthwise convolutions",
    "matrix-products": "matrix products",
    "elementwise": "elementwise operators",
    "pooling": "pooling and reductions",
    "softmax": "softmax",
    "movement": "movements of data",
};

impl Probe {
    /// Name and contents of the file in each precision.
    pub fn files(&self) -> [(String, &'static [u8]); 2] {
        [("float32", self.float32), ("int8", self.int8)]
            .map(|(precision, bytes)| (format!("{}-{precision}.tflite", self.name), bytes))
    }
}

/// Whether a file with this SHA-256 is one of [`PROBES`], whose own latency nobody asks for.
pub fn is_probe(sha256_of_file: &str) -> bool {
    let mut files = PROBES.iter().flat_map(|probe| [probe.float32, probe.int8]);
    files.any(|bytes| sha256(bytes) == sha256_of_file)
}
