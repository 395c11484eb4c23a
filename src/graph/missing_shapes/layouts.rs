//! Operators that move values, and reductions.

use super::call::{Call, Shape, axis, require, whole};
use crate::formats::tflite::BuiltinOptions;

impl Call<'_, '_> {
    pub fn joined(&self, along: i32) -> Option<Shape> {
        let shapes = self.shapes()?;
        let mut joined = self.shape(0)?;
        let along = axis(along.into(), joined.len())?;
        for shape in shapes.into_iter().skip(1) {
            require(shape.len() == joined.len())?;
            for (at, (size, &other)) in joined.iter_mut().zip(shape).enumerate() {
                match at == along {
                    true => *size += i64::from(other),
                    false => require(*size == i64::from(other))?,
                }
            }
        }
        Some(joined)
    }

    pub fn packed(&self, along: i32) -> Option<Shape> {
        let shapes = self.shapes()?;
        let first = shapes.first()?;
        require(shapes.iter().all(|shape| shape == first))?;
        let along = axis(along.into(), first.len() + 1)?;
        let mut shape = self.shape(0)?;
        shape.insert(along, i64::try_from(shapes.len()).ok()?);
        Some(shape)
    }

    pub fn unpacked(&self, along: i32) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let along = axis(along.into(), shape.len())?;
        let n_parts = i64::try_from(self.operator.outputs.len()).ok();
        (Some(shape.remove(along)) == n_parts).then_some(shape)
    }

    pub fn split(&self, n_parts: i32) -> Option<Shape> {
        let mut shape = self.shape(1)?;
        let along = axis(self.value(0)?, shape.len())?;
        shape[along] = whole(shape[along], n_parts.into())?;
        Some(shape)
    }

    /// One size at most is −1, and takes what is left.
    pub fn split_by_sizes(&self) -> Option<Vec<Shape>> {
        let (shape, sizes) = (self.shape(0)?, self.values(1)?);
        let along = axis(self.value(2)?, shape.len())?;
        let sizes = completed(&sizes, |known| {
            Some(shape[along] - known.iter().sum::<i64>())
        })?;
        require(sizes.iter().sum::<i64>() == shape[along])?;
        let part = |&size: &i64| {
            let mut part = shape.clone();
            part[along] = size;
            part
        };
        Some(sizes.iter().map(part).collect())
    }

    /// To the shape that a constant or the options name. One size at most is −1, and takes what is left.
    pub fn reshaped(&self, options: &BuiltinOptions) -> Option<Shape> {
        let n_values = i64::try_from(self.tensor(0)?.element_count()?).ok()?;
        let is_listed = self.tensor(1).is_some_and(|shape| shape.shape.len() == 1);
        let sizes: Shape = match options {
            _ if is_listed => self.values(1)?,
            // What old converters write for a scalar.
            BuiltinOptions::Reshape { new_shape } if *new_shape == [0] => Vec::new(),
            BuiltinOptions::Reshape { new_shape } => {
                new_shape.iter().copied().map(i64::from).collect()
            }
            _ => return None,
        };
        let sizes = completed(&sizes, |known| whole(n_values, product(known)?))?;
        (product(&sizes) == Some(n_values)).then_some(sizes)
    }

    /// Without the dimensions that are listed, or without all of size 1.
    pub fn squeezed(&self, listed: &[i32]) -> Option<Shape> {
        let shape = self.shape(0)?;
        let mut is_dropped: Vec<bool> = match listed {
            [] => shape.iter().map(|&size| size == 1).collect(),
            _ => vec![false; shape.len()],
        };
        for &along in listed {
            is_dropped[axis(along.into(), shape.len())?] = true;
        }
        let mut left = Shape::new();
        for (size, is_dropped) in shape.into_iter().zip(is_dropped) {
            match is_dropped {
                true => require(size == 1)?,
                false => left.push(size),
            }
        }
        Some(left)
    }

    pub fn expanded(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let along = axis(self.value(1)?, shape.len() + 1)?;
        shape.insert(along, 1);
        Some(shape)
    }

    pub fn padded(&self) -> Option<Shape> {
        let (mut shape, paddings) = (self.shape(0)?, self.pairs(1)?);
        require(paddings.len() == shape.len())?;
        for (size, [before, after]) in shape.iter_mut().zip(paddings) {
            require(before >= 0 && after >= 0)?;
            *size += before + after;
        }
        Some(shape)
    }

    pub fn turned(&self) -> Option<Shape> {
        let (shape, order) = (self.shape(0)?, self.values(1)?);
        require(order.len() == shape.len())?;
        let mut left: Vec<Option<i64>> = shape.into_iter().map(Some).collect();
        let rank = left.len();
        // A dimension that is named twice is no longer there.
        let mut take = |&at: &i64| left[axis(at, rank)?].take();
        order.iter().map(&mut take).collect()
    }

    pub fn reduced(&self) -> Option<Shape> {
        let keep_dims = matches!(
            self.operator.options,
            BuiltinOptions::Reducer { keep_dims: true }
        );
        let shape = self.shape(0)?;
        let mut is_reduced = vec![false; shape.len()];
        for along in self.values(1)? {
            is_reduced[axis(along, shape.len())?] = true;
        }
        let sizes = shape.into_iter().zip(is_reduced);
        let left = sizes.filter_map(|(size, is_reduced)| match is_reduced {
            true => keep_dims.then_some(1),
            false => Some(size),
        });
        Some(left.collect())
    }

    /// The index of the largest or least value along a dimension.
    pub fn best(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let along = axis(self.value(1)?, shape.len())?;
        shape.remove(along);
        Some(shape)
    }

    pub fn top_k(&self) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        let (last, k) = (shape.last_mut()?, self.value(1)?);
        require(k <= *last)?;
        *last = k;
        Some(shape)
    }

    pub fn interpolated(&self) -> Option<Shape> {
        let ([n, _, _, c], size) = (self.sizes::<4>(0)?, self.values(1)?);
        let &[rows, columns] = size.as_slice() else {
            return None;
        };
        Some(vec![n, rows, columns, c])
    }

    pub fn depth_to_space(&self, side: i64) -> Option<Shape> {
        let [n, h, w, c] = self.sizes(0)?;
        require(side > 0)?;
        Some(vec![n, h * side, w * side, whole(c, side * side)?])
    }

    pub fn space_to_depth(&self, side: i64) -> Option<Shape> {
        let [n, h, w, c] = self.sizes(0)?;
        let (rows, columns) = (whole(h, side)?, whole(w, side)?);
        Some(vec![n, rows, columns, c.checked_mul(side * side)?])
    }

    pub fn batch_to_space(&self) -> Option<Shape> {
        let (mut shape, sides, crops) = (self.shape(0)?, self.values(1)?, self.pairs(2)?);
        let (batch, sizes) = shape.split_first_mut()?;
        require(crops.len() == sides.len() && sides.len() <= sizes.len())?;
        for (size, (side, [before, after])) in sizes.iter_mut().zip(sides.into_iter().zip(crops)) {
            require(before >= 0 && after >= 0)?;
            *batch = whole(*batch, side)?;
            *size = *size * side - before - after;
        }
        Some(shape)
    }

    pub fn space_to_batch(&self) -> Option<Shape> {
        let (mut shape, sides, paddings) = (self.shape(0)?, self.values(1)?, self.pairs(2)?);
        let (batch, sizes) = shape.split_first_mut()?;
        require(paddings.len() == sides.len() && sides.len() <= sizes.len())?;
        let sizes = sizes.iter_mut().zip(sides.into_iter().zip(paddings));
        for (size, (side, [before, after])) in sizes {
            require(before >= 0 && after >= 0)?;
            *batch = batch.checked_mul(side)?;
            *size = whole(*size + before + after, side)?;
        }
        Some(shape)
    }

    /// The dimensions of the indices instead of the one that is gathered along, those of the batch once.
    pub fn gathered(&self, along: i32, batch_dims: i32) -> Option<Shape> {
        let (table, indices) = (self.shape(0)?, self.shape(1)?);
        let along = axis(along.into(), table.len())?;
        let n_batch = match usize::try_from(batch_dims) {
            Ok(n_batch) => n_batch,
            Err(_) => axis(batch_dims.into(), indices.len())?,
        };
        require(n_batch <= along && n_batch <= indices.len())?;
        let (front, behind) = (&table[..along], &table[along + 1..]);
        Some([front, &indices[n_batch..], behind].concat())
    }

    /// The last dimension of the indices names places in the first dimensions of the table.
    pub fn gathered_by_tuples(&self) -> Option<Shape> {
        let (table, mut indices) = (self.shape(0)?, self.shape(1)?);
        let n_named = usize::try_from(indices.pop()?).ok()?;
        indices.extend(table.get(n_named..)?);
        Some(indices)
    }

    /// Rows of a table.
    pub fn looked_up(&self) -> Option<Shape> {
        let ([n], table) = (self.sizes(0)?, self.shape(1)?);
        let (_, row) = table.split_first()?;
        Some([&[n], row].concat())
    }

    pub fn one_hot(&self, along: i32) -> Option<Shape> {
        let (mut shape, depth) = (self.shape(0)?, self.value(1)?);
        let along = axis(along.into(), shape.len() + 1)?;
        shape.insert(along, depth);
        Some(shape)
    }

    pub fn tiled(&self) -> Option<Shape> {
        let (shape, times) = (self.shape(0)?, self.values(1)?);
        require(times.len() == shape.len())?;
        let sizes = shape.into_iter().zip(times);
        Some(sizes.map(|(size, times)| size * times).collect())
    }
}

/// Sizes with the one in place that is −1, which follows from the others.
fn completed(sizes: &[i64], open: impl FnOnce(&[i64]) -> Option<i64>) -> Option<Shape> {
    let (known, others): (Shape, Shape) = sizes.iter().partition(|&&size| size >= 0);
    let open = match others.as_slice() {
        [] => return Some(known),
        [-1] => open(&known).filter(|&size| size >= 0)?,
        _ => return None,
    };
    let complete = |&size: &i64| if size < 0 { open } else { size };
    Some(sizes.iter().map(complete).collect())
}

/// None where it does not fit.
fn product(sizes: &[i64]) -> Option<i64> {
    sizes
        .iter()
        .try_fold(1i64, |all, &size| all.checked_mul(size))
}
