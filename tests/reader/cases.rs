//! The cases with goldens: what is read from odd files, and why bad ones are refused. Together
//! with `hostile.rs` this is the threat list.

use litecast::formats::tflite::schema::{BuiltinOptions, BuiltinOptions2};
use litecast_tflite_files::{
    Code, Indices, Instead, Operator, Options, Sparsity, Subgraph, Tensor, Value,
};

use crate::files::{
    code, conv_2d, convolution, operator, patched, position, quantization, tensor, with, with_code,
    with_options, with_weights_at, with_weights_behind,
};

pub struct Case {
    /// Names the golden.
    pub id: &'static str,
    pub why: &'static str,
    pub file: fn() -> Vec<u8>,
}

const fn case(id: &'static str, why: &'static str, file: fn() -> Vec<u8>) -> Case {
    Case { id, why, file }
}

/// Of a composite whose decomposition is subgraph 1.
fn composite(name: &str) -> Options {
    let fields = [Value::Text(name.to_owned()), Value::Int(1)];
    Options::with_second(BuiltinOptions2::StableHLOCompositeOptions, &fields)
}

/// Of the first union, with these numbers in front.
fn ints(kind: BuiltinOptions, fields: &[i32]) -> Options {
    let fields: Vec<Value> = fields.iter().map(|&field| Value::Int(field)).collect();
    Options::with(kind, &fields)
}

