//! Limits for models, and the verdicts on a report.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::document::{Document, Estimate, TargetResult};
use super::quantity;

/// A limit in the report's unit: ms, mJ, bytes, or a plain count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit(pub f64);

/// The number of an estimate that is compared with a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Against {
    /// The estimate.
    #[default]
    Value,
    /// The upper end of its interval.
    Upper,
}

/// Maxima for a model; those that are absent are not checked.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum latency of one inference, for example 10ms, 800us or 1.5s.
    #[arg(long = "max-latency", value_name = "TIME", value_parser = parse_limit::<Time>)]
    #[serde(deserialize_with = "read::<Time, _>")]
    pub latency: Option<Limit>,
    /// Maximum energy of one inference, for example 2mJ or 300uJ.
    #[arg(long = "max-energy", value_name = "ENERGY", value_parser = parse_limit::<Energy>)]
    #[serde(deserialize_with = "read::<Energy, _>")]
    pub energy: Option<Limit>,
    /// Maximum SRAM peak, for example 256KiB, 1MiB, 300kB (of 1000 bytes) or 4096.
    #[arg(long = "max-sram", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub sram: Option<Limit>,
    /// Maximum arena that `AllocateTensors` of TensorFlow Lite Micro needs; needs no target.
    #[arg(long = "max-arena", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub arena: Option<Limit>,
    /// Maximum of the arena's part for activations; needs no target.
    #[arg(long = "max-activations", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub activations: Option<Limit>,
    /// Maximum activation RAM under ST Edge AI.
    #[arg(long = "max-activation-ram", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub activation_ram: Option<Limit>,
    /// Maximum flash of the weights on a microcontroller.
    #[arg(long = "max-weights-flash", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub weights_flash: Option<Limit>,
    /// Whether `weights_flash` limits the whole file under TensorFlow Lite Micro, too: a `litecast.toml` of version 0.1
    /// meant that.
    #[arg(skip)]
    #[serde(skip)]
    pub weights_include_file: bool,
    /// Maximum flash of the whole file under TensorFlow Lite Micro.
    #[arg(long = "max-file-flash", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub file_flash: Option<Limit>,
    /// Maximum bytes moved to and from off-chip memory.
    #[arg(long = "max-offchip-traffic", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub offchip_traffic: Option<Limit>,
    /// Maximum size of the file; needs no target.
    #[arg(long = "max-file-size", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    #[serde(deserialize_with = "read::<Bytes, _>")]
    pub file_size: Option<Limit>,
    /// Maximum multiply-accumulates, for example 10M; needs no target.
    #[arg(long = "max-macs", value_name = "COUNT", value_parser = parse_limit::<Count>)]
    #[serde(deserialize_with = "read::<Count, _>")]
    pub macs: Option<Limit>,
    /// Maximum parameters, for example 250k; needs no target.
    #[arg(long = "max-parameters", value_name = "COUNT", value_parser = parse_limit::<Count>)]
    #[serde(deserialize_with = "read::<Count, _>")]
    pub parameters: Option<Limit>,
}

/// Limits that an Ethos-U has to meet.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SweepLimits {
    /// Maximum latency of one inference, for example 10ms, 800us or 1.5s.
    #[arg(long = "max-latency", value_name = "TIME", value_parser = parse_limit::<Time>)]
    pub latency: Option<Limit>,
    /// Maximum SRAM peak, for example 256KiB, 1MiB, 300kB (of 1000 bytes) or 4096.
    #[arg(long = "max-sram", value_name = "BYTES", value_parser = parse_limit::<Bytes>)]
    pub sram: Option<Limit>,
}

/// Id of the target whose only metric is the arena.
pub const ARENA_TARGET: &str = "tflite-micro";

impl Limits {
    /// Metric and limit of everything that depends on a target.
    fn target_limits(&self) -> Vec<(&'static str, Limit)> {
        let limits = [
            ("latency", self.latency),
            ("energy", self.energy),
            ("sram_peak", self.sram),
            ("activation_ram", self.activation_ram),
            ("weights_flash", self.weights_flash),
            ("file_flash", self.file_flash),
            ("offchip_traffic", self.offchip_traffic),
        ];
        limits
            .into_iter()
            .filter_map(|(metric, limit)| Some((metric, limit?)))
            .collect()
    }

