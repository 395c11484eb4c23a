//! The command that measures a model with each tool.

/// The tools that measure TFLite or ONNX files by [`command`], in the words that devices and profiles have for them.
pub const TOOLS: [&str; 8] = [
    "LiteRT's benchmark",
    "ONNX Runtime",
    "OpenVINO",
    "Vela",
    "TensorFlow Lite Micro's profiler",
    "ncnn",
    "MNN",
    "ST Edge AI's validation",
];

/// Width, height and channels that ncnn's benchmark is given for the networks that are handed out, by the stems of their files.
/// Of a matrix, width and height.
const INPUTS: [(&str, &str); 10] = [
    ("small-network", "96,96,3"),
    ("convolutions", "96,96,3"),
    ("convolutions-3x3", "48,48,16"),
    ("pointwise", "48,48,16"),
    ("depthwise", "48,48,32"),
    ("matrix-products", "64,64"),
    ("elementwise", "48,48,16"),
    ("pooling", "48,48,32"),
    ("softmax", "64,256"),
    ("movement", "48,48,16"),
];

/// One line for a shell that makes the tool print what [`read`](super::read) takes. `target` is what Vela compiles for, in
/// the words of a document that anybody may have written. ncnn and MNN run what their own converters make of a file. Left to the
/// reader are the sizes of an input that ncnn has to be told, as `[W,H,C]`, but for the networks that are handed out, and
/// what Vela compiles for where `target` is no Ethos-U, as `[ACCELERATOR]`.
pub fn command(tool: &str, file: &str, threads: u32, target: &str) -> String {
    match tool {
        "ncnn" => return ncnn(file, threads),
        "MNN" => return mnn(file, threads),
        _ => {}
    }
    // As all names that Vela takes begin.
    let accelerator = if target.starts_with("ethos-u") {
        target
    } else {
        "[ACCELERATOR]"
    };
    let [file, accelerator] = [file, accelerator].map(quoted);
    match tool {
        "ONNX Runtime" => format!(
            "python3 -c 'import sys, numpy as n, onnxruntime as r; o = r.SessionOptions(); o.enable_profiling = True; \
             o.intra_op_num_threads = {threads}; s = r.InferenceSession(sys.argv[1], o); t = {{\"tensor(float)\": \"f4\", \
             \"tensor(int64)\": \"i8\", \"tensor(uint8)\": \"u1\", \"tensor(int8)\": \"i1\", \"tensor(int32)\": \"i4\"}}; \
             x = {{i.name: n.zeros([d if isinstance(d, int) else 1 for d in i.shape], t[i.type]) for i in \
             s.get_inputs()}}; [s.run(None, x) for _ in range(50)]; print(s.end_profiling())' {file}"
        ),
        "OpenVINO" => format!(
            "benchmark_app -m {file} -d CPU -hint none -api sync -nstreams 1 -nthreads {threads} -report_type \
             detailed_counters"
        ),
        "Vela" => {
            format!("vela {file} --accelerator-config {accelerator} --verbose-performance")
        }
        "ST Edge AI's validation" => {
            format!("stedgeai validate --model {file} --target stm32 --mode target")
        }
        "TensorFlow Lite Micro's profiler" => {
            format!("MicroProfiler::LogCsv() after MicroInterpreter::Invoke() of {file}")
        }
        "ExecuTorch's inspector" => format!(
            "executor_runner --model_path {file} --etdump_path profile.etdp && python3 -c 'from executorch.devtools \
             import Inspector; print(Inspector(etdump_path=\"profile.etdp\").to_dataframe().to_csv())'"
        ),
        _ => format!(
            "benchmark_model --graph={file} --num_threads={threads} --num_runs=50 --enable_op_profiling=true"
        ),
    }
}

