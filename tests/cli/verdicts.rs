//! Limits: of a check, its configuration and a sweep.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::*;

/// What speaks against a number stands beside every verdict and comparison of it, once for all limits and both sides.
#[test]
fn a_doubt_stands_once_beside_limits_and_comparisons() {
    let files = examples();
    let [one, two] = [path(&files[0]), path(&files[1])];
    let few = ["--target", "cortex-m7-tflm"];
    let doubt = "latencies of i.MX RT1050 and RT1170, Cortex-M7 are fitted to 2 measurements";
    let on_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let limits = [
        "--max-latency",
        "10s",
        "--max-weights-flash",
        "1GiB",
        "--max-arena",
        "1GiB",
    ];
    let checked = litecast(&[&["check", one], &few[..], &limits].concat());
    let compared = litecast(&[&["compare", one, two], &few[..]].concat());
    for output in [&checked, &compared] {
        let text = stdout(output);
        println!("{text}");
        assert_eq!(on_one_line(&text).matches(doubt).count(), 1, "{text}");
    }
    assert!(on_one_line(&stdout(&checked)).contains(&format!("cortex-m7-tflm: warning: {doubt}")));
    assert!(
        stdout(&checked).contains("3 limits of 1 file checked, none exceeded"),
        "one arena"
    );
    // Of one side alone with its name.
    let folder = tempfile::tempdir().unwrap();
    let kept = [("a.json", &[][..]), ("b.json", &few[..])].map(|(name, targets)| {
        let kept = folder.path().join(name);
        let report = litecast(&[&["predict", "--json", one], targets].concat());
        fs::write(&kept, report.stdout).unwrap();
        kept
    });
    let text = stdout(&litecast(&["compare", path(&kept[0]), path(&kept[1])]));
    assert!(
        on_one_line(&text).contains(&format!("warning: after: {doubt}")),
        "{text}"
    );
}

#[test]
fn a_release_is_chosen_for_one_target_or_for_all() {
    let files = examples();
    let file = path(&files[0]);
    let st = "cortex-m7-stm32h747";
    let latency = |options: &[&str], target: &str| {
        let report = &json_lines(&litecast(&[&["predict", "--json", file], options].concat()))[0];
        estimate(report, target, "latency", "value")
    };
    let seven = format!("{st}@7");
    let both = ["--target", &seven, "--target", st];
    let [older, newest] = [&*seven, st].map(|target| latency(&both, target));
    println!("release 7: {older} ms, the newest: {newest} ms");
    assert!(older > newest);
    let by_option = ["--target", st, "--release", "7"];
    assert_eq!(latency(&by_option, &seven), older);
    let on_board = ["--board", "stm32h747i-disco", "--release", "7"];
    assert_eq!(
        latency(&on_board, &format!("stm32h747i-disco/{seven}")),
        older
    );
    // An id is more exact than the option, which targets without releases do not take.
    let mixed = [
        "--target",
        &seven,
        "--target",
        "cortex-m4-tflm",
        "--release",
        "10",
    ];
    assert_eq!(latency(&mixed, &seven), older);
    let refused = litecast(&["predict", file, "--target", st, "--release", "6"]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        words.contains("release 6: expected one of 7, 7-time, 8"),
        "{words}"
    );
    let listed = stdout(&litecast(&["targets"]));
    assert!(
        listed.contains("--release of ST Edge AI: 7, 7-time"),
        "{listed}"
    );
    let config = tempfile::tempdir().unwrap();
    let toml = config.path().join("litecast.toml");
    fs::copy(file, config.path().join("model.tflite")).unwrap();
    let limit = (older + newest) / 2.0;
    for (release, expected) in [("7", 1), ("10", 0)] {
        let text = format!(
            "[[check]]\nfiles = [\"model.tflite\"]\ntargets = [\"{st}\"]\nrelease = \"{release}\"\nmax.latency = \"{limit}ms\"\n"
        );
        fs::write(&toml, text).unwrap();
        let output = litecast(&["check", "--config", path(&toml)]);
        assert_eq!(output.status.code(), Some(expected), "{}", stdout(&output));
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
        (vec!["--max-activation-ram", "1MiB"], 2, "unknown", None),
        (
            vec!["--max-arena", "1MiB", "--max-activation-ram", "1MiB"],
            1,
            "within",
            None,
        ),
    ] {
        let output = check(&[&args[..], &["--json"]].concat());
        let line = json_lines(&output).remove(0);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {line}");
        assert_eq!(line["passed"], code == 0);
        assert_eq!(line["limits"][0]["status"], status, "{args:?}");
        let actual = line["limits"][0]["over"].as_f64();
        assert_eq!(actual.is_some(), over.is_some(), "{args:?}");
        let difference = actual
            .zip(over)
            .map_or(0.0, |(actual, over)| (actual - over).abs());
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
}

/// Whatever the reason is: CI tells a limit that is exceeded from a check that did not happen.
#[test]
fn a_check_of_nothing_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("broken.tflite"), "no model").unwrap();
    fs::write(at("litecast.toml"), "check = []\n").unwrap();
    let good = examples().remove(0);
    let check = |args: &[&str]| {
        let output = litecast(&[&["check", "--max-arena", "1GiB"], args].concat());
        println!("{args:?}: {}", stdout(&output));
        output.status.code()
    };
    assert_eq!(check(&["/nowhere"]), Some(2));
    for format in [&[][..], &["--json"], &["--csv"], &["--markdown"]] {
        let broken = at("broken.tflite");
        assert_eq!(check(&[&[path(&broken)], format].concat()), Some(2));
        // One file that could be checked is something.
        assert_eq!(
            check(&[&[path(&broken), path(&good)], format].concat()),
            Some(1)
        );
    }
    let empty = litecast(&["check", "--config", path(&at("litecast.toml"))]);
    assert_eq!(empty.status.code(), Some(2));
    let never = [
        "check",
        "--target",
        "stm32n6",
        "--max-energy",
        "1mJ",
        path(&good),
    ];
    assert_eq!(litecast(&never).status.code(), Some(2));

    // The same holds for limits of a sweep, and for comparisons.
    let broken = at("broken.tflite");
    let sweep = litecast(&["sweep", "--max-latency", "10ms", path(&broken)]);
    assert_eq!(sweep.status.code(), Some(2));
    let none_meets = litecast(&["sweep", "--max-latency", "1ns", path(&good)]);
    assert_eq!(none_meets.status.code(), Some(1));
    let compare =
        |one: &Path, two: &Path| litecast(&["compare", path(one), path(two)]).status.code();
    assert_eq!(compare(&broken, &broken), Some(2));
    assert_eq!(compare(&broken, &good), Some(1));
}

