//! Operators that TFLite does not have, under their own names: `ONNX:Einsum`.

use super::Converter;
use super::value::{NO_SHAPE, Perm, Place, Value, identity};
use crate::formats::onnx::attributes::MIN_PROGRAM_BYTES;
use crate::formats::onnx::contrib;
use crate::formats::onnx::limits::MAX_OPERATOR_NAME_CHARS;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Dimension, Node, NodeText, tensor_type};
use crate::formats::tflite::{BuiltinOptions, Foreign, Meaning, OperatorCode, TensorType};

/// Functions of each value, in any order of dimensions.
const ACTIVATIONS: &[&str] = &["Celu", "Erf", "Selu", "Shrink", "ThresholdedRelu"];

/// Operators whose work depends on the values.
const TREES: &[&str] = &[
    "SVMClassifier",
    "SVMRegressor",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
];

/// Parts of the names, in small letters, of nodes that stand for compiled programs: ONNX Runtime's contexts and the nodes
/// that its execution providers make, TensorRT's engines, the nodes of TI, Hailo and AMD, and those that ONNX Runtime writes
/// for one processor, whose channels are in blocks and padded (`com.microsoft.nchwc`).
const PROGRAMS: &[&str] = &[
    "epcontext",
    "executionprovider",
    "trtkernel",
    "trtengine",
    "trt_engine",
    "tidl",
    "hailo",
    "xilinx",
    "nchwc",
];

/// Whether a name without a domain is that of a vendor's plugin, such as `EfficientNMS_TRT`: no operator of ONNX or of ONNX
/// Runtime has an underscore in its name.
pub(super) fn is_plugin(op_type: &str) -> bool {
    // Of a long name, only what is kept is looked at.
    let mut kept = op_type.bytes().take(MAX_OPERATOR_NAME_CHARS);
    kept.any(|byte| byte == b'_')
}

