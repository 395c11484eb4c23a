//! Rebuilds the MobileNets that submitters to MLPerf measured on a Raspberry Pi 4, under another runtime than the one whose
//! instructions are counted.

use anyhow::{Context, Result, bail};

use crate::spaces::published::{self, WEIGHT_SEED};
use crate::writer::{Precision, to_tflite};

/// One network of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MobileNet {
    /// Its name in [`published::network`].
    network: String,
    side: i32,
    /// Type of its weights and activations.
    pub precision: Precision,
}

impl MobileNet {
    /// Parses a name of the table: `mobilenet-v1-0.25-128-quantized`, `mobilenet-v3-large_224_1.0_float`.
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

    /// The file.
    pub fn to_tflite(&self) -> Result<Vec<u8>> {
        let network = published::network(&self.network, self.side)
            .with_context(|| format!("no network is known as {}", self.network))?;
        Ok(to_tflite(&network, WEIGHT_SEED, self.precision))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_table_are_read() {
        let read = |name| MobileNet::by_name(name);
        let actual = read("mobilenet-v1-0.25-128-non-quantized").unwrap();
        assert_eq!(actual.network, "MobileNet v1 0.25");
        assert_eq!((actual.side, actual.precision), (128, Precision::Float32));
        let actual = read("mobilenet-v3-large_224_1.0_uint8").unwrap();
        assert_eq!(actual.network, "MobileNet v3 large");
        assert_eq!((actual.side, actual.precision), (224, Precision::Int8));
        for name in [
            "resnet-50",
            "mobilenet-v1-1.0",
            "mobilenet-v3-large_224_0.75_float",
        ] {
            assert!(read(name).is_err(), "{name}");
        }
    }
}
