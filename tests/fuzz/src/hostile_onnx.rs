//! Valid ONNX files in which a few bytes ask for much work: each makes one of the things large that a reader may
//! repeat, copy or look up for every iteration, call or operand.

use crate::case::{Amounts, cases};
use crate::protobuf::{Message, Value, integer, message, text};

/// Tensors of one sequence.
const MAX_SEQUENCE: usize = 1_000;

cases! {
    states 2_000,
    slices 1_000,
    slices_of_rank_32 1_000,
    scan_slices 2_000,
    concat_of_one_state 4_000,
    concat_of_a_constant 4_000,
    long_value_names 50_000,
    long_operator_names 500_000,
    long_weight_names 100_000,
    long_dimension_names 50_000,
    long_documents 200_000,
    attributes 20_000,
    long_lists 100_000,
    unused_weights 20_000,
    nested_loops 8,
    many_loops_with_large_bodies 400,
    branches_in_a_loop 500,
    calls_in_a_loop 500,
    calls_of_a_concat 1_000,
    calls_with_a_long_name 50_000,
    calls_with_many_attributes 2_000,
    erasures_of_a_shared_sequence 4_000,
    insertions_into_a_sequence 4_000,
    lengths_of_a_sequence 4_000,
    concats_of_a_sequence 400,
    sequences_of_parts 500,
    sequences_in_a_loop 1_000,
    weights_with_many_shapes 500,
    constants_in_a_loop 3_000,
    chain_of_unordered_nodes 20_000,
    inner_loops_that_never_run 20_000,
    splits_in_a_loop 4_000,
    sums_in_a_loop 4_000,
    equations_in_a_loop 250_000,
    packed_lists 500_000,
    long_domains 500_000,
    branches_with_many_results 1_000,
    scans_in_a_loop 1_000,
    described_values 150_000,
    weights_of_many_dimensions 190_000,
    known_weights 190_000,
    inputs_of_many_dimensions 100_000,
    short_attributes 90_000,
    branches_with_the_same_names 5_000,
    results_of_a_body 90_000,
    sparse_weights 150_000,
}

type Fields = Vec<(u32, Value)>;

/// A graph in the making.
#[derive(Default)]
struct Graph(Fields);

fn tensor(name: &str, data_type: i64, dims: &[i64], bytes: Vec<u8>) -> (u32, Value) {
    let mut tensor: Fields = dims.iter().map(|&side| integer(1, side)).collect();
    let values = (9, Value::Bytes(bytes));
    tensor.extend([integer(2, data_type), text(8, name), values]);
    message(5, tensor)
}

fn number(name: &str, value: i64) -> (u32, Value) {
    tensor(name, 7, &[], value.to_le_bytes().to_vec())
}

fn value(number: u32, name: &str, dims: &[i64]) -> (u32, Value) {
    let dims = dims.iter().map(|&side| message(1, vec![integer(1, side)]));
    let tensor_type = message(1, vec![integer(1, 1), message(2, dims.collect())]);
    message(number, vec![text(1, name), message(2, vec![tensor_type])])
}

fn whole(name: &str, value: i64) -> (u32, Value) {
    message(5, vec![text(1, name), integer(3, value), integer(20, 2)])
}

fn body(name: &str, graph: Graph) -> (u32, Value) {
    message(5, vec![text(1, name), message(6, graph.0), integer(20, 5)])
}

fn node_of(
    domain: &str,
    op_type: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: Fields,
) -> Fields {
    let inputs = inputs.iter().map(|name| text(1, name));
    let outputs = outputs.iter().map(|name| text(2, name));
    let fields = [text(4, op_type), text(7, domain)];
    inputs
        .chain(outputs)
        .chain(fields)
        .chain(attributes)
        .collect()
}

impl Graph {
    fn with(mut self, field: (u32, Value)) -> Self {
        self.0.push(field);
        self
    }

    fn input(self, name: &str) -> Self {
        self.with(value(11, name, &[1, 8]))
    }

    fn output(self, name: &str) -> Self {
        self.with(message(12, vec![text(1, name)]))
    }

    fn node(self, op_type: &str, inputs: &[&str], outputs: &[&str], attributes: Fields) -> Self {
        self.with(message(
            1,
            node_of("", op_type, inputs, outputs, attributes),
        ))
    }