#[test]
fn limits_that_are_no_text_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("litecast.toml");
    let long = vec![b' '; 2 << 20];
    for (bytes, expected) in [
        (
            &b"[[check]]\nfiles = [\"\xff\"]\n"[..],
            "litecast.toml: line 2: expected UTF-8",
        ),
        (
            &long,
            "litecast.toml: expected at most 524288 bytes, found 2097152",
        ),
        (b"[[check]]\nfiles = [[[", "litecast.toml: line 2: "),
        (
            b"[[check]]\nbatch = 99999999999999999999\n",
            "litecast.toml: line 2: ",
        ),
        (b"[[check]]\nbatch = 1\nbatch = 1\n", "duplicate key"),
    ] {
        fs::write(&config, bytes).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        let output = command.arg("check").current_dir(&folder).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(expected) && words.len() < 1000, "{words}");
    }
}

/// Ids of processors may name any clock.
#[test]
fn targets_of_a_check_are_limited_and_count_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(&examples()[0], folder.path().join("a.tflite")).unwrap();
    let check = |targets: Vec<String>| {
        let text = format!(
            "[[check]]\nfiles = [\"a.tflite\"]\ntargets = {targets:?}\nmax = {{ latency = \"100 s\", file-size = 2000000 }}\n"
        );
        fs::write(folder.path().join("litecast.toml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        let arguments = ["check", "--json"];
        command
            .args(arguments)
            .current_dir(&folder)
            .output()
            .unwrap()
    };
    let many = (0..513).map(|n| format!("{NPU}@{}", 100 + n)).collect();
    let output = check(many);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(
        words.contains("check 1: expected at most 512 targets"),
        "{words}"
    );
    let output = check(vec![NPU.to_owned(); 10_000]);
    let line = json_lines(&output).remove(0);
    assert_eq!(line["limits"].as_array().unwrap().len(), 2, "{line}");
}

/// Each check of a file is an estimate.
#[test]
fn one_file_under_many_names_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("a.tflite");
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::copy(&examples()[0], &model).unwrap();
    let files: Vec<String> = (0..257).map(|n| "d/../".repeat(n) + "a.tflite").collect();
    let text = format!("[[check]]\nfiles = {files:?}\nmax = {{ macs = \"1M\" }}\n");
    fs::write(folder.path().join("litecast.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
    let output = command.arg("check").current_dir(&folder).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("at most 256 checks of one file"), "{words}");
    assert_eq!(stdout(&output), "");
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
    let output = check(&failing, &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("1 of 4 limits exceeded in 1 file\n"),
        "{text}"
    );
    for (text, words) in [
        (
            "[[check]]\nfiles = []\nmax = { latency = \"1ms\" }\n",
            "targets",
        ),
        (
            "[[check]]\nfiles = [\"models\"]\nmax = { speed = \"1ms\" }\n",
            "line 3: unknown field, expected one of `latency`",
        ),
        (
            "[[check]]\nfiles = [\"models\"]\nmax = { sram = \"1 parsec\" }\n",
            "line 3: expected a number with a unit, for example 256KiB, 1MiB or 4096, found",
        ),
        (
            "[[check]]\nfiles = [\"models\"]\nmax = { macs = nan }\n",
            "line 3: expected a text or a whole number",
        ),
        (
            "[[check]]\nfiles = [\"nothing-*\"]\nmax = { macs = \"1M\" }\n",
            "found none",
        ),
        (
            "check = 3",
            "line 1: invalid type: integer, expected a sequence",
        ),
    ] {
        let output = check(text, &[]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.contains(words), "{text}: {errors}");
    }
}

/// A configuration and what it names may be links that a change made to any file of the machine.
#[cfg(unix)]
#[test]
fn a_configuration_reads_nothing_outside_of_its_folder_and_repeats_no_contents() {
    use std::os::unix::fs::symlink;
    const SECRET: &str = "hunter2";
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("models")).unwrap();
    fs::copy(&examples()[0], at("models/good.tflite")).unwrap();
    let secrets = [
        format!("{SECRET}{SECRET}\n"),
        format!("{SECRET} = \"{SECRET}\"\n"),
        format!("check = \"{SECRET}\"\n"),
        format!("[{SECRET}]\n{SECRET} = {SECRET}\n[{SECRET}]\n"),
        format!("[[check]]\nfiles = [\"x\"]\nmax = {{ \"a`{SECRET}\" = 1 }}\n"),
        format!("x\n[{SECRET}\n"),
        format!("[a]\n{SECRET}=1\n{SECRET}=2\n"),
        format!("[a]\n{SECRET} 1=1\n"),
    ];
    let check = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        let output = command
            .arg("check")
            .args(arguments)
            .current_dir(&folder)
            .output()
            .unwrap();
        let words = format!(
            "{}{}",
            stdout(&output),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!words.contains(SECRET), "{words}");
        (output.status.code(), words)
    };
    let secret = outside.path().join("secret.tflite");
    for contents in &secrets {
        fs::write(&secret, contents).unwrap();
        symlink(&secret, at("litecast.toml")).unwrap();
        let (code, words) = check(&[]);
        println!("{words}");
        assert_eq!(code, Some(2));
        assert!(words.contains("litecast.toml: line "), "{words}");
        fs::remove_file(at("litecast.toml")).unwrap();
        let ini = [
            "--vela-ini",
            path(&secret),
            "--target=ethos-u55-128",
            "--max-macs=1M",
        ];
        let (code, words) = check(&[&ini[..], &["models"]].concat());
        println!("{words}");
        assert_eq!(code, Some(2));
    }

    let secret_name = path(&secret).to_owned();
    symlink(&secret, at("models/link.tflite")).unwrap();
    symlink(outside.path(), at("folder")).unwrap();
    let limits = "max = { macs = \"1G\" }";
    let named = |files: &str, others: &str| {
        format!("[[check]]\nfiles = [\"{files}\"]\ntargets = [\"{NPU}\"]\n{limits}\n{others}\n")
    };
    for (text, expected) in [
        // One link costs no other file its verdict.
        (named("models", ""), 1),
        (named("models/*.tflite", ""), 1),
        (named("models/link.tflite", ""), 2),
        (named("folder", ""), 2),
        (named("folder/*.tflite", ""), 2),
        (named("../*/*.tflite", ""), 2),
        (named(&secret_name, ""), 2),
        (
            named(
                "models/good.tflite",
                &format!("vela-ini = \"{secret_name}\""),
            ),
            2,
        ),
        (
            named("models/good.tflite", "vela-ini = \"models/link.tflite\""),
            2,
        ),
    ] {
        fs::write(at("litecast.toml"), &text).unwrap();
        let (code, words) = check(&[]);
        println!("{text}{words}");
        assert_eq!(code, Some(expected), "{text}{words}");
        assert!(words.contains("leads out of it"), "{text}{words}");
        let (_, words) = check(&["--outside"]);
        assert!(!words.contains("leads out of it"), "{text}{words}");
    }
    // Pipes that nobody writes to: a model that is named, and the configuration itself.
    let mkfifo = |name: &str| {
        let made = Command::new("mkfifo").arg(at(name)).status();
        assert!(made.unwrap().success());
    };
    mkfifo("models/pipe.tflite");
    fs::write(at("litecast.toml"), named("models/pipe.tflite", "")).unwrap();
    let (code, words) = check(&[]);
    let is_refused = words.contains("expected a file, found a pipe or device");
    assert!(code == Some(2) && is_refused, "{words}");
    fs::remove_file(at("litecast.toml")).unwrap();
    mkfifo("litecast.toml");
    let (code, words) = check(&[]);
    assert!(
        code == Some(2) && words.contains("expected a file"),
        "{words}"
    );
}

