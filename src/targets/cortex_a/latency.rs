//! Latency of a network on a board, with an interval that covers every source of its error: the count of
//! instructions, the time that the board takes for them, and the threads.

use std::borrow::Borrow;

use crate::provenance::checked_percent;

use super::instruction_count::{InstructionCount, Source};
use super::{
    Board, Constants, Costs, Fit, INSTRUCTION_SPREAD, KernelCounts, SingleOperators, TargetCosts,
    inference_counts,
};

/// Of the 90 % interval, in logarithms, of the time of an instruction on cores that execute in order.
const INSTRUCTION_LOG_ERROR: f64 = 1.645 * INSTRUCTION_SPREAD;

/// The largest upper end of an interval with vendors' custom operators, in estimates: their bytes bound what they take, which
/// tells enough where the others take most of the time.
const MAX_LOOSENESS: f64 = 4.0;

/// Whether a latency with vendors' custom operators is withheld for the upper end of its interval.
pub fn is_loose(value_ms: f64, hi_ms: f64) -> bool {
    hi_ms > MAX_LOOSENESS * value_ms
}

/// Latency of one inference.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub value_ms: f64,
    /// Ends of the 90 % interval.
    pub lo_ms: f64,
    pub hi_ms: f64,
    /// Parts of `value_ms`, parallel to the operators.
    pub operators_ms: Vec<f64>,
    /// Parallel to the operators.
    pub sources: Vec<Source>,
    /// Mean error of the board's estimates on measured networks that were left out of its fit; absent if this precision
    /// was never measured on the board, or if an operator was never counted.
    pub expected_error_percent: Option<f64>,
    /// The level of the interval, where it was checked: on one thread, in the precision of a network that was measured.
    pub interval_percent: Option<u32>,
}

/// Instructions of each operator of a network. The instructions of an inference outside of operators are spread evenly
/// over them, so that they add up to the total. Linear in operators.
pub fn instruction_counts<W: Borrow<KernelCounts>>(
    costs: &TargetCosts,
    operators: &[W],
) -> Vec<InstructionCount> {
    let besides = costs
        .instructions(&inference_counts(operators))
        .unwrap_or(0.0);
    let share = besides / operators.len().max(1) as f64;
    let fitted = costs.instructions_of(operators);
    let known: Vec<f64> = fitted.iter().map(|known| known.unwrap_or(0.0)).collect();
    let of_networks = costs.class(operators, &known).interval_factor;
    let instructions = |(counts, fitted): (&W, Option<f64>)| {
        let mut counted = instruction_count(fitted, &costs.target, counts.borrow(), of_networks);
        counted.instructions += share;
        counted.besides = share;
        counted
    };
    operators.iter().zip(fitted).map(instructions).collect()
}

/// `fitted` are the instructions by the fit, if networks of the fit contain the operator.
fn instruction_count(
    fitted: Option<f64>,
    target: &str,
    counts: &KernelCounts,
    of_networks: f64,
) -> InstructionCount {
    let counted = |instructions: f64, interval_factor: f64, source| InstructionCount {
        instructions,
        besides: 0.0,
        interval_factor,
        source,
    };
    if counts.is_unknown {
        return counted(0.0, 1.0, Source::Unknown);
    }
    if let Some(instructions) = fitted {
        return counted(instructions, of_networks, Source::Networks);
    }
    let singles = SingleOperators::shipped().target(target);
    if let Some(kernel) = singles.and_then(|constants| constants.kernels.get(&*counts.kernel)) {
        let factor = kernel.interval_factor.max(of_networks);
        return counted(kernel.instructions(counts), factor, Source::SingleOperators);
    }
    let bound = singles.map(|constants| constants.bound).unwrap_or_default();
    counted(
        bound.instructions(counts),
        bound.interval_factor.max(of_networks),
        Source::GeneralCost,
    )
}

