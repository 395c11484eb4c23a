//! A table as Markdown.

/// A column's head, and whether its cells are numbers, which stand to the right.
pub enum Head {
    Text(&'static str),
    Number(&'static str),
}

/// The table; what would end a cell is escaped.
pub fn table(heads: &[Head], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let names = heads.iter().map(|head| match head {
        Head::Text(name) | Head::Number(name) => (*name).to_owned(),
    });
    let rules = heads.iter().map(|head| match head {
        Head::Text(_) => "---".to_owned(),
        Head::Number(_) => "---:".to_owned(),
    });
    let mut text = row(names) + &row(rules);
    for cells in rows {
        text += &row(cells.into_iter().map(|cell| escape(&cell)));
    }
    text
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
        let found = table(
            &[Head::Text("reason"), Head::Number("n")],
            [vec!["a|b\nc".to_owned(), "3".to_owned()]],
        );
        assert_eq!(found, "| reason | n |\n| --- | ---: |\n| a\\|b c | 3 |\n");
    }
}
