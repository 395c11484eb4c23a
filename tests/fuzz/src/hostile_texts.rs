//! What tools print and people store beside networks: profiles, measured devices, `vela.ini` and reports in which a few
//! bytes ask for much.

/// What benchmark tools print.
pub mod profiles {
    use crate::case::{Amounts, cases};

    cases! {
        one_line_of_many_cells 4_000_000,
        lines_of_many_cells 4_000,
        heads_of_many_columns 100_000,
        quoted_cells 1_000_000,
        spaces 4_000_000,
        empty_events 2_000_000,
        short_events 400_000,
        events_of_many_names 300_000,
        runs_of_one_node 100_000,
        shapes_of_many_types 400_000,
        shapes_of_many_sizes 2_000_000,
        nested_arguments 100_000,
        unknown_fields 400_000,
        names_with_many_ends 400_000,
        events_with_many_ends 400_000,
        rows_of_one_operator 130_000,
        rows_of_other_kinds 130_000,
        long_kinds 2_000_000,
        kinds_of_some_length 2_000,
        named_inferences 130_000,
        phrases 130_000,
        half_phrases 400_000,
        long_numbers 1_000_000,
        many_heads 100_000,
        delegates 100_000,
        lines_without_numbers 100_000,
        windows_ends 1_000_000,
    }

    fn repeated(text: &str, n: usize) -> String {
        text.repeat(n)
    }

    fn one_line_of_many_cells(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("name,ms\n{}1\n", repeated("a,", n)).into_bytes()
    }

    fn lines_of_many_cells(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let line = format!("{}\n", repeated("a;b\t", repeats.min(100)));
        repeated(&line, n).into_bytes()
    }

    fn heads_of_many_columns(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let head = repeated("name,avg ms,node type,first,", n);
        let rows = repeated("a,1,b,2\n", repeats);
        format!("{head}\n{rows}").into_bytes()
    }

    fn quoted_cells(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("name,ms\n{},1\n", repeated("\"\"", n)).into_bytes()
    }

    fn spaces(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!(
            "name ms\n{}a  1\n{}\n",
            repeated(" ", n),
            repeated("a  ", n)
        )
        .into_bytes()
    }

    fn events(event: &str, n: usize) -> Vec<u8> {
        let last = "{\"cat\":\"Session\",\"name\":\"model_run\",\"dur\":100}";
        format!("[{}{last}]", repeated(&format!("{event},"), n)).into_bytes()
    }

    fn empty_events(Amounts { n, .. }: Amounts) -> Vec<u8> {
        events("{}", n)
    }

    fn short_events(Amounts { n, .. }: Amounts) -> Vec<u8> {
        events("{\"cat\":\"Node\",\"dur\":1}", n)
    }

    fn events_of_many_names(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let node = |at| format!("{{\"cat\":\"Node\",\"dur\":1,\"name\":\"n{at}\"}}");
        let nodes: Vec<String> = (0..n).map(node).collect();
        format!("[{}]", nodes.join(",")).into_bytes()
    }

    fn runs_of_one_node(Amounts { n, .. }: Amounts) -> Vec<u8> {
        events(
            "{\"cat\":\"Node\",\"dur\":1,\"name\":\"a\",\"args\":{\"op_name\":\"Conv\",\"node_index\":\"1\"}}",
            n,
        )
    }

    fn with_shape(shape: &str) -> Vec<u8> {
        events(
            &format!(
                "{{\"cat\":\"Node\",\"dur\":1,\"name\":\"a\",\"args\":{{\"op_name\":\"Conv\",\"output_type_shape\":{shape}}}}}"
            ),
            1,
        )
    }

    fn shapes_of_many_types(Amounts { n, .. }: Amounts) -> Vec<u8> {
        with_shape(&format!("[{}{{}}]", repeated("{\"\":[]},{},", n)))
    }

    fn shapes_of_many_sizes(Amounts { n, .. }: Amounts) -> Vec<u8> {
        with_shape(&format!("[{{\"float\":[{}1]}}]", repeated("1,", n)))
    }

