//! What holds for every file, whatever is in it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::time::Duration;

use litecast::batch_sweep::sweep_batch;
use litecast::calibration::{
    Calibration, Device, EstimatedNetwork, Measured, Measurement, calibrate,
};
use litecast::estimate::{Detail, EstimateError, ModelFile, Request, estimate, estimate_in};
use litecast::formats::tflite;
use litecast::graph;
use litecast::graph::shapes::batch_size::set_batch;
use litecast::learned::predictor::Predictor;
use litecast::model_variants::Changes;
use litecast::profiles::{self, Profile};
use litecast::report::{Report, migrate};
use litecast::sweep::{self, Estimated, Limits, Sweep};
use litecast::targets::ethos_u::configuration::{Configuration, Product, VelaIni};
use litecast::targets::gpu::specifications::GPUS;
use litecast::targets::{self, Outcome, ethos_u, gpu, registry};

use crate::attacks::Format;
use crate::clock::Clock;
use crate::memory::{Taken, measure};
use crate::shapes::Shape;
use crate::texts;
use litecast_tflite_files::File;

/// Bytes that any file may take besides three times its own length.
pub const BASE_BYTES: usize = 64 << 20;

/// Peak bytes allowed for a file of this length.
pub fn max_bytes(file_bytes: usize) -> usize {
    3 * file_bytes + BASE_BYTES
}

/// Bytes of plans, features and the network's layers for each operator, beyond what [`max_bytes`] allows: what
/// `make growth` prints is less.
pub const MAX_BYTES_PER_OPERATOR: usize = 3500;

/// The same for each input and output of an operator or a subgraph.
pub const MAX_BYTES_PER_OPERAND: usize = 200;

/// What one file took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Of the processor where the system counts it by thread, or else of the clock, which other programs stretch.
    pub time: Duration,
    pub taken: Taken,
    /// Files of which there was a report, or a model.
    pub n_read: usize,
}

impl Cost {
    /// Of one after the other.
    fn and(self, other: Self) -> Self {
        Self {
            time: self.time + other.time,
            taken: Taken {
                peak_bytes: self.taken.peak_bytes.max(other.taken.peak_bytes),
                n_allocations: self.taken.n_allocations + other.taken.n_allocations,
            },
            n_read: self.n_read + other.n_read,
        }
    }

    pub fn is_read(&self) -> bool {
        self.n_read > 0
    }
}

/// A way into the program that takes what others wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The reader and the graphs of all subgraphs.
    Reader,
    /// Facts, plans and what is modelled, without the network.
    Facts,
    /// The same with the network that ships.
    Estimate,
    /// As many inputs at a time.
    Batch,
    /// A table of measurements.
    Measurements,
    /// Every GPU, with as many inputs at a time, and every batch size on one of them.
    Gpus,
    /// Every Ethos-U, and the smallest one that meets limits.
    Smallest,
    /// ONNX files: facts, and estimates on one GPU, which runs as operators of their own what a converter folds.
    Onnx,
    /// Graphs as JSON.
    Graph,
    /// ncnn's networks.
    Ncnn,
    /// A `vela.ini`.
    Configuration,
    /// Files of every format whose structure somebody thought of: the whole path of networks, without the trained one, and
    /// what each other format is for.
    Attacks,
    /// What benchmark tools print, and a device that is made of it.
    Profiles,
    /// Measured devices, on which a network is estimated, and to which a measurement is added.
    Devices,
    /// Stored reports.
    Reports,
}

static GPU_TARGETS: LazyLock<Vec<Box<dyn targets::Target>>> =
    LazyLock::new(|| gpu::targets(gpu::Bundle::shipped()));