/// Every target of a group beside a limit, from the fastest.
#[test]
fn a_sweep_over_a_group_says_which_targets_are_fast_enough() {
    let file = &examples()[0];
    let group = ["sweep", "--group", "phones-and-boards", "--json"];
    let rows = json_lines(&litecast(&[&group[..], &[path(file)]].concat()));
    // Last are devices on which networks in this precision were not measured.
    let latencies: Vec<f64> = (rows.iter())
        .map_while(|row| row["latency_ms"].as_f64())
        .collect();
    assert!(latencies.len() >= 8, "{} devices", latencies.len());
    assert!(latencies.is_sorted(), "{latencies:?}");
    let unmeasured = &rows[latencies.len()..];
    assert!(unmeasured.iter().all(|row| row["latency_ms"].is_null()));
    let limit_ms = rows[1]["latency_hi_ms"].as_f64().unwrap();
    let limit = format!("--max-latency={limit_ms}ms");
    let output = litecast(&[&group[..], &[&limit, path(file)]].concat());
    assert!(output.status.success());
    let swept = json_lines(&output);
    for (row, before) in swept.iter().zip(&rows) {
        assert_eq!(row["target"], before["target"]);
        let Some(held) = row["latency_hi_ms"].as_f64() else {
            assert!(row["meets"] != true, "{row}");
            continue;
        };
        assert_eq!(row["meets"].as_bool(), Some(held <= limit_ms), "{row}");
    }
    let n_met = swept.iter().filter(|row| row["meets"] == true).count();
    println!("{n_met} of {} within {limit_ms} ms", swept.len());
    assert!(n_met > 0);
    let report = &json_lines(&litecast(&[
        "predict",
        "--json",
        "--group=phones-and-boards",
        path(file),
    ]))[0];
    let first = rows[0]["target"].as_str().unwrap();
    assert_eq!(estimate(report, first, "latency", "value"), latencies[0]);
    // Names of devices have commas.
    let table = stdout(&litecast(&[
        "sweep",
        "--group=phones-and-boards",
        "--csv",
        path(file),
    ]));
    let device = rows[0]["device"].as_str().unwrap();
    assert!(
        device.contains(',') && table.contains(&format!(",\"{device}\",measured,")),
        "{table}"
    );
    // A doubt about all devices is one line.
    let doubt = "no network measured on this device";
    let text = stdout(&litecast(&[
        "predict",
        "--group=phones-and-boards",
        path(file),
    ]));
    assert!(text.matches(doubt).count() <= 1, "{text}");
    let none = litecast(&[
        "sweep",
        "--group",
        "phones-and-boards",
        "--max-latency",
        "1ns",
        path(file),
    ]);
    assert_eq!(none.status.code(), Some(1));
    let unknown = litecast(&["sweep", "--group", "phones", path(file)]);
    let words = String::from_utf8_lossy(&unknown.stderr);
    assert!(
        words.contains("expected one of") && words.contains("phones-and-boards"),
        "{words}"
    );
}

