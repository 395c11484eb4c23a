//! The ONNX operators of our networks, and the tract operations that each becomes.
//! [`Network::load`](super::Network::load) runs only these, and the trainer may export only these.
//!
//! `tract_onnx::onnx()` registers every operator that tract knows, so the linker cannot drop any. With this table, only
//! the operators that our networks need are in the browser's module.

use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::{AttributeProto, NodeProto};
use tract_onnx::tract_core::internal::*;
use tract_onnx::tract_core::ops::array::{Gather, MultiBroadcastTo, TypedConcat};
use tract_onnx::tract_core::ops::binary::{BinMiniOp, TypedBinOp};
use tract_onnx::tract_core::ops::cast::{cast, wire_cast};
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer, sigmoid};
use tract_onnx::tract_core::ops::{identity::Identity, math};

use super::columns::{GatherElementsInColumns, TopK};
use super::scatter_rows::{Reduction, ScatterRows};
use super::tensors;

type Outlets = TractResult<TVec<OutletId>>;

/// Adds a node's operations to the model.
type Wire = fn(&mut Wiring) -> Outlets;

/// By `op_type`, in alphabetical order.
const OPERATORS: [(&str, Wire); 26] = [
    ("Add", |wiring| wiring.binary(Box::new(math::Add))),
    ("Cast", wire_cast_to),
    ("Clip", wire_clip),
    ("Concat", wire_concat),
    ("ConstantOfShape", wire_constant_of_shape),
    ("Div", |wiring| wiring.binary(Box::new(math::Div))),
    ("Exp", |wiring| wiring.unary(math::exp())),
    ("Floor", |wiring| wiring.unary(math::floor())),
    ("Gather", wire_gather),
    ("GatherElements", wire_gather_elements),
    ("Identity", |wiring| wiring.unary(Identity)),
    ("Log", |wiring| wiring.unary(math::ln())),
    ("MatMul", wire_mat_mul),
    ("Max", |wiring| wiring.binary(Box::new(math::Max))),
    ("Min", |wiring| wiring.binary(Box::new(math::Min))),
    ("Mul", |wiring| wiring.binary(Box::new(math::Mul))),
    ("ReduceSum", wire_reduce_sum),
    ("Relu", wire_relu),
    ("Reshape", wire_reshape),
    ("ScatterND", wire_scatter_nd),
    ("Shape", wire_shape),
    ("Sigmoid", |wiring| wiring.unary(sigmoid())),
    ("Sqrt", |wiring| wiring.unary(math::sqrt())),
    ("Sub", |wiring| wiring.binary(Box::new(math::Sub))),
    ("TopK", wire_top_k),
    ("Unsqueeze", wire_unsqueeze),
];

/// Whether a network may contain the ONNX operator `op_type`.
pub(super) fn is_known(op_type: &str) -> bool {
    OPERATORS.iter().any(|(known, _)| *known == op_type)
}

/// All operators, for a message.
pub(super) fn known() -> String {
    OPERATORS.map(|(op_type, _)| op_type).join(", ")
}

/// Adds one ONNX node to `model`: its outputs, in the node's order.
pub(super) fn wire(model: &mut TypedModel, node: &NodeProto, inputs: TVec<OutletId>) -> Outlets {
    let mut wiring = Wiring {
        model,
        node,
        inputs,
    };
    let entry = OPERATORS.iter().find(|(known, _)| *known == node.op_type);
    let (_, wire) = entry.with_context(|| format!("unknown operator {}", node.op_type))?;
    wire(&mut wiring).with_context(|| format!("node `{}` ({})", node.name, node.op_type))
}

/// An ONNX node that is being added to a model.
struct Wiring<'a> {
    model: &'a mut TypedModel,
    node: &'a NodeProto,
    inputs: TVec<OutletId>,
}

