//! `litecast-trainer fit-mcu`: measured latencies and energies of microcontrollers → the constants of
//! `litecast::targets::cortex_m`, and their errors on networks, families and boards that they were not
//! fitted to.

mod columns;
mod evaluate;
mod final_errors;
mod fit;
mod measured;
mod nested;
mod report;
mod st_memory;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::targets::MeasuredRange;
use litecast::targets::cortex_m::{
    Constants, CoreConversion, Energy, Program, Release, Runtime, Target, operator_counts,
};

use self::columns::{
    ESP_FLASH, ESP_NN, NEURAL_ART, NEURAL_ART_PRIORS, ST_EDGE_AI, ST_EDGE_AI_PRIORS, TFLITE_MICRO,
};
use self::evaluate::{Evaluation, LeftOut};
use self::final_errors::FinalErrors;
use self::fit::{CountedRow, Factors, Fit, Model};
use self::measured::{
    Comparison, Folders, Measurement, STM32_M7_CACHE_BYTES, STM32H747_FLASH_BYTES,
};
use self::report::FittedTargets;
pub use self::st_memory::{EvaluateStMemoryArgs, run as evaluate_st_memory};
use crate::json;
use crate::metrics::five_digits;

/// Fits the constants of microcontrollers to measured boards.
#[derive(Clone, Debug, clap::Args)]
pub struct FitMcuArgs {
    /// Folder of the measured tables and of the networks that they are of.
    #[arg(long, default_value = "../shared")]
    pub shared: PathBuf,
    /// File for the constants.
    #[arg(long, default_value = "src/targets/cortex_m/constants.json")]
    pub out: PathBuf,
    /// File for the errors.
    #[arg(long, default_value = "trainer/results/mcu.md")]
    pub results: PathBuf,
    /// Evaluate the final families and write their errors. Nothing that a fit depends on may be chosen by them.
    #[arg(long = "final")]
    pub is_final: bool,
    /// File with the errors on the final families.
    #[arg(long, default_value = "trainer/results/final/mcu.json")]
    pub final_errors: PathBuf,
}

