//! `litecast-trainer evaluate-estimates`: compares the compiler's rules with Vela in every configuration of an Ethos-U,
//! and sets the intervals.
//!
//! There are four sources of graphs. One half of the held-out graphs of the dataset sets widths, and errors are
//! measured on the other half. The other three sources are sampled networks, files, and files of one layer or operator
//! each, that `litecast-trainer label-configurations` labelled. Files also set widths; errors on a file are measured with
//! its whole family left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use litecast::targets::ethos_u::configuration::Configuration;
use litecast::targets::ethos_u::errors::{ConfigurationErrors, Errors, MetricErrors};

use super::files::load_manifest;
use crate::json;
use crate::labels::{self, LabelArgs};
use crate::markdown::{Head, table};
use crate::metrics::percentiles;
use crate::split::Split;
use crate::targets::ethos_u::cases::{
    Case, Kind, METRICS, configurations, defaults, held_out_cases, labelled_cases, vela_target,
};
use crate::targets::ethos_u::interval_widths::{Deviation, fit};

/// Measures the rules and sets the intervals.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateEstimatesArgs {
    /// A dataset with labels of the default configurations.
    #[arg(long, default_value = "trainer/data")]
    pub dataset: PathBuf,
    /// Held-out graphs of each design space at most.
    #[arg(long, default_value_t = 1000)]
    pub count: usize,
    /// Folders of labels of `litecast-trainer label-configurations`.
    #[arg(long)]
    pub labels: Vec<PathBuf>,
    /// Folders of labels of files of one layer or operator each, as `trainer/python/keras_layers.py` and
    /// `single_operators.py` write them.
    #[arg(long)]
    pub layers: Vec<PathBuf>,
    /// Folder of the bundle, whose manifest says which graphs its network was not trained on.
    #[arg(long, default_value = "bundle")]
    pub bundle: PathBuf,
    /// Tables, as Markdown.
    #[arg(long, default_value = "trainer/results/estimates.md")]
    pub out: PathBuf,
    /// Errors and widths that the engine ships. Configurations without labels keep those that are there.
    #[arg(long, default_value = "src/targets/ethos_u/errors.json")]
    pub errors: PathBuf,
}

/// Labels as `litecast-trainer label` does, with Vela in every configuration of its own file.
pub fn label(args: &LabelArgs) -> Result<()> {
    let targets = configurations()?.iter().map(vela_target).collect();
    labels::run_for(args, targets)
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &EvaluateEstimatesArgs) -> Result<()> {
    let split = Split::of_network(&load_manifest(&args.bundle)?)?;
    let all = configurations()?;
    let mut cases = held_out_cases(&args.dataset, args.count, &all, &split)?;
    for folder in &args.labels {
        cases.extend(labelled_cases(folder, Kind::File, &all)?);
    }
    for folder in &args.layers {
        cases.extend(labelled_cases(folder, Kind::Layer, &all)?);
    }
    let rows: Vec<EstimateRow> = (0..all.len())
        .flat_map(|idx| (0..METRICS.len()).flat_map(move |metric| [(idx, metric)]))
        .flat_map(|(idx, metric)| rows(&cases, &all, idx, metric))
        .collect();
    let text = markdown(&rows, &all);
    println!("{text}");
    fs::write(&args.out, text).with_context(|| args.out.display().to_string())?;
    let before: Errors = match fs::read(&args.errors) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Errors::default(),
    };
    let mut n_kept = 0;
    let mut of_configuration = |(idx, configuration): (usize, &Configuration)| {
        let (accelerator, words) = (configuration.product.name(), configuration.in_words());
        let mut known = before.configurations.iter();
        let known = known.find(|one| one.accelerator == accelerator && one.configuration == words);
        let is_measured = cases.iter().any(|case| case.configuration == idx);
        if let Some(known) = known.filter(|_| !is_measured) {
            n_kept += 1;
            return known.clone();
        }
        let metrics =
            (0..METRICS.len()).filter_map(|at| errors_of(&cases, &all, idx, at, |_| true));
        ConfigurationErrors {
            metrics: metrics.collect(),
            accelerator: accelerator.into(),
            configuration: words,
        }
    };
    let configurations = all.iter().enumerate().map(&mut of_configuration).collect();
    let kept = match n_kept {
        0 => String::new(),
        n => format!("; {n} configurations as before: {}", before.measured_on),
    };
    let errors = Errors {
        measured_on: format!("ethos-u-vela 5.2.0: {}{kept}", in_words(&cases)),
        configurations,
    };
    fs::write(&args.errors, json(&errors)?).with_context(|| args.errors.display().to_string())
}

/// `errors.json`, with a line for each configuration.
pub fn json(errors: &Errors) -> Result<String> {
    json::lines(errors, 2)
}

