//! Names in words for ids of the report.

use litecast::Metric;
use litecast::provenance::Reference;

use super::document::{Estimate, Provenance, TargetResult};

/// In tables, of a number that there is no estimate of. Nothing is `0`, and what runs elsewhere says so.
pub const UNKNOWN: &str = "?";

/// Metrics that are the peak use of a memory.
pub const MEMORY_METRICS: [&str; 4] = ["sram_peak", "arena", "activation_ram", "memory"];

pub fn metric(id: &str) -> &str {
    match id {
        "npu_latency" => "NPU part, by its compiler",
        "sram_peak" => "SRAM peak",
        "offchip_traffic" => "off-chip traffic",
        "sram_traffic" => "SRAM traffic",
        "activation_ram" => "activation RAM",
        "weights_flash" => "weights flash",
        "file_flash" => "file flash",
        // Of the file itself, not of a target.
        "macs" => "MACs",
        "file_size" | "file_bytes" => "file size",
        "weight_bytes" => "weights",
        "arena_bytes" => "arena",
        "activation_bytes" => "activations",
        "n_operators" => "operators",
        "training_step" => "training step",
        "training_memory" => "training memory",
        "sm_utilization" => "SM utilization",
        "board_ram" => "board RAM",
        "board_ram_piece" => "board RAM in one piece",
        "board_flash" => "board flash",
        id => id,
    }
}

/// The types that operators multiply in.
pub fn precision(id: &str) -> &str {
    match id {
        "none" => "no precision (nothing multiplies)",
        id => id,
    }
}

/// Place in the order of [`Metric::ALL`]; what is no metric of this version follows.
pub fn metric_rank(id: &str) -> usize {
    let order = Metric::ALL.iter();
    let mut order = order.map(|metric| metric.id());
    order
        .position(|known| known == id)
        .unwrap_or(Metric::ALL.len())
}

/// What a number rests on, with the level of its interval where that was checked: `measured, 90 %`.
pub fn evidence(result: &TargetResult, estimate: &Estimate) -> String {
    let grade = result.evidence.as_deref().unwrap_or("not said");
    match (estimate.lo, estimate.provenance.interval_percent) {
        (Some(_), Some(percent)) => format!("{grade}, {percent} %"),
        _ => grade.to_owned(),
    }
}

/// What the grades of evidence mean, below a table.
pub const EVIDENCE: &str =
    "evidence of the latency: counted, measured on hardware, a compiler's opinion, or assumed";

/// What the errors of such numbers were measured against.
pub fn reference_words(provenance: &Provenance) -> String {
    let Provenance {
        kind,
        tool,
        version,
        reference,
        ..
    } = provenance;
    if let "compiler rules" | "learned from compiler estimate" = kind.as_str() {
        let tool = match tool.as_str() {
            "ethos-u-vela" => "Vela",
            tool => tool,
        };
        return format!("{tool} {version}");
    }
    let learned = (kind == "learned from measured").then_some(Reference::Measured);
    let reference = match reference {
        Some(id) => Reference::by_id(id),
        None => learned,
    };
    reference.map_or("nothing", Reference::name).to_owned()
}

/// Name of a metric with what of the device its number is of, where that is not all.
pub fn metric_of(result: &TargetResult, estimate: &Estimate) -> String {
    let name = metric(&result.metric);
    match &estimate.provenance.scope {
        Some(scope) => format!("{name} ({scope})"),
        None => name.to_owned(),
    }
}

/// How a number was made, by which tool and set to what.
pub fn source(provenance: &Provenance) -> String {
    let Provenance {
        kind,
        tool,
        version,
        configuration,
        ..
    } = provenance;
    match kind.as_str() {
        "exact" => format!("exact: {configuration}"),
        kind => format!("{kind}, {tool} {version}: {configuration}"),
    }
}

/// The option that gives a dimension its size, for a shell: `--dim sequence=SIZE`.
pub fn dimension_option(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:,".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        format!("--dim {name}=SIZE")
    } else {
        format!("--dim '{}=SIZE'", name.replace('\'', r"'\''"))
    }
}

/// `1 operator`, `2 operators`.
pub fn plural(n: usize, noun: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{ending}")
}