/// Latency on `n_threads` threads; `None` if the board's kernels were never counted or the board was never measured.
pub fn latency<W: Borrow<KernelCounts>>(
    board: &Board,
    operators: &[W],
    n_threads: u32,
) -> Option<Latency> {
    let costs = Costs::shipped().target(&board.counted_as)?;
    latency_of(
        board,
        operators,
        &instruction_counts(costs, operators),
        n_threads,
    )
}

/// As [`latency`], with known instructions of each operator.
pub fn latency_of<W: Borrow<KernelCounts>>(
    board: &Board,
    operators: &[W],
    counted: &[InstructionCount],
    n_threads: u32,
) -> Option<Latency> {
    let constants = Constants::shipped();
    let mut sum = LatencySum::default();
    let mut operators_ms = Vec::with_capacity(operators.len());
    let mut interval_percent = checked_percent(usize::MAX, 100.0).filter(|_| n_threads == 1);
    // Errors for float32 and for int8 operators.
    let errors = [false, true].map(|is_int8| BoardError::new(board, is_int8, n_threads));
    for (counts, counted) in operators.iter().map(Borrow::borrow).zip(counted) {
        let BoardError {
            fit,
            by_threads,
            mean_percent,
        } = errors[usize::from(counts.is_int8)].as_ref()?;
        interval_percent = interval_percent.min(mean_percent.and(fit.checked_percent()));
        let multiplies = counts.macs > 0.0;
        let in_order = fit.nanoseconds.work.is_some();
        let is_measured = !in_order || constants.is_measured(counts, counted.source);
        // Products of floats were never measured on such boards: instructions tell more than multiply-accumulates.
        let one_thread_ms = if in_order && multiplies && !counts.is_int8 {
            1e-6 * fit.ns_per_instruction * counted.instructions
        } else {
            let nanoseconds = &fit.nanoseconds;
            nanoseconds.operator_ms(counts, counted, board.cached_bytes, is_measured)
        };
        let is_parallel = counted.is_parallel(counts.class);
        let (speedup, factor) = by_threads[usize::from(is_parallel)];
        let ms = one_thread_ms / speedup;
        let of_count = if in_order && multiplies && counts.is_int8 {
            // No instruction of an operator that multiplies is counted where its work takes the time.
            1.0
        } else if is_measured {
            counted.interval_factor
        } else {
            let of_instructions = counted.interval_factor.ln();
            of_instructions.hypot(INSTRUCTION_LOG_ERROR).exp()
        };
        sum.add(ms, of_count, factor, *mean_percent);
        operators_ms.push(ms);
    }
    let sources: Vec<Source> = counted.iter().map(|counted| counted.source).collect();
    let [lo_ms, hi_ms] = sum.interval();
    let is_counted = !sources.contains(&Source::GeneralCost);
    Some(Latency {
        value_ms: sum.ms,
        lo_ms,
        hi_ms,
        operators_ms,
        sources,
        expected_error_percent: sum.error_percent().filter(|_| is_counted),
        interval_percent: interval_percent.filter(|_| is_counted),
    })
}

/// The error of the board, in addition to that of the count.
struct BoardError<'b> {
    fit: &'b Fit,
    /// Speed-up over one thread, and the factor of its 90 % interval: for the operators that run on one thread, and for
    /// those that run on all.
    by_threads: [(f64, f64); 2],
    /// Mean error; absent if this precision was never measured on the board.
    mean_percent: Option<f64>,
}

impl<'b> BoardError<'b> {
    fn new(board: &'b Board, is_int8: bool, n_threads: u32) -> Option<Self> {
        let (fit, is_other_precision) = board.fit(is_int8)?;
        let with_threads = |n_threads: u32| {
            let mut error = fit.interval_factor.ln().powi(2);
            if is_other_precision {
                error += Constants::shipped().other_precision_factor.ln().powi(2);
            }
            if n_threads > 1 {
                error += fit.speedup_factor.ln().powi(2);
            }
            (fit.speedup(n_threads), error.sqrt().exp())
        };
        Some(Self {
            by_threads: [1, n_threads].map(with_threads),
            mean_percent: (!is_other_precision).then_some(fit.left_out.mean_percent),
            fit,
        })
    }
}

