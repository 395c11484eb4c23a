//! Reports of files, as tables and as JSON.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use litecast_needs::shared;
use serde_json::Value;

use super::*;

#[test]
fn json_has_one_document_a_line_with_the_promised_names() {
    let files = examples();
    assert_eq!(files.len(), 3, "three example models");
    let mut args = vec!["predict", "--json"];
    args.extend(files.iter().map(|path| path.to_str().unwrap()));
    let output = litecast(&args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = stdout(&output);
    assert_eq!(text.lines().count(), files.len());
    for (line, file) in text.lines().zip(&files) {
        let report: Value = serde_json::from_str(line).unwrap();
        assert_eq!(report["file"], file.to_str().unwrap());
        check_results(&report);
    }
}

/// Work grows with the batch on processors; NPUs take one input at a time.
#[test]
fn a_batch_multiplies_the_work() {
    let file = examples()[1].to_str().unwrap().to_owned();
    let report = |batch: &str| -> Value {
        let output = litecast(&["predict", "--json", "--batch", batch, &file]);
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let [one, four] = [report("1"), report("4")];
    assert_eq!([&one["batch"], &four["batch"]], [1, 4]);
    let macs = |report: &Value| report["model"]["macs"].as_u64().unwrap();
    assert_eq!(macs(&four), 4 * macs(&one));
    let value_of = |report: &Value, target: &str| {
        let results = report["results"].as_array().unwrap();
        let mut latencies = results.iter().filter(|r| r["metric"] == "latency");
        latencies.find(|r| r["target"] == target).unwrap().clone()
    };
    let ms = |report| {
        value_of(report, "cortex-a76-rpi5")["value"]
            .as_f64()
            .unwrap()
    };
    let ratio = ms(&four) / ms(&one);
    println!("four inputs take {ratio:.2} times as long as one");
    assert!((3.0..4.0).contains(&ratio), "{ratio}");
    let npu = |report| value_of(report, "ethos-u55-256")["value"].as_f64().unwrap();
    let ratio = npu(&four) / npu(&one);
    println!("{ratio:.2} times on an NPU, whose SRAM they fill");
    assert!((3.0..8.0).contains(&ratio), "{ratio}");
    let output = litecast(&["predict", "--batch", "5000", &file]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("expected a batch of at most 1024, found 5000"),
        "{error}"
    );
}

/// Every NPU has latency, SRAM and traffic with a unit and a provenance; the arena is exact.
fn check_results(report: &Value) {
    let results = report["results"].as_array().unwrap();
    for target in ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"] {
        for (metric, unit) in [
            ("latency", "ms"),
            ("sram_peak", "bytes"),
            ("offchip_traffic", "bytes"),
            ("sram_traffic", "bytes"),
            ("energy", "mJ"),
        ] {
            let actual = results
                .iter()
                .find(|r| r["target"] == target && r["metric"] == metric);
            let result = actual.unwrap_or_else(|| panic!("{target} {metric} is missing"));
            assert_eq!(result["unit"], unit);
            assert!(result["value"].as_f64().unwrap() > 0.0, "{result}");
            let kind = result["provenance"]["kind"].as_str().unwrap();
            let (kinds, tool): (&[&str], _) = match metric {
                "energy" => (&["modelled"], "litecast"),
                _ => (
                    &["learned from compiler estimate", "compiler rules"],
                    "ethos-u-vela",
                ),
            };
            assert!(kinds.contains(&kind), "{result}");
            assert_eq!(result["provenance"]["tool"], tool);
            match metric {
                // How far off the published energies are is not known.
                "energy" => assert!(result.get("lo").is_none(), "{result}"),
                _ => check_interval(result),
            }
            check_parts(result, report["operators"].as_array().unwrap().len());
        }
    }
    check_processors(results, report["operators"].as_array().unwrap().len());
    check_edge_tpu(report);
    let arena = results.iter().find(|r| r["metric"] == "arena").unwrap();
    assert_eq!(arena["target"], "tflite-micro");
    // TensorFlow Lite Micro refuses the transformer among the examples.
    match report["model"]["arena_bytes"].as_f64() {
        Some(bytes) => assert_eq!(arena["value"], bytes),
        None => assert_eq!(arena["reason"], "unsupported-operators", "{arena}"),
    }
}

/// Both processors have a modelled latency; where power was measured, energy is in proportion.
fn check_processors(results: &[Value], n_operators: usize) {
    let find = |target: &str, metric: &str| {
        let mut matching = results.iter().filter(|r| r["target"] == target);
        matching.find(|r| r["metric"] == metric)
    };
    for target in ["cortex-a76-rpi5", "cortex-a72-rpi4"] {
        let latency = find(target, "latency").unwrap_or_else(|| panic!("no latency of {target}"));
        assert_eq!(latency["unit"], "ms");
        assert_eq!(latency["provenance"]["kind"], "modelled");
        let words = latency["provenance"]["configuration"].as_str().unwrap();
        assert!(words.contains("with the kind left out"), "{words}");
        check_interval(latency);
        check_parts(latency, n_operators);
    }
    let value = |metric| {
        find("cortex-a76-rpi5", metric).unwrap()["value"]
            .as_f64()
            .unwrap()
    };
    let watts = value("energy") / value("latency");
    println!("{watts} W");
    assert!((1.0..3.0).contains(&watts));
    assert!(find("cortex-a72-rpi4", "energy").is_none());
}

/// The Edge TPU has a modelled latency with the error of the fit, or says what it does not run.
fn check_edge_tpu(report: &Value) {
    let results = report["results"].as_array().unwrap();
    let actual = results
        .iter()
        .find(|r| r["target"] == "edgetpu-coral-dev-board");
    let result = actual.expect("the Edge TPU is missing");
    assert_eq!(result["metric"], "latency");
    if report["file"].as_str().unwrap().contains("vit") {
        let words = result["unavailable"].as_str().unwrap();
        assert!(words.contains("do not run on the Edge TPU"), "{words}");
        return;
    }
    assert_eq!(result["unit"], "ms");
    assert_eq!(result["provenance"]["kind"], "modelled");
    let words = result["provenance"]["configuration"].as_str().unwrap();
    assert!(words.contains("left out in turn"), "{words}");
    // Errors on measured networks say little of one that takes a fraction of their time, or has other operators.
    let doubts = report["diagnostics"].as_array().unwrap();
    let is_beyond = doubts.iter().any(|doubt| {
        ["beyond-measured", "operator-never-measured"].contains(&doubt["code"].as_str().unwrap())
    });
    let error = result["expected_error_percent"].as_f64();
    assert!(
        error.is_some_and(|error| error > 0.0) || is_beyond,
        "{result}"
    );
    let [lo, hi] = ["lo", "hi"].map(|end| result[end].as_f64());
    assert!(lo.is_some() && hi.is_some(), "{result}");
    check_interval(result);
    check_parts(result, report["operators"].as_array().unwrap().len());
}

/// An interval has the value inside, wherever there is one.
fn check_interval(result: &Value) {
    let [lo, value, hi] = ["lo", "value", "hi"].map(|end| result[end].as_f64());
    if let (Some(lo), Some(hi)) = (lo, hi) {
        assert!(lo < value.unwrap() && value.unwrap() < hi, "{result}");
    }
}

/// The parts of a latency or a traffic add up to it, the largest of a peak is the peak.
fn check_parts(result: &Value, n_operators: usize) {
    let parts = result["operators"].as_array().unwrap();
    let parts: Vec<f64> = parts.iter().map(|part| part.as_f64().unwrap()).collect();
    assert_eq!(parts.len(), n_operators);
    let whole = match result["metric"].as_str() {
        Some("sram_peak") => parts.iter().copied().fold(0.0, f64::max),
        _ => parts.iter().sum(),
    };
    let difference = (whole / result["value"].as_f64().unwrap() - 1.0).abs();
    println!(
        "{} {}: {difference:.1e}",
        result["target"], result["metric"]
    );
    assert!(difference < 1e-4, "{result}");
}

#[test]
fn a_bad_file_fails_the_command_and_leaves_the_others_reported() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.tflite");
    std::fs::write(&bad, b"not a model at all").unwrap();
    let good = examples().remove(0);
    let output = litecast(&[
        "predict",
        "--json",
        bad.to_str().unwrap(),
        good.to_str().unwrap(),
        "/nowhere",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 3, "a line for each file");
    assert_eq!(lines[0]["error"]["kind"], "not-tflite");
    assert_eq!(lines[1]["file"], good.to_str().unwrap());
    assert_eq!(lines[2]["error"]["kind"], "file-not-found");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("bad.tflite"), "{errors}");
    assert!(errors.contains("/nowhere"), "{errors}");
}

