//! The cases with goldens: what is read from odd files, and why bad ones are refused. Together
//! with `hostile.rs` this is the threat list.

use crate::files::{
    Buffer, Code, Dimension, File, Operator, Options, Subgraph, Tensor, patched, position,
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

pub const CASES: &[Case] = &[
    // What is read.
    case("READ_001", "a plain convolution", || {
        File::default().bytes()
    }),
    case("READ_002", "operator codes: the larger field wins", || {
        File::with(|f| {
            f.codes[0] = Code {
                deprecated: 127,
                builtin: 150,
                custom: None,
            }
        })
    }),
    case(
        "READ_003",
        "operator codes: old files have the byte-wide field alone",
        || {
            File::with(|f| {
                f.codes[0] = Code {
                    deprecated: 3,
                    builtin: 0,
                    custom: None,
                }
            })
        },
    ),
    case(
        "READ_004",
        "custom operators: by their own name, Flex ones too",
        || {
            File::with(|f| {
                let custom = |name| Code {
                    deprecated: 32,
                    builtin: 32,
                    custom: Some(name),
                };
                f.codes = vec![custom("FlexAddV2"), custom("Sinh")];
                let sinh = Operator {
                    code: 1,
                    ..f.operator().clone()
                };
                f.main().operators.push(sinh);
            })
        },
    ),
    case("READ_005", "custom operators: one without a name", || {
        File::with(|f| {
            f.codes[0] = Code {
                deprecated: 32,
                builtin: 32,
                custom: None,
            }
        })
    }),
    case(
        "READ_006",
        "operator codes: a number newer than the schema",
        || File::with(|f| f.codes[0].builtin = 5000),
    ),
    case(
        "READ_007",
        "optional inputs: -1 is an absent tensor",
        || File::with(|f| f.operator().inputs = vec![0, 1, -1]),
    ),
    case("READ_008", "several subgraphs: IF names two", || {
        File::with(|f| {
            f.codes[0] = Code {
                deprecated: 118,
                builtin: 118,
                custom: None,
            };
            f.operator().options = Options::If {
                then: 1,
                or_else: 2,
            };
            f.subgraphs.push(Subgraph {
                name: "then",
                ..Subgraph::default()
            });
            f.subgraphs.push(Subgraph {
                name: "else",
                ..Subgraph::default()
            });
        })
    }),
    case(
        "READ_009",
        "dynamic shapes: the signature has the -1",
        || File::with(|f| f.tensor(0).signature = Some(vec![-1, 3, 3, 2])),
    ),
    case(
        "READ_010",
        "dynamic shapes: a -1 in the shape itself",
        || File::with(|f| f.tensor(0).shape = Some(vec![-1, 3, 3, 2])),
    ),
    case(
        "READ_011",
        "dynamic shapes: an empty signature is none",
        || File::with(|f| f.tensor(0).signature = Some(Vec::new())),
    ),
    case("READ_012", "scalars and unknown ranks", || {
        File::with(|f| {
            f.tensor(0).shape = None;
            f.tensor(2).shape = Some(Vec::new());
        })
    }),
    case("READ_013", "quantisation: one scale a channel", || {
        File::with(|f| {
            f.tensor(1).scale = Some(vec![0.1, 0.2, 0.3, 0.4]);
            f.tensor(1).zero_point = Some(vec![0; 4]);
        })
    }),
    case(
        "READ_014",
        "quantisation: scales that fit no dimension, one zero point for all",
        || File::with(|f| f.tensor(1).scale = Some(vec![0.1, 0.2, 0.3])),
    ),
    case("READ_015", "quantisation: an empty table is none", || {
        File::with(|f| f.tensor(1).scale = Some(Vec::new()))
    }),
    case(
        "READ_016",
        "sparsity: stored values of dense and compressed levels",
        || {
            File::with(|f| {
                let sparse = Dimension::Sparse(vec![0, 2, 1, 3, 0]);
                f.tensor(1).sparsity = Some(vec![Dimension::Dense(4), sparse, Dimension::Dense(6)]);
            })
        },
    ),
    case("READ_017", "buffers behind the FlatBuffer", || {
        File::with(|f| {
            f.tail = (0..72).rev().collect();
            *f.buffer(1) = Buffer::Behind {
                offset: 0,
                size: 72,
            };
        })
    }),
    case("READ_018", "buffers: offset 1 is a place holder", || {
        File::with(|f| *f.buffer(1) = Buffer::At { offset: 1, size: 1 })
    }),
    case("READ_019", "buffers: of length zero", || {
        File::with(|f| *f.buffer(1) = Buffer::Data(Vec::new()))
    }),
    case("READ_020", "buffers: none at all", || {
        File::with(|f| {
            f.buffers = None;
            f.metadata.clear();
            f.main()
                .tensors
                .iter_mut()
                .for_each(|tensor| tensor.buffer = 0);
        })
    }),
    case("READ_021", "buffers: the first one is not read", || {
        File::with(|f| *f.buffer(0) = Buffer::Data(vec![1; 18]))
    }),
    case(
        "READ_022",
        "buffers: longer than shape and type say",
        || File::with(|f| *f.buffer(1) = Buffer::Data(vec![1; 80])),
    ),
    case("READ_023", "types: a number newer than the schema", || {
        File::with(|f| f.tensor(0).tensor_type = 99)
    }),
    case("READ_024", "types: 4-bit values are packed", || {
        File::with(|f| {
            f.tensor(1).tensor_type = 17;
            *f.buffer(1) = Buffer::Data(vec![0x21; 36]);
        })
    }),
    case(
        "READ_025",
        "options: an activation newer than the schema",
        || {
            File::with(|f| {
                let options = Options::Conv2D {
                    padding: 1,
                    stride: 2,
                    dilation: 1,
                    activation: 77,
                };
                f.operator().options = options;
            })
        },
    ),
    case("READ_026", "options: none", || {
        File::with(|f| f.operator().options = Options::None)
    }),
    case(
        "READ_027",
        "options: a StableHLO composite and its decomposition",
        || {
            File::with(|f| {
                f.codes[0] = Code {
                    deprecated: 127,
                    builtin: 206,
                    custom: None,
                };
                let name = "odml.scaled_dot_product_attention";
                f.operator().options = Options::Composite {
                    name,
                    decomposition: 1,
                };
                f.subgraphs.push(Subgraph {
                    name: "decomposition",
                    ..Subgraph::default()
                });
            })
        },
    ),
    case("READ_028", "operators: an absent output", || {
        File::with(|f| f.operator().outputs = vec![3, -1])
    }),
    case(
        "READ_029",
        "duplicates: the same tensor twice in inputs, two tensors of one name",
        || {
            File::with(|f| {
                f.operator().inputs = vec![0, 1, 1];
                f.tensor(2).name = "input";
            })
        },
    ),
    case(
        "READ_030",
        "metadata and signatures that name nothing are left out",
        || {
            File::with(|f| {
                f.metadata.push(("lost", 99));
                f.signatures.push(("lost", 99));
            })
        },
    ),
    case("READ_031", "a subgraph without anything", || {
        File::with(|f| f.subgraphs = vec![Subgraph::default()])
    }),
    case("READ_032", "variable tensors", || {
        File::with(|f| f.tensor(2).is_variable = true)
    }),
    case(
        "READ_033",
        "diagnostics: a hundred are listed, the others counted",
        || {
            File::with(|f| {
                let odd = Tensor {
                    shape: Some(vec![-1]),
                    ..Tensor::default()
                };
                f.main().tensors.extend(vec![odd; 150]);
            })
        },
    ),
    case(
        "READ_034",
        "names: control characters and length do not reach a message",
        || {
            File::with(|f| {
                f.tensor(0).shape = Some(vec![-1]);
                f.tensor(0).name = "\u{1b}[31mred\n0123456789012345678901234567890123456789\
                                0123456789012345678901234567890123456789";
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
        [&[16, 0, 0, 0], &File::default().bytes()[..]].concat()
    }),
    case("REFUSE_014", "another schema version", || {
        File::with(|f| f.version = 4)
    }),
    // Indices, each kind.
    case("REFUSE_020", "index of a buffer", || {
        File::with(|f| f.tensor(1).buffer = 99)
    }),
    case(
        "REFUSE_021",
        "index of a buffer: the largest number",
        || File::with(|f| f.tensor(1).buffer = u32::MAX),
    ),
    case("REFUSE_022", "index of an operator code", || {
        File::with(|f| f.operator().code = 1)
    }),
    case("REFUSE_023", "index of an input tensor", || {
        File::with(|f| f.operator().inputs = vec![0, 4])
    }),
    case(
        "REFUSE_024",
        "index of an input tensor: negative, but not -1",
        || File::with(|f| f.operator().inputs = vec![0, -2]),
    ),
    case("REFUSE_025", "index of an output tensor", || {
        File::with(|f| f.operator().outputs = vec![i32::MAX])
    }),
    case("REFUSE_026", "index of an intermediate tensor", || {
        File::with(|f| f.operator().intermediates = vec![i32::MIN])
    }),
    case("REFUSE_027", "index of a subgraph's input", || {
        File::with(|f| f.main().inputs = vec![4])
    }),
    case("REFUSE_028", "index of a subgraph's output", || {
        File::with(|f| f.main().outputs = vec![4])
    }),
    case("REFUSE_029", "index of a subgraph: IF", || {
        File::with(|f| {
            f.operator().options = Options::If {
                then: 0,
                or_else: 1,
            }
        })
    }),
    case("REFUSE_030", "index of a subgraph: WHILE, negative", || {
        File::with(|f| f.operator().options = Options::While { cond: -1, body: 0 })
    }),
    case("REFUSE_031", "index of a subgraph: CALL", || {
        File::with(|f| f.operator().options = Options::Call { subgraph: u32::MAX })
    }),
    case("REFUSE_032", "index of a subgraph: CALL_ONCE", || {
        File::with(|f| f.operator().options = Options::CallOnce { init: 7 })
    }),
    case(
        "REFUSE_033",
        "index of a subgraph: a composite's decomposition",
        || {
            File::with(|f| {
                f.operator().options = Options::Composite {
                    name: "x",
                    decomposition: 1,
                }
            })
        },
    ),
    case(
        "REFUSE_034",
        "index of a subgraph: branches of STABLEHLO_CASE",
        || {
            File::with(|f| {
                f.operator().options = Options::Case {
                    branches: vec![0, 9],
                }
            })
        },
    ),
    // Weights that are not in the file.
    case("REFUSE_040", "weights in another file", || {
        File::with(|f| f.tensor(1).external_buffer = 5)
    }),
    case(
        "REFUSE_041",
        "buffer behind the FlatBuffer: cut off",
        || {
            File::with(|f| {
                f.tail = vec![0; 71];
                *f.buffer(1) = Buffer::Behind {
                    offset: 0,
                    size: 72,
                };
            })
        },
    ),
    case(
        "REFUSE_042",
        "buffer behind the FlatBuffer: end beyond 64 bits",
        || {
            File::with(|f| {
                *f.buffer(1) = Buffer::At {
                    offset: u64::MAX - 1,
                    size: 72,
                }
            })
        },
    ),
    case(
        "REFUSE_043",
        "buffer behind the FlatBuffer: beyond 2 GiB",
        || {
            File::with(|f| {
                *f.buffer(1) = Buffer::At {
                    offset: 1 << 31,
                    size: 1 << 40,
                }
            })
        },
    ),
    // Shapes.
    case(
        "REFUSE_050",
        "shape: more values than 64 bits count",
        || File::with(|f| f.tensor(0).shape = Some(vec![i32::MAX; 4])),
    ),
    case(
        "REFUSE_051",
        "shape: more bits than 64 bits count, of a type of 128 bits",
        || {
            File::with(|f| {
                f.tensor(0).tensor_type = 11;
                f.tensor(0).shape = Some(vec![1 << 30, 1 << 29]);
            })
        },
    ),
    case("REFUSE_052", "shape: 33 dimensions", || {
        File::with(|f| f.tensor(0).shape = Some(vec![1; 33]))
    }),
    case("REFUSE_053", "shape: a signature of another rank", || {
        File::with(|f| f.tensor(0).signature = Some(vec![-1, 3]))
    }),
    // Options that no kernel takes.
    case("REFUSE_060", "options: padding", || {
        File::with(|f| {
            let options = Options::Conv2D {
                padding: 7,
                stride: 1,
                dilation: 1,
                activation: 0,
            };
            f.operator().options = options;
        })
    }),
    case("REFUSE_061", "options: stride 0", || {
        File::with(|f| {
            let options = Options::Conv2D {
                padding: 0,
                stride: 0,
                dilation: 1,
                activation: 0,
            };
            f.operator().options = options;
        })
    }),
    case("REFUSE_062", "options: negative dilation", || {
        File::with(|f| {
            let options = Options::Conv2D {
                padding: 0,
                stride: 1,
                dilation: -1,
                activation: 0,
            };
            f.operator().options = options;
        })
    }),
    case("REFUSE_063", "options: block size 0", || {
        File::with(|f| f.operator().options = Options::SpaceToDepth { block_size: 0 })
    }),
    case("REFUSE_064", "options: mode of a mirror pad", || {
        File::with(|f| f.operator().options = Options::MirrorPad { mode: 2 })
    }),
    case("REFUSE_065", "options: kernel type of an LSTM", || {
        File::with(|f| f.operator().options = Options::Lstm { kernel_type: -1 })
    }),
    // Damaged FlatBuffers.
    case("REFUSE_070", "no subgraph", || {
        File::with(|f| f.subgraphs.clear())
    }),
    case("REFUSE_071", "cut in half", || {
        let bytes = File::default().bytes();
        bytes[..bytes.len() / 2].to_vec()
    }),
    case("REFUSE_072", "root outside the file", || {
        patched(File::default().bytes(), 0, &[0xff, 0xff, 0xff, 0x7f])
    }),
    case("REFUSE_073", "a name that is not UTF-8", || {
        let bytes = File::default().bytes();
        let name = position(&bytes, b"conv/weights");
        patched(bytes, name, &[0xff])
    }),
    case("REFUSE_074", "a name longer than the file", || {
        let bytes = File::default().bytes();
        let length = position(&bytes, b"conv/weights") - 4;
        patched(bytes, length, &[0xff, 0xff, 0xff, 0xff])
    }),
    // Small files that would be large in memory.
    case(
        "REFUSE_080",
        "sharing: one tensor named 100,000 times",
        || File::with(|f| f.main().last_tensor_again = 100_000),
    ),
    case(
        "REFUSE_081",
        "sharing: one tensor of many scales named 1,000 times",
        || {
            File::with(|f| {
                f.tensor(3).scale = Some(vec![1.0; 10_000]);
                f.tensor(3).zero_point = Some(vec![0; 10_000]);
                f.main().last_tensor_again = 1_000;
            })
        },
    ),
];
