//! Values that are computed while reading: shapes, axes and sizes on which other shapes depend.

use super::Converter;
use super::value::{Known, Value, axes, axis, is_short, product};
use crate::formats::onnx::limits::{MAX_KNOWN_VALUES, MAX_RANK};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Node, tensor_type};
use crate::formats::tflite::TensorType;

use Known::{Floats, Integers};

impl<'a> Converter<'a> {
    /// Computes a node whose inputs are known, or whose result depends on shapes alone.
    pub(super) fn fold(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        if !matches!(node.text.domain, "" | "ai.onnx") {
            return None;
        }
        match node.text.op_type {
            "Constant" => return self.constant_node(node, output),
            // Weights that layers share: one tensor under both names. Sequences are no tensors.
            "Identity" => {
                let value = self.input(node, 0)?;
                (value.is_constant() || value.sequence().is_some()).then_some(())?;
                self.names.values.insert(output, value);
                return Some(());
            }
            "Shape" => return self.shape_node(node, output),
            "Size" => {
                let n = product(&self.input_with_shape(node, 0)?.1)?;
                return self.define_known(
                    output,
                    TensorType::Int64,
                    Some(vec![]),
                    Integers(vec![n]),
                );
            }
            "ConstantOfShape" => return self.constant_of_shape(node, output),
            "CastLike" => {
                let value = self.input(node, 0)?;
                let to = self.input(node, 1)?.tensor_type;
                let known = cast(value.known()?.clone(), to);
                return self.define_known(output, to, Some(value.shape?), known);
            }
            "Clip" => {
                let value = self.input(node, 0)?;
                let known = value.known()?.clone();
                let n_bounds = node.inputs.iter().skip(1).filter(|input| !input.is_empty());
                let [min, max] = self.clip_bounds(node);
                // A bound that is computed elsewhere.
                let n_known = [min, max].iter().flatten().count();
                (n_known >= n_bounds.count()).then_some(())?;
                let known = clipped(known, min, max);
                return self.define_known(output, value.tensor_type, Some(value.shape?), known);
            }
            _ => {}
        }
        let inputs: Vec<Value> = (0..node.inputs.len())
            .map(|at| self.input(node, at))
            .collect::<Option<_>>()?;
        if inputs.is_empty() || inputs.iter().any(|input| input.known().is_none()) {
            return None;
        }
        if node.text.op_type == "Range"
            && let Some(n) = length_of_range(&inputs)
            && n > MAX_KNOWN_VALUES
        {
            let shape = vec![i64::try_from(n).ok()?];
            return self.constant(output, inputs.first()?.tensor_type, shape, None);
        }
        let (of_type, shape, known) = computed(node, &inputs)?;
        self.define_known(output, of_type, Some(shape), known)
    }

    fn shape_node(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let shape = self.input_with_shape(node, 0)?.1;
        let rank = i64::try_from(shape.len()).ok()?;
        let place = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank);
        let start = usize::try_from(place(node.integer("start").unwrap_or(0))).ok()?;
        let end = usize::try_from(place(node.integer("end").unwrap_or(rank))).ok()?;
        self.define_known(
            output,
            TensorType::Int64,
            None,
            Integers(shape.get(start..end.max(start))?.to_vec()),
        )
    }

    fn constant_of_shape(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let shape = self.input(node, 0)?.integers()?;
        let value = node.tensor("value");
        let of_type = value.map_or(TensorType::Float32, |value| tensor_type(value.data_type));
        let n = usize::try_from(product(&shape)?).ok()?;
        let known = is_short(&shape).then(|| match value {
            None => Some(Floats(vec![0.0; n])),
            Some(value) => {
                let integer = value
                    .integers(1)
                    .and_then(|one| Some(Integers(vec![*one.first()?; n])));
                integer.or_else(|| Some(Floats(vec![*value.floats(1)?.first()?; n])))
            }
        });
        self.constant(output, of_type, shape, known.flatten())
    }

    fn define_known(
        &mut self,
        output: Name<'a>,
        of_type: TensorType,
        shape: Option<Vec<i64>>,
        known: Known,
    ) -> Option<()> {
        let n = i64::try_from(known.len()).ok()?;
        let shape = shape.unwrap_or_else(|| vec![n]);
        (product(&shape)? == n).then_some(())?;
        self.constant(output, of_type, shape, Some(known))
    }

    fn constant_node(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let tensor = (node.tensor("value")).or_else(|| node.sparse_tensor("sparse_value"));
        if let Some(tensor) = tensor {
            let value = self.constant_value(output, tensor)?;
            self.names.values.insert(output, value);
            return Some(());
        }
        #[allow(clippy::as_conversions)]
        let floats = |values: Vec<f32>| Floats(values.into_iter().map(f64::from).collect());
        if let Some(value) = node.integer("value_int") {
            return self.define_known(
                output,
                TensorType::Int64,
                Some(vec![]),
                Integers(vec![value]),
            );
        }
        if let Some(values) = node.integers("value_ints") {
            return self.define_known(output, TensorType::Int64, None, Integers(values));
        }
        if let Some(value) = node.float("value_float") {
            return self.define_known(
                output,
                TensorType::Float32,
                Some(vec![]),
                floats(vec![value]),
            );
        }
        let values = node.floats("value_floats")?;
        self.define_known(output, TensorType::Float32, None, Floats(values))
    }
}