/// A number that differs from its limit looks different, however little it differs.
#[test]
fn a_number_beside_its_limit_is_told_apart() {
    let file = examples().remove(0);
    let facts = json_lines(&litecast(&["facts", "--json", path(&file)])).remove(0);
    let arena = facts["model"]["arena_bytes"].as_u64().unwrap();
    let check = |limit: u64| {
        let limit = format!("--max-arena={limit}");
        litecast(&["check", "--target=tflite-micro", &limit, path(&file)])
    };
    let row = |output: &Output| {
        let text = stdout(output);
        let row = text.lines().find(|line| line.contains("arena"));
        row.unwrap().to_owned()
    };
    for (limit, status) in [(arena - 1, "OVER"), (arena, "ok"), (arena + 1, "ok")] {
        let row = row(&check(limit));
        let kib: Vec<&str> = row.split("KiB").map(str::trim).collect();
        let [found, shown] = [0, 1].map(|idx| kib[idx].rsplit(' ').next().unwrap());
        println!("{row}");
        assert!(row.trim_start().starts_with(status), "{row}");
        assert_eq!(found == shown, limit == arena, "{row}");
    }
    assert!(!row(&check(arena - 1)).contains("(0 %)"));
}

/// Each row says what its latency rests on, in every form, and doubts are below the table.
#[test]
fn a_sweep_has_a_grade_in_each_row_and_its_doubts() {
    let Some(models) = litecast_needs::shared_models() else {
        return;
    };
    let file = models
        .into_iter()
        .find(|model| path(model).ends_with("openmv__force_int_quant.tflite"));
    let file = file.unwrap_or_else(|| examples().remove(0));
    let swept = json_lines(&litecast(&["sweep", "--json", path(&file)])).remove(0);
    let report = json_lines(&litecast(&[
        "predict",
        "--json",
        "--group=ethos-u",
        path(&file),
    ]))
    .remove(0);
    let csv = stdout(&litecast(&["sweep", "--csv", path(&file)]));
    let text = stdout(&litecast(&["sweep", path(&file)]));
    let points = swept["points"].as_array().unwrap();
    assert!(points.len() > 5);
    for point in points {
        let target = point["target"].as_str().unwrap();
        let results = report["results"].as_array().unwrap();
        let of_target = |metric: &str| {
            let mut matching = results.iter().filter(|one| one["target"] == target);
            matching.find(|one| one["metric"] == metric).unwrap()["evidence"].clone()
        };
        assert_eq!(point["latency_ms"]["evidence"], of_target("latency"));
        assert_eq!(point["sram_bytes"]["evidence"], of_target("sram_peak"));
        let grade = point["latency_ms"]["evidence"].as_str().unwrap();
        for shown in [&csv, &text] {
            let mut lines = shown.lines();
            assert!(
                lines.any(|line| line.contains(target) && line.contains(grade)),
                "{target} {grade}: {shown}"
            );
        }
    }
    let warned = |document: &serde_json::Value, field: &str| {
        let doubts = document[field].as_array().cloned().unwrap_or_default();
        let warnings = doubts
            .into_iter()
            .filter(|one| one["severity"] == "warning");
        warnings
            .map(|one| one["message"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(warned(&swept, "doubts"), warned(&report, "diagnostics"));
    let group = stdout(&litecast(&["sweep", "--group=gpus", path(&file)]));
    println!("{text}{group}");
    assert!(
        group.contains("channels last") && group.contains("assumed"),
        "{group}"
    );
}

/// Constants behind a `DEQUANTIZE` are read as they are stored, and the answers keep the places of the file's operators.
#[test]
fn a_network_of_float16_becomes_int8_as_one_of_float32_does() {
    let Some(models) = litecast_needs::shared_models() else {
        return;
    };
    let mut models = models.iter();
    let file = models.find(|model| path(model).contains("hand_landmark_lite"));
    let file = path(file.expect("a network of float16"));
    let [before, int8] = [vec![], vec!["--int8"]].map(|more| {
        let arguments = [&["predict", "--json", "--target", NPU], &more[..], &[file]].concat();
        json_lines(&litecast(&arguments)).remove(0)
    });
    let n_unpacked = |report: &serde_json::Value| {
        let operators = report["operators"].as_array().unwrap().iter();
        operators.filter(|one| one["name"] == "DEQUANTIZE").count()
    };
    assert_eq!((n_unpacked(&before), n_unpacked(&int8)), (102, 0));
    assert_eq!(before["model"]["parameters"], int8["model"]["parameters"]);
    let latency = |report: &serde_json::Value| {
        let results = report["results"].as_array().unwrap();
        results
            .iter()
            .find(|one| one["metric"] == "latency")
            .unwrap()
            .clone()
    };
    let [before_ms, int8_ms] = [&before, &int8].map(latency);
    assert_eq!(before_ms["value"], int8_ms["value"]);
    let parts = |latency: &serde_json::Value| {
        let parts = latency["operators"].as_array().unwrap().iter();
        parts.map(|part| part.as_f64().unwrap()).collect::<Vec<_>>()
    };
    let kept = before["operators"].as_array().unwrap().iter();
    let kept: Vec<f64> = kept
        .zip(parts(&before_ms))
        .filter_map(|(operator, part)| {
            let is_unpacked = operator["name"] == "DEQUANTIZE";
            assert!(!is_unpacked || part == 0.0);
            (!is_unpacked).then_some(part)
        })
        .collect();
    assert_eq!(kept, parts(&int8_ms));
}

/// A board that cannot hold a network passes no check, and `predict` says so at the head.
#[test]
fn no_limit_is_met_on_a_board_that_cannot_hold_the_network() {
    let Some(models) = litecast_needs::shared("models-mcu") else {
        return;
    };
    let models = litecast_needs::tflite_files(&models);
    let mut models = models.iter();
    let large = models.find(|model| path(model).contains("mobilenet_v1_0.5_224_fft_int8"));
    let large = path(large.unwrap()).to_owned();
    let limits = ["--max-latency=1000s", "--json"];
    let check = |board: &str, file: &str| {
        let output = litecast(&[&["check", "--board", board], &limits[..], &[file]].concat());
        (output.status.code(), json_lines(&output).remove(0))
    };
    for (board, runtime) in [
        ("arduino-nano-33-ble", "Micro"),
        ("nucleo-f401re", "ST Edge AI"),
    ] {
        let (code, checked) = check(board, &large);
        let limits = checked["limits"].as_array().unwrap();
        let rows = limits.iter().filter(|limit| limit["metric"] == "board_ram");
        let rows: Vec<_> = rows.collect();
        println!("{board} under {runtime}: {checked}");
        assert_eq!((code, rows.len()), (Some(1), 1), "{checked}");
        assert_eq!(rows[0]["status"], "over");
        let text = stdout(&litecast(&["predict", "--board", board, &large]));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("the board has too little memory: board RAM,"),
            "{text}"
        );
        assert!(!text.contains("lie in external flash"), "{text}");
    }
    let small = path(&examples()[0]).to_owned();
    let (code, checked) = check("arduino-nano-33-ble", &small);
    assert_eq!(
        (code, checked["limits"].as_array().unwrap().len()),
        (Some(0), 1)
    );
}

/// What Vela compiled runs on its Ethos-U alone.
#[test]
fn a_compiled_file_has_no_number_where_its_accelerator_is_not() {
    let Some(models) = litecast_needs::shared_models() else {
        return;
    };
    let file = models
        .iter()
        .find(|model| path(model).ends_with("person_detect_vela.tflite"));
    let file = path(file.unwrap());
    let mut arguments = vec!["predict", "--json"];
    let targets = [
        "galaxy-s24",
        "rtx-3090",
        "cortex-m4-tflm",
        "cortex-a76-rpi5",
    ];
    arguments.extend(targets.iter().flat_map(|target| ["--target", target]));
    for board in ["arduino-nano-33-ble", "esp32-s3-devkitc", "nucleo-l4r5zi"] {
        arguments.extend(["--board", board]);
    }
    arguments.push(file);
    let report = json_lines(&litecast(&arguments)).remove(0);
    let results = report["results"].as_array().unwrap();
    assert!(results.len() > 10);
    for result in results {
        assert!(result["value"].is_null(), "{result}");
        let why = result["unavailable"].as_str().unwrap();
        assert!(
            why.contains("compiled for an Ethos-U55-256, by Vela"),
            "{why}"
        );
    }
    let limited = [
        "check",
        "--board=arduino-nano-33-ble",
        "--max-arena=100KiB",
        file,
    ];
    assert_eq!(litecast(&limited).status.code(), Some(2));
}

/// What a network took on one phone tells more of the others than its graph: intervals narrow, and those of other makers stay.
#[test]
fn a_measurement_on_one_phone_narrows_the_others() {
    let files = examples();
    let [one, two] = [path(&files[0]), path(&files[1])];
    let group = "--group=phones-and-boards";
    let swept = |more: &[&str]| {
        let arguments = [&["sweep", group, "--json", one][..], more].concat();
        json_lines(&litecast(&arguments))
    };
    let width = |rows: &[Value], target: &str| {
        let row = rows.iter().find(|row| row["target"] == target).unwrap();
        let end = |name: &str| row[name].as_f64().unwrap();
        end("latency_hi_ms") / end("latency_lo_ms")
    };
    let plain = swept(&[]);
    let beside = swept(&["--measured", "galaxy-s24=0.5ms"]);
    assert_eq!(plain.len(), beside.len());
    for (target, is_narrower) in [
        ("galaxy-s25", true),
        ("galaxy-s24", false),
        ("rk3588", false),
    ] {
        let [before, after] = [&plain, &beside].map(|rows| width(rows, target));
        assert_eq!(after < before, is_narrower, "{target}: {before}, {after}");
    }
    // As the sweep, and with what it rests on.
    let measured = "--measured=galaxy-s24=0.5";
    let report = json_lines(&litecast(&[
        "predict",
        "--json",
        "--target=galaxy-s25",
        measured,
        one,
    ]));
    let result = &report[0]["results"][0];
    let swept = beside
        .iter()
        .find(|row| row["target"] == "galaxy-s25")
        .unwrap();
    assert_eq!(result["value"], swept["latency_ms"]);
    let text = result["provenance"].to_string();
    assert!(
        text.contains("0.5 ms measured on Samsung Galaxy S24"),
        "{text}"
    );
    let refused = |arguments: &[&str], expected: &str| {
        let output = litecast(&[&["predict"][..], arguments].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(expected),
            "{text}"
        );
    };
    let galaxy = "--target=galaxy-s25";
    refused(&[measured, galaxy, one, two], "expected one model, found 2");
    let npu = "--target=ethos-u55-128";
    refused(
        &[measured, npu, one],
        "expected --target or --group with a phone",
    );
    refused(&["--measured=galaxy-s24", galaxy, one], "expected ID=MS");
}

/// A kept report is compared on its own targets, and a side that is missing is no removal.
#[test]
fn a_file_is_compared_on_the_targets_of_a_report() {
    let files = examples();
    let [one, two] = [path(&files[0]), path(&files[1])];
    let chosen = ["--target", "ethos-u55-128", "--board", "imx93"];
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.json");
    let report = litecast(&[&["predict", "--json", one], &chosen[..]].concat());
    fs::write(&kept, report.stdout).unwrap();
    let compared = |args: &[&str]| {
        json_lines(&litecast(&[&["compare", "--json"], args].concat())).remove(0)["results"].clone()
    };
    for sides in [[path(&kept), two], [two, path(&kept)]] {
        let results = compared(&sides);
        let results = results.as_array().unwrap();
        let targets: Vec<_> = results.iter().map(|one| one["target"].as_str()).collect();
        println!("{targets:?}");
        assert!(targets.contains(&Some("ethos-u55-128")));
        assert!(targets.contains(&Some("imx93/ethos-u65-256")));
        assert!(!targets.contains(&Some(NPU)), "{targets:?}");
        let latencies = results.iter().filter(|one| one["metric"] == "latency");
        for latency in latencies {
            assert!(latency["change_percent"].is_number(), "{latency}");
        }
    }
    assert_eq!(
        compared(&[path(&kept), two]),
        compared(&[&[one, two], &chosen[..]].concat())
    );
    // Chosen targets are those of both sides, and the table tells what "?" is.
    let text = stdout(&litecast(&["compare", path(&kept), two, "--target", NPU]));
    assert!(text.contains("? no estimate on this side"), "{text}");
    assert!(!text.contains('†'), "{text}");
    let missing = litecast(&["compare", "www/examples", "no-such-folder"]);
    assert_eq!(
        (missing.status.code(), stdout(&missing)),
        (Some(2), String::new())
    );
}

/// A report at another clock, memory mode, number of threads or batch size is not taken for another model.
#[test]
fn a_comparison_says_which_settings_differ() {
    let files = examples();
    let one = path(&files[0]);
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.json");
    let compared = |options: &[&str], others: &[&str]| {
        let report = litecast(&[&["predict", "--json", one], options].concat());
        fs::write(&kept, report.stdout).unwrap();
        let output = litecast(&[&["compare", "--all", path(&kept), one], others].concat());
        let text = stdout(&output);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = "not of the same settings:";
    for (options, words) in [
        (
            &[
                "--target=ethos-u55-128",
                "--clock=250",
                "--memory-mode=Sram_Only",
            ][..],
            "ethos-u55-128: before Sram_Only, 250 MHz, after Shared_Sram, 500 MHz",
        ),
        (
            &["--target=ethos-u55-128", "--clock=250"],
            "ethos-u55-128: before 250 MHz, after 500 MHz",
        ),
        (
            &["--target=cortex-m7-stm32h747", "--clock=100"],
            "cortex-m7-stm32h747: before 100 MHz, after 400 MHz",
        ),
        (
            &[
                "--target=cortex-a76-rpi5",
                "--target=cortex-a72-rpi4",
                "--threads=4",
            ],
            "cortex-a76-rpi5, cortex-a72-rpi4: before 4 threads, after 1 thread",
        ),
        (
            &["--target=ethos-u55-128", "--host=cortex-m4-tflm"],
            "ethos-u55-128: before the rest on cortex-m4-tflm, after the rest on cortex-m7-tflm",
        ),
        (
            &[
                "--target=ethos-u85-256",
                "--arena-cache-size=65536",
                "--optimise=Size",
            ],
            "ethos-u85-256: before arena cache of 65536 bytes, optimised for size, after arena cache of 393216 bytes, \
             optimised for performance",
        ),
    ] {
        let text = compared(options, &[]);
        assert!(text.contains(&format!("{said} {words}")), "{text}");
        // Typed once more, they are those of both sides.
        assert!(!compared(options, options).contains(said));
    }
    // What a number rests on may depend on the model.
    let others = path(&files[1]);
    let everywhere = [
        "compare",
        "--target=edgetpu-coral-dev-board",
        "--target=rtx-3090",
        "--target=galaxy-s24",
        "--target=cortex-m4-tflm",
        "--board=alif-e8-kit",
    ];
    let text = stdout(&litecast(&[&everywhere[..], &[one, others]].concat()));
    assert!(text.contains("rtx-3090") && !text.contains(said), "{text}");
    // The batch size is the report's, unless another one is typed.
    let batch = ["--target=cortex-a76-rpi5", "--batch=4"];
    let text = compared(&batch, &[]);
    assert!(!text.contains(said) && !text.contains("batch 4"), "{text}");
    let text = compared(&batch, &["--batch=2"]);
    assert!(text.contains("batch 4 before, 2 after"), "{text}");
}

/// `weights-flash` of a `litecast.toml` of version 0.1 was the whole file under TensorFlow Lite Micro.
#[test]
fn weights_flash_of_a_configuration_limits_the_file_as_before() {
    let Some(file) = litecast_needs::shared("models/tiny__vww_96_int8.tflite") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let toml = folder.path().join("litecast.toml");
    fs::copy(&file, folder.path().join("vww.tflite")).unwrap();
    let code = |targets: &str, max: &str| {
        let text = format!("[[check]]\nfiles = [\"vww.tflite\"]\n{targets}\nmax = {{ {max} }}\n");
        fs::write(&toml, text).unwrap();
        let output = litecast(&["check", "--config", path(&toml)]);
        println!("{max}: {}", stdout(&output));
        output.status.code()
    };
    // The file has 325 KiB, its weights have 214 KiB.
    let nano = "boards = [\"arduino-nano-33-ble\"]";
    assert_eq!(code(nano, "weights-flash = \"300KiB\""), Some(1));
    let both = "weights-flash = \"300KiB\", file-flash = \"400KiB\"";
    assert_eq!(code(nano, both), Some(0));
    // ST Edge AI has no such file.
    let st = "targets = [\"cortex-m7-stm32h747\"]";
    assert_eq!(code(st, "weights-flash = \"300KiB\""), Some(0));
}
