//! Formats that people write: graphs as JSON, ncnn's networks, `vela.ini`, tables of measurements. Mutants keep the form, so that most
//! reach what is behind the reader.

use serde_json::{Value, json};

use crate::random::Random;

/// Numbers at the edges of types and of limits.
const NUMBERS: [f64; 16] = [
    -1.0,
    0.0,
    0.5,
    1.0,
    2.0,
    3.0,
    4.0,
    8.0,
    16.0,
    255.0,
    4096.0,
    65_536.0,
    2_147_483_647.0,
    4_294_967_296.0,
    9_007_199_254_740_993.0,
    1e300,
];

/// A graph of every kind of attribute.
pub fn graph_seed() -> Value {
    let tensor = |name: &str, shape: &[i32]| json!({"name": name, "shape": shape, "type": "int8"});
    let constant = |name: &str, shape: &[i32]| json!({"name": name, "shape": shape, "type": "int8", "constant": true, "zero_share": 0.4, "entropy_bits": 6});
    let layout = |name: &str, values: &[i32]| json!({"name": name, "shape": [values.len()], "type": "int32", "constant": true, "values": values});
    let operator = |kind: &str, inputs: &[&str], output: &str, attributes: Value| json!({"kind": kind, "inputs": inputs, "outputs": [output], "attributes": attributes});
    json!({
        "format": "litecast-graph", "version": 1, "name": "seed", "inputs": ["x"], "outputs": ["y", "own"],
        "tensors": [
            tensor("x", &[1, 16, 16, 3]), constant("w", &[8, 3, 3, 3]), constant("d", &[1, 3, 3, 8]),
            tensor("a", &[1, 8, 8, 8]), tensor("b", &[1, 8, 8, 8]), tensor("c", &[1, 8, 8, 16]),
            tensor("p", &[1, 4, 4, 16]), layout("axes", &[1, 2]), tensor("m", &[1, 16]),
            constant("f", &[10, 16]), tensor("g", &[1, 10]), tensor("y", &[1, 10]), tensor("own", &[1, 10]),
        ],
        "operators": [
            operator("CONV_2D", &["x", "w"], "a", json!({"stride": [2, 2], "padding": "SAME", "activation": "RELU6"})),
            operator("DEPTHWISE_CONV_2D", &["a", "d"], "b", json!({"padding": "SAME", "dilation": [2, 1]})),
            operator("CONCATENATION", &["a", "b"], "c", json!({"axis": 3})),
            operator("MAX_POOL_2D", &["c"], "p", json!({"filter": [2, 2], "stride": [2, 2], "padding": "VALID"})),
            operator("MEAN", &["p", "axes"], "m", json!({"keep_dims": false})),
            operator("FULLY_CONNECTED", &["m", "f"], "g", json!({"activation": "NONE"})),
            operator("SOFTMAX", &["g"], "y", json!({"beta": 1})),
            json!({"kind": "aten::own", "inputs": ["g", null], "outputs": ["own"], "macs": 1000}),
        ],
    })
}

/// A `vela.ini` with both kinds of sections and inheritance.
pub const INI_SEED: &str = "[System_Config.A]\ncore_clock=1e9\naxi0_port=Sram\naxi1_port=OffChipFlash\n\
    Sram_clock_scale=1.0\nSram_burst_length=32\nSram_read_latency=16\nSram_write_latency=16\n\
    OffChipFlash_clock_scale=0.125\nOffChipFlash_burst_length=128\nOffChipFlash_read_latency=64\n\
    OffChipFlash_write_latency=64\nSram_ports_used=1\n\n\
    [System_Config.C]\ninherit=System_Config.A\naxi1_port=Dram\nDram_clock_scale=0.25\nDram_burst_length=64\n\
    Dram_read_latency=250\nDram_write_latency=120\nDram_max_reads=64\nDram_max_writes=32\n\n\
    [Memory_Mode.B]\nconst_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0\n\n\
    [Memory_Mode.D]\ninherit=Memory_Mode.B\narena_mem_area=Axi1\narena_cache_size=393216\n";

