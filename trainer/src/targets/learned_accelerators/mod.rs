//! What others measured of accelerators without published rules → the constants of `litecast::targets::learned_accelerators`, and their
//! errors on families of networks that were left out.

mod boards;
mod elsewhere;
mod evaluate;
mod families;
mod final_errors;
mod final_families;
mod measured;
mod physics;
mod qualcomm;
mod source;
mod tables;
mod unseen;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use litecast::target::MeasuredRange;
use litecast::target::fitted::{Bundle, Correction, Errors, Mode, Run};
use litecast::targets::learned_accelerators::devices::{
    DEVICES, Device, NumberFormat, Runtime, run_id,
};
use litecast::targets::learned_accelerators::work::{N_TERMS, NAMES};

use self::boards::{Graphs, TABLES, Table};
use self::elsewhere::MeasuredElsewhere;
use self::evaluate::{LeftOut, Widths, errors, left_out, nested_left_out, widen, widths};
use self::final_errors::FinalErrors;
use self::final_families::is_final;
use self::measured::{Measured, Measurement};
use self::physics::{Physics, Way};
use self::source::Source;
use self::tables::{by_device, by_family, by_part, counts, device_errors, refusals};
use crate::metrics::five_digits;

/// A device is offered if its median error is at most this share of that of a regression on three sums.
const MAX_SHARE_OF_REGRESSION: f64 = 0.8;
/// Of boards, whose few families do not tell how errors grow far from them: ten times.
const MAX_HALF_WIDTH: f64 = std::f64::consts::LN_10;
/// Fewer networks do not tell an error.
const MIN_NETWORKS: usize = 10;

/// Fits the constants of accelerators to published measurements.
#[derive(Clone, Debug, clap::Args)]
pub struct FitAcceleratorsArgs {
    /// Folder of published measurements.
    #[arg(long, default_value = "../shared/data/accelerators")]
    pub measured: PathBuf,
    /// Whose devices are fitted; the constants of others stay as they are.
    #[arg(long, value_delimiter = ',', default_value = "qualcomm,boards")]
    pub sources: Vec<Source>,
    /// Folder with the files of qualcomm_onnx.zip, which is beside the measurements.
    #[arg(long)]
    pub graphs: Option<PathBuf>,
    /// Graphs of the networks of all other makers.
    #[arg(long, default_value = "trainer/data/accelerators/graphs.parquet")]
    pub board_graphs: PathBuf,
    /// File for the constants.
    #[arg(long, default_value = "bundle/accelerators.json")]
    pub out: PathBuf,
    /// Print how many times longer refused rows take than the fit says, and write nothing.
    #[arg(long)]
    pub refusals: bool,
    /// Print the errors on devices of which a few rows are known, and write nothing.
    #[arg(long)]
    pub unseen: bool,
    /// Evaluate the final families and write their errors. Nothing that a fit depends on may be chosen by them.
    #[arg(long = "final")]
    pub is_final: bool,
    /// File with the errors on the final families; a table is written beside it.
    #[arg(long, default_value = "trainer/results/final/accelerators.json")]
    pub final_errors: PathBuf,
}