    /// Whether a target has to be chosen.
    pub fn needs_target(&self) -> bool {
        !self.target_limits().is_empty()
    }

    pub fn is_empty(&self) -> bool {
        let weights_include_file = self.weights_include_file;
        *self
            == Self {
                weights_include_file,
                ..Self::default()
            }
    }

    /// A verdict for each limit, and each target that estimates its metric.
    pub fn check(&self, document: &Document, against: Against) -> Vec<Verdict> {
        let model = &document.model;
        let facts = [
            ("file_size", "bytes", self.file_size, model.file_bytes),
            ("macs", "", self.macs, model.macs),
            ("parameters", "", self.parameters, model.parameters),
        ];
        let facts = facts.into_iter().filter_map(|(name, unit, limit, value)| {
            Some(Verdict::for_fact(name, unit, limit?, value as f64))
        });
        let mut verdicts: Vec<Verdict> = facts.collect();
        if let Some(limit) = self.activations {
            let value = model.activation_bytes.map(|bytes| bytes as f64);
            let against = Against::Value;
            verdicts.push(Verdict::new(
                None,
                "activations",
                "bytes",
                limit,
                [value, None],
                against,
            ));
        }
        if let Some(limit) = self.arena {
            let mut of_arena = Verdict::for_metric(document, "arena", limit, against);
            // It is the arena of every chosen target with one, which is counted for itself where none is chosen.
            let is_own = |verdict: &Verdict| verdict.target.as_deref() == Some(ARENA_TARGET);
            if !of_arena.iter().all(is_own) {
                of_arena.retain(|verdict| !is_own(verdict));
            }
            verdicts.extend(of_arena);
        }
        let of_file = self.weights_flash.filter(|_| self.weights_include_file);
        if let (None, Some(limit)) = (self.file_flash, of_file)
            && (document.results.iter()).any(|result| result.metric == "file_flash")
        {
            verdicts.extend(Verdict::for_metric(document, "file_flash", limit, against));
        }
        for (metric, limit) in self.target_limits() {
            verdicts.extend(Verdict::for_metric(document, metric, limit, against));
        }
        // No number is within a limit on a board that cannot hold the model.
        for target in document.targets() {
            verdicts.extend(document.shortages(target).into_iter().map(|short| {
                let (limit, value) = (Limit(short.board_bytes), Some(short.needed_bytes));
                let against = Against::Value;
                let target = Some(target);
                Verdict::new(target, short.memory, "bytes", limit, [value, None], against)
            }));
        }
        verdicts
    }
}

/// One limit and the value that was compared with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Absent for facts of the file itself.
    pub target: Option<String>,
    pub metric: String,
    pub unit: String,
    pub limit: f64,
    pub status: Status,
    /// What was compared: `value`, `upper`, or `value` where an estimate has no interval.
    pub against: Against,
    pub value: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
    /// By how much the limit is exceeded, in `unit`.
    pub over: Option<f64>,
    /// Why there is no estimate.
    pub unavailable: Option<String>,
    /// What the estimate rests on.
    pub evidence: Option<String>,
    /// The precision of the estimate, where it is not that of the file.
    pub estimated_as: Option<String>,
    /// The warnings about its target.
    pub doubts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Within,
    Over,
    /// No estimate, which does not pass.
    Unknown,
}

impl Verdict {
    fn for_fact(metric: &str, unit: &str, limit: Limit, value: f64) -> Self {
        Self::new(
            None,
            metric,
            unit,
            limit,
            [Some(value), None],
            Against::Value,
        )
    }

    fn new(
        target: Option<&str>,
        metric: &str,
        unit: &str,
        Limit(limit): Limit,
        [value, upper]: [Option<f64>; 2],
        against: Against,
    ) -> Self {
        let (compared, against) = match (against, upper) {
            (Against::Upper, Some(upper)) => (Some(upper), Against::Upper),
            _ => (value, Against::Value),
        };
        let over = compared
            .map(|compared| compared - limit)
            .filter(|over| *over > 0.0);
        let status = match (compared, over) {
            (None, _) => Status::Unknown,
            (Some(_), Some(_)) => Status::Over,
            // Only a number at or below the limit is within it; NaN is not.
            (Some(compared), None) if compared <= limit => Status::Within,
            (Some(_), None) => Status::Unknown,
        };
        Self {
            target: target.map(str::to_owned),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            limit,
            status,
            against,
            value,
            upper,
            over,
            unavailable: None,
            evidence: None,
            estimated_as: None,
            doubts: Vec::new(),
        }
    }

