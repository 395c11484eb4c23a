//! Tools that print one sentence for each number.

use super::error::ProfileError;
use super::formats::MICRO_PROFILER;
use super::number::{duration_ms, number, unit_ms};
use super::profile::{MeasuredInference, MeasuredOperator, Profile};

/// Operators in ticks of a clock that nobody told, beside whole milliseconds.
#[derive(Default)]
pub struct Ticks {
    /// Line of the last of them.
    line_no: usize,
    /// Place among the operators, ticks, and the milliseconds without their fraction.
    operators: Vec<(usize, f64, f64)>,
}

impl Ticks {
    /// Gives operators the fractions of their milliseconds: each of them bounds the clock.
    pub fn close(self, profile: &mut Profile) -> Result<(), ProfileError> {
        let (mut least, mut most) = (0.0_f64, f64::INFINITY);
        for (_, ticks, ms) in &self.operators {
            least = least.max(ticks / (ms + 1.0));
            most = most.min(ticks / ms);
        }
        if most.is_infinite() && !self.operators.is_empty() {
            return Err(ProfileError::NoClock {
                line: self.line_no,
                tool: MICRO_PROFILER,
            });
        }
        // Milliseconds that are those of no clock stay as they are.
        for (idx, ticks, _) in self.operators.iter().filter(|_| least <= most) {
            profile.operators[*idx].duration_ms = ticks / (least * most).sqrt();
        }
        Ok(())
    }
}

/// Reads a line into `profile`; false where it is no such sentence.
pub fn read(
    (line_no, line): (usize, &str),
    clock_mhz: Option<f64>,
    profile: &mut Profile,
    ticks: &mut Ticks,
) -> bool {
    let line = line.trim();
    // Each of the sentences has one of these, and most rows of a table have none.
    if !line.contains(['=', ':', ' ']) {
        return false;
    }
    if profile.tool_version.is_empty()
        && let Some(version) = tool_version(line)
    {
        version.clone_into(&mut profile.tool_version);
        return true;
    }
    if let Some((before, behind)) = line.split_once("avg =") {
        return best_of_runs(before, behind, profile);
    }
    if line.contains("nference ") {
        // The last two in older versions; LiteRT's tool in Python prints the mean before the median, which counts.
        for inference in [
            "Inference (avg):",
            "Inference (median):",
            "no stats: ",
            ", Inference: ",
        ] {
            if let Some((_, behind)) = line.split_once(inference) {
                return read_benchmark_model(behind, profile);
            }
        }
    }
    if let Some((_, behind)) = line.split_once("Median:")
        && line.starts_with("[ INFO ]")
    {
        return read_benchmark_app(behind, profile);
    }
    if let Some((layer, behind)) = line.split_once("layerType:") {
        return read_counter(layer, behind, profile).is_some();
    }
    profile.is_sorted |= line.contains("Performance counts sorted");
    if let Some((tag, behind)) = line.split_once(" took ") {
        let n_operators = profile.operators.len();
        let read = read_micro_profiler(tag, behind, clock_mhz, profile);
        if let (None, true, Some((n_ticks, ms))) =
            (clock_mhz, profile.operators.len() > n_operators, read)
        {
            ticks.line_no = line_no;
            ticks.operators.push((n_operators, n_ticks, ms));
        }
        return read.is_some();
    }
    if let Some((before, _)) = line.split_once('|') {
        return read_ncnn_layer(before, profile);
    }
    false
}

/// `[ INFO ] Build ................................. 2026.4.1-22982-e213a147257` (OpenVINO's benchmark_app),
/// `ST Edge AI Core v2.0.0-20049` (ST's validation).
fn tool_version(line: &str) -> Option<&str> {
    let version = match line.split_once("ST Edge AI Core v") {
        Some((_, version)) => version,
        None => line
            .strip_prefix("[ INFO ] Build ")?
            .trim_start_matches(['.', ' ']),
    };
    let version = version.split([' ', '-']).next()?;
    let is_version = version.len() <= 32 && version.starts_with(|c: char| c.is_ascii_digit());
    is_version.then_some(version)
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

/// `conv1  Status.EXECUTED  layerType: Convolution  execType: jit_avx512_f32  realTime (ms): 0.235  cpuTime (ms): 0.235`
/// (OpenVINO's benchmark_app with `-pc`).
fn read_counter(layer: &str, behind: &str, profile: &mut Profile) -> Option<()> {
    let (name, _) = layer.trim_end().rsplit_once(' ')?;
    let (_, time) = behind.split_once("realTime (ms):")?;
    let duration_ms = duration_ms(time.split_whitespace().next()?, 1.0)?;
    profile.tool = "OpenVINO";
    profile.operators.push(MeasuredOperator {
        // Of long names it prints the start.
        name: match name.trim() {
            cut if cut.ends_with("...") => String::new(),
            name => name.to_owned(),
        },
        kind: behind.split_whitespace().next()?.to_owned(),
        duration_ms,
        ..MeasuredOperator::default()
    });
    Some(())
}

/// `CONV_2D took 4646 ticks (4 ms).`: the ticks where their clock is known, or else the milliseconds, which have no
/// fraction.
fn read_micro_profiler(
    tag: &str,
    behind: &str,
    clock_mhz: Option<f64>,
    profile: &mut Profile,
) -> Option<(f64, f64)> {
    let (ticks, behind) = behind.split_once(" ticks")?;
    let ticks = number(ticks)?;
    let in_ms = behind.trim().trim_start_matches('(').split(')').next()?;
    let duration_ms = match clock_mhz {
        Some(clock_mhz) => ticks / (clock_mhz * 1e3),
        None => duration_ms(in_ms, 1.0)?,
    };
    profile.tool = MICRO_PROFILER;
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
            n_calls: 1,
            duration_ms,
            ..MeasuredOperator::default()
        });
    }
    Some((ticks, duration_ms))
}

/// `Convolution  conv1  1.23ms  | feature_map: 224 x 224 …`, `Pooling  pool1  38.23us  |`.
fn read_ncnn_layer(before: &str, profile: &mut Profile) -> bool {
    let words: Vec<&str> = before.split_whitespace().take(4).collect();
    let [kind, name, time] = *words else {
        return false;
    };
    let Some(duration_ms) = unit_ms(time).and_then(|unit_ms| duration_ms(time, unit_ms)) else {
        return false;
    };
    profile.tool = "ncnn";
    profile.operators.push(MeasuredOperator {
        kind: kind.to_owned(),
        name: name.to_owned(),
        // It prints two digits, which are those of none for a short one.
        n_calls: 1,
        duration_ms,
        ..MeasuredOperator::default()
    });
    true
}
