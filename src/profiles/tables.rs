//! Tools that print columns under a head, and tables of people.

use std::borrow::Cow;
use std::collections::HashSet;

use super::error::ProfileError;
use super::formats::{FORMATS, Format, SUMMED_KINDS};
use super::number::{
    duration_ms, duration_with_comma_ms, has_decimal_comma, has_open_comma, has_open_point, number,
    unit_ms,
};
use super::profile::{
    A_TABLE, ALL_OF_KIND, MeasuredInference, MeasuredOperator, Profile, is_delegate,
    is_of_accelerator,
};

/// Columns whose rows are whole networks.
const OF_MODELS: [&str; 3] = ["file", "model", "network"];

/// Words of headings of tables that repeat another one, sorted or summed: LiteRT's and MNN's.
const SUMMARIES: [&str; 5] = [
    "top by",
    "summary by node",
    "number of nodes",
    "slowest op",
    "sort by time cost",
];

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
    /// Column of how often it ran, of tools that print the mean of these runs.
    calls: Option<usize>,
    is_of_models: bool,
    n_columns: usize,
    has_rows: bool,
}

/// A row whose duration is another one if its comma or point stands between thousands, which other rows tell.
struct OpenRow {
    line_no: usize,
    line: String,
    has_comma: bool,
    /// Place of what it measured, which is one of both.
    operator_idx: Option<usize>,
    inference_idx: Option<usize>,
}

/// Reads lines one after another.
#[derive(Default)]
pub struct Reader {
    table: Option<Table>,
    /// Whether the tables are of the tool's start.
    is_initialisation: bool,
    /// Whether the table repeats another one, sorted or summed.
    is_summary: bool,
    /// Whether the tables are of a graph that an operator calls.
    is_called: bool,
    /// Operators that a delegate ran as one, and whether their own rows came later.
    has_delegated: bool,
    /// Whether a row of a person's table has a decimal comma.
    has_decimal_comma: bool,
    open_rows: Vec<OpenRow>,
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
        // A tab before the head is a column without a name.
        let line = line.trim_end().trim_start_matches(' ');
        if line.is_empty()
            || line.starts_with(['=', '-', '+'])
            || line.starts_with("Number of nodes")
        {
            self.read_heading(line, profile);
            let is_end = |table: &mut Table| line.starts_with('-') && table.has_rows;
            self.table
                .take_if(|table| !table.is_plain() && is_end(table));
            return Ok(true);
        }
        if self.read_heading(line, profile) {
            return Ok(true);
        }
        if let Some(table) = read_head(line, line_no, clock_mhz)? {
            // Tools print other tables behind that of durations, such as one of values' means.
            if table.is_plain() && !["", A_TABLE].contains(&profile.tool) {
                self.table = None;
                return Ok(true);
            }
            if !table.format.tool.is_empty() || profile.tool.is_empty() {
                profile.tool = match table.format.tool {
                    "" => A_TABLE,
                    tool => tool,
                };
            }
            profile.is_sorted |= table.format.tool == "MNN";
            self.table = Some(table);
            return Ok(true);
        }
        if self.is_initialisation || self.is_summary || self.is_called {
            return Ok(true);
        }
        let (n_operators, n_inferences) = (profile.operators.len(), profile.inferences.len());
        let duration = match &self.table {
            Some(table) => table.row(line, profile),
            None => line_without_head(line, profile),
        };
        let Some(duration) = duration else {
            return Ok(false);
        };
        if let Some(table) = &mut self.table {
            table.has_rows = true;
        }
        if self.table.as_ref().is_none_or(Table::is_plain) {
            self.has_decimal_comma |= has_decimal_comma(&duration);
            let has_comma = has_open_comma(&duration);
            if has_comma || has_open_point(&duration) {
                self.open_rows.push(OpenRow {
                    line_no,
                    line: line.to_owned(),
                    has_comma,
                    operator_idx: (profile.operators.len() > n_operators).then_some(n_operators),
                    inference_idx: (profile.inferences.len() > n_inferences)
                        .then_some(n_inferences),
                });
            }
        }
        Ok(true)
    }

    /// What stands between the tables of one text.
    fn read_heading(&mut self, line: &str, profile: &Profile) -> bool {
        // Each of them has one of these, and most rows have none.
        if !line.contains([' ', ':']) {
            return false;
        }
        let words = line.to_lowercase();
        let says = |word: &str| words.contains(word);
        if says("initialization:") {
            self.is_initialisation = true;
        } else if SUMMARIES.iter().any(|&summary| says(summary)) {
            self.is_summary = true;
        } else if says("subgraph (index") {
            // What it runs is in the row of the operator that calls it.
            self.is_called = !profile.operators.is_empty();
        } else if says("run order") || says("sort by node name") {
            self.is_summary = false;
        } else if says("regular benchmark runs") {
            self.is_initialisation = false;
            self.is_called = false;
        } else if says("delegate internal") {
            self.has_delegated |= !self.is_initialisation;
            self.is_called = false;
        } else {
            return false;
        }
        self.table = None;
        true
    }

    /// Where the rows of a delegate's own operators came, the row of the delegate is their sum. `unread` is told of rows
    /// whose point is beside decimal commas, or whose comma no other row tells to be a decimal one: they count as not read.
    pub fn close(
        self,
        profile: &mut Profile,
        mut unread: impl FnMut(&mut Profile, usize, &str, &str),
    ) -> Result<(), ProfileError> {
        let open_rows = self.open_rows.iter();
        let mut is_incomplete = false;
        for row in open_rows.filter(|row| row.has_comma != self.has_decimal_comma) {
            // No duration is accepted that is no number.
            let operator = row
                .operator_idx
                .and_then(|idx| profile.operators.get_mut(idx));
            let operator_ms = operator.map(|operator| &mut operator.duration_ms);
            let inference = row
                .inference_idx
                .and_then(|idx| profile.inferences.get_mut(idx));
            let inference_ms = inference.map(|inference| &mut inference.duration_ms);
            for duration_ms in operator_ms.into_iter().chain(inference_ms) {
                *duration_ms = f64::NAN;
            }
            let expected = match row.has_comma {
                true => "a decimal point, or another row that tells what the comma is",
                false => "a decimal comma, as other rows have",
            };
            unread(profile, row.line_no, &row.line, expected);
            is_incomplete |= row.operator_idx.is_some();
        }
        if is_incomplete && profile.inferences.is_empty() {
            let unread = profile.unread.first().cloned();
            return Err(ProfileError::Incomplete(unread.unwrap_or_default()));
        }
        // Rows are many of each kind.
        let kinds: HashSet<&str> = profile.operators.iter().map(|one| &*one.kind).collect();
        profile.is_of_accelerator = kinds.into_iter().any(is_of_accelerator);
        if self.has_delegated {
            (profile.operators).retain(|operator| !is_delegate(&operator.kind));
        }
        // Of several runs, where the tool prints calls of all of them.
        let is_told =
            |operator: &&mut MeasuredOperator| (1..ALL_OF_KIND).contains(&operator.n_calls);
        let told = profile.operators.iter_mut().filter(is_told);
        let n_runs = told.map(|operator| operator.n_calls).min().unwrap_or(1);
        for operator in profile.operators.iter_mut().filter(is_told) {
            operator.n_calls /= n_runs;
            operator.duration_ms *= operator.n_calls as f64;
        }
        // Sums by kind repeat the operators, where these came as well.
        let is_sum = |operator: &MeasuredOperator| operator.n_calls == ALL_OF_KIND;
        if !profile.operators.iter().all(is_sum) {
            profile.operators.retain(|operator| !is_sum(operator));
        }
        Ok(())
    }
}

