//! Words and numbers in little code, as the browser's module reads them.

use serde::Deserialize;

/// Of a device's document: name, base, tools, and in one list its version, 1 where its kernels are those of ncnn and else 0, the number of networks, the shortest and longest
/// latency, parameters, covariance and errors of the networks that were left out. Of a prior: tool, base, what was measured, and
/// its numbers.
#[derive(Deserialize)]
pub struct FlatDocument(pub String, pub String, pub String, pub Vec<f64>);
