//! Everything that decides what a training run gives, seed included.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use litecast::learned::manifest::Manifest;
use litecast_trainer::split::Split;
use serde::{Deserialize, Serialize};

use crate::gnn::gradients::Gradients;
use crate::gnn::loss::Objective;
use crate::gnn::shape::Architecture;

/// Settings of a training run. The defaults are those of what ships.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
pub struct Settings {
    /// The network to train.
    #[arg(long, value_enum, default_value = "per-operator")]
    pub architecture: Architecture,
    /// Width of the node vectors.
    #[arg(long, default_value_t = 112)]
    pub hidden: usize,
    /// Width of the operator category embedding.
    #[arg(long, default_value_t = 16)]
    pub embedding: usize,
    /// One first layer for all categories of operators in place of one each (PerfSAGE's eq. 1 without what
    /// its Table 4 calls CFE).
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set)]
    #[serde(default)]
    pub shared_encoder: bool,
    /// Groups of feature columns that are hidden from the network, for example `plan`. Without `plan` the network
    /// estimates from nothing, instead of correcting the compiler's rules.
    #[arg(long, value_delimiter = ',')]
    #[serde(default)]
    pub without_columns: Vec<String>,
    /// Width of the layers after the readout, where an architecture has any.
    #[arg(long, default_value_t = 1024)]
    pub head: usize,
    /// Weight of the loss's absolute term, whose unit is each output's mean label: at 1 both
    /// terms contribute alike.
    #[arg(long, default_value_t = 0.1)]
    pub alpha: f32,
    /// First epochs, with a loss in log space that bounds the pull of far-off estimates; PerfSAGE's
    /// hybrid loss after them.
    #[arg(long, default_value_t = 36)]
    pub log_loss_epochs: usize,
    /// Weight of the loss of single operators, for architectures that estimate them.
    #[arg(long, default_value_t = 1.0)]
    pub operator_weight: f32,
    /// Blocks of `seernet`.
    #[arg(long, default_value_t = 1)]
    pub blocks: usize,
    /// How the outputs' gradients become one.
    #[arg(long, value_enum, default_value = "summed")]
    pub gradients: Gradients,
    /// Largest number of epochs.
    #[arg(long, default_value_t = 36)]
    pub epochs: usize,
    /// Epochs without a better validation error after which training stops.
    #[arg(long, default_value_t = 60)]
    pub patience: usize,
    /// Graphs per step.
    #[arg(long, default_value_t = 32)]
    pub batch: usize,
    /// Largest learning rate: reached after `ramp_steps`, then falls along a cosine.
    #[arg(long, default_value_t = 2e-3)]
    pub learning_rate: f64,
    /// Learning rate of the last epoch.
    #[arg(long, default_value_t = 2e-6)]
    pub final_learning_rate: f64,
    /// Updates in which the learning rate rises from 0.
    #[arg(long, default_value_t = 200)]
    pub ramp_steps: usize,
    /// Gradients of each weight matrix are scaled down to this norm.
    #[arg(long, default_value_t = 1.0)]
    pub max_gradient_norm: f32,
    /// Share of each weight matrix that a step at learning rate 1 takes away.
    #[arg(long, default_value_t = 0.3)]
    pub weight_decay: f64,
    /// Share of a graph's categories that are treated as unknown in training.
    #[arg(long, default_value_t = 0.02)]
    pub category_dropout: f64,
    /// Smaller design spaces are repeated until they make up this share of an epoch (§4.4, where it
    /// is 0.1 of four spaces).
    #[arg(long, default_value_t = 0.02)]
    pub min_space_share: f64,
    /// Share of structures held out for measuring (§5.1).
    #[arg(long, default_value_t = Split::default().test_share)]
    pub test_share: f64,
    /// Share of structures held out for early stopping.
    #[arg(long, default_value_t = Split::default().validation_share)]
    pub validation_share: f64,
    /// Design spaces to take from the dataset; all of them where none is named.
    #[arg(long, value_delimiter = ',')]
    pub spaces: Vec<String>,
    /// Targets whose labels to train on; where none is named, those of the dataset that no sum over
    /// operators is shipped for ([`litecast::targets::cortex_a`]).
    #[arg(long, value_delimiter = ',')]
    #[serde(default)]
    pub targets: Vec<String>,
    /// Metrics whose labels to train on; all that the dataset has where none is named. With one target and one metric
    /// the network has a single output, as PerfSAGE's.
    #[arg(long, value_delimiter = ',')]
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Train on so many graphs of each design space, the first of the dataset; on all without it.
    #[arg(long)]
    #[serde(default)]
    pub training_graphs: Option<usize>,
    /// Begin with the best weights of the run in this folder, which has the same shape, instead of random ones.
    #[arg(long)]
    #[serde(default)]
    pub begin_with: Option<PathBuf>,
    /// Design spaces to hold out whole: they make up the test set.
    #[arg(long, value_delimiter = ',')]
    pub leave_out: Vec<String>,
    /// Train on graphs with fewer multiply-accumulates than the median of their design space, and measure
    /// on those with more than nine tenths of it.
    #[arg(long, default_value_t = false, action = clap::ArgAction::Set)]
    #[serde(default)]
    pub hold_out_large: bool,
    /// Of the first weights, the order of graphs and, where it has no seed of its own, the split.
    #[arg(long, default_value_t = Split::default().seed)]
    pub seed: u64,
    /// Seed of the split: runs of several seeds are measured on the same graphs with it.
    #[arg(long)]
    #[serde(default)]
    pub split_seed: Option<u64>,
}

