//! Reports as one page that opens from disk: no scripts, no requests, text as text.

use std::fmt::Write;
use std::path::PathBuf;

use super::document::{Document, Outcome, TargetResult};
use super::terminal::plain;
use super::{quantity, sections, words};
use litecast::report::Failure;

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1000px; margin: 24px auto; padding: 0 16px; }
h2 { margin: 40px 0 4px; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 12px 0; }
th, td { padding: 3px 16px 3px 0; text-align: left; vertical-align: top; border-bottom: 1px solid #8884; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .subtle { opacity: .75; } .error { color: light-dark(#b3261e, #ff8a80); }
summary { cursor: pointer; margin: 8px 0; } meter { width: 8em; }
";

/// The page up to the first section.
pub fn head(files: &[PathBuf]) -> String {
    let title = match files {
        [file] => escaped(&file.to_string_lossy()),
        files => words::plural(files.len(), "file"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} · LiteCast</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>What {title} will cost</h1>\n\
         <p class=\"subtle\">Estimated by LiteCast {}. Each estimate has an interval and says where it comes \
         from; none is a measurement of your board.</p>\n",
        env!("CARGO_PKG_VERSION")
    )
}

pub const FOOT: &str = "</body>\n</html>\n";

/// One file.
pub fn section(document: &Document) -> String {
    let mut html = format!("<section>\n<h2>{}</h2>\n", escaped(&document.file));
    html += &facts(document);
    html += &notes(document, true);
    html += &results(document);
    html += &notes(document, false);
    html += &operators(document);
    html + "</section>\n"
}

/// A table of one file: the first column is text, the others numbers, with a caption above and a legend below.
pub fn table(
    file: &str,
    words: &str,
    names: &[String],
    rows: &[Vec<String>],
    note: &str,
) -> String {
    let class = |idx: usize| match idx {
        0 => "",
        _ => " class=\"number\"",
    };
    let cells = |tag: &str, row: &[String]| -> String {
        let cells = row.iter().enumerate();
        let cells =
            cells.map(|(idx, cell)| format!("<{tag}{}>{}</{tag}>", class(idx), escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let head = cells("th", names);
    let body: String = rows.iter().map(|row| cells("td", row)).collect();
    let [file, words, note] = [file, words, note].map(escaped);
    format!(
        "<section>\n<h2>{file}</h2>\n<p>{words}</p>\n<div class=\"wide\"><table>\n<thead>{head}</thead>\n\
         <tbody>\n{body}</tbody>\n</table></div>\n<p class=\"subtle\">{note}</p>\n</section>\n"
    )
}

/// A file that has no report.
pub fn failure(file: &str, failure: &Failure) -> String {
    let [file, words] = [file, &failure.message].map(escaped);
    format!("<section>\n<h2>{file}</h2>\n<p class=\"error\">No report: {words}</p>\n</section>\n")
}

fn facts(document: &Document) -> String {
    let model = &document.model;
    let arena = model.arena_bytes.map_or("not known".to_owned(), |bytes| {
        quantity::bytes(bytes as f64).to_string()
    });
    format!(
        "<p>{}, {}, {} MACs, {} parameters, {} file{}, {arena} arena for TensorFlow Lite Micro{}</p>\n",
        escaped(&model.precision),
        words::plural(
            usize::try_from(model.n_operators).unwrap_or(usize::MAX),
            "operator"
        ),
        quantity::count(model.macs),
        quantity::count(model.parameters),
        quantity::bytes(model.file_bytes as f64),
        sections::before_quantisation(document),
        match document.batch {
            1 => String::new(),
            n => format!(", {n} inputs at a time"),
        },
    )
}

fn results(document: &Document) -> String {
    if document.results.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for target in document.targets() {
        let mut results: Vec<&TargetResult> = document
            .results
            .iter()
            .filter(|result| result.target == target)
            .collect();
        results.sort_by_key(|result| words::metric_rank(&result.metric));
        for (idx, result) in results.iter().enumerate() {
            let device = match idx {
                0 => format!(
                    "<th scope=\"rowgroup\" rowspan=\"{}\">{}<br><span class=\"subtle\">{}</span></th>",
                    results.len(),
                    escaped(target),
                    escaped(&device_words(result))
                ),
                _ => String::new(),
            };
            let metric = match result.estimate() {
                Some(estimate) => words::metric_of(result, estimate),
                None => words::metric(&result.metric).to_owned(),
            };
            let metric = escaped(&metric);
            let _ = writeln!(
                rows,
                "<tr>{device}<td>{metric}</td>{}</tr>",
                outcome(result)
            );
        }
    }
    let head = "<th>Target</th><th>Metric</th><th class=\"number\">Estimate</th>\
                <th class=\"number\">Interval</th><th>Evidence</th><th>Source</th>";
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

fn device_words(result: &TargetResult) -> String {
    match &result.estimated_as {
        Some(precision) => format!("{}, estimated as {precision}", result.device),
        None => result.device.clone(),
    }
}

fn outcome(result: &TargetResult) -> String {
    match &result.outcome {
        Outcome::Unavailable { unavailable, .. } => {
            format!(
                "<td colspan=\"4\" class=\"subtle\">No estimate: {}</td>",
                escaped(unavailable)
            )
        }
        Outcome::Estimate(estimate) => {
            let error = estimate
                .expected_error_percent
                .map_or(String::new(), |error| {
                    format!(
                        ". Mean error on held-out networks: {} against {}",
                        quantity::percent(error),
                        escaped(&words::reference_words(&estimate.provenance))
                    )
                });
            format!(
                "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"subtle\">{}{error}</td>",
                quantity::measure(estimate.value, &estimate.unit),
                sections::interval(estimate).unwrap_or_default(),
                escaped(&words::evidence(result, estimate)),
                escaped(&words::source(&estimate.provenance)),
            )
        }
    }
}

fn notes(document: &Document, are_warnings: bool) -> String {
    let mut items = String::new();
    let word = if are_warnings { "Warning: " } else { "" };
    let shortages = sections::shortages(document).into_iter();
    for line in shortages.filter(|_| are_warnings) {
        let _ = writeln!(items, "<li>{word}{}</li>", escaped(&line));
    }
    for (diagnostic, line) in sections::diagnostics(document) {
        if (diagnostic.severity == "warning") != are_warnings {
            continue;
        }
        let _ = writeln!(items, "<li>{word}{}</li>", escaped(&line));
    }
    if items.is_empty() {
        items
    } else {
        format!("<ul>\n{items}</ul>\n")
    }
}

/// Each operator with its part of the first latency that is known by operator.
fn operators(document: &Document) -> String {
    let latency = document.by_operator().next();
    let mut rows = String::new();
    for operator in &document.operators {
        let part = latency.and_then(|(_, parts, whole)| {
            let &part = parts.get(operator.index)?;
            let share = if whole.value > 0.0 {
                part / whole.value
            } else {
                0.0
            };
            Some(format!(
                "<td class=\"number\">{}</td><td><meter value=\"{share:.4}\"></meter> {}</td>",
                quantity::measure(part, &whole.unit),
                quantity::percent(100.0 * share)
            ))
        });
        let _ = writeln!(
            rows,
            "<tr><td class=\"number\">{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td>{}</tr>",
            operator.index,
            escaped(&operator.name),
            escaped(&document.output_shape(operator)),
            quantity::count(operator.macs),
            quantity::bytes(operator.weight_bytes as f64),
            part.unwrap_or_default()
        );
    }
    let of_latency = latency.map_or(String::new(), |(target, ..)| {
        let target = escaped(&target.target);
        format!("<th class=\"number\">{target}</th><th>share of its latency</th>")
    });
    format!(
        "<details><summary>{}</summary>\n<div class=\"wide\"><table>\n<thead><tr><th class=\"number\">#</th>\
         <th>Operator</th><th>Output</th><th class=\"number\">MACs</th><th class=\"number\">Weights</th>\
         {of_latency}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div></details>\n",
        words::plural(document.operators.len(), "operator")
    )
}

/// Escapes text, because operators in a file may have any name.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        let name = "<img src=x onerror='a()'> & \"b\"\u{1b}";
        let expected = "&lt;img src=x onerror=&#39;a()&#39;&gt; &amp; &quot;b&quot;\u{fffd}";
        assert_eq!(escaped(name), expected);
    }
}
