//! Errors on families of networks that were left out.

use std::collections::BTreeMap;

use litecast::target::fitted::Errors;
use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};
use litecast::targets::learned_accelerators::estimate::{time_by_term, unfamiliar_share};
use litecast::targets::learned_accelerators::work::{Amounts, N_TERMS};
use rayon::prelude::*;

use super::measured::{Measured, Measurement};
use super::physics::{Physics, Way};
use crate::least_squares::weighted_least_squares;
use crate::metrics::errors_of_families;
use crate::targets::gpu::half_width;

pub const N_FOLDS: usize = 6;
/// Within the families that are not left out, for the widths of intervals.
const N_INNER_FOLDS: usize = 3;

/// A row that nothing was fitted to, and its estimates.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut<'m> {
    pub row: &'m Measurement,
    pub family: &'m str,
    pub ms: f64,
    pub regression_ms: f64,
    pub unfamiliar: f64,
    /// Half width of the interval, in logarithms.
    pub half_width: f64,
}

/// Half widths by numbers.
pub type Widths = [[f64; 2]; NumberFormat::ALL.len()];

/// Every row of the families that `is_part` tells, left out with its family's fold.
pub fn left_out<'m>(
    measured: &'m Measured,
    n_folds: usize,
    is_part: impl Fn(&str) -> bool + Sync,
) -> Vec<LeftOut<'m>> {
    let folds = measured.folds(n_folds, &is_part);
    let of_fold = |fold: usize| {
        let fold_of = |row: &Measurement| folds.get(measured.family(row)).copied();
        let is_fitted = |row: &Measurement| fold_of(row).is_some_and(|of_row| of_row != fold);
        estimated(measured, is_fitted, |row| fold_of(row) == Some(fold))
    };
    (0..n_folds)
        .into_par_iter()
        .flat_map_iter(of_fold)
        .collect()
}

/// Every row with the width that was found without its family.
pub fn nested_left_out(measured: &Measured) -> Vec<LeftOut<'_>> {
    let folds = measured.folds(N_FOLDS, |_| true);
    let of_fold = |fold: usize| {
        let is_fitted = |family: &str| folds.get(family).is_some_and(|own_fold| *own_fold != fold);
        let widths = widths(&left_out(measured, N_INNER_FOLDS, is_fitted));
        let estimated = estimated(
            measured,
            |row| is_fitted(measured.family(row)),
            |row| !is_fitted(measured.family(row)),
        );
        with_widths(estimated, &widths)
    };
    (0..N_FOLDS)
        .into_par_iter()
        .flat_map_iter(of_fold)
        .collect()
}

pub fn with_widths<'m>(left: Vec<LeftOut<'m>>, widths: &Widths) -> Vec<LeftOut<'m>> {
    let with_width = |one: LeftOut<'m>| {
        let [fixed, slope] = widths[one.row.numbers];
        LeftOut {
            half_width: fixed + slope * one.unfamiliar,
            ..one
        }
    };
    left.into_iter().map(with_width).collect()
}

/// The rows that `is_asked` tells, by fits to those that `is_fitted` tells.
pub fn estimated<'m>(
    measured: &'m Measured,
    is_fitted: impl Fn(&Measurement) -> bool,
    is_asked: impl Fn(&Measurement) -> bool,
) -> Vec<LeftOut<'m>> {
    let physics = Physics::fit(measured, &is_fitted);
    let regression = Regression::fit(measured, &is_fitted);
    let mut shares: BTreeMap<Way, [f64; N_TERMS]> = BTreeMap::new();
    for row in measured.kept().filter(|row| is_fitted(row)) {
        let way = Way::from_row(row);
        let costs = physics.costs(way);
        let largest = shares.entry(way).or_insert([0.0; N_TERMS]);
        widen(largest, measured.amounts(row), &costs);
    }
    let asked = measured.kept().filter(|row| is_asked(row));
    let estimate = |row: &'m Measurement| {
        let way = Way::from_row(row);
        let costs = physics.costs(way);
        let amounts = measured.amounts(row);
        let largest = shares.get(&way).copied().unwrap_or([0.0; N_TERMS]);
        LeftOut {
            row,
            family: measured.family(row),
            ms: amounts.iter().zip(costs).map(|(a, c)| a * c).sum(),
            regression_ms: regression.ms(measured, row),
            unfamiliar: unfamiliar_share(amounts, &costs, &largest),
            half_width: 0.0,
        }
    };
    asked.map(estimate).collect()
}