impl Default for Settings {
    /// Those of an empty command line.
    fn default() -> Self {
        #[derive(clap::Parser)]
        struct Defaults {
            #[command(flatten)]
            settings: Settings,
        }
        <Defaults as clap::Parser>::parse_from(["defaults"]).settings
    }
}

impl Settings {
    /// The split into parts.
    pub fn split(&self) -> Split {
        Split {
            seed: self.split_seed.unwrap_or(self.seed),
            test_share: self.test_share,
            validation_share: self.validation_share,
            leave_out: self.leave_out.clone(),
        }
    }

    /// The loss that epoch `epoch` minimises.
    pub fn objective(&self, epoch: usize) -> Objective {
        Objective {
            alpha: (epoch >= self.log_loss_epochs).then_some(self.alpha),
            operator_weight: self.operator_weight,
        }
    }

    /// Learning rate of step `step` of `n_steps`: a linear ramp, then half a cosine.
    pub fn learning_rate_at(&self, step: usize, n_steps: usize) -> f64 {
        if step < self.ramp_steps {
            return self.learning_rate * (step + 1) as f64 / self.ramp_steps as f64;
        }
        let falling = n_steps.saturating_sub(self.ramp_steps).max(1) as f64;
        let progress = ((step - self.ramp_steps) as f64 / falling).min(1.0);
        let height = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * height
    }

    /// Those that differ from the defaults, as the command line takes them.
    pub fn arguments(&self) -> String {
        let defaults = Self::default().by_name();
        let changed = self
            .by_name()
            .into_iter()
            .filter(|(name, value)| defaults[name] != *value);
        changed
            .map(|(name, value)| {
                // Lists are written with commas, words without quotes.
                let value = value.replace(['"', '[', ']'], "");
                format!(" --{} {value}", name.replace('_', "-"))
            })
            .collect()
    }

    /// By name, as the manifest and the logs show them.
    pub fn by_name(&self) -> BTreeMap<String, String> {
        let value = serde_json::to_value(self).expect("settings are plain values");
        let fields = value.as_object().expect("settings are a struct").iter();
        fields
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect()
    }
}

/// The settings of the network's training, including its split. Settings that the manifest does not list have today's
/// defaults.
pub fn network_settings(manifest: &Manifest) -> Result<Settings> {
    let mut fields = Settings::default().by_name();
    let known = &manifest.training.settings;
    for (name, value) in &mut fields {
        known
            .get(name)
            .into_iter()
            .for_each(|of_network| value.clone_from(of_network));
    }
    let fields = fields.into_iter().map(|(name, value)| {
        let value: serde_json::Value = serde_json::from_str(&value)
            .with_context(|| format!("expected JSON for the setting `{name}`, found {value}"))?;
        Ok((name, value))
    });
    let fields = fields.collect::<Result<serde_json::Map<_, _>>>()?;
    Ok(serde_json::from_value(fields.into())?)
}

#[cfg(test)]
mod tests {
    use litecast_trainer::split::Side;

    use super::*;

    /// If the split has its own seed, runs with several seeds are measured on the same graphs.
    #[test]
    fn a_split_of_its_own_seed_does_not_follow_the_weights() {
        let split_with = |seed, split_seed| {
            let settings = Settings {
                seed,
                split_seed,
                ..Settings::default()
            };
            let split = settings.split();
            let hashes = (0..200).map(|n| split.side(&n.to_string(), "space"));
            hashes.collect::<Vec<Side>>()
        };
        assert_eq!(split_with(7, Some(1)), split_with(1, None));
        assert_ne!(split_with(7, None), split_with(1, None));
    }
}
