//! `litecast-trainer evaluate`: errors of a trained network on graphs it never saw.

mod plot;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use litecast::features::N_COLUMNS;
use litecast::manifest::{ALL, OutputError};

use crate::checkpoint::{Checkpoint, Progress};
use crate::data::{Data, Part};
use crate::dataset::{self, Dataset};
use crate::gnn::batch::Batch;
use crate::gnn::model::PerfSage;
use crate::gnn::prepare::Example;
use crate::metrics::summarise;
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
    /// Files are called `<name>.md`, `<name>.csv` and `<name>.svg`.
    #[arg(long, default_value = "perfsage")]
    pub name: String,
}

pub fn run(args: &EvaluateArgs) -> Result<()> {
    let trained = Trained::load(&args.run, &dataset::load(&args.dataset)?)?;
    let estimates = estimates(
        &trained.model,
        &trained.data.test,
        &trained.data,
        &Device::flex(),
    );
    let errors = errors(&estimates, &trained.data.test, &trained.data);
    let text = table::markdown(&errors, &trained.data.spaces);
    println!("{text}");
    fs::create_dir_all(&args.out)?;
    let file = |extension: &str| args.out.join(format!("{}.{extension}", args.name));
    fs::write(file("md"), heading(&trained) + &text)?;
    fs::write(file("csv"), table::csv(&errors))?;
    plot::write(&estimates, &trained.data, &file("svg"))
}

fn heading(trained: &Trained) -> String {
    let counts = trained.data.counts();
    let sum =
        |of: fn(&litecast::manifest::SpaceCount) -> usize| counts.iter().map(of).sum::<usize>();
    format!(
        "# Errors on held-out graphs\n\nTrained on {} graphs, stopped by {}, measured on {}; best \
         epoch {} of {}; weights in half precision, as shipped.\n\n",
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
    pub model: PerfSage,
}

impl Trained {
    pub fn load(folder: &Path, dataset: &Dataset) -> Result<Self> {
        let checkpoint = Checkpoint::new(folder)?;
        let progress = checkpoint.load_progress()?;
        let progress = progress
            .with_context(|| format!("{}: expected a run, found none", folder.display()))?;
        let data = Data::new(dataset, &progress.settings)?;
        let shape = train::shape(&data, &progress.settings);
        let model = checkpoint.load_best_model(PerfSage::new(&shape, &Device::flex()))?;
        Ok(Self {
            progress,
            data,
            model: model.rounded_to_f16(),
        })
    }
}

/// Natural units, by graph, then by output.
pub fn estimates(model: &PerfSage, part: &Part, data: &Data, device: &Device) -> Vec<Vec<f32>> {
    let device = device.clone().inner();
    let n_outputs = data.outputs.len();
    let mut estimates = Vec::with_capacity(part.examples.len());
    for examples in part.examples.chunks(BATCH) {
        let examples: Vec<&Example> = examples.iter().collect();
        let outputs = model.forward(&Batch::new(&examples, N_COLUMNS, &device));
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

/// Mean absolute percentage error of each output: mean over the design spaces, so that small
/// spaces count as much as large ones.
pub fn mape_by_output(model: &PerfSage, part: &Part, data: &Data, device: &Device) -> Vec<f64> {
    let errors = errors(&estimates(model, part, data, device), part, data);
    let of_output = |key: &dataset::LabelKey| {
        let here = errors
            .iter()
            .filter(|e| e.target == key.target && e.metric == key.metric);
        let spaces: Vec<f64> = here
            .filter(|e| e.space != ALL && e.error.n > 0)
            .map(|e| e.error.mape)
            .collect();
        spaces.iter().sum::<f64>() / spaces.len().max(1) as f64
    };
    data.outputs.iter().map(of_output).collect()
}

/// Errors by output and space, and of each output over all spaces.
pub fn errors(estimates: &[Vec<f32>], part: &Part, data: &Data) -> Vec<OutputError> {
    let mut errors = Vec::new();
    for (output, key) in data.outputs.iter().enumerate() {
        let spaces = data.spaces.iter().map(String::as_str).enumerate();
        let all = spaces
            .map(|(idx, name)| (Some(idx), name))
            .chain([(None, ALL)]);
        for (space, name) in all {
            let graphs =
                (0..estimates.len()).filter(|&g| space.is_none_or(|s| part.space_of[g] == s));
            let pairs = graphs.map(|g| (estimates[g][output], part.examples[g].labels[output]));
            let (estimates, labels): (Vec<f32>, Vec<f32>) = pairs.unzip();
            errors.push(OutputError {
                target: key.target.clone(),
                metric: key.metric.clone(),
                space: name.to_owned(),
                error: summarise(&estimates, &labels),
            });
        }
    }
    errors
}