    fn nested_arguments(Amounts { n, .. }: Amounts) -> Vec<u8> {
        events(
            &format!("{{\"args\":{}{}}}", repeated("[", n), repeated("]", n)),
            1,
        )
    }

    fn unknown_fields(Amounts { n, .. }: Amounts) -> Vec<u8> {
        events(
            &format!("{{{}\"a\":[[],{{}}]}}", repeated("\"\":{\"\":[]},", n)),
            1,
        )
    }

    fn names_with_many_ends(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("name,ms\na{},1\n", repeated(":0", n)).into_bytes()
    }

    fn events_with_many_ends(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let name = format!("a{}", repeated(["_nchwc", "_kernel_time"][repeats % 2], n));
        events(
            &format!("{{\"cat\":\"Node\",\"dur\":1,\"name\":\"{name}\"}}"),
            1,
        )
    }

    fn rows_of_one_operator(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("name,type,ms\n{}", repeated("t2,RELU,1\n", n)).into_bytes()
    }

    fn rows_of_other_kinds(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("name,type,ms\n{}", repeated("t2,Own,1\n", n)).into_bytes()
    }

    fn long_kinds(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let row = format!("t2,{},1\n", repeated("Conv", n / 4));
        format!("name,type,ms\n{}", repeated(&row, 1 + repeats % 2)).into_bytes()
    }

    fn kinds_of_some_length(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let row = format!("t2,{},1\n", repeated("quantized_", n / 10));
        format!("name,type,ms\n{}", repeated(&row, repeats)).into_bytes()
    }

    fn named_inferences(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let rows: Vec<String> = (0..n).map(|at| format!("/a/b/NET{at}.tflite,1")).collect();
        format!("file,ms\n{}\n", rows.join("\n")).into_bytes()
    }

    fn phrases(Amounts { n, .. }: Amounts) -> Vec<u8> {
        repeated("RELU took 12 ticks (1 ms).\n", n).into_bytes()
    }

    /// Words that begin a sentence of a tool, on one line.
    fn half_phrases(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!(
            "name,ms\n{}\n",
            repeated(" took avg = min = feature_map: ticks", n)
        )
        .into_bytes()
    }

    fn long_numbers(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!(
            "name,ms\na,0{}1\nb,{}\n",
            repeated(".0", n),
            repeated("1'", n)
        )
        .into_bytes()
    }

    fn many_heads(Amounts { n, .. }: Amounts) -> Vec<u8> {
        repeated("name,ms\na,1\n", n.min(100_000)).into_bytes()
    }

    fn delegates(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let table = "Delegate internal:\nname,ms\nTfLiteXNNPackDelegate,1\n";
        repeated(table, n).into_bytes()
    }

    fn lines_without_numbers(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("name,ms\n{}", repeated("é,\u{1f600}\n", n)).into_bytes()
    }

    fn windows_ends(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("\u{feff}name,ms\r\n{}a,1\r\n", repeated("\r\n", n)).into_bytes()
    }
}

/// Documents of devices that `calibrate` wrote.
pub mod devices {
    use serde_json::{Value, json};

    use crate::case::{Amounts, cases};

    cases! {
        networks 60_000,
        networks_with_operators 1_000,
        observations 100_000,
        observations_of_many_operators 1_000_000,
        combinations_of_classes 40_000,
        left_out 1_000_000,
        unmatched 400_000,
        names 1_000_000,
        tools 1_000,
        covariances 1_000_000,
        impossible_numbers 4,
        deep 100_000,
        empty_lists 1_000_000,
    }

    /// The stored device of the tests.
    pub const SEED: &[u8] = include_bytes!("../../profiles/device-1.json");

    fn seed() -> Value {
        serde_json::from_slice(SEED).expect("the stored device is JSON")
    }

    fn network(at: usize, observations: &Value) -> Value {
        json!({
            "model": "m.tflite", "sha256": format!("{at}"), "tool": "a table", "profile": "p.csv",
            "measured_ms": 1.0 + at as f64, "base_ms": [["convolution", 1.0]], "n_calls": 1,
            "observations": observations, "unmatched": [], "unmatched_ms": 0.0,
        })
    }

