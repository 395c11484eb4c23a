//! Profiles matched with models, and devices that are made of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use litecast::calibration::{
    Class, DEVICE_VERSION, Device, DeviceError, DeviceFacts, EstimatedNetwork, Kernels, Measured,
    PROBES, base_families, calibrate,
};
use litecast::estimate::estimate_on;
use litecast::profiles::{MeasuredInference, MeasuredOperator, Profile, read};
use litecast::report::Report;
use litecast::targets::measured_device::Estimable;
use litecast::targets::{cortex_a, known};
use litecast::{Choice, Metric, ModelFile, Outcome, Target, estimate};
use litecast_needs::python;

use crate::profile_formats::BENCHMARK_MODEL;

const EXAMPLES: [&str; 3] = ["cnn-kws-s7-i43", "cnn-cifar10-s7-i9", "vit-cifar100-s7-i39"];

pub(crate) fn here(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

pub(crate) fn report(path: &str) -> Report {
    let bytes = here(path);
    estimate(ModelFile::new(path, &bytes), None).unwrap()
}

pub(crate) fn network(report: &Report) -> EstimatedNetwork {
    EstimatedNetwork::parse(&serde_json::to_vec(report).unwrap()).unwrap()
}

/// The npm package makes the same device of the same profile, which its tests compare with this file.
#[test]
fn the_device_of_a_profile_is_as_it_was() {
    let profile = read(
        &here("tests/profiles/onnx-runtime-1.31.1_convolutions.json"),
        None,
    )
    .unwrap();
    let bytes = here("tests/web/convolutions.onnx");
    let report = estimate(ModelFile::new("convolutions.onnx", &bytes), None).unwrap();
    let network = network(&report);
    let measured = [Measured {
        network: &network,
        profile: &profile,
        profile_name: "profile.json",
    }];
    let device = calibrate("Board", 1, &measured, None, None).unwrap();
    let golden = "tests/profiles/device-of-convolutions.json";
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(golden);
        fs::write(path, device.to_json()).unwrap();
    }
    let expected = Device::parse(&here(golden)).unwrap();
    assert_eq!((&device.base, device.networks.len()), (&expected.base, 1));
    assert_eq!(device.networks[0].unmatched, expected.networks[0].unmatched);
    for (actual, expected) in device.fit.parameters.iter().zip(&expected.fit.parameters) {
        assert!(
            (actual - expected).abs() < 1e-6,
            "{actual}, expected {expected}"
        );
    }
}

/// What the browser's module reads of a document is what the command reads.
#[test]
fn the_flat_form_of_a_device_is_the_document() {
    let device = Device::parse(&here("tests/profiles/device-1.json")).unwrap();
    let expected = Estimable::from(&device);
    let latencies = device.networks.iter().map(|network| network.measured_ms);
    let numbers: Vec<f64> = [
        f64::from(device.litecast_device),
        0.0,
        device.networks.len() as f64,
    ]
    .into_iter()
    .chain([
        latencies.clone().fold(f64::MAX, f64::min),
        latencies.fold(0.0, f64::max),
    ])
    .chain(device.fit.parameters.iter().copied())
    .chain(device.fit.covariance.iter().copied())
    .chain(device.left_out.iter().copied())
    .collect();
    let flat = |numbers: &[f64]| {
        serde_json::json!([device.name, device.base, expected.tools, numbers]).to_string()
    };
    assert_eq!(Estimable::read(&flat(&numbers)).unwrap(), expected);
    let mut newer = numbers.clone();
    newer[0] = f64::from(DEVICE_VERSION) + 1.0;
    let error = DeviceError::Newer(DEVICE_VERSION + 1);
    assert_eq!(Estimable::read(&flat(&newer)), Err(error));
    let mut n_refused = 0;
    for (idx, _) in numbers.iter().enumerate() {
        for wrong in [-1e300, 1e300] {
            let mut numbers = numbers.clone();
            numbers[idx] = wrong;
            n_refused += usize::from(Estimable::read(&flat(&numbers)).is_err());
        }
        assert!(
            idx >= numbers.len() - device.left_out.len()
                || Estimable::read(&flat(&numbers[..idx])).is_err()
        );
    }
    println!("{n_refused} of {} refused", 2 * numbers.len());
    assert!(n_refused + 4 >= 2 * numbers.len(), "{n_refused}");
    for text in ["", "[]", "{}", "[1,2,3,4]", "[\"\",\"\",\"\",[null]]"] {
        assert!(Estimable::read(text).is_err(), "{text}");
    }
}

