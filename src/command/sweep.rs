//! `sweep`: every Ethos-U for one model, and the smallest that meets limits.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use litecast::Metric;
use litecast::report::Failure;
use litecast::sweep::{Candidate, Estimated, Limits, Point, Sweep};
use litecast::targets::choice::Choice;
use litecast::targets::ethos_u::configuration::Product;
use serde::Serialize;

use super::args::{FormatArgs, SweepArgs, WorkerOutput};
use super::budget::Limit;
use super::choice::TargetArgs;
use super::document::{Diagnostic, Document, TargetResult};
use super::table::Table;
use super::terminal::{bold, dim, heading, wrapped};
use super::worker_request::Request;
use super::{csv, html, predict, print, quantity, sweep_group, terminal, words};

pub fn run(args: &SweepArgs) -> Result<ExitCode, Box<dyn Error>> {
    if args.group.is_some() || !args.devices.is_empty() {
        return sweep_group::run(args);
    }
    let options = args.npu.choice()?;
    let npus = Product::ALL.map(|product| Npu::new(product, &options));
    let npus = npus.into_iter().collect::<Result<Vec<Npu>, _>>()?;
    let targets = TargetArgs {
        targets: Product::ALL.map(|product| product.name().to_owned()).into(),
        npu: args.npu.clone(),
        ..TargetArgs::default()
    };
    let request = Request {
        are_dimensions_shared: false,
        targets: &targets,
        read: &args.read,
        tell: WorkerOutput::Report,
    };
    let mut code = ExitCode::SUCCESS;
    if args.format.html {
        terminal::print_raw(&html::head(std::slice::from_ref(&args.file)))?;
    }
    request.each(std::slice::from_ref(&args.file), |file, document| {
        let file = file.to_string_lossy();
        let swept = document.and_then(|document| Swept::new(&file, &document, &npus, args));
        match swept {
            Ok(swept) => {
                // No accelerator meets the limits. Scripts read this from the exit code.
                if args.has_limits() && swept.sweep.smallest.is_none() {
                    code = ExitCode::FAILURE;
                }
                print(&swept, &args.format)
            }
            Err(failure) => {
                code = ExitCode::from(super::exit::TROUBLE);
                print::failure(&file, failure, args.format.json)
            }
        }
    })?;
    if args.format.html {
        terminal::print_raw(html::FOOT)?;
    }
    Ok(code)
}

/// An accelerator with the chosen memories.
struct Npu {
    product: Product,
    clock_mhz: f64,
}

impl Npu {
    fn new(product: Product, options: &Choice) -> Result<Self, Box<dyn Error>> {
        let choice = Choice {
            target: Some(product.name().to_owned()),
            ..options.clone()
        };
        Ok(Self {
            product,
            clock_mhz: choice.npu_configuration(product)?.system.clock_hz / 1e6,
        })
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Swept<'s> {
    file: &'s str,
    /// The precision of the estimates, where it is not that of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_as: Option<String>,
    #[serde(flatten)]
    sweep: Sweep,
    /// Doubts about the estimates, each with its targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<Diagnostic>,
    /// The same as lines of the terminal.
    #[serde(skip)]
    warnings: String,
}

impl<'s> Swept<'s> {
    fn new(
        file: &'s str,
        document: &Document,
        npus: &[Npu],
        args: &SweepArgs,
    ) -> Result<Self, Failure> {
        let estimated = |result: &TargetResult| {
            let estimate = result.estimate()?;
            Some(Estimated {
                value: estimate.value,
                lo: estimate.lo,
                hi: estimate.hi,
                evidence: result.grade(),
            })
        };
        let candidate = |npu: &Npu| {
            let name = npu.product.name();
            let estimated = |metric: Metric| estimated(document.result(name, metric.id())?);
            Candidate::new(npu.product, npu.clock_mhz, estimated)
        };
        let candidates: Vec<Candidate> = npus.iter().filter_map(candidate).collect();
        if candidates.is_empty() {
            let why = document
                .unavailable()
                .next()
                .map(|(.., words)| words.to_owned());
            return Err(Failure::new(
                "no-estimate",
                format!("no Ethos-U has an estimate: {}", why.unwrap_or_default()),
            ));
        }
        let limit = |limit: Option<Limit>| limit.map(|Limit(value)| value);
        let limits = Limits {
            latency_ms: limit(args.limits.latency),
            sram_bytes: limit(args.limits.sram),
            clock_mhz: args.max_clock,
        };
        let sweep = Sweep::new(candidates, limits, args.clocks.clone());
        let doubts = document.diagnostics.iter();
        let doubts = doubts.filter(|doubt| doubt.severity == "warning");
        let mut npus = npus.iter();
        let estimated_as = npus.find_map(|npu| document.estimated_as(npu.product.name()));
        Ok(Self {
            file,
            estimated_as: estimated_as.map(str::to_owned),
            sweep,
            doubts: doubts.cloned().collect(),
            warnings: predict::doubts(document, terminal::width()),
        })
    }