/// Fits, evaluates, prints and writes.
pub fn run(args: &FitMcuArgs) -> Result<()> {
    let folders = Folders::new(&args.shared);
    ensure!(
        folders.tables.join("mcu").is_dir(),
        "no {}: the measured tables are not part of this repository and lie in `shared/data` beside it",
        folders.tables.join("mcu").display()
    );
    let rows = rows(measured::read(&folders)?)?;
    if args.is_final {
        let models: Vec<&Model> = MODELS.iter().map(|(model, ..)| model).collect();
        final_errors::evaluate(&models, &rows, &args.final_errors)?;
    }
    let stated = FinalErrors::read(&args.final_errors)?;
    let fitted = fit_targets(&folders, &rows, &stated)?;
    let text = report::markdown(&fitted);
    println!("{}", report::rows(&fitted));
    println!("{text}");
    let constants = json(&fitted.constants)?;
    for (path, text) in [(&args.out, constants), (&args.results, text)] {
        fs::write(path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// `constants.json`, with a line for each field of a runtime or target.
pub fn json(constants: &Constants) -> Result<String> {
    json::lines(constants, 3)
}

fn rows(measurements: Vec<Measurement>) -> Result<Vec<CountedRow>> {
    measurements.into_iter().map(row).collect()
}

fn row(measured: Measurement) -> Result<CountedRow> {
    let read = || format!("could not read {}", measured.network);
    let bytes = measured.source.read()?;
    let model = tflite::parse(&bytes).with_context(read)?;
    let graph = graph::build(&model, 0).with_context(read)?;
    let mut operators = operator_counts(&graph, &analysis::analyze(&graph), &measured.program);
    if let Some(operator) = &measured.operator {
        operators.retain(|counts| counts.operator.name() == operator);
    }
    Ok(CountedRow::new(measured, operators))
}

/// Runtimes, with the name and the reference processor of each.
const MODELS: &[(Model, &str, &str)] = &[
    (
        Model {
            runtime: "st-edge-ai",
            columns: ST_EDGE_AI,
            known: &[],
            priors: ST_EDGE_AI_PRIORS,
            factors: Factors::CoreAndRelease,
            reference: "cortex-m7",
        },
        "ST Edge AI Core (Cube.AI)",
        "Cortex-M7, Cube.AI 8.1",
    ),
    (
        Model {
            runtime: "tflite-micro",
            columns: TFLITE_MICRO,
            known: &[],
            priors: &[],
            factors: Factors::Board,
            reference: "Arduino Nano 33 BLE",
        },
        "TensorFlow Lite Micro with CMSIS-NN",
        "Cortex-M4, Arduino Nano 33 BLE",
    ),
    (
        Model {
            runtime: "esp-nn",
            columns: ESP_NN,
            known: ESP_FLASH,
            priors: &[],
            factors: Factors::None,
            reference: "",
        },
        "TensorFlow Lite Micro with ESP-NN",
        "ESP32",
    ),
    (
        Model {
            runtime: "neural-art",
            columns: NEURAL_ART,
            known: &[],
            priors: NEURAL_ART_PRIORS,
            factors: Factors::None,
            reference: "",
        },
        "ST Edge AI Core on the Neural-ART NPU",
        "STM32N6, NPU at 1 GHz",
    ),
];

/// A release of ST Edge AI that can be chosen.
struct OfferedRelease {
    id: &'static str,
    version: &'static str,
    /// [`Measurement::version`] of its latencies.
    measured: &'static [&'static str],
    is_made_for_time: bool,
    drops_dead_channels: bool,
}

const fn release(
    [id, version]: [&'static str; 2],
    measured: &'static [&'static str],
    is_made_for_time: bool,
) -> OfferedRelease {
    OfferedRelease {
        id,
        version,
        measured,
        is_made_for_time,
        drops_dead_channels: id.as_bytes()[0] != b'7',
    }
}

const RELEASES: &[OfferedRelease] = &[
    release(["7", "7.3"], &["7.3", "7"], false),
    release(["7-time", "7.3 with -O time"], &["7.3", "7"], true),
    release(["8", "8.1"], &["8.1"], false),
    release(["8-time", "8.1 with -O time"], &["8.1"], true),
    release(["9", "9.0"], &["9.0"], false),
    release(["9-time", "9.0 with -O time"], &["9.0"], true),
    release(["10", "10.0"], &["10.0", "10.2"], false),
    release(["10-time", "10.2 with -O time"], &["10.0", "10.2"], true),
];

impl OfferedRelease {
    /// Its factor by a fit, and the errors of its latencies by core.
    fn fitted_release(&self, model: &Model, fit: &Fit, evaluation: &Evaluation) -> Release {
        let is_of_target = |left: &&LeftOut| {
            let measured = &left.row.measured;
            self.measured.contains(&measured.version.as_str())
                && self.is_made_for_time == measured.is_made_for_time
        };
        let of_release: Vec<&LeftOut> = evaluation.left_out.iter().filter(is_of_target).collect();
        let cores: BTreeSet<&str> = of_release
            .iter()
            .map(|left| left.row.measured.core)
            .collect();
        let of_core = |core: &str| {
            let left_out: Vec<&LeftOut> = of_release
                .iter()
                .copied()
                .filter(|left| left.row.measured.core == core)
                .collect();
            (core.to_owned(), evaluate::core_errors(&left_out))
        };
        let on_reference = Measurement {
            core: model.reference,
            version: self
                .version
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
            is_made_for_time: self.is_made_for_time,
            ..Measurement::unmeasured(model.runtime)
        };
        Release {
            id: self.id.to_owned(),
            version: self.version.to_owned(),
            cycles_factor: five_digits(model.factor(fit, &on_reference)),
            drops_dead_channels: self.drops_dead_channels,
            cores: cores.into_iter().map(of_core).collect(),
        }
    }
}

/// A target of `constants.json`.
struct Offer {
    target: &'static str,
    device: &'static str,
    core: &'static str,
    runtime: &'static str,
    version: &'static str,
    clock_mhz: f64,
    has_other_clocks: bool,
    on_chip_bytes: Option<u64>,
    cache_bytes: Option<u64>,
    flash_bytes: Option<u64>,
    /// Boards whose geometric mean is the target's factor; empty if cores and releases have factors.
    boards: &'static [&'static str],
    /// Whether ST Edge AI compiles the target's programs with `-O time`.
    is_made_for_time: bool,
    /// Present if energies of the board were measured.
    supply: Option<Supply>,
    /// Present if the core was never measured under this runtime: a measured core, and a runtime that was measured on
    /// both.
    core_conversion: Option<Comparison>,
}

/// How a board's core is supplied.
#[derive(Clone, Copy)]
struct Supply {
    /// At which its power was measured.
    volts: f64,
    /// Behind a linear regulator, instead of a step-down converter.
    is_linear: bool,
}

/// What most targets have.
const ORDINARY: Offer = Offer {
    target: "",
    device: "",
    core: "",
    runtime: "",
    version: "",
    clock_mhz: 0.0,
    has_other_clocks: true,
    on_chip_bytes: None,
    cache_bytes: None,
    flash_bytes: None,
    boards: &[],
    is_made_for_time: false,
    supply: None,
    core_conversion: None,
};

const OFFERS: &[Offer] = &[
    Offer {
        target: "cortex-m7-stm32h747",
        device: "STM32H747I-DISCO, Cortex-M7",
        core: "cortex-m7",
        runtime: "st-edge-ai",
        version: "10.0",
        clock_mhz: 400.0,
        on_chip_bytes: Some(512 << 10),
        cache_bytes: Some(STM32_M7_CACHE_BYTES),
        flash_bytes: Some(STM32H747_FLASH_BYTES),
        ..ORDINARY
    },
    Offer {
        target: "cortex-m33-stm32u585",
        device: "B-U585I-IOT02A, Cortex-M33",
        core: "cortex-m33",
        runtime: "st-edge-ai",
        version: "10.0",
        clock_mhz: 160.0,
        ..ORDINARY
    },
    Offer {
        target: "cortex-m33-stm32u385",
        device: "NUCLEO-U385RG-Q, Cortex-M33",
        core: "cortex-m33",
        runtime: "st-edge-ai",
        version: "10.2",
        clock_mhz: 96.0,
        is_made_for_time: true,
        supply: Some(Supply {
            volts: 1.8,
            is_linear: false,
        }),
        ..ORDINARY
    },
    Offer {
        target: "cortex-m4-stm32l4r5",
        device: "NUCLEO-L4R5ZI, Cortex-M4",
        core: "cortex-m4",
        runtime: "st-edge-ai",
        version: "10.2",
        clock_mhz: 120.0,
        is_made_for_time: true,
        supply: Some(Supply {
            volts: 1.8,
            is_linear: true,
        }),
        ..ORDINARY
    },
    Offer {
        target: "cortex-m7-tflm",
        device: "i.MX RT1050 and RT1170, Cortex-M7",
        core: "cortex-m7",
        runtime: "tflite-micro",
        version: "2024",
        clock_mhz: 600.0,
        boards: &["i.MX RT1050", "i.MX RT1170"],
        ..ORDINARY
    },
    Offer {
        target: "cortex-m33-tflm",
        device: "EK-RA6M4 and FRDM-MCXN947, Cortex-M33",
        core: "cortex-m33",
        runtime: "tflite-micro",
        version: "2022 to 2024",
        clock_mhz: 200.0,
        boards: &["EK-RA6M4", "MCX N947"],
        supply: Some(Supply {
            volts: 3.0,
            is_linear: true,
        }),
        ..ORDINARY
    },
    Offer {
        target: "cortex-m4-tflm",
        device: "Arduino Nano 33 BLE, Cortex-M4",
        core: "cortex-m4",
        runtime: "tflite-micro",
        version: "2026",
        clock_mhz: 64.0,
        boards: &["Arduino Nano 33 BLE"],
        ..ORDINARY
    },
    Offer {
        target: "cortex-m0plus-tflm",
        device: "Cortex-M0+",
        core: "cortex-m0plus",
        runtime: "tflite-micro",
        version: "2026",
        clock_mhz: 64.0,
        boards: &["Arduino Nano 33 BLE"],
        core_conversion: Some(Comparison {
            measured_core: "cortex-m4",
            common_runtime: "Bosch's HALE",
            submitter: "bosch",
            systems: &[
                ("1.1", ["NUCLEO_G0B1RE", "NUCLEO_L4R5ZI"]),
                ("1.2", ["NUCLEO_G0B1RE_int8", "NUCLEO_L4R5ZI_int8"]),
            ],
        }),
        ..ORDINARY
    },
    Offer {
        target: "esp32-tflm",
        device: "ESP32 DevKit, one Xtensa LX6 core",
        core: "xtensa-lx6",
        runtime: "esp-nn",
        version: "2026",
        clock_mhz: 240.0,
        ..ORDINARY
    },
    Offer {
        target: "stm32n6",
        device: "STM32N6570-DK, Neural-ART NPU",
        core: "neural-art",
        runtime: "neural-art",
        version: "2.0",
        clock_mhz: 1000.0,
        has_other_clocks: false,
        ..ORDINARY
    },
];

impl Offer {
    /// The release, and the option that it was made with unless that is the default.
    fn version_in_words(&self) -> String {
        if self.is_made_for_time {
            format!("{} with -O time", self.version)
        } else {
            self.version.into()
        }
    }

    fn program(&self) -> Program {
        Program {
            drops_dead_channels: matches!(self.runtime, "st-edge-ai" | "neural-art"),
            on_chip_bytes: self.on_chip_bytes,
            cache_bytes: self.cache_bytes,
            flash_bytes: self.flash_bytes,
        }
    }

    /// A measurement with the factors of this target.
    fn measured(&self) -> Measurement {
        Measurement {
            core: self.core,
            version: self.version.to_owned(),
            is_made_for_time: self.is_made_for_time,
            clock_mhz: self.clock_mhz,
            ..Measurement::unmeasured(self.runtime)
        }
    }

    /// The release that it describes, of ST Edge AI on a core.
    fn release(&self) -> Option<&'static OfferedRelease> {
        let mut releases = RELEASES.iter();
        let is_own = |release: &&OfferedRelease| {
            release.measured.contains(&self.version)
                && release.is_made_for_time == self.is_made_for_time
        };
        releases
            .find(is_own)
            .filter(|_| self.runtime == "st-edge-ai")
    }
}

