//! Constants of a board with their errors on other networks.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use litecast::targets::MeasuredRange;
use litecast::targets::cortex_a::{
    Board, Constant, Errors, Family, Fit, INSTRUCTION_SPREAD, Nanoseconds, WorkNanoseconds,
};

use super::known::{KnownBoard, MIN_ISSUED};
use super::samples::{BoardSample, Counts};
use crate::least_squares::{self, ThreeSums};
use crate::markdown::{Head, heads};
use crate::metrics::{conformal_quantile, factor_of_groups};
use crate::priors::{Fitted, Problem};

/// A measured value, and a count that it should be proportional to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Latency from counted instructions, in ms.
    pub counted: f64,
    /// Measured latency in ms.
    pub measured: f64,
}

/// Fits the constant c that minimises the sum of squared relative errors of c · counted.
///
/// Errors are relative so that every network has the same weight, although networks differ by orders of magnitude.
pub fn fit_proportion(samples: &[Pair]) -> Constant {
    let ratios: Vec<f64> = samples
        .iter()
        .map(|sample| sample.counted / sample.measured)
        .collect();
    let squares: f64 = ratios.iter().map(|ratio| ratio * ratio).sum();
    let rows: Vec<[f64; 1]> = ratios.iter().map(|&ratio| [ratio]).collect();
    let [value] = least_squares::non_negative(&rows);
    let residual: f64 = ratios
        .iter()
        .map(|ratio| (value * ratio - 1.0).powi(2))
        .sum();
    let freedom = samples.len().saturating_sub(1).max(1) as f64;
    Constant {
        value,
        standard_error: (residual / freedom / squares).sqrt(),
    }
}

/// Errors of pairs (estimate, measured).
pub fn errors(pairs: &[(f64, f64)]) -> Errors {
    let signed: Vec<f64> = pairs
        .iter()
        .map(|(estimate, measured)| 100.0 * (estimate / measured - 1.0))
        .collect();
    let mut sizes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let n = pairs.len();
    let rank = (0.95 * n as f64).ceil() as usize;
    Errors {
        n,
        mean_percent: sizes.iter().sum::<f64>() / n as f64,
        median_percent: (sizes[n / 2] + sizes[(n - 1) / 2]) / 2.0,
        p95_percent: sizes.get(rank.saturating_sub(1)).copied().unwrap_or(0.0),
        bias_percent: signed.iter().sum::<f64>() / n as f64,
    }
}

/// A fit, and the estimate of each network by a fit without its family.
pub struct BoardFit<'s> {
    /// The fitted constants.
    pub fit: Fit,
    left_out: Vec<LeftOut<'s>>,
    /// Errors of the regression on three sums, of the same networks left out in the same way, and the means over families
    /// of both: ours, the regression's.
    regression: Errors,
    family_means: [f64; 2],
    /// Networks that were measured under another runtime, which the fit does not use.
    others: Vec<LeftOut<'s>>,
}

struct LeftOut<'s> {
    sample: &'s BoardSample,
    estimate_ms: f64,
    /// Ends of an interval whose width was set without the family.
    ends_ms: [f64; 2],
}

/// What is known of the costs of work before any measurement, with standard deviations of the logarithm: a
/// multiply-accumulate takes [`CYCLES_OF_MACS`] times what it takes at least, a byte of activations some cycles and one of
/// weights fewer, because they are read in order, and an instruction of the interpreter a cycle and a half. A byte of an
/// operator that was not measured takes somewhat more than in a copy of memory on a Raspberry Pi (0.2 to 0.3 cycles).
const CYCLES_OF_MACS: f64 = 2.5;
const CYCLES_OF_BYTES: [f64; 2] = [4.0, 2.0];
const CYCLES_OF_INTERPRETER: f64 = 1.5;
const SPREAD_OF_WORK: f64 = 1.5;
const CYCLES_OF_COPIED_BYTE: f64 = 0.5;
/// Spread of a cost that is known.
const FIXED: f64 = 1e-3;
/// Error of a latency, in logarithms, that the likelihood assumes.
const LIKELY_ERROR: f64 = 0.15;

/// Memory takes at most the rest of a network's time, whatever its rate.
const MIN_COMPUTING_SHARE: f64 = 0.1;

