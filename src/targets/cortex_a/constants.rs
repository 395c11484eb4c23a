//! Milliseconds and millijoules of instructions on measured boards: the fitted constants of `constants.json`, which
//! `litecast-trainer fit-cpu` writes.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{Class, InstructionCount, KernelCounts, Source};
use crate::fields;
use crate::provenance::checked_percent;
use crate::target::MeasuredRange;

/// The constants of all boards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// The command that writes the file.
    pub command: String,
    /// Error factor of a precision that was not measured on a board and uses the other precision's constants: the largest
    /// factor on boards with both.
    pub other_precision_factor: f64,
    /// Kinds of operators that multiply nothing and that networks of several families have, which were measured on a board
    /// whose cores execute in order.
    pub operators: BTreeSet<String>,
    pub boards: Vec<Board>,
}

/// One board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Board {
    pub target: String,
    /// The hardware in words.
    pub device: String,
    /// The target of [`super::Costs`] with the same kernels.
    pub counted_as: String,
    pub n_cores: u32,
    /// The only number of threads that it was measured with, if there is only one: its estimates are for that number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_threads: Option<u32>,
    /// Capacity of the shared cache. Bytes of operators that fit into it take no time of their own; 0 if the time of all
    /// bytes was fitted.
    #[serde(default)]
    pub cached_bytes: f64,
    /// For float32 operators; absent if none was measured.
    pub float32: Option<Fit>,
    /// For integer operators; absent if none was measured.
    pub int8: Option<Fit>,
    pub energy: Option<Energy>,
}

/// Constants of one precision, and their errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    pub nanoseconds: Nanoseconds,
    /// For networks whose instructions are known only as a total.
    pub ns_per_instruction: f64,
    /// Speed-up of 1, 2, 3, ... threads over one thread of the operators that run on several, averaged over the measured
    /// networks; the first is 1.
    pub speedups: Vec<f64>,
    /// Latencies of all measured networks, on any number of threads.
    pub measured_range: MeasuredRange,
    /// The measured networks, by family.
    pub measured: Vec<Family>,
    /// Errors with each family left out of the fit in turn (each network, if there is only one family).
    pub left_out: Errors,
    /// The 90 % interval on one thread is the estimate divided by and multiplied with this factor.
    pub interval_factor: f64,
    /// Share of networks inside an interval that was computed without their family.
    pub coverage_percent: f64,
    /// The factor of the 90 % interval of `speedups`; 1 if no speed-up was measured.
    pub speedup_factor: f64,
}

/// Time of one instruction of each class, and of each byte of activations and weights that the board's cache does not
/// hold. On cores that execute in order, a byte of operators that copy and were not measured, and the work of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nanoseconds {
    pub matrix: f64,
    pub depthwise: f64,
    /// Of the operators of networks that XNNPACK runs, beside matrix operators and depthwise convolutions.
    pub other: f64,
    /// Of the interpreter and of its own kernels.
    pub interpreter: f64,
    pub byte: f64,
    /// Present if latencies of the board are proportional to work and not to instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkNanoseconds>,
}

/// Time of one multiply-accumulate, and of one byte of activations and of weights, whatever the caches hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkNanoseconds {
    pub mac: f64,
    pub activation_byte: f64,
    pub weight_byte: f64,
}

impl WorkNanoseconds {
    /// Nanoseconds of an operator that runs on a processor.
    fn operator_ns(&self, counts: &KernelCounts) -> f64 {
        if counts.is_unknown {
            return 0.0;
        }
        // A value of any type takes what a byte of int8 does: its time is that of an access.
        self.mac * counts.macs
            + self.activation_byte * counts.values
            + self.weight_byte * counts.weight_bytes
    }
}

/// Measured networks of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    pub name: String,
    pub source: String,
    pub n_networks: usize,
    /// Mean absolute error with this family left out.
    pub left_out_percent: f64,
}

/// A fitted value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    pub value: f64,
    pub standard_error: f64,
}