    fn relu(self, input: &str, output: &str) -> Self {
        self.node("Relu", &[input], &[output], vec![])
    }

    /// The file of this graph, whose input is `x`.
    fn file(self, repeats: usize, functions: Vec<Fields>) -> Vec<u8> {
        let graph = self
            .input("x")
            .with(number("n", repeats as i64))
            .with(number("zero", 0));
        let functions = functions.into_iter().map(|fields| message(25, fields));
        let opset = message(8, vec![text(1, ""), integer(2, 17)]);
        let fields = [integer(1, 8), message(7, graph.0), opset];
        Message(fields.into_iter().chain(functions).collect()).write()
    }
}

/// A body of one state with these nodes between `s` and `t`.
fn body_of(nodes: Graph) -> Graph {
    let ends = nodes.input("i").input("c").input("s");
    ends.output("c").output("t")
}

/// Iterations of a body of one state.
fn looped(repeats: usize, nodes: Graph) -> Vec<u8> {
    let attributes = vec![body("body", body_of(nodes))];
    let graph = Graph::default().node("Loop", &["n", "", "x"], &["y"], attributes);
    graph.output("y").file(repeats, vec![])
}

fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|at| format!("{prefix}{at}")).collect()
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn states(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let [before, after, last] = ["s", "t", "y"].map(|prefix| names(prefix, n));
    let mut graph = Graph::default().input("i").input("c").output("c");
    for (before, after) in before.iter().zip(&after) {
        graph = graph.input(before).relu(before, after).output(after);
    }
    let inputs: Vec<&str> = ["n", ""].into_iter().chain(vec!["x"; n]).collect();
    let attributes = vec![body("body", graph)];
    let graph = Graph::default().node("Loop", &inputs, &texts(&last), attributes);
    graph.output("y0").file(repeats, vec![])
}

fn kept(Amounts { n, repeats }: Amounts, nodes: Graph, first: &str) -> Vec<u8> {
    let results = names("y", n + 1);
    let mut graph = body_of(nodes);
    for _ in 0..n {
        graph = graph.output("t");
    }
    let inputs = ["n", "", first];
    let graph = Graph::default().node("Loop", &inputs, &texts(&results), vec![body("body", graph)]);
    let shape = tensor(
        "shape",
        7,
        &[32],
        [1i64; 31]
            .iter()
            .chain([&8])
            .flat_map(|side| side.to_le_bytes())
            .collect(),
    );
    let graph = graph
        .with(shape)
        .node("Reshape", &["x", "shape"], &["wide"], vec![]);
    graph.output("y1").file(repeats, vec![])
}

fn slices(amounts: Amounts) -> Vec<u8> {
    kept(amounts, Graph::default().relu("s", "t"), "x")
}

fn slices_of_rank_32(amounts: Amounts) -> Vec<u8> {
    kept(amounts, Graph::default().relu("s", "t"), "wide")
}

fn scan_slices(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let [inside, out] = ["p", "y"].map(|prefix| names(prefix, n));
    let mut graph = Graph::default()
        .input("s")
        .node("Relu", &["s"], &["t"], vec![])
        .output("t");
    for name in &inside {
        graph = graph.input(name).output(name);
    }
    let rows = tensor("rows", 1, &[repeats as i64, 8], vec![0; 4 * 8 * repeats]);
    let inputs: Vec<&str> = ["x"].into_iter().chain(vec!["rows"; n]).collect();
    let outputs: Vec<&str> = ["z"].into_iter().chain(texts(&out)).collect();
    let attributes = vec![body("body", graph), whole("num_scan_inputs", n as i64)];
    let graph = Graph::default()
        .with(rows)
        .node("Scan", &inputs, &outputs, attributes);
    graph.output("y0").file(repeats, vec![])
}

fn concat_of_one_state(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let wide = Graph::default().node("Concat", &vec!["s"; n], &["u"], vec![whole("axis", 0)]);
    looped(
        repeats,
        wide.node("ReduceMean", &["u"], &["v"], vec![])
            .node("Add", &["s", "v"], &["t"], vec![]),
    )
}

