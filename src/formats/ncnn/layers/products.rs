//! Products of matrices: dense layers, attention, recurrent layers.

use super::super::message::Attribute::{Integer, Integers, Text};
use super::super::network::Blob;
use super::Converter;

impl Converter<'_, '_> {
    /// A product with all values, or with those of each row. `bias_id`: of the parameter that says whether it adds.
    pub(super) fn inner_product(
        &mut self,
        x: &Blob,
        n_out: i64,
        n_weights: i64,
        bias_id: i64,
    ) -> Option<Blob> {
        let layer = self.layer;
        let n_in = n_weights.checked_div(n_out)?;
        (n_in > 0).then_some(())?;
        let has_bias = layer.whole(bias_id, 0) != 0;
        let source = self.through_int8(x.value.clone());
        let (value, sides) = if x.rank() == Some(2) && x.width() == Some(n_in) {
            let weights = self.stored_weights(&[n_in, n_out]);
            let mut value = self.node("MatMul", &[&source, &weights], &[]);
            if has_bias {
                let bias = self.weights(&[n_out]);
                value = self.node("Add", &[&value, &bias], &[]);
            }
            (value, vec![x.side(0).unwrap_or(0), n_out])
        } else {
            let flat = match x.rank() {
                Some(1) => source,
                _ => self.node("Flatten", &[&source], &[("axis", Integer(1))]),
            };
            let weights = self.stored_weights(&[n_out, n_in]);
            let bias = has_bias.then(|| self.weights(&[n_out]));
            let mut inputs = vec![&*flat, &*weights];
            inputs.extend(bias.as_deref());
            let value = self.node("Gemm", &inputs, &[("transB", Integer(1))]);
            (value, vec![n_out])
        };
        let value = self.through_int8(value);
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn gemm(&mut self, inputs: &[Blob]) -> Option<Blob> {
        let layer = self.layer;
        let [m, n, k] = [7, 8, 9].map(|id| layer.whole(id, 0));
        let mut given = inputs.iter();
        let mut factors = Vec::with_capacity(2);
        for (constant_id, swaps_id, sides) in [(4, 2, [m, k]), (5, 3, [k, n])] {
            let factor = match layer.whole(constant_id, 0) {
                0 => {
                    let factor = given.next()?.clone();
                    match layer.whole(swaps_id, 0) {
                        0 => factor,
                        _ => self.transposed(&factor)?,
                    }
                }
                _ => {
                    sides.iter().all(|&side| side > 0).then_some(())?;
                    let value = self.weights(&sides);
                    Blob::new(value, Some(sides.to_vec()))
                }
            };
            factors.push(factor);
        }
        let [a, b] = factors.as_slice() else {
            return None;
        };
        let mut value = self.node("MatMul", &[&a.value, &b.value], &[]);
        let rows = a.sides.as_ref()?.split_last()?.1;
        let sides = [rows, &[b.width().unwrap_or(0)]].concat();
        let bias = match (layer.whole(6, 0), layer.whole(10, 0)) {
            (0, _) => given.next().map(|bias| bias.value.clone()),
            (_, 0) => Some(self.weights(&[1])),
            (_, 3) => Some(self.weights(&[m, n])),
            (_, 4) => Some(self.weights(&[n])),
            (_, 1 | 2) => Some(self.weights(&[m, 1])),
            _ => None,
        };
        if let Some(bias) = bias {
            value = self.node("Add", &[&value, &bias], &[]);
        }
        let blob = Blob::new(value, Some(sides));
        match layer.whole(14, 0) {
            0 => Some(blob),
            _ => self.transposed(&blob),
        }
    }

    pub(super) fn product(&mut self, factors: [&Blob; 2], swaps_second: bool) -> Option<Blob> {
        let [a, b] = factors;
        let swapped = if swaps_second {
            Some(self.transposed(b)?)
        } else {
            None
        };
        let b = swapped.as_ref().unwrap_or(b);
        let value = self.node("MatMul", &[&a.value, &b.value], &[]);
        let rows = a.sides.as_ref().and_then(|sides| sides.split_last());
        let sides = rows.map(|(_, rows)| [rows, &[b.width().unwrap_or(0)]].concat());
        Some(Blob::new(value, sides))
    }

    /// The attention that queries pay to keys, and the values that these have. Of an empty cache, the keys and values of
    /// this inference are all.
    pub(super) fn attention(&mut self, inputs: &[Blob]) -> Option<Vec<Blob>> {
        let [q, k, v, others @ ..] = inputs else {
            return None;
        };
        let layer = self.layer;
        let mut others = others.iter();
        let mask = (layer.whole(5, 0) != 0).then(|| others.next()).flatten();
        let caches: Vec<&Blob> = others.collect();
        let mut all = [k.clone(), v.clone()];
        for (blob, cache) in all.iter_mut().zip(caches) {
            if cache.value.is_empty() {
                continue;
            }
            let inputs = [&*cache.value, &*blob.value];
            let value = self.node("Concat", &inputs, &[("axis", Integer(2))]);
            let mut sides = blob.sides.clone()?;
            let length = sides.get_mut(1)?;
            *length = length.saturating_add(cache.side(1).unwrap_or(0));
            *blob = Blob::new(value, Some(sides));
        }
        let [k, v] = all;
        let [k_all, v_all] = [&k, &v].map(|blob| self.repeated_for_heads(q, blob));
        let scores = self.product([q, &k_all?], true)?;
        let scale = match layer.float(6, 0.0) {
            0.0 => None,
            scale => Some(self.network.floats(layer, &[scale])),
        };
        let mut value = scores.value.clone();
        if let Some(scale) = scale {
            value = self.node("Mul", &[&value, &scale], &[]);
        }
        if let Some(mask) = mask {
            value = self.node("Add", &[&value, &mask.value], &[]);
        }
        let value = self.node("Softmax", &[&value], &[("axis", Integer(-1))]);
        let blob = self.product([&Blob::new(value, scores.sides), &v_all?], false)?;
        let mut results = vec![blob];
        if layer.whole(7, 0) != 0 {
            results.extend([k, v]);
        }
        Some(results)
    }

    /// Keys or values for as many heads as the queries have, of which several share one.
    pub(super) fn repeated_for_heads(&mut self, q: &Blob, blob: &Blob) -> Option<Blob> {
        let (Some(n_queries), Some(n_blob)) = (q.side(0), blob.side(0)) else {
            return Some(blob.clone());
        };
        let times = n_queries.checked_div(n_blob)?;
        if times <= 1 {
            return Some(blob.clone());
        }
        let repeats = self.integers(&[1, times, 1, 1]);
        let value = self.node("Tile", &[&blob.value, &repeats], &[]);
        let mut sides = blob.sides.clone()?;
        *sides.first_mut()? = n_queries;
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn multi_head(&mut self, inputs: &[Blob]) -> Option<Blob> {
        let layer = self.layer;
        let (width, heads) = (layer.whole(0, 0), layer.whole(1, 1));
        let head_width = width.checked_div(heads)?;
        let n_inputs = [
            layer.whole(2, 0).checked_div(width)?,
            layer.whole(3, width),
            layer.whole(4, width),
        ];
        let q = inputs.first()?;
        let k = inputs.get(1).unwrap_or(q);
        let v = inputs.get(2).unwrap_or(k);
        let mut parts = Vec::with_capacity(3);
        for (blob, n_in) in [q, k, v].into_iter().zip(n_inputs) {
            let weights = self.weights(&[n_in, width]);
            let bias = self.weights(&[width]);
            let value = self.node("MatMul", &[&blob.value, &weights], &[]);
            let value = self.node("Add", &[&value, &bias], &[]);
            let shape = self.integers(&[1, -1, heads, head_width]);
            let value = self.node("Reshape", &[&value, &shape], &[]);
            let value = self.node("Transpose", &[&value], &[("perm", Integers(&[0, 2, 1, 3]))]);
            let length = blob.side(0).unwrap_or(0);
            parts.push(Blob::new(value, Some(vec![heads, length, head_width])));
        }
        let [q_heads, k_heads, v_heads] = parts.as_slice() else {
            return None;
        };
        let scores = self.product([q_heads, k_heads], true)?;
        let value = self.node("Softmax", &[&scores.value], &[("axis", Integer(-1))]);
        let mixed = self.product([&Blob::new(value, scores.sides), v_heads], false)?;
        let value = self.node(
            "Transpose",
            &[&mixed.value],
            &[("perm", Integers(&[0, 2, 1, 3]))],
        );
        let shape = self.integers(&[1, -1, width]);
        let value = self.node("Reshape", &[&value, &shape], &[]);
        let (weights, bias) = (self.weights(&[width, width]), self.weights(&[width]));
        let value = self.node("MatMul", &[&value, &weights], &[]);
        let value = self.node("Add", &[&value, &bias], &[]);
        Some(Blob::new(value, Some(vec![q.side(0).unwrap_or(0), width])))
    }

    pub(super) fn recurrent(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        // States that come in or go out are other blobs.
        (layer.n_inputs == 1 && layer.n_outputs == 1).then_some(())?;
        let n_cells = layer.whole(0, 0);
        let gates = match layer.kind {
            "LSTM" => 4,
            "GRU" => 3,
            _ => 1,
        };
        (gates != 4 || layer.whole(3, n_cells) == n_cells).then_some(())?;
        let (direction, n_directions) = match layer.whole(2, 0) {
            0 => ("forward", 1),
            1 => ("reverse", 1),
            _ => ("bidirectional", 2),
        };
        let rows = n_cells.checked_mul(gates)?;
        let n_in = layer
            .whole(1, 0)
            .checked_div(rows.checked_mul(n_directions)?)?;
        (n_in > 0).then_some(())?;
        let weights = self.weights(&[n_directions, rows, n_in]);
        let of_state = self.weights(&[n_directions, rows, n_cells]);
        let bias = self.weights(&[n_directions, rows.checked_mul(2)?]);
        // Time comes first there.
        let swap = [("perm", Integers(&[1, 0, 2]))];
        let source = self.node("Transpose", &[&x.value], &swap);
        let attributes = [
            ("hidden_size", Integer(n_cells)),
            ("direction", Text(direction)),
        ];
        let inputs = [&*source, &weights, &of_state, &bias];
        let value = self.node(layer.kind, &inputs, &attributes);
        // Time, direction, batch, cell → batch, time, direction and cell.
        let value = self.node("Transpose", &[&value], &[("perm", Integers(&[2, 0, 1, 3]))]);
        let width = n_cells.checked_mul(n_directions)?;
        let shape = self.integers(&[1, -1, width]);
        let value = self.node("Reshape", &[&value, &shape], &[]);
        Some(Blob::new(value, Some(vec![x.side(0).unwrap_or(0), width])))
    }

    /// The two halves of the innermost side, turned by an angle for each position.
    pub(super) fn rotated(&mut self, inputs: &[Blob]) -> Option<Blob> {
        let [x, cosine, sine] = inputs else {
            return None;
        };
        let attributes = [("axis", Integer(-1)), ("num_outputs", Integer(2))];
        let halves = self
            .network
            .nodes(self.layer, "Split", &[&x.value], &attributes, 2);
        let [first, second] = halves.as_slice() else {
            return None;
        };
        let mut times = |half: &str, angle: &Blob| self.node("Mul", &[half, &angle.value], &[]);
        let [a, b] = [times(first, cosine), times(second, sine)];
        let [c, d] = [times(first, sine), times(second, cosine)];
        let one = self.node("Sub", &[&a, &b], &[]);
        let other = self.node("Add", &[&c, &d], &[]);
        let value = self.node("Concat", &[&one, &other], &[("axis", Integer(-1))]);
        Some(Blob::new(value, x.sides.clone()))
    }
}
