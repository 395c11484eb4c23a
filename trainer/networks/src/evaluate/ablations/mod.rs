//! `litecast-networks ablations`: errors of a network with each of its components removed. PerfSAGE's Tables 4 and 5 and
//! Figures 3 and 4, and the same for components of ours.

mod plot;
mod tenths;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use litecast::learned::manifest::{ALL, NETWORKS, OutputError, PERFSAGE_SPACES};
use litecast_trainer::dataset;
use litecast_trainer::markdown::{Head, percent, table};
use litecast_trainer::spaces::Space;

use self::tenths::{BINNED_SPACE, N_BINS, Tenths, tenths};
use super::{Trained, errors};
use crate::checkpoint::Checkpoint;
use crate::gnn::gradients::Gradients;
use crate::gnn::shape::Architecture;
use crate::settings::Settings;
use crate::train;
use crate::training_data::Data;

/// Trains a network again and again, each time with one thing changed, and measures it.
#[derive(Clone, Debug, clap::Args)]
pub struct AblationsArgs {
    /// Folder that `litecast-trainer dataset build` wrote.
    #[arg(long)]
    pub dataset: PathBuf,
    /// Folder for the runs, one folder each; those found there are resumed.
    #[arg(long, default_value = "trainer/runs/ablations")]
    pub runs: PathBuf,
    /// Folder for `ablations-<architecture>.md` and its picture.
    #[arg(long, default_value = "trainer/results")]
    pub out: PathBuf,
    /// Settings of each training run.
    #[command(flatten)]
    pub settings: Settings,
}

/// One change of the settings.
struct Ablation {
    /// Name of its folder.
    id: &'static str,
    words: &'static str,
    /// Whether the change has an effect on an architecture.
    concerns: fn(Architecture) -> bool,
    change: fn(&mut Settings),
}

const ABLATIONS: [Ablation; 11] = [
    ablation("none", "as it is", any, |_| {}),
    ablation(
        "shared-encoder",
        "one first layer for all kinds of operators (no CFE)",
        any,
        |s| s.shared_encoder = true,
    ),
    ablation("no-upsampling", "no upsampling of small spaces", any, |s| {
        s.min_space_share = 0.0;
    }),
    ablation("alpha-0", "relative error alone (α = 0)", hybrid, |s| {
        s.alpha = 0.0
    }),
    ablation("alpha-1", "hybrid loss, α = 1", hybrid, |s| s.alpha = 1.0),
    ablation("alpha-10", "hybrid loss, α = 10", hybrid, |s| {
        s.alpha = 10.0
    }),
    ablation("hybrid", "hybrid loss in place of logarithms", ours, |s| {
        s.log_loss_epochs = 0;
    }),
    ablation("no-operator-labels", "labels of graphs alone", ours, |s| {
        s.operator_weight = 0.0;
    }),
    ablation("no-plan", "no rules of the compiler", any, |s| {
        s.without_columns.push("plan".into());
    }),
    ablation("no-weights", "no statistics of weights", any, |s| {
        s.without_columns.push("weights".into());
    }),
    ablation("pcgrad", "PCGrad in place of summed gradients", ours, |s| {
        s.gradients = Gradients::Pcgrad
    }),
];

const fn ablation(
    id: &'static str,
    words: &'static str,
    concerns: fn(Architecture) -> bool,
    change: fn(&mut Settings),
) -> Ablation {
    Ablation {
        id,
        words,
        concerns,
        change,
    }
}

fn any(_: Architecture) -> bool {
    true
}

fn ours(architecture: Architecture) -> bool {
    architecture == Architecture::PerOperator
}

/// Whether an architecture is trained with PerfSAGE's loss.
fn hybrid(architecture: Architecture) -> bool {
    !ours(architecture)
}

