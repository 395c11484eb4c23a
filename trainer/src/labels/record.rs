//! The contents of one line of a label file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::litert_qemu::LitertLabel;
use super::target::Target;
use super::vela::VelaLabel;
use crate::spaces::SampleForm;

/// One line of a label file. A label belongs to the last [`Run`] above it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The first record of a file: what made the others.
    Run(Box<Run>),
    /// One labelled graph on one target.
    Label(Box<Labelled>),
}

/// The tool and the request of the labels below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program that makes the labels.
    pub tool: Tool,
    /// The targets that graphs are labelled for.
    pub targets: Vec<Target>,
    /// Limit for one file on one target, in seconds of wall-clock time.
    pub time_limit_s: f64,
    /// The request, for example `cnn-kws:1200,vit-cifar100:1300`.
    pub request: String,
    /// Which part of the work this is, such as `0/4`.
    pub shard: String,
}

impl Run {
    /// Whether it made labels for the target with this id.
    pub fn is_for(&self, target: &str) -> bool {
        self.targets.iter().any(|other| other.id == target)
    }
}

/// The labelling tool, in its own description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Name of the program.
    #[serde(rename = "tool")]
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Version of the Python interpreter that runs it.
    pub python: String,
    /// Further settings that labels depend on, by the tool's names.
    #[serde(flatten)]
    pub settings: BTreeMap<String, String>,
    /// Facts about the tool's targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetFacts>,
}

impl Tool {
    /// Whether labels of both are comparable. The interpreter and the list of targets do not matter.
    pub fn labels_like(&self, other: &Self) -> bool {
        let meaning = |tool: &Self| {
            (
                tool.name.clone(),
                tool.version.clone(),
                tool.settings.clone(),
            )
        };
        meaning(self) == meaning(other)
    }
}

/// Facts about a target besides the names in its configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Id of the target.
    pub id: String,
    /// Clock of the core in hertz.
    pub core_clock_hz: f64,
}

/// One file on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Labelled {
    /// Name of the graph, unique in a dataset.
    pub graph_id: String,
    /// How the graph's file can be made again.
    pub origin: Origin,
    /// Hexadecimal SHA-256 of the labelled bytes.
    pub sha256: String,
    /// Id of the target.
    pub target: String,
    /// Processor seconds that the tool took; not part of the label.
    pub cpu_s: f64,
    /// The label, or why there is none.
    pub outcome: Outcome,
}

/// The origin of a graph, from which its bytes are made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A network that was drawn from a design space.
    Sampled {
        /// Id of the design space.
        space: String,
        /// Seed of the space.
        seed: u64,
        /// Number of the network under this seed.
        index: u64,
        /// What it is written as.
        #[serde(flatten)]
        form: SampleForm,
    },
    /// A file of its own.
    File(PathBuf),
}

/// The form of the sample with this id.
pub fn form_of_id(graph_id: &str) -> SampleForm {
    SampleForm::of_name_parts(graph_id.split('/').skip(3))
}

impl Origin {
    /// Name of the graph in every table: `cnn-kws/1/17` for a sample, followed by what its form adds
    /// (`cnn-kws/1/17/float32`), `file/NAME` for a file.
    pub fn graph_id(&self) -> String {
        match self {
            Self::Sampled {
                space,
                seed,
                index,
                form,
            } => {
                let sample = format!("{space}/{seed}/{index}");
                let parts = form.name_parts();
                parts.fold(sample, |id, part| id + "/" + &part)
            }
            Self::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                format!("file/{}", name.to_string_lossy())
            }
        }
    }

    /// Whether the precision is int8; false for a file, whose precision is unknown.
    pub fn is_int8(&self) -> bool {
        matches!(self, Self::Sampled { form, .. } if form.precision.is_int8())
    }

    /// The name of the precision; `file` for a file.
    pub fn precision_in_words(&self) -> String {
        match self {
            Self::Sampled { form, .. } => form.precision.to_string(),
            Self::File(_) => "file".to_owned(),
        }
    }

    /// The batch size; 1 for a file, whose batch size is unknown.
    pub fn batch(&self) -> u32 {
        match self {
            Self::Sampled { form, .. } => form.batch,
            Self::File(_) => 1,
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

/// What the tool made of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// It was labelled.
    Ok(Label),
    /// The tool does not accept the file on this target.
    Rejected {
        /// The tool's message.
        reason: String,
    },
    /// The tool's process ended.
    Crashed {
        /// The end of what the tool printed.
        reason: String,
    },
    /// It took longer than allowed.
    TimedOut {
        /// The limit in seconds.
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

    /// The reason why there is no label; empty if there is one.
    pub fn reason(&self) -> String {
        match self {
            Self::Ok(_) => String::new(),
            Self::Rejected { reason } | Self::Crashed { reason } => reason.clone(),
            Self::TimedOut { limit_s } => format!("no answer within {limit_s} s"),
        }
    }
}

/// The result of a tool for one file on one target. The tool is recognised by the fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// Figures of the Vela compiler.
    Vela(Box<VelaLabel>),
    /// Counts of LiteRT under QEMU.
    Litert(LitertLabel),
    /// Measurements on a board.
    Measured(MeasuredLabel),
}

/// Values by metric, in the units of the table of labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLabel {
    /// Measured values by metric.
    pub measured: BTreeMap<String, f64>,
}
