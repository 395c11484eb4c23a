//! `litecast-trainer table6`: PerfSAGE's Table 6, specialised and generalised networks on the paper's four
//! design spaces, with the paper's numbers beside those that `evaluate` measured here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Deserialize;

use crate::gnn::network::Architecture;
use crate::spaces::Space;

/// Brings the tables of `evaluate` together.
#[derive(Clone, Debug, clap::Args)]
pub struct Table6Args {
    /// Folder of `evaluate`'s tables, `<architecture>.csv` of a network for all spaces and
    /// `<architecture>-<space>.csv` of one for a single space; `table6.md` is written there.
    #[arg(long, default_value = "trainer/results")]
    pub results: PathBuf,
}

pub fn run(args: &Table6Args) -> Result<()> {
    let mut networks = Vec::new();
    for architecture in Architecture::value_variants() {
        for mode in [Mode::Specialised, Mode::Generalised] {
            networks.push(Measured::read(&args.results, *architecture, mode)?);
        }
    }
    ensure!(
        networks.iter().any(|network| !network.mape.is_empty()),
        "{}: expected tables of `evaluate`, found none",
        args.results.display()
    );
    let text = markdown(&networks);
    println!("{text}");
    Ok(fs::write(args.results.join("table6.md"), text)?)
}

/// What a network was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The design space that it is measured on.
    Specialised,
    /// All that its run took.
    Generalised,
}

impl Mode {
    fn words(self) -> &'static str {
        match self {
            Self::Specialised => "specialised",
            Self::Generalised => "generalised",
        }
    }
}

/// A row of `evaluate`'s table.
#[derive(Deserialize)]
struct Row {
    target: String,
    metric: String,
    space: String,
    mape: f64,
    n: usize,
}