fn concat_of_a_constant(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let weights = tensor("w", 1, &[1, 8], vec![0; 32]);
    let mut inputs = vec!["w"; n - 1];
    inputs.push("s");
    let wide =
        Graph::default()
            .with(weights)
            .node("Concat", &inputs, &["u"], vec![whole("axis", 0)]);
    looped(
        repeats,
        wide.node("ReduceMean", &["u"], &["v"], vec![])
            .node("Add", &["s", "v"], &["t"], vec![]),
    )
}

fn long_value_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let name = "v".repeat(n);
    looped(repeats, Graph::default().relu("s", &name).relu(&name, "t"))
}

fn long_operator_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    looped(
        repeats,
        Graph::default().node(&"O".repeat(n), &["s"], &["t"], vec![]),
    )
}

fn long_weight_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let name = "w".repeat(n);
    let graph = Graph::default().with(tensor(&name, 1, &[1, 8], vec![0; 32]));
    looped(repeats, graph.node("Add", &["s", &name], &["t"], vec![]))
}

fn long_dimension_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let name = "d".repeat(n);
    let dims = (0..32).map(|_| message(1, vec![text(2, &name)])).collect();
    let tensor_type = message(1, vec![integer(1, 1), message(2, dims)]);
    let info = message(13, vec![text(1, "t"), message(2, vec![tensor_type])]);
    let nodes = Graph::default().node("Unknown", &["s"], &["t"], vec![]);
    let graph = Graph::default().node(
        "Loop",
        &["n", "", "x"],
        &["y"],
        vec![body("body", body_of(nodes))],
    );
    graph.with(info).output("y").file(repeats, vec![])
}

fn long_documents(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut node = node_of("", "Relu", &["s"], &["t"], vec![]);
    node.extend([text(3, &"n".repeat(n)), text(6, &"d".repeat(n))]);
    looped(repeats, Graph::default().with(message(1, node)))
}

fn attributes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let unknown = names("a", n).iter().map(|name| whole(name, 1)).collect();
    looped(
        repeats,
        Graph::default().node("Softmax", &["s"], &["t"], unknown),
    )
}

fn long_lists(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut list = vec![text(1, "axes")];
    list.extend((0..n).map(|_| integer(8, 1)));
    let mean = vec![message(5, list), whole("keepdims", 1)];
    looped(
        repeats,
        Graph::default()
            .node("ReduceMean", &["s"], &["m"], mean)
            .node("Add", &["s", "m"], &["t"], vec![]),
    )
}

fn unused_weights(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let weights = names("w", n);
    let graph = weights.iter().fold(Graph::default(), |graph, name| {
        graph.with(tensor(name, 1, &[1], vec![0; 4]))
    });
    looped(repeats, graph.relu("s", "t"))
}

fn nested_loops(Amounts { n: depth, repeats }: Amounts) -> Vec<u8> {
    let mut inner = Graph::default().relu("s0", "t0").output("c0").output("t0");
    for level in 1..depth {
        let [i, c, s] = ["i", "c", "s"].map(|what| format!("{what}{}", level - 1));
        let [state, next, condition] = ["s", "t", "c"].map(|what| format!("{what}{level}"));
        let attributes = vec![body("body", inner.input(&i).input(&c).input(&s))];
        inner = Graph::default().node("Loop", &["n", "", &state], &[&next], attributes);
        inner = inner.output(&condition).output(&next);
    }
    let [i, c, s] = ["i", "c", "s"].map(|what| format!("{what}{}", depth - 1));
    let attributes = vec![body("body", inner.input(&i).input(&c).input(&s))];
    Graph::default()
        .node("Loop", &["n", "", "x"], &["y"], attributes)
        .output("y")
        .file(repeats, vec![])
}

/// Each has one iteration.
fn many_loops_with_large_bodies(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut graph = Graph::default().with(number("one", 1));
    for at in 0..n {
        let ends = [format!("y{at}"), format!("y{}", at + 1)];
        let [i, c, s, t] = ["i", "c", "s", "t"].map(|what| format!("{what}_{at}"));
        let mut inside = Graph::default()
            .input(&i)
            .input(&c)
            .input(&s)
            .relu(&s, &t)
            .output(&c)
            .output(&t);
        for junk in 0..repeats.min(200) {
            inside = inside.node("Constant", &[], &[&format!("j{at}_{junk}")], vec![]);
        }
        let first = if at == 0 { "x" } else { ends[0].as_str() };
        graph = graph.node(
            "Loop",
            &["one", "", first],
            &[&ends[1]],
            vec![body("body", inside)],
        );
    }
    graph.output(&format!("y{n}")).file(repeats, vec![])
}

