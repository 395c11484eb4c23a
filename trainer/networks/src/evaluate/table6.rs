//! `litecast-networks table6`: PerfSAGE's Table 6, which compares specialised and generalised networks on four design
//! spaces, with the paper's numbers beside ours.

mod processors;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use litecast_trainer::markdown::{self, Head, percent};
use litecast_trainer::spaces::Space;

use crate::baselines::Method;
use crate::error_table::{self, CsvRow};
use crate::gnn::shape::Architecture;

/// Brings the tables of `evaluate` and `baselines` together.
#[derive(Clone, Debug, clap::Args)]
pub struct Table6Args {
    /// Folder of the tables: `<architecture>.csv` of a network for all spaces,
    /// `<architecture>-<space>.csv` of one for a single space, `baselines.csv`, and the tables of processors in
    /// `processors/`; `table6.md` is written there.
    #[arg(long, default_value = "trainer/results")]
    pub results: PathBuf,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &Table6Args) -> Result<()> {
    let read = |name: String| error_table::read_csv(&args.results.join(name));
    let mut methods = Vec::new();
    for architecture in Architecture::value_variants().iter().map(|a| a.id()) {
        let specialised = Space::PAPER.map(|space| format!("{architecture}-{}.csv", space.id()));
        for (mode, tables) in [
            (Mode::Specialised, Vec::from(specialised)),
            (Mode::Generalised, vec![format!("{architecture}.csv")]),
        ] {
            let mut mape = BTreeMap::new();
            for table in tables {
                mape.extend(by_column(&read(table)?, architecture));
            }
            methods.push(Measured {
                method: architecture,
                mode,
                mape,
            });
        }
    }
    let baselines = read("baselines.csv".to_owned())?;
    methods.extend(Method::ALL.map(|method| Measured {
        method: method.id(),
        mode: Mode::Generalised,
        mape: by_column(&baselines, method.id()),
    }));
    ensure!(
        methods.iter().any(|method| !method.mape.is_empty()),
        "{}: expected tables of `evaluate`, found none",
        args.results.display()
    );
    let text = markdown(&methods) + &processors::markdown(&args.results)?;
    println!("{text}");
    Ok(fs::write(args.results.join("table6.md"), text)?)
}

/// The data that a method was fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The design space that it is measured on.
    Specialised,
    /// All spaces of its run.
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

