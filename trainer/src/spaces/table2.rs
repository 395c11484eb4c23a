//! `litecast-trainer table2`: PerfSAGE's Table 2 beside the same figures of our own samples.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::Args;
use rayon::prelude::*;

use super::{Space, SpaceSample, sample};

/// Arguments of `table2`.
#[derive(Args)]
pub struct Table2Args {
    /// Networks sampled from each space
    #[arg(long, default_value_t = 4000)]
    count: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A column of Table 2, from the paper or measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Characteristics<'a> {
    /// Number of networks drawn.
    pub n_samples: u64,
    /// Minimum and maximum.
    pub n_operators: [usize; 2],
    /// Fewest and most tensors of a network.
    pub n_tensors: [usize; 2],
    /// Size of the file.
    pub size_mb: [f64; 2],
    /// Schema names of the operators that occur.
    pub operators: BTreeSet<&'a str>,
}

/// The paper's operators by their names in the schema, in its order.
const OPERATORS: [&str; 14] = [
    "FULLY_CONNECTED",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "AVERAGE_POOL_2D",
    "PAD",
    "ADD",
    "MUL",
    "POW",
    "TANH",
    "SOFTMAX",
    "RESHAPE",
    "TRANSPOSE",
    "STRIDED_SLICE",
    "CONCATENATION",
];
const CNN: [&str; 4] = ["CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "RESHAPE"];
const VIT: [&str; 10] = [
    "FULLY_CONNECTED",
    "ADD",
    "MUL",
    "POW",
    "TANH",
    "SOFTMAX",
    "RESHAPE",
    "TRANSPOSE",
    "STRIDED_SLICE",
    "CONCATENATION",
];

/// Prints the table.
pub fn run(args: &Table2Args) {
    let columns: Vec<_> = Space::PAPER
        .iter()
        .map(|&space| (space, paper(space), measured(space, args.seed, args.count)))
        .collect();
    print!("{}", markdown(&columns));
}

/// Table 2 of the paper for one of [`Space::PAPER`].
pub fn paper(space: Space) -> Characteristics<'static> {
    let with_residuals = || CNN.into_iter().chain(["PAD", "ADD"]).collect();
    let (n_samples, n_operators, n_tensors, size_mb, operators) = match space {
        Space::CNN_CIFAR10 => (39_997, [13, 70], [28, 145], [0.09, 18.25], with_residuals()),
        Space::CNN_IMAGENET => (79_998, [16, 77], [39, 182], [1.65, 20.54], with_residuals()),
        Space::CNN_KWS => (4_917, [7, 21], [16, 51], [0.04, 5.05], BTreeSet::from(CNN)),
        Space::VIT_CIFAR100 => (
            10_000,
            [59, 994],
            [97, 1264],
            [1.86, 53.98],
            BTreeSet::from(VIT),
        ),
        Space(_) => panic!("{} is not in the paper", space.id()),
    };
    Characteristics {
        n_samples,
        n_operators,
        n_tensors,
        size_mb,
        operators,
    }
}

/// Measured on samples `0..count`, each written as a file.
pub fn measured(space: Space, seed: u64, count: u64) -> Characteristics<'static> {
    (0..count)
        .into_par_iter()
        .map(|index| sample_characteristics(&sample(space, seed, index)))
        .reduce_with(union)
        .expect("at least one sample")
}

fn sample_characteristics(sample: &SpaceSample) -> Characteristics<'static> {
    let n_operators = sample.network.operators.len();
    let n_tensors = sample.network.tensors.len();
    let size_mb = sample.to_tflite().len() as f64 / 1e6;
    Characteristics {
        n_samples: 1,
        n_operators: [n_operators; 2],
        n_tensors: [n_tensors; 2],
        size_mb: [size_mb; 2],
        operators: sample
            .network
            .operators
            .iter()
            .map(|operator| operator.kind.name())
            .collect(),
    }
}

/// Of the samples of both.
pub fn union<'a>(mut a: Characteristics<'a>, b: Characteristics<'a>) -> Characteristics<'a> {
    a.operators.extend(b.operators);
    Characteristics {
        n_samples: a.n_samples + b.n_samples,
        n_operators: [
            a.n_operators[0].min(b.n_operators[0]),
            a.n_operators[1].max(b.n_operators[1]),
        ],
        n_tensors: [
            a.n_tensors[0].min(b.n_tensors[0]),
            a.n_tensors[1].max(b.n_tensors[1]),
        ],
        size_mb: [
            a.size_mb[0].min(b.size_mb[0]),
            a.size_mb[1].max(b.size_mb[1]),
        ],
        operators: a.operators,
    }
}

/// Two columns for each space: the paper's and ours.
pub fn markdown(columns: &[(Space, Characteristics, Characteristics)]) -> String {
    let pairs: Vec<_> = columns
        .iter()
        .flat_map(|(_, paper, ours)| [paper, ours])
        .collect();
    let heads = columns
        .iter()
        .flat_map(|(space, ..)| [format!("{}, paper", space.id()), "ours".to_owned()]);
    let mut table = row("", heads);
    table += &row("---", pairs.iter().map(|_| "---:".to_owned()));
    table += &row("samples", pairs.iter().map(|c| c.n_samples.to_string()));
    table += &row("operators", pairs.iter().map(|c| range(c.n_operators)));
    table += &row("tensors", pairs.iter().map(|c| range(c.n_tensors)));
    table += &row(
        "size (MB)",
        pairs
            .iter()
            .map(|c| format!("{:.2}–{:.2}", c.size_mb[0], c.size_mb[1])),
    );
    for name in operator_rows(&pairs) {
        let tick = |c: &&Characteristics| {
            if c.operators.contains(name) {
                "✓".to_owned()
            } else {
                String::new()
            }
        };
        table += &row(name, pairs.iter().map(tick));
    }
    table
}

/// The paper's operators, followed by those that only our samples have.
fn operator_rows<'a>(columns: &[&Characteristics<'a>]) -> Vec<&'a str> {
    let all: BTreeSet<_> = columns
        .iter()
        .flat_map(|column| &column.operators)
        .copied()
        .collect();
    let ours = all.into_iter().filter(|name| !OPERATORS.contains(name));
    OPERATORS.into_iter().chain(ours).collect()
}

fn row(head: &str, cells: impl Iterator<Item = String>) -> String {
    let mut row = format!("| {head} |");
    for cell in cells {
        write!(row, " {cell} |").expect("a string takes all text");
    }
    row + "\n"
}

/// Minimum and maximum, in the format of the table.
pub fn range([least, most]: [usize; 2]) -> String {
    format!("{least}–{most}")
}