fn branches_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let branch = |side: &str| {
        let mut graph = Graph::default();
        for at in 0..n {
            graph = graph.with(tensor(&format!("{side}{at}"), 1, &[1], vec![0; 4]));
        }
        let out = format!("{side}_out");
        graph.relu("s", &out).output(&out)
    };
    let sides = vec![
        body("then_branch", branch("a")),
        body("else_branch", branch("b")),
    ];
    looped(repeats, Graph::default().node("If", &["c"], &["t"], sides))
}

fn function(name: &str, nodes: Vec<Fields>) -> Fields {
    let mut fields = vec![text(1, name), text(4, "a"), text(5, "b"), text(10, "own")];
    fields.extend(nodes.into_iter().map(|node| message(7, node)));
    fields
}

fn call(graph: Graph, input: &str, output: &str, attributes: Fields) -> Graph {
    graph.with(message(
        1,
        node_of("own", "F", &[input], &[output], attributes),
    ))
}

fn calls_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut nodes = vec![node_of("", "Relu", &["a"], &["r0"], vec![])];
    for at in 1..n {
        let [before, after] = [at - 1, at].map(|at| format!("r{at}"));
        nodes.push(node_of("", "Relu", &[&before], &[&after], vec![]));
    }
    nodes.push(node_of(
        "",
        "Relu",
        &[&format!("r{}", n - 1)],
        &["b"],
        vec![],
    ));
    let inside = body_of(call(Graph::default(), "s", "t", vec![]));
    let graph = Graph::default().node("Loop", &["n", "", "x"], &["y"], vec![body("body", inside)]);
    graph.output("y").file(repeats, vec![function("F", nodes)])
}

fn chain_of_calls(
    Amounts { n, repeats }: Amounts,
    first: &str,
    attributes: Fields,
    nodes: Vec<Fields>,
) -> Vec<u8> {
    let mut graph = Graph::default().relu("x", first);
    for at in 0..n {
        let before = format!("y{at}");
        let before = if at == 0 { first } else { &before };
        graph = call(graph, before, &format!("y{}", at + 1), attributes.clone());
    }
    graph
        .output(&format!("y{n}"))
        .file(repeats, vec![function("F", nodes)])
}

fn calls_of_a_concat(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let wide = node_of(
        "",
        "Concat",
        &vec!["a"; repeats],
        &["u"],
        vec![whole("axis", 0)],
    );
    let mean = node_of("", "ReduceMean", &["u"], &["v"], vec![]);
    chain_of_calls(
        Amounts { n, repeats },
        "y0",
        vec![],
        vec![wide, mean, node_of("", "Add", &["a", "v"], &["b"], vec![])],
    )
}

fn calls_with_a_long_name(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let readers = names("r", repeats);
    let mut nodes: Vec<Fields> = (readers.iter())
        .map(|name| node_of("", "Relu", &["a"], &[name], vec![]))
        .collect();
    nodes.push(node_of("", "Sum", &texts(&readers), &["b"], vec![]));
    chain_of_calls(Amounts { n: 4, repeats }, &"v".repeat(n), vec![], nodes)
}

fn calls_with_many_attributes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let given = names("a", n).iter().map(|name| whole(name, 1)).collect();
    let reference = message(5, vec![text(1, "axis"), text(21, "z"), integer(20, 2)]);
    let node = |ends: [&str; 2]| {
        node_of(
            "",
            "Softmax",
            &ends[..1],
            &ends[1..],
            vec![reference.clone()],
        )
    };
    let nodes = vec![node(["a", "r"]), node(["r", "b"])];
    let n = repeats.min(100);
    chain_of_calls(Amounts { n, repeats }, "y0", given, nodes)
}

