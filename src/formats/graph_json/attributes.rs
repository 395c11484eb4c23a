//! Attributes of an operator → the options and constants that represent them in TFLite.

use std::collections::BTreeMap;

use super::document::{Attribute, Text};
use super::error::ParseError;
use super::error::Place;
use crate::formats::tflite::op_row::ShapeRule;
use crate::formats::tflite::{
    Activation, BuiltinOptions, MirrorPadMode, OpKind, Padding, TensorType,
};

/// The attributes of one operator, taken one by one. An attribute that remains at the end does not belong to this kind
/// of operator.
pub(super) struct Attributes<'d> {
    place: Place<'d>,
    left: BTreeMap<Text<'d>, Attribute>,
    kind: OpKind,
}

type Read<T> = Result<T, ParseError>;

/// Attributes that TFLite has as a constant input: the rule of the operator's shapes, the attribute's name, and the place of the
/// input. A file may have the constant among its tensors instead.
const LISTS: &[(ShapeRule, &str, usize)] = &[
    (ShapeRule::Reshape, "shape", 1),
    (ShapeRule::Transpose, "perm", 1),
    (ShapeRule::Pad, "paddings", 1),
    (ShapeRule::Reduce, "axes", 1),
    (ShapeRule::ExpandDims, "axis", 1),
    (ShapeRule::Best, "axis", 1),
    (ShapeRule::Tile, "multiples", 1),
    (ShapeRule::BroadcastTo, "shape", 1),
    (ShapeRule::Resize, "size", 1),
    (ShapeRule::Slice, "begin", 1),
    (ShapeRule::Slice, "size", 2),
    (ShapeRule::StridedSlice, "begin", 1),
    (ShapeRule::StridedSlice, "end", 2),
    (ShapeRule::StridedSlice, "strides", 3),
    (ShapeRule::Split, "axis", 0),
    (ShapeRule::SplitBySizes, "size_splits", 1),
    (ShapeRule::SplitBySizes, "axis", 2),
    (ShapeRule::AlongAxes, "axis", 1),
];

impl<'d> Attributes<'d> {
    pub fn new(place: Place<'d>, kind: OpKind, all: BTreeMap<Text<'d>, Attribute>) -> Self {
        Self {
            place,
            left: all,
            kind,
        }
    }

    /// Lists that become constant inputs, each with its place among the inputs.
    pub fn lists(&mut self) -> Read<Vec<(&'static str, usize, Vec<i32>)>> {
        let mut lists = Vec::new();
        for &(rule, name, position) in LISTS {
            if rule == self.kind.row().shape
                && let Some(values) = self.integers(name)?
            {
                lists.push((name, position, values));
            }
        }
        Ok(lists)
    }