/// Of one board and precision; `None` without samples.
pub fn fit<'s>(samples: &[&'s BoardSample], board: &KnownBoard) -> Option<BoardFit<'s>> {
    let (samples, others): (Vec<&BoardSample>, Vec<&BoardSample>) =
        samples.iter().partition(|s| s.is_fitted);
    let samples = &samples[..];
    let measured_range =
        MeasuredRange::from_latencies(samples.iter().map(|sample| sample.measured_ms))?;
    let speedups = speedups(samples);
    let of_one_thread = one_thread_latencies(samples, &speedups);
    let groups = left_out_groups(&of_one_thread);
    let sums: Vec<ThreeSums> = (of_one_thread.iter().zip(&groups))
        .map(|((sample, ms), group)| ThreeSums {
            sums: sample.counts.work,
            total: *ms,
            group,
        })
        .collect();
    let by_regression = least_squares::three_sums_left_out(&sums);
    let estimates = left_out_estimates(&of_one_thread, &groups, board);
    let pairs: Vec<(f64, f64)> = (of_one_thread.iter().zip(&estimates))
        .map(|((_, ms), estimate)| (*estimate, *ms))
        .collect();
    let log_errors: Vec<(f64, &str)> = (pairs.iter().zip(&groups))
        .map(|((estimate, ms), group)| ((estimate / ms).ln().abs(), group.as_str()))
        .collect();
    let intervals = left_out_intervals(&of_one_thread, &estimates, &log_errors);
    let is_inside = |(ends, (_, ms)): &(&[f64; 2], &(f64, f64))| (ends[0]..=ends[1]).contains(ms);
    let n_inside = intervals.iter().zip(&pairs).filter(is_inside).count();
    let left_out = (of_one_thread.iter().zip(&estimates).zip(&intervals))
        .map(|((&(sample, _), estimate), ends)| {
            let speedup = speedup_of(sample, &speedups);
            LeftOut {
                sample,
                estimate_ms: estimate / speedup,
                ends_ms: ends.map(|end| end / speedup),
            }
        })
        .collect();
    let of_count = pairs_with_counts(&of_one_thread);
    let fit = Fit {
        nanoseconds: nanoseconds(&of_one_thread, board),
        ns_per_instruction: fit_proportion(&of_count).value,
        speedup_factor: speedup_factor(samples, &speedups),
        speedups,
        measured_range,
        measured: families(&of_one_thread, &estimates),
        left_out: errors(&pairs),
        interval_factor: factor_of_groups(&log_errors),
        coverage_percent: 100.0 * n_inside as f64 / pairs.len() as f64,
    };
    let others = others.into_iter().map(|sample| {
        let estimate_ms = estimate_ms(&fit.nanoseconds, &sample.counts);
        let factor = fit.interval_factor.ln().hypot(sample.count_log_error).exp();
        let speedup = speedup_of(sample, &fit.speedups);
        LeftOut {
            sample,
            estimate_ms: estimate_ms / speedup,
            ends_ms: [estimate_ms / factor, estimate_ms * factor].map(|end| end / speedup),
        }
    });
    let others = others.collect();
    let pairs_of = |estimates: &[f64]| -> Vec<(f64, f64)> {
        let measured = of_one_thread.iter().map(|(_, ms)| *ms);
        estimates.iter().copied().zip(measured).collect()
    };
    let mean_of = |estimates: &[f64]| {
        let of_families = families(&of_one_thread, estimates);
        let means = of_families.iter().map(|family| family.left_out_percent);
        means.sum::<f64>() / of_families.len() as f64
    };
    Some(BoardFit {
        regression: errors(&pairs_of(&by_regression)),
        family_means: [mean_of(&estimates), mean_of(&by_regression)],
        fit,
        left_out,
        others,
    })
}

fn pairs_with_counts(of_one_thread: &[(&BoardSample, f64)]) -> Vec<Pair> {
    of_one_thread
        .iter()
        .map(|(sample, ms)| Pair {
            counted: sample.counts.instructions(),
            measured: *ms,
        })
        .collect()
}

