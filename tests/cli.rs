//! The native command, run as its users run it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn litecast(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_litecast"))
        .args(args)
        .output()
        .expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8")
}

/// One document a line.
fn json_lines(output: &Output) -> Vec<Value> {
    let text = stdout(output);
    let parsed = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"));
    parsed.collect()
}

/// As in a terminal of 80 columns.
fn in_80_columns(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_litecast"))
        .args(args)
        .env("COLUMNS", "80")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the command runs")
}

fn path(file: &Path) -> &str {
    file.to_str().expect("paths of tests are UTF-8")
}

fn examples() -> Vec<PathBuf> {
    tflite_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("www/examples"))
}

fn tflite_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "tflite")
    });
    files.sort();
    files
}

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
    let of = |report: &Value, target: &str| {
        let results = report["results"].as_array().unwrap();
        let mut latencies = results.iter().filter(|r| r["metric"] == "latency");
        latencies.find(|r| r["target"] == target).unwrap().clone()
    };
    let ms = |report| of(report, "cortex-a76-rpi5")["value"].as_f64().unwrap();
    let ratio = ms(&four) / ms(&one);
    println!("four inputs take {ratio:.2} times as long as one");
    assert!((3.0..4.0).contains(&ratio), "{ratio}");
    let npu = of(&four, "ethos-u55-256");
    assert!(
        npu["unavailable"]
            .as_str()
            .unwrap()
            .ends_with("at a time, found 4")
    );
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
            let found = results
                .iter()
                .find(|r| r["target"] == target && r["metric"] == metric);
            let result = found.unwrap_or_else(|| panic!("{target} {metric} is missing"));
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
    assert_eq!(
        arena["value"],
        report["model"]["arena_bytes"].as_f64().unwrap()
    );
}

/// Both processors have a modelled latency; where power was measured, energy is in proportion.
fn check_processors(results: &[Value], n_operators: usize) {
    let find = |target: &str, metric: &str| {
        let mut found = results.iter().filter(|r| r["target"] == target);
        found.find(|r| r["metric"] == metric)
    };
    for target in ["cortex-a76-rpi5", "cortex-a72-rpi4"] {
        let latency = find(target, "latency").unwrap_or_else(|| panic!("no latency of {target}"));
        assert_eq!(latency["unit"], "ms");
        assert_eq!(latency["provenance"]["kind"], "modelled");
        let words = latency["provenance"]["configuration"].as_str().unwrap();
        assert!(words.contains("with each kind left out"), "{words}");
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
    let found = results
        .iter()
        .find(|r| r["target"] == "edgetpu-coral-dev-board");
    let result = found.expect("the Edge TPU is missing");
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
    assert!(result["expected_error_percent"].as_f64().unwrap() > 0.0);
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

/// The file has no bytes on the disk, and none of it is read.
#[test]
fn a_file_beyond_the_limit_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large).unwrap().set_len(3 << 30).unwrap();
    let good = examples().remove(0);
    let output = litecast(&[
        "predict",
        "--json",
        large.to_str().unwrap(),
        good.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2);
    assert!(
        lines[1].get("model").is_some(),
        "the good file has its report"
    );
    let words = lines[0]["error"]["message"].as_str().unwrap();
    assert!(words.contains("found 3221225472 bytes"), "{words}");
}

/// With less memory than the large file has bytes, the other one still has its report.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_memory_does_not_hold_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large)
        .unwrap()
        .set_len(2_000_000_000)
        .unwrap();
    let good = examples().remove(0);
    let command = format!(
        "ulimit -v 1500000; exec {} predict --json {} {}",
        env!("CARGO_BIN_EXE_litecast"),
        large.display(),
        good.display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{errors}");
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(
        lines[1].get("model").is_some(),
        "the good file has its report"
    );
    assert!(errors.contains("large.tflite"), "{errors}");
}

/// A pipe that nobody writes to never ends.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_takes_too_long_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.tflite");
    let made = Command::new("mkfifo").arg(&endless).status().unwrap();
    assert!(made.success());
    let examples = examples();
    let output = litecast(&[
        "predict",
        "--json",
        "--time-limit=8",
        examples[0].to_str().unwrap(),
        endless.to_str().unwrap(),
        examples[1].to_str().unwrap(),
    ]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{errors}");
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 3, "{errors}");
    assert_eq!(lines[1]["error"]["kind"], "time-limit");
    assert!(
        lines[2].get("model").is_some(),
        "the file behind it has its report"
    );
    assert!(
        errors.contains("endless.tflite: took longer than 8 s"),
        "{errors}"
    );
}

