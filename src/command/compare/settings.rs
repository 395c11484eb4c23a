//! What the numbers of both sides are of beside the network: another batch size, clock, memory mode or number of threads
//! changes them as much as another model.

use litecast::Settings;
use litecast::estimate::EstimateAs;

use super::comparison::other_settings;
use crate::command::document::{Document, TargetResult};

/// A line for each that differs, in words.
pub fn differences(sides: [Option<&Document>; 2]) -> Vec<String> {
    let [Some(before), Some(after)] = sides else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if before.batch != after.batch {
        lines.push(format!(
            "batch {} before, {} after",
            before.batch, after.batch
        ));
    }
    let requests = [before, after].map(request);
    let alone = alone(&requests);
    if alone.iter().any(|words| !words.is_empty()) {
        let [before, after] = alone.map(in_words);
        lines.push(format!("not asked alike: before {before}, after {after}"));
    }
    lines.extend(of_targets(before, after));
    lines
}

/// Each difference once, with the targets that it is one of.
fn of_targets(before: &Document, after: &Document) -> impl Iterator<Item = String> {
    let mut known: Vec<(Difference, Vec<&str>)> = Vec::new();
    for result in &before.results {
        let other = after.result(&result.target, &result.metric);
        let Some(difference) = Difference::of(result, other) else {
            continue;
        };
        let target = result.target.as_str();
        match known.iter_mut().find(|(one, _)| *one == difference) {
            Some((_, targets)) if targets.contains(&target) => (),
            Some((_, targets)) => targets.push(target),
            None => known.push((difference, vec![target])),
        }
    }
    known.into_iter().map(|(difference, targets)| {
        let targets = targets.join(", ");
        match difference {
            Difference::NotSaid(side) => format!("{side}, no settings are said: {targets}"),
            Difference::Words([before, after]) => {
                format!("not of the same settings: {targets}: before {before}, after {after}")
            }
        }
    })
}

/// Two results of a target in other settings.
#[derive(PartialEq)]
enum Difference {
    /// One side is of an older version, which did not say them.
    NotSaid(&'static str),
    /// What only one of both says.
    Words([String; 2]),
}

impl Difference {
    /// `None` where they agree, or one has no estimate.
    fn of(before: &TargetResult, after: Option<&TargetResult>) -> Option<Self> {
        match &other_settings([Some(before), after]) {
            [None, None] => None,
            [None, Some(_)] => Some(Self::NotSaid("before")),
            [Some(_), None] => Some(Self::NotSaid("after")),
            [Some(before), Some(after)] => Some(Self::Words(
                alone(&[before, after].map(words)).map(in_words),
            )),
        }
    }
}

/// Sizes of open dimensions and the precision, which were asked of the whole file.
fn request(report: &Document) -> Vec<String> {
    let sizes = report.dimensions.iter();
    let sizes = sizes.map(|dimension| format!("{} {}", dimension.name, dimension.size));
    let precision = match report.estimate_as {
        EstimateAs::Int8 => Some("int8"),
        EstimateAs::AsIs => Some("the file's precision"),
        _ => None,
    };
    sizes.chain(precision.map(str::to_owned)).collect()
}

/// What each has that the other has not.
fn alone(sides: &[Vec<String>; 2]) -> [Vec<String>; 2] {
    let [before, after] = sides;
    let of_one = |these: &[String], others: &[String]| {
        let these = these.iter().filter(|one| !others.contains(one));
        these.cloned().collect()
    };
    [of_one(before, after), of_one(after, before)]
}

fn in_words(words: Vec<String>) -> String {
    if words.is_empty() {
        "not".to_owned()
    } else {
        words.join(", ")
    }
}

/// Each setting in words.
fn words(settings: &Settings) -> Vec<String> {
    let Settings {
        clock_mhz,
        system_config,
        memory_mode,
        arena_cache_bytes,
        optimise,
        off_chip_bytes_per_s,
        host,
        threads,
        measured_on,
        measured_ms,
        ..
    } = settings;
    let measured = measured_on.as_ref().zip(*measured_ms);
    let words = [
        system_config.clone(),
        memory_mode.clone(),
        arena_cache_bytes.map(|bytes| format!("arena cache of {bytes} bytes")),
        (optimise.as_ref()).map(|goal| format!("optimised for {}", goal.to_lowercase())),
        clock_mhz.map(|mhz| format!("{mhz} MHz")),
        off_chip_bytes_per_s.map(|rate| format!("{} MB/s off chip", rate / 1e6)),
        host.as_ref().map(|id| format!("the rest on {id}")),
        threads.map(|n| crate::command::words::plural(n as usize, "thread")),
        measured.map(|(device, ms)| format!("{ms} ms on {device}")),
    ];
    words.into_iter().flatten().collect()
}