/// The estimate of each network with costs that were fitted to the other groups, or to all networks if there is only
/// one group.
fn left_out_estimates(
    samples: &[(&BoardSample, f64)],
    groups: &[String],
    board: &KnownBoard,
) -> Vec<f64> {
    let estimate = |((sample, _), group): (&(&BoardSample, f64), &String)| {
        let others = samples.iter().zip(groups).filter(|(_, g)| *g != group);
        let others: Vec<(&BoardSample, f64)> = others.map(|(other, _)| *other).collect();
        let fitted = if others.is_empty() {
            nanoseconds(samples, board)
        } else {
            nanoseconds(&others, board)
        };
        estimate_ms(&fitted, &sample.counts)
    };
    samples.iter().zip(groups).map(estimate).collect()
}

/// By network, the ends of an interval whose width follows from the other groups alone. `log_errors` are parallel to
/// `samples`, each with its group.
fn left_out_intervals(
    samples: &[(&BoardSample, f64)],
    estimates: &[f64],
    log_errors: &[(f64, &str)],
) -> Vec<[f64; 2]> {
    let samples = samples.iter().map(|(sample, _)| sample);
    let samples = samples.zip(estimates).zip(log_errors);
    samples
        .map(|((sample, estimate), (_, group))| {
            let others = log_errors.iter().filter(|(_, other)| other != group);
            let others: Vec<(f64, &str)> = others.copied().collect();
            let both = factor_of_groups(&others)
                .ln()
                .hypot(sample.count_log_error)
                .exp();
            [estimate / both, estimate * both]
        })
        .collect()
}

/// The speed-up of a whole network on the threads that it was measured on.
fn speedup_of(sample: &BoardSample, speedups: &[f64]) -> f64 {
    let speedup = speedups.get(sample.n_threads as usize - 1);
    let of_parallel = speedup.copied().unwrap_or(1.0);
    let serial = sample.counts.serial_share();
    1.0 / (serial + (1.0 - serial) / of_parallel)
}

/// Each network with its latency on one thread. If it was measured on several threads only, that latency is multiplied
/// with the speed-up.
fn one_thread_latencies<'s>(
    samples: &[&'s BoardSample],
    speedups: &[f64],
) -> Vec<(&'s BoardSample, f64)> {
    let mut fewest: BTreeMap<&str, &BoardSample> = BTreeMap::new();
    for sample in samples {
        let known = fewest.entry(&sample.network).or_insert(sample);
        if sample.n_threads < known.n_threads {
            *known = sample;
        }
    }
    fewest
        .into_values()
        .map(|s| (s, s.measured_ms * speedup_of(s, speedups)))
        .collect()
}

/// The group of each network: its family, or the network itself if there is only one family.
fn left_out_groups(samples: &[(&BoardSample, f64)]) -> Vec<String> {
    let families: BTreeSet<&str> = samples.iter().map(|(s, _)| s.family.as_str()).collect();
    let group = |(s, _): &(&BoardSample, f64)| match families.len() {
        1 => s.network.clone(),
        _ => s.family.clone(),
    };
    samples.iter().map(group).collect()
}

/// Costs per instruction and per byte. All families have the same weight.
///
/// Where the rate of the memory is known, it is the cost of a byte, and one cost holds for all instructions; elsewhere
/// costs of work are fitted with priors, and instructions of operators that do not multiply take what the core can issue.
fn nanoseconds(samples: &[(&BoardSample, f64)], board: &KnownBoard) -> Nanoseconds {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for (sample, _) in samples {
        *sizes.entry(&sample.family).or_default() += 1.0;
    }
    let weight = |sample: &BoardSample| sizes[sample.family.as_str()].recip();
    let least = board.min_instruction_ns;
    if let Some(byte) = board.ns_per_byte() {
        let logs = samples.iter().map(|(sample, ms)| {
            let Counts { megabytes, .. } = sample.counts;
            let computing_ms = (ms - byte * megabytes).max(MIN_COMPUTING_SHARE * ms);
            weight(sample) * (computing_ms / sample.counts.instructions()).ln()
        });
        let instruction = (logs.sum::<f64>() / sizes.len() as f64).exp().max(least);
        return Nanoseconds {
            matrix: instruction,
            depthwise: instruction,
            other: instruction,
            interpreter: instruction,
            byte,
            work: None,
        };
    }
    let rows = samples.iter().map(|(sample, ms)| {
        let [_, _, other, interpreted] = sample.counts.by_class;
        Fitted {
            counts: [&sample.counts.work[..], &[interpreted, other]].concat(),
            log_total: ms.ln(),
            factors: Vec::new(),
            weight: weight(sample),
        }
    });
    let cycle_ns = 2.0 * least;
    // It runs on one core, whatever the number of threads.
    let cycle_of_core_ns = MIN_ISSUED * board.max_interpreter_ns;
    let cycles_of_interpreter = CYCLES_OF_INTERPRETER * cycle_of_core_ns / cycle_ns;
    let cycles = [
        (CYCLES_OF_MACS / board.macs_per_cycle, SPREAD_OF_WORK),
        (CYCLES_OF_BYTES[0], SPREAD_OF_WORK),
        (CYCLES_OF_BYTES[1], SPREAD_OF_WORK),
        (cycles_of_interpreter, INSTRUCTION_SPREAD),
        (0.5, FIXED),
    ];
    let priors = cycles.map(|(cycles, spread)| ((cycles * cycle_ns).ln(), spread));
    let logs = Problem::new(rows.collect(), priors.len(), &priors, LIKELY_ERROR).minimise();
    let [mac, activation_byte, weight_byte] = [0, 1, 2].map(|idx| logs[idx].exp());
    Nanoseconds {
        matrix: 0.0,
        depthwise: 0.0,
        other: least,
        interpreter: logs[3].exp().max(least).min(board.max_interpreter_ns),
        byte: CYCLES_OF_COPIED_BYTE * cycle_of_core_ns,
        work: Some(WorkNanoseconds {
            mac,
            activation_byte,
            weight_byte,
        }),
    }
}

