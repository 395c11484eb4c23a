//! `litecast-trainer evaluate-families`: how a network does on a design space that it never saw.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use litecast::familiarity::Interval;
use litecast::manifest::{ErrorSummary, OutputError};

use super::{Trained, errors};
use crate::checkpoint::Checkpoint;
use crate::data::Data;
use crate::dataset;
use crate::settings::Settings;
use crate::train;

/// Trains the network once for each design space without that space, and measures it there.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateFamiliesArgs {
    /// Folder that `litecast-trainer dataset build` wrote.
    #[arg(long)]
    pub dataset: PathBuf,
    /// Folder for the runs, one folder each; those found there are resumed.
    #[arg(long, default_value = "trainer/runs/families")]
    pub runs: PathBuf,
    /// Folder for the table, `families.md`.
    #[arg(long, default_value = "trainer/results")]
    pub out: PathBuf,
    /// Design spaces to leave out, one after the other; all of the dataset where none is given.
    #[arg(long, value_delimiter = ',')]
    pub families: Vec<String>,
    #[command(flatten)]
    pub settings: Settings,
}

/// A design space that was left out.
struct Family {
    name: String,
    /// Of the outputs that have labels there.
    errors: Vec<OutputError>,
    intervals: Vec<Interval>,
}

pub fn run(args: &EvaluateFamiliesArgs) -> Result<()> {
    let leave_out = &args.settings.leave_out;
    ensure!(
        leave_out.is_empty(),
        "expected no --leave-out beside --families, found {leave_out:?}"
    );
    let dataset = dataset::load(&args.dataset)?;
    let names = match args.families.is_empty() {
        true => Data::new(&dataset, &args.settings)?.spaces,
        false => args.families.clone(),
    };
    let device = train::device(false)?.autodiff();
    let mut families = Vec::new();
    for name in names {
        let settings = Settings {
            leave_out: vec![name.clone()],
            ..args.settings.clone()
        };
        let data = Data::new(&dataset, &settings)?;
        if data.test.examples.is_empty() {
            println!("{name}: no labels to measure on");
            continue;
        }
        println!("{name}: {} graphs left out", data.test.examples.len());
        let checkpoint = Checkpoint::new(&args.runs.join(&name))?;
        train::train(&data, &settings, &checkpoint, &device)?;
        let trained = Trained::new(&checkpoint, data)?;
        let estimates = trained.estimates(&trained.data.test);
        let (_, intervals) = trained.intervals(&estimates);
        let errors = errors(&estimates, &trained.data.test, &trained.data);
        let here = |error: &OutputError| error.space == name && error.error.n > 0;
        families.push(Family {
            errors: errors.into_iter().filter(here).collect(),
            intervals,
            name,
        });
    }
    let text = markdown(&families, &args.settings);
    println!("{text}");
    fs::create_dir_all(&args.out)?;
    Ok(fs::write(args.out.join("families.md"), text)?)
}

/// A row for each family, columns for the latency of each target.
fn markdown(families: &[Family], settings: &Settings) -> String {
    let mut targets: Vec<&str> = families
        .iter()
        .flat_map(|family| family.errors.iter())
        .filter(|error| error.metric == LATENCY)
        .map(|error| error.target.as_str())
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let mut text = format!(
        "# Latency of design spaces that were left out\n\nEach row is a network of its own, trained for {} \
         epochs on all other design spaces and measured on all graphs of this one: mean absolute \
         percentage error, median, and the share of labels inside the intervals that were made to hold \
         90 %.\n\n| left out | graphs |",
        settings.epochs
    );
    for target in &targets {
        text += &format!(" {target}: mean | median | inside |");
    }
    text += "\n|---|---:|";
    targets.iter().for_each(|_| text += "---:|---:|---:|");
    text += "\n";
    for family in families {
        let of = |target: &&str| family.latency(target);
        let n_graphs = targets
            .iter()
            .filter_map(of)
            .map(|(error, _)| error.n)
            .max();
        text += &format!("| {} | {} |", family.name, n_graphs.unwrap_or(0));
        for target in &targets {
            text += &match family.latency(target) {
                Some((error, coverage_percent)) => format!(
                    " {:.1} % | {:.1} % | {coverage_percent:.0} % |",
                    error.mape, error.median_ape
                ),
                None => " - | - | - |".to_owned(),
            };
        }
        text += "\n";
    }
    text += "| mean over families | |";
    for target in &targets {
        let of_all: Vec<_> = families.iter().filter_map(|f| f.latency(target)).collect();
        let mean = |of: &dyn Fn(&(&ErrorSummary, f64)) -> f64| {
            of_all.iter().map(of).sum::<f64>() / of_all.len() as f64
        };
        text += &format!(
            " {:.1} % | {:.1} % | {:.0} % |",
            mean(&|(error, _)| error.mape),
            mean(&|(error, _)| error.median_ape),
            mean(&|(_, coverage_percent)| *coverage_percent)
        );
    }
    text + "\n"
}

const LATENCY: &str = "latency";

impl Family {
    /// Error and coverage in percent of one target.
    fn latency(&self, target: &str) -> Option<(&ErrorSummary, f64)> {
        let is_it = |of: &str, metric: &str| of == target && metric == LATENCY;
        let error = self.errors.iter().find(|e| is_it(&e.target, &e.metric))?;
        let interval = self
            .intervals
            .iter()
            .find(|i| is_it(&i.target, &i.metric))?;
        Some((&error.error, interval.coverage_percent))
    }
}
