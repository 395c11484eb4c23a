//! ncnn's networks in which a few bytes ask for much: each makes one thing large that a reader may copy, look up or keep
//! for each blob, parameter or layer.

use crate::case::{Amounts, cases};

cases! {
    splits_of_a_long_name 100_000,
    readers_of_a_long_name 100_000,
    copies_of_a_long_name 100_000,
    long_layer_names 100_000,
    long_kinds 500_000,
    short_layers 49_000,
    wide_concats 400,
    long_lists 400,
    unread_lists 40,
    many_parameters 10_000,
    slices 100,
    unread_slices 18,
    unknown_results 480,
    undefined_blobs 480,
    wide_inputs 480,
    short_parameters 49_000,
    gates_of_long_names 24_000,
    crops 2_000,
    reductions 2_000,
    open_inputs 20_000,
    chain_of_splits 20_000,
    tree_of_splits 4_000,
    huge_sizes 2_000,
    huge_weights 2_000,
    long_numbers 200_000,
    hints 60,
    tiles 1_000,
    attentions 5_000,
    recurrent 5_000,
    boxes 1_000,
    permutes 20_000,
    reshapes 20_000,
    pixel_shuffles 2_000,
    shuffles 20_000,
    interpolations 5_000,
    unknown_layers 20_000,
    constants 20_000,
    blank_lines 1_000_000,
    wrong_counts 1_000_000,
}

/// Lines of layers, each of which says how many blobs it reads and writes.
struct Text {
    lines: Vec<String>,
}

impl Text {
    /// One input, `x`.
    fn new(sizes: &str) -> Self {
        Self {
            lines: vec![format!("Input x 0 1 x {sizes}")],
        }
    }

    fn layer(&mut self, kind: &str, inputs: &[&str], outputs: &[&str], parameters: &str) {
        let idx = self.lines.len();
        let blobs = [inputs, outputs].concat().join(" ");
        self.lines.push(format!(
            "{kind} l{idx} {} {} {blobs} {parameters}",
            inputs.len(),
            outputs.len()
        ));
    }

    fn write(&self) -> Vec<u8> {
        let n = self.lines.len();
        format!("7767517\n{n} {n}\n{}\n", self.lines.join("\n")).into_bytes()
    }
}

const MAP: &str = "0=8 1=8 2=16";

/// A chain of one kind of layers.
fn chain(n: usize, kind: &str, parameters: &str) -> Vec<u8> {
    chain_from(MAP, n, kind, parameters)
}

fn chain_from(sizes: &str, n: usize, kind: &str, parameters: &str) -> Vec<u8> {
    let mut text = Text::new(sizes);
    let mut last = "x".to_owned();
    for at in 0..n {
        let next = format!("b{at}");
        text.layer(kind, &[&last], &[&next], parameters);
        last = next;
    }
    text.write()
}

/// As many layers side by side.
fn fan(n: usize, kind: &str, parameters: &str) -> Vec<u8> {
    let mut text = Text::new(MAP);
    for at in 0..n {
        text.layer(kind, &["x"], &[&format!("b{at}")], parameters);
    }
    text.write()
}

fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|at| format!("{prefix}{at}")).collect()
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// A blob of a long name that a `Split` gives short names.
fn split_long_name(Amounts { n, repeats }: Amounts, kind: &str) -> Text {
    let name = "v".repeat(n);
    let mut text = Text::new(MAP);
    text.layer("ReLU", &["x"], &[&name], "");
    let parts = names("p", repeats.min(4096));
    text.layer(kind, &[&name], &texts(&parts), "");
    text
}

fn splits_of_a_long_name(amounts: Amounts) -> Vec<u8> {
    split_long_name(amounts, "Split").write()
}

fn readers_of_a_long_name(amounts: Amounts) -> Vec<u8> {
    let mut text = split_long_name(amounts, "Split");
    for at in 0..amounts.repeats.min(4096) {
        text.layer("ReLU", &[&format!("p{at}")], &[&format!("q{at}")], "");
    }
    text.write()
}