impl Target {
    pub const ALL: [(&'static str, Self); 15] = [
        ("reader", Self::Reader),
        ("facts", Self::Facts),
        ("estimate", Self::Estimate),
        ("batch", Self::Batch),
        ("measurements", Self::Measurements),
        ("gpus", Self::Gpus),
        ("smallest", Self::Smallest),
        ("onnx", Self::Onnx),
        ("graph", Self::Graph),
        ("ncnn", Self::Ncnn),
        ("configuration", Self::Configuration),
        ("attacks", Self::Attacks),
        ("profiles", Self::Profiles),
        ("devices", Self::Devices),
        ("reports", Self::Reports),
    ];

    /// What runs files of a format that somebody made on purpose.
    pub fn of_format(format: Format) -> Self {
        match format {
            Format::Tflite | Format::Onnx | Format::Graph | Format::Ncnn => Self::Attacks,
            Format::Profile => Self::Profiles,
            Format::Device => Self::Devices,
            Format::Configuration => Self::Configuration,
            Format::Report => Self::Reports,
        }
    }

    /// Runs it on `bytes`.
    ///
    /// # Panics
    /// Where a promise is broken.
    pub fn run(self, bytes: &[u8], predictor: Option<&Predictor>) -> Cost {
        if self.targets().is_some() {
            return self.run_many(&[bytes], predictor, Detail::Full);
        }
        cost(|| {
            usize::from(match self {
                Self::Reader => read(bytes),
                Self::Onnx => report(bytes, NonZeroU32::MIN) && is_estimated_on_a_gpu(bytes),
                Self::Graph | Self::Ncnn => report(bytes, NonZeroU32::MIN),
                Self::Batch => batch(bytes),
                Self::Measurements => measurements(bytes),
                Self::Configuration => configuration(bytes),
                Self::Profiles => profile(bytes),
                Self::Devices => device(bytes),
                Self::Reports => stored_report(bytes),
                Self::Facts | Self::Estimate | Self::Gpus | Self::Smallest | Self::Attacks => false,
            })
        })
    }

    /// What the whole path estimates on, where it is the target.
    fn targets(self) -> Option<&'static [Box<dyn targets::Target>]> {
        static NPUS: LazyLock<Vec<Box<dyn targets::Target>>> = LazyLock::new(|| {
            let target = |product| ethos_u::target(Configuration::new(product));
            Product::ALL.map(target).into()
        });
        match self {
            Self::Facts | Self::Estimate | Self::Attacks => Some(registry()),
            Self::Gpus => Some(&GPU_TARGETS),
            Self::Smallest => Some(&NPUS),
            _ => None,
        }
    }

    /// The same of several files in one call, in as much `detail`, where the target is the whole path.
    ///
    /// # Panics
    /// Where a promise is broken.
    pub fn run_many(
        self,
        files: &[impl AsRef<[u8]>],
        predictor: Option<&Predictor>,
        detail: Detail,
    ) -> Cost {
        let Some(mut targets) = self.targets() else {
            let costs = files
                .iter()
                .map(|bytes| self.run(bytes.as_ref(), predictor));
            return costs.fold(Cost::default(), Cost::and);
        };
        if self == Self::Attacks && matches!(detail, Detail::Summary) {
            targets = some_of(targets, files);
        }
        let predictor = predictor.filter(|_| self == Self::Estimate);
        let file = |bytes| ModelFile {
            request: Request {
                batch: match self {
                    Self::Gpus => n_inputs(bytes),
                    _ => NonZeroU32::MIN,
                },
                ..Request::default()
            },
            ..ModelFile::new("file", bytes)
        };
        let files: Vec<ModelFile> = files.iter().map(|bytes| file(bytes.as_ref())).collect();
        cost(|| {
            let reports = estimate_in(&files, predictor, targets, detail);
            let reports = reports.expect("the shipped network runs");
            for (file, report) in files.iter().zip(&reports) {
                match (self, report) {
                    (Self::Gpus, _) => assert_swept(file),
                    (Self::Smallest, Ok(report)) => assert_smallest(file, report),
                    _ => {}
                }
            }
            reports
                .iter()
                .filter(|report| assert_result(report))
                .count()
        })
    }
}

/// A quarter of the targets, which follows from the files: further structures find more than the same ones on further targets.
fn some_of<'t>(
    targets: &'t [Box<dyn targets::Target>],
    files: &[impl AsRef<[u8]>],
) -> &'t [Box<dyn targets::Target>] {
    let n_bytes: usize = files.iter().map(|bytes| bytes.as_ref().len()).sum();
    let mut quarters = targets.chunks(targets.len().div_ceil(4).max(1));
    quarters.nth(n_bytes % quarters.len()).unwrap_or(targets)
}

fn cost(run: impl FnOnce() -> usize) -> Cost {
    let start = Clock::start();
    let (n_read, taken) = measure(run);
    Cost {
        time: start.elapsed(),
        taken,
        n_read,
    }
}

