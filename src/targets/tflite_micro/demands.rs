//! What kernels of TensorFlow Lite Micro demand of options, shapes and constants.

use super::custom_options::number;
use super::kernels::{ANY, Demand};
use super::support::{Operands, Refusal};
use crate::formats::tflite::{
    Activation, BuiltinOptions, CustomOptions, Tensor, TensorType, dimension, integers,
};

/// The inputs of an LSTM that are biases of its gates.
const FIRST_GATE_BIAS: usize = 12;
const N_GATES: usize = 4;

impl Operands<'_> {
    /// The first of a kernel's demands that is not met.
    pub(super) fn demand_refusal(&self, demands: &[Demand]) -> Option<Refusal> {
        demands.iter().find_map(|demand| self.unmet(*demand))
    }

    /// Nothing where an operand is absent that the demand is about: another check refuses that.
    fn unmet(&self, demand: Demand) -> Option<Refusal> {
        match demand {
            Demand::AnyOptional | Demand::Optional(_) => None,
            Demand::Without(inputs) => {
                let is_given = |input: &&usize| self.input(**input).is_some();
                let input = *inputs.iter().find(is_given)?;
                Some(Refusal::OptionalInput { input })
            }
            // The limit of all numbers stands beside it.
            Demand::MinDimensions(_) => None,
            Demand::MaxFloatDimensions(max) => {
                let is_float = self.input(0)?.tensor_type.is_float();
                let mut inputs = 0..self.operator.inputs.len();
                inputs.find_map(|input| self.dimensions_outside(input, 0, max).filter(|_| is_float))
            }
            Demand::RankOf { input, rank } => self.dimensions_outside(input, rank, rank),
            Demand::RankAboveOutput => {
                let rank = self.output()?.shape.len() + 1;
                self.dimensions_outside(0, rank, rank)
            }
            Demand::KnownWeights => {
                let is_unknown = matches!(
                    self.operator.options,
                    BuiltinOptions::FullyConnected {
                        has_unknown_weights: true,
                        ..
                    }
                );
                is_unknown.then_some(Refusal::WeightsFormat)
            }
            Demand::KnownTypes => self.type_option_refusal(),
            Demand::Paddings => self.paddings_refusal(),
            Demand::OneValue => self.count_other(0, 1),
            Demand::TwoSizes => self.count_other(1, 2),
            Demand::CentredOrAligned => self.is_centred_and_aligned(),
            Demand::AxisOption => {
                let axis = self.axis_option()?;
                let rank = self.input(0)?.shape.len();
                (dimension(axis, rank).is_none()).then_some(Refusal::Axis(axis))
            }
            Demand::BatchDims => self.batch_dims_refusal(),
            Demand::ShapedAsOutput => self.shape_other_than_output(1),
            Demand::AllShapedAsOutput => self.shape_other_than_output(self.operator.inputs.len()),
            Demand::NoActivation => self.activation_refusal(),
            Demand::WholeSlice => self.slice_refusal(),
            Demand::AxesOfFloats => {
                let is_float = self.input(0)?.tensor_type.is_float();
                is_float.then(|| self.axis_outside())?
            }
            Demand::Axis => self.axis_outside(),
            Demand::FewAxes => {
                let rank = self.input(0)?.shape.len() as u64;
                let n_axes = self.input(1)?.element_count();
                let is_many = n_axes.is_none_or(|n_axes| n_axes > rank);
                is_many.then_some(Refusal::InputShape { input: 1 })
            }
            Demand::AdjacentAxes => self.axis_outside().or_else(|| self.axes_apart()),
            Demand::Permutation => {
                let rank = i32::try_from(self.input(0)?.shape.len()).ok()?;
                self.outside(1, &|_| Some(rank))
            }
            Demand::IndicesOfAxis => {
                let shape = &self.input(0)?.shape;
                let size = *shape.get(dimension(self.axis_option()?, shape.len())?)?;
                self.outside(1, &|_| Some(size))
            }
            Demand::IndexRows => {
                let shape = &self.input(0)?.shape;
                let n_named = usize::try_from(*self.input(1)?.shape.last()?).ok()?;
                self.outside(1, &|place| shape.get(place.checked_rem(n_named)?).copied())
            }
            Demand::Rows => {
                let n_rows = self.input(1)?.shape.first().copied();
                (self.dimensions_outside(1, 2, ANY)).or_else(|| self.outside(0, &|_| n_rows))
            }
            Demand::ScalarValue => self.dimensions_outside(1, 0, 0),
            Demand::Options => self.custom_options().err(),
            Demand::Counts(names) => self.count_refusal_of(names),
            Demand::DetectionOptions => self.detection_refusal(),
            Demand::GateBiases => {
                let n_cells = self.input(2)?.shape.first();
                let is_other = |&input: &usize| {
                    let bias = self.input(input);
                    bias.is_some_and(|bias| bias.shape.len() != 1 || bias.shape.first() != n_cells)
                };
                let input = (FIRST_GATE_BIAS..FIRST_GATE_BIAS + N_GATES).find(is_other)?;
                Some(Refusal::InputShape { input })
            }
            Demand::Frames => self.frame_refusal(),
            Demand::TransformOfType => self.transform_refusal(),
            Demand::WithinTransform => {
                let length = f64::from(*self.input(0)?.shape.last()?);
                let found = number(self.custom_options().ok()??, "fft_length")?;
                (found < length).then_some(Refusal::option("fft_length", found))
            }
        }
    }

    /// Input 0 has fewer or more dimensions than the kernel runs.
    pub(super) fn dimensions_refusal(&self, demands: &[Demand], max: usize) -> Option<Refusal> {
        let min = demands.iter().find_map(|demand| match demand {
            Demand::MinDimensions(min) => Some(*min),
            _ => None,
        });
        self.dimensions_outside(0, min.unwrap_or(0), max)
    }

    /// An input without a tensor, where the kernel does not ask whether there is one.
    pub(super) fn absent_input(&self, demands: &[Demand]) -> Option<Refusal> {
        let is_optional = |input: usize| {
            demands.iter().any(|demand| match demand {
                Demand::AnyOptional => true,
                Demand::Optional(inputs) | Demand::Without(inputs) => inputs.contains(&input),
                _ => false,
            })
        };
        let mut inputs = self.operator.inputs.iter().enumerate();
        let (input, _) = inputs.find(|(input, one)| one.is_none() && !is_optional(*input))?;
        Some(Refusal::AbsentInput { input })
    }

    /// Those of a file; `None` of a graph without options.
    fn custom_options(&self) -> Result<Option<&CustomOptions>, Refusal> {
        match &self.operator.options {
            BuiltinOptions::Custom(options) => Ok(Some(options)),
            BuiltinOptions::Foreign(_) => Ok(None),
            _ => Err(Refusal::NoOptions),
        }
    }

    /// An option that is absent or no number, or that `is_taken` does not hold of.
    fn option_refusal(
        &self,
        name: &'static str,
        is_taken: impl FnOnce(f64) -> bool,
    ) -> Option<Refusal> {
        let options = match self.custom_options() {
            Ok(options) => options?,
            Err(refusal) => return Some(refusal),
        };
        match number(options, name) {
            Some(found) => (!is_taken(found)).then_some(Refusal::option(name, found)),
            None => Some(Refusal::Option { name, found: None }),
        }
    }

    fn count_refusal_of(&self, names: &[&'static str]) -> Option<Refusal> {
        let mut names = names.iter();
        names.find_map(|name| self.option_refusal(name, |found| found > -1.0))
    }

    fn detection_refusal(&self) -> Option<Refusal> {
        let n_boxes = self.input(0)?.shape.get(1);
        if self.input(1)?.shape.get(1) != n_boxes {
            return Some(Refusal::InputShape { input: 1 });
        }
        let n_scores = f64::from(*self.input(1)?.shape.get(2)?);
        let is_threshold = |found: f64| found > 0.0 && found <= 1.0;
        let options = match self.custom_options() {
            Ok(options) => options?,
            Err(refusal) => return Some(refusal),
        };
        let is_regular = number(options, "use_regular_nms").is_some_and(|is| is != 0.0);
        let per_class = number(options, "detections_per_class").filter(|_| is_regular);
        (self.option_refusal("num_classes", |n| {
            [n.trunc(), n.trunc() + 1.0].contains(&n_scores)
        }))
        .or_else(|| self.option_refusal("max_classes_per_detection", |n| n >= 1.0))
        .or_else(|| self.option_refusal("nms_iou_threshold", is_threshold))
        .or_else(|| {
            // Neither need be there.
            let n_detections = number(options, "max_detections").filter(|n| *n <= -1.0);
            let n_per_class = per_class.filter(|n| *n < 1.0);
            let of_one = |name, found: Option<f64>| Some(Refusal::option(name, found?));
            of_one("max_detections", n_detections)
                .or_else(|| of_one("detections_per_class", n_per_class))
        })
    }

    fn type_option_refusal(&self) -> Option<Refusal> {
        let names = match self.operator.options {
            BuiltinOptions::Cast {
                in_data_type,
                out_data_type,
            } => [
                ("in_data_type", in_data_type),
                ("out_data_type", out_data_type),
            ],
            BuiltinOptions::Shape { out_type } => [("out_type", out_type); 2],
            _ => return None,
        };
        names.into_iter().find_map(|(name, named)| match named {
            TensorType::Unknown(number) => Some(Refusal::option(name, number.into())),
            _ => None,
        })
    }

    fn frame_refusal(&self) -> Option<Refusal> {
        let length = f64::from(*self.input(0)?.shape.last()?);
        let is_step = |step: f64| step >= 1.0 && step <= length && length % step == 0.0;
        self.option_refusal("frame_step", is_step).or_else(|| {
            let step = number(self.custom_options().ok()??, "frame_step")?;
            self.option_refusal("frame_size", |size| size >= step)
        })
    }

    fn transform_refusal(&self) -> Option<Refusal> {
        let of_type = match self.input(0)?.tensor_type {
            TensorType::Float32 => 0.0,
            TensorType::Int32 => 2.0,
            _ => 7.0,
        };
        self.option_refusal("T", |found| found == of_type)
            .or_else(|| self.option_refusal("fft_length", is_transform))
    }

    fn dimensions_outside(&self, input: usize, min: usize, max: usize) -> Option<Refusal> {
        let found = self.input(input)?.shape.len();
        let refusal = Refusal::Dimensions {
            input,
            found,
            min,
            max,
        };
        (!(min..=max).contains(&found)).then_some(refusal)
    }

    fn count_other(&self, input: usize, n_values: u64) -> Option<Refusal> {
        let found = self.input(input)?.element_count();
        (found != Some(n_values)).then_some(Refusal::InputShape { input })
    }

    fn axis_option(&self) -> Option<i32> {
        match self.operator.options {
            BuiltinOptions::Gather { axis, .. } | BuiltinOptions::Unpack { axis, .. } => Some(axis),
            _ => None,
        }
    }

    fn is_centred_and_aligned(&self) -> Option<Refusal> {
        let is_both = matches!(
            self.operator.options,
            BuiltinOptions::ResizeBilinear {
                align_corners: true,
                half_pixel_centers: true,
            }
        );
        is_both.then_some(Refusal::CentersAndCorners)
    }

    fn batch_dims_refusal(&self) -> Option<Refusal> {
        let BuiltinOptions::Gather { axis, batch_dims } = self.operator.options else {
            return None;
        };
        let from_front =
            |place: i32, input: usize| dimension(place, self.input(input)?.shape.len());
        let n_shared = match batch_dims {
            0.. => usize::try_from(batch_dims).ok(),
            _ => from_front(batch_dims, 1),
        };
        let is_above = n_shared.is_none_or(|n| from_front(axis, 0).is_some_and(|axis| n > axis));
        is_above.then_some(Refusal::BatchDims { batch_dims, axis })
    }

    fn shape_other_than_output(&self, n_inputs: usize) -> Option<Refusal> {
        let shape = &self.output()?.shape;
        let is_other = |input: &usize| self.input(*input).is_some_and(|one| one.shape != *shape);
        let input = (0..n_inputs).find(is_other)?;
        Some(Refusal::InputShape { input })
    }

    fn paddings_refusal(&self) -> Option<Refusal> {
        let rank = self.input(0)?.shape.len();
        let fill = self.input(2).and_then(Tensor::element_count);
        let is_fill_other = fill.is_some_and(|n_values| n_values != 1);
        self.count_other(1, 2 * rank as u64)
            .or_else(|| is_fill_other.then_some(Refusal::InputShape { input: 2 }))
    }

    fn activation_refusal(&self) -> Option<Refusal> {
        let activation = self.operator.options.activation()?;
        (activation != Activation::None).then_some(Refusal::FusedActivation(activation))
    }

    fn slice_refusal(&self) -> Option<Refusal> {
        let BuiltinOptions::StridedSlice {
            new_axis_mask,
            ellipsis_mask,
            offset,
            ..
        } = self.operator.options
        else {
            return None;
        };
        let n_named = self.input(1).and_then(Tensor::element_count);
        let n_dimensions = self.input(0).map(|input| input.shape.len() as u64);
        if new_axis_mask != 0 || ellipsis_mask != 0 || n_named != n_dimensions {
            return Some(Refusal::SliceMasks {
                new_axis_mask,
                ellipsis_mask,
                n_named: n_named.unwrap_or(0),
                n_dimensions: n_dimensions.unwrap_or(0),
            });
        }
        offset.then_some(Refusal::SliceOffset)
    }

    /// A constant of input 1 that is no axis of input 0.
    fn axis_outside(&self) -> Option<Refusal> {
        let rank = self.input(0)?.shape.len();
        let is_outside = |axis: &i32| dimension(*axis, rank).is_none();
        let found = self.constants(1)?.find(is_outside)?;
        Some(Refusal::OutOfRange { input: 1, found })
    }

    fn axes_apart(&self) -> Option<Refusal> {
        let rank = self.input(0)?.shape.len();
        let mut axes: Vec<usize> = self
            .constants(1)?
            .filter_map(|axis| dimension(axis, rank))
            .collect();
        axes.sort_unstable();
        let are_apart = axes.windows(2).any(|pair| pair[0] + 1 != pair[1]);
        are_apart.then_some(Refusal::AxesApart)
    }

    /// A constant of an input that is below 0, or not below the size that its place has.
    fn outside(&self, input: usize, size: &dyn Fn(usize) -> Option<i32>) -> Option<Refusal> {
        let is_outside =
            |&(place, found): &(usize, i32)| size(place).is_some_and(|n| !(0..n).contains(&found));
        let (_, found) = self.constants(input)?.enumerate().find(is_outside)?;
        Some(Refusal::OutOfRange { input, found })
    }

    /// The first 32-bit integers of an input, [`integers`] says how many; none where it is computed.
    fn constants(&self, input: usize) -> Option<impl Iterator<Item = i32>> {
        let buffer = self.model.buffers.get(self.input(input)?.buffer_idx)?;
        Some(integers(buffer.bytes()))
    }
}

/// Whether half of a length is a product of 2, 3 and 5, which the kernels split transforms by without memory of their own.
fn is_transform(length: f64) -> bool {
    let mut rest = length / 2.0;
    for factor in [2.0, 3.0, 5.0] {
        while rest > 1.0 && rest % factor == 0.0 {
            rest /= factor;
        }
    }
    length >= 4.0 && rest == 1.0
}