impl Wiring<'_> {
    fn inputs<const N: usize>(&self) -> TractResult<[OutletId; N]> {
        let n_inputs = self.inputs.len();
        let inputs = self.inputs.as_slice().try_into();
        inputs.with_context(|| format!("expected {N} inputs, found {n_inputs}"))
    }

    fn fact(&self, outlet: OutletId) -> TractResult<TypedFact> {
        Ok(self.model.outlet_fact(outlet)?.clone())
    }

    /// The value of an input that must be constant.
    fn constant(&self, outlet: OutletId) -> TractResult<Arc<Tensor>> {
        let constant = self.fact(outlet)?.konst;
        constant.context("expected a constant, found a value that depends on the graph")
    }

    fn integers(&self, outlet: OutletId) -> TractResult<Vec<i64>> {
        let values = self.constant(outlet)?;
        let values = values.cast_to::<i64>()?;
        Ok(values.try_as_plain_ram()?.as_slice::<i64>()?.to_vec())
    }

    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node
            .attribute
            .iter()
            .find(|attribute| attribute.name == name)
    }

    /// The value of an integer attribute. An attribute of another type gives `None`, not the zero in its integer field.
    fn integer(&self, name: &str) -> Option<i64> {
        let attribute = self.attribute(name)?;
        // Do not call the attribute's method: the linker would then include the whole object file of tract-onnx.
        (attribute.r#type == i32::from(AttributeType::Int)).then_some(attribute.i)
    }

    /// An axis of a tensor with `rank` axes; a negative one counts from the last.
    fn axis(&self, default: i64, rank: usize) -> TractResult<usize> {
        checked_axis(self.integer("axis").unwrap_or(default), rank)
    }

    /// Adds the operation that gives the node's results.
    fn add(&mut self, operation: impl Into<Box<dyn TypedOp>>, inputs: &[OutletId]) -> Outlets {
        self.model.wire_node(&self.node.name, operation, inputs)
    }

    /// Adds an operation whose result another operation of the same node reads.
    fn add_part(
        &mut self,
        part: impl std::fmt::Display,
        operation: impl Into<Box<dyn TypedOp>>,
        inputs: &[OutletId],
    ) -> Outlets {
        let name = format!("{}.{part}", self.node.name);
        self.model.wire_node(name, operation, inputs)
    }

    fn unary(&mut self, operation: impl Into<Box<dyn TypedOp>>) -> Outlets {
        let [values] = self.inputs()?;
        self.add(operation, &[values])
    }

    /// Adds an operation on two tensors, which are broadcast to one shape and cast to one type.
    fn binary(&mut self, operation: Box<dyn BinMiniOp>) -> Outlets {
        let [a, b] = self.inputs()?;
        let types = (self.fact(a)?.datum_type, self.fact(b)?.datum_type);
        let common = operation.operating_datum_type(types.0, types.1)?;
        let inputs = wire_rank_broadcast(&self.node.name, self.model, &[a, b])?;
        let inputs = wire_cast(&self.node.name, self.model, &inputs, common)?;
        self.add(TypedBinOp(operation, None), &inputs)
    }

    /// A bound of [`wire_clip`] or [`wire_relu`]: as `values`, but not beyond `bound`.
    fn bounded(
        &mut self,
        part: &str,
        operation: TypedBinOp,
        values: OutletId,
        bound: OutletId,
    ) -> TractResult<OutletId> {
        let name = format!("{}.{part}", self.node.name);
        let bounded = wire_with_rank_broadcast(name, self.model, operation, &[values, bound])?;
        Ok(bounded[0])
    }
}

fn checked_axis(axis: i64, rank: usize) -> TractResult<usize> {
    let rank = rank as i64;
    let from_first = if axis < 0 { axis + rank } else { axis };
    ensure!(
        (0..rank).contains(&from_first),
        "expected an axis of {rank}, found {axis}"
    );
    Ok(from_first as usize)
}

fn wire_cast_to(wiring: &mut Wiring) -> Outlets {
    let to = wiring.integer("to").context("expected a type to cast to")?;
    let to = match tensors::datum_type(to as i32)? {
        // Use the type of tract's index arithmetic, because these values may depend on the number of nodes.
        DatumType::I64 => DatumType::TDim,
        other => other,
    };
    let [values] = wiring.inputs()?;
    // Convert weights immediately, so that no optimiser pass has to find out that they are constant.
    match wiring.fact(values)?.konst {
        Some(weights) if to == DatumType::F32 => {
            let weights = tensors::to_f32(&weights)?;
            let weights = wiring.model.add_const(&wiring.node.name, weights)?;
            Ok(tvec![weights])
        }
        _ => wiring.unary(cast(to)),
    }
}

