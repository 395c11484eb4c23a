//! Columns of text that fit a terminal.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};
use textwrap::core::display_width;

use super::terminal::{bold, plain};

/// Between two columns.
const GAP: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: Kind,
    /// Whether the column is left out if the terminal is too narrow for all columns.
    is_optional: bool,
}

/// Rows under a header. If they do not fit, optional columns are removed, the last one first. Then cells wrap: between
/// words if that is enough, and texts before numbers.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn text(self, name: &str) -> Self {
        self.column(name, Kind::Text, false)
    }

    pub fn number(self, name: &str) -> Self {
        self.column(name, Kind::Number, false)
    }

    pub fn optional_text(self, name: &str) -> Self {
        self.column(name, Kind::Text, true)
    }

    pub fn optional_number(self, name: &str) -> Self {
        self.column(name, Kind::Number, true)
    }

    fn column(mut self, name: &str, kind: Kind, is_optional: bool) -> Self {
        self.columns.push(Column {
            name: name.to_owned(),
            kind,
            is_optional,
        });
        self
    }

    /// One cell for each column. Terminal control characters are removed from names from files.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| plain(&cell)).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Lines of at most `width` columns, the header in bold, and the names of what was left out.
    pub fn render(&self, width: usize) -> (String, Vec<&str>) {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        while self.natural_width(&kept) > width {
            let Some(at) = kept.iter().rposition(|&idx| self.columns[idx].is_optional) else {
                break;
            };
            left_out.push(self.columns[kept.remove(at)].name.as_str());
        }
        left_out.reverse();
        (self.lines(&kept, width), left_out)
    }

    /// As [`Self::render`], without saying what was left out.
    pub fn lines_of(&self, width: usize) -> String {
        self.render(width).0
    }

    fn natural_width(&self, kept: &[usize]) -> usize {
        let widest = |&idx: &usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(idx));
            let cells = cells.map(|cell| display_width(cell));
            cells
                .max()
                .unwrap_or(0)
                .max(display_width(&self.columns[idx].name))
                + GAP
        };
        kept.iter().map(widest).sum::<usize>().saturating_sub(GAP)
    }

    /// Of each column, with the gap behind it, so that no id breaks, nor a number where there is room for all; none where
    /// the columns do not fit even with a word a line.
    fn least_widths(&self, kept: &[usize], width: usize) -> Option<Vec<usize>> {
        let longest_word = |text: &str| text.split(' ').map(display_width).max().unwrap_or(0);
        let least = |&idx: &usize, are_numbers_whole: bool| {
            let column = &self.columns[idx];
            let is_whole = are_numbers_whole && column.kind == Kind::Number;
            let cells = self.rows.iter().filter_map(|row| row.get(idx));
            let cells = cells.map(|cell| {
                if is_whole {
                    display_width(cell)
                } else {
                    longest_word(cell)
                }
            });
            cells.max().unwrap_or(0).max(longest_word(&column.name)) + GAP
        };
        [true, false].into_iter().find_map(|are_numbers_whole| {
            let widths = kept.iter().map(|idx| least(idx, are_numbers_whole));
            let widths: Vec<usize> = widths.collect();
            (widths.iter().sum::<usize>() <= width).then_some(widths)
        })
    }

    fn lines(&self, kept: &[usize], width: usize) -> String {
        let mut table = comfy_table::Table::new();
        // Its own padding ends a line, which is trimmed.
        let width = u16::try_from(width + GAP).unwrap_or(u16::MAX);
        table
            .load_preset(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width)
            .set_header(kept.iter().map(|&idx| &self.columns[idx].name));
        for row in &self.rows {
            table.add_row(kept.iter().filter_map(|&idx| row.get(idx)));
        }
        let least = self.least_widths(kept, usize::from(width));
        for (at, &idx) in kept.iter().enumerate() {
            if let Some(column) = table.column_mut(at) {
                column.set_padding((0, GAP as u16));
                let least = least
                    .as_ref()
                    .and_then(|least| u16::try_from(least[at]).ok());
                if let Some(least) = least {
                    column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
                }
                if self.columns[idx].kind == Kind::Number {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        let mut text = String::new();
        for (idx, line) in table.lines().enumerate() {
            let line = line.trim_end();
            text += &if idx == 0 {
                bold(line)
            } else {
                line.to_owned()
            };
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default()
            .text("target")
            .number("latency")
            .optional_text("source");
        let row = ["ethos-u55-256", "139 µs", "ethos-u-vela 5.2.0, Shared_Sram"];
        table.row(row.map(str::to_owned));
        table
    }

    #[test]
    fn a_narrow_terminal_goes_without_what_is_optional() {
        let table = table();
        let (wide, left_out) = table.render(60);
        assert!(left_out.is_empty());
        assert!(
            wide.contains("ethos-u55-256   139 µs  ethos-u-vela 5.2.0, Shared_Sram\n"),
            "{wide}"
        );
        let (narrow, left_out) = table.render(30);
        assert_eq!(left_out, ["source"]);
        assert!(narrow.contains("ethos-u55-256   139 µs\n"), "{narrow}");
    }

    #[test]
    fn ids_stay_whole_as_long_as_a_word_fits_each_column() {
        let mut table = Table::default()
            .text("target")
            .text("what it is")
            .number("latency")
            .number("interval");
        let row = [
            "cortex-a7-stm32mp157",
            "a board of words",
            "12.5 ms",
            "8.94 … 17.6 ms",
        ];
        table.row(row.map(str::to_owned));
        // 46 columns hold the longest word of each, with gaps of two.
        for width in 46..=66 {
            let lines = table.lines_of(width);
            assert!(lines.contains("cortex-a7-stm32mp157 "), "{width}:\n{lines}");
            let widest = lines.lines().skip(1).map(display_width).max();
            assert!(widest <= Some(width), "{width}: {widest:?}\n{lines}");
        }
        let lines = table.lines_of(55);
        assert!(lines.contains("12.5 ms  8.94 … 17.6 ms\n"), "{lines}");
    }
}