fn operator_names(rows: &[&CountedRow]) -> BTreeSet<String> {
    rows.iter()
        .flat_map(|row| &row.operators)
        .map(|counts| counts.operator.name().to_owned())
        .collect()
}

/// Fits each runtime and evaluates each target.
pub fn fit_targets<'r>(
    folders: &Folders,
    rows: &'r [CountedRow],
    stated: &FinalErrors,
) -> Result<FittedTargets<'r>> {
    let mut runtimes = Vec::new();
    let mut evaluations = Vec::new();
    let mut fits: BTreeMap<String, Fit> = BTreeMap::new();
    for (model, name, reference) in MODELS {
        let rows_of_target: Vec<&CountedRow> = rows
            .iter()
            .filter(|row| row.measured.runtime == model.runtime)
            .collect();
        let operators = operator_names(&rows_of_target);
        let evaluation = Evaluation::new(model, rows_of_target.clone())?;
        let offered_releases = match model.factors {
            Factors::CoreAndRelease => RELEASES,
            Factors::Board | Factors::None => &[],
        };
        let mut add = |id: String, model: &Model| -> Result<()> {
            let fit = model.fit(&rows_of_target)?;
            let releases = offered_releases.iter();
            runtimes.push(Runtime {
                id: id.clone(),
                name: (*name).to_owned(),
                reference: (*reference).to_owned(),
                costs: fit
                    .costs
                    .iter()
                    .map(|(t, c)| (*t, five_digits(*c)))
                    .collect(),
                operators: operators.clone(),
                releases: releases
                    .map(|release| release.fitted_release(model, &fit, &evaluation))
                    .collect(),
            });
            fits.insert(id, fit);
            Ok(())
        };
        add(model.runtime.to_owned(), model)?;
        if model.factors == Factors::Board {
            add(
                runtime_of_products(model.runtime),
                &evaluate::with_product_columns(model),
            )?;
        }
        evaluations.push(evaluation);
    }
    let evaluated = OFFERS.iter().filter_map(|offer| {
        let mut evaluations = evaluations.iter();
        let evaluation = evaluations.find(|evaluation| evaluation.runtime == offer.runtime)?;
        Some(offered_target(offer, evaluation, &fits, folders, stated))
    });
    let targets = evaluated.collect::<Result<_>>()?;
    Ok(FittedTargets {
        constants: Constants {
            command: "litecast-trainer fit-mcu".into(),
            sources: SOURCES.map(String::from).into(),
            runtimes,
            targets,
        },
        evaluations,
    })
}