#[test]
fn tables_name_every_target_and_operator() {
    let good = examples().remove(0);
    let text = stdout(&litecast(&[
        "predict",
        "--operators",
        good.to_str().unwrap(),
    ]));
    for word in [
        "ethos-u55-256",
        "ethos-u65-512",
        "ethos-u85-256",
        "edgetpu-coral-dev-board",
        "tflite-micro",
        "CONV_2D",
    ] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let targets = stdout(&litecast(&["targets"]));
    assert!(targets.contains("ethos-u85-256"), "{targets}");
    assert!(targets.contains("edgetpu-coral-dev-board"), "{targets}");
}

#[test]
fn real_files_give_a_report_or_a_clear_error() {
    let Some(files) = litecast_needs::shared_models() else {
        return;
    };
    for file in &files {
        let output = litecast(&["predict", "--json", file.to_str().unwrap()]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => assert_eq!(stdout(&output).lines().count(), 1, "{}", file.display()),
            Some(1) => assert!(
                errors.starts_with("litecast: "),
                "{}: {errors}",
                file.display()
            ),
            code => panic!("{}: exit code {code:?}: {errors}", file.display()),
        }
        println!("{}: {}", file.file_name().unwrap().display(), errors.trim());
    }
}

/// A network whose weights are stored sparse is, as int8, the network with dense weights: LiteRT computes the same from
/// these files (`tests/sparse_weights/write.py`). The tests of the packages read them, too.
#[test]
fn sparse_weights_are_estimated_dense_as_int8() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sparse_weights");
    let npus = ["ethos-u55-128", "ethos-u85-256", "edgetpu-coral-dev-board"];
    let all = [&npus[..], &["cortex-a76-rpi5", "cortex-m7-tflm"]].concat();
    let report = |name: &str, targets: &[&str], options: &[&str]| {
        let targets = targets.iter().map(|target| format!("--target={target}"));
        let targets: Vec<String> = targets.collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let file = folder.join(format!("{name}.tflite"));
        let args = [&["predict", "--json"], options, &targets, &[path(&file)]].concat();
        json_lines(&litecast(&args)).remove(0)
    };
    let numbers = |report: &Value| -> Vec<(String, Value)> {
        let results = report["results"].as_array().unwrap().iter();
        results
            .map(|one| {
                (
                    format!("{} {}", one["target"], one["metric"]),
                    one["value"].clone(),
                )
            })
            .collect()
    };
    for (options, targets) in [(&[][..], &npus[..]), (&["--int8"], &all)] {
        let expected = numbers(&report("dense", targets, options));
        assert!(
            expected.iter().all(|(_, value)| value.is_number()),
            "{expected:?}"
        );
        for name in ["rows", "blocks", "halves"] {
            let actual = report(name, targets, options);
            assert_eq!(numbers(&actual), expected, "{name} {options:?}");
            assert_eq!(actual["left_out"], Value::Null, "{name}");
            let codes = actual["diagnostics"].as_array().unwrap().iter();
            let codes: Vec<&str> = codes.map(|one| one["code"].as_str().unwrap()).collect();
            println!("{name} {options:?}: {} numbers, {codes:?}", expected.len());
            let says_so = ["sparse-weights", "quantised"].map(|code| codes.contains(&code));
            assert!(says_so.contains(&true), "{codes:?}");
        }
    }
    // A damaged place is no place of a dense constant: the operator stays.
    let mut damaged = fs::read(folder.join("rows.tflite")).unwrap();
    let last_row = damaged
        .windows(4)
        .rposition(|places| places == [24, 25, 26, 27]);
    damaged[last_row.expect("the places of the last row")] = 200;
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("damaged.tflite");
    fs::write(&file, &damaged).unwrap();
    let output = litecast(&["predict", "--int8", "--target=ethos-u55-128", path(&file)]);
    assert!(stdout(&output).contains("DENSIFY"));
}

