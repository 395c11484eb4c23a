//! Facts, and reports for spreadsheets and browsers.

use std::fs;

use serde_json::Value;

use super::*;

/// Counted here from the operators, and by the table.
#[test]
fn facts_add_up() {
    for file in examples() {
        let report = json_lines(&litecast(&["facts", "--json", path(&file)])).remove(0);
        assert_eq!(report["results"], Value::Array(vec![]));
        let operators = report["operators"].as_array().unwrap();
        let sum = |field: &str| {
            operators
                .iter()
                .map(|o| o[field].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(report["model"]["n_operators"], operators.len());
        assert_eq!(report["model"]["macs"], sum("macs"));
        assert_eq!(
            report["model"]["file_bytes"],
            fs::metadata(&file).unwrap().len()
        );
        let text = stdout(&litecast(&["facts", path(&file)]));
        let convolutions = operators.iter().filter(|o| o["name"] == "CONV_2D").count();
        let row = text.lines().find(|line| line.starts_with("CONV_2D "));
        let count = row.and_then(|row| row.split_whitespace().nth(1));
        assert_eq!(count.unwrap_or("0"), convolutions.to_string(), "{text}");
    }
}

/// Fields of a line of CSV, without their quotes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            character => fields.last_mut().unwrap().push(character),
        }
    }
    fields
}

#[test]
fn rows_for_spreadsheets_have_the_numbers_of_the_reports() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("=bad,.tflite");
    fs::write(&bad, "nothing").unwrap();
    let good = examples().remove(0);
    let args = ["--target", NPU, path(&good), path(&bad)];
    let report = json_lines(&litecast(&[&["predict", "--json"], &args[..]].concat())).remove(0);
    let output = litecast(&[&["predict", "--csv"], &args[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let lines: Vec<&str> = text.split("\r\n").collect();
    let header = fields(lines[0]);
    let results = report["results"].as_array().unwrap();
    assert_eq!(lines.len(), 1 + results.len() + 1 + 1, "{text}");
    for (line, result) in lines[1..].iter().zip(results) {
        let fields = fields(line);
        let field = |name: &str| &fields[header.iter().position(|column| *column == name).unwrap()];
        assert_eq!(*field("metric"), result["metric"]);
        let value: f64 = field("value").parse().unwrap();
        assert_eq!(value, result["value"].as_f64().unwrap());
    }
    let last = lines[lines.len() - 2];
    assert!(
        last.contains("=bad,.tflite\",") && last.contains(",truncated,"),
        "{last}"
    );
}

/// Every fact of a report's file and operators has a column, so that a fact added later needs one.
#[test]
fn rows_of_facts_have_every_fact() {
    for file in examples() {
        let report = json_lines(&litecast(&["facts", "--json", path(&file)])).remove(0);
        let table = |args: &[&str]| {
            let text = stdout(&litecast(
                &[&["facts", "--csv", path(&file)], args].concat(),
            ));
            let rows: Vec<Vec<String>> = text.lines().map(fields).collect();
            rows
        };
        let rows = table(&[]);
        assert_eq!(rows.len(), 2, "a row for the file");
        let field = |name: &str| {
            let at = rows[0].iter().position(|column| *column == name);
            &rows[1][at.unwrap_or_else(|| panic!("no column {name}"))]
        };
        for (name, value) in report["model"].as_object().unwrap() {
            // All subgraphs, one after another, are no field of a row.
            if name == "subgraphs" {
                continue;
            }
            let column = if name == "n_operators" {
                "operators"
            } else {
                name
            };
            let actual = field(column);
            match value {
                Value::Number(number) => assert_eq!(*actual, number.to_string(), "{name}"),
                Value::String(text) => assert_eq!(actual, text, "{name}"),
                Value::Null => assert_eq!(actual, "", "{name}"),
                Value::Array(items) => {
                    let n = actual.split("; ").filter(|item| !item.is_empty()).count();
                    assert_eq!(n, items.len(), "{name}: {actual}");
                }
                other => panic!("{name}: {other}"),
            }
        }
        let rows = table(&["--operators"]);
        let operators = report["operators"].as_array().unwrap();
        assert_eq!(rows.len(), operators.len() + 1);
        for (row, operator) in rows[1..].iter().zip(operators) {
            let field = |name: &str| {
                let at = rows[0].iter().position(|column| *column == name);
                &row[at.unwrap_or_else(|| panic!("no column {name}"))]
            };
            assert_eq!(*field("operator"), operator["name"]);
            for (name, value) in operator.as_object().unwrap() {
                if let Value::Number(number) = value {
                    assert_eq!(*field(name), number.to_string(), "{name}");
                }
            }
        }
    }
}

/// The parts of each target add up to its latency, and operators on the processor say why.
#[test]
fn rows_of_operators_have_their_part_of_every_latency() {
    let file = examples().remove(0);
    let targets = ["--target", NPU, "--target", "cortex-a76-rpi5", path(&file)];
    let report = json_lines(&litecast(&[&["predict", "--json"], &targets[..]].concat())).remove(0);
    let args = [&["predict", "--csv", "--operators"], &targets[..]].concat();
    let text = stdout(&litecast(&args));
    let rows: Vec<Vec<String>> = text.lines().map(fields).collect();
    let column = |name: &str| rows[0].iter().position(|header| *header == name).unwrap();
    let n_operators = report["operators"].as_array().unwrap().len();
    assert_eq!(rows.len(), 1 + 2 * n_operators);
    for target in [NPU, "cortex-a76-rpi5"] {
        let of_target = || {
            rows[1..]
                .iter()
                .filter(|row| row[column("target")] == target)
        };
        let sum = |name: &str| -> f64 {
            let numbers = of_target().map(|row| row[column(name)].parse::<f64>().unwrap());
            numbers.sum()
        };
        let metric = of_target().next().unwrap()[column("metric")].clone();
        let whole = estimate(&report, target, &metric, "value");
        let [value, share] = ["value", "share_percent"].map(sum);
        println!("{target}: {value} of {whole} ms, {share} %");
        assert!((value / whole - 1.0).abs() < 1e-4 && (share - 100.0).abs() < 0.01);
    }
}

#[test]
fn a_page_needs_nothing_but_itself_and_has_names_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("<img onerror=a()>.tflite");
    fs::copy(&examples()[0], &file).unwrap();
    let html = stdout(&litecast(&["predict", "--html", path(&file), "/nowhere"]));
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(html.contains("&lt;img onerror=a()&gt;.tflite</h2>"));
    assert!(html.contains("ethos-u55-256") && html.contains("No report: "));
    for word in ["<img", "<script", "http://", "https://", "<link", " src="] {
        assert!(!html.contains(word), "{word}");
    }
    let [opened, closed] = ["<table>", "</table>"].map(|tag| html.matches(tag).count());
    assert_eq!((opened, closed), (2, 2));
}