/// A profile of a device whose convolutions take three times and whose matrix products half as long as on the base, in
/// whole microseconds.
fn synthetic(report: &Report, base: &str) -> (Profile, f64) {
    let parts = report
        .results
        .iter()
        .find_map(|result| match &result.outcome {
            Outcome::Estimate {
                operators: Some(parts),
                ..
            } if result.target == base && result.metric == Metric::Latency => Some(parts),
            _ => None,
        });
    let operators = report.operators.iter().zip(parts.unwrap());
    let operators = operators
        .filter(|(_, part)| **part > 0.0)
        .map(|(operator, part)| {
            let factor = match &*operator.name {
                "CONV_2D" | "DEPTHWISE_CONV_2D" => 3.0,
                "FULLY_CONNECTED" | "BATCH_MATMUL" => 0.5,
                _ => 1.0,
            };
            MeasuredOperator {
                name: report.tensors[operator.outputs[0]].name.clone(),
                kind: operator.name.to_string(),
                duration_ms: part * factor,
                ..MeasuredOperator::default()
            }
        });
    let operators: Vec<MeasuredOperator> = operators.collect();
    let sum_ms = operators.iter().map(|one| one.duration_ms).sum();
    let profile = Profile {
        tool: "a table",
        operators,
        ..Profile::default()
    };
    (profile, sum_ms)
}

/// From the profiles of two networks to the latency of a third, whose device is known by construction.
#[test]
fn profiles_of_networks_tell_the_latency_of_another() {
    let reports = EXAMPLES.map(|name| report(&format!("www/examples/{name}.tflite")));
    let networks = reports.each_ref().map(network);
    let base = "cortex-a72-rpi4";
    let profiles = reports.each_ref().map(|report| synthetic(report, base));
    for left_out in 0..3 {
        let measured: Vec<Measured> = (0..3)
            .filter(|idx| *idx != left_out)
            .map(|idx| Measured {
                network: &networks[idx],
                profile: &profiles[idx].0,
                profile_name: "table.csv",
            })
            .collect();
        let device = calibrate("Our board, rev. 2", 1, &measured, Some(base), None).unwrap();
        assert!(
            device
                .networks
                .iter()
                .all(|network| network.unmatched.is_empty())
        );
        // As it is stored.
        let json = device.to_json();
        assert!(
            Device::parse(json.as_bytes()) == Ok(device),
            "a device is read as it was written"
        );
        let choice = Choice {
            measured_device: Some(json),
            ..Choice::default()
        };
        let targets: [Box<dyn Target>; 1] = [choice.target().unwrap()];
        let path = format!("www/examples/{}.tflite", EXAMPLES[left_out]);
        let bytes = here(&path);
        let reports = estimate_on(&[ModelFile::new(&path, &bytes)], None, &targets).unwrap();
        let report = reports.into_iter().next().unwrap().unwrap();
        let [result] = &*report.results else {
            panic!("{:?}", report.results)
        };
        assert_eq!(result.target, "our-board-rev-2");
        let Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            provenance,
            ..
        } = &result.outcome
        else {
            panic!("{result:?}")
        };
        let expected = profiles[left_out].1;
        println!("{path}: {value} ms in {lo:?} to {hi:?}, expected {expected}");
        assert!(lo.unwrap() < expected && expected < hi.unwrap());
        let has = |code: &str| {
            report
                .diagnostics
                .iter()
                .any(|one| one.diagnostic.code == code)
        };
        // The first network has no 3x3 convolution, which takes much of the second, and convolutional networks tell nothing of
        // the transformer's matrix products.
        let is_told = left_out == 0;
        assert!((value / expected).ln().abs() < 0.15 || !is_told);
        assert_eq!(has("unmeasured-operators"), !is_told);
        let sum: f64 = operators.as_ref().unwrap().iter().sum();
        assert!((sum / value - 1.0).abs() < 1e-9);
        assert_eq!(
            provenance.interval_percent, None,
            "no level was held on other devices"
        );
        assert!(
            report
                .diagnostics
                .iter()
                .any(|one| one.diagnostic.code == "few-measurements")
        );
    }
}

#[test]
fn a_profile_of_another_model_is_refused() {
    let [kws, vit] =
        [EXAMPLES[0], EXAMPLES[2]].map(|name| report(&format!("www/examples/{name}.tflite")));
    let network = network(&kws);
    let text = "layer,type,ms\nencoder.7/attention,GridSample,3.5\n";
    let profile = read(text.as_bytes(), None).unwrap();
    let measured = |profile| Measured {
        network: &network,
        profile,
        profile_name: "table.csv",
    };
    let error = calibrate("x", 1, &[measured(&profile)], None, None).unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), "other-model");
    let table = read(b"model,ms\nother.tflite,3\n", None).unwrap();
    let error = calibrate("x", 1, &[measured(&table)], None, None).unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), "other-model");
    // Names are shown in part.
    let long = read(
        format!("model,ms\n{},3\n", "x".repeat(1 << 20)).as_bytes(),
        None,
    )
    .unwrap();
    let error = calibrate("x", 1, &[measured(&long)], None, None).unwrap_err();
    assert!(error.to_string().len() < 400);
    // Most operators of the transformer are none of the convolutional network, and are listed.
    let (of_vit, _) = synthetic(&vit, "cortex-a76-rpi5");
    match calibrate("x", 1, &[measured(&of_vit)], None, None) {
        Ok(device) => assert!(device.networks[0].unmatched.len() >= 30),
        Err(error) => assert_eq!(error.kind(), "other-model"),
    }
}

