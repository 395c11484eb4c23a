//! Errors of estimates that one measurement of the same network on another device corrects.

use std::collections::{BTreeMap, BTreeSet};

use litecast::target::fitted::Elsewhere;
use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};

use super::evaluate::{ErrorsByFamily, LeftOut, width_of_families};
use crate::markdown::{Head, table};
use crate::metrics::{five_digits, mean, nearest};

/// The power of measured time / estimate elsewhere: under the same runtime, and under another one.
const TRUST: [f64; 2] = [0.9, 0.8];

/// An estimate by a measurement on another device.
#[derive(Clone, Copy, Debug)]
struct Corrected<'m> {
    family: &'m str,
    /// log(measured time / estimate).
    error: f64,
    /// The same without the measurement.
    plain: f64,
    unfamiliar: f64,
}

/// Runtimes of one maker, numbers, and [`Runtime::relation`].
type Part = (Maker, usize, usize);
/// The runtime of a maker; `None` is Qualcomm, who has several.
type Maker = Option<usize>;

fn maker(runtime: usize) -> Maker {
    (!Runtime::ALL[runtime].is_of_hexagon()).then_some(runtime)
}

/// Every row by every other row of the same network and numbers on another device of the same maker, whose estimates left
/// the network's family out.
pub struct MeasuredElsewhere<'m> {
    parts: BTreeMap<Part, Vec<Corrected<'m>>>,
}

impl<'m> MeasuredElsewhere<'m> {
    pub fn new(left: &[LeftOut<'m>]) -> Self {
        let mut networks: BTreeMap<_, Vec<&LeftOut>> = BTreeMap::new();
        for one in left {
            let key = (maker(one.row.runtime), one.row.numbers, one.row.network);
            networks.entry(key).or_default().push(one);
        }
        let mut parts: BTreeMap<Part, Vec<Corrected>> = BTreeMap::new();
        for ((maker, numbers, _), rows) in networks {
            for here in &rows {
                for there in rows.iter().filter(|row| row.row.device != here.row.device) {
                    let relation = usize::from(here.row.runtime != there.row.runtime);
                    let part = parts.entry((maker, numbers, relation)).or_default();
                    part.push(Corrected {
                        family: here.family,
                        error: here.log_error() - TRUST[relation] * there.log_error(),
                        plain: here.log_error(),
                        unfamiliar: here.unfamiliar,
                    });
                }
            }
        }
        Self { parts }
    }

    /// What a measurement is worth for a runtime and numbers, by [`Runtime::relation`]; ends before what no pair tells. Of
    /// other makers than Qualcomm, hardly anything but YOLO was measured on several devices, which tells no error of others.
    pub fn of(&self, runtime: usize, numbers: usize) -> Vec<Elsewhere> {
        if maker(runtime).is_some() {
            return Vec::new();
        }
        let part = |relation: usize| self.parts.get(&(maker(runtime), numbers, relation));
        let worth = |relation: usize| {
            let part = part(relation)?;
            Some(Elsewhere {
                trust: TRUST[relation],
                half_width: width(part, |_| true)?.map(five_digits),
                mean_percent: five_digits(mean(&percents(part, |one| one.error))),
                coverage_percent: five_digits(coverage_percent(part)),
            })
        };
        (0..TRUST.len()).map_while(worth).collect()
    }

    /// Errors by part, as Markdown.
    pub fn table(&self) -> String {
        let columns = [
            "pairs of rows",
            "median %",
            "mean %",
            "90th percentile %",
            "without: median, mean %",
            "in 90 % interval",
            "interval",
        ];
        let heads = ["runtime", "precision", "measured under"].map(Head::text);
        let heads: Vec<Head> = heads.into_iter().chain(columns.map(Head::number)).collect();
        let mut rows = Vec::new();
        for ((maker, numbers, relation), part) in &self.parts {
            let runtime = maker.map_or("those of Hexagon", |runtime| Runtime::ALL[runtime].id());
            let names = [runtime, NumberFormat::ALL[*numbers].id(), WORDS[*relation]];
            rows.push(cells(names, part, true));
        }
        let makers: BTreeSet<(Maker, usize)> = (self.parts.keys())
            .map(|(maker, _, relation)| (*maker, *relation))
            .collect();
        for (of_maker, relation) in makers.into_iter().filter(|(maker, _)| maker.is_none()) {
            let of_all = (self.parts.iter())
                .filter(|((maker, _, of_part), _)| (*maker, *of_part) == (of_maker, relation));
            let part: Vec<Corrected> = of_all.flat_map(|(_, part)| part).copied().collect();
            rows.push(cells(
                ["those of Hexagon", "all", WORDS[relation]],
                &part,
                false,
            ));
        }
        table(&heads, rows)
    }
}

const WORDS: [&str; 2] = ["the same", "another"];

fn cells(names: [&str; 3], part: &[Corrected], has_width: bool) -> Vec<String> {
    let corrected = percents(part, |one| one.error);
    let plain = percents(part, |one| one.plain);
    let fixed = width(part, |_| true).filter(|_| has_width);
    let mut cells = names.map(str::to_owned).to_vec();
    cells.extend([
        part.len().to_string(),
        format!("{:.1}", nearest(&corrected, 0.5)),
        format!("{:.1}", mean(&corrected)),
        format!("{:.1}", nearest(&corrected, 0.9)),
        format!("{:.1}, {:.1}", nearest(&plain, 0.5), mean(&plain)),
        fixed.map_or(String::new(), |_| {
            format!("{:.1} %", coverage_percent(part))
        }),
        fixed.map_or(String::new(), |[fixed, _]| format!("× {:.2}", fixed.exp())),
    ]);
    cells
}

/// The width for errors of the families that `is_of` tells; `None` if there are none.
fn width(part: &[Corrected], is_of: impl Fn(&str) -> bool) -> Option<[f64; 2]> {
    let mut by_family = ErrorsByFamily::new();
    for one in part.iter().filter(|one| is_of(one.family)) {
        let of_family = by_family.entry(one.family).or_default();
        of_family.push((one.error, one.unfamiliar));
    }
    width_of_families(&by_family)
}

/// Share of the errors that the width from all other families holds.
fn coverage_percent(part: &[Corrected]) -> f64 {
    let families: BTreeSet<&str> = part.iter().map(|one| one.family).collect();
    let widths: BTreeMap<&str, Option<[f64; 2]>> = (families.into_iter())
        .map(|family| (family, width(part, |other| other != family)))
        .collect();
    let is_held = |one: &&Corrected| {
        widths[one.family]
            .is_some_and(|[fixed, slope]| one.error.abs() <= fixed + slope * one.unfamiliar)
    };
    100.0 * part.iter().filter(is_held).count() as f64 / part.len() as f64
}

fn percents(part: &[Corrected], error: impl Fn(&Corrected) -> f64) -> Vec<f64> {
    let percent = |one: &Corrected| 100.0 * ((-error(one)).exp() - 1.0).abs();
    let mut percents: Vec<f64> = part.iter().map(percent).collect();
    percents.sort_by(f64::total_cmp);
    percents
}
