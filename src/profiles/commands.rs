//! The command that measures a model with each tool.

/// The tools that [`command`] knows, in the words that devices and profiles have for them.
pub const TOOLS: [&str; 9] = [
    "LiteRT's benchmark",
    "ONNX Runtime",
    "OpenVINO",
    "Vela",
    "TensorFlow Lite Micro's profiler",
    "ExecuTorch's inspector",
    "ncnn",
    "MNN",
    "ST Edge AI's validation",
];

/// One line for a shell that makes the tool print what [`read`](super::read) takes. `target` is what Vela compiles for, in
/// the words of a document that anybody may have written.
pub fn command(tool: &str, file: &str, threads: u32, target: &str) -> String {
    let [file, target] = [file, target].map(quoted);
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
        "Vela" => format!("vela {file} --accelerator-config {target} --verbose-performance"),
        "ncnn" => format!("benchncnn 20 {threads} 0 -1 0 param={file}"),
        "MNN" => format!("timeProfile.out {file} 50 0 0 {threads}"),
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
        let line = command("Vela", "a.tflite", 1, "x; rm -r ~");
        assert!(
            line.contains(" --accelerator-config 'x; rm -r ~' "),
            "{line}"
        );
    }
}
