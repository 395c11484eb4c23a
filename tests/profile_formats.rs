//! Profiles of other tools, from real output where the tool runs here and from examples of its layout elsewhere.

use litecast::calibration::{Class, Device, Measured, calibrate};
use litecast::estimate::estimate_on;
use litecast::profiles::{Profile, ProfileError, read};
use litecast::{Choice, ModelFile};

use crate::calibration::{here, network, report};

fn kinds_and_ms(profile: &Profile) -> Vec<(&str, &str, f64)> {
    let operators = profile.operators.iter();
    operators
        .map(|one| (one.kind.as_str(), one.name.as_str(), one.duration_ms))
        .collect()
}

/// Against the events themselves: medians of each node, and of the runs.
#[test]
fn onnx_runtimes_own_profile_is_read() {
    let bytes = here("tests/profiles/onnx-runtime-1.31.1_convolutions.json");
    let profile = read(&bytes, None).unwrap();
    let events: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
    let median = |name: &str| {
        let of_name = events.iter().filter(|event| event["name"] == name);
        let mut durations: Vec<f64> = of_name
            .map(|event| event["dur"].as_f64().unwrap())
            .collect();
        durations.sort_by(f64::total_cmp);
        durations[durations.len() / 2] / 1e3
    };
    assert_eq!(profile.tool, "ONNX Runtime");
    assert!(profile.operators.len() >= 5, "{profile:?}");
    for one in &profile.operators {
        assert_eq!(
            one.duration_ms,
            median(&format!("{}_kernel_time", one.name)),
            "{one:?}"
        );
        assert!(!one.output_shape.is_empty() && !one.kind.is_empty());
    }
    assert_eq!(profile.inferences[0].duration_ms, median("model_run"));

    let network = network(&report("tests/web/convolutions.onnx"));
    let measured = [Measured {
        network: &network,
        profile: &profile,
        profile_name: "profile.json",
    }];
    let device = calibrate("here", 1, &measured, None, None).unwrap();
    let [of_network] = &*device.networks else {
        panic!("one network")
    };
    println!(
        "{:?}, unmatched {:?}",
        of_network.observations, of_network.unmatched
    );
    let matched: usize = of_network
        .observations
        .iter()
        .map(|one| one.operators.len())
        .sum();
    // All six operators, PAD within the convolution; only changes of layout and shape are none of the model.
    assert_eq!(matched, 6);
    assert!(
        of_network
            .unmatched
            .iter()
            .all(|words| words.starts_with("Reorder") || words.starts_with("Flatten")),
        "{:?}",
        of_network.unmatched
    );
}

/// Against the column of cycles, and against the estimate on the same accelerator, which is that of the compiler.
#[test]
fn velas_own_table_is_read() {
    let bytes = here("tests/profiles/vela-5.2.0_cnn-kws-s7-i43_per-layer.csv");
    let without_clock = read(&bytes, None).unwrap_err();
    assert_eq!(
        without_clock.to_string(),
        "line 1: Vela counts cycles: expected their clock in MHz, found none"
    );
    let profile = read(&bytes, Some(500.0)).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let cycles = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(5)?.parse::<f64>().ok());
    let expected_ms = cycles.sum::<f64>() / 500e3;
    let sum_ms: f64 = profile.operators.iter().map(|one| one.duration_ms).sum();
    println!("{sum_ms} ms, expected {expected_ms}");
    assert!((sum_ms / expected_ms - 1.0).abs() < 1e-9 && profile.unread.is_empty());
    let choice = Choice {
        target: Some("ethos-u55-128".into()),
        ..Choice::default()
    };
    let model = here("www/examples/cnn-kws-s7-i43.tflite");
    let file = ModelFile::new("cnn-kws-s7-i43.tflite", &model);
    let reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
    let network = network(reports[0].as_ref().unwrap());
    let measured = [Measured {
        network: &network,
        profile: &profile,
        profile_name: "per-layer.csv",
    }];
    let device = calibrate("npu", 1, &measured, Some("ethos-u55-128"), None).unwrap();
    assert_eq!(
        device.networks[0].unmatched_ms, 0.0,
        "{:?}",
        device.networks[0].unmatched
    );
    for class in [Class::Winograd, Class::Pointwise] {
        assert!(
            (device.factor(class) - 1.0).abs() < 0.1,
            "{class:?}: {}",
            device.factor(class)
        );
    }
}

