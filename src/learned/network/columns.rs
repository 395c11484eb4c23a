//! `TopK` and `GatherElements` along the columns of a matrix, with which networks compute medians. tract's own versions
//! are compiled for every type of tensor, with several sorts for each; together with its `ScatterND` they would add
//! 0.14 MB to the browser's module.

use std::cmp::Ordering;

use tract_onnx::tract_core::internal::*;

/// The first `k` values of each column in sorted order, and their row indices. Of equal values, the one in the upper
/// row comes first. `[n_rows, width]`, a scalar → `[k, width]` twice.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct TopK {
    /// Whether the largest values come first; otherwise the smallest.
    pub largest: bool,
    /// Symbol for `k` if its value is known only when the network runs.
    pub k: TDim,
}

impl Op for TopK {
    fn name(&self) -> StaticName {
        "TopK".into()
    }

    fn mints_runtime_symbols(&self) -> bool {
        true
    }

    op_as_typed_op!();
}

impl EvalOp for TopK {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let (values, k) = args_2!(inputs);
        let k = usize::try_from(k.cast_to_scalar::<i64>()?)?;
        let &[n_rows, width] = values.shape() else {
            bail!("expected a matrix, found {:?}", values.shape());
        };
        ensure!(k <= n_rows, "expected at most {n_rows} values, found {k}");
        let plain = values.try_as_plain_ram()?;
        match values.datum_type() {
            DatumType::F32 => self.select(plain.as_slice::<f32>()?, [k, width], |a, b| {
                // NaN comes last in any order.
                let of_nan = a.is_nan().cmp(&b.is_nan());
                a.partial_cmp(b).unwrap_or(of_nan)
            }),
            DatumType::I64 => self.select(plain.as_slice::<i64>()?, [k, width], i64::cmp),
            other => bail!("expected floats or whole numbers, found {other:?}"),
        }
    }
}

impl TopK {
    fn select<T: Datum + Copy>(
        &self,
        values: &[T],
        [k, width]: [usize; 2],
        compare: impl Fn(&T, &T) -> Ordering,
    ) -> TractResult<TVec<TValue>> {
        let value = |row: usize, column: usize| &values[row * width + column];
        let mut rows = vec![0; k * width];
        for column in 0..width {
            let mut order: Vec<usize> = (0..values.len() / width).collect();
            let by_value: &dyn Fn(&usize, &usize) -> Ordering = &|&a, &b| {
                let ascending = compare(value(a, column), value(b, column));
                if self.largest {
                    ascending.reverse()
                } else {
                    ascending
                }
            };
            order.sort_by(by_value);
            for (place, row) in order.into_iter().take(k).enumerate() {
                rows[place * width + column] = row;
            }
        }
        let sorted = rows.iter().enumerate();
        let sorted: Vec<T> = sorted.map(|(at, &row)| *value(row, at % width)).collect();
        let rows: Vec<i64> = rows.into_iter().map(|row| row as i64).collect();
        let sorted = Tensor::from_shape(&[k, width], &sorted)?;
        let rows = Tensor::from_shape(&[k, width], &rows)?;
        Ok(tvec![sorted.into_tvalue(), rows.into_tvalue()])
    }
}

impl TypedOp for TopK {
    as_op!();

    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let k = match &inputs[1].konst {
            Some(k) => k.cast_to_scalar::<i64>()?.to_dim(),
            None => self.k.clone(),
        };
        let mut shape = inputs[0].shape.to_tvec();
        ensure!(shape.len() == 2, "expected a matrix, found {shape:?}");
        shape[0] = k;
        let sorted = inputs[0].datum_type.fact(&*shape);
        Ok(tvec![sorted, DatumType::I64.fact(&*shape)])
    }
}

/// Gathers, in each column of a matrix of floats, the values at the given row indices: `[n_rows, width]`, `[n, width]`
/// → `[n, width]`.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct GatherElementsInColumns;

impl Op for GatherElementsInColumns {
    fn name(&self) -> StaticName {
        "GatherElementsInColumns".into()
    }

    op_as_typed_op!();
}

impl EvalOp for GatherElementsInColumns {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let (values, rows) = args_2!(inputs);
        let (&[n_rows, width], &[n, other_width]) = (values.shape(), rows.shape()) else {
            bail!(
                "expected two matrices, found {:?} and {:?}",
                values.shape(),
                rows.shape()
            );
        };
        ensure!(
            width == other_width,
            "expected {width} columns, found {other_width}"
        );
        let values = values.try_as_plain_ram()?;
        let values = values.as_slice::<f32>()?;
        let rows = rows.try_as_plain_ram()?;
        let rows = rows.as_slice::<i64>()?;
        let value = |(at, &row): (usize, &i64)| {
            let row = usize::try_from(row).ok().filter(|row| *row < n_rows);
            let row = row.with_context(|| format!("expected one of {n_rows} rows"))?;
            Ok(values[row * width + at % width])
        };
        let gathered = rows.iter().enumerate().map(value);
        let gathered: Vec<f32> = gathered.collect::<TractResult<_>>()?;
        Ok(tvec![
            Tensor::from_shape(&[n, width], &gathered)?.into_tvalue()
        ])
    }
}

impl TypedOp for GatherElementsInColumns {
    as_op!();

    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec![inputs[0].datum_type.fact(inputs[1].shape.to_tvec())])
    }
}

#[cfg(test)]
mod tests {
    use tract_onnx::tract_core::ops::array::{GatherElements, Topk};

    use super::*;

    fn outputs(operation: &dyn TypedOp, inputs: &[Tensor]) -> Vec<Tensor> {
        let inputs = inputs.iter().cloned().map(Tensor::into_tvalue).collect();
        let outputs = operation.eval(&EvalContext::out_of_plan(), inputs).unwrap();
        outputs.into_iter().map(TValue::into_tensor).collect()
    }

    #[test]
    fn columns_are_sorted_and_gathered_as_by_tract() {
        let floats = tensor2(&[[3f32, -1.0], [0.5, 7.0], [3.0, -1.0], [-2.0, 7.0]]);
        let integers = tensor2(&[[2i64, 0], [0, 1], [2, 1], [1, 0]]);
        for values in [floats.clone(), integers] {
            for (k, largest) in [(4i64, false), (4, true), (2, false), (0, true)] {
                let ours = TopK {
                    largest,
                    k: k.to_dim(),
                };
                let theirs = Topk {
                    axis: 0,
                    largest,
                    fallback_k: k.to_dim(),
                };
                let inputs = [values.clone(), tensor0(k)];
                let actual = outputs(&ours, &inputs);
                assert_eq!(actual, outputs(&theirs, &inputs), "{k} {largest}");
                let inputs = [floats.clone(), actual[1].clone()];
                let theirs = GatherElements { axis: 0 };
                assert_eq!(
                    outputs(&GatherElementsInColumns, &inputs),
                    outputs(&theirs, &inputs)
                );
            }
        }
    }

    #[test]
    fn a_column_with_something_else_than_numbers_has_an_order() {
        let values = tensor2(&[[f32::NAN], [1.0], [f32::NAN], [-1.0]]);
        let smallest = TopK {
            largest: false,
            k: 4.to_dim(),
        };
        let actual = outputs(&smallest, &[values, tensor0(4i64)]);
        assert_eq!(actual[1], tensor2(&[[3i64], [1], [0], [2]]));
    }
}
