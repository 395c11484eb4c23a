//! The changes of a comparison as a table shows them, and what speaks against each.

use super::comparison::{Change, FactChange, ResultChange};
use crate::command::{quantity, words};

/// Why a change that a table shows may be none.
#[derive(Clone, Copy, PartialEq)]
pub enum ChangeDoubt {
    /// The intervals of both sides have values in common.
    Overlap,
    /// A number that rests on an assumption and has no interval.
    NoInterval,
}

/// What a table shows of a number.
pub struct ChangeRow {
    /// Empty for facts of the file itself.
    target: String,
    metric: String,
    unit: String,
    pub change: Change,
    doubt: Option<ChangeDoubt>,
    /// What stands beside each number, ` as int8`, or in its place.
    beside: [String; 2],
    without: [&'static str; 2],
}

impl ChangeDoubt {
    /// `None` where a change is sure, or there is none.
    fn of(result: &ResultChange) -> Option<Self> {
        let is_assumed = |evidence: &Option<String>| evidence.as_deref() == Some("assumed");
        match result.is_within_intervals {
            _ if result.change.is_same() || result.change.difference.is_none() => None,
            Some(true) => Some(Self::Overlap),
            Some(false) => None,
            None => (is_assumed(&result.evidence_before) || is_assumed(&result.evidence_after))
                .then_some(Self::NoInterval),
        }
    }

    pub fn mark(self) -> char {
        match self {
            Self::Overlap => '≈',
            Self::NoInterval => '†',
        }
    }

    /// The meaning of each mark that stands in the table.
    pub fn notes(shown: &[ChangeRow]) -> Vec<String> {
        let meaning = |doubt| match doubt {
            Self::Overlap => {
                "the intervals before and after overlap: which of the two is smaller is not sure"
            }
            Self::NoInterval => "assumed, without an interval: a small change may be none",
        };
        let is_there = |doubt| shown.iter().any(|shown| shown.doubt == Some(doubt));
        let doubts = [Self::Overlap, Self::NoInterval].into_iter();
        let notes = doubts.filter(|doubt| is_there(*doubt));
        let mut notes: Vec<String> = notes
            .map(|doubt| format!("{} {}", doubt.mark(), meaning(doubt)))
            .collect();
        if shown.iter().any(ChangeRow::has_unknown) {
            notes.push(format!("{} no estimate on this side", words::UNKNOWN));
        }
        notes
    }
}

impl ChangeRow {
    pub fn from_fact(fact: &FactChange) -> Self {
        let unit = if fact.unit == "bytes" { fact.unit } else { "" };
        Self {
            target: String::new(),
            metric: fact.fact.to_owned(),
            unit: unit.to_owned(),
            change: fact.change,
            doubt: None,
            beside: Default::default(),
            without: [words::UNKNOWN; 2],
        }
    }

    /// `others`: of both sides, among them the latency of a network whose part on the accelerator is shown.
    pub fn from_result(result: &ResultChange, others: &[ResultChange]) -> Self {
        let is_whole = |other: &&ResultChange| {
            result.metric == "npu_latency"
                && other.metric == "latency"
                && other.target == result.target
        };
        let whole = others.iter().find(is_whole);
        let latencies = whole.map_or([None; 2], |whole| [whole.change.before, whole.change.after]);
        let reasons = [&result.unavailable_before, &result.unavailable_after];
        Self {
            target: result.target.clone(),
            metric: result.metric.clone(),
            unit: result.unit.clone().unwrap_or_default(),
            change: result.change,
            doubt: ChangeDoubt::of(result),
            beside: [&result.estimated_as_before, &result.estimated_as_after].map(|precision| {
                let words = precision
                    .as_ref()
                    .map(|precision| format!(" as {precision}"));
                words.unwrap_or_default()
            }),
            // A network that the accelerator runs alone has no latency for its part.
            without: [0, 1].map(|side| {
                if latencies[side].is_some() && reasons[side].is_none() {
                    "all"
                } else {
                    words::UNKNOWN
                }
            }),
        }
    }

    fn has_unknown(&self) -> bool {
        let sides = [self.change.before, self.change.after].into_iter();
        sides
            .zip(self.without)
            .any(|(value, without)| value.is_none() && without == words::UNKNOWN)
    }

    pub fn cells(&self) -> [String; 5] {
        let Change { before, after, .. } = self.change;
        let value = |value: Option<f64>, side: usize| {
            let number = match (value, self.unit.as_str()) {
                (None, _) => return self.without[side].to_owned(),
                (Some(value), "") => quantity::count(value as u64).to_string(),
                (Some(value), unit) => quantity::measure(value, unit).to_string(),
            };
            number + &self.beside[side]
        };
        let change = before.zip(after);
        let change = change.map_or(String::new(), |(before, after)| {
            quantity::change(before, after)
        });
        let mark = self.doubt.map(ChangeDoubt::mark).map(String::from);
        let mark = mark.unwrap_or_default();
        [
            self.target.clone(),
            words::metric(&self.metric).to_owned(),
            value(before, 0),
            value(after, 1),
            format!("{mark} {change}").trim().to_owned(),
        ]
    }
}