/// Against the columns of the table itself: rows that ran, in the time of the wall; and the median of its log.
#[test]
fn openvinos_own_counters_are_read() {
    let bytes = here("tests/profiles/openvino-2026.4.1_convolutions.csv");
    let profile = read(&bytes, None).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let rows = text
        .lines()
        .skip(1)
        .map(|line| line.split(';').collect::<Vec<_>>());
    let expected: Vec<(String, String, f64)> = rows
        .filter(|cells| cells.get(1) == Some(&"Status.EXECUTED") && cells[4] != "0.000")
        .map(|cells| {
            (
                cells[2].to_owned(),
                cells[0].to_owned(),
                cells[4].parse().unwrap(),
            )
        })
        .collect();
    let actual = kinds_and_ms(&profile);
    println!("{actual:?}");
    assert_eq!(profile.tool, "OpenVINO");
    assert_eq!(actual.len(), expected.len());
    for (actual, (kind, name, ms)) in actual.iter().zip(&expected) {
        assert_eq!((actual.0, actual.1), (kind.as_str(), name.as_str()));
        assert!((actual.2 - ms).abs() < 1e-12);
    }
    let whole = read(
        &here("tests/profiles/openvino-2026.4.1_convolutions.txt"),
        None,
    )
    .unwrap();
    assert_eq!(whole.inferences[0].duration_ms, 0.02243);

    let network = network(&report("tests/web/convolutions.onnx"));
    let measured = [Measured {
        network: &network,
        profile: &profile,
        profile_name: "counters.csv",
    }];
    let device = calibrate("here", 1, &measured, None, None).unwrap();
    let of_network = &device.networks[0];
    let matched: usize = of_network
        .observations
        .iter()
        .map(|one| one.operators.len())
        .sum();
    println!("{of_network:?}");
    // PAD and activations are within the convolutions; changes of layout and type are none of the model.
    assert!(matched >= 5, "{matched}");
    assert!(
        of_network
            .unmatched
            .iter()
            .all(|words| words.starts_with("Subgraph") || words.starts_with("Reorder")),
        "{:?}",
        of_network.unmatched
    );
}

/// Of tools that print it: OpenVINO's benchmark_app of 2026.4.1 wrote the first log here.
#[test]
fn devices_keep_the_versions_of_tools() {
    let of_openvino = "[Step 2/11] Loading OpenVINO Runtime\n[ INFO ] OpenVINO:\n\
        [ INFO ] Build ................................. 2026.4.1-22982-e213a147257-releases/2026/4\n[ INFO ] \n\
        [ INFO ] Device info:\n[ INFO ] CPU\n\
        [ INFO ] Build ................................. 2026.4.1-22982-e213a147257-releases/2026/4\n\
        [ INFO ]    Median:        22.43 us\n";
    let of_st = "ST Edge AI Core v2.0.0-20049 329b0e98d\nmodel,latency\nconvolutions,1.5 ms\n";
    let of_none = "model,latency\nconvolutions,1.5 ms\n";
    let network = network(&report("tests/web/convolutions.onnx"));
    for (log, version) in [(of_openvino, "2026.4.1"), (of_st, "2.0.0"), (of_none, "")] {
        let profile = read(log.as_bytes(), None).unwrap();
        let measured = [Measured {
            network: &network,
            profile: &profile,
            profile_name: "log.txt",
        }];
        let device = calibrate("here", 1, &measured, None, None).unwrap();
        println!(
            "{}: {:?}",
            device.networks[0].tool, device.networks[0].tool_version
        );
        assert_eq!(device.networks[0].tool_version, version);
        let kept = Device::parse(device.to_json().as_bytes()).unwrap();
        assert_eq!(kept, device);
    }
}