/// (metric, target).
type Column = (&'static str, String);

/// A network or a baseline in one mode.
struct Measured {
    method: &'static str,
    mode: Mode,
    /// MAPE in percent by space and column.
    mape: BTreeMap<(&'static str, Column), f64>,
}

/// Metrics in the order of the paper's columns for the NPU.
const METRICS: [(&str, &str); 2] = [("latency", "latency"), ("sram_peak", "memory")];

/// The errors of a method on the paper's spaces, from the rows of a table.
fn by_column(rows: &[CsvRow], method: &str) -> BTreeMap<(&'static str, Column), f64> {
    let rows = rows.iter().filter(|row| row.method == method && row.n > 0);
    let mapes = rows.filter_map(|row| {
        let space = Space::PAPER.iter().find(|space| space.id() == row.space)?;
        let (metric, _) = METRICS.iter().find(|(metric, _)| *metric == row.metric)?;
        Some(((space.id(), (*metric, row.target.clone())), row.mape))
    });
    mapes.collect()
}

/// MAPE in percent for latency and memory on the NPU, from Table 6 of the paper.
fn paper(method: &str, mode: Mode, space: Space) -> [Option<f64>; 2] {
    let spaces = Space::PAPER.iter();
    let idx = spaces.take_while(|other| **other != space).count();
    let rows = match mode {
        Mode::Specialised if method == Architecture::Perfsage.id() => PERFSAGE_SPECIALISED,
        Mode::Generalised if method == Architecture::Perfsage.id() => PERFSAGE_GENERALISED,
        Mode::Specialised if method == Architecture::Eagle.id() => EAGLE_SPECIALISED,
        _ => return [None; 2],
    };
    rows.get(idx).copied().unwrap_or([None; 2])
}

/// By [`Space::PAPER`]. The paper has no numbers for Transformers, which Vela did not support at that time.
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

fn markdown(methods: &[Measured]) -> String {
    let all = methods.iter().flat_map(|method| method.mape.keys());
    let targets: BTreeSet<&String> = all.map(|(_, (_, target))| target).collect();
    let columns: Vec<Column> = METRICS
        .iter()
        .flat_map(|(metric, _)| targets.iter().map(|target| (*metric, (*target).clone())))
        .collect();
    let mut heads = Vec::from(["method", "trained", "space"].map(Head::text));
    heads.extend(
        columns
            .iter()
            .map(|(metric, target)| Head::number(format!("{target} {metric}"))),
    );
    heads.extend(METRICS.map(|(_, words)| Head::number(format!("paper: NPU {words}"))));
    let pairs = methods
        .iter()
        .flat_map(|method| Space::PAPER.map(|space| (method, space)));
    let rows = pairs.filter_map(|(method, space)| {
        let mape = |column: &Column| method.mape.get(&(space.id(), column.clone())).copied();
        let measured: Vec<Option<f64>> = columns.iter().map(mape).collect();
        let of_paper = paper(method.method, method.mode, space);
        let errors = || measured.iter().chain(&of_paper);
        errors().any(Option::is_some).then(|| {
            let words = [method.method, method.mode.words(), space.id()].map(str::to_owned);
            let errors = errors().map(|error| percent(*error));
            words.into_iter().chain(errors).collect()
        })
    });
    format!(
        "# PerfSAGE's Table 6\n\nMean absolute percentage error on held-out graphs of the paper's design \
         spaces, of what was trained on the one space (specialised) or on many (generalised: \
         `per-operator`, which ships, and methods without a network on all of the dataset, other networks \
         on these four). The paper's numbers are of its own samples of these spaces and of an \
         Ethos-U65; labels here are Vela's estimates.\n\n{}",
        markdown::table(&heads, rows)
    )
}

#[cfg(test)]
mod tests {
    use litecast::learned::manifest::OutputError;
    use litecast::provenance::ErrorSummary;

    use super::*;

    #[test]
    fn rows_stand_beside_the_papers() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, space: &str, metric: &str| {
            let row = |space: &str| OutputError {
                target: "npu".into(),
                metric: metric.into(),
                space: space.into(),
                error: ErrorSummary {
                    n: 7,
                    mape: 1.5,
                    ..ErrorSummary::default()
                },
            };
            let method = name.split("-cnn").next().unwrap();
            let rows = [row(space), row("other")];
            let path = folder.path().join(format!("{name}.csv"));
            let fitted = error_table::Fitted::default();
            error_table::write_csv(&path, rows.iter().map(|row| (method, row, fitted))).unwrap();
        };
        write("perfsage-cnn-kws", "cnn-kws", "latency");
        write("per-operator", "cnn-kws", "sram_peak");
        let results = folder.path().to_owned();
        run(&Table6Args { results }).unwrap();
        let text = fs::read_to_string(folder.path().join("table6.md")).unwrap();
        let specialised = "| perfsage | specialised | cnn-kws | 1.50 % | - | 3.57 % | 3.25 % |";
        assert!(text.contains(specialised), "{text}");
        let ours = "| per-operator | generalised | cnn-kws | - | 1.50 % | - | - |";
        assert!(text.contains(ours), "{text}");
        // A row with numbers of the paper only.
        let eagle = "| eagle | specialised | cnn-kws | - | - | 35.13 % | 24.57 % |";
        assert!(text.contains(eagle), "{text}");
        assert_eq!(text.matches("| cnn-kws |").count(), 4);
    }
}