/// The estimate of a target and metric in a report.
fn estimate(report: &Value, target: &str, metric: &str, field: &str) -> f64 {
    let results = report["results"].as_array().unwrap();
    let mut found = results.iter().filter(|r| r["target"] == target);
    let result = found
        .find(|r| r["metric"] == metric)
        .expect("the metric is estimated");
    result[field].as_f64().unwrap()
}

const NPU: &str = "ethos-u55-256";

#[test]
fn what_is_printed_fits_80_columns_and_has_no_colours_in_a_pipe() {
    let [one, two] =
        ["cifar10-s7-i9", "kws-s7-i43"].map(|name| format!("www/examples/cnn-{name}.tflite"));
    let [one, two] = [one.as_str(), two.as_str()];
    let limits = [
        "--target",
        NPU,
        "--max-latency",
        "1us",
        "--max-sram",
        "1GiB",
    ];
    let commands: Vec<Vec<&str>> = vec![
        vec!["predict", one],
        vec!["predict", "--details", two],
        vec!["predict", "--operators", one],
        vec!["facts", one],
        vec!["facts", "--operators", two],
        vec!["compare", one, two],
        [vec!["check", one, two], limits.to_vec()].concat(),
        vec!["boards", one],
        vec!["targets"],
        vec!["targets", "--details"],
    ];
    for args in commands {
        let output = in_80_columns(&args);
        let text = stdout(&output);
        assert!(text.lines().count() > 3, "{args:?}: {text}");
        assert!(!text.contains('\u{1b}'), "{args:?}");
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= 80, "{args:?}: {width} columns in\n{line}");
        }
    }
}

