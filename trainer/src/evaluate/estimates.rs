//! `litecast-trainer evaluate-estimates`: compares the compiler's rules, the trained network and the shown estimate
//! with Vela in every configuration of an Ethos-U, and sets the intervals.
//!
//! There are three sources of graphs. One half of the held-out graphs of the dataset sets widths, and errors are
//! measured on the other half. The other two sources are sampled networks and files that `litecast-trainer
//! label-configurations` labelled. Files also set widths; errors on a file are measured with its whole family left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use litecast::targets::ethos_u::configuration::Configuration;
use litecast::targets::ethos_u::errors::{
    ConfigurationErrors, Correction, Errors, MetricErrors, Shown, Width,
};

use super::files::load_bundle;
use crate::json;
use crate::labels::{self, LabelArgs};
use crate::markdown::{Head, table};
use crate::targets::ethos_u::cases::{
    Case, Kind, METRICS, configurations, defaults, held_out_cases, labelled_cases, vela_target,
};
use crate::targets::ethos_u::widths::{Deviation, fit};

/// Measures rules, network and what is shown, and sets the intervals.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateEstimatesArgs {
    /// The dataset that the shipped network was trained on.
    #[arg(long, default_value = "trainer/data")]
    pub dataset: PathBuf,
    /// Held-out graphs of each design space at most.
    #[arg(long, default_value_t = 1000)]
    pub count: usize,
    /// Folders of labels of `litecast-trainer label-configurations`.
    #[arg(long)]
    pub labels: Vec<PathBuf>,
    /// Folder of the bundle: `predictor.onnx` and `manifest.json`.
    #[arg(long, default_value = "bundle")]
    pub bundle: PathBuf,
    /// Tables, as Markdown.
    #[arg(long, default_value = "trainer/results/estimates.md")]
    pub out: PathBuf,
    /// Errors and widths that the engine ships.
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
    let predictor = load_bundle(&args.bundle)?;
    let all = configurations()?;
    let mut cases = held_out_cases(&args.dataset, args.count, &all, &predictor)?;
    for folder in &args.labels {
        cases.extend(labelled_cases(folder, &all, &predictor)?);
    }
    let rows: Vec<EstimateRow> = (0..all.len())
        .flat_map(|idx| (0..METRICS.len()).flat_map(move |metric| [(idx, metric)]))
        .flat_map(|(idx, metric)| rows(&cases, &all, idx, metric))
        .collect();
    let text = markdown(&rows, &all);
    println!("{text}");
    fs::write(&args.out, text).with_context(|| args.out.display().to_string())?;
    let of_configuration = |(idx, configuration): (usize, &Configuration)| ConfigurationErrors {
        accelerator: configuration.product.name().into(),
        configuration: configuration.in_words(),
        metrics: (0..METRICS.len())
            .filter_map(|metric| errors_of(&cases, &all, idx, metric, |_| true))
            .collect(),
    };
    let errors = Errors {
        measured_on: format!("ethos-u-vela 5.2.0: {}", in_words(&cases)),
        configurations: all.iter().enumerate().map(of_configuration).collect(),
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
        "labels of {} networks, {} graphs of random operators and {} files set the widths; {} and {} others \
         measure",
        count(Kind::Network, true),
        count(Kind::RandomOperators, true),
        count(Kind::File, true),
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
            || (case.configuration == stands_in && case.origin.kind != Kind::File)
    };
    let calibrating = cases.iter().filter(|case| case.origin.calibrates);
    let calibrating: Vec<&Case> = calibrating
        .filter(is_here)
        .filter(|case| has_error(case, metric) && counts(case))
        .collect();
    let of_rules: Vec<Deviation> = calibrating
        .iter()
        .map(|case| deviation(case, case.rules[metric], 1.0, metric))
        .collect();
    let mut errors = MetricErrors {
        metric: METRICS[metric].id().into(),
        n: 0,
        mean_percent: 0.0,
        median_percent: 0.0,
        p95_percent: 0.0,
        rules: fit(&of_rules)?,
        corrected: None,
    };
    let both: Vec<Both> = (calibrating.iter())
        .filter_map(|case| Both::new(case, metric, &errors.rules))
        .collect();
    errors.corrected = (idx == stands_in).then(|| correction(&both)).flatten();
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
        .map(|case| percent(shown(&errors, case, metric).value, case.label[metric]))
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