/// A target is offered if its mean error is at most this share of that of the regression on three sums.
const MAX_SHARE_OF_REGRESSION: f64 = 0.9;

/// Compares the final families of the runtime, whose costs its cores share, or if these are few, the families of the
/// target that are left out in turn.
fn ensure_worth_offering(offer: &Offer, left_out: &[&LeftOut], stated: &FinalErrors) -> Result<()> {
    let of_families = || {
        [
            evaluate::family_mean_percent(left_out, |left| left.family_ms),
            evaluate::family_mean_percent(left_out, |left| left.three_sums_ms),
        ]
    };
    let [ours, regression] = stated
        .beside_regression(offer.runtime)
        .unwrap_or_else(of_families);
    ensure!(
        ours <= MAX_SHARE_OF_REGRESSION * regression,
        "{}: off by {ours:.1} %, and a regression on three sums by {regression:.1} %: do not offer it",
        offer.target
    );
    Ok(())
}

/// The target of an offer. If its core was not measured, the constants of a measured core are converted.
fn offered_target(
    offer: &Offer,
    evaluation: &Evaluation,
    fits: &BTreeMap<String, Fit>,
    folders: &Folders,
    stated: &FinalErrors,
) -> Result<Target> {
    let mut models = MODELS.iter().map(|(model, ..)| model);
    let model = models.find(|model| model.runtime == offer.runtime);
    let model = model.context("every offer is of a runtime")?;
    let comparison = offer.core_conversion.as_ref();
    let core_conversion = comparison.map(|comparison| core_conversion(comparison, folders));
    let core_conversion = core_conversion.transpose()?;
    let core = core_conversion
        .as_ref()
        .map_or(offer.core, |conversion| conversion.measured_core.as_str());
    let runtime = if evaluation.simple_cores.contains(core) {
        runtime_of_products(offer.runtime)
    } else {
        offer.runtime.to_owned()
    };
    let fit = fits.get(&runtime).context("every runtime is fitted")?;
    let fitted = target(offer, core, model, evaluation, fit, stated)?;
    Ok(match core_conversion {
        None => Target { runtime, ..fitted },
        Some(conversion) => Target {
            runtime,
            cycles_factor: five_digits(fitted.cycles_factor * conversion.factor),
            measured_range: fitted.measured_range.scaled(conversion.factor),
            interval_factor: five_digits(combined_factor(
                fitted.interval_factor,
                conversion.spread(),
            )),
            transferred_interval_factor: None,
            core_conversion: Some(conversion),
            ..fitted
        },
    })
}