type Computed = (TensorType, Vec<i64>, Known);

/// Type, shape and values of the first output.
fn computed(node: &Node, inputs: &[Value]) -> Option<Computed> {
    let first = inputs.first()?;
    let shape = first.shape.clone()?;
    let of_type = first.tensor_type;
    let known = first.known()?.clone();
    let second = || inputs.get(1)?.integers();
    match node.text.op_type {
        "Cast" => {
            let to = tensor_type(node.integer("to")?);
            Some((to, shape, cast(known, to)))
        }
        "Unsqueeze" => {
            let axes = node.integers("axes").or_else(second)?;
            Some((of_type, unsqueezed(&shape, &axes)?, known))
        }
        "Squeeze" => {
            let axes = node.integers("axes").or_else(second);
            Some((of_type, squeezed(&shape, axes.as_deref())?, known))
        }
        "Reshape" => Some((
            of_type,
            reshaped(&shape, &second()?, node.integer("allowzero") == Some(1))?,
            known,
        )),
        "Concat" => concatenated(inputs),
        "Gather" => gathered(
            first,
            inputs.get(1)?,
            axis(node.integer("axis").unwrap_or(0), shape.len())?,
        ),
        "Slice" => sliced(node, inputs),
        "Transpose" => transposed(node, first),
        "Range" => range(inputs),
        "Expand" => {
            let to = super::value::broadcast(&[&shape, &second()?])?;
            let n = usize::try_from(product(&to)?)
                .ok()
                .filter(|&n| n <= MAX_KNOWN_VALUES)?;
            (known.len() == 1).then_some(())?;
            Some((of_type, to, repeated(&known, n)?))
        }
        "ReduceProd" => match known {
            Integers(values) => {
                let product = product(&values)?;
                let keeps = node.integer("keepdims").unwrap_or(1) == 1;
                Some((
                    of_type,
                    vec![1; if keeps { shape.len() } else { 0 }],
                    Integers(vec![product]),
                ))
            }
            Floats(_) => None,
        },
        "ReduceMin" | "ReduceMax" if reduces_all(node, inputs, shape.len()) => {
            let keeps = node.integer("keepdims").unwrap_or(1) == 1;
            let reduced = extreme(known, node.text.op_type == "ReduceMin")?;
            Some((
                of_type,
                vec![1; if keeps { shape.len() } else { 0 }],
                reduced,
            ))
        }
        "Neg" | "Floor" | "Ceil" | "Sqrt" | "Abs" | "Exp" | "Log" | "Reciprocal" | "Round"
        | "Not" => unary(node.text.op_type, known).map(|known| (of_type, shape, known)),
        "Where" => selected(inputs),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Min" | "Max" | "Equal" | "Greater"
        | "Less" | "GreaterOrEqual" | "LessOrEqual" | "And" | "Or" => {
            binary(node.text.op_type, inputs)
        }
        _ => None,
    }
}