fn in_words(cases: &[Case]) -> String {
    let count = |kind: Kind, calibrates: bool| {
        let is_it = |case: &&Case| case.origin.kind == kind && case.origin.calibrates == calibrates;
        cases.iter().filter(is_it).count()
    };
    format!(
        "labels of {} networks, {} graphs of random operators, {} files and {} files of one layer set the widths; {} and \
         {} others measure",
        count(Kind::Network, true),
        count(Kind::RandomOperators, true),
        count(Kind::File, true),
        count(Kind::Layer, true),
        count(Kind::Network, false),
        count(Kind::RandomOperators, false),
    )
}

/// Index of the default configuration of the same family. Its held-out graphs are used for this configuration as well.
fn default_of_family(all: &[Configuration], idx: usize) -> usize {
    let family = all[idx].product.family();
    let of_family = |default: &Configuration| default.product.family() == family;
    defaults().iter().position(of_family).unwrap_or(idx)
}

/// Whether a case has a relative error: a label of 0 has none.
fn has_error(case: &&Case, metric: usize) -> bool {
    case.label[metric] > 0.0 && case.rules[metric] > 0.0
}

/// Widths from the calibrating cases that `counts` selects, and errors on the other cases.
fn errors_of(
    cases: &[Case],
    all: &[Configuration],
    idx: usize,
    metric: usize,
    counts: impl Fn(&Case) -> bool,
) -> Option<MetricErrors> {
    let stands_in = default_of_family(all, idx);
    let is_here = |case: &&Case| {
        case.configuration == idx
            || (case.configuration == stands_in && !case.origin.kind.is_file())
    };
    let calibrating = cases.iter().filter(|case| case.origin.calibrates);
    let calibrating: Vec<&Case> = calibrating
        .filter(is_here)
        .filter(|case| has_error(case, metric) && counts(case))
        .collect();
    let of_rules: Vec<Deviation> = calibrating
        .iter()
        .map(|case| deviation(case, metric))
        .collect();
    let mut errors = MetricErrors {
        metric: METRICS[metric].id().into(),
        n: 0,
        mean_percent: 0.0,
        median_percent: 0.0,
        p95_percent: 0.0,
        width: fit(&of_rules)?,
    };
    let reports = |case: &&Case| {
        if idx == stands_in {
            case.origin.kind == Kind::Network && !case.origin.calibrates
        } else {
            case.origin.kind == Kind::Network
        }
    };
    let here = cases.iter().filter(|case| case.configuration == idx);
    let reported: Vec<f64> = here
        .filter(reports)
        .filter(|case| has_error(case, metric))
        .map(|case| percent(case.rules[metric], case.label[metric]))
        .collect();
    let summary = Summary::new(reported);
    errors.n = summary.n;
    [
        errors.mean_percent,
        errors.median_percent,
        errors.p95_percent,
    ] = [summary.mean, summary.median, summary.p95].map(rounded);
    Some(errors)
}

fn deviation(case: &Case, metric: usize) -> Deviation {
    Deviation {
        signals: case.signals,
        kind: case.origin.kind,
        log_error: (case.rules[metric] / case.label[metric]).ln().abs(),
    }
}

/// Rounds to four decimals.
fn rounded(percent: f64) -> f64 {
    const STEPS: f64 = 1e4;
    (percent * STEPS).round() / STEPS
}

fn percent(estimate: f64, label: f64) -> f64 {
    100.0 * (estimate / label - 1.0).abs()
}

/// Relative errors in percent, uncapped.
#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    n: usize,
    mean: f64,
    median: f64,
    p90: f64,
    p95: f64,
}

impl Summary {
    fn new(percents: Vec<f64>) -> Self {
        let n = percents.len();
        let [mean, median, p90, p95] = percentiles(percents).unwrap_or_default();
        Self {
            n,
            mean,
            median,
            p90,
            p95,
        }
    }

    fn cell(&self) -> String {
        match self.n {
            0 => "-".into(),
            _ => format!(
                "{:.2} / {:.2} / {:.2} / {:.2} %",
                self.mean, self.median, self.p90, self.p95
            ),
        }
    }
}

/// A group of graphs in one configuration.
struct EstimateRow {
    configuration: usize,
    metric: usize,
    group: String,
    rules: Summary,
    inside_percent: f64,
    /// Median over graphs of the interval's half width.
    half_width_percent: f64,
}

/// Measurements of one case.
struct Measured {
    group: String,
    rules: f64,
    is_inside: bool,
    half_width_percent: f64,
}

impl Measured {
    fn new(group: &str, errors: &MetricErrors, case: &Case, metric: usize) -> Self {
        let label = case.label[metric];
        let value = case.rules[metric];
        let factor = errors.width.factor(&case.signals);
        // The ends of intervals in bytes are rounded outwards to whole bytes.
        let slack = if metric == 0 { 0.0 } else { 1.0 };
        Self {
            group: group.to_owned(),
            rules: percent(value, label),
            is_inside: value / factor - slack <= label && label <= value * factor + slack,
            half_width_percent: 100.0 * (factor - 1.0),
        }
    }
}

