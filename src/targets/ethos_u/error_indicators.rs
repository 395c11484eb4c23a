//! Properties of a planned graph that indicate how far an estimate may be from the compiler's result.

use serde::{Deserialize, Serialize};

use crate::formats::tflite::OpKind;
use crate::graph::Graph;
use crate::learned::features::PlannedOperator;

/// A property of a planned graph; larger is less certain. [`ErrorIndicators`] has one number for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorIndicator {
    /// The inverse of the number of operators that take time: with few operators, single differences do not cancel out.
    FewOperators,
    /// Minus the logarithm of the planned cycles.
    FewCycles,
    /// Share of the cycles in operators that are not among `USUAL`.
    UnusualCycles,
    /// Share of the operators that are not among `USUAL`.
    UnusualOperators,
    /// Share of the cycles in operators whose output has channels beyond a multiple of 16.
    UnevenChannels,
    /// Bytes moved off chip for each cycle.
    OffChipBytesPerCycle,
    /// Share of weight buffers in the SRAM of the operator with the peak.
    WeightsAtPeak,
    /// Share of the cycles in the operator that takes longest.
    LongestOperator,
    /// 1 if operators stay on the CPU.
    OnCpu,
}

/// Numbers by [`ErrorIndicator`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ErrorIndicators([f64; ErrorIndicator::ALL.len()]);

/// Operators that occur in many networks.
const USUAL: [OpKind; 22] = [
    OpKind::Add,
    OpKind::AveragePool2d,
    OpKind::Concatenation,
    OpKind::Conv2d,
    OpKind::DepthwiseConv2d,
    OpKind::Dequantize,
    OpKind::ExpandDims,
    OpKind::FullyConnected,
    OpKind::HardSwish,
    OpKind::LeakyRelu,
    OpKind::Logistic,
    OpKind::MaxPool2d,
    OpKind::Mean,
    OpKind::Mul,
    OpKind::Pad,
    OpKind::Quantize,
    OpKind::Relu,
    OpKind::Relu6,
    OpKind::Reshape,
    OpKind::Softmax,
    OpKind::Squeeze,
    OpKind::Tanh,
];

/// Channels that bricks hold.
const BRICK_CHANNELS: i32 = 16;

impl ErrorIndicator {
    pub const ALL: [Self; 9] = [
        Self::FewOperators,
        Self::FewCycles,
        Self::UnusualCycles,
        Self::UnusualOperators,
        Self::UnevenChannels,
        Self::OffChipBytesPerCycle,
        Self::WeightsAtPeak,
        Self::LongestOperator,
        Self::OnCpu,
    ];
}

impl ErrorIndicators {
    /// The signals of a graph with its plan by node. Linear in nodes.
    pub fn new(graph: &Graph, planned: &[PlannedOperator], is_partly_on_cpu: bool) -> Self {
        let cycles: f64 = planned.iter().map(|one| one.cycles).sum();
        let share = |part: f64| if cycles > 0.0 { part / cycles } else { 1.0 };
        let pairs = || graph.nodes.iter().zip(planned);
        let is_unusual = |kind: OpKind| !USUAL.contains(&kind);
        let mut signals = Self::default();
        let mut set = |signal: ErrorIndicator, value: f64| signals.0[signal as usize] = value;
        let n_busy = planned.iter().filter(|one| one.cycles > 0.0).count();
        set(ErrorIndicator::FewOperators, 1.0 / n_busy.max(1) as f64);
        set(ErrorIndicator::FewCycles, -cycles.max(1.0).ln());
        let mut unusual = [0.0, 0.0];
        let mut uneven = 0.0;
        for (node, one) in pairs() {
            let is_unusual = is_unusual(node.operator.code.kind);
            unusual[0] += f64::from(u8::from(is_unusual)) * one.cycles;
            unusual[1] += f64::from(u8::from(is_unusual));
            let output = node.operator.outputs.first();
            let channels = output.and_then(|&output| graph.tensor(output).shape.last());
            let is_uneven = channels.is_some_and(|channels| channels % BRICK_CHANNELS != 0);
            uneven += f64::from(u8::from(is_uneven)) * one.cycles;
        }
        set(ErrorIndicator::UnusualCycles, share(unusual[0]));
        set(
            ErrorIndicator::UnusualOperators,
            unusual[1] / planned.len().max(1) as f64,
        );
        set(ErrorIndicator::UnevenChannels, share(uneven));
        let off_chip: f64 = planned.iter().map(|one| one.off_chip_bytes).sum();
        set(
            ErrorIndicator::OffChipBytesPerCycle,
            off_chip / cycles.max(1.0),
        );
        let peak = planned
            .iter()
            .max_by(|one, other| one.sram_bytes.total_cmp(&other.sram_bytes));
        set(
            ErrorIndicator::WeightsAtPeak,
            peak.map_or(0.0, |one| one.weight_buffer_bytes / one.sram_bytes.max(1.0)),
        );
        let longest = planned.iter().map(|one| one.cycles).fold(0.0, f64::max);
        set(ErrorIndicator::LongestOperator, share(longest));
        set(ErrorIndicator::OnCpu, f64::from(u8::from(is_partly_on_cpu)));
        signals
    }

    pub fn get(&self, signal: ErrorIndicator) -> f64 {
        self.0[signal as usize]
    }
}
