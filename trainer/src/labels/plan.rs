//! The labels that a run makes: a pure function of the request.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, ensure};

use super::record::Origin;
use crate::spaces::{SampleForm, Space, Weights, sample_in};
use crate::writer::Precision;

/// A number of samples of one design space: the indices `0..n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceCount {
    /// The design space.
    pub space: Space,
    /// Number of networks.
    pub n: u64,
}

impl FromStr for SpaceCount {
    type Err = anyhow::Error;

    /// Reads `cnn-kws:1200`.
    fn from_str(text: &str) -> Result<Self> {
        let (space, n) = text.split_once(':').with_context(|| {
            format!("expected SPACE:NUMBER, for example cnn-kws:1200, found `{text}`")
        })?;
        let n = n
            .parse()
            .with_context(|| format!("`{text}`: expected a number after the colon"))?;
        Ok(Self {
            space: parse_space(space)?,
            n,
        })
    }
}

/// The design space with this id.
pub fn parse_space(id: &str) -> Result<Space> {
    id.parse().map_err(|error: String| anyhow!(error))
}

/// One of several equal parts of a run, for machines that do not communicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of this shard, from 0.
    pub index: u64,
    /// Number of shards.
    pub n: u64,
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    /// Reads `3/16`: the fourth of sixteen.
    fn from_str(text: &str) -> Result<Self> {
        let parts = text
            .split_once('/')
            .context("expected INDEX/NUMBER, for example 3/16")?;
        let shard = Self {
            index: parts.0.parse()?,
            n: parts.1.parse()?,
        };
        ensure!(
            shard.index < shard.n,
            "shard {text}: the index counts from 0 and stays below {}",
            shard.n
        );
        Ok(shard)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.n)
    }
}

/// The samples of one shard. Spaces are mixed in proportion to their counts, so that a run that is stopped early is
/// balanced.
///
/// The shard of a sample and its entry of `batches` depend only on its index, not on the counts. Samples without a
/// batch dimension are left out of larger batches.
pub fn sampled(
    counts: &[SpaceCount],
    seed: u64,
    (precision, weights): (Precision, Weights),
    batches: &[u32],
    shard: Shard,
) -> Vec<Origin> {
    let mut positions = Vec::new();
    for (order, count) in counts.iter().enumerate() {
        for index in (0..count.n).filter(|index| index % shard.n == shard.index) {
            // (2 i + 1) / 2 n is the middle of the i-th of n equal steps.
            let place = (2 * index + 1) as f64 / (2 * count.n) as f64;
            positions.push((place, order, index));
        }
    }
    positions.sort_by(|a, b| a.partial_cmp(b).expect("places are numbers"));
    let origin = |(_, order, index): (f64, usize, u64)| {
        let space = counts[order].space;
        let batch = batches[index as usize % batches.len()];
        let form = SampleForm {
            precision,
            batch,
            weights,
        };
        if batch != 1 {
            sample_in(form, space, seed, index)?;
        }
        Some(Origin::Sampled {
            space: space.id().to_string(),
            seed,
            index,
            form,
        })
    };
    positions.into_iter().filter_map(origin).collect()
}

/// The `.tflite` files among `paths` and in folders among them, sorted, without duplicates.
pub fn files(paths: &[PathBuf], shard: Shard) -> Result<Vec<Origin>> {
    let mut stored = Vec::new();
    for path in paths {
        if path.is_dir() {
            stored.extend(tflite_files(path)?)
        } else {
            stored.push(path.clone())
        }
    }
    stored.sort();
    stored.dedup();
    let mine = stored
        .into_iter()
        .zip(0..)
        .filter(|(_, idx)| idx % shard.n == shard.index);
    Ok(mine.map(|(path, _)| Origin::File(path)).collect())
}

fn tflite_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    Ok(paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "tflite"))
        .collect())
}
