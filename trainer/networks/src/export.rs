//! `litecast-networks export`: a trained run → the shipped bundle.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use litecast::formats::tflite::{self, OpKind};
use litecast::graph::{self, analysis};
use litecast::learned::features::{Features, schema_id};
use litecast::learned::manifest::{FORMAT_VERSION, MadeFrom, Manifest, Output, Training};
use litecast::provenance::Provenance;
use litecast::targets::ethos_u;
use litecast_trainer::dataset::{self, Dataset, LabelKey, METRICS};
use litecast_trainer::evaluate::files::tflite_files;
use litecast_trainer::labels::record::Run;
use litecast_trainer::labels::target::Target;

use crate::errors::errors;
use crate::evaluate::Trained;
use crate::gnn::prepare::Labels;
use crate::onnx;
use crate::training_data::Part;

/// Writes `predictor.onnx`, `manifest.json` and `reference.json`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    /// Folder of the training run.
    #[arg(long)]
    pub run: PathBuf,
    /// The dataset that the run was trained on: the errors in the manifest are measured on it.
    #[arg(long)]
    pub dataset: PathBuf,
    /// Folder of `.tflite` files whose estimates by the trained network are written to
    /// `reference.json`, for whoever runs the bundle elsewhere to compare with.
    #[arg(long, default_value = "www/examples")]
    pub examples: PathBuf,
    /// Folder that the network and its manifest are written to.
    #[arg(long, default_value = "bundle")]
    pub out: PathBuf,
    /// Table of errors on spaces that were left out, as `litecast-networks evaluate` takes it.
    #[arg(long)]
    pub left_out: Option<PathBuf>,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &ExportArgs) -> Result<()> {
    let dataset = dataset::load(&args.dataset)?;
    let trained = Trained::load(&args.run, &dataset)?;
    let file = onnx::export(&trained.model, &trained.data.scaling, &schema_id())?;
    let manifest = manifest(&trained, &dataset, args)?;
    fs::create_dir_all(&args.out)?;
    let path = |name: &str| args.out.join(name);
    fs::write(path("predictor.onnx"), &file)?;
    fs::write(
        path("manifest.json"),
        serde_json::to_string(&manifest)? + "\n",
    )?;
    let reference = reference(&trained, &args.examples)?;
    fs::write(
        path("reference.json"),
        serde_json::to_string_pretty(&reference)? + "\n",
    )?;
    println!("{}: {} bytes of network", args.out.display(), file.len());
    Ok(())
}

/// File name → estimates of the training forward pass, in the order of the manifest's outputs.
fn reference(trained: &Trained, folder: &Path) -> Result<BTreeMap<String, Vec<f32>>> {
    let mut part = Part::default();
    for (name, bytes) in tflite_files(folder)? {
        part.graph_ids.push(name);
        let features = features_of(&bytes)?;
        let unlabelled = Labels::none(features.n_nodes(), trained.data.outputs.len());
        part.examples
            .push(trained.data.scaling.example(&features, &unlabelled));
    }
    let estimates = trained.estimates(&part);
    Ok(part.graph_ids.into_iter().zip(estimates).collect())
}

fn features_of(bytes: &[u8]) -> Result<Features> {
    let model = tflite::parse(bytes)?;
    let graph = graph::build(&model, 0)?;
    Ok(ethos_u::features(&graph, &analysis::analyze(&graph)))
}

fn manifest(trained: &Trained, dataset: &Dataset, args: &ExportArgs) -> Result<Manifest> {
    let data = &trained.data;
    let categories = data.scaling.vocabulary.codes.clone();
    let estimates = trained.estimates(&data.test);
    let left_out = trained.left_out(args.left_out.as_deref())?;
    let (landmarks, intervals) = trained.intervals(&estimates, &left_out);
    let outputs = data.outputs.iter().map(|key| output(key, dataset));
    Ok(Manifest {
        format_version: FORMAT_VERSION,
        feature_schema_id: schema_id(),
        operator_names: categories.iter().map(|&code| operator_name(code)).collect(),
        categories,
        outputs: outputs.collect::<Result<_>>()?,
        training: training(trained, args)?,
        errors: errors(&estimates, &data.test, data),
        feature_ranges: data.feature_ranges.clone(),
        landmarks,
        intervals,
    })
}

/// Name of an operator, for example `CONV_2D`; entry 0 of the vocabulary represents all others.
fn operator_name(code: i32) -> String {
    match OpKind::from_number(code) {
        OpKind::Unknown(_) => "other".to_owned(),
        kind => kind.name().to_owned(),
    }
}

fn output(key: &LabelKey, dataset: &Dataset) -> Result<Output> {
    let runs = &dataset.provenance.runs;
    let with_target = |run: &_| target_of(run, &key.target).is_some();
    let run = runs.iter().find(|run| with_target(run));
    let run =
        run.with_context(|| format!("expected a labelling run of {}, found none", key.target))?;
    let target = target_of(run, &key.target).context("the run was found by its target")?;
    let metric = METRICS.iter().find(|metric| metric.id == key.metric);
    let metric = metric.with_context(|| format!("unknown metric {}", key.metric))?;
    Ok(Output {
        target: key.target.clone(),
        device: target.device(),
        metric: key.metric.clone(),
        unit: metric.unit.to_owned(),
        provenance: Provenance {
            kind: target.provenance_of_learned(),
            tool: run.tool.name.clone(),
            version: run.tool.version.clone(),
            configuration: target.settings(),
            reference: None,
            interval_percent: None,
            scope: None,
        },
    })
}

fn target_of<'r>(run: &'r Run, id: &str) -> Option<&'r Target> {
    run.targets.iter().find(|target| target.id == id)
}

fn training(trained: &Trained, args: &ExportArgs) -> Result<Training> {
    let progress = &trained.progress;
    let mut settings = progress.settings.by_name();
    settings.insert("best_epoch".to_owned(), progress.best_epoch.to_string());
    let command = format!(
        "litecast-networks train --dataset {} --out {}{}",
        args.dataset.display(),
        args.run.display(),
        progress.settings.arguments()
    );
    Ok(Training {
        settings,
        seed: progress.settings.seed,
        n_graphs: trained.data.counts(),
        command,
        wall_time_s: progress.wall_time_s,
        made_from: Some(MadeFrom {
            dataset_sha256: dataset::files_sha256(&args.dataset)?,
            training_sha256: progress.training_sha256.clone(),
            featurizer_sha256: dataset::FEATURIZER_SHA256.to_owned(),
            commit: progress.commit.clone(),
        }),
    })
}
