//! Operators that TFLite does not have, under their own names: `ONNX:Einsum`.

use std::collections::BTreeMap;

use super::Converter;
use super::value::{Place, Value, identity, product};
use crate::formats::onnx::proto::{Dimension, Node, tensor_type};
use crate::formats::tflite::{BuiltinOptions, OperatorCode, TensorType};

/// Operators without products of matrices, whose result has the shape of their first input.
const ELEMENTWISE: &[&str] = &[
    "Erf",
    "Softsign",
    "Mish",
    "Selu",
    "Celu",
    "ThresholdedRelu",
    "Hardmax",
    "IsNaN",
    "IsInf",
    "Sinh",
    "Cosh",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Shrink",
    "Swish",
    "BitwiseNot",
    "LpNormalization",
    "Trilu",
    "Bernoulli",
    "RandomNormalLike",
    "RandomUniformLike",
    "MeanVarianceNormalization",
    "GroupNormalization",
    "BatchNormalization",
    "ScatterND",
    "ScatterElements",
    "Scatter",
    "ReverseSequence",
    "LRN",
];

/// Operators whose multiply-accumulates, if they have any, this reader cannot count.
const UNCOUNTED: &[&str] = &[
    "Attention",
    "If",
    "Loop",
    "Scan",
    "DFT",
    "STFT",
    "ConvInteger",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "SequenceMap",
    "DeformConv",
    "Conv",
    "Gemm",
    "MatMul",
    "MelWeightMatrix",
    "Det",
];

impl<'a> Converter<'a> {
    /// Adds a node under its ONNX name, with the shapes that its rule or the file states.
    pub(super) fn unknown_operator(
        &mut self,
        node: &'a Node<'a>,
        contradiction: Option<&'static str>,
    ) {
        if contradiction.is_none() && self.of_constants(node).is_some() {
            return;
        }
        if self.spend_operator(node.outputs.len()).is_none() {
            return;
        }
        let name = node.name();
        let inputs: Vec<Option<usize>> = (0..node.inputs.len())
            .map(|at| {
                let value = self.input(node, at)?;
                match (value.shape.as_ref(), value.tensor_idx()) {
                    (Some(shape), _) => {
                        let perm = identity(shape.len());
                        self.arranged(&value, &perm)
                    }
                    (None, tensor_idx) => tensor_idx,
                }
            })
            .collect();
        let macs = self.foreign_macs(node);
        let mut outputs = Vec::with_capacity(node.outputs.len());
        for (place, &output) in node.outputs.iter().enumerate() {
            let (of_type, shape) = self.told(node, place, output);
            let rank = shape.as_ref().map_or(0, Vec::len);
            let known = shape.and_then(|shape| {
                Some((
                    self.tensor(output, of_type, &shape, &identity(rank))?,
                    shape,
                ))
            });
            let (tensor_idx, shape) = match known {
                Some((tensor_idx, shape)) => (tensor_idx, Some(shape)),
                None => {
                    self.shapeless.push(node.text.op_type);
                    let tensor_idx = self.builder.tensor(output, of_type, Vec::new());
                    if let Some(tensor) = self.builder.tensors.get_mut(tensor_idx) {
                        tensor.has_rank = false;
                    }
                    (tensor_idx, None)
                }
            };
            outputs.push(tensor_idx);
            if output.is_empty() || self.values.contains_key(output) {
                continue;
            }
            let perm = identity(shape.as_ref().map_or(0, Vec::len));
            match shape {
                Some(shape) => self.define(output, of_type, shape, tensor_idx, perm),
                None => {
                    let value = Value {
                        name: output,
                        tensor_type: of_type,
                        shape: None,
                        place: Place::Tensor { tensor_idx, perm },
                    };
                    self.values.insert(output, value);
                }
            }
        }
        let code = OperatorCode::from_name(&format!("ONNX:{name}"));
        let options = BuiltinOptions::Foreign {
            macs,
            contradiction,
        };
        self.builder.operator(code, inputs, outputs, options);
    }

