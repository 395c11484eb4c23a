//! `litecast-trainer evaluate-st-memory`: compares activation RAM, weights and code with the figures that ST publishes
//! for the networks of its model zoo.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::targets::cortex_m::{
    Errors, StDevice, StRelease, StTool, activation_ram_bytes, st_code_flash_bytes,
    weights_flash_bytes,
};

use super::evaluate::summarise_errors;
use crate::markdown::{heads, table};

/// Compares memory under ST Edge AI with what ST publishes.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateStMemoryArgs {
    /// Clones of ST's model zoo (github.com/STMicroelectronics/stm32ai-modelzoo), one for each release of the
    /// tool: every README below is read, and the files that its tables link to.
    #[arg(required = true)]
    pub clones: Vec<PathBuf>,
    /// File for the errors.
    #[arg(long, default_value = "trainer/results/st-memory.md")]
    pub results: PathBuf,
}

/// Compares, prints and writes the results.
pub fn run(args: &EvaluateStMemoryArgs) -> Result<()> {
    let mut reports = ReadReports::default();
    for clone in &args.clones {
        for readme in readmes(clone)? {
            reports.read(&readme)?;
        }
    }
    ensure!(
        !reports.figures.is_empty(),
        "no table of memory in the READMEs below {:?} links to a file that is there",
        args.clones
    );
    let text = markdown(&reports);
    println!("{}{text}", rows(&reports.figures));
    let results = &args.results;
    fs::write(results, text).with_context(|| format!("could not write {}", results.display()))
}

/// Maximum depth of folders, because a link to a parent folder would lead to endless recursion.
const MAX_DEPTH: usize = 12;

