//! `litecast-networks evaluate`: errors of a trained network on held-out graphs.

pub mod ablations;
mod attribution;
pub mod families;
pub mod intervals;
pub mod left_out;
mod plot;
pub mod table6;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use litecast::learned::intervals::{Interval, Landmarks};
use litecast_trainer::dataset::{self, Dataset};

use self::attribution::{attribution, attribution_table};
use self::intervals::GraphErrors;
use crate::checkpoint::{Checkpoint, Progress};
use crate::error_table::{self, Epochs, Fitted};
use crate::errors::{errors, estimates};
use crate::gnn::network::GraphNetwork;
use crate::train;
use crate::training_data::{Data, Part};

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
    /// Table of errors on spaces that were left out, `left-out.csv` of `litecast-networks
    /// evaluate-families`, for intervals that count with them.
    #[arg(long)]
    pub left_out: Option<PathBuf>,
    /// Write `<name>.md` and `<name>.csv` alone.
    #[arg(long)]
    pub tables_only: bool,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &EvaluateArgs) -> Result<()> {
    let trained = Trained::load(&args.run, &dataset::load(&args.dataset)?)?;
    let estimates = trained.estimates(&trained.data.test);
    let errors = errors(&estimates, &trained.data.test, &trained.data);
    let attributions = attribution(&trained.model, &trained.data.test, &trained.data);
    let left_out = trained.left_out(args.left_out.as_deref())?;
    let (_, intervals) = trained.intervals(&estimates, &left_out);
    let text = error_table::markdown(&errors, &trained.data)
        + &attribution_table(&attributions, &trained.data)
        + &error_table::intervals(&intervals);
    println!("{text}");
    fs::create_dir_all(&args.out)?;
    let architecture = trained.progress.settings.architecture.id();
    let name = args.name.as_deref().unwrap_or(architecture);
    let file = |extension: &str| args.out.join(format!("{name}.{extension}"));
    fs::write(file("md"), heading(&trained) + &text)?;
    let fitted = trained.fitted();
    let rows = errors.iter().map(|error| (architecture, error, fitted));
    error_table::write_csv(&file("csv"), rows)?;
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
    let sum = |count_of: fn(&litecast::learned::manifest::SpaceCount) -> usize| {
        counts.iter().map(count_of).sum::<usize>()
    };
    let left_out = trained.progress.settings.leave_out.join(", ");
    let left_out = if !left_out.is_empty() {
        format!("No graph of these spaces was trained on: {left_out}.\n\n")
    } else if trained.progress.settings.hold_out_large {
        "Of each design space, trained on graphs with fewer multiply-accumulates than the median, \
         measured on those with more than nine tenths of the graphs.\n\n"
            .to_owned()
    } else {
        String::new()
    };
    format!(
        "# Errors on held-out graphs\n\nTrained on {} graphs with {} features of an operator, stopped by \
         {}, measured on {}; best epoch {} of {}; weights rounded as shipped.\n\n{left_out}",
        sum(|c| c.training),
        trained.data.scaling.n_features(),
        sum(|c| c.validation),
        sum(|c| c.test),
        trained.progress.best_epoch,
        trained.progress.epoch,
    )
}

/// A finished run: its data, split as in training, and its best weights in the format of an export.
pub struct Trained {
    /// Progress of the run at its best epoch.
    pub progress: Progress,
    /// The data that it was trained on.
    pub data: Data,
    /// The network with the weights of the best epoch.
    pub model: GraphNetwork,
}

impl Trained {
    /// Reads a run. Fails if it was trained on another dataset.
    pub fn load(folder: &Path, dataset: &Dataset) -> Result<Self> {
        let checkpoint = Checkpoint::new(folder)?;
        let settings = progress(&checkpoint)?.settings;
        Self::new(&checkpoint, Data::new(dataset, &settings)?)
    }

    /// The run of a checkpoint on `data`, which is split by the checkpoint's settings.
    pub fn new(checkpoint: &Checkpoint, data: Data) -> Result<Self> {
        let progress = progress(checkpoint)?;
        checkpoint.expect_trained_on(&data.training_sha256(), &progress)?;
        let shape = train::shape(&data, &progress.settings);
        let model = checkpoint.load_best_model(GraphNetwork::new(&shape, &Device::flex()))?;
        Ok(Self {
            progress,
            data,
            model: model.as_stored(),
        })
    }

    /// What the manifest says of the run.
    pub fn fitted(&self) -> Fitted {
        Fitted {
            n_trained: self.data.training.examples.len(),
            n_features: Some(self.data.scaling.n_features()),
            epochs: Some(Epochs {
                best: self.progress.best_epoch,
                all: self.progress.epoch,
                seed: self.progress.settings.seed,
            }),
        }
    }

    /// Estimates in natural units, by graph of a part, then by output.
    pub fn estimates(&self, part: &Part) -> Vec<Vec<f32>> {
        estimates(&self.model, part, &self.data, &Device::flex())
    }

    /// Errors on left-out design spaces, read from a table; empty without a table.
    pub fn left_out(&self, path: Option<&Path>) -> Result<Vec<GraphErrors>> {
        path.map_or(Ok(Vec::new()), |path| {
            left_out::read(path, &self.data.outputs)
        })
    }

    /// Intervals that follow from the validation graphs and from left-out design spaces, with their coverage of the
    /// held-out graphs.
    pub fn intervals(
        &self,
        test: &[Vec<f32>],
        left_out: &[GraphErrors],
    ) -> (Landmarks, Vec<Interval>) {
        let data = &self.data;
        let landmarks = intervals::landmarks(&data.training);
        let errors = |part, estimates: &[Vec<f32>]| {
            GraphErrors::from_part(&landmarks, part, estimates, &data.spaces)
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