fn read(bytes: &[u8]) -> bool {
    match tflite::parse(bytes) {
        Ok(model) => {
            for subgraph_idx in 0..model.subgraphs.len() {
                let _ = graph::build(&model, subgraph_idx);
            }
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

/// A batch size that follows from a file.
fn n_inputs(bytes: &[u8]) -> NonZeroU32 {
    let n = bytes.last().map_or(1, |&byte| u32::from(byte) * 7);
    NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN)
}

/// One of `all` that follows from a file.
fn one_of<'a, T>(all: &'a [T], bytes: &[u8]) -> Option<&'a T> {
    let sum = bytes.iter().rev().take(64).map(|&byte| usize::from(byte));
    all.get(sum.sum::<usize>().checked_rem(all.len())?)
}

fn batch(bytes: &[u8]) -> bool {
    let n = n_inputs(bytes);
    if let Ok(mut model) = tflite::parse(bytes) {
        let _ = set_batch(&mut model, n);
    }
    report(bytes, n)
}

fn report(bytes: &[u8], batch: NonZeroU32) -> bool {
    let name = "file.tflite";
    let file = ModelFile {
        request: Request {
            batch,
            ..Request::default()
        },
        ..ModelFile::new(name, bytes)
    };
    assert_result(&estimate(file, None))
}

fn is_estimated_on_a_gpu(bytes: &[u8]) -> bool {
    let gpu = one_of(&GPU_TARGETS, bytes).expect("there are GPUs");
    let file = ModelFile::new("file.onnx", bytes);
    let reports = estimate_in(&[file], None, std::slice::from_ref(gpu), Detail::Full);
    let reports = reports.expect("no network runs");
    reports.iter().all(assert_result)
}

/// What every batch size on one GPU promises.
fn assert_swept(file: &ModelFile) {
    let gpu = one_of(GPUS, file.bytes).expect("there are GPUs");
    let swept = match sweep_batch(*file, &Changes::default(), gpu, gpu::Bundle::shipped()) {
        Ok(swept) => swept,
        Err(error) => return assert_message(&error.to_string(), error.kind()),
    };
    let Some(swept) = swept else { return };
    for point in &swept.points {
        let (lo, value, hi) = (point.latency_lo_ms, point.latency_ms, point.latency_hi_ms);
        assert!(lo >= 0.0 && lo <= value && value <= hi, "{point:?}");
        let others = [
            hi,
            point.throughput,
            point.memory_bytes,
            point.training_step_ms.unwrap_or_default(),
            point.training_memory_bytes,
            point.sgd_memory_bytes,
        ];
        assert!(
            others.iter().all(|n| n.is_finite() && *n >= 0.0),
            "{point:?}"
        );
    }
    let batches = || swept.points.iter().map(|point| point.batch);
    assert!(batches().is_sorted() && batches().any(|batch| batch == swept.knee_batch));
    // Less room never holds more, and training never takes less than inference.
    let fits = &swept.fits;
    assert!(
        fits.is_sorted_by_key(|fits| fits.inference_batch),
        "more room holds less\n{fits:?}"
    );
    assert!(
        fits.iter()
            .all(|fits| fits.training_batch <= fits.sgd_batch
                && fits.sgd_batch <= fits.inference_batch),
        "training takes less than inference\n{fits:?}"
    );
    serde_json::to_string(&swept).expect("a sweep is JSON");
}

/// What a search for the smallest accelerator promises, with the estimates of one accelerator as limits: at least that
/// one meets them.
fn assert_smallest(file: &ModelFile, report: &Report) {
    let candidates = sweep::candidates(report);
    let Some(wanted) = one_of(&candidates, file.bytes).cloned() else {
        return;
    };
    let held = |estimated: Estimated| estimated.hi.unwrap_or(estimated.value);
    // No one asks for 0 ms.
    let latency_ms = Some(held(wanted.latency_ms)).filter(|&limit| limit > 0.0);
    let limits = Limits {
        latency_ms,
        sram_bytes: wanted.sram_bytes.map(held),
        // Not below the accelerator's own, however the quotient of its latency is rounded.
        clock_mhz: wanted.clock_mhz * 1.000_001,
    };
    let swept = Sweep::new(candidates, limits, vec![0.01, wanted.clock_mhz]);
    let macs = |idx: usize| swept.points[idx].candidate.macs_per_cycle;
    let smallest = swept
        .smallest
        .expect("the accelerator of the limits meets them");
    assert!(swept.points[smallest].meets && macs(smallest) <= wanted.macs_per_cycle);
    assert!((0..smallest).all(|idx| !swept.points[idx].meets && macs(idx) <= macs(smallest)));
    for point in &swept.points {
        let needed_mhz = point.needed_mhz.unwrap_or_default();
        assert!(needed_mhz.is_finite() && needed_mhz >= 0.0, "{point:?}");
        for &Estimated { value, lo, hi, .. } in &point.latencies_ms {
            let ends = [lo.unwrap_or(value), value, hi.unwrap_or(value)];
            assert!(
                ends.is_sorted() && ends[0] >= 0.0 && ends[2].is_finite(),
                "{point:?}"
            );
        }
    }
    serde_json::to_string(&swept).expect("a sweep is JSON");
}

