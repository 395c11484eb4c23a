//! `litecast-trainer evaluate`: errors of a trained network on graphs it never saw.

pub mod ablations;
mod attribution;
pub mod devices;
pub mod families;
pub mod files;
pub mod intervals;
pub mod left_out;
mod plot;
pub mod table;
pub mod table6;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use litecast::learned::features::N_COLUMNS;
use litecast::learned::intervals::{Interval, Landmarks};
use litecast::learned::manifest::{ALL, NETWORKS, OutputError, PERFSAGE_SPACES};

use self::attribution::attribution;
use self::intervals::GraphErrors;
use crate::checkpoint::{Checkpoint, Progress};
use crate::data::{Data, Part};
use crate::dataset::{self, Dataset};
use crate::gnn::batch::Batch;
use crate::gnn::network::Network;
use crate::gnn::prepare::Example;
use crate::metrics::summarise;
use crate::spaces::{Space, has_networks};
use crate::train;

/// Graphs per forward pass.
const BATCH: usize = 64;

/// Measures a trained network on the held-out graphs.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateArgs {
    /// Folder of the training run.
    #[arg(long)]
    pub run: PathBuf,
    /// The dataset that the run was trained on.
    #[arg(long)]
    pub dataset: PathBuf,
    /// Folder for tables and plots.
    #[arg(long, default_value = "trainer/results")]
    pub out: PathBuf,
    /// Files are called `<name>.md`, `<name>.csv`, `<name>.svg` and, the learning curve,
    /// `<name>-curve.csv` and `<name>-curve.svg`; the architecture where it is not given.
    #[arg(long)]
    pub name: Option<String>,
    /// Table of errors on spaces that were left out, `left-out.csv` of `litecast-trainer
    /// evaluate-families`, for intervals that count with them.
    #[arg(long)]
    pub left_out: Option<PathBuf>,
    /// Write `<name>.md` and `<name>.csv` alone.
    #[arg(long)]
    pub tables_only: bool,
}

pub fn run(args: &EvaluateArgs) -> Result<()> {
    let trained = Trained::load(&args.run, &dataset::load(&args.dataset)?)?;
    let estimates = trained.estimates(&trained.data.test);
    let errors = errors(&estimates, &trained.data.test, &trained.data);
    let attributions = attribution(&trained.model, &trained.data.test, &trained.data);
    let left_out = trained.left_out(args.left_out.as_deref())?;
    let (_, intervals) = trained.intervals(&estimates, &left_out);
    let text = table::markdown(&errors, &trained.data)
        + &table::attributions(&attributions, &trained.data)
        + &table::intervals(&intervals);
    println!("{text}");
    fs::create_dir_all(&args.out)?;
    let architecture = trained.progress.settings.architecture.id();
    let name = args.name.as_deref().unwrap_or(architecture);
    let file = |extension: &str| args.out.join(format!("{name}.{extension}"));
    fs::write(file("md"), heading(&trained) + &text)?;
    let rows = errors.iter().map(|error| (architecture, error));
    table::write_csv(&file("csv"), rows)?;
    if args.tables_only {
        return Ok(());
    }
    for extension in ["csv", "svg"] {
        let curve = args.run.join(format!("curve.{extension}"));
        let copy = args.out.join(format!("{name}-curve.{extension}"));
        fs::copy(&curve, copy).with_context(|| curve.display().to_string())?;
    }
    plot::write(&estimates, &trained.data, &file("svg"))
}

fn heading(trained: &Trained) -> String {
    let counts = trained.data.counts();
    let sum = |of: fn(&litecast::learned::manifest::SpaceCount) -> usize| {
        counts.iter().map(of).sum::<usize>()
    };
    let left_out = trained.progress.settings.leave_out.join(", ");
    let left_out = match left_out.is_empty() {
        true if trained.progress.settings.hold_out_large => {
            "Of each design space, trained on graphs with fewer multiply-accumulates than the median, \
             measured on those with more than nine tenths of the graphs.\n\n"
                .to_owned()
        }
        true => String::new(),
        false => format!("No graph of these spaces was trained on: {left_out}.\n\n"),
    };
    format!(
        "# Errors on held-out graphs\n\nTrained on {} graphs, stopped by {}, measured on {}; best \
         epoch {} of {}; weights in half precision, as shipped.\n\n{left_out}",
        sum(|c| c.training),
        sum(|c| c.validation),
        sum(|c| c.test),
        trained.progress.best_epoch,
        trained.progress.epoch,
    )
}

/// A finished run: its data as it was split, and its best weights as an export keeps them.
pub struct Trained {
    pub progress: Progress,
    pub data: Data,
    pub model: Network,
}

impl Trained {
    pub fn load(folder: &Path, dataset: &Dataset) -> Result<Self> {
        let checkpoint = Checkpoint::new(folder)?;
        let settings = progress(&checkpoint)?.settings;
        Self::new(&checkpoint, Data::new(dataset, &settings)?)
    }

