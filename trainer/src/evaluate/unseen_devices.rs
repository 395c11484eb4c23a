//! `litecast-trainer evaluate-unseen-devices`: processors of ncnn's table and phones that ran NAS-Bench-201, none of which
//! anything was fitted to; devices that are made of a few whole latencies estimate other networks. Also writes what ncnn's
//! processors have in common.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use litecast::calibration::{
    Calibration, Device, EstimatedNetwork, MIN_MEASUREMENTS, Measured, Measurement, Prior,
    calibrate_from, next_measurements,
};
use litecast::profiles::{MeasuredInference, Profile};
use litecast::targets::Target;
use litecast::targets::measured_device::Fit;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::device_prior::{prior_of, whole_latencies};
use super::profiles::{latencies_ms, processors, report_on};
use crate::estimate_errors::Errors;
use crate::markdown::{Head, table};
use crate::targets::cortex_a::boards::measurements::{Source, help_copies, read_device};
use crate::targets::cortex_a::boards::rebuild::{self, DEPLOYMENTS};

/// Estimates networks on devices that nothing was fitted to, from a few of their latencies.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateUnseenDevicesArgs {
    /// Folder with the files of `accelerators/ncnn_param.zip`, in which the input of FastestDet, whose sizes the file
    /// leaves open, has those of the table: ` 0=352 1=352 2=3` at the end of its line.
    #[arg(long)]
    pub graphs: PathBuf,
    /// Folder of the published measurements.
    #[arg(long, default_value = "../shared/data")]
    pub measurements: PathBuf,
    /// Draws for each device.
    #[arg(long, default_value_t = 3)]
    pub seeds: u64,
    /// File that the Markdown is written to.
    #[arg(long, default_value = "trainer/results/unseen-devices.md")]
    pub out: PathBuf,
    /// File that the prior of devices with ncnn is written to.
    #[arg(long, default_value = "src/targets/measured_device/ncnn.json")]
    pub prior: PathBuf,
}

/// Networks of float32 by family.
const FAMILIES: [&[&str]; 15] = [
    &["squeezenet", "squeezenet_ssd"],
    &["mobilenet", "mobilenet_ssd", "mobilenet_yolo"],
    &["mobilenet_v2", "mobilenetv2_yolov3"],
    &["mobilenet_v3"],
    &["shufflenet"],
    &["shufflenet_v2"],
    &["mnasnet"],
    &["efficientnet_b0"],
    &["blazeface"],
    &["googlenet"],
    &["resnet18"],
    &["alexnet"],
    &["vgg16"],
    &["yolov4-tiny"],
    &["yolo-fastestv2", "FastestDet"],
];

/// Families that are asked for; the others can be measured.
const N_ASKED_FAMILIES: usize = 5;
/// A device with fewer networks is left out.
const MIN_NETWORKS: usize = 18;
/// Numbers of measured networks; ncnn's table has too few for more.
const N_MEASURED: [usize; 5] = [0, 1, 3, 5, 10];
/// The target that ncnn's processors are compared with.
const BASE: &str = "cortex-a72-rpi4";

/// Phones that ran NAS-Bench-201: name, source and task. The Raspberry Pis of the tables are targets, and not unseen.
const PHONES: [(&str, Source, &str); 6] = [
    ("Pixel phone", Source::HwNasBench360("pixel"), "cifar100"),
    ("Pixel 2", Source::Help("pixel2"), "cifar10"),
    ("Pixel 3", Source::Help("pixel3"), "cifar10"),
    ("Galaxy A50", Source::Help("samsung_a50"), "cifar10"),
    ("Galaxy S7", Source::Help("samsung_s7"), "cifar10"),
    ("Essential PH-1", Source::Help("essential_ph_1"), "cifar10"),
];
const N_ASKED_CELLS: usize = 100;
/// Cells that can be measured.
const N_POOL: usize = 40;
const N_MEASURED_CELLS: [usize; 6] = [0, 1, 3, 5, 10, 20];
/// The target whose estimate counts for a phone without a measurement.
const PHONE_BASE: &str = "cortex-a76-rpi5";

struct DeviceNetwork {
    name: String,
    family: usize,
    network: EstimatedNetwork,
    estimates_ms: BTreeMap<String, f64>,
}

/// Milliseconds by network, of one run of the benchmark on one thread.
type Latencies = BTreeMap<String, f64>;

