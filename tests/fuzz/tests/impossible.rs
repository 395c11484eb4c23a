//! Every kind of operator with sizes and options near the ends of their ranges, on every target: no number that the
//! hardware cannot reach, that is not finite, or that is 0 where something has to be moved or computed.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use litecast::estimate::{Detail, ModelFile, estimate_in};
use litecast::formats::tflite::schema::{BuiltinOperator, BuiltinOptions};
use litecast::learned::predictor::Predictor;
use litecast::report::Report;

use litecast::targets::{Metric, Outcome, Target, known};
use litecast_fuzz::check::assert_sound;
use litecast_fuzz::random::Random;
use litecast_fuzz::shapes::{FLOAT32, INT8, Network};
use litecast_tflite_files::options::{Options, Value};
use litecast_tflite_files::{File, Operator};

/// Networks of each kind of operator.
const N_EACH: usize = 24;

/// Of the fastest hardware of each kind here, from data sheets and by hand, so that a rate in the code that is wrong is
/// found: bytes in a second that memories move, and bytes that may stay beside the arithmetic.
struct Ceiling {
    bytes_per_s: f64,
    held_bytes: f64,
}

/// Two ports of 16 bytes at 1 GHz, each reading and writing, twice that of U85's SRAM; the memory of a Raspberry Pi 5 is
/// LPDDR4X-4267 of 32 bits, and its caches hold 2.5 MiB; the H100's is 3,350 GB/s, and the RTX 5090's 1,792 GB/s, with 128
/// MB of cache at most. A microcontroller at 1 GHz stores 8 bytes a cycle.
fn ceiling(target: &str) -> Ceiling {
    static FAMILIES: LazyLock<BTreeMap<String, &str>> = LazyLock::new(|| {
        let family =
            |target: Box<dyn Target>| (target.id().to_owned(), target.description().family.id);
        known().map(family).collect()
    });
    let family = FAMILIES.get(target).expect("a target of the registry");
    let [bytes_per_s, held_bytes] = match (*family, target) {
        ("ethos-u", _) | (_, "stm32n6") => [256e9, 0.0],
        ("processors", _) => [17.07e9, 3e6],
        ("microcontrollers", _) => [8e9, 0.0],
        // What the accelerator's memory holds may come over USB or PCIe beside the inference.
        ("edge-tpu", _) => [4e9, 8e6],
        (_, "h100-80gb") => [3.35e12, 128e6],
        ("gpus", _) => [1.8e12, 128e6],
        // The X2 Elite's is 9,523 MT/s of 192 bits, and memory on the chip holds feature maps of tens of MB.
        ("phones-and-boards", _) => [228.55e9, 64e6],
        // Of other families nobody wrote one down: that of the fastest.
        _ => [3.35e12, 128e6],
    };
    Ceiling {
        bytes_per_s,
        held_bytes,
    }
}

/// Kinds whose every output value is computed or copied, on all hardware, with an option table that is all 0, and how
/// many inputs of one shape they take.
const ELEMENTWISE: &[(BuiltinOperator, usize)] = &[
    (BuiltinOperator::RELU, 1),
    (BuiltinOperator::RELU6, 1),
    (BuiltinOperator::LOGISTIC, 1),
    (BuiltinOperator::TANH, 1),
    (BuiltinOperator::ABS, 1),
    (BuiltinOperator::NEG, 1),
    (BuiltinOperator::EXP, 1),
    (BuiltinOperator::HARD_SWISH, 1),
    (BuiltinOperator::SOFTMAX, 1),
    (BuiltinOperator::L2_NORMALIZATION, 1),
    (BuiltinOperator::RSQRT, 1),
    (BuiltinOperator::GELU, 1),
    (BuiltinOperator::ADD, 2),
    (BuiltinOperator::SUB, 2),
    (BuiltinOperator::MUL, 2),
    (BuiltinOperator::MAXIMUM, 2),
    (BuiltinOperator::MINIMUM, 2),
    (BuiltinOperator::SQUARED_DIFFERENCE, 2),
];

/// A side: of any size, often near a power of two, and seldom so large that nothing else fits.
fn side(random: &mut Random) -> i32 {
    const SIDES: [i32; 14] = [
        1,
        1,
        2,
        3,
        7,
        16,
        127,
        255,
        1024,
        4097,
        65_535,
        65_537,
        1 << 20,
        1 << 24,
    ];
    SIDES[random.below(SIDES.len())]
}

/// Four sides, whose product fits in 32 bits as every runtime asks.
fn shape(random: &mut Random) -> [i32; 4] {
    loop {
        let shape = [1, side(random), side(random), side(random)];
        if values(&shape) <= f64::from(i32::MAX / 4) {
            return shape;
        }
    }
}