    /// The run of a checkpoint on `data`, split by its settings.
    pub fn new(checkpoint: &Checkpoint, data: Data) -> Result<Self> {
        let progress = progress(checkpoint)?;
        checkpoint.expect_trained_on(&data.training_sha256(), &progress)?;
        let shape = train::shape(&data, &progress.settings);
        let model = checkpoint.load_best_model(Network::new(&shape, &Device::flex()))?;
        Ok(Self {
            progress,
            data,
            model: model.rounded_to_f16(),
        })
    }

    /// Natural units, by graph of a part, then by output.
    pub fn estimates(&self, part: &Part) -> Vec<Vec<f32>> {
        estimates(&self.model, part, &self.data, &Device::flex())
    }

    /// Errors on spaces that were left out, from a table of them; none without one.
    pub fn left_out(&self, path: Option<&Path>) -> Result<Vec<GraphErrors>> {
        path.map_or(Ok(Vec::new()), |path| {
            left_out::read(path, &self.data.outputs)
        })
    }

    /// What intervals follow from the validation graphs and from spaces that were left out, and how they do
    /// on the estimates of the held-out graphs.
    pub fn intervals(
        &self,
        test: &[Vec<f32>],
        left_out: &[GraphErrors],
    ) -> (Landmarks, Vec<Interval>) {
        let data = &self.data;
        let landmarks = intervals::landmarks(&data.training);
        let errors = |part, estimates: &[Vec<f32>]| {
            GraphErrors::of_part(&landmarks, part, estimates, &data.spaces)
        };
        let validation = errors(&data.validation, &self.estimates(&data.validation));
        let calibration: Vec<&GraphErrors> = validation.iter().chain(left_out).collect();
        let test = errors(&data.test, test);
        let intervals = intervals::intervals(&data.outputs, &calibration, &test);
        (landmarks, intervals)
    }
}

fn progress(checkpoint: &Checkpoint) -> Result<Progress> {
    let folder = checkpoint.folder().display();
    let progress = checkpoint.load_progress()?;
    progress.with_context(|| format!("{folder}: expected a run, found none"))
}

/// Natural units, by graph, then by output.
pub fn estimates(model: &Network, part: &Part, data: &Data, device: &Device) -> Vec<Vec<f32>> {
    let device = device.clone().inner();
    let n_outputs = data.outputs.len();
    let mut estimates = Vec::with_capacity(part.examples.len());
    for examples in part.examples.chunks(BATCH) {
        let examples: Vec<&Example> = examples.iter().collect();
        let batch = Batch::new(&examples, N_COLUMNS, &device);
        let outputs = model.forward(&batch, &data.scaling).standardised;
        let outputs: Vec<f32> = outputs
            .into_data()
            .try_to_vec()
            .expect("the network computes in f32");
        let natural = |row: &[f32]| {
            row.iter()
                .enumerate()
                .map(|(k, &o)| data.scaling.estimate(k, o))
                .collect()
        };
        estimates.extend(outputs.chunks_exact(n_outputs).map(natural));
    }
    estimates
}

/// Capped mean error of each output over all graphs: what chooses the best epoch.
pub fn capped_mape_by_output(
    model: &Network,
    part: &Part,
    data: &Data,
    device: &Device,
) -> Vec<f64> {
    let errors = errors(&estimates(model, part, data, device), part, data);
    let over_all = errors.iter().filter(|error| error.space == ALL);
    over_all.map(|error| error.error.capped_mape).collect()
}

/// Names of the groups of spaces that errors are told of, and their indices: each space, PerfSAGE's
/// and those of networks together where they are there beside others, and all.
fn groups(spaces: &[String]) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<_> = spaces
        .iter()
        .cloned()
        .zip((0..).map(|idx| vec![idx]))
        .collect();
    let is_of_paper = |idx: &usize| Space::PAPER.iter().any(|space| space.id() == spaces[*idx]);
    let of_paper: Vec<usize> = (0..spaces.len()).filter(is_of_paper).collect();
    if of_paper.len() == Space::PAPER.len() && spaces.len() > of_paper.len() {
        groups.push((PERFSAGE_SPACES.to_owned(), of_paper));
    }
    let of_networks: Vec<usize> = (0..spaces.len())
        .filter(|&idx| has_networks(&spaces[idx]))
        .collect();
    if !of_networks.is_empty() && spaces.len() > of_networks.len() {
        groups.push((NETWORKS.to_owned(), of_networks));
    }
    groups.push((ALL.to_owned(), (0..spaces.len()).collect()));
    groups
}

/// Errors by output and group of spaces.
pub fn errors(estimates: &[Vec<f32>], part: &Part, data: &Data) -> Vec<OutputError> {
    let mut errors = Vec::new();
    for (output, key) in data.outputs.iter().enumerate() {
        for (name, spaces) in groups(&data.spaces) {
            let graphs = (0..estimates.len()).filter(|&g| spaces.contains(&part.space_of[g]));
            let pairs = graphs.map(|g| (estimates[g][output], part.examples[g].labels[output]));
            let (estimates, labels): (Vec<f32>, Vec<f32>) = pairs.unzip();
            errors.push(OutputError {
                target: key.target.clone(),
                metric: key.metric.clone(),
                space: name,
                error: summarise(&estimates, &labels),
            });
        }
    }
    errors
}
