//! LiteRT under QEMU for Cortex-A processors: `python/litert_qemu_worker.py`, which counts the
//! instructions that one inference executes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::target::{Configuration, PROCESSORS, Target};
use super::tool::LabellingTool;

const WORKER: &str = include_str!("../../python/litert_qemu_worker.py");

/// The folder in which `tools/install-qemu.sh` installs, relative to the repository's root.
pub const DEFAULT_EMULATOR: &str = ".tools/litert-qemu";

/// The path of `setarch` and QEMU in Debian.
const GUEST_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// LiteRT for arm64 in a folder of `tools/install-qemu.sh`.
#[derive(Clone, Debug)]
pub struct LitertQemu {
    /// Path of QEMU's program for the instruction set.
    pub emulator: PathBuf,
}

impl LabellingTool for LitertQemu {
    fn id(&self) -> &'static str {
        "litert-qemu"
    }

    fn targets(&self) -> Vec<Target> {
        let target = |id: &str, processor: &str, board: &str| Target {
            id: id.into(),
            configuration: Configuration::CortexA {
                processor: processor.into(),
                board: board.into(),
            },
        };
        vec![
            target("cortex-a76-rpi5", "cortex-a76", "Raspberry Pi 5"),
            target("cortex-a72-rpi4", "cortex-a72", "Raspberry Pi 4"),
        ]
    }

    /// A process emulates one processor.
    fn targets_per_process(&self) -> usize {
        1
    }

    fn command(&self, targets: &[Target]) -> Result<Command> {
        let [target] = targets else {
            anyhow::bail!("expected one target, found {}", targets.len());
        };
        let processor = processor(target)?;
        let folder = fs::canonicalize(&self.emulator)
            .with_context(|| format!("no emulator at {}", self.emulator.display()))?;
        let environment = fs::read_to_string(folder.join("environment"))
            .with_context(|| format!("no emulator at {}", folder.display()))?;
        let mut command = Command::new("setarch");
        // The number of instructions of a copy depends on memory addresses. For repeatable counts, the memory layout
        // must not depend on the machine: addresses are not randomised, and neither environment variables nor the
        // folder's path are passed.
        command.args(["-R", "qemu-aarch64", "-cpu", processor, "-L", processor]);
        command.args(["-plugin", "./counter.so"]);
        command.args(["root/usr/bin/python3.11", "-c", WORKER, environment.trim()]);
        command.current_dir(&folder).env_clear();
        command.env("PATH", GUEST_PATH).env("PYTHONHASHSEED", "0");
        Ok(command)
    }

    fn program(&self) -> &Path {
        &self.emulator
    }

    fn how_to_install(&self) -> String {
        "make qemu".to_owned()
    }
}

fn processor(target: &Target) -> Result<&str> {
    let processor = match &target.configuration {
        Configuration::CortexA { processor, .. } => Some(processor.as_str()),
        Configuration::EthosU { .. } | Configuration::Measured { .. } => None,
    };
    let processor = processor.with_context(|| format!("{} is no Cortex-A", target.id))?;
    ensure!(
        PROCESSORS.iter().any(|(qemu, _)| *qemu == processor),
        "expected a processor like cortex-a76, found `{processor}`"
    );
    Ok(processor)
}

/// The instructions of one inference of one file on one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LitertLabel {
    /// Executed instructions by class.
    pub instructions: Instructions,
}

/// Executed instructions by class, as defined in `trainer/qemu/a64_classes.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// Branches, calls and returns.
    pub branch: u64,
    /// Loads to general registers.
    pub load: u64,
    /// Stores from general registers.
    pub store: u64,
    /// Integer arithmetic and logic on general registers.
    pub integer: u64,
    /// Includes division.
    pub integer_multiply: u64,
    /// Loads to vector registers.
    pub vector_load: u64,
    /// Stores from vector registers.
    pub vector_store: u64,
    /// SIMD integer arithmetic without multiplication, and permutations and moves.
    pub vector_integer: u64,
    /// SIMD integer multiplication, including dot products.
    pub vector_multiply: u64,
    /// Scalar and SIMD.
    pub float: u64,
    /// Barriers and access to system registers.
    pub system: u64,
}

impl Instructions {
    /// Sum over all classes.
    pub fn total(&self) -> u64 {
        [
            self.branch,
            self.load,
            self.store,
            self.integer,
            self.integer_multiply,
            self.vector_load,
            self.vector_store,
            self.vector_integer,
            self.vector_multiply,
            self.float,
            self.system,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}
