//! What differs between two reports, number by number: what `compare` of the npm package and of the Python package return,
//! too.

use std::collections::{HashMap, HashSet};

use litecast::Settings;
use serde::Serialize;

use crate::command::document::{Document, Estimate, TargetResult};

/// Something exact of a file, where it is known.
type Fact = fn(&Document) -> Option<u64>;

/// Name and unit in JSON of each fact, and its number. Those of the npm package and the Python package have the same.
const FACTS: [(&str, &str, Fact); 7] = [
    ("file_bytes", "bytes", |side| Some(side.model.file_bytes)),
    ("macs", "operations", |side| Some(side.model.macs)),
    ("parameters", "elements", |side| Some(side.model.parameters)),
    ("weight_bytes", "bytes", |side| {
        Some(side.model.weight_bytes)
    }),
    ("arena_bytes", "bytes", |side| side.model.arena_bytes),
    ("activation_bytes", "bytes", |side| {
        side.model.activation_bytes
    }),
    ("n_operators", "operators", |side| {
        Some(side.model.n_operators)
    }),
];

/// A comparison of two reports: what `compare` of the npm package and of the Python package return, too. A side without
/// a report is null.
#[derive(Serialize)]
pub struct Comparison {
    pub before: Option<String>,
    pub after: Option<String>,
    pub facts: Vec<FactChange>,
    pub results: Vec<ResultChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactChange {
    pub fact: &'static str,
    pub unit: &'static str,
    #[serde(flatten)]
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultChange {
    pub target: String,
    pub metric: String,
    pub device: String,
    /// Absent where neither side has an estimate.
    pub unit: Option<String>,
    #[serde(flatten)]
    pub change: Change,
    /// Whether the intervals overlap, so that the order of the two values is not sure; absent where one has none.
    pub is_within_intervals: Option<bool>,
    /// Why a side has no estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_after: Option<String>,
    /// What each number rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_after: Option<String>,
    /// The precision that a side is estimated in, where it is not that of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_as_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_as_after: Option<String>,
    /// What the target is set to on each side, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_before: Option<Settings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_after: Option<Settings>,
}

/// One number on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    pub before: Option<f64>,
    pub after: Option<f64>,
    pub difference: Option<f64>,
    pub change_percent: Option<f64>,
}

impl Comparison {
    /// Of a side without a report, nothing is known.
    pub fn new(sides: [Option<&Document>; 2]) -> Self {
        let [before, after] = sides.map(|side| side.map(|document| document.file.clone()));
        let fact = |(fact, unit, number): (&'static str, &'static str, Fact)| FactChange {
            fact,
            unit,
            change: Change::new(sides.map(|side| side.and_then(number).map(|fact| fact as f64))),
        };
        let mut keys: Vec<(&str, &str)> = Vec::new();
        let mut visited: HashSet<(&str, &str)> = HashSet::new();
        for result in sides.into_iter().flatten().flat_map(|side| &side.results) {
            let key = (result.target.as_str(), result.metric.as_str());
            if visited.insert(key) {
                keys.push(key);
            }
        }
        let index = |side: Option<&'_ Document>| -> HashMap<(String, String), usize> {
            let results = side.map_or(&[][..], |side| &side.results);
            let key = |result: &TargetResult| (result.target.clone(), result.metric.clone());
            (results.iter().enumerate())
                .map(|(idx, result)| (key(result), idx))
                .collect()
        };
        let indices = sides.map(index);
        let result = |(target, metric): (&str, &str)| {
            let key = (target.to_owned(), metric.to_owned());
            let of_side = |idx: usize| Some(&sides[idx]?.results[*indices[idx].get(&key)?]);
            ResultChange::new([of_side(0), of_side(1)])
        };
        Comparison {
            before,
            after,
            facts: FACTS.into_iter().map(fact).collect(),
            results: keys.into_iter().filter_map(result).collect(),
        }
    }
}

/// Relative changes below this are those of rounding.
const SAME: f64 = 0.0005;

impl ResultChange {
    /// None where neither side has the result.
    fn new(sides: [Option<&TargetResult>; 2]) -> Option<Self> {
        let either = sides[0].or(sides[1])?;
        let estimates = sides.map(|side| side.and_then(TargetResult::estimate));
        let interval = |estimate: Option<&Estimate>| estimate?.lo.zip(estimate?.hi);
        let [before, after] = estimates.map(interval);
        let overlap = |((lo, hi), (other_lo, other_hi)): ((f64, f64), (f64, f64))| {
            lo <= other_hi && other_lo <= hi
        };
        let why = |side: Option<&TargetResult>| side?.unavailable().map(str::to_owned);
        let [unavailable_before, unavailable_after] = sides.map(why);
        let [evidence_before, evidence_after] = sides.map(|side| side?.evidence.clone());
        let [estimated_as_before, estimated_as_after] =
            sides.map(|side| side?.estimated_as.clone());
        let [settings_before, settings_after] = other_settings(sides);
        let unit = estimates[0]
            .or(estimates[1])
            .map(|estimate| estimate.unit.clone());
        Some(Self {
            target: either.target.clone(),
            metric: either.metric.clone(),
            device: either.device.clone(),
            unit,
            change: Change::new(estimates.map(|estimate| Some(estimate?.value))),
            is_within_intervals: before.zip(after).map(overlap),
            unavailable_before,
            unavailable_after,
            evidence_before,
            evidence_after,
            estimated_as_before,
            estimated_as_after,
            settings_before,
            settings_after,
        })
    }
}

/// Those of each side with an estimate, where they differ and both have one. A report of an older version does not say them.
pub fn other_settings(sides: [Option<&TargetResult>; 2]) -> [Option<Settings>; 2] {
    let of_estimate = |side: Option<&TargetResult>| {
        let result = side.filter(|result| result.estimate().is_some())?;
        Some(result.settings.clone())
    };
    match sides.map(of_estimate) {
        [Some(before), Some(after)] if before != after => [before, after],
        _ => [None, None],
    }
}

impl Change {
    pub fn new([before, after]: [Option<f64>; 2]) -> Self {
        let both = before.zip(after);
        let percent = both.and_then(|(before, after)| match (before, after) {
            (0.0, 0.0) => Some(0.0),
            (0.0, _) => None,
            (before, after) => Some(100.0 * (after - before) / before),
        });
        Self {
            before,
            after,
            difference: both.map(|(before, after)| after - before),
            change_percent: percent,
        }
    }

    pub fn has_value(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    pub fn is_same(&self) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => (after - before).abs() <= SAME * before.abs(),
            (None, None) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_rounding_are_none() {
        let change = |before, after| Change::new([before, after]);
        assert!(change(Some(1000.0), Some(1000.4)).is_same());
        assert!(!change(Some(1000.0), Some(1001.0)).is_same());
        assert!(!change(None, Some(1.0)).is_same());
        assert_eq!(change(Some(0.0), Some(1.0)).change_percent, None);
        assert_eq!(change(Some(0.0), Some(0.0)).change_percent, Some(0.0));
        assert_eq!(change(Some(8.0), Some(6.0)).change_percent, Some(-25.0));
    }
}