/// LatencySum of the operators' parts of a latency. Errors of counts add up, because operators of the same kind have similar
/// errors; the errors of the counts and of the board are independent of each other.
#[derive(Default)]
struct LatencySum {
    ms: f64,
    by_count: [f64; 2],
    by_board: [f64; 2],
    error: f64,
    is_error_known: Option<bool>,
}

impl LatencySum {
    fn add(&mut self, ms: f64, count_factor: f64, board_factor: f64, percent: Option<f64>) {
        self.ms += ms;
        self.by_count[0] += ms / count_factor;
        self.by_count[1] += ms * count_factor;
        self.by_board[0] += ms / board_factor;
        self.by_board[1] += ms * board_factor;
        self.error += ms * percent.unwrap_or(0.0);
        let is_known = self.is_error_known.unwrap_or(true) && percent.is_some();
        self.is_error_known = Some(is_known);
    }

    fn interval(&self) -> [f64; 2] {
        if self.ms <= 0.0 {
            return [0.0, 0.0];
        }
        [0, 1].map(|end| {
            let log = |sum: [f64; 2]| (sum[end] / self.ms).ln();
            let both = log(self.by_count).hypot(log(self.by_board));
            self.ms * if end == 0 { -both } else { both }.exp()
        })
    }

    fn error_percent(&self) -> Option<f64> {
        let mean = self.error / self.ms;
        (self.is_error_known == Some(true) && mean.is_finite()).then_some(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::cortex_a::Class;
    use crate::targets::cortex_a::Terms;

    const NUMBERS: [&str; 8] = [
        "float32", "float16", "int8", "uint8", "int16", "int32", "int64", "dynamic",
    ];

    /// Of an operator that reads and writes so many values of four bytes in all.
    fn counts_of(name: &str, numbers: &str, values: f64) -> KernelCounts {
        KernelCounts {
            kernel: format!("{name} {numbers}").into(),
            class: Class::Other,
            is_int8: true,
            terms: Terms::new(&[
                ("outputs", values / 2.0),
                ("inputs", values / 2.0),
                ("operators", 1.0),
            ]),
            bytes: 4.0 * values,
            weight_bytes: 0.0,
            macs: 0.0,
            values,
            copies: false,
            is_unknown: false,
        }
    }

    /// By hand: 3 ms whose count is off by a factor of 2, 1 ms whose count is exact, a board off by 1.5.
    #[test]
    fn an_operator_widens_the_interval_by_its_share() {
        let mut sum = LatencySum::default();
        sum.add(3.0, 2.0, 1.5, Some(10.0));
        sum.add(1.0, 1.0, 1.5, Some(20.0));
        let both = (7.0f64 / 4.0).ln().hypot(1.5f64.ln());
        let [lo, hi] = sum.interval();
        println!("{lo:.3} to {hi:.3} ms");
        assert!((hi - 4.0 * both.exp()).abs() < 1e-12);
        let both = (2.5f64 / 4.0).ln().hypot(1.5f64.ln());
        assert!((lo - 4.0 * (-both).exp()).abs() < 1e-12);
        assert_eq!(sum.error_percent(), Some(12.5));
        sum.add(1.0, 1.0, 1.0, None);
        assert_eq!(sum.error_percent(), None);
    }

    /// Every operator of the schema in every element type: none is free, and each has an interval.
    #[test]
    fn no_operator_takes_no_time() {
        for costs in &Costs::shipped().targets {
            // Counted in networks, counted alone, bounded.
            let mut n_by_numbers = [[0; 3]; 8];
            for operator in crate::formats::tflite::schema::BuiltinOperator::ENUM_VALUES {
                for (row, numbers) in n_by_numbers.iter_mut().zip(NUMBERS) {
                    let name = operator.variant_name().unwrap_or("?");
                    let counts = counts_of(name, numbers, 1000.0);
                    let [counted] = instruction_counts(costs, &[counts])[..] else {
                        panic!("expected one count");
                    };
                    assert!(counted.instructions > 0.0, "{name} {numbers}");
                    assert!(counted.interval_factor > 1.0, "{name} {numbers}");
                    let place = match counted.source {
                        Source::Networks => 0,
                        Source::SingleOperators => 1,
                        Source::GeneralCost => 2,
                        Source::Unknown => panic!("{name} is in the schema"),
                    };
                    row[place] += 1;
                }
            }
            for (numbers, [networks, alone, bounded]) in NUMBERS.iter().zip(n_by_numbers) {
                println!(
                    "{} {numbers}: {networks} operators counted in networks, {alone} alone, {bounded} bounded",
                    costs.target
                );
            }
        }
    }

    /// Of operators that multiply nothing, in every element type and three sizes: boards that run the same kernels, the
    /// faster one first.
    #[test]
    fn faster_cores_are_not_slower() {
        let pairs = [
            ["cortex-a76-rpi5", "cortex-a55-imx93"],
            ["cortex-a72-rpi4", "cortex-a53-imx8mp"],
            ["cortex-a53-imx8mp", "cortex-a7-stm32mp157"],
        ];
        let operators = crate::formats::tflite::schema::BuiltinOperator::ENUM_VALUES;
        let names = operators
            .iter()
            .filter_map(|operator| operator.variant_name());
        for ((name, numbers), values) in names
            .flat_map(|name| NUMBERS.map(|numbers| (name, numbers)))
            .flat_map(|kernel| [100.0, 1e4, 1e6].map(|values| (kernel, values)))
        {
            let computes = counts_of(name, numbers, values);
            let copies = KernelCounts {
                copies: true,
                ..computes.clone()
            };
            let cases = pairs
                .iter()
                .flat_map(|pair| [(pair, &computes), (pair, &copies)]);
            for (pair, counts) in cases {
                let [fast, slow] = pair.map(|target| {
                    let board = Constants::shipped().board(target).unwrap();
                    latency(board, &[counts], board.threads(1))
                        .unwrap()
                        .value_ms
                });
                assert!(
                    fast <= slow,
                    "{name} {numbers}, {values}: {pair:?} {fast} {slow}"
                );
            }
        }
    }

    /// An operator that the interpreter runs costs what the processor takes for its instructions, and an inference of
    /// one operator is counted once.
    #[test]
    fn operators_of_the_interpreter_have_its_cost() {
        let negated = |values: f64, target: &str| {
            let costs = Costs::shipped().target(target).unwrap();
            let counts = KernelCounts {
                kernel: "ABS int16".into(),
                class: Class::Other,
                is_int8: true,
                terms: Terms::new(&[]),
                bytes: 0.0,
                weight_bytes: 0.0,
                macs: 0.0,
                values,
                copies: false,
                is_unknown: false,
            };
            instruction_counts(costs, &[counts])[0]
        };
        for board in &Constants::shipped().boards {
            let small = negated(2.0, &board.counted_as);
            println!("{}: {small:?}", board.target);
            assert!(
                (1e4..1.3e4).contains(&small.instructions),
                "LiteRT counts 11,660"
            );
            assert_eq!(small.interpreted(Class::Other), small.instructions);
            assert_eq!(small.interpreted(Class::Matrix), small.besides);
            let (fit, _) = board.fit(true).unwrap();
            let ms = fit.nanoseconds.latency_ms(Class::Other, &small, 0.0);
            assert!((0.001..0.03).contains(&ms), "{ms} ms for {small:?}");
        }
    }

    #[test]
    fn nothing_takes_no_time() {
        assert_eq!(LatencySum::default().interval(), [0.0, 0.0]);
    }
}