/// A sequence of 1,000 tensors, and the nodes that `change` adds to it one after another.
fn changed(
    Amounts { n, repeats }: Amounts,
    change: impl Fn(Graph, &str, &str, usize) -> Graph,
) -> Vec<u8> {
    let parts = vec!["x"; repeats.min(MAX_SEQUENCE)];
    let mut graph = Graph::default().node("SequenceConstruct", &parts, &["s0"], vec![]);
    for at in 0..n {
        let [before, after] = [at, at + 1].map(|at| format!("s{at}"));
        graph = change(graph, &before, &after, at);
    }
    let last = format!("s{n}");
    let graph = graph.node("SequenceAt", &[&last, "zero"], &["y"], vec![]);
    graph.relu("y", "z").output("z").file(repeats, vec![])
}

/// Every other one puts back what the one before takes out, and each sequence is read twice.
fn erasures_of_a_shared_sequence(amounts: Amounts) -> Vec<u8> {
    changed(amounts, |graph, before, after, at| {
        let graph = graph.node("SequenceLength", &[before], &[&format!("l{at}")], vec![]);
        match at % 2 {
            0 => graph.node("SequenceErase", &[before, "zero"], &[after], vec![]),
            _ => graph.node("SequenceInsert", &[before, "x", "zero"], &[after], vec![]),
        }
    })
}

fn insertions_into_a_sequence(amounts: Amounts) -> Vec<u8> {
    changed(amounts, |graph, before, after, at| match at % 2 {
        0 => graph.node("SequenceErase", &[before], &[after], vec![]),
        _ => graph.node("SequenceInsert", &[before, "x"], &[after], vec![]),
    })
}

fn lengths_of_a_sequence(amounts: Amounts) -> Vec<u8> {
    changed(amounts, |graph, before, after, at| {
        let graph = graph.node("SequenceLength", &["s0"], &[&format!("l{at}")], vec![]);
        graph.node("Identity", &[before], &[after], vec![])
    })
}

fn concats_of_a_sequence(amounts: Amounts) -> Vec<u8> {
    changed(amounts, |graph, before, after, at| {
        let [wide, mean] = ["w", "m"].map(|what| format!("{what}{at}"));
        let graph = graph.node(
            "ConcatFromSequence",
            &[before],
            &[&wide],
            vec![whole("axis", 0)],
        );
        let graph = graph.node("ReduceMean", &[&wide], &[&mean], vec![]);
        graph.node(
            "SequenceConstruct",
            &vec![mean.as_str(); amounts.repeats.min(MAX_SEQUENCE)],
            &[after],
            vec![],
        )
    })
}

fn sequences_of_parts(amounts: Amounts) -> Vec<u8> {
    changed(amounts, |graph, before, after, at| {
        let parts = format!("p{at}");
        let graph = graph.node(
            "SplitToSequence",
            &["rows"],
            &[&parts],
            vec![whole("axis", 0)],
        );
        let graph = match at {
            0 => graph.with(value(
                11,
                "rows",
                &[amounts.repeats.min(MAX_SEQUENCE) as i64, 8],
            )),
            _ => graph,
        };
        graph.node(
            "Identity",
            &[if at % 2 == 0 { &parts } else { before }],
            &[after],
            vec![],
        )
    })
}

fn sequences_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let inside = Graph::default().node("SequenceInsert", &["s", "x"], &["u"], vec![]);
    let inside = inside.node("SequenceErase", &["u", "zero"], &["v"], vec![]);
    let inside = inside.node("SequenceLength", &["u"], &["l"], vec![]);
    let inside = body_of(inside.node("Identity", &["v"], &["t"], vec![]));
    let graph = Graph::default().node("SequenceConstruct", &vec!["x"; n], &["first"], vec![]);
    let graph = graph.node(
        "Loop",
        &["n", "", "first"],
        &["y"],
        vec![body("body", inside)],
    );
    let graph = graph.node("SequenceAt", &["y", "zero"], &["z"], vec![]);
    graph.relu("z", "last").output("last").file(repeats, vec![])
}

