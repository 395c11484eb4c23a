//! Sampled networks and files that Vela labelled in many configurations.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use litecast::targets::ethos_u::configuration::Configuration;

use super::{Case, Kind, Label, Origin, Values, graph_cases, vela_target};
use crate::labels::bytes_of;
use crate::labels::record::{self, Labelled, Outcome};
use crate::labels::store::Labels;
use crate::labels::vela::VelaLabel;
use crate::spaces::has_networks;

/// Cases of every graph in a folder of labels that has operators on the NPU and an estimate. Its files are of the kind
/// `of_files`.
pub fn labelled_cases(
    folder: &Path,
    of_files: Kind,
    configurations: &[Configuration],
) -> Result<Vec<Case>> {
    let labels = Labels::read(folder)?;
    let mut by_graph: BTreeMap<&str, Vec<&Labelled>> = BTreeMap::new();
    for labelled in &labels.labelled {
        by_graph
            .entry(&labelled.graph_id)
            .or_default()
            .push(labelled);
    }
    let ids: Vec<String> = configurations.iter().map(|c| vela_target(c).id).collect();
    let mut cases = Vec::new();
    for labelled in by_graph.into_values() {
        let labels: Vec<Label> = labelled
            .iter()
            .filter_map(|one| label_of(one, &ids))
            .collect();
        let (Some(first), false) = (labelled.first(), labels.is_empty()) else {
            continue;
        };
        let bytes = bytes_of(&first.origin)?;
        let origin = origin_of(&first.origin, of_files);
        cases.extend(graph_cases(&bytes, &origin, &labels, configurations)?);
    }
    Ok(cases)
}

fn label_of(labelled: &Labelled, ids: &[String]) -> Option<Label> {
    let idx = ids.iter().position(|id| *id == labelled.target)?;
    match &labelled.outcome {
        Outcome::Ok(record::Label::Vela(label)) if label.total_cycles > 0 => {
            Some((idx, values_of(label)))
        }
        _ => None,
    }
}

fn origin_of(origin: &record::Origin, of_files: Kind) -> Origin {
    let kind = match origin {
        record::Origin::File(_) => of_files,
        record::Origin::Sampled { space, .. } if has_networks(space) => Kind::Network,
        record::Origin::Sampled { .. } => Kind::RandomOperators,
    };
    Origin {
        kind,
        family: family_of(origin),
        calibrates: true,
    }
}

/// The design space of a sample. For a file, the first word of its name that names an architecture.
fn family_of(origin: &record::Origin) -> String {
    let record::Origin::File(path) = origin else {
        return origin.space().to_owned();
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let last_part = name.rsplit("__").next().unwrap_or(&name).to_lowercase();
    let is_collection = |word: &&str| ["st", "mcufit", "tfs", "keras"].contains(word);
    let mut words = last_part.split(['_', '-']);
    let word = words
        .find(|word| !is_collection(word))
        .unwrap_or(&last_part);
    let letters = word.split(|c: char| !c.is_ascii_alphabetic()).next();
    letters.unwrap_or(word).trim_end_matches('v').to_owned()
}

fn values_of(label: &VelaLabel) -> Values {
    let sram = label.memories.get("Sram");
    let sram_bytes = sram.map_or(0, |sram| sram.read_bytes + sram.written_bytes);
    [
        label.latency_ms,
        label.sram_peak_bytes as f64,
        label.offchip_traffic_bytes as f64,
        sram_bytes as f64,
    ]
}