/// The document with some values changed, left out, repeated or put in the place of others.
pub fn mutate_json(document: &mut Value, random: &mut Random) {
    let leaf = count(document);
    for _ in 0..1 + random.below(2) {
        let at = random.below(leaf);
        let other = nth(document, &mut random.below(leaf)).cloned();
        if let Some(value) = nth_mut(document, &mut { at }) {
            change(value, other, random);
        }
    }
}

fn change(value: &mut Value, other: Option<Value>, random: &mut Random) {
    match (random.below(24), value) {
        (0, value) => *value = Value::Null,
        (1, value) => *value = other.unwrap_or(Value::Null),
        (2, value) => *value = json!(random.pick(&NUMBERS)),
        // Most are sizes, which may be any number from 0 on.
        (_, Value::Number(number)) => {
            *number = (random.pick(&NUMBERS).clamp(0.0, 2e9) as i64).into()
        }
        (_, Value::Array(values)) if !values.is_empty() => {
            let at = random.below(values.len());
            match random.below(3) {
                0 => drop(values.remove(at)),
                1 => values.push(values[at].clone()),
                _ => values.extend(std::iter::repeat_n(values[at].clone(), 40)),
            }
        }
        (_, Value::Object(fields)) if !fields.is_empty() => {
            let at = random.below(fields.len());
            let key = fields.keys().nth(at).cloned().unwrap_or_default();
            fields.remove(&key);
        }
        (_, Value::String(text)) => {
            let kinds = [
                "ADD",
                "CONV_2D",
                "FULLY_CONNECTED",
                "RESHAPE",
                "TRANSPOSE",
                "GATHER",
                "SVDF",
                "own::kind",
            ];
            let types = ["int8", "uint8", "int16", "int32", "float32", "int4"];
            let names = [
                "x", "w", "d", "a", "b", "c", "p", "axes", "m", "f", "g", "y",
            ];
            let is_kind = text.contains(|c: char| c.is_ascii_uppercase());
            *text = match text.as_str() {
                _ if is_kind => random.pick(&kinds),
                known if types.contains(&known) => random.pick(&types),
                _ => random.pick(&names),
            }
            .to_owned();
        }
        (_, value) => *value = json!(!value.as_bool().unwrap_or(false)),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(values) => values.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

/// Values in a document, itself among them.
fn count(value: &Value) -> usize {
    1 + children(value).into_iter().map(count).sum::<usize>()
}

fn nth<'v>(value: &'v Value, left: &mut usize) -> Option<&'v Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    children(value)
        .into_iter()
        .find_map(|child| nth(child, left))
}

fn nth_mut<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(values) => values.iter_mut().find_map(|child| nth_mut(child, left)),
        Value::Object(fields) => fields.values_mut().find_map(|child| nth_mut(child, left)),
        _ => None,
    }
}

/// One network of every layer that ncnn's reader converts in its own way.
pub const NCNN_SEED: &str = "Input x 0 1 x 0=16 1=12 2=8\n\
    Split s 1 5 x x1 x2 x3 x4 x5\n\
    Convolution a 1 1 x1 a 0=8 1=3 2=1 3=2 4=1 5=1 6=576 8=1 9=3 -23310=2,0.0,6.0\n\
    ConvolutionDepthWise b 1 1 a b 0=8 1=3 4=-233 6=72 7=8 9=1\n\
    Pooling c 1 1 x2 c 0=1 4=1\n\
    InnerProduct d 1 1 c d 0=8 1=1 2=64 9=4\n\
    BinaryOp e 2 1 x3 d e 0=2\n\
    Deconvolution f 1 1 e f 0=4 1=2 3=2 6=128\n\
    Interp g 1 1 f g 0=2 1=0.5 2=0.5\n\
    Concat h 2 1 g x4 h 0=0\n\
    ShuffleChannel i 1 1 h i 0=2\n\
    Slice j 1 2 i j1 j2 -23300=2,-233,-233 1=0\n\
    Pooling k 1 1 j1 k 0=0 1=3 2=2\n\
    Padding l 1 1 k l 0=1 1=1 2=1 3=1 4=2\n\
    Crop m 1 1 l m -23309=1,1 -23310=1,-233 -23311=1,0\n\
    Reshape n 1 1 m n 0=-1 1=4\n\
    Permute o 1 1 n o 0=1\n\
    LayerNorm p 1 1 o p 0=4 2=1\n\
    Gemm q 1 1 p q 5=1 6=1 8=6 9=4 10=4\n\
    LSTM r 1 1 q r 0=5 1=240 2=1\n\
    Reduction t 1 1 r t 0=3 1=0 -23303=1,0 4=1\n\
    Flatten u 1 1 j2 u\n\
    Softmax v 1 1 u v 0=0\n\
    PixelShuffle w 1 1 x5 w 0=2\n\
    Tile y 1 1 w y -23302=3,1,2,1\n\
    ExpandDims z 1 1 y z -23303=1,0\n\
    MemoryData aa 0 1 aa 0=4\n\
    UnaryOp ab 1 1 aa ab 0=6\n\
    Eltwise ac 2 1 aa ab ac 0=1\n\
    MultiHeadAttention ad 1 1 o ad 0=4 1=2 2=16\n\
    PriorBox ae 2 1 a b ae -23330=4,2,216,2,1\n";

