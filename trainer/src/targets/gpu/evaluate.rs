//! Fits to measured networks, and their errors on networks that were left out.

use std::collections::{BTreeMap, BTreeSet};

use litecast::targets::gpu::bundle::{Correction, Errors, Mode, Position, position};
use litecast::targets::gpu::costs::Amounts;
use litecast::targets::gpu::estimate::sum_amounts;
use litecast::targets::gpu::kernels::Kernel;
use litecast::targets::gpu::specifications::Gpu;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::graphs::KernelNetwork;
use super::measured::{Measured, family};
use super::{kriging, roofline};
use crate::least_squares::weighted_least_squares;
use crate::metrics::{conformal_quantile, errors_of, mean};

pub(super) const N_FOLDS: usize = 10;
/// The fold of a sample that is never left out.
pub const NEVER_LEFT_OUT: usize = usize::MAX;

/// A measured network with its amounts.
#[derive(Clone, Debug)]
pub struct MeasuredSample {
    /// Name of the network.
    pub model: String,
    /// Its family, see [`family`].
    pub family: String,
    /// Amounts for one input, at the measured batch size.
    pub amounts: Amounts,
    /// Measured time for one input.
    pub time_ms: f64,
    /// Inputs of the regression: multiply-accumulates, activations and parameters.
    pub sizes: [f64; 3],
}

impl MeasuredSample {
    /// A row of a table, which was measured on `gpu`, with the graph of its network.
    pub fn new(row: &Measured, network: &KernelNetwork, gpu: &Gpu, mode: Mode) -> Self {
        let kernels = &network.kernels;
        let sum = |cost_of: fn(&Kernel) -> f64| kernels.iter().map(cost_of).sum();
        Self {
            model: row.model.clone(),
            family: family(&row.model).to_owned(),
            amounts: sum_amounts(kernels, row.batch, gpu, mode),
            time_ms: row.ms_per_input,
            sizes: [sum(|k| k.macs), sum(|k| k.outputs), network.parameters],
        }
    }
}

/// The unit that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// A model with all its image sizes.
    Models,
    /// All networks of a family.
    Families,
    /// All networks that another laboratory measured.
    Laboratory,
}

impl Split {
    /// What a network is left out with.
    pub fn group<'s>(self, model: &'s str, family: &'s str) -> &'s str {
        match self {
            Self::Models | Self::Laboratory => model,
            Self::Families => family,
        }
    }

    /// Its name in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Models => "random by network",
            Self::Families => "families left out",
            Self::Laboratory => "other laboratory",
        }
    }
}

/// By sample, the fold, out of [`N_FOLDS`], that leaves it out.
pub(super) fn folds(samples: &[MeasuredSample], split: Split, seed: u64) -> Vec<usize> {
    let groups = samples
        .iter()
        .map(|sample| split.group(&sample.model, &sample.family));
    folds_of(&groups.collect::<Vec<_>>(), N_FOLDS, seed)
}

/// By item, its fold. `group_of_item` names the group of each item; a group is never divided.
pub fn folds_of(group_of_item: &[&str], n_folds: usize, seed: u64) -> Vec<usize> {
    let groups: BTreeSet<&str> = group_of_item.iter().copied().collect();
    let mut groups: Vec<&str> = groups.into_iter().collect();
    groups.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let fold = |group: &&str| groups.iter().position(|one| one == group).unwrap_or(0) % n_folds;
    group_of_item.iter().map(fold).collect()
}

/// A roofline and its correction.
pub(super) struct Fit {
    pub costs: Amounts,
    pub correction: Correction,
}

/// The estimate of a network, which need not be part of the fit.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// By costs alone.
    pub roofline_ms: f64,
    /// With the correction.
    pub time_ms: f64,
    /// Distance to the nearest network of the fit.
    pub distance: f64,
}

impl Fit {
    pub fn new(samples: &[&MeasuredSample], variances: [f64; 2]) -> Self {
        let amounts: Vec<&Amounts> = samples.iter().map(|sample| &sample.amounts).collect();
        let times: Vec<f64> = samples.iter().map(|sample| sample.time_ms).collect();
        Self::with_costs(roofline::fit(&amounts, &times), samples, variances)
    }