/// ONNX Runtime gives a kernel for a whole normalisation or curve a name that is none of the model's. Constants are left out of
/// the operators.
#[test]
fn kernels_of_several_operators_are_measured_together() {
    let operators: [(&str, &str, &str); 22] = [
        ("FULLY_CONNECTED", "x", "a"),
        ("ADD", "ax", "b"),
        ("MEAN", "b", "m"),
        ("SUB", "bm", "c"),
        ("MUL", "cc", "s"),
        ("MEAN", "s", "v"),
        ("ADD", "v", "e"),
        ("SQRT", "e", "r"),
        ("DIV", "cr", "n"),
        ("MUL", "n", "g"),
        ("ADD", "g", "l"),
        ("FULLY_CONNECTED", "l", "f"),
        ("POW", "f", "p"),
        ("MUL", "p", "q"),
        ("ADD", "fq", "t"),
        ("MUL", "t", "u"),
        ("TANH", "u", "h"),
        ("ADD", "h", "i"),
        ("MUL", "f", "j"),
        ("MUL", "ji", "k"),
        ("FULLY_CONNECTED", "k", "w"),
        ("TANH", "w", "y"),
    ];
    let letters = || ('a'..='z').map(|letter| letter.to_string());
    let idx = |letter: char| usize::from(letter as u8 - b'a');
    let listed = operators.iter().enumerate().map(|(at, (name, reads, writes))| {
        let inputs: Vec<usize> = reads.chars().map(idx).collect();
        let outputs: Vec<usize> = writes.chars().map(idx).collect();
        serde_json::json!({"operator_idx": at, "name": name, "inputs": inputs, "outputs": outputs})
    });
    let tensors = letters().map(|name| serde_json::json!({"name": name, "shape": [1, 64, 8]}));
    let base = "cortex-a76-rpi5";
    let report = serde_json::json!({
        "file": "encoder.onnx",
        "operators": listed.collect::<Vec<_>>(),
        "tensors": tensors.collect::<Vec<_>>(),
        "results": [{"target": base, "metric": "latency", "operators": vec![0.01; operators.len()]}],
    });
    let network = EstimatedNetwork::parse(report.to_string().as_bytes()).unwrap();
    let table = "name,type,us\na,Gemm,20\nSkipLayerNormalization_token_104,SkipLayerNormalization,35\nf,Gemm,30\n\
                 GPT2Gelu,FastGelu,9\nw,Gemm,21\ny,Tanh,4\n";
    let profile = read(table.as_bytes(), None).unwrap();
    let measured = Measured {
        network: &network,
        profile: &profile,
        profile_name: "table.csv",
    };
    let device = calibrate("device", 1, &[measured], Some(base), None).unwrap();
    let found = &device.networks[0];
    println!("{:?} {:?}", found.observations, found.unmatched);
    assert!(found.unmatched.is_empty());
    let mut groups: Vec<(Vec<usize>, f64)> = (found.observations.iter())
        .map(|one| (one.operators.clone(), one.measured_ms))
        .collect();
    for (operators, _) in &mut groups {
        operators.sort_unstable();
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        (vec![0], 0.02),
        ((1..11).collect(), 0.035),
        (vec![11], 0.03),
        ((12..20).collect(), 0.009),
        (vec![20], 0.021),
        (vec![21], 0.004),
    ];
    assert_eq!(groups, expected);
}

/// ONNX Runtime runs the products of a transformer's layer in another order than the file has them, and the reader names each by
/// the sum behind it.
#[test]
fn products_are_told_by_the_part_of_the_network() {
    let parts = ["query", "key", "value"];
    let operators = parts.iter().enumerate().map(|(at, _)| {
        serde_json::json!({"operator_idx": at, "name": "FULLY_CONNECTED", "inputs": [3], "outputs": [at]})
    });
    let tensors = parts.iter().chain(&["x"]).map(|part| {
        let name = format!("/layer.0/self/{part}/Add_output_0");
        serde_json::json!({"name": name, "shape": [1, 64, 8]})
    });
    let base = "cortex-a76-rpi5";
    let report = serde_json::json!({
        "file": "attention.onnx",
        "operators": operators.collect::<Vec<_>>(),
        "tensors": tensors.collect::<Vec<_>>(),
        "results": [{"target": base, "metric": "latency", "operators": [0.01, 0.01, 0.01]}],
    });
    let network = EstimatedNetwork::parse(report.to_string().as_bytes()).unwrap();
    let table = "name,type,us\n/layer.0/self/key/MatMul/MatMulAddFusion,Gemm,20\n/layer.0/self/value/MatMul/MatMulAddFusion,Gemm,30\n\
                 /layer.0/self/query/MatMul/MatMulAddFusion,Gemm,40\n";
    let profile = read(table.as_bytes(), None).unwrap();
    let measured = Measured {
        network: &network,
        profile: &profile,
        profile_name: "table.csv",
    };
    let device = calibrate("device", 1, &[measured], Some(base), None).unwrap();
    let mut found: Vec<(usize, f64)> = (device.networks[0].observations.iter())
        .map(|one| (one.operators[0], one.measured_ms))
        .collect();
    found.sort_by_key(|(operator_idx, _)| *operator_idx);
    assert_eq!(found, [(0, 0.04), (1, 0.02), (2, 0.03)]);
}

