//! The builder's operators that cut, join, repeat and reorder values and keep their quantisation.

use super::builder::NetworkBuilder;
use super::network::{Content, ElementType, TensorIdx};
use super::operator_kind::OperatorKind;

impl NetworkBuilder {
    /// `n` equal parts along `axis`.
    pub fn split(&mut self, name: &str, input: TensorIdx, axis: usize, n: usize) -> Vec<TensorIdx> {
        let part = self.shape(input)[axis] / n as i32;
        let outputs = self.parts(name, input, axis, &vec![part; n]);
        let axis = self.int32_constant(&format!("{name}/axis"), &[], vec![axis as i32]);
        let kind = OperatorKind::Split { n: n as i32 };
        self.add_operator(kind, &[axis, input], &outputs);
        outputs
    }

    /// Parts of the given sizes along `axis`.
    pub fn split_v(
        &mut self,
        name: &str,
        input: TensorIdx,
        axis: usize,
        sizes: &[i32],
    ) -> Vec<TensorIdx> {
        let outputs = self.parts(name, input, axis, sizes);
        let n = sizes.len() as i32;
        let sizes = self.int32_constant(&format!("{name}/sizes"), &[n], sizes.to_vec());
        let axis = self.int32_constant(&format!("{name}/axis"), &[], vec![axis as i32]);
        self.add_operator(OperatorKind::SplitV { n }, &[input, sizes, axis], &outputs);
        outputs
    }

    fn parts(
        &mut self,
        name: &str,
        input: TensorIdx,
        axis: usize,
        sizes: &[i32],
    ) -> Vec<TensorIdx> {
        let spread = self.spread(input);
        let mut shape = self.shape(input).to_vec();
        let mut parts = Vec::new();
        for (idx, &size) in sizes.iter().enumerate() {
            shape[axis] = size;
            parts.push(self.activation(&format!("{name}/part{idx}"), shape.clone(), spread));
        }
        parts
    }

    /// One part for each index of `axis`, which is removed.
    pub fn unpack(&mut self, name: &str, input: TensorIdx, axis: usize) -> Vec<TensorIdx> {
        let spread = self.spread(input);
        let mut shape = self.shape(input).to_vec();
        let n = shape.remove(axis);
        let outputs: Vec<_> = (0..n)
            .map(|idx| self.activation(&format!("{name}/part{idx}"), shape.clone(), spread))
            .collect();
        let kind = OperatorKind::Unpack {
            axis: axis as i32,
            n,
        };
        self.add_operator(kind, &[input], &outputs);
        outputs
    }

    /// Joins inputs along a new `axis`, all in the scale of the first.
    pub fn pack(&mut self, name: &str, inputs: &[TensorIdx], axis: usize) -> TensorIdx {
        let inputs = self.requantized_to_one_scale(name, inputs);
        let mut shape = self.shape(inputs[0]).to_vec();
        shape.insert(axis, inputs.len() as i32);
        let kind = OperatorKind::Pack {
            axis: axis as i32,
            n: inputs.len() as i32,
        };
        self.operator(name, kind, &inputs, shape, self.spread(inputs[0]))
    }

    /// Adds EXPAND_DIMS, which puts an axis of size 1 before `axis`.
    pub fn expand_dims(&mut self, name: &str, input: TensorIdx, axis: usize) -> TensorIdx {
        let mut shape = self.shape(input).to_vec();
        shape.insert(axis, 1);
        let axis = self.int32_constant(&format!("{name}/axis"), &[], vec![axis as i32]);
        let spread = self.spread(input);
        self.operator(
            name,
            OperatorKind::ExpandDims,
            &[input, axis],
            shape,
            spread,
        )
    }

    /// Removes the dimension `axis`, which is 1.
    pub fn squeeze(&mut self, name: &str, input: TensorIdx, axis: usize) -> TensorIdx {
        let mut shape = self.shape(input).to_vec();
        assert_eq!(shape.remove(axis), 1, "{name}: only a dimension of 1 goes");
        let kind = OperatorKind::Squeeze { axis: axis as i32 };
        self.operator(name, kind, &[input], shape, self.spread(input))
    }

    /// Adds SLICE.
    pub fn slice(
        &mut self,
        name: &str,
        input: TensorIdx,
        begin: &[i32],
        size: &[i32],
    ) -> TensorIdx {
        let rank = [begin.len() as i32];
        let begin = self.int32_constant(&format!("{name}/begin"), &rank, begin.to_vec());
        let sizes = self.int32_constant(&format!("{name}/size"), &rank, size.to_vec());
        let inputs = [input, begin, sizes];
        let spread = self.spread(input);
        self.operator(name, OperatorKind::Slice, &inputs, size.to_vec(), spread)
    }