fn values(shape: &[i32]) -> f64 {
    shape.iter().map(|&side| f64::from(side)).product()
}

/// A network with bytes that have to be moved whatever runs it, once each; 0 where nothing is known.
struct Case {
    name: String,
    file: File,
    moved_values: f64,
    macs: f64,
}

fn typed(mut file: File, tensor_type: i8) -> File {
    for tensor in &mut file.subgraphs[0].tensors {
        if tensor.tensor_type == INT8 {
            tensor.tensor_type = tensor_type;
            tensor.quantization = tensor.quantization.take().filter(|_| tensor_type == INT8);
        }
    }
    file
}

fn elementwise((name, n_inputs): (BuiltinOperator, usize), random: &mut Random) -> Case {
    let shape = shape(random);
    let mut network = Network::new(&shape);
    let mut inputs = vec![0];
    for _ in 1..n_inputs {
        let input = network.tensor(&shape);
        network.main().inputs.push(input);
        inputs.push(input);
    }
    let output = network.tensor(&shape);
    network.operator(name, &inputs, &[output], Options::default());
    Case {
        name: format!("{name:?} of {shape:?}"),
        file: network.finish(&[output]),
        moved_values: values(&shape) * (n_inputs + 1) as f64,
        macs: 0.0,
    }
}

/// Windows and strides of any size over an image; the output has the shape that they give.
fn pool(name: BuiltinOperator, random: &mut Random) -> Case {
    let image = shape(random);
    const NUMBERS: [i32; 9] = [1, 2, 3, 8, 9, 256, 4096, 1 << 20, i32::MAX];
    let mut any = || NUMBERS[random.below(NUMBERS.len())];
    let ([stride_h, stride_w], filter) = ([any(), any()], [any(), any()]);
    let along =
        |size: i32, stride: i32| (i64::from(size) + i64::from(stride) - 1) / i64::from(stride);
    let written = [
        1,
        along(image[1], stride_h) as i32,
        along(image[2], stride_w) as i32,
        image[3],
    ];
    let mut network = Network::new(&image);
    let output = network.tensor(&written);
    let fields = [0, stride_w, stride_h, filter[1], filter[0]].map(Value::Int);
    let mut fields = fields.to_vec();
    fields[0] = Value::Byte(0);
    let options = Options::with(BuiltinOptions::Pool2DOptions, &fields);
    network.operator(name, &[0], &[output], options);
    Case {
        name: format!("{name:?} of {image:?}, strides {stride_h}x{stride_w}, windows {filter:?}"),
        file: network.finish(&[output]),
        moved_values: values(&written),
        macs: 0.0,
    }
}

/// A dense layer, its weights in a buffer that says how many they are only by its length: at most some kilobytes.
fn dense(random: &mut Random) -> Case {
    let rows = side(random).min(1 << 20);
    let (depth, units) = (
        [1, 3, 64, 128][random.below(4)],
        [1, 2, 64, 128][random.below(4)],
    );
    let mut network = Network::new(&[rows, depth]);
    let output = network.dense(0, &[rows, depth], units);
    Case {
        name: format!("FULLY_CONNECTED of {rows} rows, {depth} to {units}"),
        file: network.finish(&[output]),
        moved_values: f64::from(rows) * f64::from(depth + units),
        macs: f64::from(rows) * f64::from(depth) * f64::from(units),
    }
}

fn convolution(random: &mut Random) -> Case {
    let [_, rows, columns, _] = shape(random);
    let channels = [1, 2, 16, 64][random.below(4)];
    let columns = columns.min((1 << 27) / rows.max(1) / channels).max(1);
    let image = [1, rows, columns, channels];
    let mut network = Network::new(&image);
    let output = network.convolution(0, &image);
    Case {
        name: format!("CONV_2D of {image:?}"),
        file: network.finish(&[output]),
        moved_values: 2.0 * values(&image),
        macs: values(&image) * f64::from(channels),
    }
}

/// Any kind at all, with options that are nothing but extremes, and two inputs.
fn any(kind: i32, random: &mut Random) -> Case {
    let mut network = Network::new(&shape(random));
    let second = network.tensor(&shape(random));
    network.main().inputs.push(second);
    let output = network.tensor(&shape(random));
    let options_kind = 1 + random.below(120) as u8;
    let mut options = Options::zero(false, options_kind);
    for field in &mut options.fields {
        const EXTREMES: [i32; 6] = [0, 1, -1, i32::MAX, i32::MIN, 1 << 16];
        let extreme = EXTREMES[random.below(EXTREMES.len())];
        match field {
            Value::Int(value) => *value = extreme,
            Value::Float(value) => *value = f32::from_bits(extreme as u32),
            Value::Byte(value) => *value = (extreme & 3) as u8,
            _ => {}
        }
    }
    let mut file = network.finish(&[output]);
    let code = file.code(BuiltinOperator(kind));
    file.subgraphs[0].operators.push(Operator {
        code,
        inputs: vec![0, second],
        outputs: vec![output],
        options,
        ..Operator::default()
    });
    Case {
        name: format!("{:?} with options {options_kind}", BuiltinOperator(kind)),
        file,
        moved_values: 0.0,
        macs: 0.0,
    }
}