/// The reader makes one operator of a sum or a pooling and what follows it, which has the name of the last; ONNX Runtime prints
/// both. Durations as it printed them of the networks that are handed out.
#[test]
fn nodes_that_the_reader_joined_are_measured_together() {
    let of = |probe: &str, table: &str| {
        let probe = PROBES.iter().find(|one| one.name == probe).unwrap();
        let choice = Choice {
            target: Some("cortex-a76-rpi5".into()),
            ..Choice::default()
        };
        let file = ModelFile::new("probe.onnx", probe.onnx);
        let reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
        let network = network(reports[0].as_ref().unwrap());
        let profile = read(table.as_bytes(), None).unwrap();
        let measured = Measured {
            network: &network,
            profile: &profile,
            profile_name: "table.csv",
        };
        let device = calibrate("device", 1, &[measured], Some("cortex-a76-rpi5"), None).unwrap();
        device.networks[0].clone()
    };
    let curved = "name,type,us\nadd_1,Add,12\nmul_3/QuickGeluFusion/,QuickGelu,16\nsub_4,Sub,8\nrelu_5,Relu,5\n";
    let found = of("elementwise", curved);
    println!("{:?} {:?}", found.observations, found.unmatched);
    assert!(found.unmatched.is_empty(), "{:?}", found.unmatched);
    let last = found
        .observations
        .iter()
        .find(|one| one.operators.contains(&4));
    assert!((last.unwrap().measured_ms - 0.013).abs() < 1e-9);
    let pooled = "name,type,us\nclip_17_nchwc,Conv,40\nglobalaveragepool_18_nchwc,GlobalAveragePool,9\nReorderOutput,ReorderOutput,7\nflatten_19,Flatten,2\nsoftmax_22,Softmax,4\n";
    let found = of("small-network", pooled);
    println!("{:?} {:?}", found.observations, found.unmatched);
    assert_eq!(found.unmatched, ["ReorderOutput ReorderOutput (0.0070 ms)"]);
    let mean = found
        .observations
        .iter()
        .find(|one| one.operators.contains(&12));
    assert!((mean.unwrap().measured_ms - 0.011).abs() < 1e-9);
}

/// Devices that ncnn measured are scaled from what its kernels take; those of the version before from the operators of their base,
/// with the estimates that it printed.
#[test]
fn devices_of_ncnn_are_scaled_from_its_kernels() {
    let stored = here("tests/profiles/device-3.json");
    let device = Device::parse(&stored).unwrap();
    assert_eq!(
        (device.kernels, device.last_tool()),
        (Kernels::Base, "ncnn")
    );
    let on_device = |name: &str, device: String| {
        let choice = Choice {
            measured_device: Some(device),
            ..Choice::default()
        };
        let path = format!("www/examples/{name}.tflite");
        let bytes = here(&path);
        let file = ModelFile::new(&path, &bytes);
        let mut reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
        let mut report = reports.remove(0).unwrap();
        report.results.remove(0)
    };
    for (name, expected) in EXAMPLES.iter().zip([
        [
            2.165_943_038_829_114_5,
            1.187_596_749_798_874_6,
            3.950_254_367_273_063,
        ],
        [
            13.529_439_855_811_944,
            3.999_628_056_900_636_6,
            45.765_691_261_271_236,
        ],
        [
            3.794_601_636_570_557,
            1.169_677_774_164_960_7,
            12.310_229_277_070_322,
        ],
    ]) {
        let result = on_device(name, String::from_utf8(stored.clone()).unwrap());
        let Outcome::Estimate { value, lo, hi, .. } = result.outcome else {
            panic!("{name}: no estimate")
        };
        let actual = [value, lo.unwrap(), hi.unwrap()];
        println!("{name}: {actual:?}, expected {expected:?}");
        for (actual, expected) in actual.iter().zip(expected) {
            assert!((actual / expected - 1.0).abs() < 1e-9);
        }
    }
    let profile = read(
        b"loop_count = 8\n  cnn-kws-s7-i43  min = 2.12  max = 2.31  avg = 2.20\n",
        None,
    );
    let profile = profile.unwrap();
    let networks: Vec<EstimatedNetwork> = EXAMPLES
        .iter()
        .map(|name| network(&report(&format!("www/examples/{name}.tflite"))))
        .collect();
    let measured = Measured {
        network: &networks[0],
        profile: &profile,
        profile_name: "ncnn.txt",
    };
    let made = calibrate("Our board", 1, std::slice::from_ref(&measured), None, None).unwrap();
    assert_eq!(made.kernels, Kernels::Ncnn);
    assert_eq!(Device::parse(made.to_json().as_bytes()).unwrap(), made);
    for (name, network) in EXAMPLES.iter().zip(&networks) {
        let result = on_device(name, made.to_json());
        let Outcome::Estimate { value, .. } = result.outcome else {
            panic!("{name}: no estimate")
        };
        let (of_report, _) = made
            .interval(&network.plan_of(&made).unwrap(), None)
            .unwrap();
        println!("{name}: {value} ms of the graph, {of_report} ms of its report");
        assert!((value / of_report - 1.0).abs() < 1e-9);
    }
    // What was measured before stays what it is of.
    let more = calibrate("Our board", 1, &[measured], None, Some(&device)).unwrap();
    assert_eq!(more.kernels, Kernels::Base);
}