/// Errors of one graph by the rules, and by the rules with the network's correction.
struct Both {
    /// Factor of the rules' interval.
    factor: f64,
    rules: Deviation,
    corrected: Deviation,
}

impl Both {
    fn new(case: &Case, metric: usize, width: &Width) -> Option<Self> {
        let network = case.network?[metric];
        let rules = case.rules[metric];
        let factor = width.factor(&case.signals);
        let value = network.clamp(rules / factor, rules * factor);
        Some(Self {
            factor,
            rules: deviation(case, rules, 1.0, metric),
            corrected: deviation(case, value, network / rules, metric),
        })
    }
}

/// The network must reduce the rules' mean error by at least this share in every kind of graphs that it corrects. A
/// smaller reduction is not worth its time, and may not hold for other graphs.
const MIN_SAVED: f64 = 0.1;

/// Share of the largest possible reduction with which a higher threshold is preferred: the network takes several times
/// as long as the rules, so it should run for few graphs.
const ENOUGH_SAVED: f64 = 0.9;

/// Chooses the interval factor of the rules from which the network corrects them. With this threshold the mean error of
/// every kind of graphs becomes smaller, and the sum over kinds nearly as small as with any threshold. `None` if the
/// network does not help.
fn correction(both: &[Both]) -> Option<Correction> {
    let mut factors: Vec<f64> = both.iter().map(|one| one.factor).collect();
    factors.sort_by(f64::total_cmp);
    factors.dedup();
    let saved = |min_factor: f64| {
        let used: Vec<&Both> = both.iter().filter(|one| one.factor >= min_factor).collect();
        Some((saved_error(&used, both)?, min_factor))
    };
    let helpful: Vec<(f64, f64)> = factors.into_iter().filter_map(saved).collect();
    let most = helpful.iter().map(|one| one.0).reduce(f64::max)?;
    let enough = |one: &&(f64, f64)| one.0 >= ENOUGH_SAVED * most;
    let &(_, min_interval_factor) = helpful.iter().rfind(enough)?;
    let used = both.iter().filter(|one| one.factor >= min_interval_factor);
    let corrected: Vec<Deviation> = used.map(|one| one.corrected).collect();
    Some(Correction {
        min_interval_factor,
        width: fit(&corrected)?,
    })
}

/// Reduction of the mean error, summed over kinds of graphs, if the network corrects `used` of `all` graphs; `None` if
/// a kind gains less than [`MIN_SAVED`].
fn saved_error(used: &[&Both], all: &[Both]) -> Option<f64> {
    let mut saved = 0.0;
    for kind in [Kind::Network, Kind::RandomOperators, Kind::File] {
        let of_kind: Vec<&&Both> = used.iter().filter(|one| one.rules.kind == kind).collect();
        let rules: f64 = of_kind.iter().map(|one| one.rules.log_error).sum();
        let corrected: f64 = of_kind.iter().map(|one| one.corrected.log_error).sum();
        if corrected > (1.0 - MIN_SAVED) * rules {
            return None;
        }
        let n = all.iter().filter(|one| one.rules.kind == kind).count();
        saved += (rules - corrected) / n.max(1) as f64;
    }
    (saved > 0.0).then_some(saved)
}

fn deviation(case: &Case, value: f64, correction: f64, metric: usize) -> Deviation {
    Deviation {
        signals: case.signals.corrected_by(correction),
        kind: case.origin.kind,
        log_error: (value / case.label[metric]).ln().abs(),
    }
}

