//! `ScatterND` that adds rows of floats, as message passing does: tract's own walks over each element's
//! coordinates, which takes a tenth of an estimate's time.

use tract_onnx::tract_core::internal::*;

/// Adds row `i` of `updates` `[n_rows, width]` to row `places[i, 0]` of `table` `[n_nodes, width]`, in order.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct AddRows;

impl Op for AddRows {
    fn name(&self) -> StaticName {
        "AddRows".into()
    }

    op_as_typed_op!();
}

impl EvalOp for AddRows {
    op_out_of_plan!();

    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let (table, places, updates) = args_3!(inputs);
        let mut sums = table.into_tensor();
        ensure!(
            sums.rank() == 2,
            "expected a matrix, found {:?}",
            sums.shape()
        );
        let width = sums.shape()[1];
        let places = places.cast_to::<i64>()?;
        let places = places.try_as_plain_ram()?;
        let places = places.as_slice::<i64>()?;
        let updates = updates.try_as_plain_ram()?;
        let updates = updates.as_slice::<f32>()?;
        ensure!(
            updates.len() == places.len() * width,
            "expected {} rows of {width} values, found {} values",
            places.len(),
            updates.len()
        );
        let mut plain = sums.try_as_plain_ram_mut()?;
        let rows = plain.as_slice_mut::<f32>()?;
        for (&place, update) in places.iter().zip(updates.chunks_exact(width.max(1))) {
            let start = usize::try_from(place)
                .ok()
                .and_then(|row| row.checked_mul(width));
            let row = start.and_then(|start| rows.get_mut(start..start.checked_add(width)?));
            let row = row.with_context(|| format!("expected the index of a row, found {place}"))?;
            for (sum, value) in row.iter_mut().zip(update) {
                *sum += value;
            }
        }
        Ok(tvec![sums.into_tvalue()])
    }
}

impl TypedOp for AddRows {
    as_op!();

    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec![inputs[0].datum_type.fact(inputs[0].shape.to_tvec())])
    }
}
