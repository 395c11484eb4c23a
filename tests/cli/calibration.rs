//! `calibrate`, and the devices that it makes in other commands.

use std::fs;

use super::{examples, in_columns, json_lines, litecast, path, stdout};

/// A profile of a device that takes twice as long as a Raspberry Pi 4, and that latency.
fn profile_of(model: &str) -> (String, f64) {
    let predicted = litecast(&["predict", "--json", "--target", "cortex-a72-rpi4", model]);
    let report = &json_lines(&predicted)[0];
    let results = report["results"].as_array().unwrap();
    let latency = results
        .iter()
        .find(|result| result["metric"] == "latency")
        .unwrap();
    let tensors = report["tensors"].as_array().unwrap();
    let operators = report["operators"].as_array().unwrap().iter();
    let rows = operators
        .zip(latency["operators"].as_array().unwrap())
        .map(|(operator, part)| {
            let output = operator["outputs"][0].as_u64().unwrap() as usize;
            let name = tensors[output]["name"].as_str().unwrap();
            let kind = operator["name"].as_str().unwrap();
            format!("\"{name}\",{kind},{:.6}\n", 2.0 * part.as_f64().unwrap())
        });
    let text = "name,type,ms\n".to_owned() + &rows.collect::<String>();
    (text, 2.0 * latency["value"].as_f64().unwrap())
}

#[test]
fn a_device_from_profiles_is_used_like_any_target() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let examples = examples();
    let models: Vec<&str> = examples.iter().map(|file| path(file)).collect();
    let profiles: Vec<_> = (0..3)
        .map(|idx| at(&format!("profile-{idx}.csv")))
        .collect();
    for (model, profile) in models.iter().zip(&profiles) {
        fs::write(profile, profile_of(model).0).unwrap();
    }
    let device = at("my-board.json");
    let made = litecast(&["calibrate", path(&device), models[0], path(&profiles[0])]);
    println!("{}", stdout(&made));
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(stdout(&made).contains("1 measured network"));
    // Of the reader's models the one that tells most, with the command for the tool; what is measured is none of them.
    // Wide, because a name that is broken into lines is not found.
    let next = in_columns(
        400,
        &[
            "calibrate",
            path(&device),
            "--next",
            models[0],
            models[1],
            models[2],
        ],
    );
    let said = stdout(&next);
    println!("{said}");
    assert!(
        next.status.success(),
        "{}",
        String::from_utf8_lossy(&next.stderr)
    );
    let name = |idx: usize| models[idx].rsplit('/').next().unwrap();
    assert!(said.contains(name(1)) && said.contains(name(2)) && !said.contains(name(0)));
    assert!(
        said.contains("benchmark_model --graph=") && said.contains("--enable_op_profiling=true")
    );
    let as_json = litecast(&[
        "calibrate",
        path(&device),
        "--next",
        "--json",
        models[0],
        models[1],
        models[2],
    ]);
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&as_json.stdout).unwrap();
    println!("{listed:?}");
    let mut positions: Vec<u64> = Vec::new();
    for one in &listed {
        let position = one["network_idx"].as_u64().unwrap();
        positions.push(position);
        let command = one["command"].as_str().unwrap();
        assert_eq!(one["file"], models[position as usize]);
        assert!(command.contains(models[position as usize]), "{command}");
        let factors =
            ["interval_factor", "factor_of_all_after"].map(|name| one[name].as_f64().unwrap());
        assert!(factors.iter().all(|factor| *factor > 1.0), "{factors:?}");
        assert!(one["estimate_ms"].as_f64().unwrap() > 0.0);
    }
    // In the order of the table.
    let lines: Vec<&str> = said.lines().collect();
    let line_of = |idx: &u64| {
        lines
            .iter()
            .position(|line| line.contains(name(*idx as usize)))
    };
    assert!(positions.is_sorted_by_key(line_of), "{positions:?}");
    positions.sort_unstable();
    assert_eq!(positions, [1, 2]);
    let none = litecast(&["calibrate", path(&at("none.json")), "--next", models[0]]);
    assert!(
        String::from_utf8_lossy(&none.stderr)
            .contains("expected a device with a measurement, found none")
    );
    // Further measurements are added to the file.
    let more = litecast(&[
        "calibrate",
        path(&device),
        models[1],
        path(&profiles[1]),
        models[2],
        path(&profiles[2]),
    ]);
    println!("{}", stdout(&more));
    assert!(stdout(&more).contains("3 measured networks"));
    // Beside a total that is far from the sum of its rows.
    let (rows, latency_ms) = profile_of(models[0]);
    let total = format!("{rows}Total,,{}\n", 10.0 * latency_ms);
    fs::write(&profiles[0], total).unwrap();
    let other = at("other.json");
    let disturbed = ["calibrate", path(&other), models[0], path(&profiles[0])];
    let disturbed = in_columns(400, &disturbed);
    println!("{}", stdout(&disturbed));
    assert!(stdout(&disturbed).contains("did other processes run meanwhile?"));
    assert!(!stdout(&more).contains("did other processes"));

    let predicted = litecast(&[
        "predict",
        "--json",
        "--device",
        path(&device),
        "--target",
        "cortex-a76-rpi5",
        models[0],
    ]);
    let report = &json_lines(&predicted)[0];
    let of_device = |report: &serde_json::Value| {
        let results = report["results"].as_array().unwrap().clone();
        results
            .into_iter()
            .find(|result| result["target"] == "my-board")
            .unwrap()
    };
    let result = of_device(report);
    let expected = profile_of(models[0]).1;
    println!("{result}, expected {expected}");
    let value = result["value"].as_f64().unwrap();
    assert!(
        (value / expected).ln().abs() < 0.05,
        "{value} ms, expected {expected}"
    );
    let n_operators = report["model"]["n_operators"].as_u64().unwrap();
    assert_eq!(
        result["operators"].as_array().unwrap().len() as u64,
        n_operators
    );

    let compared = litecast(&[
        "compare",
        "--json",
        "--device",
        path(&device),
        models[0],
        models[1],
    ]);
    assert!(
        stdout(&compared).contains("my-board"),
        "{}",
        stdout(&compared)
    );
    let limit = format!("{}ms", value * 1.01);
    let checked = litecast(&[
        "check",
        "--device",
        path(&device),
        "--max-latency",
        &limit,
        models[0],
    ]);
    assert!(checked.status.success(), "{}", stdout(&checked));

    // A sweep has the device beside the targets of a group, with the value of `predict`.
    let swept = litecast(&[
        "sweep",
        "--json",
        "--group",
        "phones-and-boards",
        "--device",
        path(&device),
        "--max-latency",
        &limit,
        models[0],
    ]);
    let rows = json_lines(&swept);
    let row = rows.iter().find(|row| row["target"] == "my-board").unwrap();
    assert_eq!(row["latency_ms"].as_f64(), Some(value), "{row}");
    assert!(rows.len() > 8, "{} rows", rows.len());
    let alone = litecast(&["sweep", "--json", "--device", path(&device), models[0]]);
    assert_eq!(json_lines(&alone).len(), 1);

    fs::copy(models[0], at("model.tflite")).unwrap();
    let config = at("litecast.toml");
    let write = |device: &str, ms: f64| {
        let text = format!(
            "[[check]]\nfiles = [\"model.tflite\"]\ndevices = [\"{device}\"]\nmax = {{ latency = \"{ms}ms\" }}\n"
        );
        fs::write(&config, text).unwrap();
        litecast(&["check", "--config", path(&config)])
    };
    assert!(write("my-board.json", value * 1.01).status.success());
    assert_eq!(write("my-board.json", value * 0.9).status.code(), Some(1));
    let outside = write("../my-board.json", value);
    let words = String::from_utf8_lossy(&outside.stderr).into_owned();
    assert!(
        !outside.status.success() && words.contains("expected a file"),
        "{words}"
    );
}

