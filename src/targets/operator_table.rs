//! What each target does with each kind of operator, as the page `docs/guide/operators.md`, and the categories that the
//! web page colours. `UPDATE_GOLDENS=1 cargo test --workspace --lib operator_table` writes both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use super::cortex_a::{Costs, SingleOperators};
use super::ethos_u::support::{Npu, types_of};
use super::{edge_tpu, tflite_micro};
use crate::formats::tflite::OpKind;
use crate::formats::tflite::op_row::{
    AcceleratorWork, Category, CoreWork, Effect, GpuWork, ShapeRule, Work,
};

const PAGE: &str = "docs/guide/operators.md";
const KINDS: &str = "www/src/operator_kinds.ts";

/// Compares a generated file with the stored one, or writes it.
fn check(file: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(path, generated).unwrap();
        return;
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differs = |(stored, generated): &(&str, &str)| stored != generated;
    let line = stored.lines().zip(generated.lines()).find(differs);
    assert!(
        stored == generated,
        "{file} is not what the table of operators says; UPDATE_GOLDENS=1 writes it: {line:?}"
    );
}

fn listed(types: &BTreeSet<&str>) -> String {
    let types: Vec<&str> = types.iter().copied().collect();
    if types.is_empty() {
        "no".into()
    } else {
        types.join(" ")
    }
}

/// Types of the first input that TensorFlow Lite Micro's kernel takes.
fn micro(kind: OpKind) -> String {
    let letter = |letter: char| match letter {
        'f' => "f32",
        'i' => "i8",
        'h' => "i16",
        'w' => "i32",
        'l' => "i64",
        'u' => "u8",
        'v' => "u32",
        'x' => "u64",
        'b' => "bool",
        '4' => "i4",
        _ => "any",
    };
    let alternatives = tflite_micro::kernel_types(kind).unwrap_or_default();
    let first = |one: &str| match one.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default().to_owned(),
        None => one.chars().take(1).collect(),
    };
    let letters: String = alternatives.split_whitespace().map(first).collect();
    listed(&letters.chars().map(letter).collect())
}

fn ethos_u(kind: OpKind, npu: Npu) -> String {
    let name = |name: &'static str| match name {
        "BOOL" => "bool",
        "INT16" => "i16",
        "INT32" => "i32",
        "INT64" => "i64",
        "INT8" => "i8",
        "RESOURCE" => "variable",
        "UINT8" => "u8",
        _ => "other",
    };
    listed(&types_of(kind, npu).map(|one| name(one.name())).collect())
}

/// Types in which LiteRT's kernels were counted, on any core.
fn counted() -> BTreeMap<String, BTreeSet<&'static str>> {
    let costs = Costs::shipped().targets.iter();
    let singles = SingleOperators::shipped().targets.iter();
    let names = costs.flat_map(|one| one.kernels.keys());
    let names = names.chain(singles.flat_map(|one| one.kernels.keys()));
    let mut counted = BTreeMap::<_, BTreeSet<_>>::new();
    for (kind, types) in names.filter_map(|name| name.split_once(' ')) {
        let types = match types {
            "float32" => "f32",
            "float16" => "f16",
            "int8" => "i8",
            "int16" => "i16",
            "int32" => "i32",
            "int64" => "i64",
            "uint8" => "u8",
            "dynamic" => "f32×i8",
            _ => continue,
        };
        counted.entry(kind.to_owned()).or_default().insert(types);
    }
    counted
}

