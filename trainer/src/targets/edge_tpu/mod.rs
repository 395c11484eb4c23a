//! Published latencies of the Edge TPU → the constants of `litecast::targets::edge_tpu`, and the error on
//! networks that they were not fitted to.

pub mod published;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::formats::tflite::op_row::Effect;
use litecast::provenance::MAX_ERROR_PERCENT;
use litecast::targets::MeasuredRange;
use litecast::targets::edge_tpu::{
    Coefficients, Constants, LeaveOneOut, LeftOutNetwork, OperatorLoad, array_ms, link_megabytes,
    loads_if_all_mapped,
};
use litecast::{
    formats::tflite,
    graph::{self, analysis},
};

use self::published::{Device, Latency, read};
use crate::least_squares::{self, ThreeSums};
use crate::metrics::five_digits;
use crate::spaces::published::{WEIGHT_SEED, network};
use crate::writer::{Precision, to_tflite};

const SOURCE: &str = "Coral's benchmark page: int8 networks on the Coral Dev Board and on a USB \
                      Accelerator at USB 3, C++ benchmark";

/// Fits the constants of the Edge TPU to published latencies.
#[derive(Clone, Debug, clap::Args)]
pub struct FitEdgetpuArgs {
    /// Table of published latencies.
    #[arg(long, default_value = "../shared/data/edgetpu_published.csv")]
    pub published: PathBuf,
    /// File for the constants.
    #[arg(long, default_value = "src/targets/edge_tpu/constants.json")]
    pub out: PathBuf,
}

/// Builds the networks, fits, prints and writes.
pub fn run(args: &FitEdgetpuArgs) -> Result<()> {
    let fitted = fit_constants(&args.published)?;
    print(&fitted);
    let text = serde_json::to_string_pretty(&fitted.constants)? + "\n";
    fs::write(&args.out, text).with_context(|| format!("could not write {}", args.out.display()))
}

/// A fit, and the samples that it was made from.
pub struct EdgeTpuFit {
    /// The fitted constants.
    pub constants: Constants,
    /// Published latencies with their estimates.
    pub samples: Vec<PublishedLatency>,
    /// Mean error on the board's networks, each left out, of a regression on multiply-accumulates, bytes of activations and
    /// bytes of weights.
    pub regression_percent: f64,
    /// Networks that the interval made without them holds, on all of their devices.
    pub n_inside: usize,
}

/// A published latency with the estimates of the model.
pub struct PublishedLatency {
    /// The published latency.
    pub latency: Latency,
    /// Amounts that the estimate is made of.
    pub load: OperatorLoad,
    /// With the constants that are fitted to all networks.
    pub fitted_ms: f64,
    /// With constants that are fitted to all other networks.
    pub left_out_ms: f64,
}

impl PublishedLatency {
    fn error_percent(&self, estimate_ms: f64) -> f64 {
        100.0 * (estimate_ms / self.latency.ms - 1.0)
    }

    /// Error in percent of the estimate with this network left out.
    pub fn left_out_percent(&self) -> f64 {
        self.error_percent(self.left_out_ms)
    }
}

/// The constants for the latencies in the table `published`.
pub fn fit_constants(published: &Path) -> Result<EdgeTpuFit> {
    ensure!(
        published.is_file(),
        "no {}: the published latencies are not part of this repository and lie in `shared/data` beside it",
        published.display()
    );
    let latencies = read(published)?;
    let mut operators = BTreeSet::new();
    // Networks are as much work on every device.
    let mut works = BTreeMap::new();
    let (mut loads, mut sums) = (Vec::new(), Vec::new());
    for latency in &latencies {
        let (load, sums_of_network) = match works.entry((&latency.network, latency.side)) {
            Entry::Occupied(work) => *work.get(),
            Entry::Vacant(work) => *work.insert(total_work(latency, &mut operators)?),
        };
        loads.push(load);
        sums.push(sums_of_network);
    }
    let rows: Vec<PublishedRow> = latencies.iter().zip(&loads).map(row).collect();
    let rows: Vec<&PublishedRow> = rows.iter().collect();
    let all = fit(&rows);
    let left_out = left_out_fits(&rows);
    let samples: Vec<PublishedLatency> = (latencies.iter().zip(&loads).zip(&rows))
        .map(|((latency, load), row)| PublishedLatency {
            latency: latency.clone(),
            load: *load,
            fitted_ms: least_squares::dot(&row.counted, &all),
            left_out_ms: least_squares::dot(&row.counted, &left_out[row.network.as_str()].costs),
        })
        .collect();
    let n_inside = networks(&rows)
        .iter()
        .filter(|network| is_inside_without_it(&rows, network))
        .count();
    let constants = constants(&all, &samples, operators, &left_out)?;
    Ok(EdgeTpuFit {
        constants,
        samples,
        regression_percent: regression_percent(&latencies, &sums),
        n_inside,
    })
}

