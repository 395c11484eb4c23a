//! What kernels of TensorFlow Lite Micro demand of scales and zero points.

use super::kernels::ScaleDemand;
use super::support::{Operands, Refusal};
use crate::formats::tflite::{BuiltinOptions, Quantization, Tensor, TensorType};

/// An input by its number, or the output.
type Place = Option<usize>;

impl Operands<'_> {
    /// The first of a kernel's demands that is not met.
    pub(super) fn scale_refusal(&self, demands: &[ScaleDemand]) -> Option<Refusal> {
        // The file that is written of it has scales that its kernels take.
        if self.model.is_converted {
            return None;
        }
        demands.iter().find_map(|demand| self.unmet_scale(*demand))
    }

    fn unmet_scale(&self, demand: ScaleDemand) -> Option<Refusal> {
        use ScaleDemand as By;
        let output = |is_wrong: bool| is_wrong.then_some(Refusal::OutputQuantization);
        match demand {
            By::Positive => self.wrong(&|_, one| !is_positive(one)),
            By::PositiveInputs => self.wrong(&|place, one| place.is_some() && !is_positive(one)),
            By::PositiveInt8 => {
                self.wrong(&|place, one| place.is_some() && is_int8(one) && !is_positive(one))
            }
            By::FractionInt8 => self.wrong(&|place, one| {
                place.is_some() && is_int8(one) && (!is_positive(one) || scale_of(one).0 >= 1.0)
            }),
            By::NotBelowZero(end) => self.wrong(&|place, one| {
                let (scale, _) = scale_of(one);
                place.is_some_and(|input| input < end) && (scale.is_nan() || scale < 0.0)
            }),
            By::Stated0 => self.wrong(&|place, one| place == Some(0) && stated(one).is_none()),
            By::SymmetricInt16 => self.asymmetric(&|_| true),
            By::SymmetricInt16Inputs => self.asymmetric(&|place| place.is_some()),
            By::Stated => output(self.is_integer_result() && !self.is_stated()?),
            By::BelowOutput => output(self.is_integer_result() && self.is_sum_above_output()?),
            By::HardSwish => {
                let [read, written] = [self.input(0)?, self.output()?].map(|one| scale_of(one).0);
                output(is_int8(self.output()?) && read / 128.0 >= written)
            }
            By::OneOutputScale => {
                let quantization = self.output()?.quantization.as_ref();
                output(quantization.map(|one| one.scale.len()) != Some(1))
            }
            By::Int16Fraction => {
                output(is_int16(self.output()?) && !is_int16_fraction(self.output()?))
            }
            By::Logistic => output(is_int8(self.output()?) && scale_of(self.output()?).1 != -128),
            By::Softmax => self.softmax_refusal(),
            By::LogSoftmax => {
                output(is_int8(self.output()?) && scale_of(self.output()?) != (16.0 / 256.0, 127))
            }
            By::NearOutput => output(self.is_integer_result() && !self.is_near_output()?),
            By::InputAsOutput => output(
                is_int8(self.output()?) && scale_of(self.input(0)?) != scale_of(self.output()?),
            ),
            By::AllAsOutput => self.input_other_than(self.output()?),
            By::AllAsInput => self.input_other_than(self.input(0)?),
            By::FillAsOutput => output(
                is_int8(self.output()?) && scale_of(self.input(2)?) != scale_of(self.output()?),
            ),
            By::SvdfBias => self.svdf_refusal(),
            By::Filter => self.filter_refusal(),
            By::DenseFilter => self.dense_filter_refusal(),
            By::SumsAsBias => self.bias_refusal(),
            By::SymmetricTable => {
                let table = self.input(1)?;
                let is_float = self.output()?.tensor_type == TensorType::Float32;
                let is_wrong = is_float && is_int8(table) && scale_of(table).1 != 0;
                is_wrong.then_some(Refusal::InputQuantization { input: 1 })
            }
        }
    }

    /// The first operand of 8 or 16 bits that `is_wrong`.
    fn wrong(&self, is_wrong: &dyn Fn(Place, &Tensor) -> bool) -> Option<Refusal> {
        let n_inputs = self.operator.inputs.len();
        let inputs = (0..n_inputs).filter_map(|idx| Some((Some(idx), self.input(idx)?)));
        let mut operands = inputs.chain(self.output().map(|output| (None, output)));
        let is_found = |(place, one): &(Place, &Tensor)| {
            (is_int8(one) || is_int16(one)) && is_wrong(*place, one)
        };
        let (place, _) = operands.find(is_found)?;
        Some(place.map_or(Refusal::OutputQuantization, |input| {
            Refusal::InputQuantization { input }
        }))
    }

    fn asymmetric(&self, is_meant: &dyn Fn(Place) -> bool) -> Option<Refusal> {
        let reads_int16 = is_int16(self.input(0)?);
        self.wrong(&|place, one| {
            reads_int16 && is_meant(place) && is_int16(one) && scale_of(one).1 != 0
        })
    }

    /// Whether the output is int8 or int16.
    fn is_integer_result(&self) -> bool {
        self.output()
            .is_some_and(|one| is_int8(one) || is_int16(one))
    }

    /// Sums are shifted left by 20 bits, of int16 by 15, before they are multiplied down to the output's scale.
    fn is_sum_above_output(&self) -> Option<bool> {
        let output = self.output()?;
        let shift = if is_int16(output) { 15 } else { 20 };
        let scale = |input: usize| self.input(input).map(|one| f64::from(scale_of(one).0));
        let scales = (0..self.operator.inputs.len().min(2)).filter_map(scale);
        let largest = scales.fold(0.0, f64::max);
        let stood_for = f64::from(1 << shift) * f64::from(scale_of(output).0);
        Some(2.0 * largest >= stood_for)
    }

    /// Whether input 0, where it is not int16, and the output have a scale.
    fn is_stated(&self) -> Option<bool> {
        let is_read = is_int16(self.input(0)?) || stated(self.input(0)?).is_some();
        Some(is_read && stated(self.output()?).is_some())
    }

    fn is_near_output(&self) -> Option<bool> {
        let [read, written] = [scale_of(self.input(0)?), scale_of(self.output()?)];
        Some((read.0 - written.0).abs() <= 1e-6 && read.1 == written.1)
    }

    /// The first int8 input that has not the scale and zero point of `other`.
    fn input_other_than(&self, other: &Tensor) -> Option<Refusal> {
        if !is_int8(self.output()?) {
            return None;
        }
        let is_other = |input: &usize| {
            let input = self.input(*input);
            input.is_some_and(|one| scale_of(one) != scale_of(other))
        };
        let input = (0..self.operator.inputs.len()).find(is_other)?;
        Some(Refusal::InputQuantization { input })
    }

    fn softmax_refusal(&self) -> Option<Refusal> {
        let [read, written] = [self.input(0)?, self.output()?];
        let (scale, zero_point) = scale_of(written);
        let is_wrong = match (is_int16(read), is_int8(written), is_int16(written)) {
            (true, _, true) => zero_point != 0 || !is_int16_fraction(written),
            (false, true, _) | (false, _, true) if self.is_softmax_below_fixed_point(read) => {
                return Some(Refusal::SoftmaxScale);
            }
            (false, true, _) => zero_point != -128 || scale != 1.0 / 256.0,
            (false, _, true) => is_int8(read) && zero_point != -32_768,
            _ => false,
        };
        is_wrong.then_some(Refusal::OutputQuantization)
    }

    /// Of int8 inputs alone: the kernel's multiplier in units of 2^-26 must be above 1.
    fn is_softmax_below_fixed_point(&self, read: &Tensor) -> bool {
        let beta = match self.operator.options {
            BuiltinOptions::Softmax { beta } => beta,
            _ => 0.0,
        };
        let multiplier = f64::from(beta) * f64::from(scale_of(read).0) * f64::from(1 << 26);
        is_int8(read) && multiplier <= 1.0
    }

    fn svdf_refusal(&self) -> Option<Refusal> {
        let [weights, bias, state] = [2, 3, 4].map(|idx| self.input(idx));
        let bias = bias.filter(|bias| bias.tensor_type == TensorType::Int32)?;
        let sums_scale = scale_of(weights?).0 * scale_of(state?).0;
        let is_near = (scale_of(bias).0 - sums_scale).abs() <= 1e-5;
        let is_wrong = is_int8(self.output()?) && !is_near;
        is_wrong.then_some(Refusal::InputQuantization { input: 3 })
    }

    /// A filter has one scale, or one for each output channel along the axis that has them.
    fn filter_refusal(&self) -> Option<Refusal> {
        let filter = self.input(1)?;
        let channels = self.output()?.shape.last()?;
        let is_wrong = stated(filter).is_none_or(|quantization| {
            let described = usize::try_from(quantization.quantized_dimension).ok();
            let described = described.and_then(|axis| filter.shape.get(axis));
            quantization.scale.len() > 1
                && (!is_for_each(quantization, *channels) || described != Some(channels))
        });
        (self.is_integer_result() && is_wrong).then_some(Refusal::InputQuantization { input: 1 })
    }

    /// The same of a fully connected layer, which may lack a scale; int4 has one for all.
    fn dense_filter_refusal(&self) -> Option<Refusal> {
        let filter = self.input(1)?;
        let channels = *self.output()?.shape.last()?;
        let is_wrong = stated(filter).is_some_and(|quantization| {
            quantization.scale.len() > 1
                && (!is_for_each(quantization, channels) || filter.tensor_type == TensorType::Int4)
        });
        (self.is_integer_result() && is_wrong).then_some(Refusal::InputQuantization { input: 1 })
    }

    fn bias_refusal(&self) -> Option<Refusal> {
        let [weights, bias] = [self.input(1)?, self.input(2)?];
        let is_whole = (weights.quantization.as_ref()).is_none_or(|one| one.scale.len() == 1);
        let sums_scale = scale_of(self.input(0)?).0 * scale_of(weights).0;
        let limit = 0.02 * scale_of(self.output()?).0;
        let is_other = (sums_scale - scale_of(bias).0).abs() > limit;
        let is_wrong = self.is_integer_result() && is_whole && is_other;
        is_wrong.then_some(Refusal::InputQuantization { input: 2 })
    }
}

