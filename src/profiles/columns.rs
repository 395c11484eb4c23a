//! Tools that print columns under a head, and tables of people.

use super::error::ProfileError;
use super::formats::{FORMATS, Format};
use super::number::{duration_ms, number, unit_ms};
use super::profile::{MeasuredInference, MeasuredOperator, Profile};

/// Columns whose rows are whole networks.
const OF_MODELS: [&str; 3] = ["file", "model", "network"];

/// Separators in the order in which they are looked for; spaces are those of a table that is aligned by them.
const SEPARATORS: [char; 5] = ['\t', ';', ',', '|', ' '];

/// The table that is being read.
struct Table {
    format: &'static Format,
    separator: char,
    name: Option<usize>,
    kind: Option<usize>,
    time: usize,
    unit_ms: f64,
    is_of_models: bool,
}

/// Reads lines one after another.
#[derive(Default)]
pub struct Reader {
    table: Option<Table>,
    /// Whether the tables are of the tool's start.
    is_initialisation: bool,
    /// Whether the table repeats another one, sorted or summed.
    is_summary: bool,
    /// Operators that a delegate ran as one, and whether their own rows came later.
    has_delegated: bool,
}

impl Reader {
    /// Whether a line is expected to be a row.
    pub fn is_open(&self) -> bool {
        self.table.is_some()
    }

    /// Reads a line into `profile`; false where it should be a row and is not.
    pub fn read(
        &mut self,
        line_no: usize,
        line: &str,
        clock_mhz: Option<f64>,
        profile: &mut Profile,
    ) -> Result<bool, ProfileError> {
        let line = line.trim();
        if line.is_empty()
            || line.starts_with(['=', '-', '+'])
            || line.starts_with("Number of nodes")
        {
            self.heading(line);
            return Ok(true);
        }
        if self.heading(line) {
            return Ok(true);
        }
        if let Some(table) = head(line, line_no, clock_mhz)? {
            if !table.format.tool.is_empty() || profile.tool.is_empty() {
                profile.tool = match table.format.tool {
                    "" => "a table",
                    tool => tool,
                };
            }
            self.table = Some(table);
            return Ok(true);
        }
        if self.is_initialisation || self.is_summary {
            return Ok(true);
        }
        let Some(table) = &self.table else {
            return Ok(self.headless(line, profile));
        };
        Ok(table.row(line, profile))
    }

    /// What stands between the tables of one text.
    fn heading(&mut self, line: &str) -> bool {
        let words = line.to_lowercase();
        let says = |word: &str| words.contains(word);
        if says("initialization:") {
            self.is_initialisation = true;
        } else if says("top by") || says("summary by node") || says("number of nodes") {
            self.is_summary = true;
        } else if says("run order") {
            self.is_summary = false;
        } else if says("regular benchmark runs") {
            self.is_initialisation = false;
        } else if says("delegate internal") {
            self.has_delegated |= !self.is_initialisation;
        } else {
            return false;
        }
        self.table = None;
        true
    }

    /// `file, 12.5` without a head.
    fn headless(&self, line: &str, profile: &mut Profile) -> bool {
        let separator = SEPARATORS[..3].iter().find(|&&c| line.contains(c));
        let Some(&separator) = separator else {
            return false;
        };
        let cells = cells(line, separator);
        let (Some(time), Some(name)) = (
            cells.last(),
            cells.len().checked_sub(2).and_then(|idx| cells.get(idx)),
        ) else {
            return false;
        };
        let Some(duration_ms) =
            duration_ms(time, 1.0).filter(|_| cells.len() <= 3 && number(name).is_none())
        else {
            return false;
        };
        if profile.tool.is_empty() {
            profile.tool = "a table";
        }
        profile.inferences.push(MeasuredInference {
            name: name.clone(),
            duration_ms,
        });
        true
    }

    /// Where the rows of a delegate's own operators came, the row of the delegate is their sum.
    pub fn close(self, profile: &mut Profile) {
        if self.has_delegated {
            let is_delegate =
                |operator: &MeasuredOperator| operator.kind.to_lowercase().contains("delegate");
            profile.operators.retain(|operator| !is_delegate(operator));
        }
    }
}

/// Places of the columns that are read, and the milliseconds of the duration's unit; `None` for cycles.
struct Columns {
    name: Option<usize>,
    kind: Option<usize>,
    time: usize,
    unit_ms: Option<f64>,
}