/// The network with lines left out, repeated or exchanged, and with other numbers and names.
pub fn mutate_ncnn(random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<String> = NCNN_SEED
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    for _ in 0..1 + random.below(3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(40) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            _ => {
                let [mut words, others] = [at, other]
                    .map(|at| lines[at].split(' ').map(str::to_owned).collect::<Vec<_>>());
                // Names and kinds less often than numbers.
                let mut place = random.below(words.len());
                if !words[place].contains('=') && random.one_in(2) {
                    place = words.len() - 1;
                }
                let number = random.pick(&NUMBERS).to_string();
                words[place] = match words[place].split_once('=') {
                    Some((id, _)) if random.one_in(2) => format!("{id}={number}"),
                    Some((_, value)) => format!("{}={value}", random.below(32)),
                    None if random.one_in(16) => number,
                    None => others[random.below(others.len())].clone(),
                };
                lines[at] = words.join(" ");
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    format!("7767517\n{} 99\n{}\n", lines.len(), lines.join("\n")).into_bytes()
}

/// Lines left out, repeated, exchanged, and values in the place of others.
pub fn mutate_ini(random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<String> = INI_SEED.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(5) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[other].clone()),
            2 => lines.swap(at, other),
            _ => {
                let value = lines[other]
                    .split_once('=')
                    .map(|(_, value)| value.to_owned());
                let number = random.pick(&NUMBERS).to_string();
                let words = [
                    "Axi0",
                    "Axi1",
                    "Sram",
                    "Dram",
                    "OnChipFlash",
                    "nan",
                    "inf",
                    "",
                    "1e-300",
                ];
                let value = match random.below(3) {
                    0 => value.unwrap_or_default(),
                    1 => random.pick(&words).to_owned(),
                    _ => number,
                };
                if let Some((key, _)) = lines[at].split_once('=') {
                    lines[at] = format!("{key}={value}");
                }
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n").into_bytes()
}

/// Targets that a table has at most.
pub const MAX_TARGETS: u8 = 5;

/// A table: the number of its targets in one byte, then for each row the measured latency and the estimates. Most are
/// ordinary numbers, so that most tables have a fit.
pub fn measurements(random: &mut Random) -> Vec<u8> {
    let n_targets = 1 + random.below(usize::from(MAX_TARGETS)) as u8;
    let n_numbers = random.below(30) * (usize::from(n_targets) + 1);
    let extremes = [
        0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::MIN_POSITIVE,
        1e-6,
        1e9,
        1e308,
    ];
    let spread = 1 << random.below(40);
    let mut number = || {
        if random.one_in(300) {
            random.pick(&extremes)
        } else {
            (random.below(spread) as f64 + 1.0) / 1024.0
        }
    };
    let numbers = (0..n_numbers).flat_map(|_| number().to_le_bytes());
    std::iter::once(n_targets)
        .chain(numbers.collect::<Vec<u8>>())
        .collect()
}
