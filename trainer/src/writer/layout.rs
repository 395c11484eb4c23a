//! The builder's operators that move values and keep their quantisation.

use super::builder::NetworkBuilder;
use super::network::{OperatorKind, TensorIdx};

impl NetworkBuilder {
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

    /// `paddings[i]`: zeros before and after dimension `i`.
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
        self.strided_slice(name, input, begin, end, 0, shape)
    }

    /// Token 0 of `[1, tokens, features]`, as `[1, features]`.
    pub fn first_token(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let features = self.channels(input);
        self.strided_slice(
            name,
            input,
            vec![0, 0, 0],
            vec![1, 1, features],
            0b010,
            vec![1, features],
        )
    }

    fn strided_slice(
        &mut self,
        name: &str,
        input: TensorIdx,
        begin: Vec<i32>,
        end: Vec<i32>,
        shrink_axis_mask: i32,
        shape: Vec<i32>,
    ) -> TensorIdx {
        let rank = [begin.len() as i32];
        let strides = vec![1; begin.len()];
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

    /// All inputs take the quantisation of the first: concatenation does not rescale.
    pub fn concatenation(&mut self, name: &str, inputs: &[TensorIdx], axis: usize) -> TensorIdx {
        let spread = self.spread(inputs[0]);
        inputs
            .iter()
            .for_each(|&input| self.set_spread(input, spread));
        let mut shape = self.shape(inputs[0]).to_vec();
        shape[axis] = inputs.iter().map(|&input| self.shape(input)[axis]).sum();
        let kind = OperatorKind::Concatenation { axis: axis as i32 };
        self.operator(name, kind, inputs, shape, spread)
    }
}
