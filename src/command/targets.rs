//! `targets`: the targets with their metrics and measured errors.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use litecast::targets::ethos_u::configuration::VelaIni;
use litecast::targets::{TargetInfo, cortex_m, known, listed};

use super::args::TargetsArgs;
use super::table::Table;
use super::terminal::{bold, dim, wrapped};
use super::{quantity, terminal, words};

pub fn run(args: &TargetsArgs) -> Result<ExitCode, Box<dyn Error>> {
    let known: Vec<_> = known().collect();
    let listed = listed(known.iter(), None);
    if args.json {
        for target in &listed {
            terminal::print_json(serde_json::to_string(target)? + "\n")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let targets: Vec<TargetInfo> = listed.into_iter().map(|target| target.info).collect();
    let width = terminal::width();
    let text = if args.details {
        targets
            .iter()
            .map(|target| details(target, width))
            .collect()
    } else {
        overview(&targets, width)
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn overview(targets: &[TargetInfo], width: usize) -> String {
    let mut table = Table::default()
        .text("target")
        .text("device")
        .number("error")
        .text("against");
    for target in targets {
        let latency = target.metrics.first();
        let error = latency.and_then(|metric| metric.expected_error_percent);
        let error = error.map_or(words::UNKNOWN.to_owned(), |error| {
            format!("±{}", quantity::percent(error))
        });
        let against = latency.and_then(|metric| {
            metric.expected_error_percent?;
            Some(words::reference_words(&target.provenance.clone().into()))
        });
        let against = against.unwrap_or_default();
        table.row([target.id.clone(), target.device.clone(), error, against]);
    }
    let note = "error: mean over networks held out of training or fit, of latency where that is estimated; ? where none was \
                measured, or only networks of one family were. One against a compiler says nothing about hardware. All \
                metrics: --details. Any Ethos-U in any memory mode and system configuration, and any microcontroller \
                under another clock: predict --target";
    let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(", ");
    let ini = VelaIni::shipped();
    let runtimes = &cortex_m::Constants::shipped().runtimes;
    let mut releases = (runtimes.iter())
        .flat_map(|runtime| &runtime.releases)
        .map(|release| release.id.as_str());
    let others = [
        ("--memory-mode", names(&mut ini.memory_modes())),
        ("--system-config", names(&mut ini.system_configurations())),
        ("--release of ST Edge AI", names(&mut releases)),
    ];
    let others = others.map(|(name, names)| wrapped(&format!("{name}: {names}"), width, "  "));
    format!(
        "{}\n{}\n\n{}\n",
        table.lines_of(width),
        dim(wrapped(note, width, "  ")),
        others.join("\n")
    )
}

fn details(target: &TargetInfo, width: usize) -> String {
    let head = format!("{}  {}", bold(&target.id), target.device);
    let mut text = wrapped(&head, width, "  ") + "\n";
    let mut table = Table::default()
        .text("metric")
        .text("unit")
        .number("error")
        .text("against");
    for metric in &target.metrics {
        let error = metric.expected_error_percent;
        let error = error.map_or("not measured".to_owned(), |error| {
            format!("±{}", quantity::percent(error))
        });
        let name = words::metric(metric.metric.id()).to_owned();
        let against = metric.expected_error_percent.map_or(String::new(), |_| {
            words::reference_words(&target.provenance.clone().into())
        });
        table.row([name, metric.unit.to_owned(), error, against]);
    }
    text += &table.lines_of(width);
    let source = format!("source: {}", target.learned_from);
    let _ = writeln!(text, "{}\n", wrapped(&source, width, "  "));
    text
}
