//! Sides of blobs that a file states or that a reader needs.

use std::collections::HashMap;

use super::super::network::Sides;
use super::super::text::Layer;

/// The sides of each output that the file tells beside the layer's own parameters.
pub(super) fn hints(layer: &Layer) -> impl Iterator<Item = Option<Sides>> + use<> {
    let mut numbers = layer.wholes(30).unwrap_or_default().into_iter();
    std::iter::from_fn(move || {
        let mut next = || numbers.next();
        let (rank, w, h, c) = (next()?, next()?, next()?, next()?);
        Some(match rank {
            1 => Some(vec![w]),
            2 => Some(vec![h, w]),
            3 => Some(vec![c, h, w]),
            _ => None,
        })
    })
}

/// The sides that an `Input` or `MemoryData` has as parameters.
pub(super) fn stated_sides(layer: &Layer) -> Option<Sides> {
    let sides = [2, 11, 1, 0].map(|id| layer.whole(id, 0));
    let sides: Sides = sides.into_iter().filter(|&side| side != 0).collect();
    (!sides.is_empty()).then_some(sides)
}

/// The sides that an input needs for the first layer that reads it and tells, with 0 for those that this leaves open.
pub(super) fn sides_by_readers<'f>(
    name: &'f str,
    layers: &[Layer<'f>],
    readers: &HashMap<&'f str, Vec<usize>>,
    searched_left: &mut usize,
) -> Option<Sides> {
    let mut pending = vec![name];
    while let Some(name) = pending.pop() {
        for &reader in readers.get(name)? {
            *searched_left = searched_left.checked_sub(1)?;
            let layer = layers.get(reader)?;
            let place = layer.inputs().position(|input| input == name)?;
            if let Some(sides) = needed_sides(layer, place) {
                return Some(sides);
            }
            if layer.kind == "Split" || ["BinaryOp", "Padding"].contains(&layer.kind) {
                pending.extend(layer.outputs());
            }
        }
    }
    None
}

fn needed_sides(layer: &Layer, place: usize) -> Option<Sides> {
    let parts = |n: i64| layer.whole(6, 0).checked_div(n);
    let n_out = layer.whole(0, 0);
    let width = layer.whole(1, 0);
    match (layer.kind, place) {
        ("Convolution" | "ConvolutionDepthWise", 0) => {
            let window = width.checked_mul(layer.whole(11, width))?;
            let n_in = parts(n_out.checked_mul(window)?)?.checked_mul(layer.whole(7, 1))?;
            Some(vec![n_in, 0, 0])
        }
        ("Convolution1D", 0) => Some(vec![parts(n_out.checked_mul(width)?)?, 0]),
        ("Gemm", 0) => Some(vec![0, layer.whole(9, 0)]),
        ("RMSNorm" | "LayerNorm", 0) => Some(vec![0, n_out]),
        ("InnerProduct", 0) => Some(vec![layer.whole(2, 0).checked_div(n_out)?]),
        ("Embed", 0) => Some(vec![0]),
        ("RotaryEmbed", 1 | 2) | ("SDPA", 3) => Some(vec![0, 0]),
        _ => None,
    }
}