const NETWORKS: &str = "held-out networks";
const RANDOM: &str = "held-out random operators";
const LEFT_OUT: &str = "networks, family left out of the widths";
const FILES: &str = "files, family left out of the widths";
const LAYERS: &str = "layers, family left out of the widths";
const SAMPLED: &str = "sampled networks";

fn rows(cases: &[Case], all: &[Configuration], idx: usize, metric: usize) -> Vec<EstimateRow> {
    let mut measured = Vec::new();
    let here: Vec<&Case> = cases
        .iter()
        .filter(|case| case.configuration == idx && has_error(case, metric))
        .collect();
    let reported = || here.iter().filter(|case| !case.origin.calibrates);
    if let Some(errors) = errors_of(cases, all, idx, metric, |_| true) {
        for case in reported() {
            let group = match case.origin.kind {
                Kind::RandomOperators => RANDOM,
                _ => NETWORKS,
            };
            measured.push(Measured::new(group, &errors, case, metric));
            if case.origin.kind == Kind::Network {
                let family = format!("· {}", case.origin.family);
                measured.push(Measured::new(&family, &errors, case, metric));
            }
        }
    }
    let is_default = default_of_family(all, idx) == idx;
    let is_left_out = |case: &&&Case| match case.origin.kind {
        Kind::File | Kind::Layer => true,
        Kind::Network => !is_default || !case.origin.calibrates,
        Kind::RandomOperators => false,
    };
    let left_out: Vec<&&Case> = here.iter().filter(is_left_out).collect();
    let families: BTreeSet<&str> = left_out.iter().map(|c| c.origin.family.as_str()).collect();
    for family in families {
        let Some(errors) = errors_of(cases, all, idx, metric, |c| c.origin.family != family) else {
            continue;
        };
        for case in left_out.iter().filter(|case| case.origin.family == family) {
            let group = match case.origin.kind {
                Kind::File => FILES,
                Kind::Layer => LAYERS,
                _ if is_default => LEFT_OUT,
                _ => SAMPLED,
            };
            measured.push(Measured::new(group, &errors, case, metric));
        }
    }
    let groups: BTreeSet<&str> = measured.iter().map(|m| m.group.as_str()).collect();
    let row = |group| group_row(group, &measured, idx, metric);
    groups.into_iter().map(row).collect()
}

/// The cases of one group in numbers.
fn group_row(group: &str, measured: &[Measured], idx: usize, metric: usize) -> EstimateRow {
    let of_group: Vec<&Measured> = measured.iter().filter(|m| m.group == group).collect();
    let column =
        |value: fn(&Measured) -> f64| Summary::new(of_group.iter().map(|m| value(m)).collect());
    let n_inside = of_group.iter().filter(|m| m.is_inside).count();
    EstimateRow {
        configuration: idx,
        metric,
        group: group.to_owned(),
        rules: column(|m| m.rules),
        inside_percent: 100.0 * n_inside as f64 / of_group.len().max(1) as f64,
        half_width_percent: column(|m| m.half_width_percent).median,
    }
}

fn markdown(rows: &[EstimateRow], all: &[Configuration]) -> String {
    let mut heads = vec![
        Head::text("configuration"),
        Head::text("metric"),
        Head::text("graphs"),
    ];
    heads.extend(["n", "error", "inside", "half width"].map(Head::number));
    let cells = |row: &&EstimateRow| {
        let configuration = &all[row.configuration];
        vec![
            format!(
                "{} {}",
                configuration.product.name(),
                configuration.in_words()
            ),
            METRICS[row.metric].id().to_owned(),
            row.group.clone(),
            row.rules.n.to_string(),
            row.rules.cell(),
            format!("{:.1} %", row.inside_percent),
            format!("{:.2} %", row.half_width_percent),
        ]
    };
    let is_family = |row: &&EstimateRow| row.group.starts_with('·');
    let groups = rows.iter().filter(|row| !is_family(row));
    let families = rows.iter().filter(is_family);
    format!(
        "# Estimates beside Vela, by configuration\n\nRelative errors as mean / median / 90th / 95th percentile, \
         none of them cut off. *Inside*: labels in the 90 % interval; *half width*: its median over the graphs. One half of the held-out graphs set the widths, the other half is reported. Where a \
         family is left out, none of its graphs set a width. \
         Graphs that are not estimated, that Vela refuses, or that have a label of 0 are left out.\n\n{}\n\
         ## Held-out networks by design space\n\n{}",
        table(&heads, groups.map(|row| cells(&row))),
        table(&heads, families.map(|row| cells(&row))),
    )
}
