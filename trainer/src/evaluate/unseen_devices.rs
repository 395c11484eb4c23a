//! `litecast-trainer evaluate-unseen-devices`: processors of ncnn's table, none of which anything was fitted to; devices that
//! are made of a few whole latencies estimate networks of other families.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use litecast::calibration::{
    Calibration, Device, EstimatedNetwork, MIN_MEASUREMENTS, Measured, Measurement, calibrate,
    next_measurements,
};
use litecast::profiles::{MeasuredInference, Profile};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::profiles::{Errors, latencies_ms, processors, report_on};
use crate::markdown::{Head, table};

/// Estimates networks on processors that nothing was fitted to, from a few of their latencies.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateUnseenDevicesArgs {
    /// Folder with the files of `../shared/data/accelerators/ncnn_param.zip`, in which the input of FastestDet, whose sizes the file
    /// leaves open, has those of the table: ` 0=352 1=352 2=3` at the end of its line.
    #[arg(long)]
    pub graphs: PathBuf,
    /// Folder of the published measurements.
    #[arg(long, default_value = "../shared/data/accelerators")]
    pub measurements: PathBuf,
    /// Draws for each device.
    #[arg(long, default_value_t = 3)]
    pub seeds: u64,
    /// File that the Markdown is written to.
    #[arg(long, default_value = "trainer/results/unseen-devices.md")]
    pub out: PathBuf,
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
/// Numbers of measured networks.
const N_MEASURED: [usize; 4] = [1, 3, 5, 10];
/// A device with fewer networks is left out.
const MIN_NETWORKS: usize = 18;

struct Network {
    name: String,
    family: usize,
    network: EstimatedNetwork,
    estimates_ms: BTreeMap<String, f64>,
}

/// Milliseconds by network, of one run of the benchmark on one thread.
type Latencies = BTreeMap<String, f64>;

/// Ways to estimate, in the order of their rows.
const WAYS: [&str; 3] = ["random", "chosen", "line through random ones"];

/// Runs the subcommand. Fails if a file is missing, or the result cannot be written.
pub fn run(args: &EvaluateUnseenDevicesArgs) -> Result<()> {
    let networks = networks(&args.graphs)?;
    let devices = devices(&args.measurements, &networks)?;
    ensure!(!devices.is_empty(), "expected devices, found none");
    let mut rows = Vec::new();
    for n in N_MEASURED {
        let draws: Vec<(&Latencies, u64)> = devices
            .values()
            .flat_map(|device| (0..args.seeds).map(move |seed| (device, seed)))
            .collect();
        let results: Vec<[Option<Answers>; 3]> = draws
            .par_iter()
            .map(|(device, seed)| draw(&networks, device, n, *seed))
            .collect::<Result<_>>()?;
        for (way, name) in WAYS.iter().enumerate() {
            let mut errors = Errors::default();
            for answers in results.iter().filter_map(|ways| ways[way].as_ref()) {
                errors.add(&answers.measured_ms, &answers.estimates);
            }
            if !errors.is_empty() {
                rows.push([vec![n.to_string(), (*name).to_owned()], errors.words()].concat());
            }
        }
    }
    let mut heads = vec![Head::number("networks"), Head::text("measured")];
    heads.extend(["median", "mean", "Spearman", "inside", "half width"].map(Head::number));
    let text = format!(
        "# Devices that nothing was fitted to\n\n{} processors of ncnn's table on one thread, {} networks of {} families in \
         float32 (ncnn uses 16-bit floats where a processor has them). {} seeds for each device: {N_ASKED_FAMILIES} \
         families are asked for, and whole latencies of the others are measured, drawn at random or each chosen by what \
         `litecast calibrate --next` says. Errors are absolute, in percent, over all devices, seeds and networks; Spearman \
         is the mean over draws; inside is the share of measurements within the interval, before that is \
         widened beyond the measured latencies. The estimates of no processor were fitted to ncnn. Written by `litecast-trainer \
         evaluate-unseen-devices`.\n\n{}",
        devices.len(),
        networks.len(),
        FAMILIES.len(),
        args.seeds,
        table(&heads, rows),
    );
    fs::write(&args.out, &text).with_context(|| args.out.display().to_string())?;
    print!("{text}");
    Ok(())
}