/// Raises each share to that of a network, where it is larger.
pub fn widen(largest: &mut [f64; N_TERMS], amounts: &Amounts, costs: &[f64]) {
    let parts = time_by_term(amounts, costs);
    let total: f64 = parts.iter().sum();
    for (largest, part) in largest.iter_mut().zip(parts) {
        *largest = largest.max(part / total);
    }
}

/// The widths for errors like these, by numbers.
pub fn widths(left: &[LeftOut]) -> Widths {
    let mut runtimes = left.iter().map(|one| Runtime::ALL[one.row.runtime]);
    let is_of_hexagon = runtimes.all(Runtime::is_of_hexagon);
    std::array::from_fn(|numbers| {
        let mut by_family = ErrorsByFamily::new();
        for one in left.iter().filter(|one| one.row.numbers == numbers) {
            let of_family = by_family.entry(one.family).or_default();
            of_family.push((one.log_error(), one.unfamiliar));
        }
        let width = if is_of_hexagon {
            width_of_families(&by_family)
        } else {
            widest_without_one(&by_family)
        };
        width.unwrap_or([f64::MAX, 0.0])
    })
}

/// log(measured time / estimate) and [`unfamiliar_share`] of rows, by family.
pub type ErrorsByFamily<'f> = BTreeMap<&'f str, Vec<(f64, f64)>>;

/// Larger errors tell nothing more of how errors grow.
const MAX_ERROR: f64 = 0.5;

/// The width that is to hold nine in ten errors of a family that is not among these; `None` if there are none.
///
/// Families count equally, since a network is as likely of any. The size of an error is taken to be exponentially distributed,
/// with a mean that grows with the unfamiliar share: nine in ten are at most ln 10 times the mean. A mean over n families is
/// itself uncertain, by an nth.
pub fn width_of_families(by_family: &ErrorsByFamily) -> Option<[f64; 2]> {
    let mut errors: Vec<(f64, f64, f64)> = Vec::new();
    for of_family in by_family.values() {
        let weight = 1.0 / of_family.len() as f64;
        let sizes = of_family.iter();
        errors.extend(sizes.map(|(error, unfamiliar)| (error.abs(), *unfamiliar, weight)));
    }
    errors.sort_by(|a, b| a.1.total_cmp(&b.1));
    let n_families = by_family.len() as f64;
    let mut sum = 0.0;
    let is_near = |(_, _, weight): &&(f64, f64, f64)| {
        sum += weight;
        sum <= n_families / 2.0
    };
    let n_near = errors.iter().take_while(is_near).count();
    // A line through the mean errors of the nearer and the farther half.
    let (near, far) = errors.split_at_checked(n_near.max(1))?;
    let [near, far] = [near, far].map(|half| {
        let total: f64 = half.iter().map(|one| one.2).sum();
        let mean = |value: fn(&(f64, f64, f64)) -> f64| {
            half.iter().map(|one| one.2 * value(one)).sum::<f64>() / total.max(1e-9)
        };
        [mean(|one| one.1), mean(|one| one.0.min(MAX_ERROR))]
    });
    let slope = ((far[1] - near[1]) / (far[0] - near[0]).max(1e-6)).max(0.0);
    let fixed = (near[1] - slope * near[0]).max(0.01);
    let scaled = errors.iter();
    let scaled =
        scaled.map(|(error, unfamiliar, weight)| weight * error / (fixed + slope * unfamiliar));
    let mean = scaled.sum::<f64>() / n_families;
    let width = std::f64::consts::LN_10 * mean * (1.0 + 1.0 / n_families);
    Some([width * fixed, width * slope])
}

/// Of boards, the width that holds nine in ten errors, whichever family were unknown.
fn widest_without_one(by_family: &ErrorsByFamily) -> Option<[f64; 2]> {
    let without = |family: &&str| {
        let others = by_family.iter().filter(|(other, _)| *other != family);
        let errors: Vec<(f64, f64)> = others.flat_map(|(_, errors)| thinned(errors)).collect();
        (!errors.is_empty()).then(|| half_width(&errors))
    };
    let widths = by_family.keys().filter_map(without);
    widths.max_by(|a, b| a[0].total_cmp(&b[0]))
}

/// Rows of one family that widths of boards are from. Nearly all that was measured there is YOLO, at many sizes; a user's
/// network is as likely of another family.
const MAX_OF_FAMILY: usize = 10;