pub const CASES: &[Case] = &[
    // What is read.
    case("READ_001", "a plain convolution", || convolution().write()),
    case("READ_002", "operator codes: the larger field wins", || {
        with_code(code(127, 150))
    }),
    case(
        "READ_003",
        "operator codes: old files have the byte-wide field alone",
        || with_code(code(3, 0)),
    ),
    case(
        "READ_004",
        "custom operators: by their own name, Flex ones too",
        || {
            with(|f| {
                let custom = |name| Code {
                    custom: Some(String::from(name)),
                    ..code(32, 32)
                };
                f.codes = vec![custom("FlexAddV2"), custom("Sinh")];
                let sinh = Operator {
                    code: 1,
                    ..operator(f).clone()
                };
                f.subgraphs[0].operators.push(sinh);
            })
        },
    ),
    case("READ_005", "custom operators: one without a name", || {
        with_code(code(32, 32))
    }),
    case(
        "READ_006",
        "operator codes: a number newer than the schema",
        || with(|f| f.codes[0].builtin = 5000),
    ),
    case(
        "READ_007",
        "optional inputs: -1 is an absent tensor",
        || with(|f| operator(f).inputs = vec![0, 1, -1]),
    ),
    case("READ_008", "several subgraphs: IF names two", || {
        with(|f| {
            f.codes[0] = code(118, 118);
            operator(f).options = ints(BuiltinOptions::IfOptions, &[1, 2]);
            f.subgraphs.push(Subgraph {
                name: "then".to_owned(),
                ..Subgraph::default()
            });
            f.subgraphs.push(Subgraph {
                name: "else".to_owned(),
                ..Subgraph::default()
            });
        })
    }),
    case(
        "READ_009",
        "dynamic shapes: the signature has the -1",
        || with(|f| tensor(f, 0).signature = Some(vec![-1, 3, 3, 2])),
    ),
    case(
        "READ_010",
        "dynamic shapes: a -1 in the shape itself",
        || with(|f| tensor(f, 0).shape = vec![-1, 3, 3, 2]),
    ),
    case(
        "READ_011",
        "dynamic shapes: an empty signature is none",
        || with(|f| tensor(f, 0).signature = Some(Vec::new())),
    ),
    case("READ_012", "scalars and unknown ranks", || {
        with(|f| {
            tensor(f, 0).has_no_shape = true;
            tensor(f, 2).shape = Vec::new();
        })
    }),
    case("READ_013", "quantisation: one scale a channel", || {
        with(|f| {
            quantization(f, 1).scale = vec![0.1, 0.2, 0.3, 0.4];
            quantization(f, 1).zero_point = vec![0; 4];
        })
    }),
    case(
        "READ_014",
        "quantisation: scales that fit no dimension, one zero point for all",
        || with(|f| quantization(f, 1).scale = vec![0.1, 0.2, 0.3]),
    ),
    case("READ_015", "quantisation: an empty table is none", || {
        with(|f| quantization(f, 1).scale = Vec::new())
    }),
    case(
        "READ_016",
        "sparsity: stored values of dense and compressed levels",
        || {
            with(|f| {
                let indices = [Indices::Absent, Indices::Bytes(vec![0, 2, 1, 3, 0])];
                tensor(f, 1).sparsity = Some(Sparsity {
                    traversal_order: vec![0, 1, 2],
                    block_map: Vec::new(),
                    dimensions: vec![(4, None), (0, Some(indices)), (6, None)],
                });
            })
        },
    ),
    case("READ_017", "buffers behind the FlatBuffer", || {
        with_weights_behind(&Vec::from_iter((0..72).rev()))
    }),
    case("READ_018", "buffers: offset 1 is a place holder", || {
        with_weights_at(1, 1)
    }),
    case("READ_019", "buffers: of length zero", || {
        with(|f| f.instead = vec![(1, Instead::Empty)])
    }),
    case("READ_020", "buffers: none at all", || {
        with(|f| {
            f.buffers.clear();
            f.metadata.clear();
            f.subgraphs[0]
                .tensors
                .iter_mut()
                .for_each(|tensor| tensor.buffer = 0);
        })
    }),
    case("READ_021", "buffers: the first one is not read", || {
        with(|f| f.buffers[0] = vec![1; 18])
    }),
    case(
        "READ_022",
        "buffers: longer than shape and type say",
        || with(|f| f.buffers[1] = vec![1; 80]),
    ),
    case("READ_023", "types: a number newer than the schema", || {
        with(|f| tensor(f, 0).tensor_type = 99)
    }),
    case("READ_024", "types: 4-bit values are packed", || {
        with(|f| {
            tensor(f, 1).tensor_type = 17;
            f.buffers[1] = vec![0x21; 36];
        })
    }),
    case(
        "READ_025",
        "options: an activation newer than the schema",
        || with_options(conv_2d(1, 2, 1, 77)),
    ),
    case("READ_026", "options: none", || {
        with_options(Options::default())
    }),
    case(
        "READ_027",
        "options: a StableHLO composite and its decomposition",
        || {
            with(|f| {
                f.codes[0] = code(127, 206);
                operator(f).options = composite("odml.scaled_dot_product_attention");
                f.subgraphs.push(Subgraph {
                    name: "decomposition".to_owned(),
                    ..Subgraph::default()
                });
            })
        },
    ),
    case("READ_028", "operators: an absent output", || {
        with(|f| operator(f).outputs = vec![3, -1])
    }),
    case(
        "READ_029",
        "duplicates: the same tensor twice in inputs, two tensors of one name",
        || {
            with(|f| {
                operator(f).inputs = vec![0, 1, 1];
                tensor(f, 2).name = "input".to_owned();
            })
        },
    ),
    case(
        "READ_030",
        "metadata and signatures that name nothing are left out",
        || {
            with(|f| {
                f.metadata.push(("lost".to_owned(), 99));
                f.signatures.push(("lost".to_owned(), 99));
            })
        },
    ),
    case("READ_031", "a subgraph without anything", || {
        with(|f| f.subgraphs = vec![Subgraph::default()])
    }),
    case("READ_032", "variable tensors", || {
        with(|f| tensor(f, 2).is_variable = true)
    }),
    case(
        "READ_033",
        "diagnostics: a hundred are listed, the others counted",
        || {
            with(|f| {
                let odd = Tensor {
                    shape: vec![-1],
                    ..Tensor::default()
                };
                f.subgraphs[0].tensors.extend(vec![odd; 150]);
            })
        },
    ),
    case(
        "READ_034",
        "names: control characters and length do not reach a message",
        || {
            with(|f| {
                tensor(f, 0).shape = vec![-1];
                tensor(f, 0).name = "\u{1b}[31mred\n0123456789012345678901234567890123456789\
                                0123456789012345678901234567890123456789"
                    .to_owned();
            })
        },
    ),
    // Other files.
    case("REFUSE_001", "an empty file", Vec::new),
    case("REFUSE_002", "three bytes", || b"TFL".to_vec()),
    case("REFUSE_003", "an HTML page", || {
        b"\n<!DOCTYPE html><html><head>".to_vec()
    }),
    case("REFUSE_004", "a zip archive", || {
        b"PK\x03\x04\x14\0\0\0\0\0\0\0".to_vec()
    }),
    case("REFUSE_005", "gzip", || {
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec()
    }),
    case("REFUSE_006", "an ONNX model", || {
        b"\x08\x08\x12\x07pytorch\x1a\x05".to_vec()
    }),
    case("REFUSE_007", "a Git LFS pointer", || {
        b"version https://git-lfs.github.com/spec/v1\noid sha256:".to_vec()
    }),
    case("REFUSE_008", "zeros", || vec![0; 64]),
    case("REFUSE_009", "another FlatBuffer", || {
        b"\x18\0\0\0ABCD\0\0\0\0".to_vec()
    }),
    case("REFUSE_010", "an ExecuTorch program", || {
        b"\x18\0\0\0ET12\0\0\0\0".to_vec()
    }),
    case("REFUSE_011", "a Keras model", || {
        b"\x89HDF\r\n\x1a\n\0\0\0\0".to_vec()
    }),
    case("REFUSE_012", "identifier of an older schema", || {
        b"\x18\0\0\0TFL2\0\0\0\0".to_vec()
    }),
    case("REFUSE_013", "a length before the file", || {
        [&[16, 0, 0, 0], &convolution().write()[..]].concat()
    }),
    case("REFUSE_014", "another schema version", || {
        with(|f| f.version = 4)
    }),
    // Indices, each kind.
    case("REFUSE_020", "index of a buffer", || {
        with(|f| tensor(f, 1).buffer = 99)
    }),
    case(
        "REFUSE_021",
        "index of a buffer: the largest number",
        || with(|f| tensor(f, 1).buffer = u32::MAX),
    ),
    case("REFUSE_022", "index of an operator code", || {
        with(|f| operator(f).code = 1)
    }),
    case("REFUSE_023", "index of an input tensor", || {
        with(|f| operator(f).inputs = vec![0, 4])
    }),
    case(
        "REFUSE_024",
        "index of an input tensor: negative, but not -1",
        || with(|f| operator(f).inputs = vec![0, -2]),
    ),
    case("REFUSE_025", "index of an output tensor", || {
        with(|f| operator(f).outputs = vec![i32::MAX])
    }),
    case("REFUSE_026", "index of an intermediate tensor", || {
        with(|f| operator(f).intermediates = vec![i32::MIN])
    }),
    case("REFUSE_027", "index of a subgraph's input", || {
        with(|f| f.subgraphs[0].inputs = vec![4])
    }),
    case("REFUSE_028", "index of a subgraph's output", || {
        with(|f| f.subgraphs[0].outputs = vec![4])
    }),
    case("REFUSE_029", "index of a subgraph: IF", || {
        with_options(ints(BuiltinOptions::IfOptions, &[0, 1]))
    }),
    case("REFUSE_030", "index of a subgraph: WHILE, negative", || {
        with_options(ints(BuiltinOptions::WhileOptions, &[-1, 0]))
    }),
    case("REFUSE_031", "index of a subgraph: CALL", || {
        with_options(ints(BuiltinOptions::CallOptions, &[-1]))
    }),
    case("REFUSE_032", "index of a subgraph: CALL_ONCE", || {
        with_options(ints(BuiltinOptions::CallOnceOptions, &[7]))
    }),
    case(
        "REFUSE_033",
        "index of a subgraph: a composite's decomposition",
        || with_options(composite("x")),
    ),
    case(
        "REFUSE_034",
        "index of a subgraph: branches of STABLEHLO_CASE",
        || {
            let branches = [Value::Ints(vec![0, 9])];
            with_options(Options::with_second(
                BuiltinOptions2::StablehloCaseOptions,
                &branches,
            ))
        },
    ),
    // Weights that are not in the file.
    case("REFUSE_040", "weights in another file", || {
        with(|f| tensor(f, 1).external_buffer = 5)
    }),
    case(
        "REFUSE_041",
        "buffer behind the FlatBuffer: cut off",
        || with_weights_behind(&[0; 71]),
    ),
    case(
        "REFUSE_042",
        "buffer behind the FlatBuffer: end beyond 64 bits",
        || with_weights_at(u64::MAX - 1, 72),
    ),
    case(
        "REFUSE_043",
        "buffer behind the FlatBuffer: beyond 2 GiB",
        || with_weights_at(1 << 31, 1 << 40),
    ),
    // Shapes.
    case(
        "REFUSE_050",
        "shape: more values than 64 bits count",
        || with(|f| tensor(f, 0).shape = vec![i32::MAX; 4]),
    ),
    case(
        "REFUSE_051",
        "shape: more bits than 64 bits count, of a type of 128 bits",
        || {
            with(|f| {
                tensor(f, 0).tensor_type = 11;
                tensor(f, 0).shape = vec![1 << 30, 1 << 29];
            })
        },
    ),
    case("REFUSE_052", "shape: 33 dimensions", || {
        with(|f| tensor(f, 0).shape = vec![1; 33])
    }),
    case("REFUSE_053", "shape: a signature of another rank", || {
        with(|f| tensor(f, 0).signature = Some(vec![-1, 3]))
    }),
    // Options that no kernel takes.
    case("REFUSE_060", "options: padding", || {
        with_options(conv_2d(7, 1, 1, 0))
    }),
    case("REFUSE_061", "options: stride 0", || {
        with_options(conv_2d(0, 0, 1, 0))
    }),
    case("REFUSE_062", "options: negative dilation", || {
        with_options(conv_2d(0, 1, -1, 0))
    }),
    case("REFUSE_063", "options: block size 0", || {
        with_options(ints(BuiltinOptions::SpaceToDepthOptions, &[0]))
    }),
    case("REFUSE_064", "options: mode of a mirror pad", || {
        with_options(Options::with(
            BuiltinOptions::MirrorPadOptions,
            &[Value::Byte(2)],
        ))
    }),
    case("REFUSE_065", "options: kernel type of an LSTM", || {
        with_options(Options::with(
            BuiltinOptions::LSTMOptions,
            &[
                Value::Byte(0),
                Value::Float(0.0),
                Value::Float(0.0),
                Value::Byte(u8::MAX),
            ],
        ))
    }),
    // Damaged FlatBuffers.
    case("REFUSE_070", "no subgraph", || {
        with(|f| f.subgraphs.clear())
    }),
    case("REFUSE_071", "cut in half", || {
        let bytes = convolution().write();
        bytes[..bytes.len() / 2].to_vec()
    }),
    case("REFUSE_072", "root outside the file", || {
        patched(convolution().write(), 0, &[0xff, 0xff, 0xff, 0x7f])
    }),
    case("REFUSE_073", "a name that is not UTF-8", || {
        let bytes = convolution().write();
        let name = position(&bytes, b"conv/weights");
        patched(bytes, name, &[0xff])
    }),
    case("REFUSE_074", "a name longer than the file", || {
        let bytes = convolution().write();
        let length = position(&bytes, b"conv/weights") - 4;
        patched(bytes, length, &[0xff, 0xff, 0xff, 0xff])
    }),
    // Small files that would be large in memory.
    case(
        "REFUSE_080",
        "sharing: one tensor named 100,000 times",
        || with(|f| f.subgraphs[0].last_tensor_again = 100_000),
    ),
    case(
        "REFUSE_081",
        "sharing: one tensor of many scales named 1,000 times",
        || {
            with(|f| {
                quantization(f, 3).scale = vec![1.0; 10_000];
                quantization(f, 3).zero_point = vec![0; 10_000];
                f.subgraphs[0].last_tensor_again = 1_000;
            })
        },
    ),
];