/// Against its table of counters: operators of which it prints the whole name are the same, in the order in which they ran.
#[test]
fn openvinos_counters_are_read_as_it_shows_them() {
    let shown = here("tests/profiles/openvino-2026.4.1_convolutions_pc.txt");
    let profile = read(&shown, None).unwrap();
    println!("{profile:?}");
    assert_eq!(
        kinds_and_ms(&profile),
        [
            ("Reorder", "", 0.001),
            ("Convolution", "c1/WithoutBiases", 0.002),
            ("GroupConvolution", "c2/WithoutBiases", 0.001),
            ("FullyConnected", "y", 0.009),
        ]
    );
    assert_eq!(profile.inferences[0].duration_ms, 0.01217);
    let table = read(
        &here("tests/profiles/openvino-2026.4.1_convolutions.csv"),
        None,
    );
    let table = table.unwrap();
    for (kind, name, _) in kinds_and_ms(&profile)[1..].iter() {
        let mut rows = table.operators.iter();
        assert!(rows.any(|row| (&*row.kind, &*row.name) == (kind, name)));
    }
    let text = String::from_utf8(shown).unwrap();
    let sorted = text.replace("counts for", "counts sorted for");
    assert!(read(sorted.as_bytes(), None).unwrap().is_sorted && !profile.is_sorted);
}

#[test]
fn litert_tells_a_whole_inference() {
    let profile = read(
        &here("tests/profiles/litert-2.3.0_cnn-kws-s7-i43.txt"),
        None,
    )
    .unwrap();
    assert_eq!(profile.inferences.last().unwrap().duration_ms, 0.05);
    assert!(profile.operators.is_empty());
}

/// Against what the tool prints beside: the share of each row in its total.
#[test]
fn litert_prints_the_operators_of_its_delegate() {
    let bytes = here("tests/profiles/litert-2.3.0_cnn-cifar10-s7-i9_operators.txt");
    let profile = read(&bytes, None).unwrap();
    assert_eq!(profile.tool, "LiteRT's benchmark");
    let text = String::from_utf8(bytes.clone()).unwrap();
    let (run_order, rest) = text.split_once("Top by").unwrap();
    let shares: Vec<f64> = (run_order.lines().skip(2))
        .filter_map(|line| {
            line.split_once('%')?
                .0
                .split_whitespace()
                .last()?
                .parse()
                .ok()
        })
        .collect();
    assert_eq!(shares.len(), profile.operators.len());
    let total_ms = rest.split_once("curr=").unwrap().1;
    let total_ms = total_ms.trim().parse::<f64>().unwrap() / 1e3 / 20.0;
    for (operator, share) in profile.operators.iter().zip(shares) {
        let expected = share / 100.0 * total_ms;
        // It prints three digits of a mean, which counts for each of the operators of a row.
        let rounding = 0.0006 * operator.n_calls as f64;
        assert!(
            (operator.duration_ms - expected).abs() < rounding,
            "{operator:?}, expected {expected}"
        );
    }
    let network = network(&report("www/examples/cnn-cifar10-s7-i9.tflite"));
    let measured = [Measured {
        network: &network,
        profile: &profile,
        profile_name: "operators.txt",
    }];
    let device = calibrate("here", 1, &measured, None, None).unwrap();
    let of_network = &device.networks[0];
    println!("{of_network:?}");
    // Two of the model's paddings are within its convolutions, and nobody tells which.
    assert!(
        of_network
            .unmatched
            .iter()
            .all(|words| words.starts_with("Constant Pad"))
    );
    let matched: usize = of_network
        .observations
        .iter()
        .map(|one| one.operators.len())
        .sum();
    assert_eq!(matched, 40);
    let class = |class| {
        let mut observations = of_network.observations.iter();
        observations.all(|one| {
            one.base_ms.iter().all(|(of_one, _)| *of_one == class) || one.base_ms.len() > 1
        })
    };
    assert!(
        !class(Class::Dense),
        "pointwise convolutions are no matrix products"
    );
    assert!((of_network.measured_ms - total_ms).abs() < 0.01);
}

