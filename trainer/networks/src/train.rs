//! `litecast-networks train`: the training loop, top to bottom.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::tensor::Device;
use indicatif::{ProgressBar, ProgressStyle};
use litecast_trainer::dataset;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::checkpoint::{Checkpoint, Progress};
use crate::curve::{self, CurveRow};
use crate::epoch_order::epoch_order;
use crate::errors::capped_mape_by_output;
use crate::gnn::adam::Adam;
use crate::gnn::batch::Batch;
use crate::gnn::gradients::{self, Gradients};
use crate::gnn::network::GraphNetwork;
use crate::gnn::prepare::Example;
use crate::gnn::shape::Shape;
use crate::settings::Settings;
use crate::training_data::Data;

/// Trains a predictor on a labelled dataset.
#[derive(Clone, Debug, clap::Args)]
pub struct TrainArgs {
    /// Folder that `litecast-trainer dataset build` wrote.
    #[arg(long)]
    pub dataset: PathBuf,
    /// Folder for checkpoints and curves; a run found there is resumed.
    #[arg(long)]
    pub out: PathBuf,
    /// Train on the first NVIDIA GPU (needs a build with `--features cuda`).
    #[arg(long)]
    pub cuda: bool,
    /// Settings of the training run.
    #[command(flatten)]
    pub settings: Settings,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &TrainArgs) -> Result<()> {
    let data = Data::new(&dataset::load(&args.dataset)?, &args.settings)?;
    print_counts(&data);
    let checkpoint = Checkpoint::new(&args.out)?;
    let device = device(args.cuda)?.autodiff();
    let progress = train(&data, &args.settings, &checkpoint, &device)?;
    println!(
        "best validation error {:.2} % after epoch {} ({:.0} s in all)",
        progress.best_mape, progress.best_epoch, progress.wall_time_s
    );
    Ok(())
}

/// Trains from the checkpoint's last epoch, or from random weights, and stores the best weights in the checkpoint.
pub fn train(
    data: &Data,
    settings: &Settings,
    checkpoint: &Checkpoint,
    device: &Device,
) -> Result<Progress> {
    device.seed(settings.seed);
    let (mut model, mut optimiser, mut progress) = begin(data, settings, checkpoint, device)?;
    println!("{} parameters", model.num_params());
    let tasks = data.tasks();

    while progress.epoch < settings.epochs && progress.epochs_without_gain() < settings.patience {
        let start = Instant::now();
        let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
        rng.set_stream(progress.epoch as u64 + 1);
        let part = &data.training;
        let n_spaces = data.spaces.len();
        let order = epoch_order(&part.space_of, n_spaces, settings.min_space_share, &mut rng);
        let n_steps = order.len().div_ceil(settings.batch);
        let bar = progress_bar(n_steps, progress.epoch, settings.epochs);
        let objective = settings.objective(progress.epoch);
        let mut loss_sum = 0.0;
        let mut learning_rate = 0.0;
        for (step, graphs) in order.chunks(settings.batch).enumerate() {
            let examples: Vec<&Example> = graphs.iter().map(|&g| &part.examples[g]).collect();
            let rate = settings.category_dropout;
            let batch =
                Batch::with_dropout(&examples, rate, &mut rng, data.scaling.n_columns(), device);
            let demand = match settings.gradients {
                Gradients::Summed => {
                    gradients::gradient_of_loss(&model, &batch, &objective, &data.scaling)
                }
                Gradients::Pcgrad => {
                    gradients::pcgrad(&model, &batch, &objective, &tasks, &mut rng)
                }
            };
            loss_sum += f64::from(demand.loss);
            learning_rate = settings
                .learning_rate_at(progress.epoch * n_steps + step, settings.epochs * n_steps);
            model = optimiser.step(learning_rate, model, demand.gradients);
            bar.set_message(format!("loss {:.4}", loss_sum / (step + 1) as f64));
            bar.inc(1);
        }
        bar.finish_and_clear();
        let errors = capped_mape_by_output(&model.valid(), &data.validation, data, device);
        let row = CurveRow {
            epoch: progress.epoch,
            learning_rate,
            training_loss: loss_sum / n_steps as f64,
            validation_mape: errors.iter().sum::<f64>() / errors.len() as f64,
            output_mape: errors,
            wall_time_s: progress.wall_time_s + start.elapsed().as_secs_f64(),
        };
        print_epoch(&row);
        if progress.advance(row) {
            checkpoint.save_best(&model)?;
        }
        checkpoint.save_last(&model, &optimiser, &progress)?;
        curve::write(&progress.curve, &data.output_names(), checkpoint.folder())?;
    }
    Ok(progress)
}

/// Network, optimiser and progress at the start, or where the checkpoint left off.
fn begin(
    data: &Data,
    settings: &Settings,
    checkpoint: &Checkpoint,
    device: &Device,
) -> Result<(GraphNetwork, ModuleOptimizer, Progress)> {
    let model = GraphNetwork::new(&shape(data, settings), device);
    let optimiser = optimiser(settings);
    let progress = Progress::new(settings, data);
    Ok(match checkpoint.load_last(&progress)? {
        Some(last) => (
            checkpoint.load_last_model(model)?,
            checkpoint.load_optimiser(optimiser)?,
            last,
        ),
        None => {
            let model = match &settings.begin_with {
                Some(folder) => Checkpoint::new(folder)?.load_best_model(model)?,
                None => model,
            };
            (model, optimiser, progress)
        }
    })
}

/// The device of a run: the CPU, or the first GPU.
pub fn device(cuda: bool) -> Result<Device> {
    #[cfg(feature = "cuda")]
    if cuda {
        return Ok(Device::cuda(0usize));
    }
    ensure!(
        !cuda,
        "expected a build with `--features cuda`, found one without"
    );
    Ok(Device::flex())
}

/// Sizes of the network for `data` and `settings`.
pub fn shape(data: &Data, settings: &Settings) -> Shape {
    Shape {
        architecture: settings.architecture,
        n_columns: data.scaling.n_columns(),
        n_categories: data.scaling.vocabulary.len(),
        n_outputs: data.scaling.n_outputs(),
        n_encoders: if settings.shared_encoder {
            1
        } else {
            data.scaling.vocabulary.len()
        },
        embedding: settings.embedding,
        hidden: settings.hidden,
        head: settings.head,
        blocks: settings.blocks,
    }
}

fn optimiser(settings: &Settings) -> ModuleOptimizer {
    let max_norm = settings.max_gradient_norm;
    ModuleOptimizer::from(Adam {
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        max_norm,
        weight_decay: settings.weight_decay,
    })
}

fn progress_bar(n_steps: usize, epoch: usize, n_epochs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {per_sec} {eta} {msg}");
    let bar = ProgressBar::new(n_steps as u64);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(format!("epoch {}/{n_epochs}", epoch + 1));
    bar
}

fn print_epoch(row: &CurveRow) {
    let outputs: Vec<String> = row
        .output_mape
        .iter()
        .map(|mape| format!("{mape:.1}"))
        .collect();
    println!(
        "epoch {:3}  loss {:.4}  validation {:.2} %  ({})  {:.0} s",
        row.epoch + 1,
        row.training_loss,
        row.validation_mape,
        outputs.join(" "),
        row.wall_time_s
    );
}

fn print_counts(data: &Data) {
    println!("{} features of an operator", data.scaling.n_features());
    for count in data.counts() {
        let sides = (count.training, count.validation, count.test);
        println!(
            "{}: {} training, {} validation, {} test",
            count.space, sides.0, sides.1, sides.2
        );
    }
}
