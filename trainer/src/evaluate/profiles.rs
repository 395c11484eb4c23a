//! `litecast-trainer evaluate-profiles`: networks are profiled with ONNX Runtime on this machine; devices that are made of
//! a few of the profiles estimate networks of other families.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use litecast::calibration::{
    self, Calibration, Device, EstimatedNetwork, Measured, Measurement, calibrate,
};
use litecast::estimate::{EstimateAs, estimate_on};
use litecast::profiles::{self, Profile};
use litecast::report::{OperatorFacts, Report};
use litecast::targets::measured_device::{Class, operator_class, stride_h};
use litecast::targets::{Target, known};
use litecast::{Choice, Metric, ModelFile, Outcome};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::estimate_errors::Errors;
use crate::markdown::{Head, table};

/// Profiles networks with ONNX Runtime, and estimates those of other families from a few of the profiles.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateProfilesArgs {
    /// Folder of ONNX files without weights, as `../shared/data/accelerators/qualcomm_onnx.zip` has them.
    #[arg(long)]
    pub graphs: PathBuf,
    /// Folder that the profiles are written to. Those that are there are not made again.
    #[arg(long)]
    pub profiles: PathBuf,
    /// Python with onnx and onnxruntime.
    #[arg(long, default_value = ".venv/bin/python")]
    pub python: PathBuf,
    /// Draws of measured networks for each number of them.
    #[arg(long, default_value_t = 30)]
    pub draws: u64,
    /// Seed of the draws.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// File that the Markdown is written to.
    #[arg(long, default_value = "trainer/results/profiles.md")]
    pub out: PathBuf,
}

/// Networks by family: none of a measured network's family is asked for.
const FAMILIES: [&[&str]; 20] = [
    &[
        "mobilenet_v2",
        "mnasnet05",
        "mobilenet_v3_large",
        "mobilenet_v4",
        "deeplabv3_plus_mobilenet",
        "hfnet",
    ],
    &["resnet18", "resnext50", "regnet"],
    &["vit", "beit"],
    &["squeezenet1_1"],
    &["shufflenet_v2"],
    &["efficientformer"],
    &["levit"],
    &["mobile_vit"],
    &["face_det_lite", "facemap_3dmm", "gear_guard_net"],
    &["sesr_m5", "quicksrnetsmall", "xlsr"],
    &[
        "minilm_v2",
        "distil_bert_base_uncased_hf",
        "albert_base_v2_hf",
    ],
    &["pointnet"],
    &["superpoint"],
    &["yolov8_det", "yolov5", "yolov3"],
    &["swin_tiny"],
    &["sinet"],
    &["ddrnet23_slim"],
    &["repvit"],
    &["unet_segmentation"],
    &["pidnet"],
];

/// Numbers of measured networks.
const N_MEASURED: [usize; 4] = [1, 3, 5, 10];
/// Networks of other families that are asked for, at most.
const N_ASKED: usize = 20;

struct ProfiledNetwork {
    name: String,
    family: usize,
    bytes: Vec<u8>,
    network: EstimatedNetwork,
    estimates_ms: BTreeMap<String, f64>,
    profile: Profile,
    measured_ms: f64,
}

/// Runs the subcommand. Fails if Python or a file is missing, or a result cannot be written.
pub fn run(args: &EvaluateProfilesArgs) -> Result<()> {
    make_profiles(args)?;
    let samples = samples(args)?;
    ensure!(
        samples.len() > N_ASKED,
        "expected more than {N_ASKED} profiles, found {}",
        samples.len()
    );
    let rows = rows_by_count(args, &samples)?;
    let mut heads = vec![Head::number("networks"), Head::text("measured as")];
    heads.extend(["median", "mean", "Spearman", "inside", "half width"].map(Head::number));
    let differences = differences(&samples)?;
    let text = format!(
        "# Devices from profiles\n\n{} networks of {} families, profiled with ONNX Runtime on one thread of one machine. \
         {} draws of measured networks; at most {N_ASKED} networks of other families are asked for. Errors are absolute, in \
         percent; inside is the share of measurements within the interval, which promises 90 % from three networks on. \
         Written by `litecast-trainer evaluate-profiles`.\n\n{}\n\
         Root mean square of the logarithm of the ratio between a known processor and the one that is most similar to \
         it, by class of kernels, after a common scale for each network, in float32 and int8:\n\n{}",
        samples.len(),
        FAMILIES
            .iter()
            .filter(|family| samples.iter().any(|one| family.contains(&&*one.name)))
            .count(),
        args.draws,
        table(&heads, rows),
        table(
            &[Head::text("class"), Head::number("difference")],
            differences
        ),
    );
    fs::write(&args.out, &text).with_context(|| args.out.display().to_string())?;
    print!("{text}");
    Ok(())
}