/// Errors of estimates relative to the measured values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    pub n: usize,
    pub mean_percent: f64,
    pub median_percent: f64,
    pub p95_percent: f64,
    /// Mean signed error: positive if estimates are too high.
    pub bias_percent: f64,
}

/// Energy as power times estimated latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Measured energy divided by measured latency, in mJ/ms, on one thread.
    pub watts: Constant,
    /// The supply rail whose power was measured.
    pub rail: String,
    /// Errors of power times estimated latency, on networks that were left out of the fit.
    pub error: Errors,
    /// Factor of the 90 % interval of the power.
    pub interval_factor: f64,
}

impl Fit {
    /// The level of the interval, if the networks that were left out tell it.
    pub fn checked_percent(&self) -> Option<u32> {
        let n_networks = self.measured.iter().map(|family| family.n_networks).sum();
        checked_percent(n_networks, self.coverage_percent)
    }
}

impl Constants {
    /// The constants that this version ships.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Constants> = LazyLock::new(|| {
            fields::from_json(include_bytes!("constants.json"))
                .expect("the shipped file is what `fit-cpu` wrote")
        });
        &SHIPPED
    }

    pub fn board(&self, target: &str) -> Option<&Board> {
        self.boards.iter().find(|board| board.target == target)
    }

    /// Whether the time of such an operator was fitted on cores that execute in order: of those that multiply, and of what
    /// XNNPACK runs in networks of several families.
    pub fn is_measured(&self, counts: &KernelCounts, source: Source) -> bool {
        let kind = counts.kernel.split(' ').next();
        let of_kind = || kind.is_some_and(|kind| self.operators.contains(kind));
        counts.macs > 0.0 || source == Source::Networks && of_kind()
    }
}

/// Standard deviation of the logarithm of the time of an instruction of the interpreter on cores that execute in order,
/// which measured networks hardly tell.
pub const INSTRUCTION_SPREAD: f64 = 0.5;

/// Kinds of networks without a measurement on any board.
pub const NEVER_MEASURED: &str =
    "transformers, recurrent networks, float16 weights, dynamic range, int16 activations";

impl Board {
    /// The number of threads that a latency is for if `asked` threads were asked for.
    pub fn threads(&self, asked: u32) -> u32 {
        self.only_threads.unwrap_or(asked.min(self.n_cores))
    }

    /// The constants of a precision, or those of the other one if it was not measured; the flag is true for the latter.
    pub fn fit(&self, is_int8: bool) -> Option<(&Fit, bool)> {
        let (same_type, other) = if is_int8 {
            (&self.int8, &self.float32)
        } else {
            (&self.float32, &self.int8)
        };
        let other = other.as_ref().map(|fit| (fit, true));
        same_type.as_ref().map(|fit| (fit, false)).or(other)
    }

    /// Latency on one thread of a network of which only the number of instructions is known; `None` if nothing was
    /// measured on the board.
    pub fn latency_of_count_ms(&self, instructions: f64, is_int8: bool) -> Option<f64> {
        let (fit, _) = self.fit(is_int8)?;
        Some(1e-6 * fit.ns_per_instruction * instructions)
    }

    /// The measured networks by kind with the errors when they are left out, and what was never measured, in words.
    pub fn in_words(&self) -> String {
        let sentence = |name: &str, fit: &Option<Fit>| match fit {
            Some(fit) => format!("{name}: {}", fit.in_words()),
            None => format!("{name} was never measured on this board"),
        };
        format!(
            "{}; {}",
            sentence("float32", &self.float32),
            sentence("int8", &self.int8)
        )
    }
}

impl Fit {
    pub fn in_words(&self) -> String {
        let of_family = |family: &Family| {
            let Family {
                name,
                n_networks,
                left_out_percent,
                ..
            } = family;
            format!("{n_networks} {name} ({left_out_percent:.1} %)")
        };
        let families: Vec<String> = self.measured.iter().map(of_family).collect();
        let is_any_faster = self.speedups.iter().any(|&speedup| speedup > 1.0);
        let threads = match self.speedups.len() {
            0 | 1 => "one thread only".to_owned(),
            n if is_any_faster => format!("1 to {n} threads"),
            n => format!("{n} threads only"),
        };
        format!(
            "measured on {threads}: {}; in brackets the mean error with the kind left out of the fit, {:.1} % \
             over all",
            families.join(", "),
            self.left_out.mean_percent
        )
    }

