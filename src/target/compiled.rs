//! Custom operators that a compiler made for an accelerator, and which accelerator that is.

use super::outcome::UnavailableReason;
use crate::formats::tflite::{Model, Operator, OperatorCode, Tensor};
use crate::graph::Graph;

/// Names of compiled operators, and the compilers that make them.
const COMPILERS: &[(&str, &str)] = &[
    (ETHOS_U, "an Ethos-U, by Vela"),
    (EDGE_TPU, "an Edge TPU, by Coral's compiler"),
    (LITERT, "an NPU, by a compiler plugin of LiteRT"),
    ("NeutronGraph", "an eIQ Neutron NPU, by NXP's converter"),
];
/// Name of the operator that Vela writes.
pub const ETHOS_U: &str = "ethos-u";
/// Name of the operator that Coral's compiler writes.
const EDGE_TPU: &str = "edgetpu-custom-op";
/// Name of the operator that LiteRT's compiler plugins write, for MediaTek, Qualcomm and others.
const LITERT: &str = "DISPATCH_OP";
/// Metadata entry of those files: the manufacturer and the chip, each in as many bytes, filled with zeros.
const LITERT_STAMP: &str = "LiteRtStamp";
const LITERT_STAMP_BYTES: usize = 125;

/// Whether a compiler made the operator for an accelerator.
pub fn is_compiled(code: &OperatorCode) -> bool {
    compiler(code).is_some()
}

fn compiler(code: &OperatorCode) -> Option<&'static (&'static str, &'static str)> {
    let name = code.custom.as_deref()?;
    COMPILERS.iter().find(|(known, _)| *known == name)
}

/// The accelerator that a compiled operator is for and its compiler in words, for example `an Ethos-U55-128, by Vela`;
/// `None` for other operators.
pub fn compiled_for(model: &Model, operator: &Operator, tensors: &[Tensor]) -> Option<String> {
    let (name, words) = compiler(&operator.code)?;
    let exactly = match *name {
        ETHOS_U => stream_product(model, operator, tensors)
            .map(|(family, n_macs, _)| format!("an Ethos-{}-{n_macs}, by Vela", family.name)),
        LITERT => litert_stamp(model),
        _ => None,
    };
    Some(exactly.unwrap_or_else(|| (*words).to_owned()))
}

/// Id of the Ethos-U that Vela compiled an operator for, for example `ethos-u55-128`. It is in the command stream, the
/// operator's first input: the word `COP1`, then driver actions. Action 1 is followed by the accelerator's
/// configuration: the exponent of its multiply-accumulates per cycle in bits 0 to 3, its product in bits 28 to 31.
pub fn ethos_u_of(model: &Model, operator: &Operator, tensors: &[Tensor]) -> Option<&'static str> {
    stream_product(model, operator, tensors).map(|&(.., id)| id)
}

fn stream_product(
    model: &Model,
    operator: &Operator,
    tensors: &[Tensor],
) -> Option<&'static StreamProduct> {
    const CONFIGURATION: u32 = 1;
    let stream = tensors.get((*operator.inputs.first()?)?)?;
    let (words, _) = model
        .buffers
        .get(stream.buffer_idx)?
        .bytes()
        .as_chunks::<4>();
    let [magic, action, configuration, ..] = words else {
        return None;
    };
    let configuration = u32::from_le_bytes(*configuration);
    let is_configuration = u32::from_le_bytes(*action) & 0xff == CONFIGURATION;
    if magic != b"COP1" || !is_configuration {
        return None;
    }
    let key = (configuration >> 28, 1 << (configuration & 0xf));
    let mut products = STREAM_PRODUCTS.iter();
    products.find(|(family, n_macs, _)| (family.number, *n_macs) == key)
}

/// A generation of accelerators: its number in a command stream, and its name.
pub(crate) struct StreamFamily {
    pub(crate) number: u32,
    name: &'static str,
}

const U55: StreamFamily = StreamFamily {
    number: 0,
    name: "U55",
};
const U65: StreamFamily = StreamFamily {
    number: 1,
    name: "U65",
};
const U85: StreamFamily = StreamFamily {
    number: 2,
    name: "U85",
};

/// Generation, multiply-accumulates per cycle, and id of an accelerator.
type StreamProduct = (StreamFamily, u32, &'static str);

/// The accelerators that a command stream can name.
pub(crate) const STREAM_PRODUCTS: [StreamProduct; 11] = [
    (U55, 32, "ethos-u55-32"),
    (U55, 64, "ethos-u55-64"),
    (U55, 128, "ethos-u55-128"),
    (U55, 256, "ethos-u55-256"),
    (U65, 256, "ethos-u65-256"),
    (U65, 512, "ethos-u65-512"),
    (U85, 128, "ethos-u85-128"),
    (U85, 256, "ethos-u85-256"),
    (U85, 512, "ethos-u85-512"),
    (U85, 1024, "ethos-u85-1024"),
    (U85, 2048, "ethos-u85-2048"),
];

/// Manufacturer and chip of a file that a compiler plugin of LiteRT made.
fn litert_stamp(model: &Model) -> Option<String> {
    let entry = (model.metadata.iter()).find(|entry| entry.name == LITERT_STAMP)?;
    let stamp = model.buffers.get(entry.buffer_idx)?.bytes();
    let text = |bytes: &[u8]| {
        let bytes = bytes.split(|&byte| byte == 0).next()?;
        let text = std::str::from_utf8(bytes).ok()?.trim();
        let is_plain = text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
        (is_plain && !text.is_empty()).then(|| text.to_owned())
    };
    let manufacturer = text(stamp.get(..LITERT_STAMP_BYTES)?)?;
    let chip = text(stamp.get(LITERT_STAMP_BYTES..2 * LITERT_STAMP_BYTES)?);
    let chip = chip.map(|chip| format!(" ({chip})")).unwrap_or_default();
    Some(format!(
        "an NPU of {manufacturer}{chip}, by a compiler plugin of LiteRT"
    ))
}

/// Why there is no estimate for other hardware, if an operator is compiled for an accelerator.
pub fn compiled(graph: &Graph) -> Option<UnavailableReason> {
    let mut nodes = graph.nodes.iter();
    let node = nodes.find(|node| is_compiled(&node.operator.code))?;
    let tensors = &graph.subgraph.tensors;
    Some(UnavailableReason::Compiled {
        code: match node.operator.code.custom.as_deref() {
            Some(ETHOS_U) => "compiled-for-ethos-u",
            Some(EDGE_TPU) => "compiled-for-edge-tpu",
            _ => "compiled-for-accelerator",
        },
        accelerator: compiled_for(graph.model, node.operator, tensors).unwrap_or_default(),
    })
}