fn wire_clip(wiring: &mut Wiring) -> Outlets {
    let [values, min, max] = wiring.inputs()?;
    let values = wiring.bounded("min", math::max(), values, min)?;
    Ok(tvec![wiring.bounded("max", math::min(), values, max)?])
}

fn wire_relu(wiring: &mut Wiring) -> Outlets {
    let [values] = wiring.inputs()?;
    let fact = wiring.fact(values)?;
    let zero = tensor0(0f32).cast_to_dt(fact.datum_type)?.into_owned();
    let name = format!("{}.zero", wiring.node.name);
    let zero = wiring.model.add_const(name, zero)?;
    Ok(tvec![wiring.bounded("low", math::max(), values, zero)?])
}

fn wire_concat(wiring: &mut Wiring) -> Outlets {
    let facts = wiring.inputs.iter().map(|&input| wiring.fact(input));
    let facts: Vec<TypedFact> = facts.collect::<TractResult<_>>()?;
    let first = facts.first().context("expected inputs, found none")?;
    let axis = wiring.integer("axis").context("expected an axis")?;
    let axis = checked_axis(axis, first.rank())?;
    let types = facts.iter().map(|fact| fact.datum_type);
    let common = DatumType::super_type_for(types).context("expected inputs of one type")?;
    let inputs = wiring.inputs.clone();
    let inputs = wire_cast(&wiring.node.name, wiring.model, &inputs, common)?;
    wiring.add(TypedConcat::new(axis), &inputs)
}

fn wire_constant_of_shape(wiring: &mut Wiring) -> Outlets {
    let [shape] = wiring.inputs()?;
    let shape = wiring.constant(shape)?;
    let shape = shape.cast_to::<TDim>()?;
    let shape = shape.try_as_plain_ram()?.as_slice::<TDim>()?.to_vec();
    let value = wiring.attribute("value").and_then(|value| value.t.as_ref());
    let value = value.context("expected a value")?;
    let value = tensors::tensor(value)?;
    ensure!(
        value.len() == 1,
        "expected one value, found {}",
        value.len()
    );
    let value = value.into_shape(&[])?;
    let name = format!("{}.value", wiring.node.name);
    let value = wiring.model.add_const(name, value)?;
    wiring.add(MultiBroadcastTo::new(shape.into()), &[value])
}

fn wire_gather(wiring: &mut Wiring) -> Outlets {
    let [table, places] = wiring.inputs()?;
    let axis = wiring.axis(0, wiring.fact(table)?.rank())?;
    let places = wiring.add_part("places", cast(DatumType::I64), &[places])?[0];
    wiring.add(Gather::new(axis), &[table, places])
}

fn wire_gather_elements(wiring: &mut Wiring) -> Outlets {
    let [table, places] = wiring.inputs()?;
    let matrix = wiring.fact(table)?;
    let axis = wiring.axis(0, matrix.rank())?;
    ensure!(
        axis == 0 && matrix.rank() == 2 && matrix.datum_type == DatumType::F32,
        "expected columns of a matrix of floats, found axis {axis} of {matrix:?}"
    );
    wiring.add(GatherElementsInColumns, &[table, places])
}

/// A matrix product over the last two axes; the axes before them are batch axes of both operands.
fn wire_mat_mul(wiring: &mut Wiring) -> Outlets {
    let [a, b] = wiring.inputs()?;
    let (fact, other) = (wiring.fact(a)?, wiring.fact(b)?);
    let rank = fact.rank();
    // The einsum letters before those of the matrices.
    let max_rank = 2 + usize::from(b'j' - b'a');
    ensure!(
        rank == other.rank() && (2..=max_rank).contains(&rank),
        "expected matrices of one rank from 2 to {max_rank}, found {rank} and {}",
        other.rank()
    );
    let outer: String = ('a'..).take(rank - 2).collect();
    let axes: AxesMapping = format!("{outer}mk,{outer}kn->{outer}mn").parse()?;
    let product = EinSum {
        axes,
        operating_dt: fact.datum_type,
        q_params: None,
    };
    wiring.add(product, &[a, b])
}

