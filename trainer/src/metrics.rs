//! Errors of estimates relative to labels.

use std::collections::BTreeMap;

use litecast::learned::intervals::COVERAGE;
use litecast::provenance::{ErrorSummary, MAX_ERROR_PERCENT};
use litecast::target::fitted::Errors;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The nearest number of four significant digits.
pub fn four_digits(value: f64) -> f64 {
    printed(format!("{value:.3e}"))
}

/// The nearest number of five significant digits: more promise what no fit knows.
pub fn five_digits(value: f64) -> f64 {
    printed(format!("{value:.4e}"))
}

fn printed(number: String) -> f64 {
    number.parse().expect("a printed number is one")
}

/// Errors of `estimates` against `labels`; pairs whose label is NaN do not count.
pub fn summarise(estimates: &[f32], labels: &[f32]) -> ErrorSummary {
    let pairs: Vec<(f64, f64)> = estimates
        .iter()
        .zip(labels)
        .filter(|(_, label)| !label.is_nan())
        .map(|(&estimate, &label)| (f64::from(estimate), f64::from(label)))
        .collect();
    let mut errors: Vec<f64> = pairs
        .iter()
        .map(|(estimate, label)| 100.0 * (estimate / label - 1.0).abs())
        .collect();
    errors.sort_unstable_by(f64::total_cmp);
    let n = errors.len();
    if n == 0 {
        return ErrorSummary::default();
    }
    let within = |limit: f64| 100.0 * errors.partition_point(|&e| e <= limit) as f64 / n as f64;
    ErrorSummary {
        mape: errors.iter().sum::<f64>() / n as f64,
        capped_mape: errors.iter().map(|e| e.min(MAX_ERROR_PERCENT)).sum::<f64>() / n as f64,
        median_ape: quantile(&errors, 0.5),
        p95_ape: quantile(&errors, 0.95),
        within_5: within(5.0),
        within_10: within(10.0),
        spearman: spearman(&pairs),
        n,
    }
}

/// The same for pairs of estimate and label.
pub fn summarise_pairs(pairs: &[(f64, f64)]) -> ErrorSummary {
    let pairs = pairs.iter().map(|(e, l)| (*e as f32, *l as f32));
    let (estimates, labels): (Vec<f32>, Vec<f32>) = pairs.unzip();
    summarise(&estimates, &labels)
}

/// The smallest of `errors` that contains [`COVERAGE`] of them, counting one more (split conformal prediction); the
/// largest if there are too few. `None` without errors.
pub fn conformal_quantile(errors: impl Iterator<Item = f64>) -> Option<f64> {
    let mut errors: Vec<f64> = errors.collect();
    let last = errors.len().checked_sub(1)?;
    let rank = (COVERAGE * (errors.len() + 1) as f64).ceil() as usize;
    // Interval trees need thousands of these quantiles, and sorting all errors would take most of their time.
    let place = rank.saturating_sub(1).min(last);
    let (_, quantile, _) = errors.select_nth_unstable_by(place, f64::total_cmp);
    Some(*quantile)
}

/// The factor that should contain the errors of nine in ten networks of another group: the 95 % quantile of Student's
/// t, with as many degrees of freedom as there are groups, times the root mean square of the logarithmic errors. 1
/// without errors.
///
/// All groups have the same weight, because a new network is more likely of another kind than of the kind that was
/// measured most. Three to six groups are too few for an empirical quantile: the largest of three errors contains less
/// than nine in ten, and Student's t accounts for the difference.
pub fn factor_of_groups(log_errors: &[(f64, &str)]) -> f64 {
    let mut squares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (error, group) in log_errors {
        let (sum, n) = squares.entry(group).or_default();
        *sum += error * error;
        *n += 1.0;
    }
    let n_groups = squares.len() as f64;
    let Ok(students_t) = StudentsT::new(0.0, 1.0, n_groups) else {
        return 1.0;
    };
    let mean_square = squares.values().map(|(sum, n)| sum / n).sum::<f64>() / n_groups;
    (students_t.inverse_cdf((1.0 + COVERAGE) / 2.0) * mean_square.sqrt()).exp()
}