fn readmes(clone: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let mut folders = vec![(clone.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let read = || format!("could not read {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(read)? {
            let path = entry.with_context(read)?.path();
            if path.is_dir() && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if path.file_name().is_some_and(|name| name == "README.md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// Figures that ST publishes for one network under one release, and our estimates.
struct Figures {
    release: String,
    network: String,
    /// With the rules of the row's release and board.
    activations: Compared,
    /// As in reports: with the rules of the newest release on the row's board.
    shown_activations: Compared,
    /// Whether ST's activations are inside the interval of reports.
    is_held: bool,
    weights: Compared,
    /// Absent if ST gives the size of the code only approximately ("about").
    code: Option<Compared>,
}

#[derive(Clone, Copy)]
struct Compared {
    ours_kib: f64,
    st_kib: f64,
}

impl Compared {
    fn error_percent(&self) -> f64 {
        100.0 * (self.ours_kib / self.st_kib - 1.0)
    }
}

#[derive(Default)]
struct ReadReports {
    figures: Vec<Figures>,
    /// Rows that were already used: READMEs repeat rows of each other.
    used_rows: BTreeSet<(String, Vec<u8>, String)>,
    n_without_file: usize,
    n_not_int8: usize,
}

impl ReadReports {
    fn read(&mut self, readme: &Path) -> Result<()> {
        let read = || format!("could not read {}", readme.display());
        let text = fs::read_to_string(readme).with_context(read)?;
        let folder = readme.parent().unwrap_or(Path::new("."));
        for row in memory_rows(&text) {
            self.add(&row, folder)?;
        }
        Ok(())
    }

    fn add(&mut self, row: &MemoryRow, folder: &Path) -> Result<()> {
        if !row.format.eq_ignore_ascii_case("int8") {
            self.n_not_int8 += 1;
            return Ok(());
        }
        let path = row.link.as_ref().map(|link| folder.join(link));
        let Some(path) = path.filter(|path| path.is_file()) else {
            self.n_without_file += 1;
            return Ok(());
        };
        let read = || format!("could not read {}", path.display());
        let bytes = fs::read(&path).with_context(read)?;
        let key = (row.release.clone(), bytes, row.figures());
        if !self.used_rows.insert(key.clone()) {
            return Ok(());
        }
        let model = tflite::parse(&key.1).with_context(read)?;
        let graph = graph::build(&model, 0).with_context(read)?;
        let analysis = analysis::analyze(&graph);
        let activations = |tool| activation_ram_bytes(&graph, &analysis, tool).with_context(read);
        let of_release = activations(row.tool())?;
        let shown = activations(StTool::newest_for(&row.board))?;
        let beside = |bytes: u64, st_kib: f64| Compared {
            ours_kib: kib(bytes),
            st_kib,
        };
        self.figures.push(Figures {
            release: row.release.clone(),
            network: path.file_stem().unwrap_or_default().display().to_string(),
            is_held: (kib(shown.lo)..=kib(shown.hi)).contains(&row.activations_kib),
            activations: beside(of_release.value, row.activations_kib),
            shown_activations: beside(shown.value, row.activations_kib),
            weights: beside(weights_flash_bytes(&analysis), row.weights_kib),
            code: row
                .code_kib
                .map(|st_kib| beside(st_code_flash_bytes(&graph).value, st_kib)),
        });
        Ok(())
    }
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// One row of a table of memory in a README.
#[derive(Debug, PartialEq)]
struct MemoryRow {
    release: String,
    /// Board or series of devices; empty if the table has neither.
    board: String,
    format: String,
    /// Link to the file, relative to the README.
    link: Option<String>,
    activations_kib: f64,
    weights_kib: f64,
    code_kib: Option<f64>,
}

impl MemoryRow {
    /// The row's release, or the newest release if the rules of the row's are unknown.
    fn tool(&self) -> StTool {
        StTool {
            release: StRelease::from_version(&self.release).unwrap_or_default(),
            device: StDevice::from_board_name(&self.board),
        }
    }

    fn figures(&self) -> String {
        format!("{} {}", self.activations_kib, self.weights_kib)
    }
}

/// Rows of all tables that have columns for activation RAM, weights and format, if both figures are numbers.
fn memory_rows(text: &str) -> Vec<MemoryRow> {
    let mut rows = Vec::new();
    let mut heads: Option<HeadingColumns> = None;
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            heads = None;
            continue;
        };
        match &heads {
            None => heads = Some(HeadingColumns::from_cells(&cells)),
            Some(heads) => rows.extend(heads.row(&cells)),
        }
    }
    rows
}

/// Cells of a row of a Markdown table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim().strip_prefix('|')?;
    let line = line.strip_suffix('|').unwrap_or(line);
    Some(line.split('|').map(str::trim).collect())
}

/// Indices of columns, found by their headings.
struct HeadingColumns {
    format: Option<usize>,
    activations: Option<usize>,
    weights: Option<usize>,
    code: Option<usize>,
    release: Option<usize>,
    board: Option<usize>,
}

impl HeadingColumns {
    fn from_cells(cells: &[&str]) -> Self {
        let column = |head: &str| cells.iter().position(|cell| cell.starts_with(head));
        Self {
            format: column("Format"),
            activations: column("Activation RAM"),
            weights: column("Weights Flash"),
            code: column("Code Flash"),
            release: column("STM32Cube.AI version").or_else(|| column("STEdgeAI Core version")),
            board: column("Series").or_else(|| column("Target Board")),
        }
    }

    fn row(&self, cells: &[&str]) -> Option<MemoryRow> {
        let cell = |column: Option<usize>| cells.get(column?).copied();
        let link = cells.first()?.split_once("](").map(|(_, after)| after);
        let link = link.and_then(|after| Some(after.split_once(')')?.0.to_owned()));
        Some(MemoryRow {
            release: major_and_minor(cell(self.release)?),
            board: cell(self.board).unwrap_or_default().to_owned(),
            format: cell(self.format)?.to_owned(),
            link,
            activations_kib: number(cell(self.activations)?)?,
            weights_kib: number(cell(self.weights)?)?,
            code_kib: cell(self.code).and_then(number),
        })
    }
}

/// `10.0.0` is release 10.0.
fn major_and_minor(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').take(2).collect();
    parts.join(".")
}

/// Parses `272.96 KiB`. `None` if the number is not positive or only approximate (`~21 KiB`).
fn number(cell: &str) -> Option<f64> {
    let number: f64 = cell.split_whitespace().next()?.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

fn rows(figures: &[Figures]) -> String {
    let mut text = String::from(
        "release network                                    activations     shown   weights      code\n",
    );
    for figure in figures {
        let off = |compared: &Compared| format!("{:+.2} %", compared.error_percent());
        text += &format!(
            "{:7} {:42} {:>11} {:>9} {:>9} {:>9}\n",
            figure.release,
            figure.network,
            off(&figure.activations),
            off(&figure.shown_activations),
            off(&figure.weights),
            figure.code.as_ref().map_or("-".to_owned(), off),
        );
    }
    text
}

fn markdown(reports: &ReadReports) -> String {
    let mut text = format!(
        "# Memory under ST Edge AI\n\nMade by `litecast-trainer evaluate-st-memory`, from tables of ST's model zoo and the \
         int8 files that they link to, each network once a release. Errors relative to ST's figures, uncapped, in \
         percent. Activation RAM is estimated by the rules of the row's release and board. \"Median shown\" is \
         the median error of the estimate for the newest release that has rules, 4.0, \"held\" the share of ST's figures in \
         its interval; a report shows that of its target's release. Left out: {} rows whose file is not there or not linked, {} of other formats.\n\n",
        reports.n_without_file, reports.n_not_int8
    );
    let heads = heads(
        "what | release",
        "networks | mean | median | p95 | worst | median shown | held",
    );
    text += &table(&heads, lines(&reports.figures));
    text
}

/// One figure of a network; `None` if ST does not give it.
type Part = fn(&Figures) -> Option<Compared>;

fn lines(figures: &[Figures]) -> Vec<Vec<String>> {
    let releases: BTreeSet<&str> = figures.iter().map(|f| f.release.as_str()).collect();
    let parts: [(&str, Part); 3] = [
        ("activation RAM", |figure| Some(figure.activations)),
        ("weights", |figure| Some(figure.weights)),
        ("code", |figure| figure.code),
    ];
    let mut lines = Vec::new();
    for (what, compared) in parts {
        for release in releases.iter().copied().map(Some).chain([None]) {
            let of_release = figures
                .iter()
                .filter(|figure| release.is_none_or(|release| figure.release == release));
            let of_release: Vec<&Figures> = of_release.collect();
            let errors = of_release.iter().filter_map(|figure| compared(figure));
            let errors = summarise_errors(errors.map(|c| c.error_percent()).collect());
            let shown = match what {
                "activation RAM" => shown(&of_release),
                _ => ["-".to_owned(), "-".to_owned()],
            };
            lines.push(line(what, release.unwrap_or("all"), &errors, shown));
        }
    }
    lines
}

/// Figures for the estimates of reports: the median error, and the share of ST's figures inside the interval.
fn shown(figures: &[&Figures]) -> [String; 2] {
    let errors = figures.iter().map(|f| f.shown_activations.error_percent());
    let errors = summarise_errors(errors.collect());
    let held = figures.iter().filter(|figure| figure.is_held).count();
    [
        format!("{:.3}", errors.median_percent),
        format!("{:.0} %", 100.0 * held as f64 / figures.len() as f64),
    ]
}

fn line(what: &str, release: &str, errors: &Errors, shown: [String; 2]) -> Vec<String> {
    let mut line = vec![
        what.to_owned(),
        release.to_owned(),
        errors.n.to_string(),
        format!("{:.2}", errors.mean_percent),
        format!("{:.3}", errors.median_percent),
        format!("{:.1}", errors.p95_percent),
        format!("{:.1}", errors.worst_percent),
    ];
    line.extend(shown);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_memory_are_read_and_others_are_not() {
        let text = "\
| Model | Format | Series | Activation RAM | Runtime RAM | Weights Flash | Code Flash | STM32Cube.AI version |
|---|---|---|---|---|---|---|---|
| [a net](./there/a_int8.tflite) | Int8 | STM32H7 | 272.5 KiB | 16 KiB | 214.75 KiB | 68 KiB | 10.0.0 |
| no link | Int8 | B-U585I-IOT02A | 12.5 KiB | ~21 KiB | 3 KiB | ~75 KiB | 7.3.0 |
| [no number](b.tflite) | Int8 | STM32H7 | | | 3 KiB | | 7.3.0 |

| Model | Format | Inference time | STM32Cube.AI version |
|---|---|---|---|
| [a net](./there/a_int8.tflite) | Int8 | 1 ms | 10.0.0 |
";
        let row =
            |link: Option<&str>, [release, board]: [&str; 2], kib: [f64; 2], code_kib| MemoryRow {
                release: release.to_owned(),
                board: board.to_owned(),
                format: "Int8".to_owned(),
                link: link.map(str::to_owned),
                activations_kib: kib[0],
                weights_kib: kib[1],
                code_kib,
            };
        let rows = memory_rows(text);
        assert_eq!(
            rows,
            [
                row(
                    Some("./there/a_int8.tflite"),
                    ["10.0", "STM32H7"],
                    [272.5, 214.75],
                    Some(68.0)
                ),
                row(None, ["7.3", "B-U585I-IOT02A"], [12.5, 3.0], None),
            ]
        );
        let tool = |release, device| StTool { release, device };
        assert_eq!(
            [rows[0].tool(), rows[1].tool()],
            [
                tool(StRelease::V10_0, StDevice::Stm32H7),
                tool(StRelease::V7_3, StDevice::Other),
            ]
        );
    }
}
