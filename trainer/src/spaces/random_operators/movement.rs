//! Operators that cut, join, repeat and reorder values.

use super::graph::{Graph, Step};
use crate::writer::TensorIdx;

pub const STEPS: &[Step] = &[
    pad,
    pad_v2,
    mirror_pad,
    slice,
    strided_slice,
    split,
    split_v,
    pack,
    unpack,
    concatenation,
    reshape,
    transpose,
    expand_dims,
    squeeze,
    tile,
];

impl Graph<'_> {
    /// Rows before and after height and width.
    fn paddings(&mut self, most: i32) -> [[i32; 2]; 4] {
        let sides =
            [(); 2].map(|()| [(); 2].map(|()| self.choices.between(0, most as usize) as i32));
        [[0, 0], sides[0], sides[1], [0, 0]]
    }

    /// A dimension of at least `least`, not the batch.
    pub(super) fn axis(&mut self, x: TensorIdx, least: i32) -> Option<usize> {
        let shape = self.shape(x);
        let axes: Vec<_> = (1..shape.len())
            .filter(|&axis| shape[axis] >= least)
            .collect();
        (!axes.is_empty()).then(|| self.choices.pick(&axes))
    }
}

fn pad(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let paddings = graph.paddings(4);
    let name = graph.name("pad");
    graph
        .is_image(x)
        .then(|| graph.builder.pad(&name, x, &paddings))
}

fn pad_v2(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let paddings = graph.paddings(4);
    let name = graph.name("pad_v2");
    graph
        .is_image(x)
        .then(|| graph.builder.pad_v2(&name, x, &paddings, -128))
}

fn mirror_pad(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let [_, height, width, _] = graph.builder.image(x);
    let most = (height.min(width) - 1).min(3);
    let paddings = graph.paddings(most.max(0));
    let reflect = graph.choices.coin();
    let name = graph.name("mirror_pad");
    Some(graph.builder.mirror_pad(&name, x, &paddings, reflect))
}

/// The ends of a cut, somewhere in each dimension.
fn cut(graph: &mut Graph, x: TensorIdx) -> (Vec<i32>, Vec<i32>) {
    let mut begin = Vec::new();
    let mut size = Vec::new();
    for dim in graph.shape(x) {
        let kept = graph
            .choices
            .between((dim as usize).div_ceil(2), dim as usize);
        begin.push(graph.choices.between(0, dim as usize - kept) as i32);
        size.push(kept as i32);
    }
    (begin, size)
}

fn slice(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let (begin, size) = cut(graph, x);
    let name = graph.name("slice");
    Some(graph.builder.slice(&name, x, &begin, &size))
}

fn strided_slice(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let (begin, size) = cut(graph, x);
    let stride = graph.choices.pick(&[1, 2]);
    let name = graph.name("strided_slice");
    Some(graph.builder.strided_cut(&name, x, &begin, &size, stride))
}

fn split(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let axis = graph.axis(x, 2)?;
    let n = graph.choices.pick(&[2, 3, 4]);
    if graph.shape(x)[axis] % n != 0 {
        return None;
    }
    let name = graph.name("split");
    let parts = graph.builder.split(&name, x, axis, n as usize);
    graph.values.extend(&parts[1..]);
    Some(parts[0])
}

fn split_v(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let axis = graph.axis(x, 2)?;
    let side = graph.shape(x)[axis];
    let first = graph.choices.between(1, side as usize - 1) as i32;
    let name = graph.name("split_v");
    let sizes = [first, side - first];
    let parts = graph.builder.split_v(&name, x, axis, &sizes);
    graph.values.push(parts[1]);
    Some(parts[0])
}

fn pack(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if graph.rank(x) > 3 {
        return None;
    }
    let y = graph.value_of_same_shape(x)?;
    let axis = graph.choices.between(1, graph.rank(x));
    let name = graph.name("pack");
    Some(graph.builder.pack(&name, &[x, y], axis))
}

fn unpack(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if graph.rank(x) < 3 {
        return None;
    }
    let axis = graph.choices.between(1, graph.rank(x) - 1);
    if !(2..=8).contains(&graph.shape(x)[axis]) {
        return None;
    }
    let name = graph.name("unpack");
    let parts = graph.builder.unpack(&name, x, axis);
    graph.values.extend(&parts[1..]);
    Some(parts[0])
}

fn concatenation(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let y = graph.value_of_same_shape(x).unwrap_or(x);
    let shape = graph.shape(x);
    let doubled = 2 * shape.iter().product::<i32>();
    if !Graph::is_small(&[doubled]) {
        return None;
    }
    let axis = graph.choices.between(1, shape.len() - 1);
    let name = graph.name("concat");
    Some(graph.builder.concatenation(&name, &[x, y], axis))
}

fn reshape(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let shape = graph.shape(x);
    let last = graph.builder.channels(x);
    let rest = shape.iter().product::<i32>() / last;
    let target = match graph.choices.between(0, 3) {
        0 => vec![1, rest * last],
        1 => vec![1, rest, last],
        2 => vec![1, 1, rest, last],
        _ => vec![1, last, rest, 1],
    };
    let name = graph.name("reshape");
    Some(graph.builder.reshape(&name, x, &target))
}

fn transpose(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let permutation: &[i32] = match graph.rank(x) {
        4 => graph
            .choices
            .pick(&[&[0, 2, 1, 3][..], &[0, 3, 1, 2], &[0, 1, 3, 2]]),
        3 => &[0, 2, 1],
        _ => return None,
    };
    let name = graph.name("transpose");
    Some(graph.builder.transpose(&name, x, permutation))
}

fn expand_dims(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let rank = graph.rank(x);
    if rank > 3 {
        return None;
    }
    let axis = graph.choices.between(1, rank);
    let name = graph.name("expand_dims");
    Some(graph.builder.expand_dims(&name, x, axis))
}

fn squeeze(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let shape = graph.shape(x);
    let axis = (1..shape.len()).find(|&axis| shape[axis] == 1)?;
    let name = graph.name("squeeze");
    (shape.len() > 2).then(|| graph.builder.squeeze(&name, x, axis))
}

fn tile(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let axis = graph.axis(x, 1)?;
    let mut multiples = vec![1; graph.rank(x)];
    multiples[axis] = graph.choices.pick(&[2, 3]);
    let values = graph.shape(x).iter().product::<i32>() * multiples[axis];
    let name = graph.name("tile");
    Graph::is_small(&[values]).then(|| graph.builder.tile(&name, x, &multiples))
}