/// Errors by number of measured networks, for each way to measure them.
fn rows_by_count(
    args: &EvaluateProfilesArgs,
    samples: &[ProfiledNetwork],
) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for n in N_MEASURED {
        let mut ways: [Errors; 3] = Default::default();
        for draw in 0..args.draws {
            let mut random = ChaCha8Rng::seed_from_u64(args.seed * 1000 + draw);
            let mut order: Vec<&ProfiledNetwork> = samples.iter().collect();
            order.shuffle(&mut random);
            let measured: Vec<&ProfiledNetwork> = order[..n].to_vec();
            let is_other =
                |sample: &&&ProfiledNetwork| measured.iter().all(|one| one.family != sample.family);
            let asked: Vec<&ProfiledNetwork> = order[n..]
                .iter()
                .filter(is_other)
                .take(N_ASKED)
                .copied()
                .collect();
            let measured_ms: Vec<f64> = asked.iter().map(|one| one.measured_ms).collect();
            ways[0].add(&measured_ms, &from_device(&measured, &asked, true)?);
            ways[1].add(&measured_ms, &from_device(&measured, &asked, false)?);
            if n >= calibration::MIN_MEASUREMENTS {
                ways[2].add(&measured_ms, &from_line(&measured, &asked)?);
            }
        }
        for (way, errors) in [
            "operator profiles",
            "whole latencies",
            "line through whole latencies",
        ]
        .iter()
        .zip(&mut ways)
        {
            if !errors.is_empty() {
                rows.push([vec![n.to_string(), (*way).to_owned()], errors.words()].concat());
            }
        }
    }
    Ok(rows)
}

fn make_profiles(args: &EvaluateProfilesArgs) -> Result<()> {
    fs::create_dir_all(&args.profiles)?;
    let names = FAMILIES.iter().flat_map(|family| family.iter());
    let status = Command::new(&args.python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("python/profile_onnx.py"))
        .args([&args.graphs, &args.profiles])
        .args(names)
        .status()
        .with_context(|| args.python.display().to_string())?;
    ensure!(status.success(), "profile_onnx.py failed: {status}");
    Ok(())
}

pub(super) fn processors() -> Vec<Box<dyn Target>> {
    known()
        .filter(|target| target.description().family.id == "processors")
        .collect()
}

/// The networks that have a profile.
fn samples(args: &EvaluateProfilesArgs) -> Result<Vec<ProfiledNetwork>> {
    let processors = processors();
    let mut samples = Vec::new();
    for (family, names) in FAMILIES.iter().enumerate() {
        for name in *names {
            let path = args.profiles.join(format!("{name}.json"));
            let Ok(text) = fs::read(&path) else { continue };
            let profile =
                profiles::read(&text, None).with_context(|| path.display().to_string())?;
            let bytes = fs::read(args.graphs.join(format!("{name}.onnx")))?;
            let report = report_on(name, &bytes, &processors)?;
            let measured_ms = profile
                .inferences
                .last()
                .context("ONNX Runtime profiles whole runs")?
                .duration_ms;
            let network = EstimatedNetwork::parse(&serde_json::to_vec(&report)?)
                .map_err(anyhow::Error::msg)?;
            samples.push(ProfiledNetwork {
                name: (*name).to_owned(),
                family,
                estimates_ms: latencies_ms(&report),
                bytes,
                network,
                profile,
                measured_ms,
            });
        }
    }
    Ok(samples)
}

pub(super) fn report_on(name: &str, bytes: &[u8], targets: &[Box<dyn Target>]) -> Result<Report> {
    let reports = estimate_on(&[ModelFile::new(name, bytes)], None, targets)?;
    let report = reports
        .into_iter()
        .next()
        .context("every file has a result")?;
    report.with_context(|| name.to_owned())
}

pub(super) fn latencies_ms(report: &Report) -> BTreeMap<String, f64> {
    let latencies = report
        .results
        .iter()
        .filter(|result| result.metric == Metric::Latency);
    let latencies = latencies.filter_map(|result| match &result.outcome {
        Outcome::Estimate { value, .. } => Some((result.target.clone(), *value)),
        Outcome::Unavailable { .. } => None,
    });
    latencies.collect()
}

/// A class that takes less of a network's time tells nothing of it.
const MIN_SHARE: f64 = 0.01;

/// Differences between known processors by class, as rows of a table.
fn differences(samples: &[ProfiledNetwork]) -> Result<Vec<Vec<String>>> {
    let processors = processors();
    let mut squares: BTreeMap<Class, Vec<f64>> = BTreeMap::new();
    for estimate_as in [EstimateAs::AsIs, EstimateAs::Int8] {
        let mut by_target: BTreeMap<String, Vec<BTreeMap<Class, f64>>> = BTreeMap::new();
        for sample in samples {
            for (target, parts) in parts_by_class(sample, estimate_as, &processors)? {
                by_target.entry(target).or_default().push(parts);
            }
        }
        by_target.retain(|_, networks| networks.len() == samples.len());
        for (target, networks) in &by_target {
            let others = by_target.iter().filter(|(other, _)| *other != target);
            let of_pairs = others.map(|(_, others)| logarithms(networks, others));
            let mean = |logarithms: &Vec<(Class, f64)>| {
                logarithms.iter().map(|(_, one)| one * one).sum::<f64>()
                    / logarithms.len().max(1) as f64
            };
            let nearest = of_pairs.min_by(|a, b| mean(a).total_cmp(&mean(b)));
            for (class, logarithm) in nearest.into_iter().flatten() {
                squares
                    .entry(class)
                    .or_default()
                    .push(logarithm * logarithm);
            }
        }
    }
    let row = |(class, squares): (Class, Vec<f64>)| {
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        vec![class.words().to_owned(), format!("{:.2}", mean.sqrt())]
    };
    Ok(squares.into_iter().map(row).collect())
}