/// Weights of a megabyte under many shapes, each of which has its own slices.
fn weights_with_many_shapes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut graph = Graph::default()
        .with(tensor(
            "w",
            1,
            &[64 * repeats as i64],
            vec![1; 256 * repeats],
        ))
        .relu("x", "y0");
    for at in 0..n {
        let sides = [1 + at as i64, -1, 1, 8];
        let (shape, other) = (format!("shape{at}"), format!("w{at}"));
        let bytes = sides.iter().flat_map(|side| side.to_le_bytes()).collect();
        graph = graph.with(tensor(&shape, 7, &[4], bytes));
        graph = graph.node("Reshape", &["w", &shape], &[&other], vec![]);
        let [before, after] = [at, at + 1].map(|at| format!("y{at}"));
        graph = graph.node(
            "Concat",
            &[&other, &before],
            &[&after],
            vec![whole("axis", 0)],
        );
    }
    graph.output(&format!("y{n}")).file(repeats, vec![])
}

fn constants_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let values: Vec<u8> = (0..n as u32).flat_map(|at| at.to_le_bytes()).collect();
    let mut fields = vec![integer(1, n as i64), integer(2, 1)];
    fields.extend(
        values
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| (4, Value::Fixed32(*bytes))),
    );
    let constant = vec![message(
        5,
        vec![text(1, "value"), message(5, fields), integer(20, 4)],
    )];
    looped(
        repeats,
        Graph::default()
            .node("Constant", &[], &["w"], constant)
            .relu("s", "t"),
    )
}

/// The last node comes first.
fn chain_of_unordered_nodes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut graph = Graph::default();
    for at in (0..n).rev() {
        let [before, after] = [at, at + 1].map(|at| format!("y{at}"));
        graph = graph.relu(if at == 0 { "x" } else { &before }, &after);
    }
    graph.output(&format!("y{n}")).file(repeats, vec![])
}

/// The names of their weights are looked up in each iteration of the outer loop.
fn inner_loops_that_never_run(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let inner = Graph::default().input("i2").input("c2").input("s2");
    let inner = inner.relu("s2", "t2").output("c2").output("t2");
    let inner = names("w", n).iter().fold(inner, |graph, name| {
        graph.with(tensor(name, 1, &[1], vec![0; 4]))
    });
    let attributes = vec![body("body", inner)];
    looped(
        repeats,
        Graph::default().node("Loop", &["zero", "", "s"], &["t"], attributes),
    )
}

fn splits_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let parts = names("p", n);
    let wide = Graph::default().node("Concat", &vec!["s"; n], &["u"], vec![whole("axis", 0)]);
    let split = wide.node("Split", &["u"], &texts(&parts), vec![whole("axis", 0)]);
    looped(
        repeats,
        split.node("Add", &["s", &parts[n - 1]], &["t"], vec![]),
    )
}

fn sums_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let sum = Graph::default().node("Sum", &vec!["s"; n], &["u"], vec![]);
    looped(repeats, sum.node("Max", &vec!["u"; n], &["t"], vec![]))
}

fn equations_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let equation = vec![text(1, "equation"), text(4, &"ab,".repeat(n))];
    let einsum = Graph::default().node("Einsum", &["s"], &["u"], vec![message(5, equation)]);
    looped(repeats, einsum.node("Add", &["s", "u"], &["t"], vec![]))
}

/// As `long_lists`, in one field.
fn packed_lists(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let list = |name, number| {
        let packed = (number, Value::Bytes(vec![1; n]));
        message(5, vec![text(1, name), packed])
    };
    let mean = vec![list("axes", 8), list("other", 7), whole("keepdims", 1)];
    let mean = Graph::default().node("ReduceMean", &["s"], &["m"], mean);
    let weights = (1, Value::Bytes(vec![1; n.min(32)]));
    let weights = message(
        5,
        vec![
            weights,
            integer(2, 7),
            (7, Value::Bytes(vec![1; n])),
            text(8, "w"),
        ],
    );
    let nodes = mean.with(weights).node("Add", &["m", "w"], &["v"], vec![]);
    looped(repeats, nodes.node("Add", &["s", "v"], &["t"], vec![]))
}

fn long_domains(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let node = node_of(&"d".repeat(n), "F", &["s"], &["t"], vec![]);
    looped(repeats, Graph::default().with(message(1, node)))
}

