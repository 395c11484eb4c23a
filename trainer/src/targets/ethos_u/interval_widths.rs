//! Interval widths as a function of a graph's properties: a small tree of [`ErrorIndicator`]s, with a width in each leaf that
//! is set by split conformal prediction (Vovk et al. 2005; Lei et al. 2018).
//!
//! One half of the graphs chooses the splits. All of them set the widths of the leaves, and take back a split that makes
//! no interval above its threshold as wide as those below.

use litecast::targets::ethos_u::error_indicators::{ErrorIndicator, ErrorIndicators};
use litecast::targets::ethos_u::errors::Width;

use super::cases::Kind;
use crate::metrics::conformal_quantile;

/// Splits between the root and a leaf.
const MAX_DEPTH: usize = 3;

/// Minimum number of graphs of a leaf, in the half that chooses splits, so that no single graph determines the 90 %
/// quantile.
const MIN_LEAF: usize = 40;

/// Minimum number of graphs of one kind for a width of their own, so that the largest error is not the 90 % quantile.
const MIN_OF_KIND: usize = 30;

/// Minimum reduction of the mean logarithm of widths by a split.
const MIN_GAIN: f64 = 0.03;

/// Logarithms of widths below this count as this, so that differences between very narrow intervals are no reason to
/// split.
const MIN_WIDTH: f64 = 0.002;

/// Number of candidate thresholds: quantiles of the signal.
const N_THRESHOLDS: usize = 12;

/// Distance of an estimate from its label.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// What tells how far rules may be off.
    pub signals: ErrorIndicators,
    /// Whether the network was drawn or is a real file.
    pub kind: Kind,
    /// Absolute difference of the logarithms.
    pub log_error: f64,
}

/// A tree of widths that contains nine in ten errors of each kind of graphs in each leaf. `None` without graphs.
pub fn fit(deviations: &[Deviation]) -> Option<Width> {
    let choosing: Vec<&Deviation> = deviations.iter().step_by(2).collect();
    let all: Vec<&Deviation> = deviations.iter().collect();
    let mut width = refit(&grow_tree(&choosing, &all, MAX_DEPTH), &all)?;
    round(&mut width);
    Some(width)
}

/// Rounds factors up to four decimals, which is more precise than the graphs allow, so that no interval gets narrower.
fn round(width: &mut Width) {
    const STEPS: f64 = 1e4;
    match width {
        Width::Factor { factor, .. } => *factor = (*factor * STEPS).ceil() / STEPS,
        Width::Split { below, above, .. } => {
            round(below);
            round(above);
        }
    }
}

/// The splits of a tree, without widths.
enum SplitTree {
    Leaf,
    Split(ErrorIndicator, f64, Box<SplitTree>, Box<SplitTree>),
}

/// `deviations` choose the splits, which `all` of the same part have to bear out.
fn grow_tree(deviations: &[&Deviation], all: &[&Deviation], depth: usize) -> SplitTree {
    if depth == 0 || deviations.len() < 2 * MIN_LEAF {
        return SplitTree::Leaf;
    }
    let mut best = (
        loss(deviations).0 - MIN_GAIN * deviations.len() as f64,
        None,
    );
    for signal in ErrorIndicator::ALL {
        for at_least in thresholds(deviations, signal) {
            let (above, below) = parts(deviations, signal, at_least);
            if above.len().min(below.len()) < MIN_LEAF {
                continue;
            }
            let ((loss_above, wide), (loss_below, narrow)) = (loss(&above), loss(&below));
            // Above a threshold an interval is never narrower than below it.
            let is_less = wide >= narrow && loss_above + loss_below < best.0;
            if is_less && is_wider_above(all, signal, at_least) {
                best = (loss_above + loss_below, Some((signal, at_least)));
            }
        }
    }
    let Some((signal, at_least)) = best.1 else {
        return SplitTree::Leaf;
    };
    let (above, below) = parts(deviations, signal, at_least);
    let (all_above, all_below) = parts(all, signal, at_least);
    let below = Box::new(grow_tree(&below, &all_below, depth - 1));
    let above = Box::new(grow_tree(&above, &all_above, depth - 1));
    SplitTree::Split(signal, at_least, below, above)
}

fn is_wider_above(deviations: &[&Deviation], signal: ErrorIndicator, at_least: f64) -> bool {
    let (above, below) = parts(deviations, signal, at_least);
    loss(&above).1 >= loss(&below).1
}

fn thresholds(deviations: &[&Deviation], signal: ErrorIndicator) -> Vec<f64> {
    let mut values: Vec<f64> = deviations.iter().map(|d| d.signals.get(signal)).collect();
    values.sort_by(f64::total_cmp);
    let at = |step: usize| values[step * (values.len() - 1) / N_THRESHOLDS];
    let rounded = |step| rounded_down(at(step));
    let mut thresholds: Vec<f64> = (1..=N_THRESHOLDS).map(rounded).collect();
    thresholds.dedup();
    thresholds
}

/// Four significant digits, never more than `value`, so that graphs whose signal is this value stay above the threshold.
fn rounded_down(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits);
    (value * scale).floor() / scale
}

type Parts<'d> = (Vec<&'d Deviation>, Vec<&'d Deviation>);

fn parts<'d>(deviations: &[&'d Deviation], signal: ErrorIndicator, at_least: f64) -> Parts<'d> {
    let is_above = |d: &&Deviation| d.signals.get(signal) >= at_least;
    deviations.iter().copied().partition(is_above)
}

