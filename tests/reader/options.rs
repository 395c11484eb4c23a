//! Which options of the schema are read.

use litecast::formats::tflite::schema::{BuiltinOptions as First, BuiltinOptions2 as Second};
use litecast::formats::tflite::{BuiltinOptions, parse};
use litecast_tflite_files::Options;

use crate::files::with_options;

/// Tables without fields, and those whose fields no number here depends on.
const NOT_READ: &[&str] = &[
    "ConcatEmbeddingsOptions",
    "LSHProjectionOptions",
    "SkipGramOptions",
    "EmbeddingLookupSparseOptions",
    "PadOptions",
    "BatchToSpaceNDOptions",
    "SpaceToBatchNDOptions",
    "TransposeOptions",
    "ExpOptions",
    "TopKV2Options",
    "LogSoftmaxOptions",
    "DequantizeOptions",
    "MaximumMinimumOptions",
    "LessOptions",
    "NegOptions",
    "PadV2Options",
    "GreaterOptions",
    "GreaterEqualOptions",
    "LessEqualOptions",
    "SelectOptions",
    "SliceOptions",
    "SparseToDenseOptions",
    "TileOptions",
    "ExpandDimsOptions",
    "EqualOptions",
    "NotEqualOptions",
    "PowOptions",
    "LogicalOrOptions",
    "LogicalAndOptions",
    "LogicalNotOptions",
    "FloorDivOptions",
    "SquareOptions",
    "ZerosLikeOptions",
    "FillOptions",
    "FloorModOptions",
    "RangeOptions",
    "SquaredDifferenceOptions",
    "AbsOptions",
    "ReverseV2Options",
    "AddNOptions",
    "GatherNdOptions",
    "CosOptions",
    "WhereOptions",
    "RankOptions",
    "MatrixDiagOptions",
    "QuantizeOptions",
    "MatrixSetDiagOptions",
    "HardSwishOptions",
    "NonMaxSuppressionV4Options",
    "NonMaxSuppressionV5Options",
    "ScatterNdOptions",
    "SelectV2Options",
    "DensifyOptions",
    "SegmentSumOptions",
    "BroadcastToOptions",
    "Rfft2dOptions",
    "HashtableOptions",
    "HashtableFindOptions",
    "HashtableImportOptions",
    "HashtableSizeOptions",
    "ReadVariableOptions",
    "AssignVariableOptions",
    "RandomOptions",
    "BucketizeOptions",
    "DynamicUpdateSliceOptions",
    "UnsortedSegmentProdOptions",
    "UnsortedSegmentMaxOptions",
    "UnsortedSegmentMinOptions",
    "UnsortedSegmentSumOptions",
    "ATan2Options",
    "SignOptions",
    "BitcastOptions",
    "BitwiseXorOptions",
    "RightShiftOptions",
    "StablehloConcatenateOptions",
    "StablehloBroadcastInDimOptions",
    "StablehloSliceOptions",
    "StablehloConvolutionOptions",
    "StablehloCustomCallOptions",
    "StablehloCompareOptions",
    "StablehloDynamicSliceOptions",
    "StablehloPadOptions",
    "StablehloIotaOptions",
    "StablehloDotGeneralOptions",
    "StablehloGatherOptions",
    "StablehloTransposeOptions",
    "DilateOptions",
    "StablehloRngBitGeneratorOptions",
    "ReduceWindowOptions",
    "StablehloShiftLeftOptions",
];

/// A table that the schema gets is decided here: read, or listed.
#[test]
fn every_table_of_options_is_read_or_left_by_decision() {
    let name = |is_second: bool, kind: u8| {
        if is_second {
            Second(kind).variant_name()
        } else {
            First(kind).variant_name()
        }
    };
    let tables = (1..=First::ENUM_MAX).map(|kind| (false, kind));
    let tables = tables.chain((1..=Second::ENUM_MAX).map(|kind| (true, kind)));
    let left = tables.filter(|&(is_second, kind)| {
        let bytes = with_options(Options::zero(is_second, kind));
        // What is refused for its zeros is read.
        parse(&bytes)
            .is_ok_and(|model| model.subgraphs[0].operators[0].options == BuiltinOptions::Other)
    });
    let names: Vec<&str> = left
        .filter_map(|(is_second, kind)| name(is_second, kind))
        .collect();
    assert_eq!(names, NOT_READ);
}