/// A fit without one network, and the largest factor that it is off by on it.
struct LeftOutFit {
    costs: [f64; 4],
    factor: f64,
}

impl LeftOutFit {
    /// Ends of its interval of a row.
    fn ends_ms(&self, row: &PublishedRow) -> [f64; 2] {
        let ms = least_squares::dot(&row.counted, &self.costs);
        [ms / self.factor, ms * self.factor]
    }
}

fn networks<'r>(rows: &[&'r PublishedRow]) -> BTreeSet<&'r str> {
    rows.iter().map(|row| row.network.as_str()).collect()
}

/// A fit without each network.
fn left_out_fits<'r>(rows: &[&'r PublishedRow]) -> BTreeMap<&'r str, LeftOutFit> {
    let without = |network: &'r str| {
        let (own, others): (Vec<&PublishedRow>, Vec<&PublishedRow>) =
            rows.iter().partition(|row| row.network == network);
        let costs = fit(&others);
        let factor = |row: &&PublishedRow| {
            let ratio = least_squares::dot(&row.counted, &costs) / row.latency_ms;
            ratio.max(1.0 / ratio)
        };
        let factor = own.iter().map(factor).fold(1.0, f64::max);
        (network, LeftOutFit { costs, factor })
    };
    networks(rows).into_iter().map(without).collect()
}

/// Whether the interval that the other networks give holds all latencies of `network`.
fn is_inside_without_it(rows: &[&PublishedRow], network: &str) -> bool {
    let (own, others): (Vec<&PublishedRow>, Vec<&PublishedRow>) =
        rows.iter().partition(|row| row.network == network);
    let fits = left_out_fits(&others);
    own.iter().all(|row| {
        let ends = fits.values().map(|fit| fit.ends_ms(row));
        let [lo, hi] = ends.fold([f64::MAX, 0.0], |[lo, hi], end| {
            [lo.min(end[0]), hi.max(end[1])]
        });
        (lo..=hi).contains(&row.latency_ms)
    })
}

/// See [`EdgeTpuFit::regression_percent`].
fn regression_percent(latencies: &[Latency], sums: &[[f64; 3]]) -> f64 {
    let rows = latencies.iter().zip(sums);
    let rows = rows.filter(|(latency, _)| latency.device == Device::DevBoard);
    let rows: Vec<ThreeSums> = rows
        .map(|(latency, sums)| ThreeSums {
            sums: *sums,
            total: latency.ms,
            group: &latency.network,
        })
        .collect();
    let estimates = least_squares::three_sums_left_out(&rows);
    let errors = estimates.iter().zip(&rows);
    let errors = errors.map(|(ms, row)| 100.0 * (ms / row.total - 1.0).abs());
    errors.sum::<f64>() / rows.len() as f64
}

/// The load of a network, and its multiply-accumulates, bytes of activations and bytes of weights. Its operators are added
/// to `operators`.
fn total_work(
    latency: &Latency,
    operators: &mut BTreeSet<String>,
) -> Result<(OperatorLoad, [f64; 3])> {
    let Latency {
        network: name,
        side,
        ..
    } = latency;
    let network = network(name, *side)
        .with_context(|| format!("expected a network of `spaces::published`, found `{name}`"))?;
    let bytes = to_tflite(&network, WEIGHT_SEED, Precision::Int8);
    let model = tflite::parse(&bytes)?;
    let graph = graph::build(&model, 0)?;
    let codes = graph.nodes.iter().map(|node| &node.operator.code);
    let timed = codes.filter(|code| code.kind.row().effect != Effect::Renames);
    operators.extend(timed.map(|code| code.name().to_owned()));
    let analysis = analysis::analyze(&graph);
    let load = OperatorLoad::total(&loads_if_all_mapped(&graph, &analysis));
    let mut sums = [0.0; 3];
    for cost in &analysis.costs {
        let bytes = cost.input_bytes + cost.output_bytes;
        let of_operator = [cost.macs, bytes, cost.weight_bytes];
        sums = std::array::from_fn(|idx| sums[idx] + of_operator[idx] as f64);
    }
    Ok((load, sums))
}

/// Counts of a network on a device: operators, milliseconds of the array, and megabytes over the link of either device.
struct PublishedRow {
    network: String,
    counted: [f64; 4],
    latency_ms: f64,
}

/// Fits one constant for each count.
fn fit(rows: &[&PublishedRow]) -> [f64; 4] {
    let relative = rows
        .iter()
        .map(|row| row.counted.map(|n| n / row.latency_ms));
    least_squares::non_negative(&relative.collect::<Vec<_>>())
}