    /// The results of a node that reads constants alone are constants, where their shapes are told.
    fn of_constants(&mut self, node: &'a Node<'a>) -> Option<()> {
        let mut inputs = (0..node.inputs.len())
            .filter_map(|at| self.input(node, at))
            .peekable();
        inputs.peek()?;
        inputs.all(|input| input.is_constant()).then_some(())?;
        let told: Vec<(&'a str, TensorType, Vec<i64>)> = (node.outputs.iter().enumerate())
            .map(|(place, &output)| {
                let (of_type, shape) = self.told(node, place, output);
                Some((output, of_type, shape?))
            })
            .collect::<Option<_>>()?;
        for (output, of_type, shape) in told {
            self.constant(output, of_type, shape, None)?;
        }
        Some(())
    }

    /// Type and shape of an output: as the operator makes them, or as the file describes them.
    fn told(&self, node: &Node<'a>, place: usize, output: &str) -> (TensorType, Option<Vec<i64>>) {
        let first = self.input(node, 0);
        let first_type = first
            .as_ref()
            .map_or(TensorType::Float32, |first| first.tensor_type);
        let described = self.described.get(output);
        let of_type = described
            .map(|info| tensor_type(info.data_type))
            .filter(|of| !matches!(of, TensorType::Unknown(_)));
        let of_type = of_type.unwrap_or(first_type);
        let inferred = || match (place, node.text.domain) {
            (0, "" | "ai.onnx") => self.inferred(node, first.as_ref()?),
            _ => None,
        };
        let sizes = || {
            let dimensions = described?.shape.as_ref()?;
            let size = |(axis, dimension): (usize, &Dimension)| {
                self.dimensions.size(output, axis, *dimension).ok()
            };
            dimensions
                .iter()
                .enumerate()
                .map(size)
                .collect::<Option<Vec<i64>>>()
        };
        (of_type, inferred().or_else(sizes))
    }

    fn inferred(&self, node: &Node<'a>, first: &Value<'a>) -> Option<Vec<i64>> {
        let shape = first.shape.as_ref()?;
        match node.text.op_type {
            name if ELEMENTWISE.contains(&name) => Some(shape.clone()),
            "Resize" | "Upsample" => self.resized(node, shape),
            "Einsum" => Some(self.einsum(node)?.0),
            "LSTM" | "GRU" | "RNN" => {
                let &[steps, batch, _] = shape.as_slice() else {
                    return None;
                };
                let recurrent = self.input(node, 2)?.shape?;
                Some(vec![steps, *recurrent.first()?, batch, *recurrent.last()?])
            }
            "GatherElements" => self.input(node, 1)?.shape,
            "GatherND" => {
                let places = self.input(node, 1)?.shape?;
                let (&depth, front) = places.split_last()?;
                let batch = usize::try_from(node.integer("batch_dims").unwrap_or(0)).ok()?;
                let from = batch.checked_add(usize::try_from(depth).ok()?)?;
                Some(front.iter().chain(shape.get(from..)?).copied().collect())
            }
            "GridSample" => {
                let grid = self.input(node, 1)?.shape?;
                let sides = grid.get(1..grid.len().checked_sub(1)?)?;
                Some(shape.get(..2)?.iter().chain(sides).copied().collect())
            }
            "OneHot" => {
                let depth = self.input(node, 1)?.number()?;
                #[allow(clippy::as_conversions)]
                let depth = depth as i64;
                (node.integer("axis").unwrap_or(-1) == -1)
                    .then(|| shape.iter().copied().chain([depth]).collect())
            }
            "ReduceL2" | "ReduceL1" | "ReduceSumSquare" | "ReduceLogSumExp" | "ReduceLogSum" => {
                let named = self.optional_list(node, "axes", 1)?;
                let axes = named
                    .filter(|named| !named.is_empty())
                    .unwrap_or_else(|| (0..i64::try_from(shape.len()).unwrap_or(0)).collect());
                let axes = super::value::axes(&axes, shape.len())?;
                let keeps = node.integer("keepdims").unwrap_or(1) == 1;
                let sides = shape
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| keeps || !axes.contains(at));
                Some(
                    sides
                        .map(|(at, &side)| if axes.contains(&at) { 1 } else { side })
                        .collect(),
                )
            }
            "ConvTranspose" => self.described.get(*node.outputs.first()?).and(None),
            _ => None,
        }
    }

    fn foreign_macs(&self, node: &Node<'a>) -> Option<u64> {
        if !matches!(node.text.domain, "" | "ai.onnx") {
            return None;
        }
        let count = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
        match node.text.op_type {
            "Einsum" => count(self.einsum(node).map(|(_, macs)| macs)),
            "LSTM" | "GRU" | "RNN" => {
                // Every step multiplies its input and the state by all weights.
                let shape = self.input(node, 0)?.shape?;
                let steps = product(shape.get(..2)?)?;
                let weights = [1, 2].map(|at| self.input(node, at)?.n_values());
                let [Some(input), Some(state)] = weights else {
                    return None;
                };
                count(steps.checked_mul(input.checked_add(state)?))
            }
            "ConvTranspose" => {
                // Every input value meets the window of every output channel of its group.
                let (x, w) = (self.input(node, 0)?, self.input(node, 1)?);
                count(
                    x.n_values()?
                        .checked_mul(product(w.shape.as_ref()?.get(1..)?)?),
                )
            }
            name if UNCOUNTED.contains(&name) => None,
            _ => Some(0),
        }
    }

