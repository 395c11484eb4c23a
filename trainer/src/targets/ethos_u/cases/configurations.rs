//! The configurations that are measured.

use anyhow::Result;
use litecast::targets::ethos_u::configuration::{Configuration, Product};

use super::super::sets::Set;
use super::super::setup::Setup;
use crate::labels::target::Target;
use crate::labels::vela::default_targets;

/// The configurations that the dataset has labels of.
pub fn defaults() -> Vec<Configuration> {
    let targets = default_targets();
    let products = targets
        .iter()
        .filter_map(|target| Product::by_name(&target.id));
    products.map(Configuration::new).collect()
}

/// The configurations of [`defaults`], followed by all others of [`Set::Named`].
pub fn configurations() -> Result<Vec<Configuration>> {
    let mut all = defaults();
    // This set contains no random configurations, so the seed has no effect.
    let named = Set::Named.setups(0)?.into_iter();
    let others = named.map(|setup| setup.configuration);
    all.extend(others.filter(|other| !defaults().contains(other)));
    Ok(all)
}

/// The target in the format of the labelling tool.
pub fn vela_target(configuration: &Configuration) -> Target {
    let setup = Setup {
        configuration: configuration.clone(),
        vela_ini: None,
    };
    setup.vela_target()
}