    fn of_networks(networks: Vec<Value>) -> Vec<u8> {
        let mut device = seed();
        device["left_out"] = json!(vec![0.1; networks.len()]);
        device["networks"] = json!(networks);
        device.to_string().into_bytes()
    }

    fn networks(Amounts { n, .. }: Amounts) -> Vec<u8> {
        of_networks((0..n).map(|at| network(at, &json!([]))).collect())
    }

    fn observation(classes: &[&str]) -> Value {
        let base_ms: Vec<Value> = classes.iter().map(|class| json!([class, 1.0])).collect();
        json!({"operators": [0], "base_ms": base_ms, "measured_ms": 1.0})
    }

    const CLASSES: [&str; 5] = [
        "movement",
        "convolution",
        "depthwise",
        "pointwise",
        "reduction",
    ];

    fn networks_with_operators(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let observations = CLASSES.iter().map(|class| observation(&[class]));
        let mut observations: Vec<Value> = observations.collect();
        observations.truncate(repeats);
        let observations = json!(observations);
        of_networks(
            (0..n.min(1_000))
                .map(|at| network(at, &observations))
                .collect(),
        )
    }

    fn observations(Amounts { n, .. }: Amounts) -> Vec<u8> {
        of_networks(vec![network(
            0,
            &json!(vec![observation(&["movement"]); n]),
        )])
    }

    fn observations_of_many_operators(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut one = observation(&["movement"]);
        one["operators"] = json!(vec![1; n]);
        of_networks(vec![network(0, &json!([one]))])
    }

    /// As many lists of classes that differ in length alone, in two networks.
    fn combinations_of_classes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let side = repeats.min(60);
        let observations: Vec<Value> = (0..n.min(side * side))
            .map(|at| {
                let mut classes = vec!["movement"; 1 + at % side];
                classes.extend(vec!["pointwise"; at / side]);
                observation(&classes)
            })
            .collect();
        let observations = json!(observations);
        of_networks((0..2).map(|at| network(at, &observations)).collect())
    }

    fn left_out(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut device = seed();
        device["left_out"] = json!(vec![0.5; n]);
        device.to_string().into_bytes()
    }

    fn unmatched(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut one = network(0, &json!([]));
        one["unmatched"] = json!(vec!["Conv (1 ms)"; n]);
        of_networks(vec![one])
    }

    fn names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let mut device = seed();
        let name = ["-", "\u{1f600}", "a", "\u{202e}"][repeats % 4].repeat(n);
        device["name"] = json!(name);
        device.to_string().into_bytes()
    }

    fn tools(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let with_tool = |at: usize| {
            let mut one = network(at, &json!([]));
            one["tool"] = json!(format!("{at}{}", "t".repeat(repeats)));
            one
        };
        of_networks((0..n).map(with_tool).collect())
    }

    fn covariances(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut device = seed();
        device["fit"]["covariance"] = json!(vec![0; n]);
        device.to_string().into_bytes()
    }

    fn impossible_numbers(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let mut device = seed();
        let number = [999.0, -999.0, 1e300, -1e300, 1e-300, 0.0][repeats % 6];
        match n % 4 {
            0 => device["fit"]["parameters"] = json!(vec![number; 12]),
            1 => device["fit"]["covariance"] = json!(vec![number; 144]),
            2 => device["left_out"] = json!([number, -number]),
            _ => {
                device["networks"][0]["measured_ms"] = json!(number);
                device["networks"][1]["observations"][0]["measured_ms"] = json!(number);
                device["networks"][1]["n_calls"] = json!(u64::MAX);
            }
        }
        device.to_string().into_bytes()
    }

    fn deep(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let text = seed().to_string();
        let value = format!("{}{}", "[".repeat(n), "]".repeat(n));
        text.replacen("\"fit\":", &format!("\"other\":{value},\"fit\":"), 1)
            .into_bytes()
    }

    fn empty_lists(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let text = seed().to_string();
        text.replacen(
            "\"fit\":",
            &format!("\"other\":[{}[]],\"fit\":", "[],{},".repeat(n)),
            1,
        )
        .into_bytes()
    }
}

