//! Tools that print one sentence for each number.

use super::number::{duration_ms, number};
use super::profile::{MeasuredInference, MeasuredOperator, Profile};

/// Reads a line into `profile`; false where it is no such sentence.
pub fn read(line: &str, clock_mhz: Option<f64>, profile: &mut Profile) -> bool {
    let line = line.trim();
    // Each of the sentences has one of these, and most rows of a table have none.
    if !line.contains(['=', ':', ' ']) {
        return false;
    }
    if let Some((before, behind)) = line.split_once("avg =") {
        return best_of_runs(before, behind, profile);
    }
    if let Some((_, behind)) = line.split_once("Inference (avg):") {
        return read_benchmark_model(behind, profile);
    }
    if let Some((_, behind)) = line.split_once("Median:")
        && line.starts_with("[ INFO ]")
    {
        return read_benchmark_app(behind, profile);
    }
    if let Some((tag, behind)) = line.split_once(" took ") {
        return read_micro_profiler(tag, behind, clock_mhz, profile);
    }
    if let Some((before, _)) = line.split_once("feature_map:") {
        return read_ncnn_layer(before, profile);
    }
    false
}

/// `squeezenet  min = 2.51  max = 2.56  avg = 2.53` (ncnn) and `[ - ] net.mnn  max = 5.1 ms  min = 5.0 ms  avg = 5.0 ms`
/// (MNN).
fn best_of_runs(before: &str, behind: &str, profile: &mut Profile) -> bool {
    let is_mnn = before.starts_with("[ - ]");
    let name = before.trim_start_matches("[ - ]");
    let end = ["min =", "max ="]
        .iter()
        .filter_map(|word| name.find(word))
        .min();
    let (Some(name), Some(duration_ms)) = (
        name.get(..end.unwrap_or(name.len())),
        duration_ms(behind, 1.0),
    ) else {
        return false;
    };
    profile.tool = if is_mnn { "MNN" } else { "ncnn" };
    profile.inferences.push(MeasuredInference {
        name: name.trim().to_owned(),
        duration_ms,
    });
    true
}

/// `Inference (avg): 14575.2` in microseconds (benchmark_model), or `Inference (avg): 0.05 ms (50 runs)` (LiteRT's tool in
/// Python).
fn read_benchmark_model(behind: &str, profile: &mut Profile) -> bool {
    let text = behind.split(['(', ',']).next().unwrap_or_default();
    let Some(duration_ms) = duration_ms(text, 1e-3) else {
        return false;
    };
    if profile.tool.is_empty() {
        profile.tool = "LiteRT's benchmark";
    }
    profile.inferences.push(MeasuredInference {
        name: String::new(),
        duration_ms,
    });
    true
}

/// `[ INFO ]    Median:        17.61 us` (OpenVINO's benchmark_app).
fn read_benchmark_app(behind: &str, profile: &mut Profile) -> bool {
    let Some(duration_ms) = duration_ms(behind, 1.0) else {
        return false;
    };
    profile.tool = "OpenVINO";
    profile.inferences.push(MeasuredInference {
        name: String::new(),
        duration_ms,
    });
    true
}

/// `CONV_2D took 4646 ticks (4 ms).`: the ticks where their clock is known, or else the milliseconds, which have no
/// fraction.
fn read_micro_profiler(
    tag: &str,
    behind: &str,
    clock_mhz: Option<f64>,
    profile: &mut Profile,
) -> bool {
    let Some((ticks, behind)) = behind.split_once(" ticks") else {
        return false;
    };
    let of_ticks = || Some(number(ticks)? / (clock_mhz? * 1e3));
    let of_ms = || {
        duration_ms(
            behind.trim().trim_start_matches('(').split(')').next()?,
            1.0,
        )
    };
    let Some(duration_ms) = of_ticks().or_else(of_ms) else {
        return false;
    };
    profile.tool = "TensorFlow Lite Micro's profiler";
    // A log has the time and the place of the call before the tag.
    let tag = tag
        .rsplit([' ', '\t', ':'])
        .next()
        .unwrap_or(tag)
        .trim_matches('"');
    if tag == "Invoke" {
        profile.inferences.push(MeasuredInference {
            name: String::new(),
            duration_ms,
        });
    } else {
        profile.operators.push(MeasuredOperator {
            kind: tag.to_owned(),
            duration_ms,
            ..MeasuredOperator::default()
        });
    }
    true
}

/// `Convolution  conv1  1.23ms  | feature_map: 224 x 224 …`.
fn read_ncnn_layer(before: &str, profile: &mut Profile) -> bool {
    let mut words = before.split_whitespace();
    let (Some(kind), Some(name), Some(time)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let Some(duration_ms) = duration_ms(time, 1.0) else {
        return false;
    };
    profile.tool = "ncnn";
    profile.operators.push(MeasuredOperator {
        kind: kind.to_owned(),
        name: name.to_owned(),
        duration_ms,
        ..MeasuredOperator::default()
    });
    true
}