/// Of files with other names: a profile of JSON is no model, and a graph or a model is one by its contents.
#[test]
fn models_and_profiles_are_told_by_their_contents() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::copy("tests/web/convolutions.onnx", at("network.bin")).unwrap();
    fs::copy(
        "tests/profiles/onnx-runtime-1.31.1_convolutions.json",
        at("profile.json"),
    )
    .unwrap();
    let device = at("board.json");
    let made = litecast(&[
        "calibrate",
        path(&device),
        path(&at("network.bin")),
        path(&at("profile.json")),
    ]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    // One event of JSON is none of a graph, though it begins like one.
    fs::write(at("event.json"), "{\"cat\": \"Node\", \"dur\": 5}").unwrap();
    let refused = litecast(&[
        "calibrate",
        path(&at("other.json")),
        path(&at("network.bin")),
        path(&at("event.json")),
    ]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    println!("{words}");
    assert!(words.contains("event.json: expected a profile"), "{words}");
}

/// What is handed out are models, whose classes the measurement of each tells, and own models are what the choice is for.
#[test]
fn networks_to_measure_are_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let device = at("my-board.json");
    let probes = at("probes");
    let handed_out = litecast(&["calibrate", path(&device), "--probes", path(&probes)]);
    let said = stdout(&handed_out);
    println!("{said}");
    assert_eq!(fs::read_dir(&probes).unwrap().count(), 30);
    assert_eq!(said.matches("benchmark_model --graph=").count(), 10);
    for (tool, command, end) in [
        ("onnxruntime", "enable_profiling", "-float32.onnx"),
        ("vela", "--verbose-performance", "-int8.tflite"),
        ("openvino", "benchmark_app", "-float32.tflite"),
    ] {
        let args = [
            "calibrate",
            "other",
            "--tool",
            tool,
            "--probes",
            path(&probes),
        ];
        let said = stdout(&litecast(&args));
        let lines = said.lines().filter(|line| line.contains(command));
        let of_kind = lines.filter(|line| line.contains(end));
        assert_eq!(of_kind.count(), 10, "{tool}: {said}");
    }
    let other = litecast(&["calibrate", "other", "--tool", "abacus", "--probes", "x"]);
    let words = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        words.contains("expected one of LiteRT's benchmark"),
        "{words}"
    );
    let file = |name: &str| probes.join(format!("{name}-float32.tflite"));
    let model = path(&file("small-network")).to_owned();
    fs::write(at("profile.csv"), profile_of(&model).0).unwrap();
    let made = litecast(&["calibrate", path(&device), &model, path(&at("profile.csv"))]);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    // A network of matrix products is surest once their speed is known.
    let own = &examples()[2];
    let candidates = ["convolutions-3x3", "matrix-products", "pooling"].map(file);
    let mut args = vec!["calibrate", path(&device), "--next", path(own)];
    args.extend(candidates.iter().map(|file| path(file)));
    let next = in_columns(400, &args);
    let said = stdout(&next);
    println!("{said}");
    let line = |name: &str| said.lines().position(|line| line.contains(name)).unwrap();
    assert!(line("matrix-products") < line("convolutions-3x3"));
    assert!(line("matrix-products") < line("pooling"));
}

