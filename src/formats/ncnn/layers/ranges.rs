//! Parameters that no kernel of ncnn takes.

use super::super::error::ParseError;
use super::super::text::Layer;

/// Sides, steps, distances and paddings of windows: larger than those of any image.
const MAX_WINDOW: i64 = 0xffff;
/// Sizes are whole numbers of 32 bits.
const MAX_SIZE: i64 = 0x7fff_ffff;

/// For what something else decides.
const MARKS: [i64; 2] = [-233, -234];

/// From 0 on, or one of [`MARKS`].
const OR_MARK: i64 = i64::MIN;

/// Beginnings of the names of layers, the numbers of their parameters, which values ncnn has for these, and what they are.
type Range = (
    &'static [&'static str],
    &'static [i64],
    [i64; 2],
    &'static str,
);

const RANGES: &[Range] = &[
    (
        WINDOWS,
        &[1, 11, 21],
        [1, MAX_WINDOW],
        "a side of the window",
    ),
    (
        WINDOWS,
        &[2, 12, 22],
        [1, MAX_WINDOW],
        "a step or distance of the window",
    ),
    (
        CONVOLUTIONS,
        &[3, 13, 23],
        [1, MAX_WINDOW],
        "a step of the window",
    ),
    (
        CONVOLUTIONS,
        &[4, 14, 15, 16, 17, 24],
        [OR_MARK, MAX_WINDOW],
        "a padding",
    ),
    (&["Deconvolution"], &[18, 19], [0, MAX_WINDOW], "a padding"),
    (
        &["Pooling"],
        &[3, 13, 14, 15, 16, 23],
        [0, MAX_WINDOW],
        "a padding",
    ),
    (&["Pooling"], &[0], [0, 1], "a kind of pooling"),
    (&["Pooling"], &[5], [0, 3], "a kind of padding"),
    (LAYERS, &[0], [1, MAX_SIZE], "a number of outputs"),
    (LAYERS_WITH_ACTIVATION, &[9], [0, 6], "an activation"),
    (
        &["ConvolutionDepthWise", "DeconvolutionDepthWise"],
        &[7],
        [1, MAX_SIZE],
        "a number of groups",
    ),
    (
        &["LSTM", "GRU", "RNN"],
        &[0],
        [1, MAX_SIZE],
        "a number of outputs",
    ),
    (
        &["LSTM", "GRU", "RNN"],
        &[1],
        [1, MAX_SIZE],
        "a number of weights",
    ),
    (&["LSTM", "GRU", "RNN"], &[2], [0, 2], "a direction"),
    (&["LSTM"], &[3], [1, MAX_SIZE], "a size of the state"),
    (&["Gemm"], &[7, 8, 9], [0, MAX_SIZE], "a size"),
    (&["Gemm"], &[10], [-1, 4], "a kind of broadcast"),
    (&["Interp"], &[0], [0, 3], "a kind of interpolation"),
    (&["Interp"], &[3, 4], [OR_MARK, MAX_WINDOW], "a size"),
    (
        &["Padding"],
        &[0, 1, 2, 3, 7, 8],
        [OR_MARK, MAX_WINDOW],
        "a padding",
    ),
    (&["Padding"], &[4], [0, 2], "a kind of padding"),
    (
        &["Crop"],
        &[0, 1, 2, 6, 7, 8],
        [OR_MARK, MAX_WINDOW],
        "an offset",
    ),
    (&["Crop"], &[3, 4, 5], [OR_MARK, MAX_SIZE], "a size"),
    (&["LayerNorm", "RMSNorm"], &[0], [1, MAX_SIZE], "a size"),
    (&["Tile"], &[1, 2], [1, MAX_SIZE], "a number of repetitions"),
    (&["PixelShuffle", "Reorg"], &[1], [0, 1], "an order"),
    (&["BinaryOp"], &[1], [0, 1], "a mark of a scalar"),
    (&["Eltwise"], &[0], [0, 2], "an operation"),
    (&["LRN"], &[1], [1, MAX_WINDOW], "a size"),
];

const CONVOLUTIONS: &[&str] = &["Convolution", "Deconvolution"];
const WINDOWS: &[&str] = &["Convolution", "Deconvolution", "Pooling"];
const LAYERS: &[&str] = &["Convolution", "Deconvolution", "Embed", "InnerProduct"];
const LAYERS_WITH_ACTIVATION: &[&str] = &["Convolution", "Deconvolution", "InnerProduct"];

/// Fails where a parameter has a value that ncnn does not have for it.
pub(super) fn check(layer: &Layer) -> Result<(), ParseError> {
    for (kinds, ids, [first, last], expected) in RANGES {
        if !kinds.iter().any(|kind| layer.kind.starts_with(kind)) {
            continue;
        }
        for &id in *ids {
            let values = layer.wholes(id).unwrap_or_default();
            let fits = |value: i64| {
                let lowest = if *first == OR_MARK { 0 } else { *first };
                (lowest..=*last).contains(&value) || *first == OR_MARK && MARKS.contains(&value)
            };
            if let Some(value) = values.into_iter().find(|&value| !fits(value)) {
                return Err(ParseError::Malformed {
                    place: layer.place(),
                    expected,
                    found: format!("{id}={value}"),
                });
            }
        }
    }
    Ok(())
}