/// Each device has its own rate of the link. Everything on the chip takes the same time on both devices.
fn row((latency, load): (&Latency, &OperatorLoad)) -> PublishedRow {
    let megabytes = |device| {
        if device == latency.device {
            link_megabytes(load)
        } else {
            0.0
        }
    };
    PublishedRow {
        network: latency.network.clone(),
        counted: [
            load.operators as f64,
            array_ms(load),
            megabytes(Device::DevBoard),
            megabytes(Device::Usb3),
        ],
        latency_ms: latency.ms,
    }
}

/// Those of the Coral Dev Board.
fn coefficients(fitted: &[f64; 4]) -> Coefficients {
    let [
        ms_per_operator,
        cycles_per_array_cycle,
        ms_per_link_megabyte,
        _,
    ] = fitted.map(five_digits);
    Coefficients {
        ms_per_operator,
        cycles_per_array_cycle,
        ms_per_link_megabyte,
    }
}

fn constants(
    fitted: &[f64; 4],
    samples: &[PublishedLatency],
    operators: BTreeSet<String>,
    left_out: &BTreeMap<&str, LeftOutFit>,
) -> Result<Constants> {
    let on_board = samples
        .iter()
        .filter(|s| s.latency.device == Device::DevBoard);
    let mut errors: Vec<(f64, &str)> = on_board
        .map(|s| (s.left_out_percent().abs(), s.latency.network.as_str()))
        .collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = errors.len();
    let &(worst_percent, worst) = errors.last().context("expected latencies, found none")?;
    let capped = errors.iter().map(|(error, _)| error.min(MAX_ERROR_PERCENT));
    Ok(Constants {
        command: "litecast-trainer fit-edgetpu".into(),
        source: SOURCE.into(),
        n_latencies: samples.len(),
        measured_range: MeasuredRange::from_latencies(
            samples.iter().map(|sample| sample.latency.ms),
        )
        .context("expected latencies")?,
        coefficients: coefficients(fitted),
        operators,
        left_out: (left_out.iter())
            .map(|(network, fit)| LeftOutNetwork {
                network: (*network).to_owned(),
                coefficients: coefficients(&fit.costs),
                factor: five_digits(fit.factor),
            })
            .collect(),
        leave_one_out: LeaveOneOut {
            n,
            mean_percent: five_digits(capped.sum::<f64>() / n as f64),
            median_percent: five_digits((errors[n / 2].0 + errors[(n - 1) / 2].0) / 2.0),
            worst_percent: five_digits(worst_percent),
            worst: worst.into(),
            n_networks: left_out.len(),
        },
    })
}

fn print_sample(sample: &PublishedLatency) {
    let PublishedLatency {
        latency,
        load,
        fitted_ms,
        left_out_ms,
    } = sample;
    let beside = |ms: f64| format!("{ms:7.2} ({:+3.0} %)", sample.error_percent(ms));
    println!(
        "{:24} {:5} {:9} {:9} {:9.2} {:9.2} {:9.2} {:9.1} {:>15} {:>15}",
        latency.network,
        latency.side,
        latency.device.id(),
        load.operators,
        array_ms(load),
        load.parameter_bytes as f64 / 1e6,
        link_megabytes(load),
        latency.ms,
        beside(*fitted_ms),
        beside(*left_out_ms),
    );
}

fn print(fitted: &EdgeTpuFit) {
    let Constants {
        coefficients,
        leave_one_out,
        n_latencies,
        ..
    } = &fitted.constants;
    println!(
        "fitted to {n_latencies} latencies of {} networks",
        leave_one_out.n_networks
    );
    println!("  {:.4} ms an operator", coefficients.ms_per_operator);
    println!(
        "  {:.4} cycles for one of the array",
        coefficients.cycles_per_array_cycle
    );
    println!(
        "  {:.4} ms a megabyte over the board's link",
        coefficients.ms_per_link_megabyte
    );
    println!(
        "{:24} {:>5} {:9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>15} {:>15}",
        "network",
        "side",
        "device",
        "operators",
        "array ms",
        "cache MB",
        "link MB",
        "published",
        "fitted",
        "left out"
    );
    for sample in &fitted.samples {
        print_sample(sample);
    }
    println!(
        "left out, Coral Dev Board: {} networks, mean error {:.1} %, median {:.1} %, worst {:.1} % ({})",
        leave_one_out.n,
        leave_one_out.mean_percent,
        leave_one_out.median_percent,
        leave_one_out.worst_percent,
        leave_one_out.worst,
    );
    println!(
        "a regression on three sums: {:.1} %",
        fitted.regression_percent
    );
    println!(
        "interval: of {} networks, the one made without it holds {}",
        leave_one_out.n_networks, fitted.n_inside
    );
}
