//! The counts that share a cost, for each runtime.

use litecast::targets::cortex_m::Term::*;

use super::fit::Column;

/// Convolutions and dense layers share a cost: a dense layer reads as many weights for one row of inputs
/// as a convolution does for two.
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

pub const ESP_NN: &[Column] = &[
    &[(ConvolutionProducts, 1.0)],
    &[(DenseProducts, 1.0)],
    &[(DepthwiseProducts, 1.0)],
    &[
        (PooledInputs, 1.0),
        (MovedOutputs, 1.0),
        (ConvertedOutputs, 1.0),
    ],
    &[(ElementwiseOutputs, 1.0)],
];

/// The NPU waits for memory, most of all for weights in external flash.
pub const NEURAL_ART: &[Column] = &[&[(ActivationBytes, 1.0)], &[(WeightBytes, 1.0)]];

/// One cost for all products; values that other operators write count as some products each, so that no
/// operator is free.
pub const PRODUCTS: &[Column] = &[&[
    (ConvolutionProducts, 1.0),
    (DenseProducts, 1.0),
    (DepthwiseProducts, 1.0),
    (PooledInputs, 3.0),
    (MovedOutputs, 3.0),
    (ConvertedOutputs, 3.0),
    (ElementwiseOutputs, 10.0),
]];

/// The simplest estimate.
pub const MACS_ALONE: &[Column] = &[&[
    (ConvolutionProducts, 1.0),
    (DenseProducts, 1.0),
    (DepthwiseProducts, 1.0),
]];