/// `file, 12.5` without a head: the duration as it is written.
fn line_without_head<'l>(line: &'l str, profile: &mut Profile) -> Option<Cow<'l, str>> {
    let separator = *SEPARATORS[..3].iter().find(|&&c| line.contains(c))?;
    let mut cells = cells(line, separator);
    if cells.len() > 3 {
        return None;
    }
    let time = cells.pop()?;
    let name = cells.pop()?;
    if number(&name).is_some() {
        return None;
    }
    let duration_ms = duration_with_comma_ms(&time, 1.0)?;
    if profile.tool.is_empty() {
        profile.tool = A_TABLE;
    }
    profile.inferences.push(MeasuredInference {
        name: name.into_owned(),
        duration_ms,
    });
    Some(time)
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
    fn find(format: &Format, written: &[Cow<str>], names: &[String]) -> Option<Self> {
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
            kind,
            time,
            unit_ms: in_head.filter(|_| is_plain).or(ms),
        })
    }
}

/// The head of a table, if the line is one.
fn read_head(
    line: &str,
    line_no: usize,
    clock_mhz: Option<f64>,
) -> Result<Option<Table>, ProfileError> {
    for &separator in &SEPARATORS {
        if !separates(separator, line) {
            continue;
        }
        let written = match line.contains("] [") {
            // Columns of LiteRT's head are one space apart or more.
            true => {
                let cells = line.split('[').skip(1).map(trimmed);
                cells.take(MAX_CELLS + 1).collect()
            }
            false => cells(line, separator),
        };
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
                calls: (!is_plain)
                    .then(|| names.iter().position(|name| name == "timescalled"))
                    .flatten(),
                is_of_models: is_plain && columns.name.is_some_and(is_model),
                n_columns: names.len(),
                has_rows: false,
            }));
        }
    }
    Ok(None)
}

impl Table {
    /// Whether a person wrote it.
    fn is_plain(&self) -> bool {
        self.format.tool.is_empty()
    }

