//! `litecast-networks bench`: milliseconds of one training step.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Device;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::gnn::adam::Adam;
use crate::gnn::batch::Batch;
use crate::gnn::loss::Objective;
use crate::gnn::network::GraphNetwork;
use crate::gnn::prepare::{Example, Labels, OutputRules, Readout, Scaling};
use crate::gnn::shape::{Architecture, Shape};
use crate::gnn::synthetic;

const N_COLUMNS: usize = 60;
const N_CATEGORIES: usize = 24;
const N_OUTPUTS: usize = 12;
const OBJECTIVE: Objective = Objective {
    alpha: Some(1.0),
    operator_weight: 1.0,
};

/// Times training steps on random graphs.
#[derive(clap::Args)]
pub struct BenchArgs {
    #[arg(long, value_enum, default_value = "perfsage")]
    architecture: Architecture,
    #[arg(long, default_value_t = 256)]
    hidden: usize,
    #[arg(long, default_value_t = 64)]
    graphs: usize,
    #[arg(long, default_value_t = 63)]
    nodes_per_graph: usize,
    #[arg(long, default_value_t = 10)]
    steps: usize,
    /// Interpreter that has `torch`: times the same steps of `perfsage` in PyTorch too, before and after.
    #[arg(long)]
    pytorch: Option<PathBuf>,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: BenchArgs) -> Result<()> {
    let Some(python) = &args.pytorch else {
        steps_ms(&args);
        return Ok(());
    };
    ensure!(
        args.architecture == Architecture::Perfsage,
        "expected the architecture perfsage beside PyTorch, found {}",
        args.architecture.id()
    );
    let before_ms = pytorch_ms(python, &args)?;
    let here_ms = steps_ms(&args);
    let after_ms = pytorch_ms(python, &args)?;
    let ratio = 0.5 * (before_ms + after_ms) / here_ms;
    println!(
        "PyTorch: {before_ms:.1} ms per step before, {after_ms:.1} after: {ratio:.2} times as long"
    );
    Ok(())
}

/// What `python/bench_pytorch.py` measures.
fn pytorch_ms(python: &Path, args: &BenchArgs) -> Result<f64> {
    let mut command = Command::new(python);
    command.args(["-c", PYTORCH]);
    for (name, value) in [
        ("--hidden", args.hidden),
        ("--graphs", args.graphs),
        ("--nodes-per-graph", args.nodes_per_graph),
        ("--steps", args.steps),
    ] {
        command.args([name, &value.to_string()]);
    }
    let output = command
        .output()
        .with_context(|| python.display().to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", python.display());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ms = text
        .split_once(" ms per step")
        .and_then(|(before, _)| before.lines().last());
    let ms = ms.with_context(|| format!("expected `… ms per step`, found {text}"))?;
    Ok(ms.parse()?)
}

const PYTORCH: &str = include_str!("../python/bench_pytorch.py");

/// Milliseconds of a step, printed by part.
fn steps_ms(args: &BenchArgs) -> f64 {
    let device = Device::flex().autodiff();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let examples = random_examples(args.graphs, args.nodes_per_graph, &mut rng);
    let references: Vec<&Example> = examples.0.iter().collect();
    let shape = Shape {
        architecture: args.architecture,
        n_columns: N_COLUMNS,
        n_categories: examples.1.vocabulary.len(),
        n_encoders: examples.1.vocabulary.len(),
        n_outputs: N_OUTPUTS,
        embedding: 16,
        hidden: args.hidden,
        head: 1024,
        blocks: 1,
    };
    device.seed(0);
    let mut model = GraphNetwork::new(&shape, &device);
    println!("{} parameters", model.num_params());
    let mut optimiser = ModuleOptimizer::from(Adam {
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        max_norm: 1.0,
        weight_decay: 0.0,
    });
    let mut parts = [0f64; 4];
    for step in 0..args.steps + 1 {
        let start = Instant::now();
        let batch = Batch::new(&references, N_COLUMNS, &device);
        let built = start.elapsed().as_secs_f64();
        let outputs = model.forward(&batch, &examples.1);
        let loss = OBJECTIVE.loss(outputs, &batch, &examples.1);
        let forward = start.elapsed().as_secs_f64();
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let backward = start.elapsed().as_secs_f64();
        model = optimiser.step(1e-4, model, gradients);
        let end = start.elapsed().as_secs_f64();
        if step > 0 {
            let times = [built, forward - built, backward - forward, end - backward];
            parts.iter_mut().zip(times).for_each(|(sum, t)| *sum += t);
        }
    }
    let mean = |k: usize| parts[k] * 1e3 / args.steps as f64;
    let all_ms = (0..parts.len()).map(mean).sum();
    println!(
        "{all_ms:.1} ms per step: batch {:.1}, forward {:.1}, backward {:.1}, optimiser {:.1}",
        mean(0),
        mean(1),
        mean(2),
        mean(3)
    );
    all_ms
}

fn random_examples(n: usize, n_nodes: usize, rng: &mut impl Rng) -> (Vec<Example>, Scaling) {
    let graphs: Vec<_> = (0..n)
        .map(|_| synthetic::features(n_nodes, N_COLUMNS, N_CATEGORIES, rng))
        .collect();
    let labels: Vec<Labels> = graphs
        .iter()
        .map(|g| synthetic::labels(g, N_COLUMNS, N_OUTPUTS))
        .collect();
    let pairs: Vec<_> = graphs.iter().zip(&labels).collect();
    let readouts = vec![Readout::Sum; N_OUTPUTS];
    let rules = OutputRules {
        readouts,
        ceilings: vec![f32::MAX; N_OUTPUTS],
        planned_columns: (0..N_OUTPUTS).map(|k| (k > 0).then_some(k)).collect(),
    };
    let scaling = Scaling::fit(synthetic::columns(N_COLUMNS), rules, &pairs);
    let examples = pairs.iter().map(|(g, l)| scaling.example(g, l)).collect();
    (examples, scaling)
}
