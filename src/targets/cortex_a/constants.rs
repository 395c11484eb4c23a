//! The fitted constants: `constants.json`, which `litecast-trainer fit-cpu` writes.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The constants of all boards, with how they were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// What remakes the file.
    pub command: String,
    /// Of the counted instructions.
    pub tool: String,
    pub boards: Vec<Board>,
}

/// One board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Board {
    pub target: String,
    /// The hardware in words.
    pub device: String,
    /// Where the measurements come from.
    pub source: String,
    /// Networks that the constants were fitted on.
    pub n_fitted: usize,
    /// Measured nanoseconds by executed instruction, of float32 networks.
    pub ns_per_instruction: Constant,
    /// Of the estimated latency, on networks that nothing was fitted on.
    pub latency_error: Errors,
    /// An instruction of an int8 network beside one of a float32 network: from [`Self::checks`], absent
    /// on a board without, where both count alike.
    pub int8_factor: Option<f64>,
    pub energy: Option<Energy>,
    /// Other networks on the same board, under another runtime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// A fitted value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    pub value: f64,
    pub standard_error: f64,
}

/// How far off estimates are, relative to the measured values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    pub n: usize,
    pub mean_percent: f64,
    pub p95_percent: f64,
    /// Mean with its sign: positive where estimates are too high.
    pub bias_percent: f64,
}

/// Energy as power times estimated latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Measured energy by measured latency: mJ/ms.
    pub watts: Constant,
    /// What the power is of.
    pub rail: String,
    /// Of power times estimated latency, on networks that nothing was fitted on.
    pub error: Errors,
}

/// How well instructions tell the latencies of other networks, all of one precision. The constants are
/// not the board's: that runtime has other kernels and probably runs on more cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub source: String,
    /// `int8` or `float32`.
    pub precision: String,
    pub ns_per_instruction: f64,
    /// Each network left out in turn.
    pub error: Errors,
    /// With stores as a second term, which depthwise layers have many of beside little arithmetic.
    pub with_stores: WithStores,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithStores {
    pub ns_per_instruction: f64,
    pub ns_per_store: f64,
    pub error: Errors,
}

impl Constants {
    /// Those of this version.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Constants> = LazyLock::new(|| {
            serde_json::from_str(include_str!("constants.json"))
                .expect("the shipped file is what `fit-cpu` wrote")
        });
        &SHIPPED
    }

    pub fn board(&self, target: &str) -> Option<&Board> {
        self.boards.iter().find(|board| board.target == target)
    }
}

impl Board {
    /// Of so many executed instructions; `is_int8`: of an int8 network.
    pub fn latency_ms(&self, instructions: f64, is_int8: bool) -> f64 {
        let factor = self.int8_factor.filter(|_| is_int8).unwrap_or(1.0);
        1e-6 * self.ns_per_instruction.value * factor * instructions
    }

    /// The fit in words.
    pub fn in_words(&self) -> String {
        let Errors {
            n, mean_percent, ..
        } = self.latency_error;
        let int8 = match self.int8_factor {
            Some(factor) => format!("an int8 instruction counts {factor:.2}"),
            None => "int8 was not measured".to_owned(),
        };
        format!(
            "{:.3} ns an instruction, fitted to {} measured float32 networks, off by {mean_percent:.1} % on \
             {n} others; {int8}",
            self.ns_per_instruction.value, self.n_fitted
        )
    }
}

impl Energy {
    /// The model in words.
    pub fn in_words(&self) -> String {
        format!(
            "estimated latency times {:.2} W of {}, off by {:.1} % on {} measured networks",
            self.watts.value, self.rail, self.error.mean_percent, self.error.n
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the shipped constants.
    #[test]
    fn latencies_follow_from_the_constants() {
        for board in &Constants::shipped().boards {
            let float32_ms = board.latency_ms(2e6, false);
            assert!((float32_ms - 2.0 * board.ns_per_instruction.value).abs() < 1e-9);
            let factor = board.int8_factor.unwrap_or(1.0);
            assert!((board.latency_ms(2e6, true) - factor * float32_ms).abs() < 1e-9);
        }
    }
}
