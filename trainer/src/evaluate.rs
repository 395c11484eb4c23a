//! What ships, measured against tools and boards.

pub mod configurations;
mod device_prior;
pub mod devices;
pub mod files;
pub mod profiles;
pub mod unseen_devices;
pub mod vela_comparison;
