//! `litecast-networks compare-gpu`: trains graph networks of the literature on the same measured networks and the same
//! folds as the shipped estimate.
//!
//! `features` turns kernels into features, `problem` turns measurements and folds into the data of one training,
//! `methods` lists the networks, `trained` is the stored result of a training, and `table` turns estimates into errors.

mod features;
mod methods;
mod problem;
mod table;
mod trained;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::module::Module;
use litecast_trainer::targets::gpu::accel_nasbench;
use litecast_trainer::targets::gpu::evaluate::Split;
use litecast_trainer::targets::gpu::graphs::{self, Networks};

use self::methods::{METHODS, Method};
use self::problem::{Folds, INFERENCE, Problem, SPLITS};
use self::trained::Trained;
use crate::checkpoint::Checkpoint;
use crate::errors::estimates;
use crate::gnn::network::GraphNetwork;
use crate::train::{device, shape, train};

/// Trains graph networks on measurements of the RTX 3090 and prints their errors beside those of what ships.
#[derive(Clone, Debug, clap::Args)]
pub struct CompareGpuArgs {
    /// Folder of published measurements.
    #[arg(long, default_value = "../shared/data/gpu")]
    pub measured: PathBuf,
    /// Graphs that `export_timm.py` wrote. Give it again for several files.
    #[arg(long, required = true)]
    pub graphs: Vec<PathBuf>,
    /// Folder for trained networks; those found there are not trained again.
    #[arg(long, default_value = "trainer/runs/gpu")]
    pub out: PathBuf,
    /// Folds of each split: so many trainings of each network.
    #[arg(long, default_value_t = 3)]
    pub folds: usize,
    /// Random weights to start from, each with a way of its own to cut the folds.
    #[arg(long, default_value_t = 1)]
    pub seeds: u64,
    /// Cut the folds in this one way for all random weights.
    #[arg(long)]
    pub split_seed: Option<u64>,
    /// Networks to train; all of them where none is named.
    #[arg(long, value_delimiter = ',')]
    pub methods: Vec<String>,
    /// Print the table of the trainings that are there, and train nothing.
    #[arg(long)]
    pub tables_only: bool,
}

/// A training's name and its data.
struct Training<'p> {
    method: &'static Method,
    /// Indices of its outputs in [`problem::OUTPUTS`].
    outputs: &'static [usize],
    folds: &'p Folds,
    fold: usize,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &CompareGpuArgs) -> Result<()> {
    let mut networks = Networks::new();
    for path in &args.graphs {
        networks.extend(graphs::read(path, "timm")?);
    }
    let others = accel_nasbench::on_rtx_3090(&args.measured)?;
    let problem = Problem::new(&args.measured, &networks, &others)?;
    let mut rows = Vec::new();
    for seed in 0..args.seeds {
        for split in SPLITS {
            let folds = args.folds(&problem, split, seed);
            for method in METHODS.iter().filter(|method| args.wants(method)) {
                rows.extend(trained_on_all(args, &problem, method, &folds)?);
            }
        }
    }
    let folds = |split, seed| args.folds(&problem, split, seed);
    table::print(&problem, &rows, args.seeds, folds)
}

impl CompareGpuArgs {
    /// The folds for a seed of the weights.
    fn folds(&self, problem: &Problem, split: Split, seed: u64) -> Folds {
        let split_seed = self.split_seed.unwrap_or(seed);
        Folds {
            seed,
            ..problem.folds(split, self.folds, split_seed)
        }
    }

    fn wants(&self, method: &Method) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|id| id == method.id)
    }
}

/// Results of a method on every fold, either stored or trained now.
fn trained_on_all(
    args: &CompareGpuArgs,
    problem: &Problem,
    method: &'static Method,
    folds: &Folds,
) -> Result<Vec<(&'static Method, Split, u64, Trained)>> {
    let mut rows = Vec::new();
    for fold in 0..folds.n {
        for &outputs in method.trainings {
            // The other laboratory measured inference alone.
            if folds.split == Split::Laboratory && !outputs.contains(&INFERENCE) {
                continue;
            }
            let training = Training {
                method,
                outputs,
                folds,
                fold,
            };
            let folder = args.out.join(training.name());
            if let Some(trained) = training.run(problem, &folder, args.tables_only)? {
                rows.push((method, folds.split, folds.seed, trained));
            }
        }
    }
    Ok(rows)
}

impl Training<'_> {
    fn name(&self) -> String {
        let split = match self.folds.split {
            Split::Models => "random",
            Split::Families => "families",
            Split::Laboratory => "laboratory",
        };
        let outputs: Vec<String> = self.outputs.iter().map(usize::to_string).collect();
        let (method, seed, fold) = (self.method.id, self.folds.seed, self.fold);
        let n_folds = self.folds.n;
        let split_seed = match self.folds.split_seed {
            same if same == seed => String::new(),
            other => format!("-split{other}"),
        };
        format!(
            "{method}-{}-{split}-seed{seed}{split_seed}-fold{fold}of{n_folds}",
            outputs.join("")
        )
    }

    /// The result stored in `folder`. If there is none, the network is trained, unless `stored_only`.
    fn run(&self, problem: &Problem, folder: &Path, stored_only: bool) -> Result<Option<Trained>> {
        let path = folder.join("trained.json");
        if stored_only && !path.exists() {
            return Ok(None);
        }
        let settings = self.method.settings(self.folds.seed);
        let data = problem.data(self.folds, self.fold, self.outputs, self.method);
        let training_sha256 = data.training_sha256();
        if path.exists() {
            let trained: Trained = serde_json::from_str(&fs::read_to_string(&path)?)
                .with_context(|| path.display().to_string())?;
            anyhow::ensure!(
                trained.training_sha256 == training_sha256,
                "{}: expected a training on the graphs and measurements of today, found one on others; remove it",
                folder.display()
            );
            return Ok(Some(trained));
        }
        eprintln!("{}", self.name());
        let device = device(false)?.autodiff();
        let checkpoint = Checkpoint::new(folder)?;
        let progress = train(&data, &settings, &checkpoint, &device)?;
        let model = GraphNetwork::new(&shape(&data, &settings), &device.clone().inner());
        let model = checkpoint.load_best_model(model)?;
        let of_test = estimates(&model, &data.test, &data, &device);
        let mut kept = Vec::new();
        for (id, row) in data.test.graph_ids.iter().zip(of_test) {
            let case: usize = id.parse().context("the ids of graphs are cases")?;
            let rows = self.outputs.iter().zip(row);
            kept.extend(rows.map(|(&output, ms)| (case, output, f64::from(ms))));
        }
        let trained = Trained {
            training_sha256,
            n_graphs: data.training.examples.len(),
            n_columns: features::N_COLUMNS - self.method.hidden_columns().len(),
            n_weights: model.num_params(),
            best_epoch: progress.best_epoch,
            wall_time_s: progress.wall_time_s,
            estimates: kept,
        };
        fs::write(&path, serde_json::to_string(&trained)?)?;
        Ok(Some(trained))
    }
}
