//! The counts that share a cost, for each runtime.

use litecast::targets::cortex_m::Term::{self, *};

use super::fit::Column;

/// Convolutions and dense layers share a cost: a dense layer reads as many weights for one row of inputs as a
/// convolution reads for two.
pub const ST_EDGE_AI: &[Column] = &[
    &[(ConvolutionProducts, 1.0), (DenseProducts, 2.0)],
    &[(CopiedInputs, 1.0)],
    &[(UnalignedProducts, 1.0)],
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
];

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

/// The NPU waits for memory, mostly for weights in external flash.
pub const NEURAL_ART: &[Column] = &[&[(ActivationBytes, 1.0)], &[(WeightBytes, 1.0)]];

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