/// Errors with one change.
struct Measured {
    words: &'static str,
    errors: Vec<OutputError>,
    tenths: Option<Tenths>,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &AblationsArgs) -> Result<()> {
    let dataset = dataset::load(&args.dataset)?;
    let architecture = args.settings.architecture;
    let device = train::device(false)?.autodiff();
    let mut measured = Vec::new();
    for ablation in ABLATIONS.iter().filter(|a| (a.concerns)(architecture)) {
        let mut settings = args.settings.clone();
        (ablation.change)(&mut settings);
        println!("{}:{}", ablation.words, settings.arguments());
        let data = Data::new(&dataset, &settings)?;
        let folder = args.runs.join(architecture.id()).join(ablation.id);
        let checkpoint = Checkpoint::new(&folder)?;
        train::train(&data, &settings, &checkpoint, &device)?;
        let trained = Trained::new(&checkpoint, data)?;
        let estimates = trained.estimates(&trained.data.test);
        measured.push(Measured {
            words: ablation.words,
            errors: errors(&estimates, &trained.data.test, &trained.data),
            tenths: tenths(&estimates, &trained),
        });
    }
    let name = format!("ablations-{}", architecture.id());
    let mut text = markdown(&measured, &args.settings);
    fs::create_dir_all(&args.out)?;
    let lines = measured.iter().map(|one| {
        let tenths = one.tenths.as_ref()?;
        Some((one.words, tenths))
    });
    if let Some(lines) = lines.collect::<Option<Vec<_>>>() {
        let picture = format!("{name}.svg");
        text += &tenths_as_markdown(&lines, &picture);
        plot::write(&lines, &args.out.join(picture))?;
    }
    println!("{text}");
    Ok(fs::write(args.out.join(format!("{name}.md")), text)?)
}

fn markdown(measured: &[Measured], settings: &Settings) -> String {
    let mut text = format!(
        "# What each idea is worth\n\nEach row is a network of its own, trained for {} epochs on the same \
         graphs with one thing changed, and measured on the same held-out graphs: mean absolute percentage \
         error over all targets, errors above 100 % counted as that. Settings:{}.\n",
        settings.epochs,
        settings.arguments(),
    );
    let groups = groups(measured);
    let mut heads = vec![Head::text("changed")];
    heads.extend(groups.iter().map(|group| Head::number(*group)));
    for (metric, title) in [("latency", "Latency"), ("sram_peak", "SRAM peak")] {
        let row = |one: &Measured| {
            let errors = groups.iter().map(|group| mean(&one.errors, metric, group));
            let errors = errors.map(percent);
            [one.words.to_owned()].into_iter().chain(errors).collect()
        };
        text += &format!("\n{title}:\n\n{}", table(&heads, measured.iter().map(row)));
    }
    text
}

/// PerfSAGE's spaces and the groups of spaces for which errors were measured.
fn groups(measured: &[Measured]) -> Vec<&'static str> {
    let spaces = Space::PAPER.iter().map(|space| space.id());
    let all = spaces.chain([PERFSAGE_SPACES, NETWORKS, ALL]);
    let is_there = |group: &&str| {
        let mut errors = measured.iter().flat_map(|one| &one.errors);
        errors.any(|error| error.space == *group)
    };
    all.filter(is_there).collect()
}

/// Mean error over all targets.
fn mean(errors: &[OutputError], metric: &str, group: &str) -> Option<f64> {
    let is_it = |error: &&OutputError| error.metric == metric && error.space == group;
    let of_targets = errors
        .iter()
        .filter(is_it)
        .filter(|error| error.error.n > 0);
    let of_targets: Vec<f64> = of_targets.map(|error| error.error.capped_mape).collect();
    let n = of_targets.len() as f64;
    (!of_targets.is_empty()).then(|| of_targets.iter().sum::<f64>() / n)
}

/// A row for each network, and a link to the picture with the same numbers.
fn tenths_as_markdown(lines: &[(&str, &Tenths)], picture: &str) -> String {
    let target = lines.first().map_or("", |(_, tenths)| &tenths.target);
    let mut heads = vec![Head::text("changed")];
    heads.extend((1..=N_BINS).map(|k| Head::number(k.to_string())));
    let row = |(words, tenths): &(&str, &Tenths)| {
        let errors = tenths.errors.iter().map(|error| percent(Some(*error)));
        [(*words).to_owned()].into_iter().chain(errors).collect()
    };
    format!(
        "\nLatency on {target} by tenths of the graphs of {}, from the fastest to the slowest (PerfSAGE's \
         Figure 3):\n\n![Errors by tenths]({picture})\n\n{}",
        BINNED_SPACE.id(),
        table(&heads, lines.iter().map(row))
    )
}