/// A device as this version writes it, kept for later versions.
#[test]
fn stored_devices_are_read() {
    let stored = here("tests/profiles/device-1.json");
    let device = Device::parse(&stored).unwrap();
    assert_eq!(
        (device.name.as_str(), device.base.as_str()),
        ("Our board", "cortex-a72-rpi4")
    );
    assert_eq!(device.litecast_device, DEVICE_VERSION);
    let again = Device::parse(device.to_json().as_bytes()).unwrap();
    assert_eq!(again, device, "it is written as this version's");
    // What the version that wrote it printed.
    for (name, expected_ms) in EXAMPLES.iter().zip([
        2.118_762_296_199_723_7,
        19.413_730_218_830_832,
        2.905_376_033_827_293,
    ]) {
        let choice = Choice {
            measured_device: Some(String::from_utf8(stored.clone()).unwrap()),
            ..Choice::default()
        };
        let path = format!("www/examples/{name}.tflite");
        let bytes = here(&path);
        let file = ModelFile::new(&path, &bytes);
        let reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
        let Outcome::Estimate { value, .. } = &reports[0].as_ref().unwrap().results[0].outcome
        else {
            panic!("{name}: no estimate")
        };
        println!("{name}: {value} ms, expected {expected_ms} ms");
        assert!((value / expected_ms - 1.0).abs() < 1e-9);
    }
    let text = String::from_utf8(stored).unwrap();
    let newer = format!("\"litecast_device\":{}", DEVICE_VERSION + 1);
    for (before, after, expected) in [
        (
            "\"litecast_device\":1",
            &*newer,
            "a newer litecast wrote it",
        ),
        ("\"litecast_device\":1", "\"other\":1", "litecast_device"),
        (
            "\"left_out\":[",
            "\"left_out\":[1e9, 2, 3, 4, ",
            "finite numbers",
        ),
        (
            "\"parameters\":[",
            "\"parameters\":[1e300, ",
            "finite numbers",
        ),
        (
            "\"name\":\"",
            &format!("\"name\":\"{}", "n".repeat(1 << 16)),
            "at most 65536 bytes",
        ),
        (
            "\"tool\":\"",
            &format!("\"tool\":\"{}", "t".repeat(1 << 16)),
            "at most 65536 bytes",
        ),
    ] {
        let changed = text.replacen(before, after, 1);
        assert_ne!(changed, text, "{before}");
        let error = Device::parse(changed.as_bytes()).unwrap_err().to_string();
        println!("{error}");
        assert!(error.contains(expected), "{after}: {error}");
    }
    // Classes of the version after that are parts of others in it.
    let second = here("tests/profiles/device-2.json");
    let device = Device::parse(&second).unwrap();
    assert_eq!(device.litecast_device, DEVICE_VERSION);
    for (later, part_of) in [
        (Class::WideWinograd, Class::Winograd),
        (Class::Curve, Class::Elementwise),
    ] {
        assert_eq!(device.factor(later), device.factor(part_of));
    }
    assert!(device.factor(Class::Depthwise) != device.factor(Class::Pointwise));
    let wrong_base = text.replacen("cortex-a72-rpi4", "no-such-board", 1);
    let choice = Choice {
        measured_device: Some(wrong_base),
        ..Choice::default()
    };
    let error = choice.target().err().unwrap();
    assert_eq!(error.kind(), "unknown-target");
}

/// Against the published schema, as an independent validator reads it.
#[test]
fn devices_are_what_the_published_schema_says() {
    let Some(python) = python("jsonschema") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let device = Device::parse(&here("tests/profiles/device-1.json")).unwrap();
    let file = folder.path().join("device.json");
    fs::write(&file, device.to_json()).unwrap();
    let script = "import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
device = json.load(open(sys.argv[2]))
validator = jsonschema.Draft202012Validator(schema)
print(len(schema['properties']), [error.message for error in validator.iter_errors(device)])
broken = [dict(device, fit={}), dict(device, networks=3), {k: v for k, v in device.items() if k != 'base'}]
print([validator.is_valid(one) for one in broken])";
    let output = Command::new(python)
        .args(["-c", script, "src/calibration/device.schema.json"])
        .arg(&file)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.trim(), "9 []\n[False, False, False]");
}

