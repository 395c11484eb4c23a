//! What one line of a label file says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::target::Target;
use crate::writer::Precision;

/// One line of a label file. A label belongs to the last [`Run`] above it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    Run(Box<Run>),
    Label(Box<Labelled>),
}

/// With what the labels below were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub tool: Tool,
    pub targets: Vec<Target>,
    /// Limit for one file on one target, in seconds of wall-clock time.
    pub time_limit_s: f64,
    /// What was asked for, for example `cnn-kws:1200,vit-cifar100:1300`.
    pub request: String,
    pub shard: String,
}

/// The labelling tool as it describes itself when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    #[serde(rename = "tool")]
    pub name: String,
    pub version: String,
    pub python: String,
    pub vela_ini_sha256: String,
    pub optimise: String,
    pub tensor_allocator: String,
    pub targets: Vec<TargetFacts>,
}

impl Tool {
    /// Whether labels of both may stand in one table. The interpreter and the list of targets of
    /// one run have no part in that.
    pub fn labels_like(&self, other: &Self) -> bool {
        let meaning = |tool: &Self| {
            let options = (tool.optimise.clone(), tool.tensor_allocator.clone());
            (
                tool.name.clone(),
                tool.version.clone(),
                tool.vela_ini_sha256.clone(),
                options,
            )
        };
        meaning(self) == meaning(other)
    }
}

/// What the tool knows of a target beyond its configuration's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    pub id: String,
    pub core_clock_hz: f64,
}

/// One file on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Labelled {
    pub graph_id: String,
    pub origin: Origin,
    /// Of the bytes that were labelled, in hexadecimal.
    pub sha256: String,
    pub target: String,
    /// Processor seconds that the tool took; not part of the label.
    pub cpu_s: f64,
    pub outcome: Outcome,
}

/// From what the bytes of a graph are remade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Sampled {
        space: String,
        seed: u64,
        index: u64,
        #[serde(default, skip_serializing_if = "Precision::is_int8")]
        precision: Precision,
    },
    File(PathBuf),
}

impl Origin {
    /// Name of the graph in every table: `cnn-kws/1/17` for a sample (`cnn-kws/1/17/float32` where it
    /// is not int8), `file/NAME` for a file.
    pub fn graph_id(&self) -> String {
        match self {
            Self::Sampled {
                space,
                seed,
                index,
                precision,
            } => match precision {
                Precision::Int8 => format!("{space}/{seed}/{index}"),
                Precision::Float32 => format!("{space}/{seed}/{index}/{precision}"),
            },
            Self::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                format!("file/{}", name.to_string_lossy())
            }
        }
    }

    /// The design space, or `file`.
    pub fn space(&self) -> &str {
        match self {
            Self::Sampled { space, .. } => space,
            Self::File(_) => "file",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    Ok(Box<Label>),
    /// The tool does not accept the file on this target.
    Rejected {
        reason: String,
    },
    /// The tool's process ended.
    Crashed {
        reason: String,
    },
    TimedOut {
        limit_s: f64,
    },
}

impl Outcome {
    /// One word for counts and tables.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Ok(_) => "ok",
            Self::Rejected { .. } => "rejected",
            Self::Crashed { .. } => "crashed",
            Self::TimedOut { .. } => "timed_out",
        }
    }

    /// Why there is no label; empty where there is one.
    pub fn reason(&self) -> String {
        match self {
            Self::Ok(_) => String::new(),
            Self::Rejected { reason } | Self::Crashed { reason } => reason.clone(),
            Self::TimedOut { limit_s } => format!("no answer within {limit_s} s"),
        }
    }
}

/// Vela's estimate for one file on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    pub latency_ms: f64,
    pub total_cycles: u64,
    pub npu_cycles: u64,
    pub macs: u64,
    pub sram_peak_bytes: u64,
    /// Bytes read and written over the memory port that leaves the chip: `OffChipFlash` for
    /// Ethos-U55 with `Shared_Sram` (weights alone), `Dram` for the dedicated memory modes.
    pub offchip_traffic_bytes: u64,
    pub memories: BTreeMap<String, Memory>,
    pub weight_bytes: u64,
    pub encoded_weight_bytes: u64,
    pub npu_operations: u64,
    pub cascades: u64,
    /// Operators that cost nothing in the totals above, because the NPU does not run them.
    pub n_cpu_operators: u64,
    /// Those of the main subgraph, where the compiler tells which.
    pub cpu_operators: Option<Vec<CpuOperator>>,
    /// Absent where the compiler's table does not cover the whole file (several subgraphs).
    pub operators: Option<OperatorFigures>,
    /// Cycles of operations that the compiler invented without naming a source:
    /// `operators.cycles` and this add up to `total_cycles`.
    pub unattributed_cycles: u64,
}

/// Use of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub peak_bytes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub access_cycles: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuOperator {
    pub operator_idx: usize,
    /// Vela's name of the operator.
    pub name: String,
}

/// One value for each operator of the main subgraph, in file order. An operator that the
/// compiler fused into a neighbour has zeros, and its cost stands with the neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorFigures {
    /// Adds up to the network's cycles: each is the longest of the times below.
    pub cycles: Vec<u64>,
    pub npu_cycles: Vec<u64>,
    pub macs: Vec<u64>,
    pub sram_access_cycles: Vec<u64>,
    pub offchip_access_cycles: Vec<u64>,
}