/// A log of one run or of several, with a clock or without.
#[test]
fn runs_of_one_log_are_one_network() {
    let network = network(&report("www/examples/cnn-kws-s7-i43.tflite"));
    let kinds = [
        "RESHAPE",
        "CONV_2D",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "CONV_2D",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "CONV_2D",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "CONV_2D",
        "AVERAGE_POOL_2D",
        "CONV_2D",
        "RESHAPE",
    ];
    let run: Vec<String> = (kinds.iter().enumerate())
        .map(|(idx, kind)| {
            let ticks = 30_000 * (idx + 1) + 12_345;
            format!("{kind} took {ticks} ticks ({} ms).\n", ticks / 24_000)
        })
        .collect();
    let run = run.concat();
    let runs = run.clone() + &run.replace("00 ticks", "90 ticks") + &run;
    let measured_ms = |text: &str, clock_mhz| {
        let profile = read(text.as_bytes(), clock_mhz).unwrap();
        let measured = [Measured {
            network: &network,
            profile: &profile,
            profile_name: "log.txt",
        }];
        let device = calibrate("board", 1, &measured, Some("cortex-a76-rpi5"), None).unwrap();
        let of_network = &device.networks[0];
        assert_eq!(of_network.unmatched_ms, 0.0, "{:?}", of_network.unmatched);
        assert_eq!(of_network.observations.len(), kinds.len());
        of_network.measured_ms
    };
    let expected = (30_000 * 105 + 14 * 12_345) as f64 / 24_000.0;
    for (text, clock_mhz) in [
        (&run, Some(24.0)),
        (&runs, Some(24.0)),
        (&run, None),
        (&runs, None),
    ] {
        let actual = measured_ms(text, clock_mhz);
        println!("{actual}, expected {expected}");
        assert!((actual / expected - 1.0).abs() < 0.01);
    }
    // Names tell where a run begins; the last one was cut off.
    let layers = "Convolution  conv_1  1.20ms  |\nPooling  pool_1  0.40ms  |\n";
    let log = [
        layers,
        &layers.replace("1.20", "1.30"),
        "Convolution  conv_1  1.10ms  |\n",
    ]
    .concat();
    let profile = read(log.as_bytes(), None).unwrap();
    let of_run = profile.of_one_run(99);
    assert_eq!(
        kinds_and_ms(&of_run),
        [("Convolution", "conv_1", 1.2), ("Pooling", "pool_1", 0.4)]
    );
    let short = "CONV_2D took 7 ticks (0 ms).\n";
    assert_eq!(read(short.as_bytes(), None).unwrap_err().kind(), "no-clock");
}

/// What PowerShell writes.
#[test]
fn utf_16_is_text() {
    let text = "model,latency\r\na.tflite,12.5\r\n";
    let units = text.encode_utf16().flat_map(u16::to_le_bytes);
    let bytes: Vec<u8> = [0xff, 0xfe].into_iter().chain(units).collect();
    assert_eq!(read(&bytes, None), read(text.as_bytes(), None));
}

/// What a spreadsheet writes in Western Europe, and a log that was cut off within a letter.
#[test]
fn texts_of_one_byte_a_letter_are_read() {
    let table = "Layer;Type;Dauer (µs)\nfaltung_größe;Conv;1\u{a0}205,5\n";
    let bytes: Vec<u8> = table
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let profile = read(&bytes, None).unwrap();
    assert_eq!(Ok(&profile), read(table.as_bytes(), None).as_ref());
    assert_eq!(kinds_and_ms(&profile), [("Conv", "faltung_größe", 1.2055)]);
    let text = "model;ms\na.onnx;5,2\nµ".as_bytes();
    let cut = &text[..text.len() - 1];
    assert!(std::str::from_utf8(cut).is_err());
    assert_eq!(read(cut, None).unwrap().inferences[0].duration_ms, 5.2);
}

/// A process that ended before the list.
#[test]
fn a_profile_of_onnx_runtime_ends_with_its_last_run() {
    let bytes = here("tests/profiles/onnx-runtime-1.31.1_convolutions.json");
    let whole = read(&bytes, None).unwrap();
    let list = bytes.trim_ascii_end();
    let open = read(&list[..list.len() - 1], None).unwrap();
    assert_eq!(open, whole);
    let text = std::str::from_utf8(&bytes).unwrap();
    let (in_first_run, _) = text.split_once("\"model_run\"").unwrap();
    let error = read(in_first_run.as_bytes(), None).unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), "wrong-profile");
}

/// Sections of one output: the start, the run order, the same sorted, and the operators inside of a delegate.
pub(crate) const BENCHMARK_MODEL: &str = "\
INFO: Inference timings in us: Init: 5685, First inference: 18535, Warmup (avg): 14462.3, Inference (avg): 14575.2
Profiling Info for Benchmark Initialization:
============================== Run Order ==============================
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t ModifyGraphWithDelegate\t    4.100\t    4.100\t 80.000%\t 80.000%\t  1000.000\t        1\tModifyGraphWithDelegate/0
Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t                 CONV_2D\t    1.250\t    1.200\t 60.000%\t 60.000%\t     0.000\t        1\t[stem]:0
\t   TfLiteXNNPackDelegate\t    0.850\t    0.800\t 40.000%\t100.000%\t     0.000\t        1\t[out]:9

