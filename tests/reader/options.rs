//! Which options of the schema are read.

use std::collections::BTreeSet;

use litecast::formats::graph_json;
use litecast::formats::tflite::schema::{BuiltinOptions as First, BuiltinOptions2 as Second};
use litecast::formats::tflite::{BuiltinOptions, OpKind, parse};
use litecast_tflite_files::Options;
use serde_json::json;

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

/// Of the tables that are read, those that no attribute of a graph as JSON stands for: its operators have no options.
const NOT_IN_GRAPHS: &[&str] = &[
    "BidirectionalSequenceLSTMOptions",
    "BidirectionalSequenceRNNOptions",
    "CallOnceOptions",
    "CallOptions",
    "FakeQuantOptions",
    "IfOptions",
    "LSTMOptions",
    "LocalResponseNormalizationOptions",
    "RNNOptions",
    "ReshapeOptions",
    "ReverseSequenceOptions",
    "SequenceRNNOptions",
    "StableHLOCompositeOptions",
    "StablehloCaseOptions",
    "StablehloReduceOptions",
    "StablehloReduceWindowOptions",
    "StablehloScatterOptions",
    "StablehloSortOptions",
    "StablehloWhileOptions",
    "UniqueOptions",
    "VarHandleOptions",
    "WhileOptions",
];

/// A table that is read is decided here for graphs as JSON as well.
#[test]
fn every_table_that_is_read_has_attributes_or_is_left_by_decision() {
    let tensor = |name: &str| json!({"name": name, "shape": [1, 4], "type": "int8"});
    let has_none = |kind: &&OpKind| {
        let graph = json!({
            "format": "litecast-graph", "version": 1, "inputs": ["x"], "outputs": ["y"],
            "tensors": [tensor("x"), tensor("y")],
            "operators": [{"kind": kind.name(), "inputs": ["x"], "outputs": ["y"]}],
        });
        let model = graph_json::parse(graph.to_string().as_bytes()).unwrap();
        model.subgraphs[0].operators[0].options == BuiltinOptions::Absent
    };
    let left = OpKind::ALL.iter().filter(has_none);
    let mut names: BTreeSet<&str> = left.map(|kind| kind.options_table()).collect();
    names.retain(|name| *name != "NONE" && !NOT_READ.contains(name));
    assert_eq!(Vec::from_iter(names), NOT_IN_GRAPHS);
}