    /// Names of columns, and the cells of each accelerator.
    fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let Sweep {
            limits,
            clocks_mhz,
            points,
            ..
        } = &self.sweep;
        let names = [
            "accelerator",
            "clock",
            "latency",
            "interval",
            "evidence",
            "SRAM peak",
        ];
        let mut names: Vec<String> = names.map(str::to_owned).into();
        if let Some(precision) = &self.estimated_as {
            names[0] += &format!(", as {precision}");
        }
        if self.is_partly_on_cpu() {
            names.push("on the CPU".to_owned());
        }
        names.extend(clocks_mhz.iter().map(|mhz| format!("at {mhz} MHz")));
        if let Some(limit_ms) = limits.latency_ms {
            names.push(format!("for {}", quantity::measure(limit_ms, "ms")));
        }
        if self.has_limits() {
            names.push("meets".to_owned());
        }
        (
            names,
            points.iter().map(|point| self.cells(point)).collect(),
        )
    }

    fn cells(&self, point: &Point) -> Vec<String> {
        let candidate = &point.candidate;
        let latency = &candidate.latency_ms;
        let interval = latency
            .lo
            .zip(latency.hi)
            .map(|(lo, hi)| quantity::interval(lo, hi, "ms", latency.value));
        let ms = |estimated: &Estimated| quantity::measure(estimated.value, "ms").to_string();
        let sram = candidate.sram_bytes.as_ref();
        let sram = sram.map(|bytes| quantity::bytes(bytes.value).to_string());
        let mut cells = vec![
            candidate.target.clone(),
            format!("{} MHz", quantity::grouped(candidate.clock_mhz)),
            ms(latency),
            interval.unwrap_or_else(|| "none".to_owned()),
            grade(latency).unwrap_or_else(|| "not said".to_owned()),
            sram.unwrap_or_else(|| words::UNKNOWN.to_owned()),
        ];
        if self.is_partly_on_cpu() {
            let part = candidate.npu_latency_ms;
            let left = part.map(|part| quantity::measure(latency.value - part.value, "ms"));
            cells.push(left.map_or("nothing".to_owned(), |left| left.to_string()));
        }
        cells.extend(point.latencies_ms.iter().map(ms));
        if self.sweep.limits.latency_ms.is_some() {
            let needed = (point.needed_mhz).map(|mhz| quantity::grouped(mhz.ceil()));
            cells.push(needed.map_or("at no clock".to_owned(), |mhz| format!("{mhz} MHz")));
        }
        if self.has_limits() {
            cells.push(if point.meets { "yes" } else { "no" }.to_owned());
        }
        cells
    }

    /// Whether an accelerator leaves operators to the processor beside it.
    fn is_partly_on_cpu(&self) -> bool {
        let mut points = self.sweep.points.iter();
        points.any(|point| point.candidate.npu_latency_ms.is_some())
    }

    fn has_limits(&self) -> bool {
        self.sweep.limits.latency_ms.is_some() || self.sweep.limits.sram_bytes.is_some()
    }

