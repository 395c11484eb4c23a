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
        let field = |name: &str| &fields[header.iter().position(|found| *found == name).unwrap()];
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
