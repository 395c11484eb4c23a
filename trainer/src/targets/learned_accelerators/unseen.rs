//! Errors on devices that a fit knows from a few measurements alone: a generation of Qualcomm's NPUs of which it has few rows, and
//! phones that are left out of it, which a device of one's own stands for.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use litecast::calibration::Device;
use litecast::targets::learned_accelerators::devices::NumberFormat;
use litecast::targets::learned_accelerators::work::N_TERMS;
use litecast::targets::measured_device::{
    Class, Kernels, MeasuredNetwork as NetworkOfDevice, N_CLASSES, Plan,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::evaluate::{LeftOut, N_FOLDS, errors, estimated, tails};
use super::measured::{Measured, Measurement};
use super::physics::{Physics, Way};
use crate::estimate_errors::Errors;
use crate::markdown::{Head, heads, table};

/// Devices by the version of their NPU, which the table states.
const GENERATIONS: [(&str, &[&str]); 5] = [
    ("69", &["galaxy-s22"]),
    (
        "73",
        &[
            "iq-9075",
            "q-6690",
            "qcs8550",
            "sa8255p",
            "sa8775p",
            "snapdragon-7-gen-4",
            "snapdragon-x-elite",
        ],
    ),
    ("75", &["ventuno-q", "sa7255p", "galaxy-s24"]),
    ("79", &["galaxy-s25"]),
    ("81", &["galaxy-s26", "snapdragon-x2-elite"]),
];
/// Rows of a generation that the fit has.
const N_ROWS: [usize; 2] = [10, 20];

const PHONES: [&str; 5] = [
    "galaxy-s22",
    "galaxy-s24",
    "galaxy-s25",
    "galaxy-s26",
    "snapdragon-7-gen-4",
];
/// Networks that are measured on a phone.
const N_MEASURED: [usize; 3] = [1, 5, 20];

/// Both tables, as Markdown.
pub fn tables(measured: &Measured) -> Result<String> {
    Ok(format!("{}\n{}", generations(measured), phones(measured)?))
}

fn positions(measured: &Measured, devices: &[&str]) -> BTreeSet<usize> {
    let all = measured.devices.iter().enumerate();
    all.filter(|(_, id)| devices.contains(id))
        .map(|(idx, _)| idx)
        .collect()
}

/// Every generation by a fit to all others and a few of its rows, none of which is of a family that is asked for.
fn generations(measured: &Measured) -> String {
    let folds = measured.folds(N_FOLDS, |_| true);
    let mut tasks = Vec::new();
    for generation in 0..GENERATIONS.len() {
        for n_rows in N_ROWS {
            tasks.extend((0..N_FOLDS).map(|fold| (generation, n_rows, fold)));
        }
    }
    let of_task = |&(generation, n_rows, fold): &(usize, usize, usize)| {
        let devices = positions(measured, GENERATIONS[generation].1);
        let is_asked_family = |row: &Measurement| folds[measured.family(row)] == fold;
        let mut known: Vec<&Measurement> = measured
            .kept()
            .filter(|row| devices.contains(&row.device) && !is_asked_family(row))
            .collect();
        known.shuffle(&mut ChaCha8Rng::seed_from_u64(1000 + fold as u64));
        known.truncate(n_rows);
        let is_fitted = |row: &Measurement| {
            let is_known = !devices.contains(&row.device) || known.contains(&row);
            is_known && !is_asked_family(row)
        };
        let is_asked = |row: &Measurement| devices.contains(&row.device) && is_asked_family(row);
        (
            (n_rows, generation),
            estimated(measured, is_fitted, is_asked),
        )
    };
    let left: Vec<_> = tasks.par_iter().map(of_task).collect();
    let mut rows = Vec::new();
    for n_rows in N_ROWS {
        let of_part = |generation: Option<usize>| -> Vec<&LeftOut> {
            let of_rows = left.iter().filter(|((n, of_left), _)| {
                *n == n_rows && generation.is_none_or(|one| one == *of_left)
            });
            of_rows.flat_map(|(_, left)| left).collect()
        };
        for (idx, (version, devices)) in GENERATIONS.iter().enumerate() {
            let name = format!("{version}: {}", devices.join(", "));
            rows.push(cells(n_rows, name, &of_part(Some(idx))));
        }
        rows.push(cells(n_rows, "all".to_owned(), &of_part(None)));
    }
    let heads = heads(
        "generation",
        "rows of it | rows asked | median % | mean % | 90th percentile % | off by more than 3 times %",
    );
    table(&heads, rows)
}

fn cells(n_rows: usize, name: String, left: &[&LeftOut]) -> Vec<String> {
    let [ours, _] = errors(left);
    let [p90, off] = tails(left);
    let mut cells = vec![name, n_rows.to_string(), left.len().to_string()];
    let numbers = [ours.median_percent, ours.mean_percent, p90, off];
    cells.extend(numbers.map(|number| format!("{number:.1}")));
    cells
}

/// Ways to estimate on a phone.
const WAYS: [&str; 2] = ["device of one's own", "one factor"];

/// By number of measured networks, numbers (all of them last) and way.
type Rows = BTreeMap<(usize, usize, usize), Errors>;

/// What phones are estimated to take that a fit has left out, from whole latencies under one runtime in one precision. None of
/// the asked families is measured, or has been fitted to.
fn phones(measured: &Measured) -> Result<String> {
    let folds = measured.folds(N_FOLDS, |_| true);
    let phones = positions(measured, &PHONES);
    let tasks: Vec<(usize, usize)> = phones
        .iter()
        .flat_map(|phone| (0..N_FOLDS).map(|fold| (*phone, fold)))
        .collect();
    let of_task = |&(phone, fold): &(usize, usize)| {
        let is_asked_family = |row: &Measurement| folds[measured.family(row)] == fold;
        let physics = Physics::fit(measured, |row| row.device != phone && !is_asked_family(row));
        let (asked, pool): (Vec<&Measurement>, Vec<&Measurement>) = measured
            .kept()
            .filter(|row| row.device == phone)
            .partition(|row| is_asked_family(row));
        let mut answered = Vec::new();
        let ways: BTreeSet<Way> = asked.iter().map(|row| Way::from_row(row)).collect();
        for way in ways {
            let of_way = |rows: &[&'_ Measurement]| -> Vec<Measurement> {
                let rows = rows.iter().filter(|row| Way::from_row(row) == way);
                rows.map(|row| **row).collect()
            };
            let drawn = Drawn {
                measured,
                bases: bases(measured, &physics, way),
                asked: of_way(&asked),
            };
            let mut pool = of_way(&pool);
            pool.shuffle(&mut ChaCha8Rng::seed_from_u64(1000 + fold as u64));
            answered.extend(drawn.answers(&pool)?);
        }
        Ok(answered)
    };
    let answered: Vec<Vec<_>> = tasks.par_iter().map(of_task).collect::<Result<_>>()?;
    let mut rows = Rows::new();
    for (n, way, numbers, measured_ms, estimates) in answered.into_iter().flatten() {
        for part in [numbers, NumberFormat::ALL.len()] {
            let errors = rows.entry((n, part, way)).or_default();
            errors.add(&measured_ms, &estimates);
        }
    }
    let mut heads: Vec<Head> = vec![Head::number("networks")];
    heads.extend(["precision", "method"].map(Head::text));
    heads.extend(["median", "mean", "Spearman", "inside", "half width"].map(Head::number));
    let rows = rows.into_iter().map(|((n, numbers, way), mut errors)| {
        let precision = NumberFormat::ALL.get(numbers).map_or("all", |one| one.id());
        let names = vec![n.to_string(), precision.to_owned(), WAYS[way].to_owned()];
        [names, errors.words()].concat()
    });
    Ok(table(&heads, rows))
}

/// The costs of other devices under the same runtime with the same numbers, by device.
fn bases(measured: &Measured, physics: &Physics, way: Way) -> Vec<(usize, [f64; N_TERMS])> {
    let ways: BTreeSet<Way> = measured.kept().map(Way::from_row).collect();
    let is_base = |other: &Way| {
        other.device != way.device && (other.runtime, other.numbers) == (way.runtime, way.numbers)
    };
    let bases = ways.into_iter().filter(is_base);
    bases
        .map(|base| (base.device, physics.costs(base)))
        .collect()
}

/// A phone under one runtime with one kind of numbers, and what is asked of it.
struct Drawn<'m> {
    measured: &'m Measured,
    bases: Vec<(usize, [f64; N_TERMS])>,
    asked: Vec<Measurement>,
}