/// (metric, target).
type Column = (&'static str, String);

/// One architecture in one mode.
struct Measured {
    architecture: Architecture,
    mode: Mode,
    /// MAPE in percent by space and column.
    mape: BTreeMap<(&'static str, Column), f64>,
}

/// In the order of the paper's columns for the NPU.
const METRICS: [(&str, &str); 2] = [("latency", "latency"), ("sram_peak", "memory")];

impl Measured {
    /// What the tables that are there say.
    fn read(folder: &Path, architecture: Architecture, mode: Mode) -> Result<Self> {
        let mut mape = BTreeMap::new();
        for space in Space::PAPER.map(Space::id) {
            let name = match mode {
                Mode::Specialised => format!("{}-{space}.csv", architecture.id()),
                Mode::Generalised => format!("{}.csv", architecture.id()),
            };
            let path = folder.join(name);
            if !path.exists() {
                continue;
            }
            let place = || path.display().to_string();
            for row in csv::Reader::from_path(&path)
                .with_context(place)?
                .deserialize()
            {
                let row: Row = row.with_context(place)?;
                let metric = METRICS.iter().find(|(metric, _)| *metric == row.metric);
                if let Some((metric, _)) = metric
                    && row.space == space
                    && row.n > 0
                {
                    mape.insert((space, (*metric, row.target)), row.mape);
                }
            }
        }
        Ok(Self {
            architecture,
            mode,
            mape,
        })
    }
}

/// MAPE in percent as the paper's Table 6 has it of the NPU: latency, memory.
fn paper(architecture: Architecture, mode: Mode, space: Space) -> [Option<f64>; 2] {
    let spaces = Space::PAPER.iter();
    let idx = spaces.take_while(|other| **other != space).count();
    let rows: [[Option<f64>; 2]; 4] = match (architecture, mode) {
        (Architecture::Perfsage, Mode::Specialised) => PERFSAGE_SPECIALISED,
        (Architecture::Perfsage, Mode::Generalised) => PERFSAGE_GENERALISED,
        (Architecture::Eagle, Mode::Specialised) => EAGLE_SPECIALISED,
        _ => return [None; 2],
    };
    rows.get(idx).copied().unwrap_or([None; 2])
}

/// By [`Space::PAPER`]; Vela ran no Transformers then.
const PERFSAGE_SPECIALISED: [[Option<f64>; 2]; 4] = [
    [Some(2.103), Some(2.758)],
    [Some(1.352), Some(3.599)],
    [Some(3.574), Some(3.248)],
    [None, Some(0.701)],
];
const PERFSAGE_GENERALISED: [[Option<f64>; 2]; 4] = [
    [Some(3.157), Some(3.625)],
    [Some(2.115), Some(3.423)],
    [Some(6.390), Some(4.952)],
    [None, Some(1.580)],
];
const EAGLE_SPECIALISED: [[Option<f64>; 2]; 4] = [
    [Some(36.388), Some(39.625)],
    [Some(15.412), Some(21.908)],
    [Some(35.131), Some(24.575)],
    [None, Some(50.503)],
];

fn markdown(networks: &[Measured]) -> String {
    let all = networks.iter().flat_map(|network| network.mape.keys());
    let targets: BTreeSet<&String> = all.map(|(_, (_, target))| target).collect();
    let columns: Vec<Column> = METRICS
        .iter()
        .flat_map(|(metric, _)| targets.iter().map(|target| (*metric, (*target).clone())))
        .collect();
    let mut text = String::from(
        "# PerfSAGE's Table 6\n\nMean absolute percentage error on held-out graphs of the paper's design \
         spaces, of networks trained on the one space (specialised) or on many (generalised; PerfSAGE's on \
         these four, ours on all). The paper's numbers are of its own samples of these spaces and of an \
         Ethos-U65; labels here are Vela's estimates.\n\n| network | \
         trained | space |",
    );
    columns
        .iter()
        .for_each(|(metric, target)| text += &format!(" {target} {metric} |"));
    METRICS
        .iter()
        .for_each(|(_, words)| text += &format!(" paper: NPU {words} |"));
    text += "\n|---|---|---|";
    (0..columns.len() + METRICS.len()).for_each(|_| text += "---:|");
    text += "\n";
    let cell = |percent: Option<f64>| match percent {
        Some(percent) => format!(" {percent:.2} % |"),
        None => " - |".to_owned(),
    };
    for Measured {
        architecture,
        mode,
        mape,
    } in networks
    {
        for space in Space::PAPER {
            let of = |column: &Column| mape.get(&(space.id(), column.clone())).copied();
            let of_paper = paper(*architecture, *mode, space);
            let is_measured = columns.iter().any(|column| of(column).is_some());
            if !is_measured && of_paper == [None; 2] {
                continue;
            }
            let (network, mode_words) = (architecture.id(), mode.words());
            text += &format!("| {network} | {mode_words} | {} |", space.id());
            columns.iter().for_each(|column| text += &cell(of(column)));
            of_paper.iter().for_each(|percent| text += &cell(*percent));
            text += "\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_the_papers() {
        let folder = tempfile::tempdir().unwrap();
        let row = |space: &str, metric: &str| {
            format!(
                "target,metric,space,mape,n\nnpu,{metric},{space},1.5,7\nnpu,{metric},other,9,7\n"
            )
        };
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        write("perfsage-cnn-kws.csv", row("cnn-kws", "latency"));
        write("per-operator.csv", row("cnn-kws", "sram_peak"));
        let results = folder.path().to_owned();
        run(&Table6Args { results }).unwrap();
        let text = fs::read_to_string(folder.path().join("table6.md")).unwrap();
        let specialised = "| perfsage | specialised | cnn-kws | 1.50 % | - | 3.57 % | 3.25 % |";
        assert!(text.contains(specialised), "{text}");
        let ours = "| per-operator | generalised | cnn-kws | - | 1.50 % | - | - |";
        assert!(text.contains(ours), "{text}");
        // What the paper alone has.
        let eagle = "| eagle | specialised | cnn-kws | - | - | 35.13 % | 24.57 % |";
        assert!(text.contains(eagle), "{text}");
        assert_eq!(text.matches("| cnn-kws |").count(), 4);
    }
}
