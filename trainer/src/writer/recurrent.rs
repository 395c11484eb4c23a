//! The builder's recurrent operators.

use litecast::formats::tflite::Activation;

use super::builder::NetworkBuilder;
use super::network::{ABSENT, Content, ElementType, Operator, TensorIdx};
use super::operator_kind::OperatorKind;
use super::quantization::{Spread, channel_scales};
use super::weights::INT16_STEPS;

/// Scale of the cell state, which integer kernels store with 16 bits; it must be a power of two.
const CELL_SCALE: f64 = 1.0 / 4096.0;

impl NetworkBuilder {
    /// A sequence `[1, steps, features]` through one LSTM: `[1, steps, units]`. It has no coupled gates, peepholes,
    /// projection or layer norm.
    pub fn lstm(&mut self, name: &str, input: TensorIdx, units: i32) -> TensorIdx {
        let features = self.channels(input);
        let output = Spread {
            scale: 1.0 / 128.0,
            zero_point: self.random.below(9) as i8 - 4,
            rms_steps: 40.0,
        };
        let gates = ["input", "forget", "cell", "output"];
        let [mut of_input, mut of_state, mut biases] = [vec![], vec![], vec![]];
        for gate in gates {
            let gate = format!("{name}/{gate}");
            let weights = self.gate_weights(&format!("{gate}/weights"), [units, features], input);
            of_input.push(weights);
        }
        for gate in gates {
            let gate = format!("{name}/{gate}/recurrent_weights");
            let scale = 1.0 / (128.0 * 40.0 * f64::from(units).sqrt()) / output.scale;
            of_state.push(self.matrix(&gate, [units, units], scale));
        }
        for (gate, &weights) in gates.iter().zip(&of_input) {
            let scale = self.spread(weights).scale * self.spread(input).scale;
            biases.push(self.bias(&format!("{name}/{gate}/bias"), units, scale, 0.3));
        }
        let state = self.variable(&format!("{name}/state"), units, ElementType::Int8, output);
        let cell = Spread {
            scale: CELL_SCALE,
            zero_point: 0,
            rms_steps: 4096.0,
        };
        let cell = self.variable(&format!("{name}/cell"), units, ElementType::Int16, cell);
        let mut inputs = vec![input];
        inputs.extend(of_input);
        inputs.extend(of_state);
        inputs.extend([ABSENT; 3]);
        inputs.extend(biases);
        inputs.extend([ABSENT, ABSENT, state, cell]);
        inputs.extend([ABSENT; 4]);
        let intermediates = self.lstm_intermediates(name, output);
        let shape = vec![1, self.shape(input)[1], units];
        let sequence = self.activation(name, shape, output);
        self.network.operators.push(Operator {
            kind: OperatorKind::UnidirectionalSequenceLstm,
            inputs,
            outputs: vec![sequence],
            intermediates,
        });
        sequence
    }

    /// One frame `[1, features]` through a filter bank that remembers `memory` frames: `[1, units]`,
    /// rectified. Each unit sums `rank` filters.
    pub fn svdf(
        &mut self,
        name: &str,
        input: TensorIdx,
        [units, rank, memory]: [i32; 3],
    ) -> TensorIdx {
        let n_filters = units * rank;
        let features = self.channels(input);
        let of_frame = self.gate_weights(&format!("{name}/weights"), [n_filters, features], input);
        let state = Spread {
            scale: 1.0 / 4096.0,
            zero_point: 0,
            rms_steps: 4096.0,
        };
        let (output, sigma_steps) = Spread::after_layer(Activation::Relu, &mut self.random);
        let over_time = self.time_weights(
            &format!("{name}/time_weights"),
            [n_filters, memory],
            sigma_steps * output.scale / (state.rms() * f64::from(memory * rank).sqrt()),
        );
        let scale = state.scale * self.spread(over_time).scale;
        let bias = self.bias(&format!("{name}/bias"), units, scale, 0.3 * output.rms());
        let memory_values = memory * n_filters;
        let element = ElementType::Int16;
        let state = self.variable(&format!("{name}/state"), memory_values, element, state);
        let inputs = [input, of_frame, over_time, bias, state];
        let kind = OperatorKind::Svdf { rank };
        self.operator(name, kind, &inputs, vec![1, units], output)
    }