fn cases() -> Vec<(Case, i8)> {
    let mut random = Random::new(20);
    let mut cases = Vec::new();
    for _ in 0..N_EACH {
        for tensor_type in [INT8, FLOAT32] {
            for &kind in ELEMENTWISE {
                cases.push((elementwise(kind, &mut random), tensor_type));
            }
            for name in [
                BuiltinOperator::MAX_POOL_2D,
                BuiltinOperator::AVERAGE_POOL_2D,
            ] {
                cases.push((pool(name, &mut random), tensor_type));
            }
        }
        cases.push((dense(&mut random), INT8));
        cases.push((convolution(&mut random), INT8));
    }
    for kind in 0..=BuiltinOperator::ENUM_MAX {
        for _ in 0..3 {
            cases.push((any(kind, &mut random), INT8));
        }
    }
    cases
}

/// Latencies of a report: value, and ends of the interval.
fn latencies(report: &Report) -> impl Iterator<Item = (&str, f64, [Option<f64>; 2])> {
    let of_latency = (report.results.iter()).filter(|one| one.metric == Metric::Latency);
    of_latency.filter_map(|one| match &one.outcome {
        &Outcome::Estimate { value, lo, hi, .. } => Some((one.target.as_str(), value, [lo, hi])),
        Outcome::Unavailable { .. } => None,
    })
}

/// Whole networks take longer than this nowhere; a number beyond it has to have a wide interval: the longest that was measured
/// on any target takes a hundredth of it.
const LONG_MS: f64 = 3.6e6;
const LONG_WIDTH: f64 = 3.0;

#[test]
fn no_target_does_what_its_hardware_cannot() {
    let predictor = Predictor::shipped().expect("the shipped predictor loads");
    let targets: Vec<_> = known().collect();
    let mut broken: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut n_reports, mut n_compared) = (0, 0);
    for (case, tensor_type) in cases() {
        let bytes = typed(case.file, tensor_type).write();
        let file = ModelFile::new("made", &bytes);
        let reports = estimate_in(&[file], Some(&predictor), &targets, Detail::Full);
        let Ok(report) = reports.expect("the shipped network runs").remove(0) else {
            continue;
        };
        n_reports += 1;
        assert_sound(&report);
        let mut told = report.diagnostics.iter().map(|doubt| doubt.diagnostic.code);
        let is_told = told.any(|code| code == "beyond-measured");
        for (target, ms, [lo, hi]) in latencies(&report) {
            let Ceiling {
                bytes_per_s,
                held_bytes,
            } = ceiling(target);
            let element_bytes = match tensor_type {
                // GPUs compute in half precision.
                FLOAT32 => 2.0,
                _ => 1.0,
            };
            let moved_bytes = element_bytes * case.moved_values;
            let least_ms =
                1e3 * ((moved_bytes - held_bytes) / bytes_per_s).max(case.macs / 494.7e12);
            let mut fail = |what: &'static str| {
                let interval =
                    [lo, hi].map(|end| end.map_or("?".to_owned(), |ms| format!("{ms:.3e}")));
                let words = format!(
                    "{}: {ms:.3e} ms ({}) on {target}, at least {least_ms:.3e}, beyond-measured: {is_told}",
                    case.name,
                    interval.join(" to "),
                );
                broken.entry(what).or_default().push(words);
            };
            n_compared += 1;
            if ms < least_ms {
                fail("faster than the hardware");
            }
            if ms == 0.0 && case.moved_values > 0.0 {
                fail("zero for work");
            }
            if ms > LONG_MS && !(is_told && lo.zip(hi).is_some_and(|(lo, hi)| hi > LONG_WIDTH * lo))
            {
                fail("hours without a doubt");
            }
        }
    }
    for (what, cases) in &broken {
        println!("{what}: {} results", cases.len());
        cases
            .iter()
            .take(12)
            .for_each(|words| println!("  {words}"));
    }
    println!(
        "{n_compared} latencies of {n_reports} reports, results that beat the target's peak: {}",
        broken.get("faster than the hardware").map_or(0, Vec::len)
    );
    assert!(
        n_reports > 500 && n_compared > 5000,
        "{n_reports} {n_compared}"
    );
    assert!(broken.is_empty());
}