impl Columns {
    /// The columns of a head in the words `written`, if the format has it. `names` are the words without all but letters
    /// and digits.
    fn find(format: &Format, written: &[String], names: &[String]) -> Option<Self> {
        let place = |columns: &[&str]| {
            columns
                .iter()
                .find_map(|column| names.iter().position(|name| name == column))
        };
        let is_there = |mark: &&str| names.iter().any(|name| name.starts_with(mark));
        if !format.marks.iter().all(is_there) {
            return None;
        }
        let is_plain = format.tool.is_empty();
        let is_time = |name: &str, column: &str| {
            name == column
                || (is_plain
                    && column.len() > 1
                    && (name.ends_with(column) || name.starts_with(column)))
                || (!is_plain && column == "ticks" && name.contains(column))
        };
        let (time, ms) = format.time.iter().find_map(|(column, ms)| {
            let idx = names.iter().position(|name| is_time(name, column))?;
            Some((idx, *ms))
        })?;
        let [name, kind] = [format.name, format.kind].map(place);
        if is_plain && (name.or(kind).is_none() || name == Some(time)) {
            return None;
        }
        let in_head = unit_ms(written[time].to_lowercase().trim_end_matches([')', ']']));
        Some(Self {
            name,
            kind: kind.or_else(|| place(&["uniquetag"])),
            time,
            unit_ms: in_head.filter(|_| is_plain).or(ms),
        })
    }
}

/// The head of a table, if the line is one.
fn head(line: &str, line_no: usize, clock_mhz: Option<f64>) -> Result<Option<Table>, ProfileError> {
    for &separator in &SEPARATORS {
        if separator != ' ' && !line.contains(separator) {
            continue;
        }
        let written = cells(line, separator);
        // A number is no head.
        if !(2..=MAX_CELLS).contains(&written.len())
            || written.iter().any(|cell| number(cell).is_some())
        {
            continue;
        }
        let names: Vec<String> = written.iter().map(|cell| plain(cell)).collect();
        for format in FORMATS {
            let Some(columns) = Columns::find(format, &written, &names) else {
                continue;
            };
            let is_plain = format.tool.is_empty();
            let unit_ms = columns.unit_ms.or_else(|| Some(1e-3 / clock_mhz?));
            let no_clock = || ProfileError::NoClock {
                line: line_no,
                tool: if is_plain { "the table" } else { format.tool },
            };
            let is_model = |idx: usize| OF_MODELS.contains(&names[idx].as_str());
            return Ok(Some(Table {
                format,
                separator,
                name: columns.name,
                kind: columns.kind,
                time: columns.time,
                unit_ms: unit_ms.ok_or_else(no_clock)?,
                is_of_models: is_plain && columns.name.is_some_and(is_model),
            }));
        }
    }
    Ok(None)
}

impl Table {
    fn row(&self, line: &str, profile: &mut Profile) -> bool {
        let cells = cells(line, self.separator);
        let cell = |idx: Option<usize>| {
            idx.and_then(|idx| cells.get(idx))
                .map_or("", String::as_str)
        };
        let Some(duration_ms) = duration_ms(cell(Some(self.time)), self.unit_ms) else {
            return false;
        };
        let (name, kind) = (cell(self.name), cell(self.kind));
        let is_of = |names: &[&str]| {
            names
                .iter()
                .any(|other| name.starts_with(other) || kind.starts_with(other))
        };
        if is_of(self.format.passed_over) {
            return true;
        }
        if self.is_of_models || is_of(self.format.whole) {
            profile.inferences.push(MeasuredInference {
                name: if self.is_of_models {
                    name.to_owned()
                } else {
                    String::new()
                },
                duration_ms,
            });
            return true;
        }
        // LiteRT prints `[name of the output]:position`.
        let (name, operator_idx) = match name.rsplit_once("]:") {
            Some((name, idx)) => (name.trim_start_matches('['), idx.trim().parse().ok()),
            None => (name, None),
        };
        profile.operators.push(MeasuredOperator {
            name: name.to_owned(),
            kind: kind.to_owned(),
            output_shape: Vec::new(),
            operator_idx,
            duration_ms,
        });
        true
    }
}

/// In lower case, letters and digits alone.
fn plain(cell: &str) -> String {
    let letters = cell.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// A line of more cells is none of a table.
const MAX_CELLS: usize = 1024;

/// The first cells of a line, without quotes and the space around them. Columns that spaces align are two or more apart.
fn cells(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut n_spaces = 0;
    for c in line.trim_matches('|').chars() {
        if cells.len() > MAX_CELLS {
            break;
        }
        let is_space = separator == ' ' && c == ' ';
        if c == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && is_space {
            n_spaces += 1;
        } else if !is_quoted && c == separator {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            match n_spaces {
                0 => cell.push(c),
                1 => cell.extend([' ', c]),
                _ if cell.is_empty() => cell.push(c),
                _ => cells.push(c.to_string()),
            }
            n_spaces = 0;
        }
    }
    for cell in &mut cells {
        cell.truncate(cell.trim_end().len());
        let n_before = cell.len() - cell.trim_start().len();
        cell.drain(..n_before);
    }
    cells
}