/// What a base or a file is called is shown in part.
#[test]
fn a_base_of_a_long_name_is_refused_in_a_few_words() {
    let network = network(&report(&format!("www/examples/{}.tflite", EXAMPLES[0])));
    let profile = read(b"Inference (avg): 5000", None).unwrap();
    let measured = [Measured {
        network: &network,
        profile: &profile,
        profile_name: "table.csv",
    }];
    let error = calibrate("Board", 1, &measured, Some(&"b".repeat(100_000)), None).unwrap_err();
    assert_eq!(error.kind(), "no-base");
    assert!(error.to_string().len() < 300, "{}", error.to_string().len());
}

/// With ncnn, other devices are known: it has a base and a prior of its own, and claims no level all the same.
#[test]
fn a_device_with_ncnn_starts_from_others() {
    let report = report(&format!("www/examples/{}.tflite", EXAMPLES[0]));
    let network = network(&report);
    let device_of = |tool: &'static str| {
        let profile = Profile {
            tool,
            inferences: vec![MeasuredInference {
                name: String::new(),
                duration_ms: 12.0,
            }],
            ..Profile::default()
        };
        let measured = [Measured {
            network: &network,
            profile: &profile,
            profile_name: "table.csv",
        }];
        calibrate("Board", 1, &measured, None, None).unwrap()
    };
    let (ncnn, mnn) = (device_of("ncnn"), device_of("MNN"));
    assert_eq!(ncnn.base, "cortex-a72-rpi4");
    // ncnn has one kernel for what are two on other runtimes.
    let n_kernels = |device: &Device| DeviceFacts::new(device).kernels.len();
    assert_eq!(n_kernels(&ncnn) + 1, n_kernels(&mnn));
    let other = self::network(&self::report(&format!(
        "www/examples/{}.tflite",
        EXAMPLES[1]
    )));
    let half_width = |device: &Device| {
        let plan = other.plan_of(device).unwrap();
        device.interval(&plan, None).unwrap().1
    };
    println!("{} and {}", half_width(&ncnn), half_width(&mnn));
    assert!(half_width(&ncnn) < 0.8 * half_width(&mnn));
    let choice = Choice {
        measured_device: Some(ncnn.to_json()),
        ..Choice::default()
    };
    let file = ModelFile::new("floats.tflite", PROBES[0].float32);
    let reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
    let Outcome::Estimate { provenance, .. } = &reports[0].as_ref().unwrap().results[0].outcome
    else {
        panic!("no estimate")
    };
    assert_eq!(provenance.interval_percent, None);
}

/// Latencies of networks on the targets of some ids, and what calibration reads of them.
fn networks_on(files: &[(&str, &[u8])], ids: &[String]) -> Vec<(Report, EstimatedNetwork)> {
    let choose = |id: &String| {
        let choice = Choice {
            target: Some(id.clone()),
            ..Choice::default()
        };
        choice.target().unwrap()
    };
    let targets: Vec<Box<dyn Target>> = ids.iter().map(choose).collect();
    let files: Vec<ModelFile> = (files.iter())
        .map(|(name, bytes)| ModelFile::new(name, bytes))
        .collect();
    let reports = estimate_on(&files, None, &targets).unwrap();
    let read = |report: Report| {
        let network = network(&report);
        (report, network)
    };
    reports.into_iter().map(|one| read(one.unwrap())).collect()
}

fn latency_on(report: &Report, target: &str) -> Result<f64, String> {
    let mut results = report.results.iter();
    let result = results
        .find(|result| result.target == target && result.metric == Metric::Latency)
        .unwrap();
    match &result.outcome {
        Outcome::Estimate { value, .. } => Ok(*value),
        Outcome::Unavailable { reason, .. } => Err(format!("{reason:?}")),
    }
}