/// A decision that leaves an operator out is told, never a number.
fn page() -> String {
    let counted = counted();
    let mut page = String::from(TEXT);
    for &kind in OpKind::ALL {
        let row = kind.row();
        let effect = match row.effect {
            Effect::Computes => "computes",
            Effect::Converts => "converts",
            Effect::Moves => "moves",
            Effect::Renames => "renames",
            Effect::Views => "views",
            Effect::Runs => "runs",
        };
        let shape = match row.shape {
            ShapeRule::Unknown => "–".into(),
            ShapeRule::Stated(place) => format!("input {place}"),
            rule => words(&rule),
        };
        let macs = match row.work {
            Work::Nothing => "0".into(),
            Work::Unknown => "unknown".into(),
            work => words(&work),
        };
        let cores = match row.cores {
            CoreWork::Unknown => "no".into(),
            work => words(&work),
        };
        let accelerator = match row.accelerator {
            AcceleratorWork::Other => "other".into(),
            work => words(&work),
        };
        let gpu = match row.gpu {
            GpuWork::View => "no kernel".into(),
            GpuWork::Unary(_) => "unary".into(),
            work => words(&work),
        };
        let none = BTreeSet::new();
        let cells = [
            format!("`{kind}`"),
            effect.into(),
            shape,
            macs,
            micro(kind),
            ethos_u(kind, Npu::EthosU55U65),
            ethos_u(kind, Npu::EthosU85),
            edge_tpu::words_of(kind).into(),
            listed(counted.get(kind.name()).unwrap_or(&none)),
            cores,
            gpu,
            accelerator,
        ];
        writeln!(page, "| {} |", cells.join(" | ")).unwrap();
    }
    page
}

/// `TransposedConvolution` as `transposed convolution`.
fn words(name: &impl std::fmt::Debug) -> String {
    let name = format!("{name:?}");
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

const TEXT: &str = "# Operators and where they run

<!-- Written by UPDATE_GOLDENS=1 cargo test --workspace --lib operator_table. -->

Every operator of TensorFlow Lite's schema, and what LiteCast does with it. The rows come from one table
(`src/formats/tflite/op_kind.rs`) and from the lists of each target; a test compares this page with them. Types are those of
the first input. Shapes, options and constants decide further; a report names the reason for each operator that does not run.

| column | says |
|---|---|
| does | *computes* other values, *converts* (the same numbers in another type), *moves* values to other places, *renames* (the input under another shape), *views* (the result may share the input's memory), or *runs* another subgraph or library |
| shapes | the rule by which the result's shape follows from the inputs, and with it from the batch size, the resolution and the width; –: none, shapes are the file's |
| MACs | the rule that counts its multiply-accumulates |
| Micro | types that TensorFlow Lite Micro's kernel runs |
| U55, U65; U85 | types that Vela 5.2.0 leaves on the Ethos-U |
| Edge TPU | whether Coral's table lists it, for u8 and i8 |
| Cortex-A | types whose kernels were counted under LiteRT; others get a wide interval |
| Cortex-M | the rule for its cycles; *free*: only renames; *no*: there is no latency |
| GPU | the kernel that a framework launches; *other*: one that reads and writes every value once |
| Hexagon | the group of an NPU's work whose cost was fitted |

| operator | does | shapes | MACs | Micro | U55, U65 | U85 | Edge TPU | Cortex-A | Cortex-M | GPU | Hexagon |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

#[test]
fn the_page_of_operators_says_what_targets_do() {
    let page = page();
    println!("{page}");
    let n_rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(n_rows, OpKind::ALL.len());
    check(PAGE, &page);
}

#[test]
fn the_web_page_colours_the_same_categories() {
    let mut names = BTreeMap::<Category, Vec<&str>>::new();
    for kind in OpKind::ALL {
        let category = kind.row().category;
        if category != Category::Other {
            names.entry(category).or_default().push(kind.name());
        }
    }
    let mut file = String::from(
        "/** Names of operators by kind, as the engine's table has them: written by UPDATE_GOLDENS=1 cargo test --workspace --lib operator_table. */\n\
         export const MEMBERS = {\n",
    );
    for (category, names) in &names {
        writeln!(file, "  {}: \"{}\",", words(category), names.join(" ")).unwrap();
    }
    file.push_str("} as const;\n");
    let with_units = OpKind::ALL
        .iter()
        .filter(|kind| kind.row().shape.has_units());
    let names: Vec<&str> = with_units.map(|kind| kind.name()).collect();
    let names = names.join(" ");
    writeln!(file, "/** Layers that another width changes. */").unwrap();
    writeln!(
        file,
        "export const WITH_UNITS: ReadonlySet<string> = new Set(\"{names}\".split(\" \"));"
    )
    .unwrap();
    check(KINDS, &file);
}