    /// With these costs and the correction of the errors that they make on `samples`.
    pub fn with_costs(costs: Amounts, samples: &[&MeasuredSample], variances: [f64; 2]) -> Self {
        let amounts: Vec<&Amounts> = samples.iter().map(|sample| &sample.amounts).collect();
        let times: Vec<f64> = samples.iter().map(|sample| sample.time_ms).collect();
        let positions: Vec<Position> = amounts.iter().map(|row| position(row, &costs)).collect();
        let residual = |(row, time): (&&Amounts, &f64)| (time / roofline::dot(*row, &costs)).ln();
        let residuals: Vec<f64> = amounts.iter().zip(&times).map(residual).collect();
        Self {
            correction: kriging::fit(&positions, &residuals, variances),
            costs,
        }
    }

    pub fn estimate(&self, amounts: &Amounts) -> Estimate {
        let roofline_ms = roofline::dot(amounts, &self.costs);
        let (correction, distance) = self.correction.at(&position(amounts, &self.costs));
        Estimate {
            roofline_ms,
            time_ms: roofline_ms * correction.exp(),
            distance,
        }
    }
}

/// Networks of a family whose errors correct others, at most: each makes the constants larger.
const MAX_OF_FAMILY: usize = 6;

/// Of each family at most [`MAX_OF_FAMILY`] samples, evenly spaced in the order of their names: variants and sizes of a
/// network follow each other there.
pub(super) fn spread<'s>(samples: &[&'s MeasuredSample]) -> Vec<&'s MeasuredSample> {
    let mut by_family: BTreeMap<&str, Vec<&MeasuredSample>> = BTreeMap::new();
    for sample in samples {
        by_family.entry(&sample.family).or_default().push(sample);
    }
    let few = by_family.into_values().flat_map(|mut family| {
        family.sort_by(|a, b| a.model.cmp(&b.model).then(a.time_ms.total_cmp(&b.time_ms)));
        let n = family.len().min(MAX_OF_FAMILY);
        (0..n).map(move |idx| family[idx * family.len() / n])
    });
    few.collect()
}

/// By sample, the estimate of a fit without its fold, and that of a log-linear regression on multiply-accumulates,
/// activations and parameters.
pub struct LeftOut {
    /// By the fit without it.
    pub estimates: Vec<Estimate>,
    /// By the regression without it.
    pub regression_ms: Vec<f64>,
}

/// `folds` is a result of [`folds`], or has [`NEVER_LEFT_OUT`] for samples that are not estimated.
pub fn left_out(samples: &[MeasuredSample], folds: Vec<usize>, variances: [f64; 2]) -> LeftOut {
    left_out_by(samples, folds, |others, _| Fit::new(others, variances))
}

/// `fit` takes the samples of the other folds and those of the fold that is left out.
pub(super) fn left_out_by(
    samples: &[MeasuredSample],
    folds: Vec<usize>,
    fit: impl Fn(&[&MeasuredSample], &[&MeasuredSample]) -> Fit,
) -> LeftOut {
    let none = Estimate {
        roofline_ms: 0.0,
        time_ms: 0.0,
        distance: 0.0,
    };
    let mut estimates = vec![none; samples.len()];
    let mut of_regression = vec![0.0; samples.len()];
    for fold in 0..n_folds(&folds) {
        let of_folds = |inside: bool| -> Vec<&MeasuredSample> {
            let rows = samples.iter().zip(&folds);
            let rows = rows.filter(|(_, fold_of_row)| (**fold_of_row == fold) == inside);
            rows.map(|(sample, _)| sample).collect()
        };
        let others = of_folds(false);
        let fit = fit(&others, &of_folds(true));
        let regression = regression(&others);
        for (idx, sample) in samples
            .iter()
            .enumerate()
            .filter(|(idx, _)| folds[*idx] == fold)
        {
            estimates[idx] = fit.estimate(&sample.amounts);
            of_regression[idx] = regression_ms(sample, &regression);
        }
    }
    LeftOut {
        estimates,
        regression_ms: of_regression,
    }
}

fn n_folds(folds: &[usize]) -> usize {
    let left_out = folds.iter().filter(|fold| **fold != NEVER_LEFT_OUT);
    left_out.max().map_or(0, |last| last + 1)
}