fn shown(errors: &MetricErrors, case: &Case, metric: usize) -> Shown {
    let network = case.network.map(|values| values[metric]);
    errors.show(case.rules[metric], network, &case.signals)
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
    fn new(mut percents: Vec<f64>) -> Self {
        percents.sort_by(f64::total_cmp);
        let n = percents.len();
        if n == 0 {
            return Self::default();
        }
        let quantile = |share: f64| percents[((share * n as f64) as usize).min(n - 1)];
        Self {
            n,
            mean: percents.iter().sum::<f64>() / n as f64,
            median: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
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
    network: Summary,
    shown: Summary,
    inside_percent: f64,
    /// Median over graphs of the interval's half width.
    half_width_percent: f64,
}

/// Measurements of one case.
struct Measured {
    group: String,
    rules: f64,
    network: Option<f64>,
    shown: f64,
    is_inside: bool,
    half_width_percent: f64,
}

impl Measured {
    fn new(group: &str, errors: &MetricErrors, case: &Case, metric: usize) -> Self {
        let label = case.label[metric];
        let shown = shown(errors, case, metric);
        let factor = shown.factor.unwrap_or(1.0);
        // The ends of intervals in bytes are rounded outwards to whole bytes.
        let slack = if metric == 0 { 0.0 } else { 1.0 };
        Self {
            group: group.to_owned(),
            rules: percent(case.rules[metric], label),
            network: case.network.map(|values| percent(values[metric], label)),
            shown: percent(shown.value, label),
            is_inside: shown.value / factor - slack <= label
                && label <= shown.value * factor + slack,
            half_width_percent: 100.0 * (factor - 1.0),
        }
    }
}

const NETWORKS: &str = "held-out networks";
const RANDOM: &str = "held-out random operators";
const LEFT_OUT: &str = "networks, family left out of the widths";
const FILES: &str = "files, family left out of the widths";
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
        Kind::File => true,
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
    let column = |value: fn(&Measured) -> Option<f64>| {
        Summary::new(of_group.iter().filter_map(|m| value(m)).collect())
    };
    let n_inside = of_group.iter().filter(|m| m.is_inside).count();
    EstimateRow {
        configuration: idx,
        metric,
        group: group.to_owned(),
        rules: column(|m| Some(m.rules)),
        network: column(|m| m.network),
        shown: column(|m| Some(m.shown)),
        inside_percent: 100.0 * n_inside as f64 / of_group.len().max(1) as f64,
        half_width_percent: column(|m| Some(m.half_width_percent)).median,
    }
}

fn markdown(rows: &[EstimateRow], all: &[Configuration]) -> String {
    let mut heads = vec![
        Head::text("configuration"),
        Head::text("metric"),
        Head::text("graphs"),
    ];
    heads.extend(
        [
            "n",
            "rules",
            "trained network",
            "shown",
            "inside",
            "half width",
        ]
        .map(Head::number),
    );
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
            row.shown.n.to_string(),
            row.rules.cell(),
            row.network.cell(),
            row.shown.cell(),
            format!("{:.1} %", row.inside_percent),
            format!("{:.2} %", row.half_width_percent),
        ]
    };
    let is_family = |row: &&EstimateRow| row.group.starts_with('·');
    let groups = rows.iter().filter(|row| !is_family(row));
    let families = rows.iter().filter(is_family);
    format!(
        "# Estimates beside Vela, by configuration\n\nRelative errors as mean / median / 90th / 95th percentile, \
         none of them cut off: of the compiler's rules alone, of the trained network alone where it knows the \
         graph, and of what is shown. *Inside*: labels in the shown 90 % interval; *half width*: its median \
         over the graphs. One half of the held-out graphs set the widths, the other half is reported. Where a \
         family is left out, none of its graphs set a width; the network was trained with all design spaces. \
         Graphs that are not estimated, that Vela refuses, or that have a label of 0 are left out.\n\n{}\n\
         ## Held-out networks by design space\n\n{}",
        table(&heads, groups.map(|row| cells(&row))),
        table(&heads, families.map(|row| cells(&row))),
    )
}
