//! Operators that move values, and reductions.

use super::call::Unshaped::{Contradiction, Unknown};
use super::call::{Known, OperatorCall, Shape, axis, exact_quotient, require};
use crate::formats::tflite::{BuiltinOptions, MirrorPadMode};

impl OperatorCall<'_, '_> {
    pub fn concatenated(&self, along: i32) -> Known<Shape> {
        let shapes = self.shapes()?;
        let mut joined = self.shape(0)?;
        let along = axis(along.into(), joined.len())?;
        for shape in shapes.into_iter().skip(1) {
            require(shape.len() == joined.len(), ALIKE)?;
            for (at, (size, &other)) in joined.iter_mut().zip(shape).enumerate() {
                if at == along {
                    *size += i64::from(other)
                } else {
                    require(*size == i64::from(other), ALIKE)?
                }
            }
        }
        Ok(joined)
    }

    pub fn packed(&self, along: i32) -> Known<Shape> {
        let shapes = self.shapes()?;
        let first = shapes.first().ok_or(Unknown)?;
        require(shapes.iter().all(|shape| shape == first), ALIKE)?;
        let along = axis(along.into(), first.len() + 1)?;
        let mut shape = self.shape(0)?;
        shape.insert(along, i64::try_from(shapes.len()).map_err(|_| Unknown)?);
        Ok(shape)
    }

    pub fn unpacked(&self, along: i32) -> Known<Shape> {
        let mut shape = self.shape(0)?;
        let along = axis(along.into(), shape.len())?;
        let n_parts = i64::try_from(self.operator.outputs.len()).ok();
        require(Some(shape.remove(along)) == n_parts, PARTS)?;
        Ok(shape)
    }

    pub fn split(&self, n_parts: i32) -> Known<Shape> {
        let mut shape = self.shape(1)?;
        let along = axis(self.value(0)?, shape.len())?;
        shape[along] = exact_quotient(shape[along], n_parts.into(), PARTS)?;
        Ok(shape)
    }

    /// One size at most is −1, and takes what is left.
    pub fn split_by_sizes(&self) -> Known<Vec<Shape>> {
        let (shape, sizes) = (self.shape(0)?, self.values(1)?);
        let along = axis(self.value(2)?, shape.len())?;
        let sizes = with_open_size(&sizes, |known| Ok(shape[along] - known.iter().sum::<i64>()))?;
        require(sizes.iter().sum::<i64>() == shape[along], PARTS)?;
        let part = |&size: &i64| {
            let mut part = shape.clone();
            part[along] = size;
            part
        };
        Ok(sizes.iter().map(part).collect())
    }

    /// To the shape that a constant or the options name. One size at most is −1, and takes what is left.
    pub fn reshaped(&self, options: &BuiltinOptions) -> Known<Shape> {
        let n_values = self.n_values(0)?;
        let is_listed = self.dimensions(1).is_ok_and(|shape| shape.len() == 1);
        let sizes: Shape = match options {
            _ if is_listed => self.values(1)?,
            // What old converters write for a scalar.
            BuiltinOptions::Reshape { new_shape } if *new_shape == [0] => Vec::new(),
            BuiltinOptions::Reshape { new_shape } => {
                new_shape.iter().copied().map(i64::from).collect()
            }
            _ => return Err(Unknown),
        };
        let sizes = with_open_size(&sizes, |known| {
            exact_quotient(n_values, product(known)?, SIZE)
        })?;
        require(product(&sizes)? == n_values, SIZE)?;
        Ok(sizes)
    }

