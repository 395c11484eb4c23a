//! Tools that print columns under a head.

/// A tool that prints a table. Heads are compared in lower case, without all but letters and digits.
pub struct Format {
    /// The tool in words; empty for tables of people.
    pub tool: &'static str,
    /// Columns that the head must have.
    pub marks: &'static [&'static str],
    /// Columns of the name, the first that the head has.
    pub name: &'static [&'static str],
    pub kind: &'static [&'static str],
    /// Columns of the duration, the first that the head has, and the milliseconds of its unit; `None` for cycles.
    pub time: &'static [(&'static str, Option<f64>)],
    /// Rows of these names, or whose names start with them, are no operators.
    pub passed_over: &'static [&'static str],
    /// Names of the rows of the whole inference.
    pub whole: &'static [&'static str],
}

pub const MICRO_PROFILER: &str = "TensorFlow Lite Micro's profiler";

/// The column of kinds in a table that has the sum of each.
pub const SUMMED_KINDS: &str = "uniquetag";

/// Those that are told by their heads; the first whose marks a head has.
pub const FORMATS: &[Format] = &[
    Format {
        tool: "LiteRT's benchmark",
        marks: &["nodetype", "avgms", "first"],
        name: &["name"],
        kind: &["nodetype"],
        time: &[("avgms", Some(1.0))],
        passed_over: &["AllocateTensors", "ModifyGraphWithDelegate"],
        whole: &[],
    },
    Format {
        tool: "Vela",
        marks: &["nngoperator", "opcycles"],
        name: &["name"],
        kind: &["nngoperator"],
        time: &[("opcycles", None)],
        passed_over: &[],
        whole: &[],
    },
    Format {
        tool: "ExecuTorch's inspector",
        marks: &["eventname", "eventblockname"],
        name: &["eventname"],
        kind: &["optypes"],
        time: &[
            ("p50ms", Some(1.0)),
            ("avgms", Some(1.0)),
            ("p50us", Some(1e-3)),
            ("avgus", Some(1e-3)),
            ("p50s", Some(1e3)),
            ("avgs", Some(1e3)),
            ("p50cycles", None),
            ("avgcycles", None),
        ],
        passed_over: &[
            "Program::",
            "Method::init",
            "OPERATOR_CALL",
            "DELEGATE_CALL",
            "LoadMethod",
        ],
        whole: &["Method::execute"],
    },
    Format {
        tool: "MNN",
        marks: &["nodename", "optype"],
        name: &["nodename"],
        kind: &["optype"],
        time: &[("avgms", Some(1.0)), ("timems", Some(1.0))],
        passed_over: &[],
        whole: &[],
    },
    Format {
        tool: "OpenVINO",
        marks: &["layername", "execstatus"],
        name: &["layername"],
        kind: &["layertype"],
        time: &[("realtimems", Some(1.0))],
        passed_over: &["Total"],
        whole: &[],
    },
    Format {
        tool: "ST Edge AI's validation",
        marks: &["cid", "type"],
        name: &["name", "desc"],
        kind: &["type", "desc"],
        time: &[
            ("durms", Some(1.0)),
            ("durationms", Some(1.0)),
            ("timems", Some(1.0)),
            ("cpucycles", None),
        ],
        passed_over: &["total", "n/a"],
        whole: &[],
    },
    Format {
        tool: MICRO_PROFILER,
        marks: &["tag", "ticks"],
        name: &[],
        kind: &["tag"],
        time: &[("ticks", None)],
        passed_over: &[],
        whole: &["Invoke"],
    },
    Format {
        tool: MICRO_PROFILER,
        marks: &[SUMMED_KINDS],
        name: &[],
        kind: &[SUMMED_KINDS],
        time: &[("totalticksacrossalleventswiththattag", None)],
        passed_over: &["total number", "tflite::"],
        whole: &[],
    },
    Format {
        tool: "",
        marks: &[],
        name: &[
            "file", "model", "network", "name", "operator", "layer", "node", "op", "kernel",
            "tensor", "output",
        ],
        kind: &["kind", "type", "optype", "operatortype", "layertype", "op"],
        time: &[
            ("ms", Some(1.0)),
            ("us", Some(1e-3)),
            ("ns", Some(1e-6)),
            ("s", Some(1e3)),
            ("measured", Some(1.0)),
            ("latency", Some(1.0)),
            ("duration", Some(1.0)),
            ("time", Some(1.0)),
            ("avg", Some(1.0)),
            ("mean", Some(1.0)),
            ("median", Some(1.0)),
            ("cycles", None),
            ("ticks", None),
        ],
        passed_over: &[],
        whole: &[],
    },
];