============================== Top by Computation Time ==============================
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t                 CONV_2D\t    1.250\t    1.200\t 60.000%\t 60.000%\t     0.000\t        1\t[stem]:0

Number of nodes executed: 2
============================== Summary by node type ==============================
\t             [Node type]\t  [count]\t  [avg ms]\t    [avg %]\t    [cdf %]\t  [mem KB]\t[times called]
\t                 CONV_2D\t        1\t     1.200\t    60.000%\t    60.000%\t     0.000\t        1

Delegate internal:
============================== Run Order ==============================
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t        DelegateOpInvoke\t    0.550\t    0.500\t 60.000%\t 60.000%\t     0.000\t        1\tDelegate/Convolution (NHWC, F32) IGEMM:0
\t        DelegateOpInvoke\t    0.350\t    0.300\t 40.000%\t100.000%\t     0.000\t        1\tDelegate/Softmax (NC, F32):1
";

/// Tool and text; kind, name and milliseconds of its operators; name and milliseconds of its inferences.
type Example<'e> = (
    &'e str,
    &'e str,
    &'e [(&'e str, &'e str, f64)],
    &'e [(&'e str, f64)],
);

#[test]
fn published_examples_of_other_tools_are_read() {
    let cases: &[Example] = &[
        (
            "LiteRT's benchmark",
            BENCHMARK_MODEL,
            &[
                ("CONV_2D", "stem", 1.2),
                (
                    "Convolution (NHWC, F32) IGEMM",
                    "Delegate/Convolution (NHWC, F32) IGEMM:0",
                    0.5,
                ),
                ("Softmax (NC, F32)", "Delegate/Softmax (NC, F32):1", 0.3),
            ],
            &[("", 14.5752)],
        ),
        (
            "LiteRT's benchmark",
            "node type, first, avg_ms, %, cdf%, mem KB, times called, name\n\
             CONV_2D, 1.25, 1.2, 60%, 60%, 0, 1, [stem]:0\nSOFTMAX, 0.01, 0.02, 1%, 61%, 0, 1, [out]:1\n",
            &[("CONV_2D", "stem", 1.2), ("SOFTMAX", "out", 0.02)],
            &[],
        ),
        (
            "LiteRT's benchmark",
            "Average inference timings in us: Warmup: 2331.42, Init: 896, no stats: 2177.1\n",
            &[],
            &[("", 2.1771)],
        ),
        // One of twenty runs waited for the processor.
        (
            "LiteRT's benchmark",
            "Warmup (first):        0.31 ms\nInference (avg):       1.73 ms (20 runs)\nInference (min):       0.19 ms\n\
             Inference (median):    0.20 ms\nInference (std):       6.29 ms\n",
            &[],
            &[("", 1.73), ("", 0.2)],
        ),
        // What a loop runs is within its row.
        (
            "LiteRT's benchmark",
            "Operator-wise Profiling Info for Regular Benchmark Runs:\nPrimary graph (name: main) profile:\n\
             ============================== Run Order ==============================\n\
             node type, first, avg_ms, %, cdf%, mem KB, times called, name\n\
             WHILE, 1.25, 1.2, 60%, 60%, 0, 1, [a\tb]:3\n\nSubgraph (index: 1, name: body) profile:\n\
             ============================== Run Order ==============================\n\
             node type, first, avg_ms, %, cdf%, mem KB, times called, name\nADD, 0.12, 0.11, 60%, 60%, 0, 10, [c]:0\n",
            &[("WHILE", "a\tb", 1.2)],
            &[],
        ),
        (
            "TensorFlow Lite Micro's profiler",
            "\"Unique Tag\",\"Total ticks across all events with that tag.\"\ntflite::GetModel, 4\n\
             \"total number of ticks\", 4\nCONV_2D took 4646 ticks (4 ms).\nSOFTMAX took 100 ticks (0 ms).\n\
             \"Unique Tag\",\"Total ticks across all events with that tag.\"\nCONV_2D, 4646\nSOFTMAX, 100\n\
             \"total number of ticks\", 4746\n",
            &[("CONV_2D", "", 0.04646), ("SOFTMAX", "", 0.001)],
            &[],
        ),
        (
            "TensorFlow Lite Micro's profiler",
            "\"Unique Tag\",\"Total ticks across all events with that tag.\"\nCONV_2D, 4646\nSOFTMAX, 100\n\
             \"total number of ticks\", 4746\n",
            &[("CONV_2D", "", 0.04646), ("SOFTMAX", "", 0.001)],
            &[],
        ),
        (
            "TensorFlow Lite Micro's profiler",
            "\"Event\",\"Tag\",\"Ticks\"\n0,CONV_2D,4646\n1,SOFTMAX,100\n",
            &[("CONV_2D", "", 0.04646), ("SOFTMAX", "", 0.001)],
            &[],
        ),
        (
            "TensorFlow Lite Micro's profiler",
            "I (312) main: CONV_2D took 4646 ticks (4 ms).\nSOFTMAX took 100 ticks (0 ms).\n",
            &[("CONV_2D", "", 0.04646), ("SOFTMAX", "", 0.001)],
            &[],
        ),
        (
            "ExecuTorch's inspector",
            "event_block_name,event_name,p10 (ms),p50 (ms),p90 (ms),avg (ms),min (ms),max (ms),op_types,is_delegated_op\n\
             Default,Method::init,9,9,9,9,9,9,[],False\n\
             Execute,native_call_convolution.out,1,1.5,2,1.6,1,2,\"['aten.convolution.default', 'x']\",False\n\
             Execute,Method::execute,3,3.5,4,3.6,3,4,[],False\n",
            &[(
                "['aten.convolution.default', 'x']",
                "native_call_convolution.out",
                1.5,
            )],
            &[("", 3.5)],
        ),
        // Without the record of the export.
        (
            "ExecuTorch's inspector",
            "\tevent_block_name\tevent_name\tp10 (ms)\tp50 (ms)\tavg (ms)\top_types\tis_delegated_op\tdelegate_backend_name\n\
             0\tExecute\tConvolution (NHWC, F32) IGEMM #1\t1.0\t1.5\t1.6\t[]\tTrue\tXnnpackBackend\n",
            &[(
                "Convolution (NHWC, F32) IGEMM #1",
                "Convolution (NHWC, F32) IGEMM #1",
                1.5,
            )],
            &[],
        ),
        (
            "ncnn",
            "loop_count = 8\n          squeezenet  min =    2.51  max =    2.56  avg =    2.53\n",
            &[],
            &[("squeezenet", 2.53)],
        ),
        (
            "ncnn",
            "Convolution              conv1                      1.23ms    |    feature_map:  224 x 224     inch:    3 * 1\n",
            &[("Convolution", "conv1", 1.23)],
            &[],
        ),
        (
            "ncnn",
            "Pooling                  maxpool_1                     38.23us    |\n\
             ConvolutionDepthWise     conv_2                          0.15ms    |    [112, 112,   8 *4] -> [ 56,  56,   8 *4]         kernel: 3 x 3     stride: 2 x 2\n",
            &[
                ("Pooling", "maxpool_1", 0.03823),
                ("ConvolutionDepthWise", "conv_2", 0.15),
            ],
            &[],
        ),
        (
            "MNN",
            "[ - ] resnet-v2-50.mnn          max =   80.100 ms  min =   78.100 ms  avg =   79.200 ms\n",
            &[],
            &[("resnet-v2-50.mnn", 79.2)],
        ),
        (
            "MNN",
            "Sort by node name !\nNode Name \tOp Type \tAvg(ms) \t% \tFlops Rate \t\nconv1 \tConvolution \t1.250000 \t60.0 \t50.0 \t\n\
             Print <=20 slowest Op for Convolution, larger than 3.00\nconv1 -  9.500000 GFlops, 60.00 rate\n\n\
             Sort by time cost !\nNode Type \tAvg(ms) \t% \tCalled times \tFlops Rate \t\nConvolution \t1.250000 \t60.0 \t1.000000 \t50.0 \t\n\
             total time : 2.083333 ms, total mflops : 11.875000 \n",
            &[("Convolution", "conv1", 1.25)],
            &[],
        ),
        (
            "ST Edge AI's validation",
            "   c_id    m_id   type              dur (ms)       %    cumul  name\n   ---------------------------\n   \
             0       0      Conv2D (0x103)       3.165   12.1%    12.1%  ai_node_0\n   \
             1       2      Pool (0x10b)         0.250    1.0%    13.1%  ai_node_1\n",
            &[
                ("Conv2D (0x103)", "ai_node_0", 3.165),
                ("Pool (0x10b)", "ai_node_1", 0.25),
            ],
            &[],
        ),
        // Its report ends with means of values.
        (
            "ST Edge AI's validation",
            "   c_id    m_id   type              dur (ms)       %    cumul  name\n   ---------------------------\n   \
             0       0      Conv2D (0x103)       3.165   99.1%    99.1%  ai_node_0\n   \
             total                               3.165\n   ---------------------------\n   \
             tensor  #  shape  min  max  mean  name\n   I.0  1  f32[1,8,8,3]:192  0.0  1.0  0.5  input\n",
            &[("Conv2D (0x103)", "ai_node_0", 3.165)],
            &[],
        ),
        // As short as nothing.
        (
            "ncnn",
            "Reduction                mean_1                     0.00ms    |\n\
             Convolution              conv_2                     0.15ms    |\n",
            &[
                ("Reduction", "mean_1", 0.0),
                ("Convolution", "conv_2", 0.15),
            ],
            &[],
        ),
        (
            "a table",
            "name,type,ms\nsum_1,Sum,0.5\nsum,Sum,0.25\nconv,Conv,1.5\nTotal,,2.25\n",
            &[
                ("Sum", "sum_1", 0.5),
                ("Sum", "sum", 0.25),
                ("Conv", "conv", 1.5),
            ],
            &[("", 2.25)],
        ),
        (
            "a table",
            "name;ms\nconv;1,205\nadd;0,012\nSum;1,217\n",
            &[("", "conv", 1.205), ("", "add", 0.012)],
            &[("", 1.217)],
        ),
        (
            "a table",
            "\u{feff}\"Layer\";\"Type\";\"Time (us)\"\n\"conv;1\";\"Conv\";\"1.250,5\"\n\"fc\";\"Dense\";\"80\"\n",
            &[("Conv", "conv;1", 1.2505), ("Dense", "fc", 0.08)],
            &[],
        ),
        (
            "a table",
            "model\tlatency\na.tflite\t12,5 ms\nb.tflite\t900 us\n",
            &[],
            &[("a.tflite", 12.5), ("b.tflite", 0.9)],
        ),
        ("a table", "a.tflite, 12.5\n", &[], &[("a.tflite", 12.5)]),
    ];
    for (tool, text, operators, inferences) in cases {
        let profile = read(text.as_bytes(), Some(100.0))
            .unwrap_or_else(|error| panic!("{tool}: {error}\n{text}"));
        println!("{profile:?}");
        assert_eq!(profile.tool, *tool);
        let actual = kinds_and_ms(&profile);
        assert_eq!(actual.len(), operators.len(), "{tool}");
        for (actual, expected) in actual.iter().zip(*operators) {
            assert_eq!((actual.0, actual.1), (expected.0, expected.1), "{tool}");
            assert!((actual.2 - expected.2).abs() < 1e-9, "{tool}: {}", actual.2);
        }
        let actual: Vec<(&str, f64)> = profile
            .inferences
            .iter()
            .map(|one| (one.name.as_str(), one.duration_ms))
            .collect();
        assert_eq!(actual, *inferences, "{tool}");
    }
}