/// One network as float32 and as int8, both of MLPerf Tiny: the float file is estimated as int8 where integers alone run.
#[test]
fn floats_are_estimated_as_int8_where_integers_alone_run() {
    let Some(folder) = litecast_needs::shared("models") else {
        return;
    };
    let [float, int8] =
        ["float", "int8"].map(|one| folder.join(format!("tiny__vww_96_{one}.tflite")));
    let options = |more: &[&str], file: &Path| {
        let targets = [
            "ethos-u55-256",
            "edgetpu-coral-dev-board",
            "stm32n6",
            "cortex-a76-rpi5",
        ];
        let targets = targets.iter().chain(&["cortex-m7-stm32h747"]);
        let mut args = vec!["predict".to_owned(), "--json".to_owned()];
        args.extend(targets.map(|target| format!("--target={target}")));
        args.extend(more.iter().map(|&option| option.to_owned()));
        args.push(path(file).to_owned());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        json_lines(&litecast(&args)).remove(0)
    };
    let latency = |report: &Value, target: &str| -> Value {
        let mut results = report["results"].as_array().unwrap().iter();
        let is_it = |one: &&Value| one["target"] == target && one["metric"] == "latency";
        results.find(is_it).cloned().expect("a result")
    };
    let [converted, as_is, all_int8] =
        [&[][..], &["--as-is"], &["--int8"]].map(|more| options(more, &float));
    let of_int8 = options(&[], &int8);
    let npus = ["ethos-u55-256", "edgetpu-coral-dev-board", "stm32n6"];
    for target in npus {
        let [actual, expected] = [&converted, &of_int8].map(|report| latency(report, target));
        let difference =
            actual["value"].as_f64().unwrap() / expected["value"].as_f64().unwrap() - 1.0;
        println!("{target}: {:+.1} % of the int8 file", 100.0 * difference);
        assert!(difference.abs() < 0.2, "{actual} {expected}");
        assert_eq!(actual["estimated_as"], "int8");
        assert_eq!(expected["estimated_as"], Value::Null);
        assert!(latency(&as_is, target)["unavailable"].is_string());
        assert_eq!(latency(&all_int8, target)["value"], actual["value"]);
    }
    // Processors run floats; kernels for int8 give no latency for them.
    let processor = |report: &Value| {
        latency(report, "cortex-a76-rpi5")["value"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(processor(&converted), processor(&as_is));
    assert!(processor(&all_int8) < 0.7 * processor(&as_is));
    let core = |report: &Value| latency(report, "cortex-m7-stm32h747");
    assert_eq!(core(&converted)["reason"], "precision");
    assert!(core(&all_int8)["value"].is_number());
    // The table says it beside each number, and in its head.
    let table = stdout(&in_columns(80, &["predict", path(&float)]));
    let row = table
        .lines()
        .find(|line| first_cell(line) == "ethos-u55-256");
    assert!(row.is_some_and(|row| row.contains(" as int8 ")), "{table}");
    assert!(
        table.contains("float32 (as int8 where the table says so)"),
        "{table}"
    );
}

/// The target of a line of a table.
fn first_cell(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

/// Each number says what it rests on, each error what it is against, and a level stands where it was checked alone.
#[test]
fn numbers_say_what_they_rest_on() {
    let file = examples().remove(0);
    let targets = [
        "ethos-u55-256",
        "cortex-a76-rpi5",
        "cortex-m4-stm32l4r5",
        "tflite-micro",
    ];
    let mut args = vec!["predict", "--json"];
    args.extend(targets.iter().flat_map(|target| ["--target", target]));
    args.push(path(&file));
    let report = json_lines(&litecast(&args)).remove(0);
    let results = report["results"].as_array().unwrap();
    let value_of = |target: &str, metric: &str| {
        let mut results = results.iter();
        let is_it = |one: &&Value| one["target"] == target && one["metric"] == metric;
        results.find(is_it).expect("a result")
    };
    for result in results {
        assert_eq!(
            result["value"].is_number(),
            result["evidence"].is_string(),
            "{result}"
        );
    }
    for (target, metric, evidence, percent) in [
        ("ethos-u55-256", "latency", "compiler", Some(90)),
        ("ethos-u55-256", "energy", "assumed", None),
        // Of 125 networks.
        ("tflite-micro", "arena", "counted", None),
    ] {
        let result = value_of(target, metric);
        assert_eq!(result["evidence"], evidence, "{result}");
        let actual = result["provenance"]["interval_percent"].as_u64();
        assert_eq!(actual, percent, "{result}");
    }
    assert_eq!(
        value_of("cortex-a76-rpi5", "latency")["evidence"],
        "measured"
    );
    // Four networks were measured on it.
    let core = value_of("cortex-m4-stm32l4r5", "latency");
    if core["value"].is_number() {
        assert_eq!(core["provenance"]["interval_percent"], Value::Null);
    }
    for (target, word) in [
        ("ethos-u55-256", "without flash"),
        ("cortex-a76-rpi5", "VDD_CORE"),
    ] {
        let scope = value_of(target, "energy")["provenance"]["scope"]
            .as_str()
            .unwrap();
        assert!(scope.contains(word), "{scope}");
    }
    let listed = stdout(&in_columns(80, &["targets"]));
    let head = listed.lines().next().unwrap();
    assert!(head.contains("against"), "{head}");
    for (target, against) in [
        ("ethos-u55-256", "Vela 5.2.0"),
        ("cortex-a76-rpi5", "hardware"),
    ] {
        let row = listed
            .lines()
            .find(|line| first_cell(line) == target)
            .unwrap();
        assert!(row.contains(against), "{row}");
    }
    let details = stdout(&in_columns(80, &["predict", "--details", path(&file)]));
    assert!(
        details.contains("against") && !details.contains("90 % interval"),
        "{details}"
    );
}

/// By an independent validator, with files that have reports and files that have none.
#[test]
fn reports_are_as_the_schema_says() {
    let Some(python) = litecast_needs::python("jsonschema") else {
        return;
    };
    let mut files = examples();
    files.push("/nowhere".into());
    files.extend(litecast_needs::shared_models().unwrap_or_default());
    let mut args = vec!["predict", "--json"];
    args.extend(files.iter().map(|file| path(file)));
    let reports = litecast(&args).stdout;
    let script = "import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
lines = sys.stdin.read().splitlines()
wrong = [(json.loads(line)['file'], e.message[:300]) for line in lines for e in validator.iter_errors(json.loads(line))]
broken = json.loads(lines[0])
broken['results'][0]['metric'] = 3
assert not validator.is_valid(broken) and not validator.is_valid({}), 'everything is valid'
print(len(lines), wrong)
sys.exit(1 if wrong else 0)";
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("report.schema.json");
    fs::write(&schema, litecast(&["schema"]).stdout).unwrap();
    let mut process = Command::new(python)
        .args(["-c", script, path(&schema)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(&reports).unwrap();
    let output = process.wait_with_output().unwrap();
    println!("{}", stdout(&output));
    assert!(output.status.success(), "{}", stdout(&output));
    assert!(stdout(&output).starts_with(&files.len().to_string()));
}

/// By what a report says of its file and of itself.
#[test]
fn reports_say_what_made_them() {
    let file = examples().remove(0);
    let predicted = json_lines(&litecast(&["predict", "--json", path(&file)])).remove(0);
    let facts = json_lines(&litecast(&["facts", "--json", path(&file)])).remove(0);
    let version = stdout(&litecast(&["--version"]));
    assert_eq!(
        format!(
            "litecast {}\n",
            predicted["litecast_version"].as_str().unwrap()
        ),
        version
    );
    assert_eq!(predicted["interval_percent"], 90);
    // No trained network is loaded for them.
    for report in [&predicted, &facts] {
        assert!(report["bundle"].is_null());
    }
    if let Ok(output) = Command::new("sha256sum").arg(&file).output() {
        assert_eq!(
            stdout(&output).split(' ').next(),
            predicted["sha256"].as_str()
        );
    }
    for result in predicted["results"].as_array().unwrap() {
        match (result.get("unavailable"), result["unit"].as_str()) {
            (Some(_), _) => assert!(!result["reason"].as_str().unwrap().is_empty(), "{result}"),
            (None, Some("bytes")) => {
                for field in ["value", "lo", "hi"]
                    .iter()
                    .filter_map(|field| result.get(field))
                {
                    assert!(field.is_u64(), "{result}");
                }
            }
            _ => {}
        }
    }
}

/// An operator on the CPU takes what its runtime takes, or nothing is known of it.
#[test]
fn what_an_accelerator_leaves_is_neither_free_nor_run_by_whom_refuses_it() {
    let result_of = |file: &str, target: &str, metric: &str| {
        let file = shared(file)?;
        let chosen = ["predict", "--json", "--target", target];
        let report = json_lines(&litecast(&[&chosen[..], &[path(&file)]].concat())).remove(0);
        let results = report["results"].as_array().unwrap().iter();
        let mut results = results.filter(|result| result["metric"] == metric);
        let result = results.next().unwrap().clone();
        println!("{}, {target}: {result}", file.display());
        Some((result, report))
    };
    // TensorFlow Lite Micro has no kernel for TILE.
    let tile = "models/LiteRT__dynamic_shapes.tflite";
    if let Some((latency, _)) = result_of(tile, "ethos-u55-256", "latency") {
        assert_eq!(latency["reason"], "host-refuses-operator", "{latency}");
    }
    // No operator is on the NPU.
    let strings = "models/LiteRT__string_input_model.tflite";
    for target in ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"] {
        if let Some((latency, _)) = result_of(strings, target, "latency") {
            assert_eq!(latency["reason"], "unsupported-operators", "{latency}");
        }
    }
    // The energy is that of the NPU.
    let deconvolution = "cases/deconv_s3_int8.tflite";
    if let Some((energy, report)) = result_of(deconvolution, "ethos-u55-256", "energy") {
        let left = report["left_out"][0]["operators"].as_array().unwrap();
        assert!(!left.is_empty());
        let parts = energy["operators"].as_array().unwrap();
        for operator in left {
            let idx = operator["operator"].as_u64().unwrap() as usize;
            assert_eq!(parts[idx], 0, "{operator}");
        }
        let sum: f64 = parts.iter().map(|part| part.as_f64().unwrap()).sum();
        let value = energy["value"].as_f64().unwrap();
        assert!((sum - value).abs() < 1e-9 * value, "{sum}, {value}");
    }
    // Latency times power.
    let beyond = "models/mediapipe-0.10.14__hand_landmark_lite.tflite";
    if let Some((energy, report)) = result_of(beyond, "cortex-a76-rpi5", "energy") {
        assert_eq!(report["results"][0]["evidence"], "assumed");
        assert_eq!(energy["evidence"], "assumed");
    }
}
