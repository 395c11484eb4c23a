//! The interface of labelling tools: their targets, and a process that answers requests.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::target::Target;

/// A program that labels files. Its process writes one JSON line as a greeting and then answers requests in the format
/// of [`super::worker`].
pub trait LabellingTool: Sync {
    /// First part of the names of its label files.
    fn id(&self) -> &'static str;

    /// The targets of the tool.
    fn targets(&self) -> Vec<Target>;

    /// The number of targets that one of its processes serves.
    fn targets_per_process(&self) -> usize;

    /// Starts a process for `targets`, at most [`Self::targets_per_process`] of them.
    fn command(&self, targets: &[Target]) -> Result<Command>;

    /// The program that runs its process, for messages.
    fn program(&self) -> &Path;

    /// The command that installs the requirements of its process.
    fn how_to_install(&self) -> String;
}