/// Whether the part of a name that is kept contains small letters, which may be large there.
fn has_part(name: &str, part: &str) -> bool {
    let starts = name.as_bytes().windows(part.len());
    let mut kept = starts.take(MAX_OPERATOR_NAME_CHARS);
    kept.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

impl<'a> Converter<'a> {
    /// Adds a node under its ONNX name, with the shapes that its rule or the file states.
    pub(super) fn unknown_operator(
        &mut self,
        node: &'a Node<'a>,
        contradiction: Option<&'static str>,
    ) {
        if contradiction.is_none() && self.unknown_constants(node).is_some() {
            return;
        }
        if self.limits.spend_operator(node.outputs.len()).is_none() {
            return;
        }
        let order = contradiction
            .is_none()
            .then(|| self.kept_order(node))
            .flatten();
        let inputs: Vec<Option<usize>> = (0..node.inputs.len())
            .map(|at| {
                let value = self.input(node, at)?;
                match (value.shape.as_ref(), value.tensor_idx()) {
                    (Some(shape), _) => {
                        let order = order.clone().filter(|_| at == 0);
                        let perm = order.unwrap_or_else(|| identity(shape.len()));
                        self.tensor_in_order(&value, &perm)
                    }
                    (None, tensor_idx) => tensor_idx,
                }
            })
            .collect();
        let macs = self.foreign_macs(node);
        // Further results that are left out have no name.
        let outputs = node.outputs.iter().enumerate();
        let outputs: Vec<usize> = outputs
            .filter(|(place, output)| *place == 0 || !output.is_empty())
            .map(|(place, &output)| self.unknown_output(node, place, output, order.as_deref()))
            .collect();
        // A shape that follows from the operands and that no tensor can have.
        let first = outputs.first().copied();
        let first = first.and_then(|first| self.network.builder.tensors.get(first));
        let is_impossible = first.is_some_and(|first| !first.has_rank)
            && self.sized_by_values.is_empty()
            && !Self::is_sized_by_values(node)
            && self.inferred_shape(node, 0).is_some();
        let contradiction = contradiction.or(is_impossible.then_some(NO_SHAPE));
        let code = OperatorCode::from_name(&Self::foreign_name(node));
        let options = BuiltinOptions::Foreign(Box::new(Foreign {
            macs,
            contradiction,
            meaning: self.meaning(node),
        }));
        self.network
            .builder
            .operator(code, inputs, outputs, options);
    }

    /// The order of a value of which each one becomes one of the result.
    fn kept_order(&self, node: &Node<'a>) -> Option<Perm> {
        let is_elementwise =
            matches!(node.text.domain, "" | "ai.onnx") && ACTIVATIONS.contains(&node.text.op_type);
        self.input(node, 0).filter(|_| is_elementwise)?.perm()
    }

    /// The tensor of the result in that place, which becomes a value of the graph unless it is one already.
    fn unknown_output(
        &mut self,
        node: &'a Node<'a>,
        place: usize,
        output: Name<'a>,
        order: Option<&[usize]>,
    ) -> usize {
        let (is_told, of_type, shape) = self.type_and_shape(node, place, output);
        if !is_told {
            self.names.of_guessed_type.insert(output);
        }
        if place == 0 && shape.is_some() && Self::is_sized_by_values(node) {
            self.sized_by_values.push(node.text.op_type);
        }
        let perm = match (&shape, order) {
            (Some(shape), Some(order)) if shape.len() == order.len() => order.to_vec(),
            (shape, _) => identity(shape.as_ref().map_or(0, Vec::len)),
        };
        let known =
            shape.and_then(|shape| Some((self.tensor(&output, of_type, &shape, &perm)?, shape)));
        let (tensor_idx, shape) = match known {
            Some((tensor_idx, shape)) => (tensor_idx, Some(shape)),
            None => {
                self.shapeless.push(node.text.op_type);
                let tensor_idx = self.network.builder.tensor(&output, of_type, Vec::new());
                if let Some(tensor) = self.network.builder.tensors.get_mut(tensor_idx) {
                    tensor.has_rank = false;
                }
                (tensor_idx, None)
            }
        };
        if output.is_empty() || self.names.values.contains_key(&output) {
            return tensor_idx;
        }
        match shape {
            Some(shape) => self.define(output, of_type, shape, tensor_idx, perm),
            None => {
                let value = Value {
                    name: output,
                    tensor_type: of_type,
                    shape: None,
                    place: Place::Tensor { tensor_idx, perm },
                };
                self.names.values.insert(output, value);
            }
        }
        tensor_idx
    }

    /// The results of a node that reads constants alone are constants, where their shapes are told.
    fn unknown_constants(&mut self, node: &'a Node<'a>) -> Option<()> {
        let mut inputs = (0..node.inputs.len())
            .filter_map(|at| self.input(node, at))
            .peekable();
        inputs.peek()?;
        inputs.all(|input| input.is_constant()).then_some(())?;
        let told: Vec<(bool, Name<'a>, TensorType, Vec<i64>)> = (node.outputs.iter().enumerate())
            .map(|(place, &output)| {
                let (is_told, of_type, shape) = self.type_and_shape(node, place, output);
                Some((is_told, output, of_type, shape?))
            })
            .collect::<Option<_>>()?;
        for (is_told, output, of_type, shape) in told {
            if !is_told {
                self.names.of_guessed_type.insert(output);
            }
            self.constant(output, of_type, shape, None)?;
        }
        Some(())
    }

    /// Which branches run decides the work of trees. Among products, an operator of an unknown domain is a detail, unless
    /// it is a compiled program by its name or has one among its attributes and operands. Some vendors name no domain for
    /// their programs and plugins; no operator of ONNX that is read here has an attribute as long.
    fn meaning(&self, node: &Node<'a>) -> Meaning {
        let NodeText {
            domain, op_type, ..
        } = node.text;
        let is_program = || {
            let is_named = |part: &&str| [domain, op_type].iter().any(|name| has_part(name, part));
            PROGRAMS.iter().any(is_named) || node.attributes.has_program()
        };
        let (is_opaque, is_vendors) = match domain {
            "ai.onnx.ml" => (TREES.contains(&op_type), false),
            "" | "ai.onnx" | "ai.onnx.preview.training" | contrib::DOMAIN => {
                (is_program(), is_plugin(op_type))
            }
            _ => (
                is_program() || !self.branches.has_products || self.reads_program(node),
                true,
            ),
        };
        match (is_opaque, is_vendors) {
            (true, _) => Meaning::Opaque,
            (_, true) => Meaning::Vendors,
            _ => Meaning::Known,
        }
    }

    /// Whether an operand is a list of bytes as long as only a program is.
    fn reads_program(&self, node: &Node<'a>) -> bool {
        let mut operands = (0..node.inputs.len()).filter_map(|at| self.input(node, at));
        operands.any(|operand| {
            let is_bytes = matches!(operand.tensor_type, TensorType::UInt8 | TensorType::Int8);
            let long = i64::try_from(MIN_PROGRAM_BYTES).unwrap_or(i64::MAX);
            let is_long = matches!(operand.shape.as_deref(), Some(&[n]) if n >= long);
            is_bytes && is_long && operand.is_constant()
        })
    }

    /// The name of the operator that a node without a counterpart becomes, cut where it is longer than any other.
    pub(super) fn foreign_name(node: &Node<'a>) -> String {
        // Of a long name, only the characters that are kept are looked at.
        let cut = |text: &'a str| {
            let end = text.char_indices().nth(MAX_OPERATOR_NAME_CHARS);
            match end.and_then(|(end, _)| text.get(..end)) {
                None => (text, ""),
                Some(start) => (start, "…"),
            }
        };
        let (name, dots) = cut(node.text.op_type);
        match node.text.domain {
            "" | "ai.onnx" => format!("ONNX:{name}{dots}"),
            domain => {
                let (domain, cut_dots) = cut(domain);
                format!("ONNX:{domain}{cut_dots}.{name}{dots}")
            }
        }
    }

    /// Type and shape of an output: as the operator makes them, or as the file describes them; and whether it describes the
    /// type.
    fn type_and_shape(
        &self,
        node: &Node<'a>,
        place: usize,
        output: Name<'a>,
    ) -> (bool, TensorType, Option<Vec<i64>>) {
        let first = self.input(node, 0);
        let first_type = first
            .as_ref()
            .map_or(TensorType::Float32, |first| first.tensor_type);
        let described = self.names.described.get(&output);
        let of_type = described
            .map(|info| tensor_type(info.data_type))
            .filter(|tensor_type| !matches!(tensor_type, TensorType::Unknown(_)));
        let is_told = of_type.is_some();
        let of_type = of_type.unwrap_or(first_type);
        let is_sized_by_values = Self::is_sized_by_values(node);
        let sizes = || {
            let dimensions = described?.shape.as_ref()?;
            let size = |(axis, dimension): (usize, &Dimension)| {
                let is_batch = |_: Option<&str>| axis == 0 && !is_sized_by_values;
                (self.dimensions).size(&output, None, axis, *dimension, is_batch)
            };
            dimensions
                .iter()
                .enumerate()
                .map(size)
                .collect::<Option<Vec<i64>>>()
        };
        let shape = if is_sized_by_values {
            sizes().or_else(|| self.inferred_shape(node, place))
        } else {
            self.inferred_shape(node, place).or_else(sizes)
        };
        (is_told, of_type, shape)
    }
}
