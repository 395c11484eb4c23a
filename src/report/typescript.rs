//! The types of a report in TypeScript, derived from the serialised types.

use ts_rs::{Config, TS};

use super::{
    Dimension, EdgeFacts, LeftOperator, LeftOut, ModelFacts, OperatorFacts, QuantizationFacts,
    Report, ReportDiagnostic, SubgraphFacts, TargetResult, TensorFacts,
};
use crate::boards::{
    Application, BoardLatency, Bytes, Fits, Need, NoLatency, OnBoard, Refused, Room, Verdict,
};
use crate::diagnostic::Severity;
use crate::formats::tflite::Format;
use crate::graph::analysis::Precision;
use crate::model_variants::EstimateAs;
use crate::provenance::{Evidence, Provenance, ProvenanceKind, Reference};
use crate::target::{HostInfo, Settings};

/// The expected contents of `www/package/types/report.d.ts`.
pub fn derived_types() -> String {
    let config = Config::new().with_large_int("number");
    let types = [
        declared::<Report>(&config),
        declared::<ModelFacts>(&config),
        declared::<Format>(&config),
        declared::<Precision>(&config),
        declared::<Dimension>(&config),
        open(declared::<EstimateAs>(&config)),
        declared::<SubgraphFacts>(&config),
        exclusive(&declared::<TargetResult>(&config)),
        declared::<Settings>(&config),
        declared::<Provenance>(&config),
        open(declared::<ProvenanceKind>(&config)),
        open(declared::<Reference>(&config)),
        open(declared::<Evidence>(&config)),
        declared::<OperatorFacts>(&config),
        declared::<TensorFacts>(&config),
        declared::<QuantizationFacts>(&config),
        declared::<EdgeFacts>(&config),
        declared::<Fits>(&config),
        declared::<Need>(&config),
        declared::<Bytes>(&config),
        declared::<Refused>(&config),
        declared::<Application>(&config),
        declared::<OnBoard>(&config),
        declared::<Verdict>(&config),
        declared::<Room>(&config),
        declared::<BoardLatency>(&config),
        declared::<NoLatency>(&config),
        declared::<LeftOut>(&config),
        declared::<HostInfo>(&config),
        declared::<LeftOperator>(&config),
        declared::<ReportDiagnostic>(&config),
        declared::<Severity>(&config),
    ];
    format!("{HEAD}\n{}\n{NAMES}", types.join("\n"))
}

/// Before the types.
const HEAD: &str = "\
/** What one file costs, as `litecast predict --json` prints it too. Derived from the types of the Rust crate. What is
 * absent is null where its type has null. */
import type { Metric, TargetId } from \"./ids.js\";
";

/// Names for parts of the types for which the crate has no types.
const NAMES: &str = "\
/** A result with an estimate. */
export type Estimate = Extract<Result, { value: number }>;

/** A result without one. */
export type Unavailable = Exclude<Result, Estimate>;

/** What a result is of. */
export type ResultOf = Pick<Result, \"target\" | \"device\" | \"metric\">;

/** A report of `detail: \"summary\"`: without what describes single operators. */
export type Summary = Omit<Report, \"operators\" | \"tensors\" | \"edges\" | \"fits\" | \"left_out\">;
";

/// One exported type with its documentation.
fn declared<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    laid_out(&format!("{docs}export {}", T::decl(config)))
}

/// A type of strings to which later versions may add values.
fn open(declared: String) -> String {
    declared.replace(';', " | (string & {});")
}