#[test]
fn colours_come_where_they_are_asked_for_and_go_with_no_color() {
    let coloured = |no_color: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        command.args(["targets"]).env("CLICOLOR_FORCE", "1");
        no_color.map(|value| command.env("NO_COLOR", value));
        stdout(&command.output().unwrap()).contains('\u{1b}')
    };
    assert!(coloured(None));
    assert!(!coloured(Some("1")));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_panic() {
    let examples = examples();
    for args in [
        vec!["predict", path(&examples[0]), path(&examples[1])],
        vec!["man"],
        vec!["targets", "--json"],
    ] {
        let mut process = Command::new(env!("CARGO_BIN_EXE_litecast"))
            .args(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {errors}");
        assert_eq!(errors, "", "{args:?}");
    }
}

#[test]
fn folders_patterns_and_the_standard_input_are_read_like_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/examples");
    let files = examples();
    let of = |args: &[&str]| json_lines(&litecast(&[&["facts", "--json"], args].concat()));
    let named = of(&files.iter().map(|file| path(file)).collect::<Vec<_>>());
    assert_eq!(named.len(), 3);
    assert_eq!(of(&[path(&folder)]), named);
    assert_eq!(of(&[path(&folder.join("*.tflite"))]), named);
    let mut process = Command::new(env!("CARGO_BIN_EXE_litecast"))
        .args(["facts", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    input.write_all(&fs::read(&files[0]).unwrap()).unwrap();
    drop(input);
    let piped = json_lines(&process.wait_with_output().unwrap()).remove(0);
    assert_eq!(piped["file"], "-");
    assert_eq!(piped["model"], named[0]["model"]);
    let output = litecast(&["facts", "no-such-*.tflite"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Counted here from the operators, and by the table.
#[test]
fn facts_add_up() {
    for file in examples() {
        let report = json_lines(&litecast(&["facts", "--json", path(&file)])).remove(0);
        assert_eq!(report["results"], Value::Array(vec![]));
        let operators = report["operators"].as_array().unwrap();
        let sum = |field: &str| {
            operators
                .iter()
                .map(|o| o[field].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(report["model"]["n_operators"], operators.len());
        assert_eq!(report["model"]["macs"], sum("macs"));
        assert_eq!(
            report["model"]["file_bytes"],
            fs::metadata(&file).unwrap().len()
        );
        let text = stdout(&litecast(&["facts", path(&file)]));
        let convolutions = operators.iter().filter(|o| o["name"] == "CONV_2D").count();
        let row = text.lines().find(|line| line.starts_with("CONV_2D "));
        let count = row.and_then(|row| row.split_whitespace().nth(1));
        assert_eq!(count.unwrap_or("0"), convolutions.to_string(), "{text}");
    }
}

/// Fields of a line of CSV, without their quotes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            character => fields.last_mut().unwrap().push(character),
        }
    }
    fields
}

#[test]
fn rows_for_spreadsheets_have_the_numbers_of_the_reports() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("=bad,.tflite");
    fs::write(&bad, "nothing").unwrap();
    let good = examples().remove(0);
    let args = ["--target", NPU, path(&good), path(&bad)];
    let report = json_lines(&litecast(&[&["predict", "--json"], &args[..]].concat())).remove(0);
    let output = litecast(&[&["predict", "--csv"], &args[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let lines: Vec<&str> = text.split("\r\n").collect();
    let header = fields(lines[0]);
    let results = report["results"].as_array().unwrap();
    assert_eq!(lines.len(), 1 + results.len() + 1 + 1, "{text}");
    for (line, result) in lines[1..].iter().zip(results) {
        let fields = fields(line);
        let field = |name: &str| &fields[header.iter().position(|found| *found == name).unwrap()];
        assert_eq!(*field("metric"), result["metric"]);
        let value: f64 = field("value").parse().unwrap();
        assert_eq!(value, result["value"].as_f64().unwrap());
    }
    let last = lines[lines.len() - 2];
    assert!(
        last.contains("=bad,.tflite\",") && last.contains(",truncated,"),
        "{last}"
    );
}

#[test]
fn a_page_needs_nothing_but_itself_and_has_names_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("<img onerror=a()>.tflite");
    fs::copy(&examples()[0], &file).unwrap();
    let html = stdout(&litecast(&["predict", "--html", path(&file), "/nowhere"]));
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(html.contains("&lt;img onerror=a()&gt;.tflite</h2>"));
    assert!(html.contains("ethos-u55-256") && html.contains("No report: "));
    for word in ["<img", "<script", "http://", "https://", "<link", " src="] {
        assert!(!html.contains(word), "{word}");
    }
    let [opened, closed] = ["<table>", "</table>"].map(|tag| html.matches(tag).count());
    assert_eq!((opened, closed), (2, 2));
}

#[test]
fn a_comparison_has_both_numbers_and_their_ratio() {
    let files = examples();
    let [one, two] = [path(&files[0]), path(&files[1])];
    let reports = json_lines(&litecast(&["predict", "--json", one, two]));
    let changes = json_lines(&litecast(&["compare", "--json", one, two])).remove(0);
    let changes = changes["changes"].as_array().unwrap();
    let of = |target: &str, metric: &str| {
        let mut found = changes.iter().filter(|c| c["target"] == target);
        found.find(|c| c["metric"] == metric).unwrap()
    };
    for (target, metric) in [
        (NPU, "latency"),
        (NPU, "sram_peak"),
        ("cortex-a72-rpi4", "latency"),
    ] {
        let [before, after] = [0, 1].map(|idx| estimate(&reports[idx], target, metric, "value"));
        let change = of(target, metric);
        for (field, expected) in [
            ("before", before),
            ("after", after),
            ("relative", after / before - 1.0),
        ] {
            let found = change[field].as_f64().unwrap();
            let difference = (found - expected).abs();
            println!("{target} {metric} {field}: {found}, differs by {difference:e}");
            assert!(difference <= 1e-12 * expected.abs());
        }
    }
    // Reports that were kept compare as the files do.
    let folder = tempfile::tempdir().unwrap();
    let kept = [("a.json", one), ("b.json", two)].map(|(name, file)| {
        let kept = folder.path().join(name);
        fs::write(&kept, litecast(&["predict", "--json", file]).stdout).unwrap();
        kept
    });
    let of_kept = json_lines(&litecast(&[
        "compare",
        "--json",
        path(&kept[0]),
        path(&kept[1]),
    ]))
    .remove(0);
    assert_eq!(of_kept["changes"].as_array().unwrap(), changes);
    let same = stdout(&litecast(&["compare", one, one]));
    assert!(
        same.contains("did not change") && !same.contains("latency"),
        "{same}"
    );
}

#[test]
fn folders_are_compared_by_name() {
    let [before, after] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let files = examples();
    let copy = |file: &Path, folder: &Path, name: &str| fs::copy(file, folder.join(name)).unwrap();
    copy(&files[0], before.path(), "a|b.tflite");
    copy(&files[1], after.path(), "a|b.tflite");
    copy(&files[0], before.path(), "old.tflite");
    copy(&files[0], after.path(), "new.tflite");
    let args = [
        "compare",
        "--markdown",
        "--target",
        NPU,
        path(before.path()),
        path(after.path()),
    ];
    let text = stdout(&litecast(&args));
    assert!(text.contains("#### a\\|b.tflite"), "{text}");
    assert!(text.contains("#### new.tflite\n\nnew\n"), "{text}");
    assert!(text.contains("#### old.tflite\n\nremoved\n"), "{text}");
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.replace("\\|", "").matches('|').count(), 6, "{line}");
    }
}

/// Limits above and below what `predict` says.
#[test]
fn a_check_exits_by_what_the_reports_say() {
    let file = examples().remove(0);
    let report = json_lines(&litecast(&["predict", "--json", path(&file)])).remove(0);
    let [value, upper] = ["value", "hi"].map(|field| estimate(&report, NPU, "latency", field));
    assert!(value < upper);
    let between = format!("{}ms", (value + upper) / 2.0);
    let check =
        |args: &[&str]| litecast(&[&["check", "--target", NPU, path(&file)], args].concat());
    for (args, code, status, over) in [
        (vec!["--max-latency", &between], 0, "within", None),
        (
            vec!["--max-latency", &between, "--against", "upper"],
            1,
            "over",
            Some((upper - value) / 2.0),
        ),
        (vec!["--max-latency", "1us"], 1, "over", Some(value - 0.001)),
        (vec!["--max-arena", "1MiB"], 0, "within", None),
        (vec!["--max-activation-ram", "1MiB"], 1, "unknown", None),
    ] {
        let output = check(&[&args[..], &["--json"]].concat());
        let line = json_lines(&output).remove(0);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {line}");
        assert_eq!(line["passed"], code == 0);
        assert_eq!(line["limits"][0]["status"], status, "{args:?}");
        let found = line["limits"][0]["over"].as_f64();
        assert_eq!(found.is_some(), over.is_some(), "{args:?}");
        let difference = found
            .zip(over)
            .map_or(0.0, |(found, over)| (found - over).abs());
        assert!(difference < 1e-9, "{args:?}: {difference}");
    }
    for args in [
        vec![],
        vec!["--max-latency", "10"],
        vec!["--max-sram", "256k"],
        vec!["--max-latency=-1ms"],
    ] {
        assert_eq!(check(&args).status.code(), Some(2), "{args:?}");
    }
    // What cannot be read does not pass.
    let output = litecast(&["check", "--max-arena", "1GiB", "/nowhere"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_check_reads_its_limits_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    fs::copy(&examples()[0], models.join("kws.tflite")).unwrap();
    let config = folder.path().join("litecast.toml");
    let check = |text: &str, args: &[&str]| {
        fs::write(&config, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        command
            .arg("check")
            .args(args)
            .current_dir(&folder)
            .output()
            .unwrap()
    };
    let limits = |max: &str| {
        format!("[[check]]\nfiles = [\"models\"]\ntargets = [\"ethos-u55-128\"]\nmax = {max}\n")
    };
    let passing = limits(r#"{ latency = "10 ms", sram = "1 MiB", file-size = 2000000 }"#);
    let output = check(&passing, &["--json"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let line = json_lines(&output).remove(0);
    assert_eq!(line["limits"].as_array().unwrap().len(), 3);
    assert_eq!(line["limits"][1]["target"], "ethos-u55-128");
    assert_eq!(line["limits"][1]["limit"], 10.0);
    let failing = format!("{passing}{}", limits(r#"{ latency = "1 ns" }"#));
    assert_eq!(check(&failing, &[]).status.code(), Some(1));
    for (text, words) in [
        (
            "[[check]]\nfiles = []\nmax = { latency = \"1ms\" }\n",
            "targets",
        ),
        (
            "[[check]]\nfiles = [\"models\"]\nmax = { speed = \"1ms\" }\n",
            "unknown field `speed`",
        ),
        (
            "[[check]]\nfiles = [\"models\"]\nmax = { sram = \"1 parsec\" }\n",
            "found `1 parsec`",
        ),
        (
            "[[check]]\nfiles = [\"nothing-*\"]\nmax = { macs = \"1M\" }\n",
            "found none",
        ),
        ("check = 3", "check"),
    ] {
        let output = check(text, &[]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.contains(words), "{text}: {errors}");
    }
}

#[test]
fn every_list_is_json_too() {
    let targets = json_lines(&litecast(&["targets", "--json"]));
    assert!(targets.iter().any(|target| target["id"] == NPU));
    let file = examples().remove(0);
    let lines = json_lines(&litecast(&["boards", "--json", path(&file), "/nowhere"]));
    assert_eq!(lines.len(), 2);
    let boards = lines[0]["boards"].as_array().unwrap();
    assert!(boards.len() >= 30);
    for board in boards {
        let has_room = board["ram"]["room"] != "short" && board["flash"]["room"] != "short";
        assert_eq!(board["fits"] != "no", has_room, "{board}");
    }
    assert_eq!(lines[1]["error"]["kind"], "file-not-found");
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let commands = ["predict", "compare", "check", "facts", "boards", "targets"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&litecast(&["completions", shell]));
        for command in commands {
            assert!(script.contains(command), "{shell}: no {command}");
        }
    }
    let page = stdout(&litecast(&["man"]));
    assert!(page.contains(".TH"), "{page}");
    for word in commands.iter().chain(&["max\\-latency", "litecast.toml"]) {
        assert!(page.contains(word), "no {word} in {page}");
    }
    assert!(!page.contains("worker"), "what is hidden stays so");
}

/// The step of `action.yml` that compares, in a repository of its own.
#[cfg(unix)]
#[test]
fn the_action_compares_with_the_base_of_a_change() {
    let repository = tempfile::tempdir().unwrap();
    let models = repository.path().join("models");
    fs::create_dir(&models).unwrap();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let mut command = Command::new("git");
        let output = command
            .args(identity)
            .args(args)
            .current_dir(&repository)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        stdout(&output).trim().to_owned()
    };
    git(&["init", "--quiet"]);
    let files = examples();
    fs::copy(&files[0], models.join("kws.tflite")).unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "before"]);
    let base = git(&["rev-parse", "HEAD"]);
    fs::copy(&files[1], models.join("kws.tflite")).unwrap();
    fs::copy(&files[0], models.join("other.tflite")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/compare-with-base.sh");
    let table = |base: &str| {
        let output = Command::new(&script)
            .current_dir(&repository)
            .env("LITECAST", env!("CARGO_BIN_EXE_litecast"))
            .env("RUNNER_TEMP", repository.path())
            .env("MODELS", "models")
            .env("TARGETS", NPU)
            .env("BASE", base)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        stdout(&output)
    };
    let text = table(&base);
    assert!(text.contains("#### models/kws.tflite\n"), "{text}");
    assert!(text.contains("#### models/other.tflite\n\nnew\n"), "{text}");
    let row = text
        .lines()
        .find(|line| line.starts_with("| ethos-u55-256 | latency |"));
    let change = row.and_then(|row| row.split('|').nth(5)).unwrap();
    assert!(change.contains('%'), "{text}");
    let first = table("0000000000000000000000000000000000000000");
    assert_eq!(first.matches("\nnew\n").count(), 2, "{first}");
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
    assert_eq!(predicted["bundle"].as_str().unwrap().len(), 16);
    assert!(facts["bundle"].is_null());
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