/// An NPU that takes 1.7 times as long as one that is known, whatever the network: whole latencies of three networks tell the
/// latency of others, on the operators of an NPU, and what that one refuses the device refuses.
#[test]
fn an_npu_starts_from_the_nearest_learned_one() {
    const FACTOR: f64 = 1.7;
    let ids: Vec<String> = known()
        .filter(|target| target.description().family.id == "phones-and-boards")
        .map(|target| target.id().to_owned())
        .collect();
    assert!(ids.len() > 10, "{ids:?}");
    let files: Vec<(&str, &[u8])> = (PROBES.iter())
        .map(|probe| (probe.name, probe.float32))
        .collect();
    let like = "galaxy-s24";
    let networks = networks_on(&files, &ids);
    let measured_ms: Vec<f64> = (networks.iter())
        .map(|(report, _)| FACTOR * latency_on(report, like).unwrap())
        .collect();
    let profiles: Vec<Profile> = (measured_ms.iter())
        .map(|ms| Profile {
            tool: "a table",
            inferences: vec![MeasuredInference {
                name: String::new(),
                duration_ms: *ms,
            }],
            ..Profile::default()
        })
        .collect();
    let measured: Vec<Measured> = (networks.iter().zip(&profiles).take(3))
        .map(|((_, network), profile)| Measured {
            network,
            profile,
            profile_name: "table.csv",
        })
        .collect();
    // A name that people type is the target's, too.
    for base in ["phones-and-boards", "Snapdragon 8 Gen 3"] {
        let device = calibrate("My phone", 1, &measured, Some(base), None).unwrap();
        println!("{base}: {} {:?}", device.base, device.left_out_percent());
        assert!(ids.contains(&device.base));
        assert!(base == "phones-and-boards" || device.base == like);
        let choice = Choice {
            measured_device: Some(device.to_json()),
            ..Choice::default()
        };
        let target = [choice.target().unwrap()];
        for ((name, bytes), ms) in files.iter().zip(&measured_ms).skip(3) {
            let reports = estimate_on(&[ModelFile::new(name, bytes)], None, &target).unwrap();
            let report = reports.into_iter().next().unwrap().unwrap();
            let estimate = latency_on(&report, "my-phone").unwrap();
            println!("{name}: {estimate} ms, expected {ms}");
            // Another NPU may explain three networks as well.
            let allowed = if device.base == like { 0.1 } else { 0.5 };
            assert!((estimate / ms).ln().abs() < allowed, "{name}");
        }
        // The transformer is refused in 8 bits, with the base's reason.
        let path = format!("www/examples/{}.tflite", EXAMPLES[2]);
        let bytes = here(&path);
        let reports = estimate_on(&[ModelFile::new(&path, &bytes)], None, &target).unwrap();
        let of_device = latency_on(reports[0].as_ref().unwrap(), "my-phone");
        let on_base = networks_on(&[(&path, &bytes)], std::slice::from_ref(&device.base));
        println!("{of_device:?}");
        assert!(of_device.is_err());
        assert_eq!(of_device, latency_on(&on_base[0].0, &device.base));
    }
    // Processors are the bases of what no tool says more of, even beside accelerators.
    let error = calibrate("My board", 1, &measured, None, None).unwrap_err();
    assert_eq!(error.kind(), "no-base");
    // Nor does a refused network make a device.
    let path = format!("www/examples/{}.tflite", EXAMPLES[2]);
    let refused = networks_on(&[(&path, &here(&path))], &ids[..1]);
    let measured = [Measured {
        network: &refused[0].1,
        ..measured[0]
    }];
    for base in ["phones-and-boards", &ids[0]] {
        let error = calibrate("My phone", 1, &measured, Some(base), None).unwrap_err();
        println!("{error}");
        assert!(error.to_string().contains("take 2 to 5 times longer"));
    }
}

/// What ONNX Runtime compiled for an NPU is one node of its profile, and tells no single operator; its provider tells that
/// accelerators are the bases.
#[test]
fn a_part_that_ran_on_an_npu_is_measured_as_a_whole() {
    let event = |name: &str, kind: &str, provider: &str, us: u32| {
        format!(
            r#"{{"cat": "Node", "name": "{name}_kernel_time", "dur": {us},
                "args": {{"op_name": "{kind}", "provider": "{provider}", "node_index": "{us}"}}}}"#
        )
    };
    let events = [
        r#"{"cat": "Session", "name": "model_run", "dur": 950}"#.to_owned(),
        event(
            "QNNExecutionProvider_QNN_7_0",
            "QNN_7_0",
            "QNNExecutionProvider",
            900,
        ),
        event("softmax", "Softmax", "CPUExecutionProvider", 40),
    ];
    let profile = read(format!("[{}]", events.join(",")).as_bytes(), None).unwrap();
    println!("{profile:?}");
    assert!(profile.is_of_accelerator);
    assert_eq!(base_families(&profile, None), ["phones-and-boards"]);
    let ids = [
        "galaxy-s22@onnxruntime",
        "galaxy-s25@onnxruntime",
        "cortex-a76-rpi5",
    ];
    let files = [(PROBES[0].name, PROBES[0].float32)];
    let networks = networks_on(&files, &ids.map(str::to_owned));
    let measured = [Measured {
        network: &networks[0].1,
        profile: &profile,
        profile_name: "profile.json",
    }];
    let device = calibrate("My phone", 1, &measured, None, None).unwrap();
    assert!(ids[..2].contains(&&*device.base), "{}", device.base);
    let [network] = &*device.networks else {
        panic!()
    };
    assert_eq!(network.measured_ms, 0.95);
    assert!(network.observations.is_empty());
    // On a processor alone, the same network is one of a processor.
    let on_processor = read(format!("[{}]", events[2]).as_bytes(), None);
    let on_processor = on_processor.unwrap();
    assert!(!on_processor.is_of_accelerator);
    assert!(!base_families(&on_processor, None).contains(&"phones-and-boards"));
    assert_eq!(
        base_families(&on_processor, Some("phones-and-boards")),
        ["phones-and-boards"]
    );
    // No microcontroller runs it, whatever family the report has targets of, but for a table anything may.
    assert_eq!(base_families(&on_processor, None), ["processors"]);
    let by_people = read(b"model,ms\nx.tflite,0.1\n", None).unwrap();
    let all = base_families(&by_people, None);
    assert_eq!(all, ["processors", "microcontrollers"]);
    let ids = ["stm32n6", "cortex-a53-imx8mp"].map(str::to_owned);
    let files = [(PROBES[0].name, PROBES[0].int8)];
    let networks = networks_on(&files, &ids);
    let base_of = |profile: &Profile, like| {
        let measured = [Measured {
            network: &networks[0].1,
            profile,
            profile_name: "profile",
        }];
        calibrate("My board", 1, &measured, like, None)
            .unwrap()
            .base
    };
    // As short as on that microcontroller, which has an NPU.
    let of_runtime = read(b"Inference (avg): 0.05 ms", None).unwrap();
    let of_people = read(b"x,0.05\n", None).unwrap();
    let of_people = Profile {
        inferences: vec![MeasuredInference {
            name: String::new(),
            ..of_people.inferences[0].clone()
        }],
        ..of_people
    };
    assert_eq!(base_of(&of_people, None), ids[0]);
    assert_eq!(base_of(&of_runtime, None), ids[1]);
    assert_eq!(base_of(&of_people, Some("processors")), ids[1]);
    assert_eq!(base_of(&of_runtime, Some("microcontrollers")), ids[0]);
    // TensorFlow Lite names the delegate, whose own operators may follow.
    let delegated = BENCHMARK_MODEL.replace("TfLiteXNNPackDelegate", "TfLiteQnnDelegate");
    let (whole, _) = delegated.split_once("Delegate internal").unwrap();
    for (text, is_of_accelerator, n_operators) in [
        (&*delegated, true, 3),
        (whole, true, 2),
        (BENCHMARK_MODEL, false, 3),
    ] {
        let profile = read(text.as_bytes(), None).unwrap();
        assert_eq!(profile.is_of_accelerator, is_of_accelerator);
        assert_eq!(profile.operators.len(), n_operators, "{profile:?}");
    }
}