    /// Fails if an attribute was not taken.
    pub fn finish(self) -> Read<()> {
        match self.left.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(ParseError::UnknownAttribute {
                place: self.place.to_string(),
                name: crate::formats::shown(&name),
            }),
        }
    }

    fn invalid(&self, name: &str, expected: &'static str, found: &Attribute) -> ParseError {
        ParseError::InvalidValue {
            place: format!("{}, `{name}`", self.place),
            expected,
            found: found.to_string(),
        }
    }

    fn take(&mut self, name: &str) -> Option<Attribute> {
        self.left
            .remove(name)
            .filter(|value| *value != Attribute::Absent)
    }

    fn integers(&mut self, name: &str) -> Read<Option<Vec<i32>>> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let wide = match &value {
            Attribute::Integer(value) => vec![*value],
            Attribute::Integers(values) => values.clone(),
            _ => return Err(self.invalid(name, "a list of whole numbers", &value)),
        };
        let narrow: Result<Vec<i32>, _> = wide.into_iter().map(i32::try_from).collect();
        match narrow {
            Ok(values) => Ok(Some(values)),
            Err(_) => Err(self.invalid(name, "numbers of 32 bits", &value)),
        }
    }

    fn integer(&mut self, name: &str, default: i32) -> Read<i32> {
        match self.integers(name)?.as_deref() {
            None => Ok(default),
            Some(&[value]) => Ok(value),
            Some(values) => {
                let attribute =
                    Attribute::Integers(values.iter().map(|&value| value.into()).collect());
                Err(self.invalid(name, "one whole number", &attribute))
            }
        }
    }

    /// One number of at least 1 for each dimension; a single number applies to all of them.
    fn sides<const N: usize>(&mut self, name: &str) -> Read<[i32; N]> {
        let values = self.integers(name)?.unwrap_or_else(|| vec![1]);
        let sides = match values.as_slice() {
            &[one] => Some([one; N]),
            several => several.try_into().ok(),
        };
        match sides.filter(|sides| sides.iter().all(|&side| side >= 1)) {
            Some(sides) => Ok(sides),
            None => {
                let attribute =
                    Attribute::Integers(values.iter().map(|&value| value.into()).collect());
                Err(self.invalid(name, "a number from 1 on for each dimension", &attribute))
            }
        }
    }

    fn number(&mut self, name: &str, default: f32) -> Read<f32> {
        #[allow(clippy::as_conversions)]
        match self.take(name) {
            None => Ok(default),
            Some(Attribute::Integer(value)) => Ok(value as f32),
            Some(Attribute::Number(value)) => Ok(value as f32),
            Some(other) => Err(self.invalid(name, "a number", &other)),
        }
    }

    fn flag(&mut self, name: &str) -> Read<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Attribute::Flag(value)) => Ok(value),
            Some(other) => Err(self.invalid(name, "true or false", &other)),
        }
    }

    /// One of a few words.
    fn word<T: Copy>(
        &mut self,
        name: &str,
        default: T,
        words: &[(&str, T)],
        expected: &'static str,
    ) -> Read<T> {
        let Some(value) = self.take(name) else {
            return Ok(default);
        };
        let known = match &value {
            Attribute::Text(text) => words.iter().find(|(word, _)| text == word),
            _ => None,
        };
        known
            .map(|(_, value)| *value)
            .ok_or_else(|| self.invalid(name, expected, &value))
    }

    fn padding(&mut self) -> Read<Padding> {
        let words = [("SAME", Padding::Same), ("VALID", Padding::Valid)];
        self.word("padding", Padding::Valid, &words, "SAME or VALID")
    }

    fn activation(&mut self) -> Read<Activation> {
        use Activation::*;
        let words = [
            ("NONE", None),
            ("RELU", Relu),
            ("RELU_N1_TO_1", ReluN1To1),
            ("RELU6", Relu6),
            ("TANH", Tanh),
            ("SIGN_BIT", SignBit),
        ];
        let expected = "NONE, RELU, RELU_N1_TO_1, RELU6, TANH or SIGN_BIT";
        self.word("activation", None, &words, expected)
    }

    fn tensor_type(&mut self, name: &str, default: TensorType) -> Read<TensorType> {
        match self.take(name) {
            None => Ok(default),
            Some(Attribute::Text(text)) if TensorType::from_name(&text).is_some() => {
                Ok(TensorType::from_name(&text).unwrap_or(default))
            }
            Some(other) => Err(self.invalid(name, "the name of a type", &other)),
        }
    }

    /// Options of the operator, which writes `n_outputs` tensors from `n_inputs`.
    pub fn options(&mut self, n_inputs: usize, n_outputs: usize) -> Read<BuiltinOptions> {
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        Ok(match self.kind {
            OpKind::Conv2d
            | OpKind::DepthwiseConv2d
            | OpKind::TransposeConv
            | OpKind::Conv3d
            | OpKind::Conv3dTranspose => self.convolution()?,
            kind if kind.row().shape == ShapeRule::Pool => self.pool()?,
            OpKind::FullyConnected => BuiltinOptions::FullyConnected {
                has_unknown_weights: false,
                keep_num_dims: self.flag("keep_num_dims")?,
                activation: self.activation()?,
            },
            OpKind::BatchMatmul => BuiltinOptions::BatchMatMul {
                adj_x: self.flag("adj_x")?,
                adj_y: self.flag("adj_y")?,
            },
            OpKind::Add => BuiltinOptions::Add {
                activation: self.activation()?,
            },
            OpKind::Sub => BuiltinOptions::Sub {
                activation: self.activation()?,
            },
            OpKind::Mul => BuiltinOptions::Mul {
                activation: self.activation()?,
            },
            OpKind::Div => BuiltinOptions::Div {
                activation: self.activation()?,
            },
            OpKind::Softmax => BuiltinOptions::Softmax {
                beta: self.number("beta", 1.0)?,
            },
            OpKind::LeakyRelu => BuiltinOptions::LeakyRelu {
                alpha: self.number("alpha", 0.01)?,
            },
            OpKind::Gelu => BuiltinOptions::Gelu {
                approximate: self.flag("approximate")?,
            },
            OpKind::Concatenation => BuiltinOptions::Concatenation {
                axis: self.integer("axis", 0)?,
                activation: self.activation()?,
            },
            OpKind::Split => BuiltinOptions::Split {
                num_splits: count(n_outputs),
            },
            OpKind::SplitV => BuiltinOptions::SplitV {
                num_splits: count(n_outputs),
            },
            OpKind::Pack => BuiltinOptions::Pack {
                values_count: count(n_inputs),
                axis: self.integer("axis", 0)?,
            },
            OpKind::Unpack => BuiltinOptions::Unpack {
                num: count(n_outputs),
                axis: self.integer("axis", 0)?,
            },
            OpKind::Gather => BuiltinOptions::Gather {
                axis: self.integer("axis", 0)?,
                batch_dims: self.integer("batch_dims", 0)?,
            },
            OpKind::Squeeze => BuiltinOptions::Squeeze {
                squeeze_dims: self.integers("squeeze_dims")?.unwrap_or_default(),
            },
            OpKind::StridedSlice => BuiltinOptions::StridedSlice {
                begin_mask: self.integer("begin_mask", 0)?,
                end_mask: self.integer("end_mask", 0)?,
                ellipsis_mask: self.integer("ellipsis_mask", 0)?,
                new_axis_mask: self.integer("new_axis_mask", 0)?,
                shrink_axis_mask: self.integer("shrink_axis_mask", 0)?,
                offset: self.flag("offset")?,
            },
            kind if kind.row().shape == ShapeRule::Reduce => BuiltinOptions::Reducer {
                keep_dims: self.flag("keep_dims")?,
            },
            OpKind::ArgMax => BuiltinOptions::ArgMax {
                output_type: self.tensor_type("output_type", TensorType::Int64)?,
            },
            OpKind::ArgMin => BuiltinOptions::ArgMin {
                output_type: self.tensor_type("output_type", TensorType::Int64)?,
            },
            OpKind::Shape => BuiltinOptions::Shape {
                out_type: self.tensor_type("out_type", TensorType::Int32)?,
            },
            OpKind::Cast => BuiltinOptions::Cast {
                in_data_type: self.tensor_type("in_data_type", TensorType::Float32)?,
                out_data_type: self.tensor_type("out_data_type", TensorType::Float32)?,
            },
            OpKind::OneHot => BuiltinOptions::OneHot {
                axis: self.integer("axis", -1)?,
            },
            OpKind::Cumsum => BuiltinOptions::Cumsum {
                exclusive: self.flag("exclusive")?,
                reverse: self.flag("reverse")?,
            },
            OpKind::L2Normalization => BuiltinOptions::L2Norm {
                activation: self.activation()?,
            },
            OpKind::MirrorPad => {
                let words = [
                    ("REFLECT", MirrorPadMode::Reflect),
                    ("SYMMETRIC", MirrorPadMode::Symmetric),
                ];
                BuiltinOptions::MirrorPad {
                    mode: self.word(
                        "mode",
                        MirrorPadMode::Reflect,
                        &words,
                        "REFLECT or SYMMETRIC",
                    )?,
                }
            }
            OpKind::SpaceToDepth => BuiltinOptions::SpaceToDepth {
                block_size: self.sides::<1>("block_size")?[0],
            },
            OpKind::DepthToSpace => BuiltinOptions::DepthToSpace {
                block_size: self.sides::<1>("block_size")?[0],
            },
            OpKind::ResizeBilinear => BuiltinOptions::ResizeBilinear {
                align_corners: self.flag("align_corners")?,
                half_pixel_centers: self.flag("half_pixel_centers")?,
            },
            OpKind::ResizeNearestNeighbor => BuiltinOptions::ResizeNearestNeighbor {
                align_corners: self.flag("align_corners")?,
                half_pixel_centers: self.flag("half_pixel_centers")?,
            },
            OpKind::UnidirectionalSequenceLstm => BuiltinOptions::UnidirectionalSequenceLstm {
                time_major: self.flag("time_major")?,
                diagonal_recurrent_tensors: false,
                cell_clip: self.number("cell_clip", 0.0)?,
                proj_clip: self.number("proj_clip", 0.0)?,
                activation: self.activation()?,
            },
            OpKind::Svdf => BuiltinOptions::Svdf {
                rank: self.integer("rank", 1)?,
                activation: self.activation()?,
            },
            _ => BuiltinOptions::Absent,
        })
    }

    fn convolution(&mut self) -> Read<BuiltinOptions> {
        let padding = self.padding()?;
        let activation = self.activation()?;
        if matches!(self.kind, OpKind::Conv3d | OpKind::Conv3dTranspose) {
            let [stride_d, stride_h, stride_w] = self.sides("stride")?;
            let [dilation_d, dilation_h, dilation_w] = self.sides("dilation")?;
            return Ok(BuiltinOptions::Conv3D {
                padding,
                stride_d,
                stride_h,
                stride_w,
                dilation_d,
                dilation_h,
                dilation_w,
                activation,
            });
        }
        let [stride_h, stride_w] = self.sides("stride")?;
        if self.kind == OpKind::TransposeConv {
            return Ok(BuiltinOptions::TransposeConv {
                padding,
                stride_h,
                stride_w,
                activation,
            });
        }
        let [dilation_h, dilation_w] = self.sides("dilation")?;
        Ok(match self.kind {
            OpKind::Conv2d => BuiltinOptions::Conv2D {
                padding,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
                activation,
            },
            _ => BuiltinOptions::DepthwiseConv2D {
                padding,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
                depth_multiplier: self.integer("depth_multiplier", 1)?,
                activation,
            },
        })
    }

    fn pool(&mut self) -> Read<BuiltinOptions> {
        let [filter_h, filter_w] = self.sides("filter")?;
        let [stride_h, stride_w] = self.sides("stride")?;
        Ok(BuiltinOptions::Pool2D {
            padding: self.padding()?,
            stride_h,
            stride_w,
            filter_h,
            filter_w,
            activation: self.activation()?,
        })
    }
}
