//! Reports and folders of them, compared.

use std::fs;
use std::path::Path;

use super::*;

#[test]
fn a_comparison_has_both_numbers_and_their_ratio() {
    let files = examples();
    let [one, two] = [path(&files[0]), path(&files[1])];
    let reports = json_lines(&litecast(&["predict", "--json", one, two]));
    let changes = json_lines(&litecast(&["compare", "--json", one, two])).remove(0);
    assert_eq!(
        (&changes["before"], &changes["after"]),
        (&one.into(), &two.into())
    );
    let results = changes["results"].as_array().unwrap();
    let change_of = |target: &str, metric: &str| {
        let mut matching = results.iter().filter(|c| c["target"] == target);
        matching.find(|c| c["metric"] == metric).unwrap()
    };
    for (target, metric) in [
        (NPU, "latency"),
        (NPU, "sram_peak"),
        ("cortex-a72-rpi4", "latency"),
    ] {
        let [before, after] = [0, 1].map(|idx| estimate(&reports[idx], target, metric, "value"));
        let change = change_of(target, metric);
        for (field, expected) in [
            ("before", before),
            ("after", after),
            ("difference", after - before),
            ("change_percent", 100.0 * (after / before - 1.0)),
        ] {
            let actual = change[field].as_f64().unwrap();
            let difference = (actual - expected).abs();
            println!("{target} {metric} {field}: {actual}, differs by {difference:e}");
            assert!(difference <= 1e-10 * expected.abs());
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
    assert_eq!(of_kept, changes);
    let same = stdout(&litecast(&["compare", one, one]));
    assert!(
        same.contains("did not change") && !same.contains("ethos-u55-256"),
        "{same}"
    );
}

/// The tests of the npm package and of the Python package read the same file.
#[test]
fn a_comparison_is_the_same_document_in_every_language() {
    let mut case: Value = serde_json::from_str(include_str!("comparison.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|side| {
        case[side]["schema_version"] = litecast::report::REPORT_VERSION.into();
        let kept = folder.path().join(format!("{side}.json"));
        fs::write(&kept, case[side].to_string()).unwrap();
        kept
    });
    let compared = litecast(&["compare", "--json", path(&before), path(&after)]);
    let actual = json_lines(&compared).remove(0);
    let as_floats = |value: &Value| value.to_string().replace(".0,", ",").replace(".0}", "}");
    assert_eq!(as_floats(&actual), as_floats(&case["comparison"]));
}

#[test]
fn intervals_that_overlap_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let file = examples().remove(0);
    let report = json_lines(&litecast(&["predict", "--json", path(&file)])).remove(0);
    let kept = |name: &str, factor: f64| {
        let mut changed = report.clone();
        for result in changed["results"].as_array_mut().unwrap() {
            if result["target"] == NPU && result["metric"] == "latency" {
                for field in ["value", "lo", "hi"] {
                    result[field] = (result[field].as_f64().unwrap() * factor).into();
                }
            }
        }
        let at = folder.path().join(name);
        fs::write(&at, changed.to_string()).unwrap();
        at
    };
    let [lo, value, hi] = ["lo", "value", "hi"].map(|end| estimate(&report, NPU, "latency", end));
    let before = kept("before.json", 1.0);
    for (factor, overlaps) in [
        (1.0 + 0.9 * (hi - value) / value, true),
        (1.01 * hi / lo, false),
    ] {
        let after = kept("after.json", factor);
        let compared =
            |args: &[&str]| litecast(&[&["compare", path(&before), path(&after)], args].concat());
        let document = json_lines(&compared(&["--json"])).remove(0);
        let results = document["results"].as_array().unwrap().iter();
        let of_latency = |r: &&Value| r["target"] == NPU && r["metric"] == "latency";
        let result = results.clone().find(of_latency).unwrap();
        assert_eq!(result["is_within_intervals"], overlaps, "{result}");
        for args in [&[][..], &["--markdown"]] {
            let text = stdout(&compared(args));
            println!("{text}");
            let row = text.lines().find(|line| line.contains(NPU)).unwrap();
            assert_eq!(row.contains("≈"), overlaps, "{text}");
            assert_eq!(
                text.contains("the intervals before and after overlap"),
                overlaps
            );
        }
        let rows = stdout(&compared(&["--csv"]));
        let row = rows
            .lines()
            .find(|row| row.contains("ethos-u55-256,latency,ms"));
        assert!(row.unwrap().ends_with(&overlaps.to_string()), "{rows}");
    }
}

/// An energy of assumed constants has no interval that could overlap.
#[test]
fn changes_of_assumed_numbers_are_marked() {
    let target = "ethos-u65-512";
    let folder = tempfile::tempdir().unwrap();
    let file = examples().remove(0);
    let predicted = litecast(&["predict", "--target", target, "--json", path(&file)]);
    let before = json_lines(&predicted).remove(0);
    let mut after = before.clone();
    for result in after["results"].as_array_mut().unwrap() {
        if result["metric"] == "energy" {
            assert!(result["lo"].is_null(), "{result}");
            result["value"] = (result["value"].as_f64().unwrap() * 1.01).into();
        }
    }
    let [before, after] = [("before.json", before), ("after.json", after)].map(|(name, report)| {
        let at = folder.path().join(name);
        fs::write(&at, report.to_string()).unwrap();
        at
    });
    for args in [&[][..], &["--markdown"]] {
        let compared = litecast(&[&["compare", path(&before), path(&after)], args].concat());
        let text = stdout(&compared);
        println!("{text}");
        let row = text.lines().find(|line| line.contains("energy")).unwrap();
        assert!(row.contains("† +1.0 %"), "{row}");
        assert!(text.contains("† assumed, without an interval"), "{text}");
        assert!(!text.contains('≈'), "{text}");
    }
}

/// Reports are kept as text, which anyone may have changed.
#[test]
fn impossible_reports_are_not_compared() {
    let file = examples().remove(0);
    let report = json_lines(&litecast(&["predict", "--json", path(&file)])).remove(0);
    let at = |metric: &str| {
        let results = report["results"].as_array().unwrap().iter();
        let is_npu_estimate =
            |r: &Value| r["target"] == NPU && r["metric"] == metric && r["value"].is_number();
        results
            .clone()
            .position(is_npu_estimate)
            .expect("an estimate")
    };
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept.json");
    let compared = |report: &Value| {
        fs::write(&kept, report.to_string()).unwrap();
        let output = litecast(&["compare", "--json", path(&kept), path(&kept)]);
        (
            output.status.success(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert!(compared(&report).0);
    let latency = at("latency");
    let value = report["results"][latency]["value"].as_f64().unwrap();
    let changes: [(&str, &str, Value); 7] = [
        ("latency", "value", (-1.0).into()),
        ("latency", "value", (value * 1e-5).into()),
        ("latency", "lo", (value * 2.0).into()),
        ("latency", "hi", (value * 0.5).into()),
        ("latency", "unit", "bytes".into()),
        ("sram_peak", "value", (-1).into()),
        ("latency", "operators", vec![1.0].into()),
    ];
    for (metric, field, actual) in changes {
        let mut changed = report.clone();
        changed["results"][at(metric)][field] = actual.clone();
        if field == "value" {
            for end in ["lo", "hi"] {
                changed["results"][at(metric)][end] = actual.clone();
            }
        }
        let (is_compared, words) = compared(&changed);
        println!("{metric} {field} {actual}: {words}");
        assert!(
            !is_compared && words.contains(&format!("{metric} of {NPU}")),
            "{words}"
        );
    }
    let mut twice = report.clone();
    let first = twice["results"][0].clone();
    twice["results"].as_array_mut().unwrap().push(first);
    assert!(compared(&twice).1.contains("found two"));
}

/// A report that the last version printed is read like one of this version; one of the next version is refused.
#[test]
fn reports_of_the_last_version_are_compared() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored_reports/version-1.json");
    let report: Value = serde_json::from_str(&fs::read_to_string(&stored).unwrap()).unwrap();
    assert_eq!(report["schema_version"], 1);
    let compared = litecast(&["compare", "--json", "--all", path(&stored), path(&stored)]);
    let changes = json_lines(&compared).remove(0);
    let changes = changes["results"].as_array().unwrap();
    let estimates = report["results"].as_array().unwrap().iter();
    let n_estimates = estimates
        .filter(|result| result["value"].is_number())
        .count();
    let with_values = changes.iter().filter(|change| change["before"].is_number());
    let with_values: Vec<&Value> = with_values.collect();
    println!("{} of {n_estimates} stored numbers read", with_values.len());
    assert_eq!(with_values.len(), n_estimates);
    assert!(
        with_values
            .iter()
            .all(|change| change["change_percent"] == 0.0)
    );
    // The latency of that version was the NPU's part where another metric was that of the whole network.
    let stored_value = |target: &str, metric: &str| {
        let mut results = report["results"].as_array().unwrap().iter();
        let is_it = |one: &&Value| one["target"] == target && one["metric"] == metric;
        results.find(is_it).unwrap()["value"].clone()
    };
    // The flash of weights was that of the whole file under an interpreter.
    let mut flash = with_values.iter();
    let is_file =
        |one: &&&Value| one["target"] == "cortex-m7-tflm" && one["metric"] == "file_flash";
    let stored_file = stored_value("cortex-m7-tflm", "weights_flash");
    assert_eq!(
        flash.find(is_file).unwrap()["before"].as_f64(),
        stored_file.as_f64()
    );
    // The NPU of a board had the id of the NPU, which is the compiler's now.
    for (target, stored_target, whole) in [
        ("ethos-u55-128", "ethos-u55-128", "end_to_end_latency"),
        ("imx93/ethos-u65-256", "ethos-u65-256", "board_latency"),
    ] {
        for (metric, stored_as) in [("latency", whole), ("npu_latency", "latency")] {
            let mut changes = with_values.iter();
            let is_it = |one: &&&Value| one["target"] == target && one["metric"] == metric;
            let actual = &changes.find(is_it).unwrap()["before"];
            assert_eq!(
                actual,
                &stored_value(stored_target, stored_as),
                "{target} {metric}"
            );
        }
    }
    let mut next = report.clone();
    next["schema_version"] = 3.into();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("next.json");
    fs::write(&file, next.to_string()).unwrap();
    let refused = litecast(&["compare", path(&stored), path(&file)]);
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{words}");
    // What its targets were set to, it does not say.
    let said = |before: &Path, after: &Path| {
        let text = stdout(&litecast(&["compare", path(before), path(after)]));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let example = &examples()[0];
    assert!(!said(&stored, &stored).contains("settings"));
    let [older, newer] = [said(&stored, example), said(example, &stored)];
    for (text, side) in [(older, "before"), (newer, "after")] {
        let words = format!("warning: {side}, no settings are said: ");
        let (_, targets) = text.split_once(&words).unwrap_or_else(|| panic!("{text}"));
        assert!(targets.contains("ethos-u55-128"), "{text}");
        assert!(!text.contains("not of the same settings"), "{text}");
    }
}

/// Sizes and a precision that a report was asked for are those of the file that it is compared with, unless others are
/// typed.
#[test]
fn what_was_asked_of_a_report_is_asked_of_the_file_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let [file, kept] = ["open.onnx", "kept.json"].map(|name| folder.path().join(name));
    fs::write(&file, names::relu(&[Err("batch"), Err("width"), Ok(4)])).unwrap();
    let predict = |asked: &[&str]| {
        let report = litecast(&[&["predict", "--json"], asked, &[path(&file)]].concat());
        fs::write(&kept, report.stdout).unwrap();
    };
    let compare = |typed: &[&str]| {
        let compared = litecast(&[&["compare", path(&kept), path(&file)], typed].concat());
        let errors = String::from_utf8(compared.stderr.clone()).unwrap();
        let text = stdout(&compared) + &errors;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    predict(&["--dim", "width=5", "--int8"]);
    let alike = compare(&[]);
    assert!(alike.contains("did not change"), "{alike}");
    assert!(!alike.contains("not asked alike"), "{alike}");
    for (typed, words) in [
        (&["--dim", "width=7"][..], "before width 5, after width 7"),
        (&["--as-is"], "before int8, after the file's precision"),
    ] {
        let text = compare(typed);
        assert!(
            text.contains(&format!("not asked alike: {words}")),
            "{text}"
        );
    }
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

    // A single model of each folder, too.
    for (folder, gone) in [(&before, "old.tflite"), (&after, "new.tflite")] {
        fs::remove_file(folder.path().join(gone)).unwrap();
    }
    let text = stdout(&litecast(&args));
    assert!(text.contains("#### a\\|b.tflite"), "{text}");
}