/// Without axes, or with the only one there is.
fn reduces_all(node: &Node, inputs: &[Value], rank: usize) -> bool {
    let has_axes = node.integers("axes").is_some() || inputs.len() > 1;
    !has_axes || rank == 1
}

fn extreme(known: Known, is_least: bool) -> Option<Known> {
    Some(match known {
        Integers(values) => {
            let values = values.into_iter();
            Integers(vec![if is_least { values.min() } else { values.max() }?])
        }
        Floats(values) => {
            let pick = if is_least { f64::min } else { f64::max };
            Floats(vec![values.into_iter().reduce(pick)?])
        }
    })
}

/// As a cast in C: towards zero.
#[allow(clippy::as_conversions)]
fn cast(known: Known, to: TensorType) -> Known {
    match (known, to.is_float()) {
        (Integers(values), true) => Floats(values.into_iter().map(|value| value as f64).collect()),
        (Floats(values), false) => Integers(values.into_iter().map(|value| value as i64).collect()),
        (Integers(values), false) if to == TensorType::Bool => Integers(
            values
                .into_iter()
                .map(|value| i64::from(value != 0))
                .collect(),
        ),
        (same, _) => same,
    }
}

/// Open sides of the interval keep values as they are.
#[allow(clippy::as_conversions)]
fn clipped(known: Known, min: Option<f64>, max: Option<f64>) -> Known {
    match known {
        Integers(values) => {
            let [min, max] = [
                min.map_or(i64::MIN, |min| min as i64),
                max.map_or(i64::MAX, |max| max as i64),
            ];
            Integers(
                values
                    .into_iter()
                    .map(|value| value.max(min).min(max))
                    .collect(),
            )
        }
        Floats(values) => {
            let [min, max] = [
                min.unwrap_or(f64::NEG_INFINITY),
                max.unwrap_or(f64::INFINITY),
            ];
            Floats(
                values
                    .into_iter()
                    .map(|value| value.max(min).min(max))
                    .collect(),
            )
        }
    }
}

pub(super) fn unsqueezed(shape: &[i64], added: &[i64]) -> Option<Vec<i64>> {
    let rank = shape.len().checked_add(added.len())?;
    (rank <= MAX_RANK).then_some(())?;
    let places = axes(added, rank)?;
    let mut rest = shape.iter().copied();
    (0..rank)
        .map(|at| {
            if places.contains(&at) {
                Some(1)
            } else {
                rest.next()
            }
        })
        .collect()
}

pub(super) fn squeezed(shape: &[i64], gone: Option<&[i64]>) -> Option<Vec<i64>> {
    let places = match gone {
        Some(gone) => axes(gone, shape.len())?,
        None => (0..shape.len())
            .filter(|&at| shape.get(at) == Some(&1))
            .collect(),
    };
    let kept = shape
        .iter()
        .enumerate()
        .filter(|(at, _)| !places.contains(at));
    Some(kept.map(|(_, &side)| side).collect())
}

/// The shape that a `Reshape` asks for: 0 keeps a dimension, −1 takes what is left.
pub(super) fn reshaped(from: &[i64], to: &[i64], zero_is_zero: bool) -> Option<Vec<i64>> {
    (to.len() <= MAX_RANK).then_some(())?;
    let side = |(at, &side): (usize, &i64)| match side {
        0 if !zero_is_zero => from.get(at).copied(),
        -1 => Some(-1),
        side => (side >= 0).then_some(side),
    };
    let mut shape: Vec<i64> = to.iter().enumerate().map(side).collect::<Option<_>>()?;
    let open: Vec<usize> = (0..shape.len())
        .filter(|&at| shape.get(at) == Some(&-1))
        .collect();
    if let [open] = open[..] {
        let others: Vec<i64> = shape.iter().copied().filter(|&side| side != -1).collect();
        let left = product(from)?.checked_div(product(&others)?)?;
        *shape.get_mut(open)? = left;
    }
    (product(&shape)? == product(from)?).then_some(shape)
}