/// The factor of two independent errors.
fn combined_factor(factor: f64, other: f64) -> f64 {
    factor.ln().hypot(other.ln()).exp()
}

/// Ratio of the target's cycles to those of the measured core: the median over pairs of latencies.
fn core_conversion(comparison: &Comparison, folders: &Folders) -> Result<CoreConversion> {
    let mut ratios = measured::cycle_ratios(folders, comparison)?;
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len();
    let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else {
        anyhow::bail!("no latencies of {:?}", comparison.systems);
    };
    Ok(CoreConversion {
        measured_core: comparison.measured_core.into(),
        common_runtime: comparison.common_runtime.into(),
        n_pairs: n,
        factor: five_digits((ratios[n / 2] + ratios[(n - 1) / 2]) / 2.0),
        min_factor: five_digits(*least),
        max_factor: five_digits(*most),
    })
}

/// Id of the runtime with one cost of products.
fn runtime_of_products(runtime: &str) -> String {
    format!("{runtime}-products")
}

const SOURCES: [&str; 4] = [
    "ST's model zoo for STM32 (github STMicroelectronics/stm32ai-modelzoo): latencies of its networks",
    "MLPerf Tiny v0.5 to v1.3, closed division (github mlcommons/tiny_results_*): latencies and energies",
    "NXP's model zoo (github NXP/eiq-model-zoo): latencies on i.MX RT and MCX",
    "mcufit (MIT): latencies by operator on an Arduino Nano 33 BLE and an ESP32",
];