/// Fits, prints the errors as Markdown, and writes.
pub fn run(args: &FitAcceleratorsArgs) -> Result<()> {
    let graphs = Graphs::read(&args.board_graphs)?;
    let mut runs = Vec::new();
    if args.out.is_file() {
        runs = Bundle::parse(&fs::read(&args.out)?, &NAMES)?.runs;
        runs.retain(|run| !args.sources.iter().any(|source| source.has(run)));
    }
    let mut finals = if args.is_final {
        FinalErrors::new()?
    } else {
        FinalErrors::read(&args.final_errors)?
    };
    let mut tables_of_finals = Vec::new();
    for source in &args.sources {
        let read = |is_asked: &dyn Fn(&str) -> bool| {
            source.read(&args.measured, args.graphs.as_deref(), &graphs, is_asked)
        };
        let open = read(&|family| !is_final(family))?;
        if args.refusals {
            print!("{}", refusals(&open));
            continue;
        }
        if args.unseen {
            if *source == Source::Qualcomm {
                print!("{}", unseen::tables(&open)?);
            }
            continue;
        }
        println!("{}\n", counts(&open));
        let open_left = nested_left_out(&open);
        print_errors(&open, &open_left);
        let all = read(&|_| true)?;
        if args.is_final {
            let open_widths = widths(&left_out(&open, evaluate::N_FOLDS, |_| true));
            tables_of_finals.push(finals.evaluate(*source, &all, &open_widths));
        }
        let left = nested_left_out(&all);
        println!(
            "What ships, which is fitted to the final families as well, each family left out in turn:\n"
        );
        print_errors(&all, &left);
        let elsewhere = MeasuredElsewhere::new(&left);
        println!("{}", elsewhere.table());
        let stated = |numbers, left| finals.stated(*source, numbers, left);
        runs.extend(fitted(&all, &left, &elsewhere, &stated));
    }
    if args.refusals || args.unseen {
        return Ok(());
    }
    if args.is_final {
        finals.write(&args.final_errors)?;
        let text = tables_of_finals.join("\n");
        print!("{text}");
        let path = args.final_errors.with_extension("md");
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    runs.sort_by_key(|run| {
        let is_of = |device: &Device| run.target.split('@').next() == Some(device.id);
        DEVICES.iter().position(is_of)
    });
    println!("{} runs", runs.len());
    let bundle = Bundle {
        costs: NAMES.map(str::to_owned).to_vec(),
        runs,
    };
    fs::write(&args.out, serde_json::to_string(&bundle)? + "\n")
        .with_context(|| format!("could not write {}", args.out.display()))
}

/// Whether the fit is worth offering where it left these out.
fn is_offered(left: &[&LeftOut]) -> bool {
    let [ours, regression] = errors(left);
    ours.median_percent <= MAX_SHARE_OF_REGRESSION * regression.median_percent
}

fn print_errors(measured: &Measured, left: &[LeftOut]) {
    print!("{}", by_part(left));
    println!("\n{}", by_family(left));
    println!("{}", by_device(measured, left));
}

/// The constants by all networks of a maker's tables, with widths by all families left out: by those that are not final
/// alone, they would be too small for kinds of networks that only final families have. What is offered, the errors decide
/// with all families left out in turn.
fn fitted(
    all: &Measured,
    left: &[LeftOut],
    elsewhere: &MeasuredElsewhere,
    stated: &dyn Fn(NumberFormat, [Errors; 2]) -> [Errors; 2],
) -> Vec<Run> {
    let physics = Physics::fit(all, |_| true);
    let widths = widths(&left_out(all, evaluate::N_FOLDS, |_| true));
    let mut runs = Vec::new();
    for device in DEVICES {
        let Some(device_idx) = all.devices.iter().position(|id| *id == device.id) else {
            continue;
        };
        let of_device = device_errors(left, device_idx);
        if !is_offered(&of_device) {
            println!("{} is not offered", device.id);
            continue;
        }
        for numbers in 0..NumberFormat::ALL.len() {
            let of_numbers = of_device.iter().filter(|one| one.row.numbers == numbers);
            let of_numbers: Vec<&LeftOut> = of_numbers.copied().collect();
            if !is_offered(&of_numbers) {
                println!(
                    "{} is not offered on {}",
                    NumberFormat::ALL[numbers].id(),
                    device.id
                );
                continue;
            }
            for runtime in 0..Runtime::ALL.len() {
                let is_of = |row: &Measurement| {
                    (row.device, row.runtime, row.numbers) == (device_idx, runtime, numbers)
                };
                let left: Vec<&LeftOut> = left.iter().filter(|one| is_of(one.row)).collect();
                let networks: BTreeSet<usize> = left.iter().map(|one| one.row.network).collect();
                if networks.len() < MIN_NETWORKS {
                    continue;
                }
                let rows = all.rows.iter().filter(|row| is_of(row)).collect();
                let errors = stated(NumberFormat::ALL[numbers], errors(&left));
                runs.extend(run_of(all, &physics, rows, errors, &widths).map(|run| Run {
                    target: run_id(device.id, Runtime::ALL[runtime], NumberFormat::ALL[numbers]),
                    elsewhere: elsewhere.of(runtime, numbers),
                    ..run
                }));
            }
        }
    }
    runs
}

/// The run of some rows of one device, with the errors of the estimates and of the regression; `None` if no row is kept.
fn run_of(
    measured: &Measured,
    physics: &Physics,
    rows: Vec<&Measurement>,
    [ours, regression]: [Errors; 2],
    widths: &Widths,
) -> Option<Run> {
    let kept: Vec<&&Measurement> = rows.iter().filter(|row| row.refused.is_none()).collect();
    let networks: BTreeSet<usize> = kept.iter().map(|row| row.network).collect();
    let families: BTreeSet<&str> = kept.iter().map(|row| measured.family(row)).collect();
    let first = kept.first()?;
    let costs = physics.costs(Way::from_row(first)).map(five_digits);
    let mut max_shares = [0.0; N_TERMS];
    for row in &kept {
        widen(&mut max_shares, measured.amounts(row), &costs);
    }
    let runtime = Runtime::ALL[first.runtime];
    let of_device: Vec<&Table> = (TABLES.iter())
        .filter(|table| table.has(measured.devices[first.device]))
        .collect();
    let laboratories: Vec<&str> = of_device.iter().map(|table| table.laboratory).collect();
    let (laboratory, version) = match of_device.first() {
        Some(table) => (laboratories.join(" and "), table.version),
        None => (qualcomm::LABORATORY.to_owned(), qualcomm::version(runtime)),
    };
    Some(Run {
        target: String::new(),
        mode: Mode::Inference,
        framework: format!("{} ({version})", runtime.words()),
        laboratory,
        scaled_by: None,
        n_networks: networks.len(),
        n_families: families.len(),
        measured_range: MeasuredRange::from_latencies(kept.iter().map(|row| row.ms))?,
        batches: [1.0; 2],
        costs_ms: costs.to_vec(),
        correction: Correction {
            half_width: widths[first.numbers].map(five_digits),
            max_half_width: (!runtime.is_of_hexagon()).then_some(MAX_HALF_WIDTH),
            ..Correction::default()
        },
        errors: Errors {
            mean_percent: five_digits(ours.mean_percent),
            family_mean_percent: five_digits(ours.family_mean_percent),
            median_percent: five_digits(ours.median_percent),
            p95_percent: five_digits(ours.p95_percent),
            coverage_percent: five_digits(ours.coverage_percent),
        },
        are_errors_of_others: false,
        regression_percent: Some(five_digits(regression.median_percent)),
        refused_percent: Some(five_digits(
            100.0 - 100.0 * kept.len() as f64 / rows.len() as f64,
        )),
        max_shares: max_shares.map(five_digits).to_vec(),
        elsewhere: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Readers and counts decide what a network's work is, and constants hold for the work that they were fitted to: by run, the
    /// largest share of the time that each cost has in a measured network is the one that was stored with the constants.
    #[test]
    fn shipped_constants_are_of_the_work_that_is_counted() {
        let (Some(measured), Some(python)) = (
            litecast_needs::shared("data/accelerators"),
            litecast_needs::python("zipfile"),
        ) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let unpacked = Command::new(python)
            .args(["-m", "zipfile", "-e"])
            .args([&measured.join("qualcomm_onnx.zip"), folder.path()])
            .status();
        assert!(unpacked.unwrap().success());
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let graphs = Graphs::read(&root.join("data/accelerators/graphs.parquet")).unwrap();
        let shipped = fs::read(root.join("../bundle/accelerators.json")).unwrap();
        let shipped = Bundle::parse(&shipped, &NAMES).unwrap();
        let sources = [Source::Qualcomm, Source::Boards].map(|source| {
            let onnx = Some(folder.path());
            source.read(&measured, onnx, &graphs, |_| true).unwrap()
        });
        let mut n_runs = 0;
        for run in &shipped.runs {
            let mut expected = [0.0; N_TERMS];
            for source in &sources {
                for row in source.kept() {
                    let id = run_id(
                        source.devices[row.device],
                        Runtime::ALL[row.runtime],
                        NumberFormat::ALL[row.numbers],
                    );
                    if id == run.target {
                        widen(&mut expected, source.amounts(row), &run.costs_ms);
                    }
                }
            }
            for ((name, expected), stored) in NAMES.iter().zip(expected).zip(&run.max_shares) {
                assert!(
                    (expected - stored).abs() <= 1e-4,
                    "{}, {name}: {expected} of the time of a network, {stored} in the constants",
                    run.target
                );
            }
            n_runs += 1;
        }
        println!("{n_runs} runs");
        assert!(n_runs > 100);
    }
}
