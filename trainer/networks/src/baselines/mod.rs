//! `litecast-networks baselines`: predictors without a neural network. They are fitted to the training graphs of the
//! shipped network and measured on its test graphs.
//!
//! [`problem`] contains the graphs, [`floors`] a roofline and a linear model, [`kernels`] the rules of fusion,
//! `forests` nn-Meter's forests, and `report` the tables.

pub mod floors;
pub mod forests;
pub mod kernels;
pub mod method;
pub mod problem;
mod report;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use litecast::learned::manifest::{ALL, Manifest, OutputError};
use litecast::targets::cortex_a::{self, Costs};
use litecast_trainer::dataset::{self, Dataset};
use litecast_trainer::targets::cortex_a::CountedNetworks;

pub use self::method::{LeftOut, Measured, Method};
use self::problem::Problem;
use crate::error_table::{self, Fitted};
use crate::errors::errors;
use crate::settings::{Settings, network_settings};
use crate::training_data::Data;

/// Fits the baselines and writes their errors beside those of the shipped network.
#[derive(Clone, Debug, clap::Args)]
pub struct BaselinesArgs {
    /// The dataset that the network was trained on.
    #[arg(long)]
    pub dataset: PathBuf,
    /// What the exporter wrote of the network: its split is taken, and its errors are the last row.
    #[arg(long, default_value = "bundle/manifest.json")]
    pub manifest: PathBuf,
    /// Targets to fit and measure on in place of the network's: processors, for which none ships. The split
    /// stays that of the manifest.
    #[arg(long, value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Folder for `<name>.md` and `<name>.csv`.
    #[arg(long, default_value = "trainer/results")]
    pub out: PathBuf,
    /// Name of the run, which is a folder of `runs/`.
    #[arg(long, default_value = "baselines")]
    pub name: String,
    /// Trees of each forest.
    #[arg(long, default_value_t = 20)]
    pub trees: usize,
    /// Fit again without each design space in turn, and measure on it.
    #[arg(long)]
    pub leave_one_out: bool,
    /// Trees of each forest when spaces are left out, which takes a fit for each space.
    #[arg(long, default_value_t = 5)]
    pub leave_one_out_trees: usize,
    /// Spaces to leave out; all where none is named.
    #[arg(long, value_delimiter = ',', requires = "leave_one_out")]
    pub families: Vec<String>,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &BaselinesArgs) -> Result<()> {
    let manifest = read_manifest(&args.manifest)?;
    let settings = Settings {
        targets: args.targets.clone(),
        ..network_settings(&manifest)?
    };
    let dataset = dataset::load(&args.dataset)?;
    let data = Data::new(&dataset, &settings)?;
    let network = if args.targets.is_empty() {
        network_errors(&manifest, &data)?
    } else {
        Vec::new()
    };
    let counted = data
        .outputs
        .iter()
        .any(|key| cortex_a::is_modelled(&key.target));
    let counted = counted.then(|| CountedNetworks::read(&args.dataset));
    let counted = counted.transpose()?;
    let mut problem = Problem::new(&dataset, &data)?;
    if let Some(counted) = &counted {
        problem.sums = counted.sums(Costs::shipped());
    }
    let measured = measure(&problem, &data, args.trees, settings.seed)?;
    let mut text = report::heading(&data, &measured, &network, args.trees)
        + &report::overview(&measured, &network, &data)
        + &report::fitted_parameters_table(&measured);
    if args.leave_one_out {
        let trees = args.leave_one_out_trees;
        let families = if args.families.is_empty() {
            &data.spaces
        } else {
            &args.families
        };
        let spaces = leave_one_out(&dataset, families, &settings, trees, counted.as_ref())?;
        text += &report::left_out(&spaces, &data, args.leave_one_out_trees);
    }
    text += &report::details(&measured, &network);
    println!("{text}");
    fs::create_dir_all(&args.out)?;
    let file = |extension: &str| args.out.join(format!("{}.{extension}", args.name));
    fs::write(file("md"), text)?;
    let n_trained = data.training.examples.len();
    let rows = measured.iter().flat_map(|m| {
        let fitted = Fitted {
            n_trained,
            n_features: Some(m.n_features),
            epochs: None,
        };
        let errors = m.errors.iter();
        errors.map(move |error| (m.method.id(), error, fitted))
    });
    error_table::write_csv(&file("csv"), rows)
}

fn read_manifest(path: &Path) -> Result<Manifest> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    serde_json::from_reader(BufReader::new(file)).with_context(|| path.display().to_string())
}

/// The errors that the manifest states for the outputs of `data`. Refuses a manifest whose network was measured on
/// other graphs.
pub fn network_errors(manifest: &Manifest, data: &Data) -> Result<Vec<OutputError>> {
    let counts = data.counts();
    let expected = &manifest.training.n_graphs;
    ensure!(
        counts == *expected,
        "expected the graphs that the network was trained and measured on, {expected:?}, found {counts:?}"
    );
    Ok(manifest.errors.clone())
}

/// Measures each method on the split of `data`.
pub fn measure(problem: &Problem, data: &Data, n_trees: usize, seed: u64) -> Result<Vec<Measured>> {
    let measure = |method: Method| {
        let mut measured = Measured {
            method,
            errors: Vec::new(),
            fitted: Vec::new(),
            n_features: 0,
        };
        let start = Instant::now();
        for (output, key) in data.outputs.iter().enumerate() {
            let estimates = method.estimates(problem, data, output, n_trees, seed)?;
            let Some(estimates) = estimates else {
                continue;
            };
            let name = format!("{} {}", key.target, key.metric);
            let errors = errors_of(&estimates.values, data, output);
            measured.errors.extend(errors);
            measured.fitted.push((name, estimates.fitted));
            measured.n_features = measured.n_features.max(estimates.n_features);
        }
        eprintln!("{}: {:.0} s", method.name(), start.elapsed().as_secs_f64());
        Ok(measured)
    };
    Method::ALL.into_iter().map(measure).collect()
}

/// Errors of one output, in the form of [`errors`].
fn errors_of(estimates: &[f32], data: &Data, output: usize) -> Vec<OutputError> {
    let n_outputs = data.outputs.len();
    let rows: Vec<Vec<f32>> = estimates.iter().map(|&e| vec![e; n_outputs]).collect();
    let key = &data.outputs[output];
    let is_it = |e: &OutputError| e.target == key.target && e.metric == key.metric;
    errors(&rows, &data.test, data)
        .into_iter()
        .filter(is_it)
        .collect()
}

/// Fits each method without each of `families` in turn, and measures it on the family.
pub fn leave_one_out(
    dataset: &Dataset,
    families: &[String],
    settings: &Settings,
    n_trees: usize,
    counted: Option<&CountedNetworks>,
) -> Result<Vec<LeftOut>> {
    let mut left_out = Vec::new();
    for space in families {
        let settings = Settings {
            leave_out: vec![space.clone()],
            ..settings.clone()
        };
        let data = Data::new(dataset, &settings)?;
        let mut problem = Problem::new(dataset, &data)?;
        if let Some(counted) = counted {
            problem.sums = counted.sums(&counted.costs_without(space, &settings.split())?);
        }
        eprintln!("without {space}: {} graphs", problem.test.len());
        let mut measured = measure(&problem, &data, n_trees, settings.seed)?;
        let is_all = |e: &OutputError| e.space == ALL;
        measured.iter_mut().for_each(|m| m.errors.retain(is_all));
        left_out.push(LeftOut {
            space: space.clone(),
            measured,
        });
    }
    Ok(left_out)
}