    /// Adds TILE with one multiple for each axis.
    pub fn tile(&mut self, name: &str, input: TensorIdx, multiples: &[i32]) -> TensorIdx {
        let dims = self.shape(input).iter().zip(multiples);
        let shape = dims.map(|(dim, multiple)| dim * multiple).collect();
        let n = [multiples.len() as i32];
        let multiples = self.int32_constant(&format!("{name}/multiples"), &n, multiples.to_vec());
        let spread = self.spread(input);
        self.operator(name, OperatorKind::Tile, &[input, multiples], shape, spread)
    }

    /// Adds REVERSE_V2 along one axis.
    pub fn reverse(&mut self, name: &str, input: TensorIdx, axis: usize) -> TensorIdx {
        let axis = self.int32_constant(&format!("{name}/axis"), &[1], vec![axis as i32]);
        let shape = self.shape(input).to_vec();
        let spread = self.spread(input);
        self.operator(name, OperatorKind::ReverseV2, &[input, axis], shape, spread)
    }

    /// `reflect` leaves out the border's own value.
    pub fn mirror_pad(
        &mut self,
        name: &str,
        input: TensorIdx,
        paddings: &[[i32; 2]],
        reflect: bool,
    ) -> TensorIdx {
        let (constant, shape) = self.padded(name, input, paddings);
        let kind = OperatorKind::MirrorPad { reflect };
        self.operator(name, kind, &[input, constant], shape, self.spread(input))
    }

    /// Like [`NetworkBuilder::pad`], with the stored value `stored` instead of zero.
    pub fn pad_v2(
        &mut self,
        name: &str,
        input: TensorIdx,
        paddings: &[[i32; 2]],
        stored: i8,
    ) -> TensorIdx {
        let (constant, shape) = self.padded(name, input, paddings);
        let spread = self.spread(input);
        let content = Content::Int8(vec![stored]);
        let value = self.tensor(&format!("{name}/value"), vec![], ElementType::Int8, content);
        self.set_spread(value, spread);
        let inputs = [input, constant, value];
        self.operator(name, OperatorKind::PadV2, &inputs, shape, spread)
    }

    /// The constant of a padding, and the padded shape.
    fn padded(
        &mut self,
        name: &str,
        input: TensorIdx,
        paddings: &[[i32; 2]],
    ) -> (TensorIdx, Vec<i32>) {
        let sides = self.shape(input).iter().zip(paddings);
        let shape = sides
            .map(|(&side, [before, after])| before + side + after)
            .collect();
        let rank = paddings.len() as i32;
        let name = format!("{name}/paddings");
        let constant = self.int32_constant(&name, &[rank, 2], paddings.concat());
        (constant, shape)
    }

    /// Rows `indices` of dimension `axis`.
    pub fn gather(
        &mut self,
        name: &str,
        input: TensorIdx,
        axis: usize,
        indices: &[i32],
    ) -> TensorIdx {
        let mut shape = self.shape(input).to_vec();
        shape[axis] = indices.len() as i32;
        let n = [indices.len() as i32];
        let indices = self.int32_constant(&format!("{name}/indices"), &n, indices.to_vec());
        let kind = OperatorKind::Gather { axis: axis as i32 };
        self.operator(name, kind, &[input, indices], shape, self.spread(input))
    }

    /// The inputs in the scale of the first. An input without readers whose producer may write any scale gets this
    /// scale; the others are converted by QUANTIZE.
    pub(super) fn requantized_to_one_scale(
        &mut self,
        name: &str,
        inputs: &[TensorIdx],
    ) -> Vec<TensorIdx> {
        let spread = self.spread(inputs[0]);
        let mut unified = Vec::new();
        for (idx, &input) in inputs.iter().enumerate() {
            let mut tensor = input;
            if self.spread(input).quantization() != spread.quantization() {
                if self.takes_any_scale(input) && !inputs[..idx].contains(&input) {
                    self.set_spread(input, spread)
                } else {
                    tensor = self.quantize(&format!("{name}/input{idx}"), input, spread)
                }
            }
            unified.push(tensor);
        }
        unified
    }

    fn takes_any_scale(&self, tensor: TensorIdx) -> bool {
        let operators = &self.network.operators;
        if operators
            .iter()
            .any(|operator| operator.inputs.contains(&tensor))
        {
            return false;
        }
        let producer = operators.iter().find(|o| o.outputs.contains(&tensor));
        match producer {
            Some(operator) => operator.kind.writes_any_scale(),
            None => self.network.tensors[tensor].is_constant(),
        }
    }
}