/// Networks that are asked for, and networks that can be measured in the order of a draw.
struct Draw<'n> {
    /// Target that a prior of other devices is of, and whose estimates are shown beside.
    base: &'static str,
    device: &'n Latencies,
    asked: Vec<&'n DeviceNetwork>,
    pool: Vec<&'n DeviceNetwork>,
}

/// Measured latencies and what was estimated: value and both ends.
struct MeasuredAndEstimated {
    measured_ms: Vec<f64>,
    estimates: Vec<[f64; 3]>,
}

/// A way to estimate, in the order of the rows.
type Rows = BTreeMap<(usize, usize, &'static str), Errors>;

/// Runs the subcommand. Fails if a file is missing, or a result cannot be written.
pub fn run(args: &EvaluateUnseenDevicesArgs) -> Result<()> {
    let processors = processors();
    let (of_ncnn, n_devices) = ncnn(args, &processors)?;
    let of_phones = phones(args, &processors)?;
    let text = format!(
        "# Devices that nothing was fitted to\n\nErrors are absolute, in percent, over all devices, seeds and networks; within 10 % \
         and 25 % are shares of networks; Spearman is the mean over draws; inside is the share of measurements within the \
         interval, before that is widened beyond the measured latencies. {} seeds for each device. Written by \
         `litecast-trainer evaluate-unseen-devices`.\n\n## ncnn\n\n{n_devices} processors of ncnn's table on one thread, {} networks \
         of {} families in float32 (ncnn uses 16-bit floats where a processor has them). {N_ASKED_FAMILIES} families are asked \
         for, and whole latencies of the others are measured, drawn at random or each chosen by what `litecast calibrate --next` \
         says. The prior is that of the other processors: on all networks, or on those alone whose families are not asked for. \
         `any runtime` is the prior without ncnn. The simplest method is the estimate of {BASE} times one factor.\n\n{}\n## \
         NAS-Bench-201\n\n{} phones, {N_ASKED_CELLS} cells each that are asked for, in float32. Measured cells are others. \
         Cells whose graph is that of another cell are left out: HELP measured them too, and its readings of one graph differ. \
         Latencies of four phones were published in whole milliseconds. The prior is that of any runtime or, with *other phones \
         known*, that of the five others. The simplest method is the estimate of {PHONE_BASE} times one factor.\n\n{}",
        args.seeds,
        FAMILIES.iter().map(|family| family.len()).sum::<usize>(),
        FAMILIES.len(),
        of_rows(of_ncnn),
        PHONES.len(),
        of_rows(of_phones),
    );
    fs::write(&args.out, &text).with_context(|| args.out.display().to_string())?;
    print!("{text}");
    Ok(())
}

fn of_rows(rows: Rows) -> String {
    let mut heads = vec![Head::number("networks"), Head::text("method")];
    let numbers = [
        "median",
        "mean",
        "within 10 %",
        "within 25 %",
        "Spearman",
        "inside",
        "half width",
    ];
    heads.extend(numbers.map(Head::number));
    let rows = rows.into_iter().map(|((n, _, way), mut errors)| {
        let mut words = errors.words();
        let shares = [10.0, 25.0].map(|percent| errors.share_within(percent));
        words.splice(2..2, shares);
        [vec![n.to_string(), way.to_owned()], words].concat()
    });
    table(&heads, rows)
}

/// Adds what a way estimates to its rows.
fn add(rows: &mut Rows, key: (usize, usize, &'static str), answers: &MeasuredAndEstimated) {
    let errors = rows.entry(key).or_default();
    errors.add(&answers.measured_ms, &answers.estimates);
}

fn ncnn(args: &EvaluateUnseenDevicesArgs, processors: &[Box<dyn Target>]) -> Result<(Rows, usize)> {
    let networks = networks(&args.graphs, processors)?;
    let devices = devices(&args.measurements.join("accelerators"), &networks)?;
    ensure!(!devices.is_empty(), "expected devices, found none");
    let all = prior_without(&networks, &devices, "", &[])?;
    let numbers: Vec<f64> = all
        .numbers()
        .iter()
        .map(|one| (one * 1e4).round() / 1e4)
        .collect();
    let source = format!(
        "{} processors, {} networks in float32",
        devices.len(),
        networks.len()
    );
    let json = serde_json::to_string(&("ncnn", BASE, source, numbers))? + "\n";
    fs::write(&args.prior, json).with_context(|| args.prior.display().to_string())?;
    let draws: Vec<(&String, u64)> = devices
        .keys()
        .flat_map(|device| (0..args.seeds).map(move |seed| (device, seed)))
        .collect();
    let answers = draws
        .par_iter()
        .map(|(device, seed)| drawn(&networks, &devices, device, *seed));
    let answers: Vec<Vec<_>> = answers.collect::<Result<_>>()?;
    let mut rows = Rows::new();
    for (key, one) in answers.iter().flatten() {
        add(&mut rows, *key, one);
    }
    Ok((rows, devices.len()))
}

/// What every way estimates of the families that one draw asks for.
fn drawn(
    networks: &[DeviceNetwork],
    devices: &BTreeMap<String, Latencies>,
    device: &str,
    seed: u64,
) -> Result<Answered> {
    let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
    let mut families: Vec<usize> = (0..FAMILIES.len()).collect();
    families.shuffle(&mut random);
    let (asked, others) = families.split_at(N_ASKED_FAMILIES);
    let latencies = &devices[device];
    let networks_of = |families: &[usize]| -> Vec<&DeviceNetwork> {
        let all = networks
            .iter()
            .filter(|one| latencies.contains_key(&one.name));
        all.filter(|one| families.contains(&one.family)).collect()
    };
    let mut draw = Draw {
        base: BASE,
        device: latencies,
        asked: networks_of(asked),
        pool: networks_of(others),
    };
    draw.pool.shuffle(&mut random);
    let mut answers = Answered::new();
    for (priors, prior) in [
        (
            ["random", "chosen"],
            Some(prior_without(networks, devices, device, &[])?),
        ),
        (
            ["random, families unseen", "chosen, families unseen"],
            Some(prior_without(networks, devices, device, asked)?),
        ),
        (["random, any runtime", "chosen, any runtime"], None),
    ] {
        answers.extend(draw.devices(prior.as_ref(), priors, &N_MEASURED)?);
    }
    answers.extend(draw.lines(&N_MEASURED)?);
    Ok(answers)
}

/// The prior of all devices without one, and without the networks of some families. Runs of one device on several kinds of
/// cores count as one.
fn prior_without(
    networks: &[DeviceNetwork],
    devices: &BTreeMap<String, Latencies>,
    device: &str,
    families: &[usize],
) -> Result<Prior> {
    let name = |key: &str| key.split('|').next().unwrap_or_default().to_owned();
    let others = devices.iter().filter(|(key, _)| name(key) != name(device));
    let measured = others.map(|(_, latencies)| {
        let known = networks
            .iter()
            .filter(|one| !families.contains(&one.family));
        let known = known.filter_map(|one| Some((&one.network, *latencies.get(&one.name)?)));
        whole_latencies(BASE, known)
    });
    Ok(prior_of(&measured.collect::<Result<Vec<_>>>()?))
}

fn networks(graphs: &Path, processors: &[Box<dyn Target>]) -> Result<Vec<DeviceNetwork>> {
    let mut networks = Vec::new();
    for (family, names) in FAMILIES.iter().enumerate() {
        for name in *names {
            let path = graphs.join(format!("{name}.param"));
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            networks.push(DeviceNetwork::new(name, family, &bytes, processors)?);
        }
    }
    Ok(networks)
}

/// Runs on one thread of a processor with most of the networks, by what tells them apart.
fn devices(measurements: &Path, networks: &[DeviceNetwork]) -> Result<BTreeMap<String, Latencies>> {
    let path = measurements.join("ncnn.csv.gz");
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    let mut devices: BTreeMap<String, Latencies> = BTreeMap::new();
    for record in reader.deserialize() {
        let record: BTreeMap<String, String> = record?;
        let text = |name: &str| record.get(name).map_or("", String::as_str);
        let is_known = networks
            .iter()
            .any(|network| network.name == text("network"));
        let is_cpu = text("compute") == "cpu" && text("threads") == "1";
        if !is_known || !is_cpu || text("precision") == "int8" {
            continue;
        }
        let device = ["device", "section", "powersave", "run_line"]
            .map(text)
            .join("|");
        let ms: f64 = text("avg_ms").parse()?;
        if ms > 0.0 {
            devices
                .entry(device)
                .or_default()
                .insert(text("network").to_owned(), ms);
        }
    }
    devices.retain(|_, latencies| latencies.len() >= MIN_NETWORKS);
    Ok(devices)
}

fn phones(args: &EvaluateUnseenDevicesArgs, processors: &[Box<dyn Target>]) -> Result<Rows> {
    let mut networks: BTreeMap<(String, &str), DeviceNetwork> = BTreeMap::new();
    let mut latencies: Vec<Latencies> = Vec::new();
    let copies = help_copies(&args.measurements)?;
    for (_, source, task) in PHONES {
        let mut measured = read_device(&args.measurements, source)?;
        measured.retain(|(arch, _), _| !copies.contains(arch));
        let deployment = DEPLOYMENTS.iter().find(|one| one.task == task);
        let deployment = deployment.context("every task is deployed")?;
        let mut of_phone = Latencies::new();
        for graph in rebuild::draw(&measured, N_ASKED_CELLS + N_POOL, 1) {
            let value = measured.get(&(graph.arch.clone(), task.to_owned()));
            let value = value.context("a drawn graph was measured")?;
            of_phone.insert(graph.arch.clone(), value.latency_ms);
            if let Entry::Vacant(place) = networks.entry((graph.arch.clone(), task)) {
                let bytes = graph.to_tflite(deployment);
                place.insert(DeviceNetwork::new(&graph.arch, 0, &bytes, processors)?);
            }
        }
        latencies.push(of_phone);
    }
    let mut rows = Rows::new();
    for (phone, (_, _, task)) in PHONES.iter().enumerate() {
        let others = (0..PHONES.len()).filter(|other| *other != phone);
        let measured = others.map(|other| {
            let known = latencies[other].iter();
            let known =
                known.map(|(arch, ms)| (&networks[&(arch.clone(), PHONES[other].2)].network, *ms));
            whole_latencies(PHONE_BASE, known)
        });
        let of_others = prior_of(&measured.collect::<Result<Vec<_>>>()?);
        for seed in 0..args.seeds {
            let mut all: Vec<&DeviceNetwork> = latencies[phone]
                .keys()
                .map(|arch| &networks[&(arch.clone(), *task)])
                .collect();
            all.shuffle(&mut ChaCha8Rng::seed_from_u64(1000 + seed));
            let (asked, pool) = all.split_at(N_ASKED_CELLS);
            let draw = Draw {
                base: PHONE_BASE,
                device: &latencies[phone],
                asked: asked.to_vec(),
                pool: pool.to_vec(),
            };
            let mut answers = Answered::new();
            for (prior, ways) in [
                (
                    Some(&of_others),
                    ["random, other phones known", "chosen, other phones known"],
                ),
                (None, ["random", "chosen"]),
            ] {
                answers.extend(draw.devices(prior, ways, &N_MEASURED_CELLS)?);
            }
            answers.extend(draw.lines(&N_MEASURED_CELLS)?);
            for (key, one) in &answers {
                add(&mut rows, *key, one);
            }
        }
    }
    Ok(rows)
}

impl DeviceNetwork {
    fn new(
        name: &str,
        family: usize,
        bytes: &[u8],
        processors: &[Box<dyn Target>],
    ) -> Result<Self> {
        let report = report_on(name, bytes, processors)?;
        let network =
            EstimatedNetwork::parse(&serde_json::to_vec(&report)?).map_err(anyhow::Error::msg)?;
        Ok(Self {
            name: name.to_owned(),
            family,
            estimates_ms: latencies_ms(&report),
            network,
        })
    }
}

/// MeasuredAndEstimated by the number of measured networks, the place of the row among those of that number, and the way.
type Answered = Vec<((usize, usize, &'static str), MeasuredAndEstimated)>;

impl Draw<'_> {
    fn answers(&self, estimates: Vec<[f64; 3]>) -> MeasuredAndEstimated {
        let asked = self.asked.iter();
        MeasuredAndEstimated {
            measured_ms: asked.map(|one| self.device[&one.name]).collect(),
            estimates,
        }
    }

    /// Devices of measured networks, drawn and chosen, from a prior or that of any runtime. Without a measurement the prior
    /// alone tells.
    fn devices(
        &self,
        prior: Option<&Prior>,
        ways: [&'static str; 2],
        n_measured: &[usize],
    ) -> Result<Answered> {
        let mut answered = Vec::new();
        let mut chosen: Vec<&DeviceNetwork> = self.pool[..1].to_vec();
        for &n in n_measured.iter().filter(|n| **n <= self.pool.len()) {
            if n == 0 {
                let Some(prior) = prior else { continue };
                let fit = Fit::new(&[], prior);
                let estimates = self.asked.iter().map(|one| {
                    let kernels = Prior::kernels("ncnn", self.base);
                    let plan = one.network.plan(self.base, kernels);
                    let plan = plan.context("a base has parts")?;
                    let (ms, variance) = fit
                        .estimate(plan.whole())
                        .context("a network has operators")?;
                    let half_width = 1.645 * variance.sqrt();
                    Ok([ms, ms * (-half_width).exp(), ms * half_width.exp()])
                });
                let estimates = estimates.collect::<Result<_>>()?;
                answered.push(((0, place(ways[0]), ways[0]), self.answers(estimates)));
                continue;
            }
            let random = self.device_from_latencies(prior, &self.pool[..n])?;
            let all: Vec<EstimatedNetwork> =
                self.pool.iter().map(|one| one.network.clone()).collect();
            while chosen.len() < n {
                let made = self.device_from_latencies(prior, &chosen)?;
                let next = next_measurements(&made, &all, false)?;
                let first = next.first().context("the pool has more networks")?;
                chosen.push(self.pool[first.network_idx]);
            }
            let chosen = self.device_from_latencies(prior, &chosen)?;
            for (way, device) in ways.into_iter().zip([random, chosen]) {
                answered.push(((n, place(way), way), self.answers(self.estimates(&device)?)));
            }
        }
        Ok(answered)
    }

    /// The device of whole latencies.
    fn device_from_latencies(
        &self,
        prior: Option<&Prior>,
        measured: &[&DeviceNetwork],
    ) -> Result<Device> {
        let profiles: Vec<Profile> = measured
            .iter()
            .map(|one| Profile {
                tool: if prior.is_some() { "ncnn" } else { "a table" },
                inferences: vec![MeasuredInference {
                    name: String::new(),
                    duration_ms: self.device[&one.name],
                }],
                ..Profile::default()
            })
            .collect();
        let measured: Vec<Measured> = measured
            .iter()
            .zip(&profiles)
            .map(|(one, profile)| Measured {
                network: &one.network,
                profile,
                profile_name: "latency.csv",
            })
            .collect();
        let base = prior.map(|_| self.base);
        Ok(calibrate_from(prior, "device", 1, &measured, base, None)?)
    }

    fn estimates(&self, device: &Device) -> Result<Vec<[f64; 3]>> {
        let estimates = self.asked.iter().map(|one| {
            let plan = one.network.plan_of(device);
            let interval = plan.and_then(|plan| device.interval(&plan, None));
            let (ms, half_width) = interval.context("a device has a latency")?;
            Ok([ms, ms * (-half_width).exp(), ms * half_width.exp()])
        });
        estimates.collect()
    }

    /// The line through random networks, and one factor on a target.
    fn lines(&self, n_measured: &[usize]) -> Result<Answered> {
        let base = self.base;
        let mut answered = Vec::new();
        for &n in n_measured.iter().filter(|n| **n <= self.pool.len()) {
            let measured = &self.pool[..n];
            let logarithms = measured
                .iter()
                .map(|one| (self.device[&one.name] / one.estimates_ms[base]).ln());
            let factor = (logarithms.sum::<f64>() / n.max(1) as f64).exp();
            let of_factor = self
                .asked
                .iter()
                .map(|one| [factor * one.estimates_ms[base]; 3]);
            let way = "one factor";
            answered.push(((n, place(way), way), self.answers(of_factor.collect())));
            if n < MIN_MEASUREMENTS {
                continue;
            }
            let measurements = measured.iter().map(|one| Measurement {
                estimates_ms: one.estimates_ms.clone(),
                measured_ms: self.device[&one.name],
            });
            let line = Calibration::fit(&measurements.collect::<Vec<_>>())?;
            let estimates = self.asked.iter().map(|one| {
                let calibrated = line.apply(&one.estimates_ms)?;
                Ok([calibrated.latency_ms, calibrated.lo_ms, calibrated.hi_ms])
            });
            let estimates = estimates.collect::<Result<_>>()?;
            let way = "line through random ones";
            answered.push(((n, place(way), way), self.answers(estimates)));
        }
        Ok(answered)
    }
}

/// Place of a way among the rows of a number of networks.
fn place(way: &str) -> usize {
    let order = [
        "random",
        "chosen",
        "random, families unseen",
        "chosen, families unseen",
        "random, any runtime",
        "chosen, any runtime",
        "random, other phones known",
        "chosen, other phones known",
        "line through random ones",
        "one factor",
    ];
    order.iter().position(|one| *one == way).unwrap_or_default()
}
