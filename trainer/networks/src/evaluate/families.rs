//! `litecast-networks evaluate-families`: errors of networks on a design space that was left out of their training.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use litecast::learned::intervals::Interval;
use litecast::learned::manifest::OutputError;
use litecast::provenance::ErrorSummary;
use litecast_trainer::dataset::{self, LabelKey};
use litecast_trainer::markdown::{Head, table};

use super::intervals::{self, GraphErrors};
use super::left_out::{self, evenly_spread};
use super::{Trained, errors};
use crate::checkpoint::Checkpoint;
use crate::error_table::Fitted;
use crate::settings::Settings;
use crate::train;
use crate::training_data::Data;

/// Trains the network once for each design space without that space, and measures it there.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateFamiliesArgs {
    /// Folder that `litecast-trainer dataset build` wrote.
    #[arg(long)]
    pub dataset: PathBuf,
    /// Folder for the runs, one folder each; those found there are resumed.
    #[arg(long, default_value = "trainer/runs/families")]
    pub runs: PathBuf,
    /// The table.
    #[arg(long, default_value = "trainer/results/families.md")]
    pub out: PathBuf,
    /// Table of errors of graphs for intervals, as `litecast-networks evaluate` takes it; not written where none
    /// is named.
    #[arg(long)]
    pub left_out: Option<PathBuf>,
    /// Design spaces to leave out, one after the other; all of the dataset where none is given.
    #[arg(long, value_delimiter = ',')]
    pub families: Vec<String>,
    /// Settings of each training run.
    #[command(flatten)]
    pub settings: Settings,
}

/// A design space that was left out.
struct Family {
    name: String,
    /// Errors on the outputs that have labels in this space.
    errors: Vec<OutputError>,
    graphs: Vec<GraphErrors>,
    /// Errors on the validation graphs of the network.
    validation: Vec<GraphErrors>,
    intervals: Vec<Interval>,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &EvaluateFamiliesArgs) -> Result<()> {
    let leave_out = &args.settings.leave_out;
    ensure!(
        leave_out.is_empty(),
        "expected no --leave-out beside --families, found {leave_out:?}"
    );
    let dataset = dataset::load(&args.dataset)?;
    let names = if args.families.is_empty() {
        Data::new(&dataset, &args.settings)?.spaces
    } else {
        args.families.clone()
    };
    let device = train::device(false)?.autodiff();
    let mut families = Vec::new();
    let mut outputs = Vec::new();
    let mut fitted = Fitted::default();
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
        outputs.clone_from(&trained.data.outputs);
        fitted = trained.fitted();
        families.push(Family::new(name, &trained));
    }
    for idx in 0..families.len() {
        families[idx].intervals = intervals_for(idx, &families, &outputs);
    }
    let text = markdown(&families, fitted, &args.settings);
    println!("{text}");
    if let Some(path) = &args.left_out {
        let graphs = families
            .iter()
            .flat_map(|family| evenly_spread(&family.graphs));
        let graphs: Vec<&GraphErrors> = graphs.collect();
        left_out::write(path, &outputs, &graphs)?;
    }
    fs::write(&args.out, text).with_context(|| args.out.display().to_string())
}

/// Intervals for one family, from the validation graphs of its network and from all other families, with their coverage
/// of the family. No graph of the family is used to set them.
fn intervals_for(idx: usize, families: &[Family], outputs: &[LabelKey]) -> Vec<Interval> {
    let left_out = &families[idx];
    let others = families
        .iter()
        .filter(|family| family.name != left_out.name);
    let others = others.flat_map(|family| evenly_spread(&family.graphs));
    let calibration: Vec<&GraphErrors> = left_out.validation.iter().chain(others).collect();
    intervals::intervals(outputs, &calibration, &left_out.graphs)
}

/// A table with a row for each family and columns for the latency of each target.
fn markdown(families: &[Family], fitted: Fitted, settings: &Settings) -> String {
    let mut targets: Vec<&str> = families
        .iter()
        .flat_map(|family| family.errors.iter())
        .filter(|error| error.metric == LATENCY)
        .map(|error| error.target.as_str())
        .collect();
    targets.sort_unstable();
    targets.dedup();
    let row = |family: &Family| {
        let errors: Vec<_> = targets.iter().map(|t| family.latency(t)).collect();
        let n_graphs = errors.iter().flatten().map(|(error, _)| error.n).max();
        let mut cells = vec![family.name.clone(), n_graphs.unwrap_or(0).to_string()];
        cells.extend(errors.into_iter().flat_map(|latency| match latency {
            Some((error, inside)) => figures(error.mape, error.median_ape, inside),
            None => ["-"; 3].map(str::to_owned),
        }));
        cells
    };
    let mut means = vec!["mean over families".to_owned(), String::new()];
    means.extend(targets.iter().flat_map(|target| {
        let of_all: Vec<_> = families.iter().filter_map(|f| f.latency(target)).collect();
        let mean = |statistic: &dyn Fn(&(&ErrorSummary, f64)) -> f64| {
            of_all.iter().map(statistic).sum::<f64>() / of_all.len() as f64
        };
        figures(
            mean(&|(error, _)| error.mape),
            mean(&|(error, _)| error.median_ape),
            mean(&|(_, coverage_percent)| *coverage_percent),
        )
    }));
    let mut heads = vec![Head::text("left out"), Head::number("graphs")];
    heads.extend(targets.iter().flat_map(|target| {
        [format!("{target}: mean"), "median".into(), "inside".into()].map(Head::number)
    }));
    format!(
        "# Latency of design spaces that were left out\n\nEach row is a network of its own (`{}`), trained \
         for at most {} epochs on all other design spaces and measured on all graphs of this one: mean and \
         median absolute percentage error, none capped, and the share of labels inside intervals that were \
         made to hold 90 %, from the network's own validation graphs and from all other left-out spaces. \
         Graphs trained on and features are those of the last row's network: {} and {}.\n\n{}",
        settings.architecture.id(),
        settings.epochs,
        fitted.n_trained,
        fitted.n_features.unwrap_or(0),
        table(&heads, families.iter().map(row).chain([means]))
    )
}

/// Cells of one target, in percent.
fn figures(mean: f64, median: f64, inside: f64) -> [String; 3] {
    [
        format!("{mean:.1} %"),
        format!("{median:.1} %"),
        format!("{inside:.0} %"),
    ]
}

const LATENCY: &str = "latency";

impl Family {
    /// The results of one network, without intervals, because those need all families.
    fn new(name: String, trained: &Trained) -> Self {
        let data = &trained.data;
        let landmarks = intervals::landmarks(&data.training);
        let estimates = trained.estimates(&data.test);
        let validation = trained.estimates(&data.validation);
        let graphs = |part, estimates: &[Vec<f32>]| {
            GraphErrors::from_part(&landmarks, part, estimates, &data.spaces)
        };
        let here = |error: &OutputError| error.space == name && error.error.n > 0;
        let errors = errors(&estimates, &data.test, data);
        Self {
            graphs: graphs(&data.test, &estimates),
            validation: graphs(&data.validation, &validation),
            errors: errors.into_iter().filter(here).collect(),
            intervals: Vec::new(),
            name,
        }
    }

    /// Error and coverage in percent for one target.
    fn latency(&self, target: &str) -> Option<(&ErrorSummary, f64)> {
        let is_it = |id: &str, metric: &str| id == target && metric == LATENCY;
        let error = self.errors.iter().find(|e| is_it(&e.target, &e.metric))?;
        let interval = self
            .intervals
            .iter()
            .find(|i| is_it(&i.target, &i.metric))?;
        Some((&error.error, interval.coverage_percent))
    }
}