/// Estimated latency on one thread.
pub fn estimate_ms(ns: &Nanoseconds, counts: &Counts) -> f64 {
    let of_class = [ns.matrix, ns.depthwise, ns.other, ns.interpreter];
    let costs = of_class.iter().zip(counts.by_class);
    let work = ns.work.unwrap_or_default();
    let of_work = [work.mac, work.activation_byte, work.weight_byte];
    let work = of_work.iter().zip(counts.work).map(|(ns, n)| ns * n);
    // In order, all operators of measured networks take their work.
    let of_bytes = match ns.work {
        Some(_) => work.sum(),
        None => ns.byte * counts.megabytes,
    };
    costs.map(|(ns, n)| ns * n).sum::<f64>() + of_bytes
}

/// Sets the interval of fits to a single kind of network to the widest of fits to several kinds on boards whose memory
/// is known: networks of one kind do not show how much kinds differ.
pub fn widen_single_kinds(boards: &mut [Board]) {
    fn fits(board: &mut Board) -> impl Iterator<Item = &mut Fit> {
        [&mut board.float32, &mut board.int8].into_iter().flatten()
    }
    let is_known = |board: &&mut Board| board.cached_bytes > 0.0;
    let several = boards.iter_mut().filter(is_known).flat_map(fits);
    let several = several.filter(|fit| fit.measured.len() > 1);
    let widest = several.map(|fit| fit.interval_factor).fold(1.0, f64::max);
    for fit in boards.iter_mut().filter(is_known).flat_map(fits) {
        if fit.measured.len() == 1 {
            fit.interval_factor = fit.interval_factor.max(widest);
        }
    }
}

/// Speed-ups on 1, 2, … threads of what runs on several: the geometric mean over the networks that were measured on one
/// thread and on that number.
fn speedups(samples: &[&BoardSample]) -> Vec<f64> {
    let most = samples.iter().map(|s| s.n_threads).max().unwrap_or(1);
    let pairs = |n: u32| {
        let logs: Vec<f64> = measured_speedups(samples, n).map(f64::ln).collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    let known: Vec<(u32, f64)> = (2..=most).filter_map(|n| Some((n, pairs(n)?))).collect();
    let Some(&(last_n, last)) = known.last() else {
        return assumed_speedups(most);
    };
    let serial = (f64::from(last_n) / last - 1.0) / (f64::from(last_n) - 1.0);
    let amdahl = |n: u32| 1.0 / (serial + (1.0 - serial) / f64::from(n));
    let speedup = |n: u32| {
        let measured = known.iter().find(|(m, _)| *m == n).map(|(_, s)| *s);
        measured.unwrap_or_else(|| if n == 1 { 1.0 } else { amdahl(n) })
    };
    (1..=most).map(speedup).collect()
}

/// Speed-ups if no network was measured on one thread and on several: the latency on one thread is then unknown, and
/// latencies are those of the measured number of threads.
fn assumed_speedups(most: u32) -> Vec<f64> {
    vec![1.0; most as usize]
}

fn measured_speedups<'a>(samples: &'a [&BoardSample], n: u32) -> impl Iterator<Item = f64> + 'a {
    let on_one = samples.iter().filter(|s| s.n_threads == 1);
    on_one.filter_map(move |one| {
        let several = samples
            .iter()
            .find(|s| s.n_threads == n && s.network == one.network)?;
        let serial_ms = one.counts.serial_share() * one.measured_ms;
        Some((one.measured_ms - serial_ms) / (several.measured_ms - serial_ms))
    })
}