fn networks(graphs: &Path) -> Result<Vec<Network>> {
    let processors = processors();
    let mut networks = Vec::new();
    for (family, names) in FAMILIES.iter().enumerate() {
        for name in *names {
            let path = graphs.join(format!("{name}.param"));
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            let report = report_on(name, &bytes, &processors)?;
            let network = EstimatedNetwork::parse(&serde_json::to_vec(&report)?)
                .map_err(anyhow::Error::msg)?;
            networks.push(Network {
                name: (*name).to_owned(),
                family,
                estimates_ms: latencies_ms(&report),
                network,
            });
        }
    }
    Ok(networks)
}

/// Runs on one thread of a processor with most of the networks, by what tells them apart.
fn devices(measurements: &Path, networks: &[Network]) -> Result<BTreeMap<String, Latencies>> {
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

/// Measured latencies and what was estimated: value and both ends.
struct Answers {
    measured_ms: Vec<f64>,
    estimates: Vec<[f64; 3]>,
}

fn draw(
    networks: &[Network],
    device: &Latencies,
    n: usize,
    seed: u64,
) -> Result<[Option<Answers>; 3]> {
    let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
    let mut families: Vec<usize> = (0..FAMILIES.len()).collect();
    families.shuffle(&mut random);
    let (asked, others) = families.split_at(N_ASKED_FAMILIES);
    let of = |families: &[usize]| -> Vec<&Network> {
        let all = networks.iter().filter(|one| device.contains_key(&one.name));
        all.filter(|one| families.contains(&one.family)).collect()
    };
    let (asked, mut pool) = (of(asked), of(others));
    pool.shuffle(&mut random);
    if pool.len() < n || asked.is_empty() {
        return Ok([None, None, None]);
    }
    let measured_ms: Vec<f64> = asked.iter().map(|one| device[&one.name]).collect();
    let answers = |estimates| Answers {
        measured_ms: measured_ms.clone(),
        estimates,
    };
    let random = made_of(&pool[..n], device)?;
    let chosen = chosen(&pool, device, n)?;
    let line = (n >= MIN_MEASUREMENTS)
        .then(|| line(&pool[..n], device, &asked))
        .transpose()?;
    Ok([
        Some(answers(estimates(&random, &asked)?)),
        Some(answers(estimates(&chosen, &asked)?)),
        line.map(answers),
    ])
}

/// The device of whole latencies.
fn made_of(measured: &[&Network], device: &Latencies) -> Result<Device> {
    let profiles: Vec<Profile> = measured
        .iter()
        .map(|one| Profile {
            tool: "ncnn",
            inferences: vec![MeasuredInference {
                name: String::new(),
                duration_ms: device[&one.name],
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
            profile_name: "benchncnn.txt",
        })
        .collect();
    Ok(calibrate("device", 1, &measured, None, None)?)
}

/// The first network is the first of the pool, each further one that which narrows the intervals of the pool most.
fn chosen(pool: &[&Network], device: &Latencies, n: usize) -> Result<Device> {
    let all: Vec<EstimatedNetwork> = pool.iter().map(|one| one.network.clone()).collect();
    let mut measured = vec![pool[0]];
    loop {
        let made = made_of(&measured, device)?;
        if measured.len() == n {
            return Ok(made);
        }
        let next = next_measurements(&made, &all, false)?;
        let first = next.first().context("the pool has more networks")?;
        measured.push(pool[first.network_idx]);
    }
}

fn estimates(device: &Device, asked: &[&Network]) -> Result<Vec<[f64; 3]>> {
    let estimates = asked.iter().map(|one| {
        let plan = one.network.plan(&device.base);
        let interval = plan.and_then(|plan| device.interval(&plan, None));
        let (ms, half_width) = interval.context("a device has a latency")?;
        Ok([ms, ms * (-half_width).exp(), ms * half_width.exp()])
    });
    estimates.collect()
}

fn line(measured: &[&Network], device: &Latencies, asked: &[&Network]) -> Result<Vec<[f64; 3]>> {
    let measurements = measured.iter().map(|one| Measurement {
        estimates_ms: one.estimates_ms.clone(),
        measured_ms: device[&one.name],
    });
    let line = Calibration::fit(&measurements.collect::<Vec<_>>())?;
    let estimates = asked.iter().map(|one| {
        let calibrated = line.apply(&one.estimates_ms)?;
        Ok([calibrated.latency_ms, calibrated.lo_ms, calibrated.hi_ms])
    });
    estimates.collect()
}
