//! A target under another name.

use std::num::NonZeroU32;

use crate::learned::manifest::Manifest;
use crate::target::{
    Description, HostInfo, MeasuredRange, Network, PeakRates, Settings, Target, TargetEstimate,
    TargetInfo, UnsupportedOperator,
};

/// A target under another name.
pub(super) struct Named {
    pub(super) id: String,
    pub(super) device: Option<String>,
    pub(super) target: Box<dyn Target>,
}

impl Target for Named {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Description {
        self.target.description()
    }

    fn info(&self, manifest: Option<&Manifest>) -> Option<TargetInfo> {
        let info = self.target.info(manifest)?;
        Some(TargetInfo {
            id: self.id.clone(),
            device: self.device.clone().unwrap_or(info.device),
            ..info
        })
    }

    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        self.target.unsupported(network)
    }

    fn host(&self) -> Option<HostInfo> {
        self.target.host()
    }

    fn settings(&self, n_threads: NonZeroU32) -> Settings {
        self.target.settings(n_threads)
    }

    fn peak(&self) -> Option<PeakRates> {
        self.target.peak()
    }

    fn measured_range(&self, network: &Network) -> Option<MeasuredRange> {
        self.target.measured_range(network)
    }

    fn takes_any_batch(&self) -> bool {
        self.target.takes_any_batch()
    }

    fn runs_integers_alone(&self) -> bool {
        self.target.runs_integers_alone()
    }

    fn plans_operators(&self) -> bool {
        self.target.plans_operators()
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let estimate = self.target.estimate(network);
        TargetEstimate {
            device: self.device.clone().unwrap_or(estimate.device),
            ..estimate
        }
    }
}