    /// Says what the estimate rests on, and what speaks against it.
    pub fn add_evidence_and_doubts(&mut self, document: &Document) {
        let Some(target) = &self.target else {
            return;
        };
        let result = document.result(target, &self.metric);
        self.evidence = result.and_then(|result| result.evidence.clone());
        self.estimated_as = result.and_then(|result| result.estimated_as.clone());
        let warnings = document.diagnostics.iter();
        let warnings =
            warnings.filter(|one| one.severity == "warning" && one.targets.contains(target));
        self.doubts = warnings.map(|one| one.message.clone()).collect();
    }

    /// A verdict for each target that has the metric; a single verdict without a value if no target has it.
    fn for_metric(document: &Document, metric: &str, limit: Limit, against: Against) -> Vec<Self> {
        let unit = litecast::Metric::from_id(metric).map_or("", litecast::Metric::unit);
        let estimate_of = |target: Option<&str>,
                           metric: &str,
                           estimate: Option<&Estimate>,
                           why: Option<String>| {
            let value = estimate.map(|estimate| estimate.value);
            let upper = estimate.and_then(|estimate| estimate.hi);
            Self {
                unavailable: why,
                ..Self::new(target, metric, unit, limit, [value, upper], against)
            }
        };
        let targets = document.targets().into_iter();
        let results = targets.filter_map(|target| document.result(target, metric));
        let verdicts: Vec<Self> = results
            .map(|result| {
                let TargetResult { target, metric, .. } = result;
                let mut reasons = document.unavailable();
                let why = reasons.find(|(t, m, _)| t == target && m == metric);
                let why = why.map(|(.., words)| words.to_owned());
                estimate_of(Some(target), metric, result.estimate(), why)
            })
            .collect();
        if !verdicts.is_empty() {
            return verdicts;
        }
        // A target that refuses a file as a whole may list its latency alone.
        let refusals = document.unavailable().map(|(.., words)| words.to_owned());
        let why = refusals
            .last()
            .unwrap_or_else(|| format!("no chosen target estimates {metric}"));
        vec![estimate_of(None, metric, None, Some(why))]
    }

    /// The compared number.
    pub fn compared_value(&self) -> Option<f64> {
        match self.against {
            Against::Upper => self.upper,
            Against::Value => self.value,
        }
    }

    /// Whether the value is within the limit but its interval reaches beyond it.
    pub fn is_close(&self) -> bool {
        self.status == Status::Within && self.upper.is_some_and(|upper| upper > self.limit)
    }

    /// A number that was compared with the limit.
    pub fn words_beside_limit(&self, value: f64) -> String {
        quantity::measure_beside(value, &self.unit, self.limit).to_string()
    }

    /// The limit beside a number that was compared with it.
    pub fn limit_words(&self, value: Option<f64>) -> String {
        let value = value.unwrap_or(self.limit);
        quantity::measure_beside(self.limit, &self.unit, value).to_string()
    }

    /// A number in the unit of this verdict.
    pub fn words(&self, value: f64) -> String {
        match self.unit.as_str() {
            "" => quantity::count(value as u64).to_string(),
            unit => quantity::measure(value, unit).to_string(),
        }
    }
}

/// LimitUnits of a kind of number: their names, and what one is in the report's unit.
trait LimitUnits {
    const UNITS: &'static [(&'static str, f64)];
    const EXAMPLE: &'static str;
}

struct Time;
struct Energy;
struct Bytes;
struct Count;

impl LimitUnits for Time {
    const UNITS: &'static [(&'static str, f64)] = &[
        ("s", 1e3),
        ("ms", 1.0),
        ("us", 1e-3),
        ("µs", 1e-3),
        ("μs", 1e-3),
        ("ns", 1e-6),
    ];
    const EXAMPLE: &'static str = "10ms, 800us or 1.5s";
}