    /// Speed-up of `n_threads` threads: the measured one, or by Amdahl's law from the largest measured number of threads.
    pub fn speedup(&self, n_threads: u32) -> f64 {
        let wanted = f64::from(n_threads.max(1));
        let measured = |n: u32| self.speedups.get(n.saturating_sub(1) as usize).copied();
        match (measured(n_threads.max(1)), self.speedups.last()) {
            (Some(speedup), _) => speedup,
            (None, Some(&last)) if self.speedups.len() > 1 => {
                let n = self.speedups.len() as f64;
                let serial = ((n / last - 1.0) / (n - 1.0)).clamp(0.0, 1.0);
                1.0 / (serial + (1.0 - serial) / wanted)
            }
            _ => 1.0,
        }
    }
}

impl Nanoseconds {
    /// Milliseconds of an operator on one thread of a board whose cache holds so many bytes.
    pub fn operator_ms(
        &self,
        counts: &KernelCounts,
        counted: &InstructionCount,
        cached_bytes: f64,
        is_measured: bool,
    ) -> f64 {
        let bytes = counts.uncached_bytes(cached_bytes);
        let Some(work) = self.work else {
            return self.latency_ms(counts.class, counted, bytes);
        };
        if is_measured {
            return self.latency_ms(counts.class, counted, 0.0) + 1e-6 * work.operator_ns(counts);
        }
        let besides_instructions = if counts.copies {
            self.byte * bytes
        } else {
            work.operator_ns(counts)
        };
        1e-6 * (self.interpreter * counted.instructions + besides_instructions)
    }

    /// Milliseconds on one thread.
    pub fn latency_ms(&self, class: Class, counted: &InstructionCount, bytes: f64) -> f64 {
        let per_instruction = match class {
            Class::Matrix | Class::Recurrent => self.matrix,
            Class::Depthwise => self.depthwise,
            Class::Other => self.other,
        };
        let interpreted = counted.interpreted(class);
        let direct = counted.instructions - interpreted;
        1e-6 * (per_instruction * direct + self.interpreter * interpreted + self.byte * bytes)
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
    use crate::targets::cortex_a::Source;

    /// By hand: 2 million instructions, half a million of them the interpreter's, and a million bytes.
    #[test]
    fn latencies_follow_from_the_constants() {
        let ns = Nanoseconds {
            matrix: 0.5,
            depthwise: 1.0,
            other: 2.0,
            interpreter: 3.0,
            byte: 0.25,
            work: None,
        };
        let counted = |source| InstructionCount {
            instructions: 2e6,
            besides: 5e5,
            interval_factor: 1.0,
            source,
        };
        let [xnnpack, single_operators] = [Source::Networks, Source::SingleOperators].map(counted);
        assert_eq!(ns.latency_ms(Class::Matrix, &xnnpack, 1e6), 2.5);
        assert_eq!(ns.latency_ms(Class::Other, &xnnpack, 0.0), 4.5);
        assert_eq!(ns.latency_ms(Class::Other, &single_operators, 0.0), 6.0);
    }

    /// Four threads make a half serial network 1.6 times as fast, whence two make it 1.33 times as fast.
    #[test]
    fn threads_between_measured_ones_follow_amdahl() {
        let mut fit = Constants::shipped().boards[0].float32.clone().unwrap();
        fit.speedups = vec![1.0, 1.5];
        assert_eq!(fit.speedup(2), 1.5);
        assert!((fit.speedup(4) - 2.0).abs() < 1e-9, "{}", fit.speedup(4));
        fit.speedups = vec![1.0];
        assert_eq!(fit.speedup(4), 1.0);
    }
}
