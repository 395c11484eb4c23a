//! The sides of the split: graphs for training, for early stopping, and for the measurement.

use anyhow::{Context, Result};
use litecast::learned::manifest::Manifest;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// Side of the split a graph is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Graphs that networks are trained on.
    Training,
    /// Graphs that choose the best epoch.
    Validation,
    /// Graphs that errors are measured on.
    Test,
}

impl Side {
    /// Name in tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// How graphs are divided. The default is that of the network that ships.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Of the digest that decides.
    pub seed: u64,
    /// Share of structures held out for measuring (§5.1); 0 where design spaces are left out.
    pub test_share: f64,
    /// Share of structures held out for early stopping.
    pub validation_share: f64,
    /// Design spaces held out whole.
    pub leave_out: Vec<String>,
}

impl Default for Split {
    fn default() -> Self {
        Self {
            seed: 1,
            test_share: 0.2,
            validation_share: 0.08,
            leave_out: Vec::new(),
        }
    }
}

impl Split {
    /// The split that a network was trained on, by its manifest; what that does not list is as in the default. Fails if a
    /// setting is not JSON of its type.
    pub fn of_network(manifest: &Manifest) -> Result<Self> {
        let ships = Self::default();
        Ok(Self {
            seed: match setting::<Option<u64>>(manifest, "split_seed")?.flatten() {
                Some(seed) => seed,
                None => setting(manifest, "seed")?.unwrap_or(ships.seed),
            },
            test_share: setting(manifest, "test_share")?.unwrap_or(ships.test_share),
            validation_share: setting(manifest, "validation_share")?
                .unwrap_or(ships.validation_share),
            leave_out: setting(manifest, "leave_out")?.unwrap_or(ships.leave_out),
        })
    }

    /// The side depends only on the structure, so that graphs that differ only in their weights are on the same side, and a
    /// graph keeps its side when the dataset grows.
    pub fn side(&self, structure_hash: &str, space: &str) -> Side {
        let digest = Sha256::digest(format!("{} {structure_hash}", self.seed));
        let prefix: [u8; 8] = digest[..8].try_into().expect("a SHA-256 has 32 bytes");
        let position = u64::from_le_bytes(prefix) as f64 / u64::MAX as f64;
        let test_share = if self.leave_out.is_empty() {
            self.test_share
        } else {
            0.0
        };
        let is_left_out = self.leave_out.iter().any(|name| name == space);
        if is_left_out || position < test_share {
            Side::Test
        } else if position < test_share + self.validation_share {
            Side::Validation
        } else {
            Side::Training
        }
    }
}

/// A setting that the manifest lists as JSON; `None` if it lists none of this name.
fn setting<T: DeserializeOwned>(manifest: &Manifest, name: &str) -> Result<Option<T>> {
    let text = manifest.training.settings.get(name);
    let value = text.map(|text| {
        serde_json::from_str(text)
            .with_context(|| format!("expected JSON for the setting `{name}`, found {text}"))
    });
    value.transpose()
}