fn speedup_factor(samples: &[&BoardSample], speedups: &[f64]) -> f64 {
    let several = 2..=speedups.len() as u32;
    let factors: Vec<f64> = several
        .flat_map(|n| {
            let mean = speedups[n as usize - 1];
            measured_speedups(samples, n).map(move |s| (s / mean).ln().abs().exp())
        })
        .collect();
    let widest = factors.iter().copied().fold(1.0, f64::max);
    conformal_quantile(factors.into_iter())
        .filter(|f| f.is_finite())
        .unwrap_or(widest)
}

fn families(samples: &[(&BoardSample, f64)], estimates: &[f64]) -> Vec<Family> {
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (idx, (sample, _)) in samples.iter().enumerate() {
        members.entry(&sample.family).or_default().push(idx);
    }
    let family = |(name, idxs): (&str, Vec<usize>)| {
        let pairs: Vec<_> = idxs.iter().map(|&i| (estimates[i], samples[i].1)).collect();
        Family {
            name: name.to_owned(),
            source: samples[idxs[0]].0.source.to_owned(),
            n_networks: pairs.len(),
            left_out_percent: errors(&pairs).mean_percent,
        }
    };
    members.into_iter().map(family).collect()
}

/// Kinds of operators of [`BoardSample::operators`] that several families of networks have on one of the boards whose cores
/// execute in order.
pub fn operators_of_families(samples: &[BoardSample]) -> BTreeSet<String> {
    let mut families: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for sample in samples {
        for kind in &sample.operators {
            let of_kind = families.entry((sample.board, kind)).or_default();
            of_kind.insert(&sample.family);
        }
    }
    let several = families.into_iter().filter(|(_, of)| of.len() > 1);
    several.map(|((_, kind), _)| kind.to_owned()).collect()
}

/// The largest factor by which constants fitted to the other precision miss a network, over all boards that were
/// measured in both precisions.
pub fn other_precision_factor(boards: &[Board], samples: &[BoardSample]) -> f64 {
    let mut widest = 1.0;
    for board in boards {
        for sample in samples
            .iter()
            .filter(|s| s.board == board.target && s.n_threads == 1)
        {
            let other = if sample.is_int8 {
                &board.float32
            } else {
                &board.int8
            };
            if let (Some(other), true) = (other, board.int8.is_some() && board.float32.is_some()) {
                let ratio = estimate_ms(&other.nanoseconds, &sample.counts) / sample.measured_ms;
                widest = f64::max(widest, ratio.ln().abs().exp());
            }
        }
    }
    widest
}

