//! Small networks to measure on a device: each spends most of its time in one class of kernels. `litecast-trainer probes` wrote
//! the files.

use serde::Serialize;

use crate::profiles::TOOLS;

/// A network that is handed out, in each precision and as ONNX.
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
    /// The same layers in floats as ONNX, with channels first.
    pub onnx: &'static [u8],
}

macro_rules! probes {
    ($($name:literal: $kernels:literal,)*) => {
        [$(Probe {
            name: $name,
            kernels: $kernels,
            float32: include_bytes!(concat!("probes/", $name, "-float32.tflite")),
            int8: include_bytes!(concat!("probes/", $name, "-int8.tflite")),
            onnx: include_bytes!(concat!("probes/", $name, "-float32.onnx")),
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
    /// Name and contents of each file: of floats, of 8-bit integers, and ONNX.
    pub fn files(&self) -> [(String, &'static [u8]); 3] {
        [
            (FLOAT32, self.float32),
            (INT8, self.int8),
            (ONNX, self.onnx),
        ]
        .map(|(end, bytes)| (format!("{}-{end}", self.name), bytes))
    }
}

const FLOAT32: &str = "float32.tflite";
/// End of the names of the [`PROBES`] of 8-bit integers.
pub const INT8: &str = "int8.tflite";
const ONNX: &str = "float32.onnx";

/// A tool whose command is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// In the words that devices have for it.
    pub tool: &'static str,
    /// End of the names of the [`PROBES`] that it takes: integers where its runtime runs those alone, or mostly.
    pub probes: &'static str,
}

/// Those whose command [`profiles::command`](crate::profiles::command) knows.
pub fn tools() -> impl Iterator<Item = Tool> {
    TOOLS.into_iter().map(|tool| Tool {
        tool,
        probes: probes_of(tool),
    })
}

/// As [`Tool::probes`], of any tool.
pub fn probes_of(tool: &str) -> &'static str {
    match tool {
        "ONNX Runtime" | "ncnn" | "MNN" => ONNX,
        "Vela" | "TensorFlow Lite Micro's profiler" | "ST Edge AI's validation" => INT8,
        _ => FLOAT32,
    }
}

/// SHA-256 and name of each file, which `litecast-trainer probes` writes beside them: without the files, which browsers fetch
/// one by one.
const SHA256: &str = include_str!("probes.sha256");

/// Whether a file with this SHA-256 is one of [`PROBES`], whose own latency nobody asks for.
pub fn is_probe(sha256_of_file: &str) -> bool {
    let mut hashes = SHA256.lines().filter_map(|line| line.split(' ').next());
    hashes.any(|hash| hash == sha256_of_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sha256;

    #[test]
    fn files_are_told_by_their_hashes() {
        let files: Vec<_> = PROBES.iter().flat_map(Probe::files).collect();
        assert_eq!(SHA256.lines().count(), files.len());
        for (name, bytes) in &files {
            let line = format!("{}  {name}", sha256(bytes));
            assert!(SHA256.lines().any(|one| one == line), "{line}");
        }
        assert!(is_probe(&sha256(files[7].1)) && !is_probe("") && !is_probe("0"));
        for one in tools() {
            let has = files.iter().filter(|(name, _)| name.ends_with(one.probes));
            assert_eq!(has.count(), PROBES.len(), "{one:?}");
        }
    }
}
