//! Tables as Markdown.

use std::borrow::Cow;

/// A column's heading, and whether its cells are numbers, which are aligned to the right.
#[derive(Clone)]
pub struct Head<'h> {
    name: Cow<'h, str>,
    is_number: bool,
}

impl<'h> Head<'h> {
    /// A column that is aligned to the left.
    pub fn text(name: impl Into<Cow<'h, str>>) -> Self {
        Self {
            name: name.into(),
            is_number: false,
        }
    }

    /// A column that is aligned to the right.
    pub fn number(name: impl Into<Cow<'h, str>>) -> Self {
        Self {
            name: name.into(),
            is_number: true,
        }
    }
}

/// Headings of columns of text, and behind them those of columns of numbers, with bars between them.
pub fn heads(texts: &'static str, numbers: &'static str) -> Vec<Head<'static>> {
    let names = |list: &'static str| list.split(" | ").filter(|name| !name.is_empty());
    let numbers = names(numbers).map(Head::number);
    names(texts).map(Head::text).chain(numbers).collect()
}

/// The table; characters that would end a cell are escaped.
pub fn table(heads: &[Head], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule = |head: &Head| if head.is_number { "---:" } else { "---" };
    let mut text = row(heads.iter().map(|head| head.name.to_string()))
        + &row(heads.iter().map(|head| rule(head).to_owned()));
    for cells in rows {
        text += &row(cells.into_iter().map(|cell| escape(&cell)));
    }
    text
}

/// A cell with an error; a dash if there is none.
pub fn percent(error: Option<f64>) -> String {
    error.map_or("-".to_owned(), |error| format!("{error:.2} %"))
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_end_its_row() {
        let cells = vec!["a|b\nc".to_owned(), percent(None), percent(Some(0.126))];
        let actual = table(&heads("reason", "n | error"), [cells]);
        let expected = "| reason | n | error |\n| --- | ---: | ---: |\n| a\\|b c | - | 0.13 % |\n";
        assert_eq!(actual, expected);
    }
}
