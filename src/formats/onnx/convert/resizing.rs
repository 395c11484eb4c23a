//! Interpolation, and blocks of pixels that become channels.

use super::Converter;
use super::value::{self, Value, axes, exact_integer, narrow, narrow_all, product, stored_shape};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{BuiltinOptions, OpKind};

impl<'a> Converter<'a> {
    /// New sides of a `Resize`, from its sizes or scales along `axes`, by default along all.
    pub(super) fn resized(&self, node: &Node<'a>, shape: &[i64]) -> Option<Vec<i64>> {
        let axes = match node.integers("axes") {
            Some(named) => axes(&named, shape.len())?,
            None => (0..shape.len()).collect(),
        };
        let from = stored_shape(shape, &axes)?;
        let floats = |position: usize| {
            self.input(node, position)
                .and_then(|scales| scales.floats())
                .filter(|scales| !scales.is_empty())
        };
        let sizes = (self.input(node, 3))
            .and_then(|sizes| sizes.integers())
            .filter(|sizes| !sizes.is_empty());
        let to = match sizes {
            Some(sizes) => with_aspect_ratio(node, &from, sizes)?,
            None => {
                let scales = floats(2).or_else(|| floats(1));
                let scales = scales.or_else(|| node.floats("scales"))?;
                scaled(&from, &scales)?
            }
        };
        (to.len() == axes.len()).then_some(())?;
        let mut sides = shape.to_vec();
        for (&at, side) in axes.iter().zip(to) {
            *sides.get_mut(at)? = side;
        }
        Some(sides)
    }

    pub(super) fn resize(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let to = self.resized(node, shape)?;
        (shape.len() == 4 && to.get(..2) == shape.get(..2) && to.iter().all(|&side| side >= 1))
            .then_some(())?;
        if to == shape {
            return self.alias(output, x, to, x.perm()?);
        }
        let how = node
            .text("coordinate_transformation_mode")
            .unwrap_or("half_pixel");
        let (align_corners, half_pixel_centers) =
            (how == "align_corners", how.ends_with("half_pixel"));
        let (kind, options) = match node.text("mode").unwrap_or("nearest") {
            "nearest" => (
                OpKind::ResizeNearestNeighbor,
                BuiltinOptions::ResizeNearestNeighbor {
                    align_corners,
                    half_pixel_centers: half_pixel_centers
                        && node.text("nearest_mode") != Some("floor"),
                },
            ),
            "linear" | "bilinear" => (
                OpKind::ResizeBilinear,
                BuiltinOptions::ResizeBilinear {
                    align_corners,
                    half_pixel_centers,
                },
            ),
            _ => return None,
        };
        let perm = value::channels_last(4);
        let tensor = self.tensor_in_order(x, &perm)?;
        let size = self.integers("size", &narrow_all(to.get(2..)?)?);
        self.operator(
            kind,
            vec![Some(tensor), Some(size)],
            output,
            x.tensor_type,
            to,
            perm,
            options,
        )
    }

    pub(super) fn depth_to_space_or_back(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let side = node.integer("blocksize").filter(|&side| side >= 1)?;
        let area = side.checked_mul(side)?;
        let &[n, c, h, w] = shape else {
            return None;
        };
        let block_size = narrow(side)?;
        let (kind, to, options) = match node.text.op_type {
            "DepthToSpace" => (
                OpKind::DepthToSpace,
                vec![
                    n,
                    c.checked_div(area)?,
                    h.checked_mul(side)?,
                    w.checked_mul(side)?,
                ],
                BuiltinOptions::DepthToSpace { block_size },
            ),
            _ => (
                OpKind::SpaceToDepth,
                vec![
                    n,
                    c.checked_mul(area)?,
                    h.checked_div(side)?,
                    w.checked_div(side)?,
                ],
                BuiltinOptions::SpaceToDepth { block_size },
            ),
        };
        (product(&to)? == product(shape)?).then_some(())?;
        let perm = value::channels_last(4);
        let tensor = self.tensor_in_order(x, &perm)?;
        self.operator(
            kind,
            vec![Some(tensor)],
            output,
            x.tensor_type,
            to,
            perm,
            options,
        )
    }
}

/// Sides times their scales, rounded down.
fn scaled(sides: &[i64], scales: &[f64]) -> Option<Vec<i64>> {
    (sides.len() == scales.len()).then_some(())?;
    #[allow(clippy::as_conversions)]
    let scaled = |(side, scale): (&i64, &f64)| exact_integer((*side as f64 * scale).floor());
    sides.iter().zip(scales).map(scaled).collect()
}

/// The sizes of a `Resize`, or those with one scale along all axes that are no larger or no smaller than them.
fn with_aspect_ratio(node: &Node, from: &[i64], sizes: Vec<i64>) -> Option<Vec<i64>> {
    let policy = node.text("keep_aspect_ratio_policy");
    if !matches!(policy, Some("not_larger" | "not_smaller")) {
        return Some(sizes);
    }
    #[allow(clippy::as_conversions)]
    let ratio = |(&from, &to): (&i64, &i64)| (from > 0).then_some(to as f64 / from as f64);
    let ratios: Vec<f64> = from.iter().zip(&sizes).map(ratio).collect::<Option<_>>()?;
    let scale = match policy {
        Some("not_larger") => ratios.into_iter().reduce(f64::min)?,
        _ => ratios.into_iter().reduce(f64::max)?,
    };
    #[allow(clippy::as_conversions)]
    let rounded = |&side: &i64| exact_integer((side as f64 * scale + 0.5).floor());
    from.iter().map(rounded).collect()
}
