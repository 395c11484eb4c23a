//! `calibrate`: models and what benchmark tools printed of them → a measured device.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litecast::calibration::{
    Device, DeviceFacts, EstimatedNetwork, INT8_PROBES, MAX_DEVICE_BYTES, Measured, PROBES,
    base_families, calibrate, next_as_json, next_measurements, probes_of,
};
use litecast::formats::is_model;
use litecast::profiles::{self, MAX_PROFILE_BYTES, Profile};
use litecast::report::Failure;
use litecast::targets::{Durations, FAMILIES, known};

use super::args::{CalibrateArgs, WorkerOutput};
use super::choice::TargetArgs;
use super::table::Table;
use super::terminal::{dim, plain, wrapped, yellow};
use super::worker_request::{self, Request};
use super::{inputs, quantity, terminal, words};

/// Unmatched lines that are listed of each profile.
const MAX_LISTED: usize = 5;

/// A file that a tool wrote.
struct ProfileFile {
    path: PathBuf,
    profile: Profile,
    /// The model that stands before it on the command line, or else the first one.
    model_idx: usize,
}

pub fn run(args: &CalibrateArgs) -> Result<ExitCode, Box<dyn Error>> {
    let out = file_of_device(args);
    let known_device = known_device(&out)?;
    if let Some(folder) = &args.probes {
        return hand_out(args, folder, known_device.as_ref());
    }
    if args.next {
        let device = known_device.ok_or_else(|| {
            format!(
                "{}: expected a device with a measurement, found none",
                out.display()
            )
        })?;
        return say_next(args, &device);
    }
    let (models, profile_files) = models_and_profiles(args)?;
    let like = args.like.as_deref();
    let is_family = |id: &&str| FAMILIES.iter().any(|family| family.id == *id);
    let known_base = known_device.as_ref().map(|device| &*device.base);
    let candidates = match known_base.or(like.filter(|id| !is_family(id))) {
        Some(base) => vec![base.to_owned()],
        // Devices of several tools are those of the first.
        None => (profile_files.first()).map_or(Vec::new(), |file| {
            bases_of(&base_families(&file.profile, like))
        }),
    };
    let networks = estimated_models(args, &models, &candidates)?;
    let of_models = of_models(&profile_files, &networks);
    let measured: Vec<Measured> = of_models
        .iter()
        .map(|(network, profile, profile_name)| Measured {
            network,
            profile,
            profile_name,
        })
        .collect();
    check_measured(&profile_files, &networks, &measured)?;
    let device = calibrate(
        &device_name(args, known_device.as_ref(), &out),
        args.read.threads.get(),
        &measured,
        args.like.as_deref(),
        known_device.as_ref(),
    )?;
    fs::write(&out, device.to_json()).map_err(|error| format!("{}: {error}", out.display()))?;
    if args.json {
        terminal::print_json(device.to_json())?;
    } else {
        terminal::print(&shown(&device, &profile_files, &out, terminal::width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ids of all targets of some families; of accelerators in every way to run networks on them.
fn bases_of(families: &[&str]) -> Vec<String> {
    let targets = known().map(|target| (target.id().to_owned(), target.description()));
    let of_families = targets.filter(|(_, description)| families.contains(&description.family.id));
    let ways = of_families.flat_map(|(id, description)| {
        let is_accelerator = description.family.durations == Some(Durations::Accelerator);
        let others = description.releases.iter().skip(1);
        let others = others
            .filter(|_| is_accelerator)
            .map(|way| format!("{id}@{way}"));
        let others: Vec<String> = others.collect();
        [id].into_iter().chain(others)
    });
    ways.collect()
}

/// Where the device is kept.
fn file_of_device(args: &CalibrateArgs) -> PathBuf {
    match (&args.out, args.device.strip_suffix(".json")) {
        (Some(out), _) => out.clone(),
        (None, Some(_)) => PathBuf::from(&args.device),
        (None, None) => PathBuf::from(format!("{}.json", args.device)),
    }
}

/// The device in the user's words, which it keeps, or else the name of its file.
fn device_name(args: &CalibrateArgs, known: Option<&Device>, out: &Path) -> String {
    match (known, &args.out) {
        (Some(device), _) => device.name.clone(),
        (None, Some(_)) => args.device.clone(),
        (None, None) => out
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    }
}

/// Fails if a network has no measurement.
fn check_measured(
    profile_files: &[ProfileFile],
    networks: &[EstimatedNetwork],
    measured: &[Measured],
) -> Result<(), String> {
    let is_measured =
        |network: &&EstimatedNetwork| measured.iter().any(|one| one.network.file == network.file);
    let Some(without) = networks.iter().find(|network| !is_measured(network)) else {
        return Ok(());
    };
    let mut unread = profile_files.iter().flat_map(|file| &file.profile.unread);
    let line = unread
        .next()
        .map_or_else(String::new, |line| format!("; {line}"));
    let file = &without.file;
    Err(format!(
        "{file}: expected a measurement of it, found none{line}"
    ))
}

/// Each network with each profile of it, and the name of the profile's file. A table that names models is of those that it
/// names; others are of one model.
fn of_models<'n, 'p>(
    profile_files: &'p [ProfileFile],
    networks: &'n [EstimatedNetwork],
) -> Vec<(&'n EstimatedNetwork, Cow<'p, Profile>, String)> {
    let mut measured = Vec::new();
    for file in profile_files {
        let by_model = file.profile.by_model();
        for (idx, network) in networks.iter().enumerate() {
            let profile = match &by_model {
                Some(by_model) => by_model.of_model(&network.file).map(Cow::Owned),
                None => (file.model_idx == idx).then_some(Cow::Borrowed(&file.profile)),
            };
            measured.extend(profile.map(|profile| (network, profile, name_of(&file.path))));
        }
    }
    measured
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// What was measured before, if the file of the device exists.
fn known_device(path: &Path) -> Result<Option<Device>, Box<dyn Error>> {
    if !path.exists() {
        return Ok(None);
    }
    let place = path.display();
    let bytes = inputs::contents(path, MAX_DEVICE_BYTES)?;
    Ok(Some(
        Device::parse(&bytes).map_err(|error| format!("{place}: {error}"))?,
    ))
}

/// Writes the networks to measure, with the command for the tool that measured last.
fn hand_out(
    args: &CalibrateArgs,
    folder: &Path,
    device: Option<&Device>,
) -> Result<ExitCode, Box<dyn Error>> {
    let in_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(in_folder)?;
    let last_tool = device.map_or("", Device::last_tool);
    let tool = args.tool.unwrap_or(last_tool);
    let base = device.map_or("", |device| &device.base);
    let threads = args.read.threads.get();
    let wanted = if args.read.int8 {
        INT8_PROBES
    } else {
        probes_of(tool)
    };
    let mut text = String::new();
    for probe in &PROBES {
        for (name, bytes) in probe.files() {
            let path = folder.join(&name);
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            if name.ends_with(wanted) {
                let command = profiles::command(tool, &path.display().to_string(), threads, base);
                let _ = writeln!(text, "# {}: {}\n{}\n", name, probe.kernels, plain(&command));
            }
        }
    }
    let n = PROBES.len();
    let line = format!(
        "{n} networks are in {}, as TFLite in float32 and int8 (--int8 prints the commands of the latter) and as ONNX. What a \
         tool prints goes with its network: litecast calibrate {} {} PROFILE",
        folder.display(),
        args.device,
        folder.join(format!("small-network-{wanted}")).display()
    );
    let line = wrapped(&plain(&format!("# {line}")), terminal::width(), "# ");
    let _ = writeln!(text, "{line}");
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Models are those by extension or by contents. Everything else is a profile.
fn models_and_profiles(
    args: &CalibrateArgs,
) -> Result<(Vec<PathBuf>, Vec<ProfileFile>), Box<dyn Error>> {
    let mut models: Vec<PathBuf> = Vec::new();
    let mut profile_files = Vec::new();
    for path in &args.files {
        let place = path.display();
        if inputs::is_model(path) {
            models.push(path.clone());
            continue;
        }
        let bytes = inputs::contents(path, MAX_PROFILE_BYTES)?;
        if is_model(&bytes) {
            models.push(path.clone());
            continue;
        }
        let profile =
            profiles::read(&bytes, args.clock_mhz).map_err(|error| format!("{place}: {error}"))?;
        profile_files.push(ProfileFile {
            path: path.clone(),
            profile,
            model_idx: models.len().saturating_sub(1),
        });
    }
    if models.is_empty() {
        return Err("expected the measured models among FILES, found none".into());
    }
    if profile_files.is_empty() {
        return Err(
            "expected what a benchmark tool printed among FILES, found models alone".into(),
        );
    }
    Ok((models, profile_files))
}

/// The models with their estimates on the targets that may be the base.
fn estimated_models(
    args: &CalibrateArgs,
    models: &[PathBuf],
    targets: &[String],
) -> Result<Vec<EstimatedNetwork>, Box<dyn Error>> {
    let targets = TargetArgs {
        targets: targets.to_vec(),
        ..TargetArgs::default()
    };
    let request = Request {
        are_dimensions_shared: models.len() > 1,
        targets: &targets,
        read: &args.read,
        tell: WorkerOutput::Report,
    };
    let mut networks = Vec::new();
    let mut failure: Option<String> = None;
    let matched = request.each_json(models, |file, json| {
        let network = json.and_then(|json| {
            let parsed = EstimatedNetwork::parse(json.concat().as_bytes());
            parsed.map_err(|words| Failure::new("wrong-report", words))
        });
        match network {
            Ok(network) => networks.push(network),
            Err(error) => {
                failure = failure
                    .take()
                    .or_else(|| Some(format!("{}: {error}", file.display())))
            }
        }
        Ok(())
    })?;
    worker_request::check_dimensions(&args.read, &[matched])?;
    match failure {
        Some(words) => Err(words.into()),
        None => Ok(networks),
    }
}

/// Which of the models to measure next, with the command for the tool that measured last.
fn say_next(args: &CalibrateArgs, device: &Device) -> Result<ExitCode, Box<dyn Error>> {
    let networks = estimated_models(args, &args.files, std::slice::from_ref(&device.base))?;
    if args.json {
        let files: Vec<String> = args
            .files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        terminal::print_json(next_as_json(device, &networks, &files)? + "\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let next = next_measurements(device, &networks, device.has_operators())?;
    let width = terminal::width();
    let mut table = Table::default()
        .text("measure next")
        .number("estimate")
        .number("interval")
        .number("all after it");
    for one in &next {
        table.row([
            networks[one.network_idx].file.clone(),
            milliseconds(one.estimate_ms),
            format!("\u{d7} {:.2}", one.interval_factor),
            format!("\u{d7} {:.2}", one.factor_of_all_after),
        ]);
    }
    let mut text = terminal::bold(plain(&device.name));
    text.push('\n');
    let Some(first) = next.first() else {
        text += "all of these models are measured\n";
        terminal::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    text += &table.lines_of(width);
    let file = args.files.get(first.network_idx);
    let file = file.map_or(String::new(), |path| path.display().to_string());
    // Whole, so that it can be copied.
    let command = profiles::command(device.last_tool(), &file, device.threads, &device.base);
    let _ = writeln!(text, "\n{}", plain(&command));
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn shown(device: &Device, profile_files: &[ProfileFile], out: &Path, width: usize) -> String {
    let n = device.networks.len();
    let mut text = terminal::bold(plain(&device.name));
    let plural = if n == 1 { "" } else { "s" };
    let error = match device.left_out_percent() {
        Some(percent) => format!(
            "; each, estimated from the others, is off by {} in the mean",
            quantity::percent(percent)
        ),
        None => "; a second one tells how far estimates are off".to_owned(),
    };
    text.push('\n');
    let line = format!(
        "{n} measured network{plural}, on {}{error}",
        device.kernels.words(&device.base)
    );
    let _ = writeln!(text, "{}\n", wrapped(&line, width, ""));
    text += &networks_table(device).lines_of(width);
    let facts = DeviceFacts::new(device);
    text += &format!("\n{}", factors_table(&facts).lines_of(width));
    let line = format!(
        "each call of a kernel {}, each inference {} beside",
        milliseconds(facts.call_ms),
        milliseconds(facts.inference_ms)
    );
    let _ = writeln!(text, "{}", dim(wrapped(&line, width, "  ")));
    text += &unmatched_warnings(device, width);
    text += &disturbed_warnings(device, width);
    for file in profile_files {
        for unread in &file.profile.unread {
            let line = wrapped(
                &plain(&format!("         {}: {unread}", file.path.display())),
                width,
                "  ",
            );
            let _ = writeln!(text, "{} {}", yellow("warning:"), line.trim_start());
        }
    }
    let place = out.display();
    let line = format!("written to {place}: litecast predict --device {place} FILE");
    let _ = writeln!(text, "{}", wrapped(&plain(&line), width, "  "));
    text
}

fn milliseconds(ms: f64) -> String {
    quantity::measure(ms, "ms").to_string()
}

fn networks_table(device: &Device) -> Table {
    let mut table = Table::default()
        .text("model")
        .number("measured")
        .number("from the others")
        .number("operators")
        .optional_number("not matched");
    for (idx, network) in device.networks.iter().enumerate() {
        let left_out = device.left_out.get(idx);
        let n_matched: usize = network
            .observations
            .iter()
            .map(|one| one.operators.len())
            .sum();
        table.row([
            network.model.clone(),
            milliseconds(network.measured_ms),
            left_out.map_or(words::UNKNOWN.to_owned(), |error| {
                milliseconds(network.measured_ms * (-error).exp())
            }),
            n_matched.to_string(),
            milliseconds(network.unmatched_ms),
        ]);
    }
    table
}

fn factors_table(facts: &DeviceFacts) -> Table {
    let mut factors = Table::default()
        .text("kernels")
        .number("factor")
        .text("told by");
    for one in &facts.kernels {
        let told_by = if one.is_measured {
            "measurements"
        } else {
            "nothing: the expected factor"
        };
        factors.row([
            one.kernels.to_owned(),
            format!("{:.2}", one.factor),
            told_by.to_owned(),
        ]);
    }
    factors
}

/// An inference that takes so many times as long as its operators was not measured alone: beside those of small networks, what
/// runtimes do between operators takes as long again.
const DISTURBED: f64 = 3.0;

/// A line for each network whose inferences took much longer than the operators of its profile.
fn disturbed_warnings(device: &Device, width: usize) -> String {
    let mut text = String::new();
    for network in &device.networks {
        let observations = network.observations.iter();
        let matched_ms: f64 = observations.map(|one| one.measured_ms).sum();
        let operators_ms = matched_ms + network.unmatched_ms;
        if matched_ms > 0.0 && network.measured_ms > DISTURBED * operators_ms {
            let line = format!(
                "         {}: an inference took {}, and all operators of its profile {}: did other processes run meanwhile?",
                network.model,
                milliseconds(network.measured_ms),
                milliseconds(operators_ms)
            );
            let line = wrapped(&plain(&line), width, "  ");
            let _ = writeln!(text, "{} {}", yellow("warning:"), line.trim_start());
        }
    }
    text
}

/// A line for each network whose profile has operators that the model does not have.
fn unmatched_warnings(device: &Device, width: usize) -> String {
    let mut text = String::new();
    for network in device
        .networks
        .iter()
        .filter(|network| !network.unmatched.is_empty())
    {
        let first = network
            .unmatched
            .iter()
            .take(MAX_LISTED)
            .map(String::as_str);
        let more = match network.unmatched.len().saturating_sub(MAX_LISTED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let listed: Vec<&str> = first.collect();
        let doubt = match network.unmatched_ms > network.measured_ms / 2.0 {
            true => ". Is it a profile of another model?",
            false => "",
        };
        let line = format!(
            "         {}: no operator of the model for {}{more}, {} of {}{doubt}",
            network.model,
            listed.join(", "),
            milliseconds(network.unmatched_ms),
            milliseconds(network.measured_ms)
        );
        let line = wrapped(&plain(&line), width, "  ");
        let _ = writeln!(text, "{} {}", yellow("warning:"), line.trim_start());
    }
    text
}