impl LimitUnits for Energy {
    const UNITS: &'static [(&'static str, f64)] = &[
        ("J", 1e3),
        ("mJ", 1.0),
        ("uJ", 1e-3),
        ("µJ", 1e-3),
        ("μJ", 1e-3),
        ("nJ", 1e-6),
    ];
    const EXAMPLE: &'static str = "2mJ or 300uJ";
}

impl LimitUnits for Bytes {
    const UNITS: &'static [(&'static str, f64)] = &[
        ("", 1.0),
        ("B", 1.0),
        ("bytes", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ];
    const EXAMPLE: &'static str = "256KiB, 1MiB or 4096";
}

impl LimitUnits for Count {
    const UNITS: &'static [(&'static str, f64)] = &[
        ("", 1.0),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
    ];
    const EXAMPLE: &'static str = "250k, 10M or 4096";
}

/// A text that is not a quantity of the expected kind.
#[derive(Debug)]
pub struct QuantityError {
    expected: &'static str,
    found: String,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "expected a number with a unit, for example {}, found `{}`",
            self.expected, self.found
        )
    }
}

impl std::error::Error for QuantityError {}

fn parse_limit<U: LimitUnits>(text: &str) -> Result<Limit, QuantityError> {
    let wrong = || QuantityError {
        expected: U::EXAMPLE,
        found: text.to_owned(),
    };
    let at = text
        .find(|c: char| !(c.is_ascii_digit() || "._".contains(c)))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.replace('_', "").parse().map_err(|_| wrong())?;
    let (_, factor) = U::UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .ok_or_else(wrong)?;
    let value = number * factor;
    if value.is_finite() {
        Ok(Limit(value))
    } else {
        Err(wrong())
    }
}

/// A string, or a plain number where the kind of number takes one.
fn read<'d, U: LimitUnits, D: Deserializer<'d>>(from: D) -> Result<Option<Limit>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text or a whole number")]
    enum Written {
        Text(String),
        Whole(u64),
    }
    let text = match Written::deserialize(from)? {
        Written::Text(text) => text,
        Written::Whole(number) => number.to_string(),
    };
    parse_limit::<U>(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_in_the_units_of_the_report() {
        let ms = |text| parse_limit::<Time>(text).map(|limit| limit.0).ok();
        assert_eq!(ms("10ms"), Some(10.0));
        assert_eq!(ms("1.5 s"), Some(1500.0));
        assert_eq!(ms("800us"), Some(0.8));
        assert_eq!(ms("10"), None, "seconds or milliseconds?");
        let bytes = |text| parse_limit::<Bytes>(text).map(|limit| limit.0).ok();
        assert_eq!(bytes("256KiB"), Some(262_144.0));
        assert_eq!(bytes("256kB"), Some(256_000.0));
        assert_eq!(bytes("1_000"), Some(1000.0));
        assert_eq!(bytes("256k"), None, "1000 or 1024?");
        assert_eq!(bytes("-1"), None);
        assert_eq!(bytes(""), None);
        let count = parse_limit::<Count>("2.5M").unwrap();
        assert_eq!(count, Limit(2.5e6));
    }

    #[test]
    fn the_upper_end_is_compared_where_there_is_one() {
        let verdict = |value, upper, against| {
            Verdict::new(None, "latency", "ms", Limit(10.0), [value, upper], against)
        };
        let close = verdict(Some(9.0), Some(11.0), Against::Value);
        assert_eq!(
            (close.status, close.is_close(), close.over),
            (Status::Within, true, None)
        );
        let upper = verdict(Some(9.0), Some(11.0), Against::Upper);
        assert_eq!((upper.status, upper.over), (Status::Over, Some(1.0)));
        let exact = verdict(Some(9.0), None, Against::Upper);
        assert_eq!(
            (exact.status, exact.against),
            (Status::Within, Against::Value)
        );
        assert_eq!(
            verdict(Some(10.0), None, Against::Value).status,
            Status::Within
        );
        assert_eq!(verdict(None, None, Against::Value).status, Status::Unknown);
        assert_eq!(
            verdict(Some(f64::NAN), None, Against::Value).status,
            Status::Unknown
        );
    }
}