    /// Shape of an `Einsum`'s result, and its multiply-accumulates: the product of the sizes of all labels.
    fn einsum(&self, node: &Node<'a>) -> Option<(Vec<i64>, i64)> {
        let equation = without_spaces(node.text("equation")?)?;
        let (operands, result) = operands_and_result(&equation);
        let mut sizes: BTreeMap<Label, i64> = BTreeMap::new();
        let mut n_uses: BTreeMap<Label, usize> = BTreeMap::new();
        let mut widest = 0;
        for (at, text) in operands.split(',').enumerate() {
            let shape = self.input(node, at)?.shape?;
            let n_named = text.chars().filter(|label| *label != '.').count();
            let n_elided = shape.len().checked_sub(n_named)?;
            widest = widest.max(n_elided);
            let labels = labels(text, n_elided)?;
            (labels.len() == shape.len()).then_some(())?;
            for (label, side) in labels.into_iter().zip(shape) {
                let size = sizes.entry(label).or_insert(1);
                *size = (*size).max(side);
                let n = n_uses.entry(label).or_default();
                *n = n.saturating_add(1);
            }
        }
        // Without a result, elided dimensions and labels that occur once, in the order of the alphabet.
        let result = match result {
            Some(result) => labels(result, widest)?,
            None => {
                let once = |label: &&Label| match label {
                    Label::Elided(_) => true,
                    Label::Named(_) => n_uses.get(*label) == Some(&1),
                };
                sizes.keys().filter(once).copied().collect()
            }
        };
        let sides = result.iter().map(|label| sizes.get(label).copied());
        let shape: Vec<i64> = sides.collect::<Option<_>>()?;
        let all: Vec<i64> = sizes.into_values().collect();
        Some((shape, product(&all)?))
    }
}

/// Why operands of these shapes do not fit the equation of an `Einsum`; `None` if the equation is not understood.
pub(super) fn against_equation(equation: &str, shapes: &[&[i64]]) -> Option<&'static str> {
    let equation = without_spaces(equation)?;
    let (operands, result) = operands_and_result(&equation);
    if operands.split(',').count() != shapes.len() {
        return Some("the equation has another number of operands");
    }
    let mut sizes: BTreeMap<Label, i64> = BTreeMap::new();
    let mut widest = 0;
    for (text, shape) in operands.split(',').zip(shapes) {
        let n_named = text.chars().filter(|label| *label != '.').count();
        let n_elided = shape.len().checked_sub(n_named);
        let Some(n_elided) = n_elided.filter(|&n| n == 0 || text.contains("...")) else {
            return Some("an operand has another number of dimensions than labels");
        };
        widest = widest.max(n_elided);
        for (label, &side) in labels(text, n_elided)?.into_iter().zip(*shape) {
            let size = sizes.entry(label).or_insert(side);
            match (*size, side) {
                (known, side) if known == side => {}
                (1, _) => *size = side,
                (_, 1) => {}
                _ => return Some("a label of the equation stands for two sizes"),
            }
        }
    }
    let of_result = labels(result?, widest)?;
    (!of_result.iter().all(|label| sizes.contains_key(label)))
        .then_some("the result has a label that no operand has")
}

fn without_spaces(equation: &str) -> Option<String> {
    let is_short = equation.len() <= MAX_EQUATION_BYTES;
    is_short.then(|| equation.chars().filter(|c| !c.is_whitespace()).collect())
}

fn operands_and_result(equation: &str) -> (&str, Option<&str>) {
    match equation.split_once("->") {
        Some((operands, result)) => (operands, Some(result)),
        None => (equation, None),
    }
}

/// Maximum length of an equation. Labels are single letters, and an operand needs one for each dimension.
const MAX_EQUATION_BYTES: usize = 1024;

/// A dimension in the equation of an `Einsum`. Those that `...` stands for come first, in their order: their numbers
/// are counted from the last one, and negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Elided(i64),
    Named(char),
}

/// Labels of one operand, whose `...` stands for `n_elided` dimensions.
fn labels(text: &str, n_elided: usize) -> Option<Vec<Label>> {
    let named = |text: &str| {
        let letters = text
            .chars()
            .map(|c| c.is_alphabetic().then_some(Label::Named(c)));
        letters.collect::<Option<Vec<Label>>>()
    };
    let Some((front, back)) = text.split_once("...") else {
        return named(text);
    };
    let mut labels = named(front)?;
    let n_elided = i64::try_from(n_elided).ok()?;
    labels.extend((0..n_elided).map(|at| Label::Elided(at.saturating_sub(n_elided))));
    labels.extend(named(back)?);
    Some(labels)
}
