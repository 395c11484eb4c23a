//! Names in words for ids of the report.

use super::document::Provenance;

/// Order of metrics, with those that decisions depend on first; metrics that are not named here follow.
const METRIC_ORDER: [&str; 15] = [
    "latency",
    "board_latency",
    "end_to_end_latency",
    "throughput",
    "training_step",
    "energy",
    "memory",
    "training_memory",
    "sm_utilization",
    "sram_peak",
    "arena",
    "activation_ram",
    "weights_flash",
    "offchip_traffic",
    "sram_traffic",
];

/// Metrics that are the peak use of a memory.
pub const MEMORY_METRICS: [&str; 3] = ["sram_peak", "arena", "activation_ram"];

pub fn metric(id: &str) -> &str {
    match id {
        "board_latency" => "latency on the board",
        "end_to_end_latency" => "latency end to end",
        "sram_peak" => "SRAM peak",
        "offchip_traffic" => "off-chip traffic",
        "sram_traffic" => "SRAM traffic",
        "activation_ram" => "activation RAM",
        "weights_flash" => "weights flash",
        // Of the file itself, not of a target.
        "macs" => "MACs",
        "file_size" => "file size",
        "training_step" => "training step",
        "training_memory" => "training memory",
        "sm_utilization" => "SM utilization",
        id => id,
    }
}

pub fn metric_rank(id: &str) -> usize {
    let found = METRIC_ORDER.iter().position(|known| *known == id);
    found.unwrap_or(METRIC_ORDER.len())
}

/// One word for how a number was made.
pub fn basis(provenance: &Provenance) -> &str {
    match provenance.kind.as_str() {
        "compiler rules" => "rules",
        kind if kind.starts_with("learned") => "learned",
        kind => kind,
    }
}

/// How a number was made, by which tool and set to what.
pub fn source(provenance: &Provenance) -> String {
    let Provenance {
        kind,
        tool,
        version,
        configuration,
    } = provenance;
    match kind.as_str() {
        "exact" => format!("exact: {configuration}"),
        kind => format!("{kind}, {tool} {version}: {configuration}"),
    }
}

/// `1 operator`, `2 operators`.
pub fn plural(n: usize, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{ending}")
}