    /// The duration as it is written; empty where a row is not to be read.
    fn row<'l>(&self, line: &'l str, profile: &mut Profile) -> Option<Cow<'l, str>> {
        let cells = cells(line, self.separator);
        // A decimal comma between commas makes two cells of a number.
        if self.is_plain()
            && self.separator != ' '
            && (cells.iter().skip(self.n_columns)).any(|cell| !cell.is_empty())
        {
            return None;
        }
        let cell = |idx: Option<usize>| idx.and_then(|idx| cells.get(idx)).map_or("", |cell| cell);
        let time = cells.get(self.time).cloned().unwrap_or_default();
        let duration_ms = match self.is_plain() {
            true => duration_with_comma_ms(&time, self.unit_ms)?,
            false => duration_ms(&time, self.unit_ms)?,
        };
        let (name, kind) = (cell(self.name), cell(self.kind));
        let is_of = |names: &[&str]| {
            names
                .iter()
                .any(|other| name.starts_with(other) || kind.starts_with(other))
        };
        if is_of(self.format.passed_over) {
            return Some(Cow::default());
        }
        // An operator may be a sum, which has a kind.
        let is_total = || match &*plain(name) {
            "total" => true,
            "sum" => kind.is_empty(),
            _ => false,
        };
        if self.is_of_models || is_of(self.format.whole) || self.is_plain() && is_total() {
            profile.inferences.push(MeasuredInference {
                name: if self.is_of_models {
                    name.to_owned()
                } else {
                    String::new()
                },
                duration_ms,
            });
            return Some(time);
        }
        // LiteRT prints `[name of the output]:position`, and of a delegate's operators their positions in the delegate.
        let (name, operator_idx) = match name.rsplit_once("]:") {
            Some(("[Delegate", _)) => ("", None),
            Some((name, idx)) => (name.trim_start_matches('['), idx.trim().parse().ok()),
            None => (name, None),
        };
        let kind = match kind {
            // ExecuTorch's operators without a record of the export.
            "[]" => name,
            "DelegateOpInvoke" => name.rsplit_once(':').map_or(name, |(kind, _)| kind),
            kind => kind,
        };
        let n_calls = match self.format.kind {
            [SUMMED_KINDS] => ALL_OF_KIND,
            _ => cell(self.calls).parse().unwrap_or(0),
        };
        profile.operators.push(MeasuredOperator {
            name: name.to_owned(),
            kind: kind.trim_start_matches("Delegate/").to_owned(),
            operator_idx,
            n_calls,
            duration_ms,
            ..MeasuredOperator::default()
        });
        Some(time)
    }
}

/// In lower case, letters and digits alone, with `us` for microseconds.
fn plain(cell: &str) -> String {
    let letters = cell.chars().filter(|c| c.is_alphanumeric());
    let letters = letters.flat_map(char::to_lowercase);
    letters
        .map(|c| if matches!(c, 'µ' | 'μ') { 'u' } else { c })
        .collect()
}

/// A line of more cells is none of a table.
const MAX_CELLS: usize = 1024;

/// Columns that spaces align are so many apart, or more.
const BETWEEN_COLUMNS: &str = "  ";

/// Whether a line may have more than one cell.
fn separates(separator: char, line: &str) -> bool {
    match separator {
        // What is quoted between spaces does not count.
        ' ' => line.contains(BETWEEN_COLUMNS) || line.contains('"'),
        _ => line.contains(separator),
    }
}

/// The first cells of a line, without quotes and the space around them. Columns that spaces align are two or more apart.
fn cells(line: &str, separator: char) -> Vec<Cow<'_, str>> {
    let line = line.trim_matches('|');
    if line.contains('"') {
        return cells_with_quotes(line, separator);
    }
    if separator == ' ' {
        let texts = line.split(BETWEEN_COLUMNS);
        let cells = texts.filter(|text| !text.trim_matches(' ').is_empty());
        return cells.take(MAX_CELLS + 1).map(trimmed).collect();
    }
    let mut texts = line.split(separator);
    let mut cells: Vec<_> = texts.by_ref().take(MAX_CELLS).map(trimmed).collect();
    cells.extend(texts.next().map(|_| Cow::default()));
    cells
}

fn trimmed(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text.trim())
}

fn cells_with_quotes(line: &str, separator: char) -> Vec<Cow<'_, str>> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut n_spaces = 0;
    for c in line.chars() {
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
    let trimmed = cells.iter().map(|cell| Cow::Owned(cell.trim().to_owned()));
    trimmed.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Lines without quotes are split in another way than those with quotes.
        #[test]
        fn cells_are_those_that_characters_tell(line in "[ab1é,;|\t ]{0,40}") {
            for separator in SEPARATORS {
                let line = line.trim();
                let actual = cells(line, separator);
                let expected = cells_with_quotes(line.trim_matches('|'), separator);
                // A line of spaces has no cell, where characters tell of an empty one.
                let expected = if actual.is_empty() { Vec::new() } else { expected };
                prop_assert_eq!(&actual, &expected);
                prop_assert!(actual.len() < 2 || separates(separator, line));
            }
        }
    }

    #[test]
    fn a_line_of_many_cells_is_longer_than_any_table() {
        for (line, separator) in [("a,".repeat(3000), ','), ("a  ".repeat(3000), ' ')] {
            let (actual, expected) = (cells(&line, separator), cells_with_quotes(&line, separator));
            assert_eq!(actual.len(), expected.len());
            assert_eq!(actual.len(), MAX_CELLS + 1);
        }
    }
}