/// The mean; 0 without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The median, for which `values` are sorted; NaN without values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    (at(values.len().saturating_sub(1) / 2) + at(values.len() / 2)) / 2.0
}

/// Uncapped errors, without their coverage.
pub fn errors_of(mut percents: Vec<f64>) -> Errors {
    percents.sort_by(f64::total_cmp);
    Errors {
        mean_percent: mean(&percents),
        median_percent: nearest(&percents, 0.5),
        p95_percent: nearest(&percents, 0.95),
        ..Errors::default()
    }
}

/// The same, with the mean over families, each of which weighs as much as any other.
pub fn errors_of_families(percents: BTreeMap<&str, Vec<f64>>) -> Errors {
    let families: Vec<f64> = percents.values().map(|percents| mean(percents)).collect();
    Errors {
        family_mean_percent: mean(&families),
        ..errors_of(percents.into_values().flatten().collect())
    }
}

/// Mean, median, 90th and 95th percentile; `None` without values.
pub fn percentiles(mut percents: Vec<f64>) -> Option<[f64; 4]> {
    percents.sort_by(f64::total_cmp);
    let last = percents.len().checked_sub(1)?;
    let n = percents.len() as f64;
    let at = |share: f64| percents[((share * n) as usize).min(last)];
    Some([mean(&percents), at(0.5), at(0.9), at(0.95)])
}

/// The value at the place that is nearest to this share of `sorted`; 0 without values.
pub fn nearest(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

/// Interpolates linearly between the two nearest values of `sorted`, which must not be empty.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (
        sorted[position.floor() as usize],
        sorted[position.ceil() as usize],
    );
    low + (high - low) * position.fract()
}

/// Pearson's correlation of the ranks, where equal values share their mean rank; 0 if one side does not vary.
fn spearman(pairs: &[(f64, f64)]) -> f64 {
    let a = ranks(pairs.iter().map(|p| p.0));
    let b = ranks(pairs.iter().map(|p| p.1));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    if scale > 0.0 {
        product(&a, &b) / scale
    } else {
        0.0
    }
}

fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = first as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|&i| ranks[i] = rank);
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::Normal;

    use super::*;

    /// Expected values from numpy and `scipy.stats.spearmanr`.
    #[test]
    fn agrees_with_scipy() {
        let labels = [10.0, 20.0, 20.0, 40.0, 5.0, f32::NAN];
        let estimates = [10.4, 18.0, 24.0, 41.0, 6.0, 3.0];
        let e = summarise(&estimates, &labels);
        println!("{e:?}");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-4;
        assert_eq!(e.n, 5);
        assert!(close(e.mape, (4.0 + 10.0 + 20.0 + 2.5 + 20.0) / 5.0));
        assert!(close(e.median_ape, 10.0));
        assert!(close(e.p95_ape, 20.0));
        assert!(close(e.within_5, 40.0) && close(e.within_10, 60.0));
        assert!(close(e.spearman, 0.974_679), "{}", e.spearman);
    }

    /// The groups are drawn from a normal distribution with a known spread: nine in ten of new groups are inside the
    /// interval, however few groups the factor was fitted to.
    #[test]
    fn the_factor_holds_nine_in_ten_of_new_groups() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let spread = Normal::new(0.0, 0.25).expect("a spread above 0");
        for n_groups in [1, 2, 3, 6] {
            let names: Vec<String> = (0..n_groups).map(|i| i.to_string()).collect();
            let n_draws = 20_000;
            let held = (0..n_draws).filter(|_| {
                let errors: Vec<(f64, &str)> =
                    (names.iter().map(|name| (rng.sample(spread), name.as_str()))).collect();
                rng.sample(spread).abs() <= factor_of_groups(&errors).ln()
            });
            let share = held.count() as f64 / f64::from(n_draws);
            println!("{n_groups} groups: {share:.3}");
            assert!(
                (share - COVERAGE).abs() < 0.01,
                "{n_groups} groups: {share}"
            );
        }
    }
}