/// Sum of the logarithms of the widths if these graphs form one leaf, and the width. Logarithms are used because nine
/// in ten errors of random operators are a hundred times as large as those of networks; their widths would otherwise
/// decide every split.
fn loss(deviations: &[&Deviation]) -> (f64, f64) {
    let width = leaf_width(deviations).unwrap_or(0.0);
    (deviations.len() as f64 * width.max(MIN_WIDTH).ln(), width)
}

fn refit(shape: &SplitTree, deviations: &[&Deviation]) -> Option<Width> {
    match shape {
        SplitTree::Leaf => width_leaf(deviations),
        SplitTree::Split(signal, at_least, below, above) => {
            let (of_above, of_below) = parts(deviations, *signal, *at_least);
            let (below, mut above) = (refit(below, &of_below)?, refit(above, &of_above)?);
            if narrowest(&above) < narrowest(&below) {
                above = width_leaf(&of_above)?;
            }
            if narrowest(&above) < narrowest(&below) {
                return width_leaf(deviations);
            }
            Some(Width::Split {
                signal: *signal,
                at_least: *at_least,
                below: Box::new(below),
                above: Box::new(above),
            })
        }
    }
}

fn width_leaf(deviations: &[&Deviation]) -> Option<Width> {
    Some(Width::Factor {
        n: deviations.len(),
        factor: leaf_width(deviations)?.exp(),
    })
}

/// A width that is large enough for all graphs together, and for each kind with enough graphs.
fn leaf_width(deviations: &[&Deviation]) -> Option<f64> {
    let all = conformal_quantile(deviations.iter().map(|d| d.log_error))?;
    let of_kind = |kind: Kind| {
        let of_kind = deviations.iter().filter(|d| d.kind == kind);
        let errors: Vec<f64> = of_kind.map(|d| d.log_error).collect();
        let is_enough = errors.len() >= MIN_OF_KIND;
        conformal_quantile(errors.into_iter()).filter(|_| is_enough)
    };
    let kinds = [
        Kind::Network,
        Kind::RandomOperators,
        Kind::File,
        Kind::Layer,
    ];
    Some(kinds.into_iter().filter_map(of_kind).fold(all, f64::max))
}

/// The factor of the narrowest leaf.
fn narrowest(width: &Width) -> f64 {
    match width {
        Width::Factor { factor, .. } => *factor,
        Width::Split { below, above, .. } => narrowest(below).min(narrowest(above)),
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    use super::*;

    /// Errors of graphs, which are ten times as large where an operator stays on the CPU.
    fn deviations(n: usize, rng: &mut ChaCha8Rng) -> Vec<Deviation> {
        let normal = Normal::new(0.0f64, 0.01).unwrap();
        let mut deviation = || {
            let is_wide = rng.random_range(0.0..1.0f64) < 0.3;
            let scale = if is_wide { 10.0 } else { 1.0 };
            Deviation {
                signals: signals(is_wide),
                kind: Kind::Network,
                log_error: scale * normal.sample(rng).abs(),
            }
        };
        (0..n).map(|_| deviation()).collect()
    }

    /// Those of a graph, all zero but this one.
    fn signals(is_partly_on_cpu: bool) -> ErrorIndicators {
        let mut values = [0.0; ErrorIndicator::ALL.len()];
        values[ErrorIndicator::OnCpu as usize] = f64::from(u8::from(is_partly_on_cpu));
        serde_json::from_value(serde_json::json!(values)).unwrap()
    }

    #[test]
    fn each_group_is_held_by_a_width_of_its_own() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let width = fit(&deviations(2000, &mut rng)).unwrap();
        let fresh = deviations(20_000, &mut rng);
        let mut widths = Vec::new();
        for is_wide in [false, true] {
            let here = |d: &&Deviation| (d.signals.get(ErrorIndicator::OnCpu) > 0.0) == is_wide;
            let group: Vec<&Deviation> = fresh.iter().filter(here).collect();
            let is_inside = |d: &&&Deviation| d.log_error <= width.factor(&d.signals).ln();
            let inside = group.iter().filter(is_inside).count();
            let percent = 100.0 * inside as f64 / group.len() as f64;
            println!("wide {is_wide}: {percent:.1} % inside");
            assert!((87.0..93.0).contains(&percent));
            widths.push(width.factor(&group[0].signals).ln());
        }
        assert!(widths[1] > 5.0 * widths[0], "{widths:?}");
    }

    /// Of ten graphs nine are networks, whose errors are a fifth of those of single layers.
    #[test]
    fn a_rare_kind_is_held_too() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut mixed = |n: usize| {
            let mut all = deviations(n, &mut rng);
            for (idx, one) in all.iter_mut().enumerate() {
                one.signals = signals(false);
                one.log_error = 0.01 * (one.log_error / 0.01).fract();
                if idx % 10 == 3 {
                    one.kind = Kind::Layer;
                    one.log_error *= 5.0;
                }
            }
            all
        };
        let width = fit(&mixed(2000)).unwrap();
        let fresh = mixed(20_000);
        let layers: Vec<&Deviation> = fresh.iter().filter(|d| d.kind == Kind::Layer).collect();
        let is_inside = |d: &&&Deviation| d.log_error <= width.factor(&d.signals).ln();
        let share = layers.iter().filter(is_inside).count() as f64 / layers.len() as f64;
        assert!((0.85..0.95).contains(&share), "{share}");
    }
}
