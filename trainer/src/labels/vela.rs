//! Arm's Vela compiler for Ethos-U NPUs, in process: `python/vela_worker.py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::target::{Configuration, Target, VelaOptions};
use super::tool::LabellingTool;

const WORKER: &str = include_str!("../../python/vela_worker.py");

/// Vela, imported in `python`.
#[derive(Clone, Debug)]
pub struct Vela {
    /// Interpreter that has the packages of `trainer/python/requirements.txt`.
    pub python: PathBuf,
}

impl LabellingTool for Vela {
    fn id(&self) -> &'static str {
        "vela"
    }

    fn targets(&self) -> Vec<Target> {
        default_targets()
    }

    /// A configuration is set up within milliseconds, so one process serves all of them.
    fn targets_per_process(&self) -> usize {
        usize::MAX
    }

    fn command(&self, targets: &[Target]) -> Result<Command> {
        let mut command = Command::new(&self.python);
        command.args(["-c", WORKER, &serde_json::to_string(targets)?]);
        Ok(command)
    }

    fn program(&self) -> &Path {
        &self.python
    }

    fn how_to_install(&self) -> String {
        format!(
            "{} -m pip install -r trainer/python/requirements.txt",
            self.python.display()
        )
    }
}

/// The default targets. This configuration of Ethos-U55-256 is Vela's default, and therefore that of the PerfSAGE
/// paper.
pub fn default_targets() -> Vec<Target> {
    let target = |accelerator: &str, system_config: &str, memory_mode: &str| Target {
        id: accelerator.into(),
        configuration: Configuration::EthosU {
            accelerator: accelerator.into(),
            system_config: system_config.into(),
            memory_mode: memory_mode.into(),
            options: VelaOptions::default(),
        },
    };
    vec![
        target(
            "ethos-u55-256",
            "Ethos_U55_High_End_Embedded",
            "Shared_Sram",
        ),
        target(
            "ethos-u65-512",
            "Ethos_U65_High_End",
            "Dedicated_Sram_384KB",
        ),
        target(
            "ethos-u85-256",
            "Ethos_U85_SYS_DRAM_Mid",
            "Dedicated_Sram_384KB",
        ),
    ]
}

/// Vela's estimate for one file on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VelaLabel {
    /// Latency of one inference in ms.
    pub latency_ms: f64,
    /// Cycles of one inference.
    pub total_cycles: u64,
    /// Cycles in which the NPU computes.
    pub npu_cycles: u64,
    /// Multiply-accumulate operations on the NPU.
    pub macs: u64,
    /// Peak use of SRAM.
    pub sram_peak_bytes: u64,
    /// Bytes read and written on the memory port that leaves the chip: `OffChipFlash` for Ethos-U55 with `Shared_Sram`
    /// (weights only), `Dram` for the dedicated memory modes.
    pub offchip_traffic_bytes: u64,
    /// Use of each memory by name.
    pub memories: BTreeMap<String, ReportedMemory>,
    /// Bytes of weights before they are encoded.
    pub weight_bytes: u64,
    /// Bytes of weights in the compressed stream.
    pub encoded_weight_bytes: u64,
    /// Number of operations on the NPU.
    pub npu_operations: u64,
    /// Number of cascades.
    pub cascades: u64,
    /// Operators that cost nothing in the totals above, because the NPU does not run them.
    pub n_cpu_operators: u64,
    /// Those operators of the main subgraph, if the compiler lists them.
    pub cpu_operators: Option<Vec<CpuOperator>>,
    /// Absent if the compiler's table does not cover the whole file (several subgraphs).
    pub operators: Option<OperatorFigures>,
    /// Cycles of operations that the compiler adds without naming a source: `operators.cycles` and this add up to
    /// `total_cycles`.
    pub unattributed_cycles: u64,
}

/// Use of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedMemory {
    /// Peak use.
    pub peak_bytes: u64,
    /// Bytes read in one inference.
    pub read_bytes: u64,
    /// Bytes written in one inference.
    pub written_bytes: u64,
    /// Cycles in which the memory is busy.
    pub access_cycles: u64,
}

/// An operator that the NPU leaves to the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuOperator {
    /// Index in the file.
    pub operator_idx: usize,
    /// Vela's name of the operator.
    pub name: String,
}

/// One value for each operator of the main subgraph, in file order. An operator that the compiler fused into a
/// neighbour has zeros, and its cost is part of the neighbour's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorFigures {
    /// Cycles, each the longest of the times below; their sum is the network's.
    pub cycles: Vec<u64>,
    /// Cycles in which the NPU computes, by operator.
    pub npu_cycles: Vec<u64>,
    /// Multiply-accumulate operations, by operator.
    pub macs: Vec<u64>,
    /// Cycles in which SRAM is busy, by operator.
    pub sram_access_cycles: Vec<u64>,
    /// Cycles in which off-chip memory is busy, by operator.
    pub offchip_access_cycles: Vec<u64>,
    /// Read and written.
    pub sram_traffic_bytes: Vec<u64>,
    /// Read and written.
    pub offchip_traffic_bytes: Vec<u64>,
    /// Sum of the sizes of the tensors in SRAM while the operator runs. Its maximum is the network's peak, apart from
    /// gaps of the allocator and memory that tensors share.
    pub sram_live_bytes: Vec<u64>,
}