    /// Without the dimensions that are listed, or without all of size 1.
    pub fn squeezed(&self, listed: &[i32]) -> Known<Shape> {
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
            if is_dropped {
                require(size == 1, "a dimension is dropped that is not 1")?
            } else {
                left.push(size)
            }
        }
        Ok(left)
    }

    pub fn expanded(&self) -> Known<Shape> {
        let mut shape = self.shape(0)?;
        let along = axis(self.value(1)?, shape.len() + 1)?;
        shape.insert(along, 1);
        Ok(shape)
    }

    /// What is mirrored has to be there: without the value at the edge (`REFLECT`), or with it.
    pub fn padded(&self) -> Known<Shape> {
        let (mut shape, paddings) = (self.shape(0)?, self.pairs(1)?);
        require(paddings.len() == shape.len(), PADDINGS)?;
        for (size, [before, after]) in shape.iter_mut().zip(paddings) {
            let most = match self.operator.options {
                BuiltinOptions::MirrorPad {
                    mode: MirrorPadMode::Reflect,
                } => *size - 1,
                BuiltinOptions::MirrorPad { .. } => *size,
                _ => i64::MAX,
            };
            let fits = |padding: i64| (0..=most).contains(&padding);
            require(fits(before) && fits(after), PADDINGS)?;
            *size += before + after;
        }
        Ok(shape)
    }

    /// Of the first input, along dimensions that the second names.
    pub fn along_axes(&self) -> Known<Shape> {
        let shape = self.shape(0)?;
        for along in self.values(1).unwrap_or_default() {
            axis(along, shape.len())?;
        }
        Ok(shape)
    }

    pub fn transposed(&self) -> Known<Shape> {
        let (shape, order) = (self.shape(0)?, self.values(1)?);
        require(order.len() == shape.len(), ORDER)?;
        let mut left: Vec<Option<i64>> = shape.into_iter().map(Some).collect();
        let rank = left.len();
        // A dimension that is named twice is no longer there.
        let mut take = |&at: &i64| left[axis(at, rank)?].take().ok_or(Contradiction(ORDER));
        order.iter().map(&mut take).collect()
    }

    pub fn reduced(&self) -> Known<Shape> {
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
        let left = sizes.filter_map(|(size, is_reduced)| {
            if is_reduced {
                keep_dims.then_some(1)
            } else {
                Some(size)
            }
        });
        Ok(left.collect())
    }

    /// The index of the largest or least value along a dimension.
    pub fn arg_extreme(&self) -> Known<Shape> {
        let mut shape = self.shape(0)?;
        let along = axis(self.value(1)?, shape.len())?;
        shape.remove(along);
        Ok(shape)
    }

    pub fn top_k(&self) -> Known<Shape> {
        let mut shape = self.shape(0)?;
        let k = self.value(1)?;
        let last = shape.last_mut().ok_or(Contradiction(PARTS))?;
        require(k <= *last, PARTS)?;
        *last = k;
        Ok(shape)
    }

    pub fn resized_image(&self) -> Known<Shape> {
        let ([n, _, _, c], size) = (self.sizes::<4>(0)?, self.values(1)?);
        let &[rows, columns] = size.as_slice() else {
            return Err(Unknown);
        };
        Ok(vec![n, rows, columns, c])
    }

    pub fn depth_to_space(&self, side: i64) -> Known<Shape> {
        let [n, h, w, c] = self.sizes(0)?;
        require(side > 0, BLOCKS)?;
        Ok(vec![
            n,
            h * side,
            w * side,
            exact_quotient(c, side * side, BLOCKS)?,
        ])
    }

    pub fn space_to_depth(&self, side: i64) -> Known<Shape> {
        let [n, h, w, c] = self.sizes(0)?;
        let (rows, columns) = (
            exact_quotient(h, side, BLOCKS)?,
            exact_quotient(w, side, BLOCKS)?,
        );
        Ok(vec![
            n,
            rows,
            columns,
            c.checked_mul(side * side).ok_or(Unknown)?,
        ])
    }

    pub fn batch_to_space(&self) -> Known<Shape> {
        let (mut shape, sides, crops) = (self.shape(0)?, self.values(1)?, self.pairs(2)?);
        let (batch, sizes) = shape.split_first_mut().ok_or(Contradiction(BLOCKS))?;
        let fit = crops.len() == sides.len() && sides.len() <= sizes.len();
        require(fit, BLOCKS)?;
        for (size, (side, [before, after])) in sizes.iter_mut().zip(sides.into_iter().zip(crops)) {
            require(before >= 0 && after >= 0, PADDINGS)?;
            *batch = exact_quotient(*batch, side, BLOCKS)?;
            *size = *size * side - before - after;
        }
        Ok(shape)
    }

    pub fn space_to_batch(&self) -> Known<Shape> {
        let (mut shape, sides, paddings) = (self.shape(0)?, self.values(1)?, self.pairs(2)?);
        let (batch, sizes) = shape.split_first_mut().ok_or(Contradiction(BLOCKS))?;
        let fit = paddings.len() == sides.len() && sides.len() <= sizes.len();
        require(fit, BLOCKS)?;
        let sizes = sizes.iter_mut().zip(sides.into_iter().zip(paddings));
        for (size, (side, [before, after])) in sizes {
            require(before >= 0 && after >= 0, PADDINGS)?;
            *batch = batch.checked_mul(side).ok_or(Unknown)?;
            *size = exact_quotient(*size + before + after, side, BLOCKS)?;
        }
        Ok(shape)
    }

    /// The dimensions of the indices instead of the one that is gathered along, those of the batch once.
    pub fn gathered(&self, along: i32, batch_dims: i32) -> Known<Shape> {
        let (table, indices) = (self.shape(0)?, self.shape(1)?);
        let along = axis(along.into(), table.len())?;
        let n_batch = match usize::try_from(batch_dims) {
            Ok(n_batch) => n_batch,
            Err(_) => axis(batch_dims.into(), indices.len())?,
        };
        require(n_batch <= along && n_batch <= indices.len(), INDICES)?;
        // Converted networks count some from the end.
        let is_place = |place: &i64| (-table[along]..table[along]).contains(place);
        let named = self.values(1).unwrap_or_default();
        require(named.iter().all(is_place), INDICES)?;
        let (front, behind) = (&table[..along], &table[along + 1..]);
        Ok([front, &indices[n_batch..], behind].concat())
    }

    /// The last dimension of the indices names places in the first dimensions of the table.
    pub fn gathered_by_tuples(&self) -> Known<Shape> {
        let (table, mut indices) = (self.shape(0)?, self.shape(1)?);
        let n_named = indices.pop().ok_or(Contradiction(INDICES))?;
        let n_named = usize::try_from(n_named).map_err(|_| Unknown)?;
        let named = table.get(n_named..).ok_or(Contradiction(INDICES))?;
        indices.extend(named);
        Ok(indices)
    }

    /// Rows of a table.
    pub fn embedding_lookup(&self) -> Known<Shape> {
        let ([n], table) = (self.sizes(0)?, self.shape(1)?);
        let (_, row) = table.split_first().ok_or(Contradiction(INDICES))?;
        Ok([&[n], row].concat())
    }

    pub fn one_hot(&self, along: i32) -> Known<Shape> {
        let (mut shape, depth) = (self.shape(0)?, self.value(1)?);
        let along = axis(along.into(), shape.len() + 1)?;
        shape.insert(along, depth);
        Ok(shape)
    }

    pub fn tiled(&self) -> Known<Shape> {
        let (shape, times) = (self.shape(0)?, self.values(1)?);
        let is_alike = times.len() == shape.len();
        require(is_alike, "other repetitions than dimensions")?;
        let sizes = shape.into_iter().zip(times);
        Ok(sizes.map(|(size, times)| size * times).collect())
    }

    /// The first input with a part replaced by the second.
    pub fn with_replaced_part(&self) -> Known<Shape> {
        let shape = self.shape(0)?;
        if let Ok(part) = self.shape(1) {
            let mut pairs = part.iter().zip(&shape);
            let fits = part.len() == shape.len() && pairs.all(|(part, size)| part <= size);
            require(fits, "the update is larger than the input")?;
        }
        let rank = i64::try_from(shape.len()).map_err(|_| Unknown)?;
        self.require_n_values(2, rank, "the place has another number of dimensions")?;
        Ok(shape)
    }
}

const ALIKE: &str = "inputs of different shapes are joined";
const PARTS: &str = "the parts are not those of the input";
const SIZE: &str = "input and output differ in size";
const PADDINGS: &str = "the paddings do not fit the input";
const ORDER: &str = "the order of dimensions is no permutation";
const BLOCKS: &str = "the input does not divide into the blocks";
const INDICES: &str = "the indices are not those of the table";

/// Sizes with the one in place that is −1, which follows from the others.
fn with_open_size(sizes: &[i64], open: impl FnOnce(&[i64]) -> Known<i64>) -> Known<Shape> {
    let (known, others): (Shape, Shape) = sizes.iter().partition(|&&size| size >= 0);
    let open = match others.as_slice() {
        [] => return Ok(known),
        [-1] => open(&known)?,
        _ => return Err(Contradiction("negative sizes")),
    };
    require(open >= 0, "negative sizes")?;
    let complete = |&size: &i64| if size < 0 { open } else { size };
    Ok(sizes.iter().map(complete).collect())
}

/// Unknown where it does not fit.
fn product(sizes: &[i64]) -> Known<i64> {
    let product = sizes
        .iter()
        .try_fold(1i64, |all, &size| all.checked_mul(size));
    product.ok_or(Unknown)
}