/// Rows that are of several operators, or in no order, are measured together.
#[test]
fn sums_are_of_all_operators_of_a_kind() {
    let report = report("www/examples/cnn-kws-s7-i43.tflite");
    let network = network(&report);
    let base = "cortex-a76-rpi5";
    let device = |text: &str| {
        let profile = read(text.as_bytes(), Some(1.0)).unwrap();
        let measured = [Measured {
            network: &network,
            profile: &profile,
            profile_name: "log.txt",
        }];
        let mut device = calibrate("board", 1, &measured, Some(base), None).unwrap();
        let of_network = device.networks.remove(0);
        assert_eq!(of_network.unmatched, [""; 0]);
        let mut groups: Vec<(Vec<usize>, f64)> = of_network
            .observations
            .into_iter()
            .map(|one| (one.operators, one.measured_ms))
            .collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        groups
    };
    let of_kind = |kinds: &[&str]| -> Vec<usize> {
        let operators = report.operators.iter().enumerate();
        let of_kind = operators.filter(|(_, one)| kinds.contains(&&*one.name));
        of_kind.map(|(idx, _)| idx).collect()
    };
    let summed = "\"Unique Tag\",\"Total ticks across all events with that tag.\"\nRESHAPE, 1000\nCONV_2D, 9000\n\
                  DEPTHWISE_CONV_2D, 3000\nAVERAGE_POOL_2D, 2000\n\"total number of ticks\", 15000\n";
    assert_eq!(
        device(summed),
        [
            (of_kind(&["RESHAPE"]), 1.0),
            (of_kind(&["CONV_2D"]), 9.0),
            (of_kind(&["DEPTHWISE_CONV_2D"]), 3.0),
            (of_kind(&["AVERAGE_POOL_2D"]), 2.0)
        ]
    );
    let n_convolutions = of_kind(&["CONV_2D", "DEPTHWISE_CONV_2D"]).len();
    let rows: String = (0..n_convolutions)
        .map(|idx| format!("z{idx}\tConvolution\t{idx}.5\t1\t1\t\n"))
        .collect();
    let by_name = format!("Node Name\tOp Type\tAvg(ms)\t%\tFlops Rate\t\n{rows}");
    let groups = device(&by_name);
    println!("{groups:?}");
    let n = n_convolutions as f64;
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].1, n * (n - 1.0) / 2.0 + n / 2.0);
}

/// Against what each target says of itself.
#[test]
fn processors_are_known_by_their_ids() {
    let mut n_targets = 0;
    for target in known() {
        let (id, family) = (target.id(), target.description().family.id);
        assert_eq!(cortex_a::is_id(id), family == cortex_a::FAMILY.id, "{id}");
        n_targets += 1;
    }
    assert!(n_targets > 50, "{n_targets}");
}