#[test]
fn what_is_no_duration_is_told() {
    let open = read(b"model,ms\na.onnx,\"1,234\"\nb.onnx,0.5\n", None).unwrap();
    assert_eq!(
        open.unread,
        [
            "line 2: expected a decimal point, or another row that tells what the comma is, found `a.onnx,\"1,234\"`"
        ]
    );
    assert_eq!(open.inferences.len(), 1);
    // The others are not the whole network.
    for text in [
        "name,ms\nconv1,\"1,234\"\nconv2,0.5\n",
        "name;kind;ms\na;CONV_2D;5,2\nb;ADD;1.234\nc;MUL;2\n",
    ] {
        let error = read(text.as_bytes(), None).unwrap_err();
        println!("{error}");
        assert!(matches!(error, ProfileError::Incomplete(_)));
    }
    // Decimal commas: between commas they are two cells, and beside them a point may stand between thousands.
    for (text, durations_ms, n_unread) in [
        ("model,ms\na.tflite,5,2\nb.tflite,3\n", &[3.0][..], 1),
        ("model,ms,note\na.tflite,5,2\nb.tflite,3,\n", &[5.0, 3.0], 0),
        (
            "model;ms\na;5,2\nb;1.234\nc;12.500\nd;0.5\n",
            &[5.2, 0.5],
            2,
        ),
        ("model;ms\na;5.2\nb;1.234\n", &[5.2, 1.234], 0),
        ("a.tflite;5,2\nb.tflite;1.234\n", &[5.2], 1),
        ("model;ms\na;5,2\nb;1,234\n", &[5.2, 1.234], 0),
        (
            "name;kind;ms\na;CONV_2D;5,2\nb;ADD;1.234\nc;MUL;2\ntotal;;8,5\n",
            &[8.5, 5.2, 2.0],
            1,
        ),
    ] {
        let profile = read(text.as_bytes(), None).unwrap();
        println!("{text}{:?}", profile.unread);
        let inferences = profile.inferences.iter().map(|one| one.duration_ms);
        let operators = profile.operators.iter().map(|one| one.duration_ms);
        let actual: Vec<f64> = inferences.chain(operators).collect();
        assert_eq!(actual, durations_ms, "{text}");
        assert_eq!(profile.unread.len(), n_unread, "{text}");
    }
    for (text, kind) in [
        (&b""[..], "wrong-profile"),
        (b"hello", "wrong-profile"),
        (b"\xff\xfe", "wrong-profile"),
        (b"[{\"cat\": 7}]", "wrong-profile"),
        (b"[]", "wrong-profile"),
        (b"name,cycles\nconv,7\n", "no-clock"),
    ] {
        let error = read(text, None).unwrap_err();
        println!("{error}");
        assert_eq!(error.kind(), kind);
    }
    let rows = "a,b,1\n".repeat(200_000);
    assert_eq!(
        read(rows.as_bytes(), None),
        Err(ProfileError::TooManyOperators)
    );
}