/// Whether there is a scale for each of `channels`.
fn is_for_each(quantization: &Quantization, channels: i32) -> bool {
    i32::try_from(quantization.scale.len()) == Ok(channels)
}

fn is_int8(tensor: &Tensor) -> bool {
    tensor.tensor_type == TensorType::Int8
}

fn is_int16(tensor: &Tensor) -> bool {
    tensor.tensor_type == TensorType::Int16
}

fn is_positive(tensor: &Tensor) -> bool {
    let (scale, _) = scale_of(tensor);
    scale.is_finite() && scale > 0.0
}

/// Whether the scale is 2^-15, as the kernels compare it.
fn is_int16_fraction(tensor: &Tensor) -> bool {
    (32_768.0 * scale_of(tensor).0 - 1.0).abs() < 0.001
}

/// The first scale and zero point; 0 where there is none.
fn scale_of(tensor: &Tensor) -> (f32, i64) {
    let first = |stated: &Quantization| Some((*stated.scale.first()?, *stated.zero_point.first()?));
    stated(tensor).and_then(first).unwrap_or((0.0, 0))
}

/// The interpreter takes a tensor without scales or without zero points for one that is not quantised.
fn stated(tensor: &Tensor) -> Option<&Quantization> {
    let quantization = tensor.quantization.as_deref();
    quantization.filter(|stated| !stated.scale.is_empty() && !stated.zero_point.is_empty())
}
