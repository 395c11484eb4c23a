//! The MobileNets that MLPerf's submitters measured on a Raspberry Pi 4, written again: the only
//! int8 networks of a known board, and its only depthwise ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use litecast::targets::cortex_a::{Check, Errors, WithStores};

use super::fit::errors;
use crate::least_squares;
use crate::spaces::published::{self, WEIGHT_SEED};
use crate::writer::{Precision, to_tflite};

/// One network of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileNet {
    /// As [`published::network`] knows it.
    network: String,
    side: i32,
    pub precision: Precision,
}

impl MobileNet {
    /// Of the table's names: `mobilenet-v1-0.25-128-quantized`, `mobilenet-v3-large_224_1.0_float`.
    pub fn by_name(name: &str) -> Result<Self> {
        let parts: Vec<&str> = name.splitn(3, '-').collect();
        let (network, side, kind) = match parts[..] {
            ["mobilenet", "v1", rest] => {
                let parts: Vec<&str> = rest.splitn(3, '-').collect();
                let [width, side, kind] = parts[..] else {
                    bail!("expected WIDTH-SIDE-KIND after `mobilenet-v1-`, found `{rest}`");
                };
                (format!("MobileNet v1 {width}"), side, kind)
            }
            ["mobilenet", "v3", rest] => {
                let parts: Vec<&str> = rest.split('_').collect();
                let [size, side, "1.0", kind] = parts[..] else {
                    bail!("expected SIZE_SIDE_1.0_KIND after `mobilenet-v3-`, found `{rest}`");
                };
                (format!("MobileNet v3 {size}"), side, kind)
            }
            _ => bail!("expected a MobileNet V1 or V3, found `{name}`"),
        };
        let precision = match kind {
            "quantized" | "uint8" => Precision::Int8,
            "non-quantized" | "float" => Precision::Float32,
            _ => bail!("{name}: expected quantised or float numbers, found `{kind}`"),
        };
        let side = side
            .parse()
            .with_context(|| format!("{name}: expected pixels, found `{side}`"))?;
        Ok(Self {
            network,
            side,
            precision,
        })
    }

    /// Writes the network into `folder`, where it is not there yet.
    pub fn write(&self, name: &str, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(format!("{name}.tflite"));
        if !path.exists() {
            let network = published::network(&self.network, self.side)
                .with_context(|| format!("no network is known as {}", self.network))?;
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, to_tflite(&network, WEIGHT_SEED, self.precision)))
                .with_context(|| format!("could not write {}", path.display()))?;
        }
        Ok(path)
    }
}

/// One of them as measured and as counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub instructions: f64,
    /// Of these, stores.
    pub stores: f64,
    pub latency_ms: f64,
}

/// Of networks of one precision.
pub fn check(source: &str, precision: Precision, samples: &[Sample]) -> Check {
    let ([ns_per_instruction], error) = fit(samples, |sample| [sample.instructions]);
    let (constants, error_with_stores) =
        fit(samples, |sample| [sample.instructions, sample.stores]);
    Check {
        source: source.to_owned(),
        precision: precision.to_string(),
        ns_per_instruction,
        error,
        with_stores: WithStores {
            ns_per_instruction: constants[0],
            ns_per_store: constants[1],
            error: error_with_stores,
        },
    }
}

/// Nanoseconds of each term, and the error of leaving one network out in turn.
fn fit<const N: usize>(samples: &[Sample], terms: fn(&Sample) -> [f64; N]) -> ([f64; N], Errors) {
    let relative = |sample: &Sample| terms(sample).map(|n| 1e-6 * n / sample.latency_ms);
    let rows: Vec<[f64; N]> = samples.iter().map(relative).collect();
    let left_out = |idx: usize| {
        let mut others = rows.clone();
        let row = others.remove(idx);
        let constants = least_squares::non_negative(&others);
        (least_squares::dot(&row, &constants), 1.0)
    };
    let pairs: Vec<_> = (0..rows.len()).map(left_out).collect();
    (least_squares::non_negative(&rows), errors(&pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_table_are_read() {
        let read = |name| MobileNet::by_name(name);
        let found = read("mobilenet-v1-0.25-128-non-quantized").unwrap();
        assert_eq!(found.network, "MobileNet v1 0.25");
        assert_eq!((found.side, found.precision), (128, Precision::Float32));
        let found = read("mobilenet-v3-large_224_1.0_uint8").unwrap();
        assert_eq!(found.network, "MobileNet v3 large");
        assert_eq!((found.side, found.precision), (224, Precision::Int8));
        for name in [
            "resnet-50",
            "mobilenet-v1-1.0",
            "mobilenet-v3-large_224_0.75_float",
        ] {
            assert!(read(name).is_err(), "{name}");
        }
    }
}