/// Bytes that change, go and come, at places spread by a multiplicative generator.
#[test]
fn changed_profiles_are_read_or_refused() {
    let ort = here("tests/profiles/onnx-runtime-1.31.1_convolutions.json");
    let vela = here("tests/profiles/vela-5.2.0_cnn-kws-s7-i43_per-layer.csv");
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let pieces: [&[u8]; 8] = [
        b"\"",
        b",",
        b"\t",
        b"1e999",
        b"-1",
        "\u{202f}".as_bytes(),
        b"[",
        b"avg =",
    ];
    let mut n_read = 0;
    for seed in [
        &ort[..ort.len().min(3000)],
        &vela,
        BENCHMARK_MODEL.as_bytes(),
    ] {
        for _ in 0..2000 {
            let mut bytes = seed.to_vec();
            for _ in 0..=next(4) {
                let at = next(bytes.len());
                match next(3) {
                    0 => bytes[at] = next(256) as u8,
                    1 => bytes.truncate(at),
                    _ => drop(bytes.splice(at..at, pieces[next(pieces.len())].iter().copied())),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            if let Ok(profile) = read(&bytes, Some(100.0)) {
                n_read += 1;
                let mut operators = profile.operators.iter();
                assert!(operators.all(|one| one.duration_ms > 0.0 && one.duration_ms.is_finite()));
            }
        }
    }
    println!("{n_read} of 6,000 were read");
    assert!(n_read > 500);
}

/// The last line that names the model, or that names none, is its latency.
#[test]
fn each_model_of_a_table_has_the_last_of_its_lines() {
    let table = "model,latency\nfolder/A.tflite,1\nb,2\na.onnx,3\nb.param,4\n";
    let profile = read(table.as_bytes(), None).unwrap();
    let by_model = profile.by_model().unwrap();
    let latency = |file: &str| Some(by_model.of_model(file)?.inferences[0].duration_ms);
    assert_eq!(latency("a.tflite"), Some(3.0));
    assert_eq!(latency("x/B.onnx"), Some(4.0));
    assert_eq!(latency("c.onnx"), None);
    let of_one = read(b"Inference (avg): 5000", None).unwrap();
    assert!(of_one.by_model().is_none());
}