fn branches_with_many_results(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let results = names("r", n);
    let branch = |side: &str| {
        let inside = names(side, n);
        let relu = |graph: Graph, name: &String| graph.relu("s", name).output(name);
        inside.iter().fold(Graph::default(), relu)
    };
    let sides = vec![
        body("then_branch", branch("a")),
        body("else_branch", branch("b")),
    ];
    let nodes = Graph::default().node("If", &["c"], &texts(&results), sides);
    looped(
        repeats,
        nodes.node("Add", &["s", &results[n - 1]], &["t"], vec![]),
    )
}

fn scans_in_a_loop(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let inner = Graph::default().input("a").input("row");
    let inner = inner.node("Add", &["a", "row"], &["b"], vec![]);
    let inner = inner.output("b").output("b");
    let rows = tensor("rows", 1, &[n as i64, 1, 8], vec![0; 4 * 8 * n]);
    let attributes = vec![body("body", inner), whole("num_scan_inputs", 1)];
    let nodes = Graph::default()
        .with(rows)
        .node("Scan", &["s", "rows"], &["t", "all"], attributes);
    looped(repeats, nodes)
}

const MANY_DIMENSIONS: [i64; 32] = [1; 32];

/// A network of one operator beside many of something else.
fn beside(n: usize, add: impl Fn(Graph, &str) -> Graph) -> Vec<u8> {
    let graph = Graph::default().relu("x", "y").output("y");
    let names = names("v", n);
    names
        .iter()
        .fold(graph, |graph, name| add(graph, name))
        .file(1, vec![])
}

/// Values of which nothing is told but that they have many dimensions.
fn described_values(Amounts { n, .. }: Amounts) -> Vec<u8> {
    beside(n, |graph, name| {
        let dims = (0..32).map(|_| message(1, vec![])).collect();
        let tensor_type = message(1, vec![integer(1, 1), message(2, dims)]);
        graph.with(message(
            13,
            vec![text(1, name), message(2, vec![tensor_type])],
        ))
    })
}

fn weights_of_many_dimensions(Amounts { n, .. }: Amounts) -> Vec<u8> {
    beside(n, |graph, name| {
        let dims = (1, Value::Bytes(vec![1; 32]));
        let values = (9, Value::Bytes(vec![0; 4]));
        graph.with(message(5, vec![dims, integer(2, 1), text(8, name), values]))
    })
}

fn known_weights(Amounts { n, .. }: Amounts) -> Vec<u8> {
    beside(n, |graph, name| {
        graph.with(tensor(name, 3, &[20], vec![0; 20]))
    })
}

fn inputs_of_many_dimensions(Amounts { n, .. }: Amounts) -> Vec<u8> {
    beside(n, |graph, name| {
        graph.with(value(11, name, &MANY_DIMENSIONS))
    })
}

fn short_attributes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let attributes: Fields = (0..10)
        .map(|at| message(5, vec![text(1, &at.to_string())]))
        .collect();
    beside(n, |graph, name| {
        graph.node("Relu", &["x"], &[name], attributes.clone())
    })
}

/// In each of the bodies, the same text names another value.
fn branches_with_the_same_names(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let side = |op_type| {
        Graph::default()
            .node(op_type, &["x"], &["inside"], vec![])
            .output("inside")
    };
    beside(n, |graph, name| {
        let sides = vec![
            body("then_branch", side("Relu")),
            body("else_branch", side("Abs")),
        ];
        graph.node("If", &["zero"], &[name], sides)
    })
}

fn results_of_a_body(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let inside = names("r", n);
    let first = (inside.iter()).fold(Graph::default(), |graph, name| graph.relu("x", name));
    let second = Graph::default().relu("x", "other").output("other");
    let sides = vec![
        body("then_branch", first.output("r0")),
        body("else_branch", second),
    ];
    let graph = Graph::default().node("If", &["zero"], &["y"], sides);
    graph.output("y").file(1, vec![])
}

fn sparse_weights(Amounts { n, .. }: Amounts) -> Vec<u8> {
    beside(n, |graph, name| {
        let values = message(1, vec![integer(2, 1), text(8, name)]);
        let sides = [1 << 20, 1 << 20].map(|side| integer(3, side));
        graph.with(message(15, [values].into_iter().chain(sides).collect()))
    })
}