/// `vela.ini`.
pub mod configurations {
    use crate::case::{Amounts, cases};

    cases! {
        sections 100_000,
        pairs_of_sections 8,
        chain_of_inheritance 40_000,
        circle_of_inheritance 40_000,
        tree_of_inheritance 40_000,
        keys 100_000,
        long_names 500_000,
        long_values 500_000,
        comments 500_000,
        long_numbers 500_000,
        indented 100_000,
    }

    fn section(kind: &str, name: &str, keys: &str) -> String {
        format!("[{kind}.{name}]\n{keys}\n")
    }

    fn sections(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let one = |at: usize| section("System_Config", &at.to_string(), "core_clock=1e9");
        (0..n).map(one).collect::<String>().into_bytes()
    }

    fn pairs_of_sections(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let one = |at: usize| {
            let name = at.to_string();
            section(
                "System_Config",
                &name,
                "core_clock=1e9\naxi0_port=Sram\naxi1_port=Dram",
            ) + &section(
                "Memory_Mode",
                &name,
                "const_mem_area=Axi1\narena_mem_area=Axi1",
            )
        };
        (0..n).map(one).collect::<String>().into_bytes()
    }

    fn inherited(n: usize, from: impl Fn(usize) -> usize) -> Vec<u8> {
        let one = |at: usize| {
            let keys = format!("inherit=System_Config.{}", from(at));
            section("System_Config", &at.to_string(), &keys)
        };
        let mode = section("Memory_Mode", "m", "const_mem_area=Axi1");
        (0..n)
            .map(one)
            .chain([mode])
            .collect::<String>()
            .into_bytes()
    }

    fn chain_of_inheritance(Amounts { n, .. }: Amounts) -> Vec<u8> {
        inherited(n, |at| at + 1)
    }

    fn circle_of_inheritance(Amounts { n, .. }: Amounts) -> Vec<u8> {
        inherited(n, |at| (at + 1) % n)
    }

    fn tree_of_inheritance(Amounts { n, .. }: Amounts) -> Vec<u8> {
        inherited(n, |at| at / 2)
    }

    fn keys(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let keys: String = (0..n).map(|at| format!("k{at}=1\n")).collect();
        section("System_Config", "a", &keys).into_bytes()
    }

    fn long_names(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let name = "n".repeat(n);
        (section(
            "System_Config",
            &name,
            &format!("inherit=System_Config.{name}"),
        ) + &section("Memory_Mode", &name, "const_mem_area=Axi1"))
            .into_bytes()
    }

    fn long_values(Amounts { n, .. }: Amounts) -> Vec<u8> {
        section(
            "System_Config",
            "a",
            &format!("axi0_port={}", "v".repeat(n)),
        )
        .into_bytes()
    }

    fn comments(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("[Memory_Mode.a]\n{}", ";\n#\n".repeat(n)).into_bytes()
    }

    fn long_numbers(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let number = format!("0.{}1e{}", "0".repeat(n), "9".repeat(n));
        section("System_Config", "a", &format!("core_clock={number}")).into_bytes()
    }

    fn indented(Amounts { n, .. }: Amounts) -> Vec<u8> {
        format!("[Memory_Mode.a]\nk=1\n{}", " \t\n".repeat(n)).into_bytes()
    }
}

/// Stored reports.
pub mod reports {
    use serde_json::{Map, Value, json};

    use crate::case::{Amounts, cases};

    cases! {
        results 2_000,
        results_of_one_target 2_000,
        operators 5_000,
        tensors 5_000,
        diagnostics 5_000,
        boards 10_000,
        left_out 5_000,
        parts 100_000,
        names 200_000,
        empty_objects 100_000,
        fields 10_000,
        deep 100_000,
        odd_kinds 8,
        versions 8,
    }

    /// A report of version 1.
    const SEED: &[u8] = include_bytes!("../../stored_reports/version-1.json");

