//! Operators with a state.

use super::reader::{ParsedOptions, Reader};
use crate::formats::tflite::options::BuiltinOptions;
use crate::formats::tflite::schema::BuiltinOptions as Kind;

/// Operators with a state or a loop over time.
pub(super) fn recurrent(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    Ok(match kind {
        Kind::SVDFOptions => {
            operator
                .builtin_options_as_svdfoptions()
                .map(|o| BuiltinOptions::Svdf {
                    rank: o.rank(),
                    activation: reader.activation(o.fused_activation_function()),
                })
        }
        Kind::RNNOptions => operator
            .builtin_options_as_rnnoptions()
            .map(|o| BuiltinOptions::Rnn {
                activation: reader.activation(o.fused_activation_function()),
            }),
        Kind::SequenceRNNOptions => {
            operator
                .builtin_options_as_sequence_rnnoptions()
                .map(|o| BuiltinOptions::SequenceRnn {
                    time_major: o.time_major(),
                    activation: reader.activation(o.fused_activation_function()),
                })
        }
        Kind::BidirectionalSequenceRNNOptions => operator
            .builtin_options_as_bidirectional_sequence_rnnoptions()
            .map(|o| BuiltinOptions::BidirectionalSequenceRnn {
                time_major: o.time_major(),
                merge_outputs: o.merge_outputs(),
                activation: reader.activation(o.fused_activation_function()),
            }),
        Kind::LSTMOptions => reader.lstm()?,
        Kind::UnidirectionalSequenceLSTMOptions => operator
            .builtin_options_as_unidirectional_sequence_lstmoptions()
            .map(|o| BuiltinOptions::UnidirectionalSequenceLstm {
                time_major: o.time_major(),
                diagonal_recurrent_tensors: o.diagonal_recurrent_tensors(),
                cell_clip: o.cell_clip(),
                proj_clip: o.proj_clip(),
                activation: reader.activation(o.fused_activation_function()),
            }),
        Kind::BidirectionalSequenceLSTMOptions => operator
            .builtin_options_as_bidirectional_sequence_lstmoptions()
            .map(|o| BuiltinOptions::BidirectionalSequenceLstm {
                time_major: o.time_major(),
                merge_outputs: o.merge_outputs(),
                cell_clip: o.cell_clip(),
                proj_clip: o.proj_clip(),
                activation: reader.activation(o.fused_activation_function()),
            }),
        _ => None,
    })
}

impl Reader<'_, '_> {
    fn lstm(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_lstmoptions() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::Lstm {
            kernel_type: self.lstm_kernel_type(o.kernel_type())?,
            cell_clip: o.cell_clip(),
            proj_clip: o.proj_clip(),
            activation: self.activation(o.fused_activation_function()),
        }))
    }
}