/// Layers that do nothing at inference.
fn copies_of_a_long_name(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let name = "v".repeat(n);
    let mut text = Text::new(MAP);
    text.layer("ReLU", &["x"], &[&name], "");
    let mut last = name;
    for at in 0..repeats {
        let next = format!("d{at}");
        text.layer(["Dropout", "Noop", "Split"][at % 3], &[&last], &[&next], "");
        last = next;
    }
    text.write()
}

fn long_layer_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut text = Text::new(MAP);
    text.lines.push(format!(
        "Convolution {} 1 1 x y 0=8 1=3 6=1152",
        "n".repeat(n)
    ));
    for at in 0..repeats {
        text.layer("ReLU", &["y"], &[&format!("q{at}")], "");
    }
    text.write()
}

fn long_kinds(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut text = Text::new(MAP);
    let outputs = names("o", repeats.min(4096));
    text.layer(&"K".repeat(n), &["x"], &texts(&outputs), "");
    text.write()
}

fn short_layers(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut text = Text::new("");
    for at in 0..n {
        text.lines.push(format!("a a 0 1 {at}"));
    }
    text.write()
}

fn wide_concats(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    fan_of(n, "Concat", &vec!["x"; repeats.min(4096)], "0=0")
}

fn fan_of(n: usize, kind: &str, inputs: &[&str], parameters: &str) -> Vec<u8> {
    let mut text = Text::new(MAP);
    for at in 0..n {
        text.layer(kind, inputs, &[&format!("b{at}")], parameters);
    }
    text.write()
}

fn list(id: usize, n: usize, value: &str) -> String {
    format!("-{}={n},{}", 23_300 + id, vec![value; n].join(","))
}

/// Axes, of which a layer has a handful.
fn long_lists(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    fan(
        n,
        "Reduction",
        &format!("0=3 1=0 {}", list(3, 4 * repeats, "1")),
    )
}

/// Lists of parameters that no layer has.
fn unread_lists(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let lists: Vec<String> = (0..n.min(60))
        .map(|id| list(40 + id, 4 * repeats, "0"))
        .collect();
    fan(n.min(8), "ReLU", &lists.join(" "))
}

fn many_parameters(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let parameters: Vec<String> = (0..60).map(|id| format!("{id}=0")).collect();
    fan(n, "ReLU", &parameters.join(" "))
}

fn slices(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let n_parts = repeats.min(4096);
    let mut text = Text::new(&format!("0={}", 8 * n_parts));
    for at in 0..n {
        let parts = names(&format!("s{at}_"), n_parts);
        text.layer("Slice", &["x"], &texts(&parts), &list(0, n_parts, "-233"));
    }
    text.write()
}

/// As many as are read before a limit ends them.
fn unread_slices(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    wide(n, "Slice", true, repeats)
}

fn unknown_results(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    wide(n, "Own", true, repeats)
}

fn undefined_blobs(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    wide(n, "Concat", false, repeats)
}

fn wide_inputs(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    wide(n, "Input", true, repeats)
}

/// Layers of many blobs of short names, each of another one.
fn wide(n: usize, kind: &str, is_written: bool, n_blobs: usize) -> Vec<u8> {
    let n_blobs = n_blobs.min(4096);
    let mut text = Text::new(&format!("0={}", 8 * n_blobs));
    for at in 0..n {
        let blobs = names(&format!("{at:x}."), n_blobs);
        match (is_written, kind) {
            (false, _) => text.layer(kind, &texts(&blobs), &[&format!("b{at}")], ""),
            (true, "Input") => text.layer(kind, &[], &texts(&blobs), ""),
            (true, _) => text.layer(kind, &["x"], &texts(&blobs), ""),
        }
    }
    text.write()
}

/// Each becomes three nodes of four results, whose names come from the layer's.
fn gates_of_long_names(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let name = "n".repeat(200);
    let mut text = Text::new(MAP);
    for at in 0..n {
        text.lines.push(format!("GLU {name}{at} 1 1 x g{at} 0=0"));
    }
    text.write()
}