    fn seed() -> Value {
        serde_json::from_slice(SEED).expect("the stored report is JSON")
    }

    fn first(report: &Value, list: &str) -> Value {
        report[list].get(0).cloned().unwrap_or(Value::Null)
    }

    fn repeated(list: &str, n: usize) -> Vec<u8> {
        let mut report = seed();
        let entry = first(&report, list);
        report[list] = json!(vec![entry; n]);
        report.to_string().into_bytes()
    }

    fn results(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut report = seed();
        let mut entry = first(&report, "results");
        let entries = (0..n).map(|at| {
            entry["target"] = json!(format!("t{at}"));
            entry.clone()
        });
        report["results"] = entries.collect();
        report.to_string().into_bytes()
    }

    fn results_of_one_target(Amounts { n, .. }: Amounts) -> Vec<u8> {
        repeated("results", n)
    }

    fn operators(Amounts { n, .. }: Amounts) -> Vec<u8> {
        repeated("operators", n)
    }

    fn tensors(Amounts { n, .. }: Amounts) -> Vec<u8> {
        repeated("tensors", n)
    }

    fn diagnostics(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let mut report = seed();
        let one =
            json!({"severity": "warning", "code": "c", "message": "m".repeat(repeats.min(20))});
        report["diagnostics"] = json!(vec![one; n]);
        report.to_string().into_bytes()
    }

    fn boards(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut report = seed();
        report["fits"]["boards"] = json!(vec![json!({"fits": "yes"}); n]);
        report.to_string().into_bytes()
    }

    fn left_out(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut report = seed();
        let one = json!({"targets": ["a"], "operators": [{"operator": 0, "reason": "r"}]});
        report["left_out"] = json!(vec![one; n]);
        report.to_string().into_bytes()
    }

    fn parts(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut report = seed();
        report["results"][0]["operators"] = json!(vec![0; n]);
        report.to_string().into_bytes()
    }

    fn names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let mut report = seed();
        let name = json!(["a", "\u{1b}[31m", "\u{202e}", "<b>"][repeats % 4].repeat(n));
        report["file"] = name.clone();
        report["results"][0]["target"] = name;
        report.to_string().into_bytes()
    }

    fn with_field(value: &str) -> Vec<u8> {
        let text = seed().to_string();
        text.replacen('{', &format!("{{\"other\":{value},"), 1)
            .into_bytes()
    }

    fn empty_objects(Amounts { n, .. }: Amounts) -> Vec<u8> {
        with_field(&format!("[{}0]", "{},[],".repeat(n)))
    }

    fn fields(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let fields: Map<String, Value> = (0..n).map(|at| (format!("{at}"), json!(0))).collect();
        with_field(&Value::Object(fields).to_string())
    }

    fn deep(Amounts { n, .. }: Amounts) -> Vec<u8> {
        with_field(&format!("{}{}", "[".repeat(n), "]".repeat(n)))
    }

    /// A value of another kind in the place of one.
    fn odd_kinds(Amounts { n, repeats }: Amounts) -> Vec<u8> {
        let mut report = seed();
        let values = [
            json!(null),
            json!([]),
            json!({}),
            json!(1),
            json!("a"),
            json!([[]]),
        ];
        let value = values[repeats % values.len()].clone();
        let places = [
            "/results",
            "/results/0",
            "/fits",
            "/fits/need",
            "/fits/boards",
            "/model",
            "/results/0/provenance",
            "/operators",
        ];
        if let Some(place) = report.pointer_mut(places[n % places.len()]) {
            *place = value;
        }
        report.to_string().into_bytes()
    }

    fn versions(Amounts { n, .. }: Amounts) -> Vec<u8> {
        let mut report = seed();
        let versions = [
            json!(0),
            json!(-1),
            json!(1.5),
            json!(2),
            json!(3),
            json!(u64::MAX),
            json!("1"),
        ];
        report["schema_version"] = versions[n % versions.len()].clone();
        report.to_string().into_bytes()
    }
}
