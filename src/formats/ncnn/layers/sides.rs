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
            if SAME_SIDES.contains(&layer.kind) {
                pending.extend(layer.outputs());
            }
        }
    }
    None
}

/// Layers whose results have as many sides as what they read first.
const SAME_SIDES: &[&str] = &[
    "BatchNorm",
    "BinaryOp",
    "Clip",
    "GroupNorm",
    "InstanceNorm",
    "Padding",
    "ReLU",
    "Scale",
    "Sigmoid",
    "Split",
    "Swish",
    "UnaryOp",
];

fn needed_sides(layer: &Layer, place: usize) -> Option<Sides> {
    let parts = |n: i64| layer.whole(6, 0).checked_div(n);
    let n_out = layer.whole(0, 0);
    let width = layer.whole(1, 0);
    match (layer.kind, place) {
        (kind, 0) if kind.starts_with("Convolution") || kind.starts_with("Deconvolution") => {
            let area = width.checked_mul(layer.whole(11, width))?;
            let (window, n_open) = match kind.strip_suffix('D').and_then(|kind| kind.chars().last())
            {
                Some('1') => (width, 1),
                Some('3') => (area.checked_mul(layer.whole(21, width))?, 3),
                _ => (area, 2),
            };
            let n_in = parts(n_out.checked_mul(window)?)?.checked_mul(layer.whole(7, 1))?;
            let open = std::iter::repeat_n(0, n_open);
            Some(std::iter::once(n_in).chain(open).collect())
        }
        ("LSTM" | "GRU" | "RNN", 0) => Some(vec![0, 0]),
        // Queries, keys and values.
        ("MultiHeadAttention", 0) => Some(vec![0, layer.whole(2, 0).checked_div(n_out)?]),
        ("MultiHeadAttention", 1) => Some(vec![0, layer.whole(3, n_out)]),
        ("MultiHeadAttention", 2) => Some(vec![0, layer.whole(4, n_out)]),
        ("Gemm", 0) => Some(vec![0, layer.whole(9, 0)]),
        ("RMSNorm" | "LayerNorm", 0) => Some(vec![0, n_out]),
        ("InnerProduct", 0) => Some(vec![layer.whole(2, 0).checked_div(n_out)?]),
        ("Embed", 0) => Some(vec![0]),
        ("RotaryEmbed", 1 | 2) | ("SDPA", 3) => Some(vec![0, 0]),
        _ => None,
    }
}