/// A phone that takes 1.5 times as long as one of the group: its base is of the group, and estimates are near.
#[test]
fn a_phone_is_based_on_the_nearest_of_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let examples = examples();
    let models: Vec<&str> = examples[..2].iter().map(|file| path(file)).collect();
    let on = |target: &[&str], model: &str| {
        let predicted = litecast(&[&["predict", "--json"], target, &[model]].concat());
        let report = &json_lines(&predicted)[0];
        let mut results = report["results"].as_array().unwrap().iter();
        let latency = results.find(|result| result["metric"] == "latency");
        latency.unwrap()["value"].as_f64().unwrap()
    };
    let mut table = "model,latency\n".to_owned();
    let ms = models
        .iter()
        .map(|model| 1.5 * on(&["--target", "galaxy-s24@qnn"], model));
    let ms: Vec<f64> = ms.collect();
    for (model, ms) in models.iter().zip(&ms) {
        let name = model.rsplit('/').next().unwrap();
        table += &format!("{name},{ms} ms\n");
    }
    fs::write(at("table.csv"), table).unwrap();
    for (device, like) in [
        ("by-group", "phones-and-boards"),
        ("by-id", "galaxy-s24@qnn"),
    ] {
        let device = at(&format!("{device}.json"));
        let made = litecast(&[
            "calibrate",
            path(&device),
            "--like",
            like,
            models[0],
            models[1],
            path(&at("table.csv")),
        ]);
        println!("{}", stdout(&made));
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let document: serde_json::Value =
            serde_json::from_slice(&fs::read(&device).unwrap()).unwrap();
        let base = document["base"].as_str().unwrap();
        assert!(like == base || like == "phones-and-boards" && !base.starts_with("cortex"));
        // More is added on the base that it has.
        let added = litecast(&[
            "calibrate",
            path(&device),
            models[0],
            path(&at("table.csv")),
        ]);
        assert!(
            added.status.success(),
            "{}",
            String::from_utf8_lossy(&added.stderr)
        );
        for (model, ms) in models.iter().zip(&ms) {
            let estimate = on(&["--device", path(&device)], model);
            println!("{model}: {estimate} ms, expected {ms}");
            assert!((estimate / ms).ln().abs() < 0.2, "{estimate} and {ms}");
        }
    }
}

#[test]
fn what_cannot_be_calibrated_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let model = &examples()[0];
    fs::write(at("table.csv"), "name,ms\nx,1\n").unwrap();
    fs::write(at("wrong.csv"), "hello\n").unwrap();
    fs::write(at("device.json"), "{}").unwrap();
    let out = at("out.json");
    for (files, expected) in [
        (
            vec![path(&at("table.csv")).to_owned()],
            "expected the measured models",
        ),
        (
            vec![path(model).to_owned()],
            "expected what a benchmark tool printed",
        ),
        (
            vec![path(model).to_owned(), path(&at("wrong.csv")).to_owned()],
            "wrong.csv: expected durations",
        ),
        (
            vec![path(model).to_owned(), path(&at("table.csv")).to_owned()],
            "another model",
        ),
    ] {
        let mut args = vec!["calibrate", path(&out)];
        args.extend(files.iter().map(String::as_str));
        let output = litecast(&args);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && words.contains(expected),
            "{words}"
        );
        assert!(!out.exists());
    }
    let output = litecast(&["predict", "--device", path(&at("device.json")), path(model)]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        words.contains("device.json: measured device: expected a device that"),
        "{words}"
    );
}