    /// Weights of 16 bits with a root mean square of `rms` in real units.
    fn time_weights(&mut self, name: &str, shape: [i32; 2], rms: f64) -> TensorIdx {
        let drawn = self.layer_distribution();
        let content = Content::Weights(drawn);
        let weights = self.tensor(name, shape.to_vec(), ElementType::Int16, content);
        let rms_steps = INT16_STEPS * drawn.root_mean_square();
        let spread = Spread {
            scale: rms / rms_steps,
            zero_point: 0,
            rms_steps,
        };
        self.set_spread(weights, spread);
        weights
    }

    /// Weights whose products with `input` are in the useful range of a gate.
    fn gate_weights(&mut self, name: &str, shape: [i32; 2], input: TensorIdx) -> TensorIdx {
        let steps = self.spread(input).rms() * f64::from(shape[1]).sqrt();
        self.matrix(name, shape, 1.0 / (40.0 * steps))
    }

    /// Weights of one scale, near `scale` for a root mean square of 40 steps.
    fn matrix(&mut self, name: &str, shape: [i32; 2], scale: f64) -> TensorIdx {
        let drawn = self.layer_distribution();
        let content = Content::Weights(drawn);
        let weights = self.tensor(name, shape.to_vec(), ElementType::Int8, content);
        let rms_steps = drawn.root_mean_square();
        let scale = f64::from(channel_scales(scale * 40.0 / rms_steps, 1, &mut self.random)[0]);
        let spread = Spread {
            scale,
            zero_point: 0,
            rms_steps,
        };
        self.set_spread(weights, spread);
        weights
    }

    /// Values with a root mean square of `rms` in real units.
    fn bias(&mut self, name: &str, units: i32, scale: f64, rms: f64) -> TensorIdx {
        let content = Content::Bias {
            standard_deviation: rms / scale,
        };
        let bias = self.tensor(name, vec![units], ElementType::Int32, content);
        let spread = Spread {
            scale,
            zero_point: 0,
            rms_steps: rms / scale,
        };
        self.set_spread(bias, spread);
        bias
    }

    /// A variable that an operator keeps between inferences.
    fn variable(
        &mut self,
        name: &str,
        units: i32,
        element: ElementType,
        spread: Spread,
    ) -> TensorIdx {
        let variable = self.tensor(name, vec![1, units], element, Content::Variable);
        self.set_spread(variable, spread);
        variable
    }

    /// Four empty tensors and one with the hidden state's scale, as in files of converters.
    fn lstm_intermediates(&mut self, name: &str, hidden: Spread) -> Vec<TensorIdx> {
        let mut intermediates = Vec::new();
        for gate in ["input", "forget", "cell", "output"] {
            let name = format!("{name}/{gate}/intermediate");
            let element = ElementType::Float32;
            intermediates.push(self.tensor(&name, vec![0], element, Content::Activation));
        }
        let name = format!("{name}/hidden/intermediate");
        intermediates.push(self.activation(&name, vec![0], hidden));
        intermediates
    }

    /// The dense layer that wrote `first`, with the same weights, applied to another input.
    pub fn fully_connected_again(
        &mut self,
        name: &str,
        input: TensorIdx,
        first: TensorIdx,
    ) -> TensorIdx {
        let operators = &self.network.operators;
        let producer = operators.iter().find(|o| o.outputs == [first]);
        let producer = producer.expect("the layer to repeat exists").clone();
        let input = self.requantized_to_one_scale(name, &[producer.inputs[0], input])[1];
        let shape = self.shape(first).to_vec();
        let inputs = [input, producer.inputs[1], producer.inputs[2]];
        self.operator(name, producer.kind, &inputs, shape, self.spread(first))
    }
}
