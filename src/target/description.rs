//! What a target is, as data: how people find it, and what may be chosen of it.

use serde::Serialize;

/// Targets that belong together in lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Family {
    /// Stable identifier, kebab-case.
    pub id: &'static str,
    /// Heading of its list.
    pub label: &'static str,
    /// What is below the heading of a list that is closed until a reader opens it; `None` where the targets stand in the
    /// list of all.
    pub group: Option<&'static str>,
    /// Whether the hardware runs a network beside a processor that could run it as well.
    pub is_accelerator: bool,
    /// What the durations of its operators are; `None` where none are known, or are of no tool's profiles.
    #[serde(skip)]
    pub durations: Option<Durations>,
}

/// What durations of operators are: a device that was measured is based on a target with the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durations {
    /// A compiler's estimates.
    Compiler,
    /// Times on hardware whose operators run one after the other.
    Hardware,
    /// Times on an accelerator whose compiler is closed.
    Accelerator,
}

/// What may be chosen of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetOption {
    /// Threads of a processor.
    Threads,
    /// Clock in MHz.
    Clock,
    /// System configuration, memory mode, and SRAM that the compiler may fill.
    Memories,
    /// The processor that runs what the target leaves to it.
    Host,
    /// Inputs at a time, without another graph.
    Batch,
    /// What the network took on another target that has this option.
    MeasuredElsewhere,
}

/// Advice that can be computed for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// A narrower network whose weights stay on the chip.
    ResidentWeights,
    /// More SRAM for the same accelerator.
    LargerSram,
    /// A smaller accelerator that is fast enough.
    SmallerAccelerator,
}

/// What a target is, apart from what it estimates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Description {
    pub family: &'static Family,
    /// The hardware in few words, for narrow places.
    pub short_label: String,
    /// The program that runs or compiles a network for it.
    pub runtime: String,
    /// Release of that program, which the estimates are of; empty where the sources are of several or name none.
    pub release: String,
    /// Releases that can be chosen behind an `@` of its id, from the oldest; empty where there is no choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<&'static str>,
    /// The runtime in each of them, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub release_words: Vec<String>,
    /// What people type for it beside the words of its device.
    pub aliases: &'static [&'static str],
    pub options: &'static [TargetOption],
    pub advice: &'static [Advice],
    /// Channels that the multipliers compute or the memory stores together; `None` where no number is known.
    pub channel_step: Option<u32>,
    /// Most threads that can be chosen; `None` where there is no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threads: Option<u32>,
}

impl Description {
    /// Without options, advice and aliases.
    pub fn new(family: &'static Family, short_label: impl Into<String>, runtime: &str) -> Self {
        Self {
            family,
            short_label: short_label.into(),
            runtime: runtime.to_owned(),
            release: String::new(),
            releases: Vec::new(),
            release_words: Vec::new(),
            aliases: &[],
            options: &[],
            advice: &[],
            channel_step: None,
            max_threads: None,
        }
    }
}
