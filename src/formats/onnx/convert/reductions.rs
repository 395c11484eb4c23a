//! Reductions, and places of the largest values.

use super::Converter;
use super::formulas::without_activation;
use super::value::{Perm, Value, axis, narrow, order_without, stored_axis, stored_shape};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{BuiltinOptions, OpKind, TensorType};

/// A reduction of TFLite, with an operator on what it reads and one on its result.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    /// `Mul` multiplies the value with itself.
    before: Option<OpKind>,
    kind: OpKind,
    after: Option<OpKind>,
}

/// What a reduction of ONNX is in TFLite.
pub(super) fn reduction(op_type: &str) -> Option<Reduction> {
    let (before, kind, after) = match op_type {
        "ReduceMean" => (None, OpKind::Mean, None),
        "ReduceSum" => (None, OpKind::Sum, None),
        "ReduceMax" => (None, OpKind::ReduceMax, None),
        "ReduceMin" => (None, OpKind::ReduceMin, None),
        "ReduceProd" => (None, OpKind::ReduceProd, None),
        "ReduceL1" => (Some(OpKind::Abs), OpKind::Sum, None),
        "ReduceL2" => (Some(OpKind::Mul), OpKind::Sum, Some(OpKind::Sqrt)),
        "ReduceSumSquare" => (Some(OpKind::Mul), OpKind::Sum, None),
        "ReduceLogSum" => (None, OpKind::Sum, Some(OpKind::Log)),
        "ReduceLogSumExp" => (Some(OpKind::Exp), OpKind::Sum, Some(OpKind::Log)),
        _ => return None,
    };
    Some(Reduction {
        before,
        kind,
        after,
    })
}

impl Reduction {
    /// TFLite's alone.
    pub fn plain(kind: OpKind) -> Self {
        Self {
            before: None,
            kind,
            after: None,
        }
    }

    /// Whether it leaves a value as it is without axes.
    pub fn is_plain(self) -> bool {
        self.before.is_none() && self.after.is_none()
    }
}

impl<'a> Converter<'a> {
    pub(super) fn arg_extreme(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let mut perm = x.perm()?;
        let tensor = self.stored_tensor(x)?;
        let place = self
            .network
            .builder
            .integers("axis", vec![], &[stored_axis(along, &perm)?]);
        let keeps = node.integer("keepdims").unwrap_or(1) == 1;
        shape.remove(along);
        let whole_perm = perm.clone();
        perm = order_without(&perm, &[along]);
        let output_type = TensorType::Int64;
        let (kind, options) = match node.text.op_type {
            "ArgMax" => (OpKind::ArgMax, BuiltinOptions::ArgMax { output_type }),
            _ => (OpKind::ArgMin, BuiltinOptions::ArgMin { output_type }),
        };
        let inputs = vec![Some(tensor), Some(place)];
        if !keeps {
            return self.operator(kind, inputs, output, output_type, shape, perm, options);
        }
        let reduced = self.intermediate(
            kind,
            inputs,
            &format!("{output}/index"),
            output_type,
            &shape,
            &perm,
            options,
        )?;
        shape.insert(along, 1);
        let kept = self.reshaped_tensor(
            reduced,
            &output,
            output_type,
            &stored_shape(&shape, &whole_perm)?,
        )?;
        self.define(output, output_type, shape, kept, whole_perm);
        Some(())
    }

    /// Largest values along the last dimension, and where they are.
    pub(super) fn top_k(
        &mut self,
        node: &'a Node<'a>,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(-1), shape.len())?;
        // An attribute before opset 10.
        let k = (node.integer("k")).or_else(|| self.whole_number_of(node, 1))?;
        let side = shape.get_mut(along)?;
        (0..=*side).contains(&k).then_some(())?;
        *side = k;
        let perm = self.order_with_last(x, along)?;
        let tensor = self.tensor_in_order(x, &perm)?;
        self.limits.spend_operator(2)?;
        let n = self.network.builder.integers("k", vec![], &[narrow(k)?]);
        let mut outputs = Vec::new();
        for (at, of_type) in [x.tensor_type, TensorType::Int32].into_iter().enumerate() {
            let name = node.outputs.get(at).copied().unwrap_or_default();
            let result = self.tensor(&name, of_type, &shape, &perm)?;
            if !name.is_empty() {
                self.define(name, of_type, shape.clone(), result, perm.clone());
            }
            outputs.push(result);
        }
        let code = OpKind::TopkV2;
        self.network.builder.operator(
            code,
            vec![Some(tensor), Some(n)],
            outputs,
            BuiltinOptions::Absent,
        );
        Some(())
    }

    pub(super) fn reduce(
        &mut self,
        reduction: Reduction,
        x: &Value<'a>,
        output: Name<'a>,
        axes: &[usize],
        keep_dims: bool,
    ) -> Option<()> {
        let (shape, perm) = (x.shape.clone()?, x.perm()?);
        let of_type = x.tensor_type;
        let mut tensor = self.stored_tensor(x)?;
        if let Some(before) = reduction.before {
            let inputs = match before {
                OpKind::Mul => vec![Some(tensor), Some(tensor)],
                _ => vec![Some(tensor)],
            };
            let name = before.name();
            let options = without_activation(before);
            tensor = self.intermediate(before, inputs, name, of_type, &shape, &perm, options)?;
        }
        let (inputs, shape, perm) = self.reduction(tensor, &shape, &perm, axes, keep_dims)?;
        let options = BuiltinOptions::Reducer { keep_dims };
        let Some(after) = reduction.after else {
            let kind = reduction.kind;
            return self.operator(kind, inputs, output, of_type, shape, perm, options);
        };
        let kind = reduction.kind;
        let reduced =
            self.intermediate(kind, inputs, kind.name(), of_type, &shape, &perm, options)?;
        let options = without_activation(after);
        self.operator(
            after,
            vec![Some(reduced)],
            output,
            of_type,
            shape,
            perm,
            options,
        )
    }

    /// Inputs of a reduction, and the shape and order of its result.
    pub(super) fn reduction(
        &mut self,
        tensor: usize,
        shape: &[i64],
        perm: &[usize],
        axes: &[usize],
        keep_dims: bool,
    ) -> Option<(Vec<Option<usize>>, Vec<i64>, Perm)> {
        let mut places: Vec<i32> = axes
            .iter()
            .map(|&axis| stored_axis(axis, perm))
            .collect::<Option<_>>()?;
        places.sort_unstable();
        let places = self.integers("axes", &places);
        let inputs = vec![Some(tensor), Some(places)];
        let sides = shape.iter().enumerate();
        if keep_dims {
            let sides = sides.map(|(at, &side)| if axes.contains(&at) { 1 } else { side });
            return Some((inputs, sides.collect(), perm.to_vec()));
        }
        let sides = sides
            .filter(|(at, _)| !axes.contains(at))
            .map(|(_, &side)| side);
        Some((inputs, sides.collect(), order_without(perm, axes)))
    }
}
