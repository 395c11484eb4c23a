//! The provenance of a dataset, stored in the metadata of each of its files.

use anyhow::{Context, Result};

use crate::labels::record::Run;
use crate::labels::target::Target;

const RUNS_KEY: &str = "litecast.label_runs";
const VERSION_KEY: &str = "litecast.version";

/// How the labels of a dataset were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    /// The labelling runs: tool, version, hash of its configuration file, targets, requests.
    pub runs: Vec<Run>,
}

impl Provenance {
    /// All targets of all runs without duplicates, in the order of their first use.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        for target in self.runs.iter().flat_map(|run| &run.targets) {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        targets
    }

    /// Ids of the labelled targets, in the order of the columns.
    pub fn target_ids(&self) -> Vec<String> {
        self.targets().into_iter().map(|target| target.id).collect()
    }

    /// Keys and values for a file's metadata; structured values are JSON.
    pub fn entries(&self) -> Result<Vec<(String, String)>> {
        let entry = |key: &str, value: String| (key.to_string(), value);
        Ok(vec![
            entry(RUNS_KEY, serde_json::to_string(&self.runs)?),
            entry(VERSION_KEY, env!("CARGO_PKG_VERSION").to_string()),
        ])
    }

    /// Reads the result of [`Self::entries`].
    pub fn from_metadata(value: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let require =
            |key| value(key).with_context(|| format!("expected metadata `{key}`, found none"));
        Ok(Self {
            runs: serde_json::from_str(&require(RUNS_KEY)?)?,
        })
    }
}