/// That many errors, of all sizes.
fn thinned(errors: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut errors = errors.to_vec();
    errors.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let n_kept = errors.len().min(MAX_OF_FAMILY);
    let at = |idx: usize| errors[(2 * idx + 1) * errors.len() / (2 * n_kept)];
    (0..n_kept).map(at).collect()
}

impl LeftOut<'_> {
    /// log(measured time / estimate).
    pub fn log_error(&self) -> f64 {
        (self.row.ms / self.ms).ln()
    }

    fn percent(&self) -> f64 {
        100.0 * (self.ms / self.row.ms - 1.0).abs()
    }

    fn regression_percent(&self) -> f64 {
        100.0 * (self.regression_ms / self.row.ms - 1.0).abs()
    }
}

/// Of the estimates and of the regression.
pub fn errors(left: &[&LeftOut]) -> [Errors; 2] {
    let inside = left
        .iter()
        .filter(|one| one.log_error().abs() <= one.half_width);
    let coverage_percent = 100.0 * inside.count() as f64 / left.len().max(1) as f64;
    let summary = |percent: &dyn Fn(&LeftOut) -> f64| {
        let mut by_family: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for one in left {
            by_family.entry(one.family).or_default().push(percent(one));
        }
        Errors {
            coverage_percent,
            ..errors_of_families(by_family)
        }
    };
    [
        summary(&|one| one.percent()),
        summary(&|one| one.regression_percent()),
    ]
}

/// The error that nine in ten rows do not exceed, and the share of rows that are off by more than three times.
pub fn tails(left: &[&LeftOut]) -> [f64; 2] {
    let mut percents: Vec<f64> = left.iter().map(|one| one.percent()).collect();
    percents.sort_by(f64::total_cmp);
    let place = (0.9 * percents.len().saturating_sub(1) as f64).round() as usize;
    let n_off = left
        .iter()
        .filter(|one| one.log_error().abs() > 3.0_f64.ln());
    [
        percents.get(place).copied().unwrap_or(0.0),
        100.0 * n_off.count() as f64 / left.len().max(1) as f64,
    ]
}

/// Logarithms of three sums for each runtime and numbers, and a factor for each device.
struct Regression {
    costs: Vec<[f64; 4]>,
    of_device: Vec<f64>,
}

fn way(row: &Measurement) -> usize {
    row.runtime * NumberFormat::ALL.len() + row.numbers
}

fn logarithms(measured: &Measured, row: &Measurement) -> [f64; 4] {
    let [macs, values, weights] = measured.networks[row.network].sizes;
    [
        1.0,
        (macs + 1.0).ln(),
        (values + 0.01).ln(),
        (weights + 0.01).ln(),
    ]
}

impl Regression {
    fn fit(measured: &Measured, is_fitted: impl Fn(&Measurement) -> bool) -> Self {
        let rows: Vec<&Measurement> = measured.kept().filter(|row| is_fitted(row)).collect();
        let mut regression = Self {
            costs: vec![[0.0; 4]; Runtime::ALL.len() * NumberFormat::ALL.len()],
            of_device: vec![0.0; measured.devices.len()],
        };
        for _ in 0..5 {
            for (idx, costs) in regression.costs.iter_mut().enumerate() {
                let of_way = rows.iter().filter(|row| way(row) == idx);
                *costs = weighted_least_squares(of_way.map(|row| {
                    let log_ms = row.ms.ln() - regression.of_device[row.device];
                    (logarithms(measured, row), log_ms, row.weight)
                }));
            }
            let mut sums = vec![[0.0, 1e-9]; measured.devices.len()];
            for row in &rows {
                let rest = row.ms.ln() - regression.log_ms(measured, row);
                sums[row.device][0] += row.weight * rest;
                sums[row.device][1] += row.weight;
            }
            for (factor, [sum, weight]) in regression.of_device.iter_mut().zip(sums) {
                *factor += sum / weight;
            }
        }
        regression
    }

    fn log_ms(&self, measured: &Measured, row: &Measurement) -> f64 {
        let logarithms = logarithms(measured, row);
        let terms = logarithms.iter().zip(&self.costs[way(row)]);
        self.of_device[row.device] + terms.map(|(x, c)| x * c).sum::<f64>()
    }

    fn ms(&self, measured: &Measured, row: &Measurement) -> f64 {
        self.log_ms(measured, row).exp()
    }
}
