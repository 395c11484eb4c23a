//! What a labelling tool is to the rest of this module: targets, and a process to ask.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::target::Target;

/// A program that labels files. Its process greets with one JSON line and then answers requests,
/// as [`super::worker`] asks them.
pub trait LabellingTool: Sync {
    /// First part of the names of its label files.
    fn id(&self) -> &'static str;

    /// What it labels for.
    fn targets(&self) -> Vec<Target>;

    /// How many targets one of its processes serves.
    fn targets_per_process(&self) -> usize;

    /// Starts a process for `targets`, at most [`Self::targets_per_process`] of them.
    fn command(&self, targets: &[Target]) -> Result<Command>;

    /// What its process is run by, for messages.
    fn program(&self) -> &Path;

    /// The command that installs what its process needs.
    fn how_to_install(&self) -> String;
}