impl BoardFit<'_> {
    /// Headings of [`Self::line`].
    pub fn heads() -> Vec<Head<'static>> {
        heads(
            "target | numbers",
            "networks | families | mean over networks % | over families % | median % | regression on three sums: mean over \
             networks % | over families % | median % | interval | held",
        )
    }

    /// Its errors beside those of the regression.
    pub fn line(&self, target: &str, numbers: &str) -> Vec<String> {
        let Fit {
            left_out, measured, ..
        } = &self.fit;
        let [ours, theirs] = self.family_means;
        let mut line = vec![
            target.to_owned(),
            numbers.to_owned(),
            left_out.n.to_string(),
            measured.len().to_string(),
        ];
        let percents = [
            left_out.mean_percent,
            ours,
            left_out.median_percent,
            self.regression.mean_percent,
            theirs,
            self.regression.median_percent,
        ];
        line.extend(percents.map(|percent| format!("{percent:.1}")));
        line.push(format!("× {:.2}", self.fit.interval_factor));
        line.push(format!("{:.0} %", self.fit.coverage_percent));
        line
    }

    /// Prints constants and errors.
    pub fn print(&self) {
        let Fit {
            nanoseconds: ns,
            speedups,
            left_out,
            interval_factor,
            coverage_percent,
            speedup_factor,
            measured,
            ..
        } = &self.fit;
        println!(
            "  ns an instruction: matrix {:.4}, depthwise {:.4}, other {:.4}, interpreter {:.4}; a byte {:.4}; {:.4?}",
            ns.matrix, ns.depthwise, ns.other, ns.interpreter, ns.byte, ns.work
        );
        println!("  speed-up by threads {speedups:.2?}, within times and over {speedup_factor:.3}");
        for family in measured {
            println!(
                "  left out: {} {}, mean error {:.1} %",
                family.n_networks, family.name, family.left_out_percent
            );
        }
        let mut others: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for other in &self.others {
            let pair = (other.estimate_ms, other.sample.measured_ms);
            others.entry(&other.sample.family).or_default().push(pair);
        }
        for (family, pairs) in others {
            let actual = errors(&pairs);
            println!(
                "  not fitted: {} {family}, mean error {:.1} %, bias {:+.1} %",
                actual.n, actual.mean_percent, actual.bias_percent
            );
        }
        println!(
            "  all: {} networks, mean error {:.1} %, median {:.1} %, 95th percentile {:.1} %, bias {:+.1} %; \
             interval times and over {interval_factor:.3}, holds {coverage_percent:.0} %",
            left_out.n,
            left_out.mean_percent,
            left_out.median_percent,
            left_out.p95_percent,
            left_out.bias_percent,
        );
    }

    /// Writes a row for each network.
    pub fn write(&self, table: &mut csv::Writer<std::fs::File>) -> Result<()> {
        for LeftOut {
            sample,
            estimate_ms,
            ends_ms,
        } in self.left_out.iter().chain(&self.others)
        {
            let precision = if sample.is_int8 { "int8" } else { "float32" };
            let mut row = vec![
                sample.board.to_owned(),
                sample.network.clone(),
                sample.family.clone(),
                precision.to_owned(),
                sample.n_threads.to_string(),
            ];
            let numbers = [sample.measured_ms, *estimate_ms, ends_ms[0], ends_ms[1]];
            let numbers = numbers
                .into_iter()
                .chain(sample.counts.by_class)
                .chain([sample.counts.serial, sample.counts.megabytes])
                .chain([sample.count_log_error]);
            row.extend(numbers.map(|number| format!("{number:.5}")));
            table.write_record(&row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(pairs: &[(f64, f64)]) -> Vec<Pair> {
        let sample = |&(counted, measured): &(f64, f64)| Pair { counted, measured };
        pairs.iter().map(sample).collect()
    }

    #[test]
    fn a_proportion_is_found_whatever_the_sizes() {
        let constant = fit_proportion(&samples(&[(1.0, 2.5), (100.0, 250.0), (1e6, 2.5e6)]));
        assert!((constant.value - 2.5).abs() < 1e-12);
        assert!(constant.standard_error < 1e-9);
    }

    /// No other constant has a smaller sum of squared relative errors.
    #[test]
    fn a_proportion_is_the_best_one() {
        let noisy = samples(&[(1.0, 2.0), (10.0, 22.0), (100.0, 190.0), (7.0, 15.0)]);
        let loss = |constant: f64| -> f64 {
            let error = |s: &Pair| (constant * s.counted / s.measured - 1.0).powi(2);
            noisy.iter().map(error).sum()
        };
        let actual = fit_proportion(&noisy).value;
        assert!(loss(actual) < loss(actual * 1.001) && loss(actual) < loss(actual * 0.999));
    }

    /// By hand: +10 %, −20 %, 0 %.
    #[test]
    fn errors_are_relative() {
        let actual = errors(&[(110.0, 100.0), (8.0, 10.0), (3.0, 3.0)]);
        assert_eq!(actual.n, 3);
        assert!((actual.mean_percent - 10.0).abs() < 1e-9);
        assert!((actual.median_percent - 10.0).abs() < 1e-9);
        assert!((actual.p95_percent - 20.0).abs() < 1e-9);
        assert!((actual.bias_percent + 10.0 / 3.0).abs() < 1e-9);
    }
}