/// Measured networks, way, numbers, latencies, and estimates with the ends of their intervals.
type Answer = (usize, usize, usize, Vec<f64>, Vec<[f64; 3]>);

impl Drawn<'_> {
    fn answers(&self, pool: &[Measurement]) -> Result<Vec<Answer>> {
        let mut answers = Vec::new();
        for n in N_MEASURED.into_iter().filter(|n| *n <= pool.len()) {
            let measured = &pool[..n];
            let numbers = measured[0].numbers;
            let measured_ms: Vec<f64> = self.asked.iter().map(|row| row.ms).collect();
            let ways = [self.own_device(measured)?, self.one_factor(measured)?];
            for (way, estimates) in ways.into_iter().enumerate() {
                answers.push((n, way, numbers, measured_ms.clone(), estimates));
            }
        }
        Ok(answers)
    }

    /// The device on the base that explains the measurements best.
    fn own_device(&self, rows: &[Measurement]) -> Result<Vec<[f64; 3]>> {
        let on = |(base, costs): &(usize, [f64; N_TERMS])| {
            let networks = rows.iter().map(|row| self.network(row, costs)).collect();
            Device::fit(
                "phone",
                (self.measured.devices[*base], Kernels::Base),
                1,
                networks,
            )
            .ok()
        };
        let devices = self.bases.iter().filter_map(|base| Some((base, on(base)?)));
        let best = devices.min_by(|(_, a), (_, b)| a.misfit().total_cmp(&b.misfit()));
        let ((_, costs), device) = best.context("every runtime has several devices")?;
        let estimates = self.asked.iter().map(|row| {
            let mut by_class = [(0.0, 0.0); N_CLASSES];
            for (class, base_ms, n_calls) in self.parts(row, costs) {
                by_class[class.idx()] = (base_ms, n_calls as f64);
            }
            let (ms, half_width) = device
                .interval(&Plan::new(&by_class), None)
                .context("a network has operators")?;
            Ok([ms, ms * (-half_width).exp(), ms * half_width.exp()])
        });
        estimates.collect()
    }

    /// The estimate on the device that needs the most even factor, times that factor.
    fn one_factor(&self, rows: &[Measurement]) -> Result<Vec<[f64; 3]>> {
        let estimate_ms = |row: &Measurement, costs: &[f64; N_TERMS]| -> f64 {
            let amounts = self.measured.amounts(row);
            amounts.iter().zip(costs).map(|(a, c)| a * c).sum()
        };
        let on = |(_, costs): &(usize, [f64; N_TERMS])| {
            let logarithms = rows
                .iter()
                .map(|row| (row.ms / estimate_ms(row, costs)).ln());
            let logarithms: Vec<f64> = logarithms.collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let squares: f64 = logarithms.iter().map(|one| (one - mean).powi(2)).sum();
            // One measurement tells no evenness: the smallest factor counts.
            (if rows.len() > 1 { squares } else { mean.abs() }, mean)
        };
        let bases = self.bases.iter().map(|base| (base, on(base)));
        let best = bases.min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
        let ((_, costs), (_, mean)) = best.context("every runtime has several devices")?;
        let estimates = self.asked.iter();
        Ok(estimates
            .map(|row| [estimate_ms(row, costs) * mean.exp(); 3])
            .collect())
    }

    /// Milliseconds and calls by class on a base, what an inference takes beside spread over them, as estimates on it have it.
    fn parts(&self, row: &Measurement, costs: &[f64; N_TERMS]) -> Vec<(Class, f64, usize)> {
        let total: f64 = self
            .measured
            .amounts(row)
            .iter()
            .zip(costs)
            .map(|(a, c)| a * c)
            .sum();
        let network = &self.measured.networks[row.network];
        let of_classes = network.classes.iter().map(|one| {
            let ms: f64 = one.amounts.iter().zip(costs).map(|(a, c)| a * c).sum();
            (one.class, ms, one.n_calls)
        });
        let mut of_classes: Vec<(Class, f64, usize)> = of_classes.collect();
        let sum: f64 = of_classes.iter().map(|(_, ms, _)| ms).sum();
        of_classes
            .iter_mut()
            .for_each(|(_, ms, _)| *ms *= total / sum);
        of_classes
    }

    fn network(&self, row: &Measurement, costs: &[f64; N_TERMS]) -> NetworkOfDevice {
        let parts = self.parts(row, costs);
        NetworkOfDevice {
            model: row.network.to_string(),
            sha256: row.network.to_string(),
            tool: "a table".to_owned(),
            tool_version: String::new(),
            profile: String::new(),
            measured_ms: row.ms,
            n_calls: parts.iter().map(|(_, _, n_calls)| n_calls).sum(),
            base_ms: parts
                .into_iter()
                .map(|(class, ms, _)| (class, ms))
                .collect(),
            observations: Vec::new(),
            unmatched: Vec::new(),
            unmatched_ms: 0.0,
        }
    }
}