fn concatenated(inputs: &[Value]) -> Option<Computed> {
    let first = inputs.first()?;
    // Along the only dimension there is.
    let are_lists = inputs.iter().all(|input| input.rank() == Some(1));
    are_lists.then_some(())?;
    let known = match first.known()? {
        Integers(_) => Integers(concatenated_values(inputs, Value::integers)?),
        Floats(_) => Floats(concatenated_values(inputs, Value::floats)?),
    };
    let n = i64::try_from(known.len()).ok()?;
    Some((first.tensor_type, vec![n], known))
}

fn concatenated_values<'a, T>(
    inputs: &[Value<'a>],
    values_of: fn(&Value<'a>) -> Option<Vec<T>>,
) -> Option<Vec<T>> {
    let mut values = Vec::new();
    for input in inputs {
        values.extend(values_of(input)?);
        (values.len() <= MAX_KNOWN_VALUES).then_some(())?;
    }
    Some(values)
}

/// The values at these places of a constant.
fn values_at(data: &Value, at: &[usize]) -> Option<Known> {
    Some(match data.known()? {
        Integers(values) => {
            let values = at.iter().map(|&at| values.get(at).copied());
            Integers(values.collect::<Option<_>>()?)
        }
        Floats(values) => Floats(
            at.iter()
                .map(|&at| values.get(at).copied())
                .collect::<Option<_>>()?,
        ),
    })
}

/// Places of the values of a tensor of which each dimension keeps these positions.
fn flat_indices(shape: &[i64], kept: &[Vec<i64>]) -> Option<Vec<usize>> {
    let mut places = vec![0i64];
    for (side, kept) in shape.iter().zip(kept) {
        let n = places.len().checked_mul(kept.len())?;
        (n <= MAX_KNOWN_VALUES).then_some(())?;
        let next = places.iter().flat_map(|&place| {
            let place = place.checked_mul(*side);
            kept.iter().map(move |&at| place?.checked_add(at))
        });
        places = next.collect::<Option<_>>()?;
    }
    places
        .into_iter()
        .map(|place| usize::try_from(place).ok())
        .collect()
}

/// All positions along each dimension of a tensor whose values are known: [`is_short`] bounds them.
fn positions(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().map(|&side| (0..side).collect()).collect()
}

fn gathered(data: &Value, indices: &Value, along: usize) -> Option<Computed> {
    let shape = data.shape.as_ref()?;
    let side = *shape.get(along)?;
    let mut kept = positions(shape);
    let pick = |at: &i64| {
        let at = if *at < 0 { at.checked_add(side)? } else { *at };
        (0..side).contains(&at).then_some(at)
    };
    *kept.get_mut(along)? = indices
        .integers()?
        .iter()
        .map(pick)
        .collect::<Option<_>>()?;
    let mut to = shape.clone();
    to.splice(along..=along, indices.shape.clone()?);
    Some((
        data.tensor_type,
        to,
        values_at(data, &flat_indices(shape, &kept)?)?,
    ))
}

fn sliced(node: &Node, inputs: &[Value]) -> Option<Computed> {
    let data = inputs.first()?;
    let shape = data.shape.as_ref()?;
    let list = |attribute: &str, position: usize| {
        node.integers(attribute)
            .or_else(|| inputs.get(position)?.integers())
    };
    let (starts, ends) = (list("starts", 1)?, list("ends", 2)?);
    let axes = match list("axes", 3) {
        Some(named) => axes(&named, shape.len())?,
        None => (0..starts.len()).collect(),
    };
    let steps = list("steps", 4).unwrap_or_else(|| vec![1; starts.len()]);
    let mut kept = positions(shape);
    for (place, &along) in axes.iter().enumerate() {
        let step = *steps.get(place)?;
        let (start, n) = range_of_slice(
            *shape.get(along)?,
            *starts.get(place)?,
            *ends.get(place)?,
            step,
        )?;
        let at = |turn: i64| start.checked_add(turn.checked_mul(step)?);
        *kept.get_mut(along)? = (0..n).map(at).collect::<Option<_>>()?;
    }
    let to: Vec<i64> = kept
        .iter()
        .map(|kept| i64::try_from(kept.len()).ok())
        .collect::<Option<_>>()?;
    Some((
        data.tensor_type,
        to,
        values_at(data, &flat_indices(shape, &kept)?)?,
    ))
}

fn transposed(node: &Node, data: &Value) -> Option<Computed> {
    let shape = data.shape.as_ref()?;
    let order: Vec<usize> = match node.integers("perm") {
        None => (0..shape.len()).rev().collect(),
        Some(order) => axes(&order, shape.len()).filter(|order| order.len() == shape.len())?,
    };
    let to = super::value::stored_shape(shape, &order)?;
    // Steps between neighbours along each dimension of the result.
    let step = |axis: &usize| product(shape.get(axis.checked_add(1)?..)?);
    let steps: Vec<i64> = order.iter().map(step).collect::<Option<_>>()?;
    let mut places = vec![0i64];
    for (side, step) in to.iter().zip(&steps) {
        let n = i64::try_from(places.len()).ok()?.checked_mul(*side)?;
        (usize::try_from(n).ok()? <= MAX_KNOWN_VALUES).then_some(())?;
        let next = places
            .iter()
            .flat_map(|&place| (0..*side).map(move |at| place.checked_add(at.checked_mul(*step)?)));
        places = next.collect::<Option<_>>()?;
    }
    let at: Vec<usize> = places
        .into_iter()
        .map(|place| usize::try_from(place).ok())
        .collect::<Option<_>>()?;
    Some((data.tensor_type, to, values_at(data, &at)?))
}

/// First place and number of places of a slice along a dimension of `side`.
pub(super) fn range_of_slice(side: i64, start: i64, end: i64, step: i64) -> Option<(i64, i64)> {
    let place = |at: i64| if at < 0 { at.saturating_add(side) } else { at };
    let (start, end) = (place(start), place(end));
    let n = match step {
        1.. => {
            let (start, end) = (start.clamp(0, side), end.clamp(0, side));
            let n = end
                .saturating_sub(start)
                .max(0)
                .checked_add(step)?
                .checked_sub(1)?
                .checked_div(step)?;
            return Some((start, n));
        }
        0 => return None,
        _ => {
            let last = side.saturating_sub(1);
            let (start, end) = (start.clamp(-1, last), end.clamp(-1, last));
            let back = step.checked_neg()?;
            let n = start
                .saturating_sub(end)
                .max(0)
                .checked_add(back)?
                .checked_sub(1)?
                .checked_div(back)?;
            (start, n)
        }
    };
    Some(n)
}

fn length_of_range(inputs: &[Value]) -> Option<usize> {
    let number = |at: usize| inputs.get(at)?.number();
    let n = ((number(1)? - number(0)?) / number(2)?).ceil().max(0.0);
    #[allow(clippy::as_conversions)]
    (n < 2e9).then_some(n as usize)
}

fn range(inputs: &[Value]) -> Option<Computed> {
    let number = |at: usize| inputs.get(at)?.number();
    let (start, step) = (number(0)?, number(2)?);
    let n_values = length_of_range(inputs).filter(|&n| n <= MAX_KNOWN_VALUES)?;
    let value = |turn: usize| start + step * f64::from(u32::try_from(turn).unwrap_or(u32::MAX));
    let values: Vec<f64> = (0..n_values).map(value).collect();
    let of_type = inputs.first()?.tensor_type;
    Some((
        of_type,
        vec![i64::try_from(n_values).ok()?],
        cast(Floats(values), of_type),
    ))
}

fn repeated(known: &Known, n_times: usize) -> Option<Known> {
    Some(match known {
        Integers(values) => Integers(vec![*values.first()?; n_times]),
        Floats(values) => Floats(vec![*values.first()?; n_times]),
    })
}

fn unary(name: &str, known: Known) -> Option<Known> {
    Some(match known {
        Integers(values) => {
            let compute: fn(i64) -> i64 = match name {
                "Neg" => i64::saturating_neg,
                "Abs" => i64::saturating_abs,
                "Not" => |value| i64::from(value == 0),
                _ => return None,
            };
            Integers(values.into_iter().map(compute).collect())
        }
        Floats(values) => {
            let compute: fn(f64) -> f64 = match name {
                "Neg" => |value| -value,
                "Floor" => f64::floor,
                "Ceil" => f64::ceil,
                "Round" => f64::round_ties_even,
                "Sqrt" => f64::sqrt,
                "Abs" => f64::abs,
                "Exp" => f64::exp,
                "Log" => f64::ln,
                "Reciprocal" => f64::recip,
                _ => return None,
            };
            Floats(values.into_iter().map(compute).collect())
        }
    })
}

/// Pairs of values of two operands that are equally long, or of which one has one value.
fn broadcast_pairs<T: Copy>(one: &[T], other: &[T]) -> Option<Vec<(T, T)>> {
    match (one, other) {
        (one, other) if one.len() == other.len() => {
            Some(one.iter().copied().zip(other.iter().copied()).collect())
        }
        (&[one], other) => Some(other.iter().map(|&other| (one, other)).collect()),
        (one, &[other]) => Some(one.iter().map(|&one| (one, other)).collect()),
        _ => None,
    }
}

fn binary(name: &str, inputs: &[Value]) -> Option<Computed> {
    let [one, other] = inputs else {
        return None;
    };
    let shape = super::value::broadcast(&[one.shape.as_ref()?, other.shape.as_ref()?])?;
    let truth = |value: bool| i64::from(value);
    if let (Some(a), Some(b)) = (one.integers(), other.integers()) {
        let compute: fn(i64, i64) -> Option<i64> = match name {
            "Add" => i64::checked_add,
            "Sub" => i64::checked_sub,
            "Mul" => i64::checked_mul,
            "Div" => i64::checked_div,
            "Mod" => |a, b| a.checked_rem_euclid(b),
            "Min" => |a, b| Some(a.min(b)),
            "Max" => |a, b| Some(a.max(b)),
            "Equal" => |a, b| Some(i64::from(a == b)),
            "Greater" => |a, b| Some(i64::from(a > b)),
            "Less" => |a, b| Some(i64::from(a < b)),
            "GreaterOrEqual" => |a, b| Some(i64::from(a >= b)),
            "LessOrEqual" => |a, b| Some(i64::from(a <= b)),
            "And" => |a, b| Some(a & b),
            "Or" => |a, b| Some(a | b),
            _ => return None,
        };
        let values = broadcast_pairs(&a, &b)?
            .into_iter()
            .map(|(a, b)| compute(a, b));
        let of_type = match name {
            "Equal" | "Greater" | "Less" | "GreaterOrEqual" | "LessOrEqual" => TensorType::Bool,
            _ => one.tensor_type,
        };
        return Some((of_type, shape, Integers(values.collect::<Option<_>>()?)));
    }
    let values = broadcast_pairs(&one.floats()?, &other.floats()?)?;
    let compute: fn(f64, f64) -> f64 = match name {
        "Add" => |a, b| a + b,
        "Sub" => |a, b| a - b,
        "Mul" => |a, b| a * b,
        "Div" => |a, b| a / b,
        "Pow" => f64::powf,
        "Min" => f64::min,
        "Max" => f64::max,
        "Greater" | "Less" => {
            let values = values
                .into_iter()
                .map(|(a, b)| truth(if name == "Less" { a < b } else { a > b }));
            return Some((TensorType::Bool, shape, Integers(values.collect())));
        }
        _ => return None,
    };
    Some((
        one.tensor_type,
        shape,
        Floats(values.into_iter().map(|(a, b)| compute(a, b)).collect()),
    ))
}

fn selected(inputs: &[Value]) -> Option<Computed> {
    let [condition, one, other] = inputs else {
        return None;
    };
    let (condition_values, one_values, other_values) =
        (condition.integers()?, one.integers()?, other.integers()?);
    let shapes = [
        condition.shape.as_ref()?,
        one.shape.as_ref()?,
        other.shape.as_ref()?,
    ];
    let shape = super::value::broadcast(&shapes.map(Vec::as_slice))?;
    let n = usize::try_from(product(&shape)?).ok()?;
    let at = |values: &[i64], place: usize| match values {
        &[one] => Some(one),
        values if values.len() == n => values.get(place).copied(),
        _ => None,
    };
    let value = |place: usize| match at(&condition_values, place)? {
        0 => at(&other_values, place),
        _ => at(&one_values, place),
    };
    let values: Vec<i64> = (0..n).map(value).collect::<Option<_>>()?;
    Some((one.tensor_type, shape, Integers(values)))
}
