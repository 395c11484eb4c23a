//! The builder's operators that move values and keep their quantisation.

use super::builder::NetworkBuilder;
use super::network::TensorIdx;
use super::operator_kind::OperatorKind;

impl NetworkBuilder {
    /// Adds RESHAPE. `shape` has as many elements as the input.
    pub fn reshape(&mut self, name: &str, input: TensorIdx, shape: &[i32]) -> TensorIdx {
        let count = |dims: &[i32]| dims.iter().product::<i32>();
        assert_eq!(
            count(self.shape(input)),
            count(shape),
            "{name}: a reshape keeps the number of values"
        );
        let target = self.int32_constant(
            &format!("{name}/shape"),
            &[shape.len() as i32],
            shape.to_vec(),
        );
        let kind = OperatorKind::Reshape {
            new_shape: shape.to_vec(),
        };
        self.operator(
            name,
            kind,
            &[input, target],
            shape.to_vec(),
            self.spread(input),
        )
    }

    /// Output dimension `i` is input dimension `permutation[i]`.
    pub fn transpose(&mut self, name: &str, input: TensorIdx, permutation: &[i32]) -> TensorIdx {
        let shape = permutation
            .iter()
            .map(|&idx| self.shape(input)[idx as usize])
            .collect();
        let constant = self.int32_constant(
            &format!("{name}/permutation"),
            &[permutation.len() as i32],
            permutation.to_vec(),
        );
        self.operator(
            name,
            OperatorKind::Transpose,
            &[input, constant],
            shape,
            self.spread(input),
        )
    }

    /// `paddings[i]` are the numbers of zeros before and after dimension `i`.
    pub fn pad(&mut self, name: &str, input: TensorIdx, paddings: &[[i32; 2]]) -> TensorIdx {
        let sides = self.shape(input).iter().zip(paddings);
        let shape = sides
            .map(|(&side, [before, after])| before + side + after)
            .collect();
        let constant = self.int32_constant(
            &format!("{name}/paddings"),
            &[paddings.len() as i32, 2],
            paddings.concat(),
        );
        self.operator(
            name,
            OperatorKind::Pad,
            &[input, constant],
            shape,
            self.spread(input),
        )
    }

    /// Columns `start..start + len` of the last dimension.
    pub fn slice_last(&mut self, name: &str, input: TensorIdx, start: i32, len: i32) -> TensorIdx {
        let mut begin = vec![0; self.shape(input).len()];
        let mut end = self.shape(input).to_vec();
        let last = begin.len() - 1;
        (begin[last], end[last]) = (start, start + len);
        let shape = end
            .iter()
            .zip(&begin)
            .map(|(end, begin)| end - begin)
            .collect();
        self.strided_slice(name, input, [begin, end], 1, 0, shape)
    }

    /// Token 0 of `[1, tokens, features]`, as `[1, features]`.
    pub fn first_token(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let features = self.channels(input);
        let ends = [vec![0, 0, 0], vec![1, 1, features]];
        self.strided_slice(name, input, ends, 1, 0b010, vec![1, features])
    }

    /// `size` values of an image from `begin` on; of height and width every `stride`-th.
    pub fn strided_cut(
        &mut self,
        name: &str,
        input: TensorIdx,
        begin: &[i32],
        size: &[i32],
        stride: i32,
    ) -> TensorIdx {
        let ends = begin.iter().zip(size).map(|(begin, size)| begin + size);
        let ends = [begin.to_vec(), ends.collect()];
        let mut shape = size.to_vec();
        shape[1] = (shape[1] + stride - 1) / stride;
        shape[2] = (shape[2] + stride - 1) / stride;
        self.strided_slice(name, input, ends, stride, 0, shape)
    }

    /// The four phases of every second row and column, concatenated as channels: YOLO's focus layer.
    pub fn focus(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let [_, height, width, channels] = self.image(input);
        let phases = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[row, column]| {
            let name = format!("{name}/phase{row}{column}");
            let size = [1, height - row, width - column, channels];
            self.strided_cut(&name, input, &[0, row, column, 0], &size, 2)
        });
        self.concatenation(name, &phases, 3)
    }

    fn strided_slice(
        &mut self,
        name: &str,
        input: TensorIdx,
        [begin, end]: [Vec<i32>; 2],
        stride: i32,
        shrink_axis_mask: i32,
        shape: Vec<i32>,
    ) -> TensorIdx {
        let rank = [begin.len() as i32];
        let mut strides = vec![1; begin.len()];
        if stride > 1 {
            (strides[1], strides[2]) = (stride, stride);
        }
        let begin = self.int32_constant(&format!("{name}/begin"), &rank, begin);
        let end = self.int32_constant(&format!("{name}/end"), &rank, end);
        let strides = self.int32_constant(&format!("{name}/strides"), &rank, strides);
        let kind = OperatorKind::StridedSlice { shrink_axis_mask };
        self.operator(
            name,
            kind,
            &[input, begin, end, strides],
            shape,
            self.spread(input),
        )
    }

    /// All inputs must have the scale of the first, because concatenation does not rescale.
    pub fn concatenation(&mut self, name: &str, inputs: &[TensorIdx], axis: usize) -> TensorIdx {
        let inputs = self.requantized_to_one_scale(name, inputs);
        let mut shape = self.shape(inputs[0]).to_vec();
        shape[axis] = inputs.iter().map(|&input| self.shape(input)[axis]).sum();
        let kind = OperatorKind::Concatenation { axis: axis as i32 };
        self.operator(name, kind, &inputs, shape, self.spread(inputs[0]))
    }
}