/// What a result promises; whether it is a report.
fn assert_result(result: &Result<Report, EstimateError>) -> bool {
    match result {
        Ok(report) => {
            assert_sound(report);
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

/// A message for people, and its kind for programs.
fn assert_message(message: &str, kind: &str) {
    assert!(message.len() < 4000 && !message.ends_with('.'), "{message}");
    let is_kebab = |c: char| c.is_ascii_lowercase() || c == '-';
    assert!(!kind.is_empty() && kind.chars().all(is_kebab), "{kind}");
}

/// What a report promises.
pub fn assert_sound(report: &Report) {
    for result in &report.results {
        let Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            ..
        } = &result.outcome
        else {
            continue;
        };
        let key = (&result.target, &result.metric);
        assert!(value.is_finite() && *value >= 0.0, "{key:?}: {value}");
        for end in [lo, hi].into_iter().flatten() {
            assert!(end.is_finite() && *end >= 0.0, "{key:?}: ends at {end}");
        }
        if let (Some(lo), Some(hi)) = (lo, hi) {
            assert!(lo <= value && value <= hi, "{key:?}: {lo} {value} {hi}");
        }
        for parts in operators.iter() {
            assert_eq!(parts.len(), report.operators.len(), "{key:?}");
            assert!(parts.iter().all(|part| part.is_finite()), "{key:?}");
        }
    }
    // Summaries have nothing that full reports have not.
    if report.sha256.is_some() {
        let written = serde_json::to_string(report).expect("a report is JSON");
        assert!(!written.is_empty());
    }
}

/// Bytes as a table of measurements, as [`texts::measurements`] writes it.
fn measurements(bytes: &[u8]) -> bool {
    let (&n_targets, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let names = ["a", "b", "c", "d", "e"];
    let names = &names[..usize::from(n_targets.clamp(1, texts::MAX_TARGETS))];
    let (numbers, _) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers
        .iter()
        .map(|bits| f64::from_le_bytes(*bits))
        .collect();
    let by_number = |numbers: &[f64]| -> BTreeMap<String, f64> {
        let names = names.iter().map(|&name| name.to_owned());
        names.zip(numbers.iter().copied()).collect()
    };
    let rows = numbers.chunks_exact(names.len() + 1);
    let rows: Vec<Measurement> = rows
        .map(|row| Measurement {
            estimates_ms: by_number(&row[1..]),
            measured_ms: row[0],
        })
        .collect();
    let fit = match Calibration::fit(&rows) {
        Ok(fit) => fit,
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            return false;
        }
    };
    for row in &rows {
        match fit.apply(&row.estimates_ms) {
            Ok(applied) => {
                let ends = [applied.lo_ms, applied.latency_ms, applied.hi_ms];
                assert!(
                    ends.is_sorted() && ends[0] >= 0.0 && ends[2].is_finite(),
                    "{applied:?}"
                );
            }
            Err(error) => assert_message(&error.to_string(), error.kind()),
        }
    }
    true
}

/// Bytes as a `vela.ini`: every pair of its sections on every accelerator.
fn configuration(bytes: &[u8]) -> bool {
    let ini = match VelaIni::parse(bytes) {
        Ok(ini) => ini,
        Err(error) => {
            assert_message(&error.to_string(), "ini");
            return false;
        }
    };
    static NETWORK: LazyLock<Vec<u8>> = LazyLock::new(|| Shape::Skips.file(3).write());
    let file = ModelFile::new("file", &NETWORK);
    let mut is_read = false;
    let systems = ini.system_configurations();
    let pairs = systems.flat_map(|system| ini.memory_modes().map(move |mode| (system, mode)));
    for (system, mode) in pairs {
        for product in [Product::U55x128, Product::U65x256, Product::U85x512] {
            match Configuration::read(product, &ini, system, mode) {
                Ok(configuration) => {
                    let targets = [ethos_u::target(configuration)];
                    let reports = estimate_in(&[file], None, &targets, Detail::Full);
                    is_read |= reports.iter().flatten().all(assert_result);
                }
                Err(error) => assert_message(&error.to_string(), "ini"),
            }
        }
    }
    is_read
}

/// Networks of 20 and of 2,000 operators, as `calibrate` has them.
static MEASURED_NETWORKS: LazyLock<[EstimatedNetwork; 2]> = LazyLock::new(|| {
    [20, 2_000].map(|n_operators| {
        let file = Shape::Skips.file(n_operators).write();
        let report = estimate(ModelFile::new("net.tflite", &file), None).expect("it is estimated");
        let json = serde_json::to_vec(&report).expect("a report is JSON");
        EstimatedNetwork::parse(&json).expect("it has operators")
    })
});

/// Longer files are calibrated on the large network, of shorter ones one in 32: it takes a hundred times as long.
const LONG_BYTES: usize = 20_000;

fn measured_network(bytes: &[u8]) -> &'static EstimatedNetwork {
    let [small, large] = &*MEASURED_NETWORKS;
    if bytes.len() > LONG_BYTES || bytes.len().is_multiple_of(32) {
        large
    } else {
        small
    }
}

/// The base of the stored device.
const BASE: &str = "cortex-a72-rpi4";

/// The device that one profile makes of a network, or of what is known of it.
fn is_calibrated(network: &EstimatedNetwork, profile: &Profile, known: Option<&Device>) -> bool {
    let measured = Measured {
        network,
        profile,
        profile_name: "profile.csv",
    };
    match calibrate("device", 1, &[measured], Some(BASE), known) {
        Ok(device) => {
            let json = device.to_json();
            assert_eq!(Device::parse(json.as_bytes()).as_ref(), Ok(&device));
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

fn profile(bytes: &[u8]) -> bool {
    match profiles::read(bytes, Some(100.0)) {
        Ok(profile) => {
            let operators = profile.operators.iter().map(|one| one.duration_ms);
            let mut all = operators.chain(profile.inferences.iter().map(|one| one.duration_ms));
            assert!(all.all(|ms| (0.0..=1e9).contains(&ms)));
            is_calibrated(measured_network(bytes), &profile, None)
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

fn device(bytes: &[u8]) -> bool {
    static NETWORK: LazyLock<Vec<u8>> = LazyLock::new(|| Shape::Skips.file(3).write());
    static PROFILE: LazyLock<Profile> =
        LazyLock::new(|| profiles::read(b"name,ms\nnet.tflite,5\n", None).expect("it is a table"));
    LazyLock::force(&MEASURED_NETWORKS);
    let device = match Device::parse(bytes) {
        Ok(device) => device,
        Err(error) => {
            assert_message(&error.to_string(), "device");
            return false;
        }
    };
    is_calibrated(measured_network(bytes), &PROFILE, Some(&device));
    let choice = targets::choice::Choice {
        measured_device: Some(String::from_utf8_lossy(bytes).into_owned()),
        ..targets::choice::Choice::default()
    };
    match choice.target() {
        Ok(target) => {
            let file = ModelFile::new("file", &NETWORK);
            let reports = estimate_in(&[file], None, &[target], Detail::Full);
            reports.iter().flatten().all(assert_result)
        }
        Err(error) => {
            assert_message(&error.to_string(), "device");
            false
        }
    }
}

fn stored_report(bytes: &[u8]) -> bool {
    let Ok(mut report) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return false;
    };
    match migrate(&mut report) {
        Ok(()) => {
            let migrated = report.clone();
            assert!(migrate(&mut report).is_ok() && report == migrated);
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), &error.kind);
            false
        }
    }
}

/// The bytes of a file, and what running the whole path on them took.
pub fn whole_path(file: &File, predictor: Option<&Predictor>) -> (usize, Cost) {
    let bytes = file.write();
    let cost = Target::Estimate.run(&bytes, predictor);
    (bytes.len(), cost)
}