    /// In a sentence, the smallest that meets the limits.
    fn verdict(&self) -> Option<String> {
        let Sweep {
            limits,
            points,
            smallest,
            ..
        } = &self.sweep;
        let asked = [
            limits.latency_ms.map(|ms| quantity::measure(ms, "ms")),
            limits.sram_bytes.map(quantity::bytes),
        ];
        let asked: Vec<String> = asked.iter().flatten().map(ToString::to_string).collect();
        let asked = Some(asked.join(" and ")).filter(|asked| !asked.is_empty())?;
        let max_clock = quantity::grouped(limits.clock_mhz);
        Some(match smallest.map(|idx| &points[idx]) {
            None => format!("none meets {asked} at {max_clock} MHz or less"),
            Some(Point {
                candidate,
                needed_mhz,
                ..
            }) => {
                let from =
                    needed_mhz.map(|mhz| format!(", from {} MHz", quantity::grouped(mhz.ceil())));
                let from = from.unwrap_or_default();
                format!(
                    "the smallest that meets {asked}: {} ({}){from}",
                    candidate.target, candidate.device
                )
            }
        })
    }
}

const NOTE: &str = "each in its default memories where no others are chosen; the latency is that of the whole network; \
                    cycles of an NPU do not depend on its clock, which memories keep pace with as Vela counts, and what \
                    the CPU takes does not change with it; intervals of what the NPU runs are those against Vela, not against hardware, and what the CPU takes widens them; a limit is held against the upper end of the interval";

fn print(swept: &Swept, format: &FormatArgs) -> std::io::Result<()> {
    let (names, rows) = swept.table();
    if format.json {
        return terminal::print_json(serde_json::to_string(swept)? + "\n");
    }
    if format.csv {
        return terminal::print_raw(&csv_of(swept));
    }
    if format.html {
        let verdict = swept.verdict().unwrap_or_default();
        let note = format!("{}; {NOTE}", words::EVIDENCE);
        return terminal::print_raw(&html::table(swept.file, &verdict, &names, &rows, &note));
    }
    let width = terminal::width();
    let mut text = heading(swept.file, width) + "\n";
    let mut table = Table::default().text(&names[0]);
    for name in &names[1..] {
        table = match name.as_str() {
            "clock" | "interval" => table.optional_number(name),
            "evidence" | "meets" => table.text(name),
            name => table.number(name),
        };
    }
    rows.into_iter().for_each(|row| table.row(row));
    text += &table.lines_of(width);
    if let Some(verdict) = swept.verdict() {
        let _ = writeln!(text, "\n{}", bold(wrapped(&verdict, width, "  ")));
    }
    let _ = write!(text, "\n{}", swept.warnings);
    for note in [words::EVIDENCE, NOTE] {
        let _ = writeln!(text, "{}", dim(wrapped(note, width, "  ")));
    }
    terminal::print(&text)
}

/// What an estimate rests on, as reports say it.
fn grade(estimated: &Estimated) -> Option<String> {
    let grade = serde_json::to_value(estimated.evidence?).ok()?;
    grade.as_str().map(str::to_owned)
}

/// Numbers in one unit each: MHz, ms and bytes.
fn csv_of(swept: &Swept) -> String {
    let Sweep {
        clocks_mhz, points, ..
    } = &swept.sweep;
    let names = [
        "file",
        "target",
        "device",
        "clock_mhz",
        "latency_ms",
        "latency_lo_ms",
        "latency_hi_ms",
        "evidence",
        "npu_latency_ms",
        "sram_peak_bytes",
        "needed_mhz",
        "meets",
    ];
    let mut header: Vec<String> = names.map(str::to_owned).into();
    header.extend(
        clocks_mhz
            .iter()
            .map(|mhz| format!("latency_ms_at_{mhz}_mhz")),
    );
    let number = csv::number::<f64>;
    let row = |point: &Point| {
        let candidate = &point.candidate;
        let latency = &candidate.latency_ms;
        let sram = candidate.sram_bytes.as_ref().map(|bytes| bytes.value);
        let mut row = vec![
            csv::text(swept.file),
            candidate.target.clone(),
            csv::text(&candidate.device),
            candidate.clock_mhz.to_string(),
            latency.value.to_string(),
            number(latency.lo),
            number(latency.hi),
            grade(latency).unwrap_or_default(),
            candidate
                .npu_latency_ms
                .unwrap_or(*latency)
                .value
                .to_string(),
            number(sram),
            number(point.needed_mhz),
            point.meets.to_string(),
        ];
        row.extend(point.latencies_ms.iter().map(|ms| ms.value.to_string()));
        row
    };
    csv::lines(std::iter::once(header).chain(points.iter().map(row)))
}