fn wire_reduce_sum(wiring: &mut Wiring) -> Outlets {
    let [values, axes] = wiring.inputs()?;
    let rank = wiring.fact(values)?.rank();
    let axes = wiring.integers(axes)?.into_iter();
    let mut axes: TVec<usize> = axes
        .map(|axis| checked_axis(axis, rank))
        .collect::<TractResult<_>>()?;
    axes.sort_unstable();
    axes.dedup();
    let mut sums = wiring.add(Reduce::new(axes.clone(), Reducer::Sum), &[values])?;
    if wiring.integer("keepdims") == Some(0) {
        for &axis in axes.iter().rev() {
            sums = wiring.add_part(format!("without.{axis}"), AxisOp::Rm(axis), &sums)?;
        }
    }
    Ok(sums)
}

fn wire_reshape(wiring: &mut Wiring) -> Outlets {
    let [values, shape] = wiring.inputs()?;
    let old = wiring.fact(values)?.shape.to_tvec();
    let new = wiring.constant(shape)?;
    let new = new.cast_to::<TDim>()?;
    let new = new.try_as_plain_ram()?.as_slice::<TDim>()?;
    let zero_is_a_size = wiring.integer("allowzero") == Some(1);
    let steps = to_axis_ops_with_onnx_rules(&old, new, zero_is_a_size)?;
    let mut wire = tvec![values];
    for (k, step) in steps.into_iter().enumerate() {
        wire = wiring.add_part(k, step, &wire)?;
    }
    Ok(wire)
}

fn wire_scatter_nd(wiring: &mut Wiring) -> Outlets {
    let [table, indices, updates] = wiring.inputs()?;
    let facts = [wiring.fact(table)?, wiring.fact(updates)?];
    let of_one_axis = wiring.fact(indices)?.shape.get(1) == Some(&1.to_dim());
    let of_matrices = |fact: &TypedFact| fact.rank() == 2 && fact.datum_type == DatumType::F32;
    ensure!(
        of_one_axis && facts.iter().all(of_matrices),
        "expected rows of matrices of floats, found {facts:?}"
    );
    let reduction = wiring.attribute("reduction");
    let reduction = reduction.context("expected a reduction, found none")?;
    let reduction = Reduction::parse(&reduction.s)?;
    wiring.add(ScatterRows { reduction }, &[table, indices, updates])
}

/// The attributes `start` and `end`, which select a part of the shape, are not supported, because our networks do not
/// use them.
fn wire_shape(wiring: &mut Wiring) -> Outlets {
    let [values] = wiring.inputs()?;
    for part in ["start", "end"] {
        ensure!(wiring.attribute(part).is_none(), "expected no `{part}`");
    }
    let shape = wiring.fact(values)?.shape.to_tvec();
    let shape = wiring.model.add_const(&wiring.node.name, tensor1(&shape))?;
    Ok(tvec![shape])
}

fn wire_top_k(wiring: &mut Wiring) -> Outlets {
    let [values, k] = wiring.inputs()?;
    let rank = wiring.fact(values)?.rank();
    let axis = wiring.axis(-1, rank)?;
    ensure!(
        axis == 0 && rank == 2,
        "expected columns of a matrix, found axis {axis} of {rank}"
    );
    let operation = TopK {
        largest: wiring.integer("largest") != Some(0),
        k: wiring.model.symbols.new_with_prefix("k").into(),
    };
    wiring.add(operation, &[values, k])
}

fn wire_unsqueeze(wiring: &mut Wiring) -> Outlets {
    let [values, axes] = wiring.inputs()?;
    let axes = wiring.integers(axes)?;
    let rank = wiring.fact(values)?.rank() + axes.len();
    let mut axes: Vec<usize> = axes
        .into_iter()
        .map(|axis| checked_axis(axis, rank))
        .collect::<TractResult<_>>()?;
    axes.sort_unstable();
    let mut wire = tvec![values];
    for axis in axes {
        wire = wiring.add_part(axis, AxisOp::Add(axis), &wire)?;
    }
    Ok(wire)
}