/// Milliseconds of each class on each processor.
fn parts_by_class(
    sample: &ProfiledNetwork,
    estimate_as: EstimateAs,
    processors: &[Box<dyn Target>],
) -> Result<Vec<(String, BTreeMap<Class, f64>)>> {
    let mut file = ModelFile::new(&sample.name, &sample.bytes);
    file.request.estimate_as = estimate_as;
    let reports = estimate_on(&[file], None, processors)?;
    let report = reports
        .into_iter()
        .next()
        .context("every file has a result")??;
    let weights_shape = |operator: &OperatorFacts| {
        let weights = operator.inputs.get(1).copied().flatten()?;
        report
            .tensors
            .get(weights)
            .map(|tensor| tensor.shape.as_slice())
    };
    let classes = report
        .operators
        .iter()
        .map(|one| operator_class(&one.name, weights_shape(one), stride_h(&one.attributes)));
    let classes: Vec<Class> = classes.collect();
    let latencies = report
        .results
        .iter()
        .filter_map(|result| match &result.outcome {
            Outcome::Estimate {
                operators: Some(parts),
                ..
            } if result.metric == Metric::Latency => {
                let mut sums = BTreeMap::new();
                for (class, part) in classes.iter().zip(parts) {
                    *sums.entry(*class).or_default() += part;
                }
                Some((result.target.clone(), sums))
            }
            _ => None,
        });
    Ok(latencies.collect())
}

/// Of the ratio of each class of each network, less that of the whole network.
fn logarithms(
    networks: &[BTreeMap<Class, f64>],
    others: &[BTreeMap<Class, f64>],
) -> Vec<(Class, f64)> {
    let mut logarithms = Vec::new();
    for (network, other) in networks.iter().zip(others) {
        let [sum, other_sum] = [network, other].map(|parts| parts.values().sum::<f64>());
        for (class, part) in network.iter().filter(|(_, part)| **part > MIN_SHARE * sum) {
            if let Some(other_part) = other.get(class).filter(|part| **part > 0.0) {
                logarithms.push((*class, (part / other_part).ln() - (sum / other_sum).ln()));
            }
        }
    }
    logarithms
}

/// Estimate and ends of the interval of each asked network.
fn from_device(
    measured: &[&ProfiledNetwork],
    asked: &[&ProfiledNetwork],
    with_operators: bool,
) -> Result<Vec<[f64; 3]>> {
    let whole = |sample: &&ProfiledNetwork| Profile {
        operators: Vec::new(),
        ..sample.profile.clone()
    };
    let wholes: Vec<Profile> = measured.iter().map(whole).collect();
    let measured = measured
        .iter()
        .zip(&wholes)
        .map(|(sample, whole)| Measured {
            network: &sample.network,
            profile: if with_operators {
                &sample.profile
            } else {
                whole
            },
            profile_name: "profile.json",
        });
    let measured: Vec<Measured> = measured.collect();
    let device: Device = calibrate("device", 1, &measured, None, None)?;
    let choice = Choice {
        measured_device: Some(device.to_json()),
        ..Choice::default()
    };
    let targets = [choice.target()?];
    let estimates = asked.iter().map(|sample| {
        let report = report_on(&sample.name, &sample.bytes, &targets)?;
        match &report
            .results
            .first()
            .context("a device has a latency")?
            .outcome
        {
            Outcome::Estimate {
                value,
                lo: Some(lo),
                hi: Some(hi),
                ..
            } => Ok([*value, *lo, *hi]),
            outcome => anyhow::bail!("{}: {outcome:?}", sample.name),
        }
    });
    estimates.collect()
}

fn from_line(measured: &[&ProfiledNetwork], asked: &[&ProfiledNetwork]) -> Result<Vec<[f64; 3]>> {
    let measurements = measured.iter().map(|sample| Measurement {
        estimates_ms: sample.estimates_ms.clone(),
        measured_ms: sample.measured_ms,
    });
    let line = Calibration::fit(&measurements.collect::<Vec<_>>())?;
    let estimates = asked.iter().map(|sample| {
        let calibrated = line.apply(&sample.estimates_ms)?;
        Ok([calibrated.latency_ms, calibrated.lo_ms, calibrated.hi_ms])
    });
    estimates.collect()
}
