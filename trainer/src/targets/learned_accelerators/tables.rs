//! Errors and refusals as Markdown.

use std::collections::{BTreeMap, BTreeSet};

use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};

use super::evaluate::{LeftOut, errors, tails};
use super::final_families::rule;
use super::measured::{Measured, Measurement, Reason};
use super::physics::{Physics, Way};
use crate::markdown::{Head, heads, table};
use crate::metrics::nearest;

pub fn counts(measured: &Measured) -> String {
    let families: BTreeSet<&str> = measured
        .networks
        .iter()
        .map(|n| n.family.as_str())
        .collect();
    let n_kept = measured.kept().count();
    format!(
        "{n_kept} rows of {} networks in {} families on {} devices; {:.1} % of all rows are refused; {}",
        measured.networks.len(),
        families.len(),
        measured.devices.len(),
        100.0 - 100.0 * n_kept as f64 / measured.rows.len() as f64,
        rule()
    )
}

fn error_heads(first: &'static str) -> Vec<Head<'static>> {
    heads(
        first,
        "rows | median % | mean % | 90th percentile % | off by more than 3 times % | \
         in 90 % interval | interval, median | regression: median, mean %",
    )
}

fn cells(name: &str, left: &[&LeftOut]) -> Vec<String> {
    let [ours, regression] = errors(left);
    let [p90, off] = tails(left);
    let mut widths: Vec<f64> = left.iter().map(|one| one.half_width.exp()).collect();
    widths.sort_by(f64::total_cmp);
    vec![
        name.to_owned(),
        left.len().to_string(),
        format!("{:.1}", ours.median_percent),
        format!("{:.1}", ours.mean_percent),
        format!("{p90:.1}"),
        format!("{off:.1}"),
        format!("{:.1} %", ours.coverage_percent),
        format!(
            "× {:.2}",
            widths.get(widths.len() / 2).copied().unwrap_or(1.0)
        ),
        format!(
            "{:.1}, {:.1}",
            regression.median_percent, regression.mean_percent
        ),
    ]
}

pub fn by_part(left: &[LeftOut]) -> String {
    let part = |is_part: &dyn Fn(&Measurement) -> bool| -> Vec<&LeftOut> {
        left.iter().filter(|one| is_part(one.row)).collect()
    };
    let mut parts = vec![("all", part(&|_| true))];
    for (idx, numbers) in NumberFormat::ALL.iter().enumerate() {
        parts.push((numbers.id(), part(&|row| row.numbers == idx)));
    }
    for (idx, runtime) in Runtime::ALL.iter().enumerate() {
        parts.push((runtime.id(), part(&|row| row.runtime == idx)));
    }
    let parts = parts.iter().filter(|(_, left)| !left.is_empty());
    table(
        &error_heads("part"),
        parts.map(|(name, left)| cells(name, left)),
    )
}

pub fn by_family(left: &[LeftOut]) -> String {
    let families: BTreeSet<&str> = left.iter().map(|one| one.family).collect();
    let rows = families.into_iter().map(|family| {
        let of_family: Vec<&LeftOut> = left.iter().filter(|one| one.family == family).collect();
        cells(family, &of_family)
    });
    table(&error_heads("family"), rows)
}

pub fn by_device(measured: &Measured, left: &[LeftOut]) -> String {
    let devices = measured.devices.iter().enumerate();
    let rows = devices.map(|(idx, device)| cells(device, &device_errors(left, idx)));
    table(&error_heads("device"), rows)
}

pub fn device_errors<'l, 'm>(left: &'l [LeftOut<'m>], device: usize) -> Vec<&'l LeftOut<'m>> {
    left.iter().filter(|one| one.row.device == device).collect()
}

pub fn refusals(measured: &Measured) -> String {
    let physics = Physics::fit(measured, |_| true);
    let mut times: BTreeMap<(Reason, usize), Vec<f64>> = BTreeMap::new();
    for row in &measured.rows {
        if let Some(reason) = row.refused {
            let amounts = measured.amounts(row);
            let costs = physics.costs(Way::from_row(row));
            let ms: f64 = amounts.iter().zip(costs).map(|(a, c)| a * c).sum();
            times
                .entry((reason, row.numbers))
                .or_default()
                .push(row.ms / ms);
        }
    }
    let heads = heads(
        "refused because | numbers",
        "rows | times the fit, median | 10th to 90th percentile",
    );
    let rows = times.into_iter().map(|((reason, numbers), mut times)| {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| nearest(&times, share);
        vec![
            reason.words().to_owned(),
            NumberFormat::ALL[numbers].id().to_owned(),
            times.len().to_string(),
            format!("{:.1}", at(0.5)),
            format!("{:.1} to {:.1}", at(0.1), at(0.9)),
        ]
    });
    table(&heads, rows)
}
