//! The builder's recurrent operators.

use super::builder::NetworkBuilder;
use super::network::{ABSENT, Content, ElementType, Operator, TensorIdx};
use super::operator_kind::OperatorKind;
use super::quantization::{Spread, channel_scales};

/// Of the cell state, which integer kernels keep in 16 bits and a power of two.
const CELL_SCALE: f64 = 1.0 / 4096.0;

impl NetworkBuilder {
    /// A sequence `[1, steps, features]` through one LSTM: `[1, steps, units]`. Gates are coupled to
    /// nothing else: no peepholes, no projection, no layer norm.
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
            biases.push(self.gate_bias(&format!("{name}/{gate}/bias"), units, scale));
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

    /// Weights whose products with `input` have about the size of a gate's useful range.
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

    fn gate_bias(&mut self, name: &str, units: i32, scale: f64) -> TensorIdx {
        let content = Content::Bias {
            standard_deviation: 0.3 / scale,
        };
        let bias = self.tensor(name, vec![units], ElementType::Int32, content);
        let spread = Spread {
            scale,
            zero_point: 0,
            rms_steps: 0.3 / scale,
        };
        self.set_spread(bias, spread);
        bias
    }

    /// What an operator keeps from one run to the next.
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

    /// Four empty tensors and one that carries the hidden state's scale, as converters write them.
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

    /// The dense layer that made `first`, with the same weights, on another input.
    pub fn fully_connected_again(
        &mut self,
        name: &str,
        input: TensorIdx,
        first: TensorIdx,
    ) -> TensorIdx {
        let operators = &self.network.operators;
        let producer = operators.iter().find(|o| o.outputs == [first]);
        let producer = producer.expect("the layer to repeat exists").clone();
        let input = self.in_one_scale(name, &[producer.inputs[0], input])[1];
        let shape = self.shape(first).to_vec();
        let inputs = [input, producer.inputs[1], producer.inputs[2]];
        self.operator(name, producer.kind, &inputs, shape, self.spread(first))
    }
}