fn short_parameters(Amounts { n, .. }: Amounts) -> Vec<u8> {
    fan(n, "a", &"0= ".repeat(64))
}

fn crops(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let n_sides = repeats.min(200);
    let lists = [9, 10, 11].map(|id| list(id, n_sides, "0"));
    fan(n, "Crop", &lists.join(" "))
}

fn reductions(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    fan(
        n,
        "Reduction",
        &format!("0=0 1=0 {} 4=1", list(3, repeats.min(200), "-1")),
    )
}

/// The sizes of their inputs are not in the file.
fn open_inputs(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut text = Text { lines: Vec::new() };
    for at in 0..n.min(repeats) {
        text.lines.push(format!("Input i{at} 0 1 i{at}"));
    }
    for at in 0..n {
        let input = format!("i{}", at % n.min(repeats));
        text.layer("ReLU", &[&input], &[&format!("r{at}")], "");
    }
    text.write()
}

fn chain_of_splits(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "Split", "")
}

fn tree_of_splits(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut text = Text::new(MAP);
    let mut last = "x".to_owned();
    for at in 0..n {
        let parts = names(&format!("p{at}_"), repeats.clamp(1, 64));
        text.layer("Split", &[&last], &texts(&parts), "");
        last.clone_from(&parts[parts.len() - 1]);
    }
    text.write()
}

fn huge_sizes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let sizes = "0=2147483647 1=2147483647 11=2147483647 2=9223372036854775807";
    chain_from(
        sizes,
        n,
        "Convolution",
        "0=2147483647 1=2147483647 6=9223372036854775807",
    )
}

fn huge_weights(Amounts { n, .. }: Amounts) -> Vec<u8> {
    fan(n, "InnerProduct", "0=2147483647 1=1 2=9223372036854775807")
}

fn long_numbers(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let number = format!("0.{}1e-{}", "0".repeat(n), "9".repeat(n));
    fan(repeats.min(8), "ReLU", &format!("0={number} 1={number}"))
}

/// Shapes of blobs, four numbers for each, which newer files have.
fn hints(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    fan(n, "ReLU", &list(30, 4 * repeats, "2147483647"))
}

fn tiles(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "Tile", "-23302=4,1,1,1000000,1000000")
}

fn attentions(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain_from(
        "0=64 1=64",
        n,
        "MultiHeadAttention",
        "0=64 1=2147483647 2=4096 3=64 4=64",
    )
}

fn recurrent(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain_from("0=64 1=4096", n, "LSTM", "0=64 1=2147483647 2=2")
}

fn boxes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let sizes = [0, 1, 2].map(|id| list(id, repeats.min(200), "30.0"));
    fan_of(n, "PriorBox", &["x", "x"], &sizes.join(" "))
}

fn permutes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "Permute", "0=3")
}

fn reshapes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "Reshape", "0=-1 1=16 2=4")
}

/// Each makes the map larger.
fn pixel_shuffles(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain_from("0=1 1=1 2=65536", n, "PixelShuffle", "0=2")
}

fn shuffles(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "ShuffleChannel", "0=2")
}

fn interpolations(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "Interp", "0=2 1=1e30 2=1e30")
}

fn unknown_layers(Amounts { n, .. }: Amounts) -> Vec<u8> {
    chain(n, "Own", "0=1")
}

fn constants(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut text = Text::new(MAP);
    for at in 0..n {
        text.layer("MemoryData", &[], &[&format!("m{at}")], "0=100000 1=100000");
    }
    text.write()
}

fn blank_lines(Amounts { n, .. }: Amounts) -> Vec<u8> {
    format!("7767517\n{}1 1\nInput x 0 1 x\n", "\n \t".repeat(n)).into_bytes()
}

fn wrong_counts(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let counts = "9".repeat(n);
    format!(
        "7767517\n1 1\nReLU r {counts} {repeats} {}\n",
        "a ".repeat(repeats)
    )
    .into_bytes()
}
