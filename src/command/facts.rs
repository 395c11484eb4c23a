//! `facts`: the exact facts of a file.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use super::args::{FactsArgs, WorkerOutput};
use super::choice::TargetArgs;
use super::document::Document;
use super::table::Table;
use super::terminal::{plain, wrapped};
use super::worker_request::Request;
use super::{csv, inputs, print, quantity, sections, terminal};

/// Inputs or outputs listed one by one; recurrent models have hundreds of states.
const MAX_LISTED_TENSORS: usize = 8;

pub fn run(args: &FactsArgs) -> Result<ExitCode, Box<dyn Error>> {
    let files = inputs::expand(&args.files)?;
    let request = Request {
        are_dimensions_shared: files.len() > 1,
        targets: &TargetArgs::default(),
        read: &args.read,
        tell: WorkerOutput::Facts,
    };
    let width = terminal::width();
    let text = |document: &Document| facts(document, args.operators, width);
    let rows = if args.operators {
        csv::Rows::Operators
    } else {
        csv::Rows::Facts
    };
    print::reports(&files, &request, &args.format, rows, text)
}

fn facts(document: &Document, with_operators: bool, width: usize) -> String {
    let mut text = sections::heading(document, width);
    let model = &document.model;
    let bytes = |bytes: u64| quantity::bytes(bytes as f64).to_string();
    let arena = match (model.arena_bytes, model.activation_bytes) {
        (Some(arena), _) => bytes(arena),
        (None, Some(_)) => (document.micro_obstacle()).map_or_else(
            || "not known".to_owned(),
            |reason| format!("none: {reason}"),
        ),
        (None, None) => "not known: a shape is set at run time".to_owned(),
    };
    let peak = model
        .peak_operator
        .and_then(|idx| document.operators.get(idx));
    let at = peak.map(|operator| {
        format!(
            " (fullest at operator {}, {})",
            operator.index, operator.name
        )
    });
    let activations = (model.activation_bytes).map_or_else(|| "not known".to_owned(), bytes);
    let tensors = |indices: &[usize]| {
        let first = indices.iter().take(MAX_LISTED_TENSORS);
        let named = first.filter_map(|&idx| document.tensor_words(idx));
        let n_more = indices.len().saturating_sub(MAX_LISTED_TENSORS);
        let more = (n_more > 0).then(|| format!("and {n_more} more"));
        named.chain(more).collect::<Vec<_>>().join(", ")
    };
    let rows = [
        ("weights", weights(document)),
        ("arena", arena),
        ("  activations", activations + &at.unwrap_or_default()),
        ("inputs", tensors(&model.inputs)),
        ("outputs", tensors(&model.outputs)),
    ];
    for (name, value) in rows {
        let line = format!("{name:<15}{}", plain(&value));
        let _ = writeln!(text, "{}", wrapped(&line, width, "               "));
    }
    text.push('\n');
    text += &if with_operators {
        sections::operators(document, width)
    } else {
        kinds(document).lines_of(width)
    };
    text.push('\n');
    text
}

/// Bytes of a parameter at most, in any format of floats that networks have.
const MAX_PARAMETER_BYTES: u64 = 4;

/// With the reason where the sums of the table or the parameters say something else.
fn weights(document: &Document) -> String {
    let model = &document.model;
    let bytes = |bytes: u64| quantity::bytes(bytes as f64).to_string();
    let parts = document.operators.iter().map(|one| one.weight_bytes);
    let sum = parts.fold(0, u64::saturating_add);
    let mut words = bytes(model.weight_bytes);
    if sum > model.weight_bytes {
        words += &format!(
            " (constants that operators share count once; by operator they add up to {})",
            bytes(sum)
        );
    }
    if model.weight_bytes > model.parameters.saturating_mul(MAX_PARAMETER_BYTES) {
        words += " (more than the parameters: the file says how to fill some constants, and does not hold them)";
    }
    words
}

/// Operators by name, those with the most multiply-accumulates first.
fn kinds(document: &Document) -> Table {
    let mut kinds: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for operator in &document.operators {
        let sums = kinds.entry(&operator.name).or_default();
        let amounts = [1, operator.macs, operator.weight_bytes];
        sums.iter_mut()
            .zip(amounts)
            .for_each(|(sum, amount)| *sum = sum.saturating_add(amount));
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, [n, macs, _])| std::cmp::Reverse((*macs, *n)));
    let mut table = Table::default()
        .text("operator")
        .number("count")
        .number("MACs")
        .number("share")
        .number("weights");
    let all = document.model.macs.max(1) as f64;
    for (name, [n, macs, weight_bytes]) in kinds {
        table.row([
            name.to_owned(),
            quantity::grouped(n as f64),
            quantity::count(macs).to_string(),
            quantity::percent(100.0 * macs as f64 / all),
            quantity::bytes(weight_bytes as f64).to_string(),
        ]);
    }
    table
}