/// The shipped energy of an offer. Powers are not fitted again: energies that others measured on these boards are kept for
/// checking.
fn shipped_energy(offer: &Offer) -> Option<Energy> {
    let supply = offer.supply?;
    let shipped = Constants::shipped().target(offer.target)?.energy.clone()?;
    Some(Energy {
        supply_volts: supply.volts,
        is_linear: supply.is_linear,
        ..shipped
    })
}

/// The target of an offer. `core` is the core that was measured.
fn target(
    offer: &Offer,
    core: &str,
    model: &Model,
    evaluation: &Evaluation,
    fit: &Fit,
    stated: &FinalErrors,
) -> Result<Target> {
    let cycles_factor = match offer.boards {
        [] => model.factor(fit, &offer.measured()),
        boards => fit
            .factor_of(boards)
            .with_context(|| format!("no latency of {boards:?}"))?,
    };
    let of_core = evaluation.core_errors(core);
    ensure_worth_offering(offer, &of_core, stated)?;
    let family_mean_percent = evaluate::family_mean_percent(&of_core, |left| left.family_ms);
    let final_percent = stated.mean_percent(offer.runtime);
    let interval = evaluation.interval(core);
    // The rows that determine its interval.
    let rows = match evaluation.factors {
        Factors::Board => evaluation.left_out.iter().collect(),
        _ => of_core.clone(),
    };
    let at_its_clock =
        |left: &&LeftOut| five_digits(1e-3 * left.row.measured.cycles() / offer.clock_mhz);
    let measured_range = MeasuredRange::from_latencies(rows.iter().map(at_its_clock));
    Ok(Target {
        target: offer.target.into(),
        device: offer.device.into(),
        core: offer.core.into(),
        runtime: offer.runtime.into(),
        version: offer.version_in_words(),
        release: offer.release().map(|release| release.id.to_owned()),
        clock_mhz: offer.clock_mhz,
        has_other_clocks: offer.has_other_clocks,
        program: offer.program(),
        cycles_factor: five_digits(cycles_factor),
        n_latencies: of_core.len(),
        measured_range: measured_range
            .with_context(|| format!("no latency of {}", offer.target))?,
        n_networks: evaluate::n_networks(&of_core),
        network_left_out: evaluate::errors(&of_core, |left| Some(left.network_ms)),
        family_left_out: evaluate::errors(&of_core, |left| Some(left.family_ms)),
        stated_percent: five_digits(final_percent.map_or(family_mean_percent, |percent| {
            percent.max(family_mean_percent)
        })),
        three_sums: evaluate::errors(&of_core, |left| Some(left.three_sums_ms)),
        macs_alone: evaluate::errors(&of_core, |left| Some(left.macs_alone_ms)),
        all_counts: (evaluation.factors == Factors::Board)
            .then(|| evaluate::errors(&of_core, |left| Some(left.all_counts_ms))),
        interval_factor: five_digits(interval.factor),
        short: interval.short,
        transferred_interval_factor: evaluation.transferred_factor(core).map(five_digits),
        coverage_percent: five_digits(interval.coverage_percent),
        energy: shipped_energy(offer),
        core_conversion: None,
    })
}
