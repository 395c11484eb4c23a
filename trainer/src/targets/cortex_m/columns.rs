//! The counts that share a cost, for each runtime.

use litecast::targets::cortex_m::Term::{self, *};

/// Counts that share one cost, each with its multiple of it.
pub type Column = &'static [(Term, f64)];

/// The cost of a column before any measurement: cycles, and the standard deviation of the logarithm.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    pub cycles: f64,
    pub spread: f64,
}

/// Convolutions and dense layers share a cost: a dense layer reads as many weights for one row of inputs as a
/// convolution reads for two.
pub const ST_EDGE_AI: &[Column] = &[
    &[(ConvolutionProducts, 1.0), (DenseProducts, 2.0)],
    &[(CopiedInputs, 1.0)],
    &[(UnalignedProducts, 1.0)],
    &[(UncachedProducts, 1.0)],
    &[(DepthwiseProducts, 1.0)],
    &[
        (ConvolutionOutputs, 1.0),
        (DepthwiseOutputs, 1.0),
        (DenseOutputs, 1.0),
        (PooledInputs, 1.0),
        (ElementwiseOutputs, 1.0),
        (MovedOutputs, 1.0),
        (ConvertedOutputs, 1.0),
    ],
    &[(OffChipBytes, 1.0)],
    &[(OffChipWeightBytes, 1.0)],
];

/// Cycles on a Cortex-M7 for each of [`ST_EDGE_AI`]: two products in an instruction and loads for them; four cycles for a
/// value that is widened to 16 bits and stored; ten for a value that is scaled, clamped and stored; a cycle for a byte of
/// external memory. A line of 32 bytes of an STM32H7's flash takes some 24 cycles and serves 64 products, half of it
/// behind other work. The board's external flash gives a byte in each clock of 100 MHz, over eight wires, and takes up to
/// 18 clocks for a command and an address before each line: 4 to 6.25 cycles a byte at 400 MHz.
pub const ST_EDGE_AI_PRIORS: &[Prior] = &[
    known_prior(0.75),
    known_prior(4.0),
    known_prior(0.5),
    Prior {
        cycles: 0.2,
        spread: 0.7,
    },
    known_prior(4.0),
    known_prior(10.0),
    known_prior(1.0),
    known_prior(5.0),
];

const fn known_prior(cycles: f64) -> Prior {
    Prior {
        cycles,
        spread: 0.3,
    }
}

pub const TFLITE_MICRO: &[Column] = &[
    &[(ConvolutionProducts, 1.0), (DenseProducts, 1.0)],
    &[(CopiedInputs, 1.0)],
    &[(DepthwiseProducts, 1.0)],
    &[
        (ConvolutionOutputs, 1.0),
        (DepthwiseOutputs, 1.0),
        (DenseOutputs, 1.0),
    ],
    &[
        (PooledInputs, 1.0),
        (MovedOutputs, 1.0),
        (ConvertedOutputs, 1.0),
    ],
    &[(ElementwiseOutputs, 1.0)],
];

/// An ESP32 reads its flash through a cache with lines of 32 bytes: 8 clocks for the command, 12 for the address, 4 for
/// the mode and 128 for the data over two wires. ESP-IDF's default clock for the flash is 40 MHz, and the processor
/// runs at 240 MHz: 152 × 6 cycles per line. Each operator reads its weights once.
pub const ESP_FLASH: &[(Term, f64)] = &[(WeightBytes, 152.0 * 6.0 / 32.0)];

pub const ESP_NN: &[Column] = &[
    &[(ConvolutionProducts, 1.0), (DenseProducts, 1.0)],
    &[(DepthwiseProducts, 1.0)],
    &[
        (PooledInputs, 1.0),
        (MovedOutputs, 1.0),
        (ConvertedOutputs, 1.0),
    ],
    &[(ElementwiseOutputs, 1.0)],
];

/// The NPU waits for memory, and each operator is started by itself.
pub const NEURAL_ART: &[Column] = &[
    &[
        (ConvolutionProducts, 1.0),
        (DenseProducts, 1.0),
        (DepthwiseProducts, 1.0),
    ],
    &[(ActivationBytes, 1.0)],
    &[(WeightBytes, 1.0)],
    &[(Operators, 1.0)],
];

/// Cycles for each of [`NEURAL_ART`] at 1 GHz. Products: the data sheet's 600 Gop/s, 300 in a cycle. Weights: the boards'
/// flash, eight wires at 200 MHz on both edges, 0.4 bytes in a cycle. Activations: four bytes in a cycle, which nobody
/// publishes. An operator: an interrupt and the registers of the next one, some ten microseconds.
pub const NEURAL_ART_PRIORS: &[Prior] = &[
    known_prior(1.0 / 300.0),
    Prior {
        cycles: 0.25,
        spread: 1.0,
    },
    Prior {
        cycles: 2.5,
        spread: 0.2,
    },
    known_prior(1e4),
];

/// One cost for all products. Values that other operators write count as a number of products each, so that no operator
/// is free.
pub const PRODUCTS: &[Column] = &[&[
    (ConvolutionProducts, 1.0),
    (DenseProducts, 1.0),
    (DepthwiseProducts, 1.0),
    (PooledInputs, 3.0),
    (MovedOutputs, 3.0),
    (ConvertedOutputs, 3.0),
    (ElementwiseOutputs, 10.0),
]];

/// The simplest estimate: one cost for all multiply-accumulates.
pub const MACS_ALONE: &[Column] = &[&[
    (ConvolutionProducts, 1.0),
    (DenseProducts, 1.0),
    (DepthwiseProducts, 1.0),
]];

/// The regression that every target has to beat: multiply-accumulates, activations and weights.
pub const THREE_SUMS: &[Column] = &[
    &[
        (ConvolutionProducts, 1.0),
        (DenseProducts, 1.0),
        (DepthwiseProducts, 1.0),
    ],
    &[(ActivationBytes, 1.0)],
    &[(WeightBytes, 1.0)],
];