/// Seed of the folds by which variances are chosen. No stated error uses this seed.
const CHOICE_SEED: u64 = 1000;

/// The variances of kriging with the smallest error on left-out families.
pub fn chosen_variances(samples: &[MeasuredSample]) -> [f64; 2] {
    let error = |variances: [f64; 2]| {
        let folds = folds(samples, Split::Families, CHOICE_SEED);
        let left = left_out(samples, folds, variances);
        let times = left.estimates.iter().map(|estimate| estimate.time_ms);
        summary(samples, times).mean_percent
    };
    let errors = kriging::CANDIDATES.map(error);
    eprintln!(
        "variances {:?}: mean errors {errors:.2?} %",
        kriging::CANDIDATES
    );
    let least = (0..errors.len()).min_by(|a, b| errors[*a].total_cmp(&errors[*b]));
    kriging::CANDIDATES[least.unwrap_or(0)]
}

fn logarithms(sample: &MeasuredSample) -> [f64; 4] {
    let [macs, activations, parameters] = sample.sizes.map(|size| (size + 1.0).ln());
    [1.0, macs, activations, parameters]
}

/// The estimate of [`regression`].
pub(super) fn regression_ms(sample: &MeasuredSample, regression: &[f64; 4]) -> f64 {
    roofline::dot(&logarithms(sample), regression).exp()
}

/// Least squares on the logarithm of time.
pub(super) fn regression(samples: &[&MeasuredSample]) -> [f64; 4] {
    let rows = samples.iter();
    weighted_least_squares(rows.map(|sample| (logarithms(sample), sample.time_ms.ln(), 1.0)))
}

/// Half width of the interval in logarithms: a fixed part, and a part that is proportional to the distance. The width
/// is a quantile of errors relative to a width that grows with the distance, so that the interval contains [`COVERAGE`](litecast::learned::intervals::COVERAGE)
/// of the errors.
pub fn half_width(errors: &[(f64, f64)]) -> [f64; 2] {
    // The growth with the distance follows from the mean errors of the nearer and of the farther half.
    let mut distances: Vec<f64> = errors.iter().map(|(_, distance)| *distance).collect();
    distances.sort_by(f64::total_cmp);
    let median = distances[distances.len() / 2];
    let mean_of = |is_far: bool, value_of: fn(&(f64, f64)) -> f64| {
        let side = errors
            .iter()
            .filter(|(_, distance)| (*distance > median) == is_far);
        let values: Vec<f64> = side.map(value_of).collect();
        mean(&values)
    };
    let error = |one: &(f64, f64)| one.0.abs().min(0.5);
    let slope = (mean_of(true, error) - mean_of(false, error))
        / (mean_of(true, |one| one.1) - mean_of(false, |one| one.1)).max(1e-6);
    let slope = slope.max(0.0);
    let intercept = (mean_of(false, error) - slope * mean_of(false, |one| one.1)).max(0.01);
    let scaled = errors
        .iter()
        .map(|(error, distance)| error.abs() / (intercept + slope * distance));
    let quantile = conformal_quantile(scaled).expect("errors");
    [quantile * intercept, quantile * slope]
}

/// Errors of pairs of log(measured time / estimate) and distance, with intervals of the given half width.
pub(super) fn pair_errors(pairs: &[(f64, f64)], [fixed, by_distance]: [f64; 2]) -> Errors {
    let percents = pairs
        .iter()
        .map(|(error, _)| 100.0 * ((-error).exp() - 1.0).abs());
    let is_held = |(error, distance): &&(f64, f64)| error.abs() <= fixed + by_distance * distance;
    let n_held = pairs.iter().filter(is_held).count();
    Errors {
        coverage_percent: 100.0 * n_held as f64 / pairs.len() as f64,
        ..errors_of(percents.collect())
    }
}

/// Uncapped errors in percent.
pub fn summary(samples: &[MeasuredSample], estimates_ms: impl Iterator<Item = f64>) -> Errors {
    let percent = |(sample, estimate): (&MeasuredSample, f64)| {
        100.0 * (estimate / sample.time_ms - 1.0).abs()
    };
    errors_of(samples.iter().zip(estimates_ms).map(percent).collect())
}