fn ncnn(file: &str, threads: u32) -> String {
    let (folder, name) = match file.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), file),
    };
    let stem = name.strip_suffix(".onnx");
    let probe = stem.and_then(|stem| stem.strip_suffix("-float32"));
    let known = INPUTS.iter().find(|(known, _)| Some(*known) == probe);
    let shape = known.map_or("W,H,C", |(_, shape)| shape);
    // As its converter calls what it writes.
    let converted = stem.map(|stem| format!("{folder}{}.ncnn.param", stem.replace('-', "_")));
    let conversion = match converted {
        Some(_) => format!("pnnx {} && ", quoted(file)),
        None => String::new(),
    };
    let param = quoted(&format!("param={}", converted.as_deref().unwrap_or(file)));
    format!("{conversion}benchncnn 20 {threads} 0 -1 0 {param} 'shape=[{shape}]'")
}

fn mnn(file: &str, threads: u32) -> String {
    for (end, format) in [(".onnx", "ONNX"), (".tflite", "TFLITE")] {
        if let Some(stem) = file.strip_suffix(end) {
            let [file, converted] = [file, &format!("{stem}.mnn")].map(quoted);
            return format!(
                "MNNConvert -f {format} --modelFile {file} --MNNModel {converted} --bizCode measured && timeProfile.out \
                 {converted} 50 0 0 {threads}"
            );
        }
    }
    format!("timeProfile.out {} 50 0 0 {threads}", quoted(file))
}

/// As a shell takes it for one word.
fn quoted(file: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=@%".contains(c);
    if !file.is_empty() && file.chars().all(is_plain) {
        return file.to_owned();
    }
    format!("'{}'", file.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_a_command_of_its_own() {
        let mut commands: Vec<String> = TOOLS.map(|tool| command(tool, "a", 1, "x")).into();
        commands.sort_unstable();
        commands.dedup();
        assert_eq!(commands.len(), TOOLS.len(), "{commands:#?}");
    }

    /// ncnn's benchmark refuses a network without the sizes of its input; both tools run what their converters wrote.
    #[test]
    fn converted_files_are_what_is_measured() {
        for (tool, file, expected) in [
            (
                "ncnn",
                "my probes/small-network-float32.onnx",
                "pnnx 'my probes/small-network-float32.onnx' && benchncnn 20 2 0 -1 0 \
                 'param=my probes/small_network_float32.ncnn.param' 'shape=[96,96,3]'",
            ),
            (
                "ncnn",
                "own.param",
                "benchncnn 20 2 0 -1 0 param=own.param 'shape=[W,H,C]'",
            ),
            (
                "MNN",
                "a.tflite",
                "MNNConvert -f TFLITE --modelFile a.tflite --MNNModel a.mnn --bizCode measured && timeProfile.out a.mnn 50 0 0 2",
            ),
            ("MNN", "a.mnn", "timeProfile.out a.mnn 50 0 0 2"),
        ] {
            assert_eq!(command(tool, file, 2, ""), expected);
        }
    }

    #[test]
    fn a_file_is_one_word_of_a_shell() {
        for (file, expected) in [
            ("a/b-1.tflite", "a/b-1.tflite"),
            ("my model.tflite", "'my model.tflite'"),
            ("$(x)'y", "'$(x)'\\''y'"),
        ] {
            let line = command("", file, 2, "");
            assert!(
                line.starts_with(&format!("benchmark_model --graph={expected} ")),
                "{line}"
            );
        }
        assert!(command("Vela", "a.tflite", 1, "ethos-u55-128").contains(" ethos-u55-128 "));
        for (target, expected) in [
            (
                "ethos-u; rm -r ~",
                " --accelerator-config 'ethos-u; rm -r ~' ",
            ),
            ("", " --accelerator-config '[ACCELERATOR]' "),
            ("cortex-a76-rpi5", " --accelerator-config '[ACCELERATOR]' "),
        ] {
            let line = command("Vela", "a.tflite", 1, target);
            assert!(line.contains(expected), "{line}");
        }
    }
}