/// A union whose variants have the fields of the others, too, as undefined: a program may then read any of them, and what
/// it reads tells the variants apart.
fn exclusive(declared: &str) -> String {
    const BETWEEN: &str = "} | {\n";
    let Some((head, variants)) = declared.split_once("& ({\n") else {
        return declared.to_owned();
    };
    let Some((variants, tail)) = variants.rsplit_once("})") else {
        return declared.to_owned();
    };
    let name = |line: &str| {
        let field = line.strip_prefix("  ")?;
        let (name, _) = field.split_once(':')?;
        let is_field = name.starts_with(|c: char| c.is_ascii_lowercase());
        is_field.then(|| name.trim_end_matches('?').to_owned())
    };
    let names = |variant: &str| -> Vec<String> { variant.lines().filter_map(name).collect() };
    let all: Vec<String> = variants.split(BETWEEN).flat_map(names).collect();
    let whole = |variant: &str| {
        let own_names = names(variant);
        let others = all.iter().filter(|name| !own_names.contains(name));
        let absent = others.map(|name| format!("  {name}?: undefined;\n"));
        format!("{variant}{}", absent.collect::<String>())
    };
    let variants: Vec<String> = variants.split(BETWEEN).map(whole).collect();
    format!("{head}& ({{\n{}}}){tail}", variants.join(BETWEEN))
}

/// The declaration with a line for each field and each comment. ts-rs writes several fields on a line.
fn laid_out(declaration: &str) -> String {
    let mut layout = Layout::default();
    let mut rest = declaration.trim();
    while let Some(first) = rest.chars().next() {
        let n_taken = match first {
            '/' => layout.comment(rest),
            '{' if !rest.starts_with("{}") => layout.open(),
            '}' if !layout.text.ends_with('{') => layout.close(),
            ',' if layout.ends_field() => layout.end_field(),
            first => layout.push(first),
        };
        rest = &rest[n_taken..];
    }
    layout.text.replace(" \n", "\n") + "\n"
}

/// A declaration as far as it is laid out. Its methods return how many bytes of the declaration they took.
#[derive(Default)]
struct Layout {
    text: String,
    indent: String,
    /// Angle brackets that are open: what is between two of them is no field.
    n_angles: usize,
}

impl Layout {
    fn comment(&mut self, rest: &str) -> usize {
        let n_taken = rest.find("*/").map_or(rest.len(), |end| end + 2);
        self.begin_line();
        self.text += &format!(
            "{}{}\n",
            self.indent,
            comment(&rest[..n_taken], &self.indent)
        );
        n_taken
    }

    fn open(&mut self) -> usize {
        self.indent += "  ";
        self.text += "{\n";
        1
    }

    fn close(&mut self) -> usize {
        self.indent.truncate(self.indent.len().saturating_sub(2));
        self.begin_line();
        self.text += &format!("{}}}", self.indent);
        1
    }

    fn ends_field(&self) -> bool {
        !self.indent.is_empty() && self.n_angles == 0
    }

    fn end_field(&mut self) -> usize {
        self.text += ";\n";
        1
    }

    fn push(&mut self, first: char) -> usize {
        match first {
            '<' => self.n_angles += 1,
            '>' => self.n_angles = self.n_angles.saturating_sub(1),
            _ => {}
        }
        let begins_line = self.text.ends_with('\n');
        if !(begins_line && first.is_whitespace()) {
            if begins_line {
                self.text += &self.indent;
            }
            self.text.push(if first == '\n' { ' ' } else { first });
        }
        first.len_utf8()
    }

    fn begin_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

/// A comment on one line where it has one, without the links of rustdoc.
fn comment(block: &str, indent: &str) -> String {
    let lines = block
        .lines()
        .map(|line| line.trim().trim_start_matches("/**").trim_end_matches("*/"));
    let lines = lines.map(|line| line.trim().trim_start_matches('*').trim());
    let lines: Vec<String> = (lines
        .filter(|line| !line.is_empty() && !line.contains("]: crate::")))
    .map(|line| {
        line.replace("[`", "`")
            .replace("`]", "`")
            .replace("Self::", "")
            .replace("Report::", "")
    })
    .collect();
    match lines.as_slice() {
        [line] => format!("/** {line} */"),
        lines => format!(
            "/**\n{indent} * {}\n{indent} */",
            lines.join(&format!("\n{indent} * "))
        ),
    }
}
