//! UNIDIRECTIONAL_SEQUENCE_LSTM. Reproduces `compiler/lstm.cpp` of Vela.

use super::lowering::Lowering;
use crate::formats::tflite::BuiltinOptions;
use crate::targets::ethos_u::program::{Action, Alias, Arithmetic, INT16_BYTES, Operation};

/// Positions of the weights among the operator's inputs, in the order of [`GATES`], and of its states.
const INPUT_WEIGHTS: [usize; 4] = [1, 2, 3, 4];
const STATE_WEIGHTS: [usize; 4] = [5, 6, 7, 8];
const OUTPUT_STATE: usize = 18;
const CELL_STATE: usize = 19;
const INT8_BYTES: i64 = 1;

/// Activation of a gate.
#[derive(Clone, Copy, PartialEq)]
enum Activation {
    Sigmoid,
    Tanh,
}

/// Activations of the input, forget, cell and output gate.
const GATES: [Activation; 4] = [
    Activation::Sigmoid,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Sigmoid,
];

/// Adds the operations of the first time step, and a second step that is repeated for all others. `None` with
/// projections or without states.
pub fn lstm(lowering: &mut Lowering) -> Option<()> {
    let BuiltinOptions::UnidirectionalSequenceLstm {
        time_major,
        cell_clip,
        ..
    } = lowering.operator().options
    else {
        return None;
    };
    let is_clipped = cell_clip > 0.0;
    let input = lowering.input(0)?;
    let shape = &lowering.tensor(input).shape;
    let &[outer, inner, features] = shape.as_slice() else {
        return None;
    };
    let [batches, steps] = if time_major {
        [inner, outer]
    } else {
        [outer, inner]
    };
    // Time-major inputs run a whole batch at a time, others one sequence after the other.
    let (rows, n_sequences) = if time_major {
        (i64::from(batches), 1.0)
    } else {
        (1, f64::from(batches))
    };
    let n_steps = f64::from(steps);
    let features = i64::from(features);
    if n_steps < 1.0 || rows < 1 || n_sequences < 1.0 {
        return None;
    }
    place_states(lowering)?;
    TimeStep {
        lowering,
        rows,
        features,
        repeats: n_sequences,
        copies_states: !time_major,
        is_clipped,
    }
    .push()?;
    if n_steps > 1.0 {
        TimeStep {
            lowering,
            rows,
            features,
            repeats: n_sequences * (n_steps - 1.0),
            copies_states: false,
            is_clipped,
        }
        .push()?;
    }
    Some(())
}

/// Gives the states memory of their own from the first operation on.
fn place_states(lowering: &mut Lowering) -> Option<()> {
    for state in [lowering.input(OUTPUT_STATE)?, lowering.input(CELL_STATE)?] {
        let n_bytes = lowering.tensor(state).byte_len();
        let map = &mut lowering.program.maps[state];
        if let Some(n_bytes) = n_bytes.filter(|_| map.is_variable) {
            map.bytes = (n_bytes as f64).into();
            map.is_input = true;
        }
    }
    Some(())
}

struct TimeStep<'a, 'b> {
    lowering: &'a mut Lowering<'b>,
    rows: i64,
    features: i64,
    repeats: f64,
    /// Whether it begins with a copy of the states of its sequence.
    copies_states: bool,
    /// Whether the file limits the cell state.
    is_clipped: bool,
}

impl TimeStep<'_, '_> {
    fn push(&mut self) -> Option<()> {
        let input = self.lowering.input(0)?;
        let output = self.lowering.output()?;
        let [output_state, cell_state] = [
            self.lowering.input(OUTPUT_STATE)?,
            self.lowering.input(CELL_STATE)?,
        ];
        let units = *self.lowering.tensor(cell_state).shape.last()?;
        let units = i64::from(units);
        let feature = self
            .lowering
            .linear_map([1, self.rows, self.features], INT8_BYTES);
        let slice = self.lowering.operation(Action::Slice, &[input], feature);
        self.push_operation(Operation {
            alias: Alias::View,
            ..slice
        });
        let states = [(output_state, INT8_BYTES), (cell_state, INT16_BYTES)];
        let [state, cell] = states.map(|(_, element_bytes)| self.state(units, element_bytes));
        if self.copies_states {
            self.copy(output_state, state);
            self.copy(cell_state, cell);
        }
        let mut gates = [0; GATES.len()];
        for (idx, gate) in gates.iter_mut().enumerate() {
            *gate = self.gate(idx, [feature, state], units)?;
        }
        let [input_gate, forget_gate, cell_gate, output_gate] = gates;
        let kept = self.binary(Arithmetic::Product, [cell, forget_gate], units);
        let added = self.binary(Arithmetic::Product, [cell_gate, input_gate], units);
        let next = self.state(units, INT16_BYTES);
        self.push_binary(Arithmetic::Sum, [kept, added], next);
        let clipped = if self.is_clipped {
            let clipped = self.state(units, INT16_BYTES);
            self.copy(next, clipped);
            clipped
        } else {
            next
        };
        let activated = self.map(units);
        self.activate(clipped, activated);
        let result = self.state(units, INT8_BYTES);
        self.push_binary(Arithmetic::Product, [activated, output_gate], result);
        // Copies the output to its position in the sequence.
        let view_shape = [1, self.rows, units];
        self.push_operation(Operation {
            view_shapes: Some(Box::new([view_shape; 2])),
            ..self.lowering.operation(Action::Copy, &[result], output)
        });
        Some(())
    }

    /// A feature map of this time step alone.
    fn map(&mut self, units: i64) -> usize {
        let shape = [1, self.rows, units];
        let map_idx = self.lowering.map(shape, INT16_BYTES);
        self.lowering.program.maps[map_idx].is_of_time_step = true;
        map_idx
    }

    fn state(&mut self, units: i64, element_bytes: i64) -> usize {
        self.lowering
            .state_map([1, self.rows, units], element_bytes)
    }

    fn gate(&mut self, idx: usize, inputs: [usize; 2], units: i64) -> Option<usize> {
        let weights = [INPUT_WEIGHTS[idx], STATE_WEIGHTS[idx]];
        let mut sums = [0; 2];
        for ((sum, weights), input) in sums.iter_mut().zip(weights).zip(inputs) {
            let weights = self.lowering.input(weights)?;
            *sum = self.map(units);
            self.lowering.fully_connected(input, weights, *sum);
            let last = self.lowering.program.operations.last_mut()?;
            last.repeats = self.repeats;
            if let Some([ifm, ofm]) = last.view_shapes.as_deref_mut() {
                (ifm[1], ofm[1]) = (self.rows, self.rows);
            }
        }
        let sum = self.binary(Arithmetic::Sum, sums, units);
        let gate = self.map(units);
        self.push_operation(Operation {
            alias: Alias::Fused,
            ..self.lowering.operation(Action::Table, &[sum], gate)
        });
        if GATES[idx] == Activation::Tanh {
            return Some(gate);
        }
        // The limits are applied in place.
        self.copy(gate, gate);
        Some(gate)
    }

    fn binary(&mut self, arithmetic: Arithmetic, inputs: [usize; 2], units: i64) -> usize {
        let output = self.map(units);
        self.push_binary(arithmetic, inputs, output);
        output
    }

    fn push_binary(&mut self, arithmetic: Arithmetic, inputs: [usize; 2], output: usize) {
        self.lowering.binary(arithmetic, inputs, output);
        self.repeat_last();
    }

    /// A copy of one row of units.
    fn copy(&mut self, input: usize, output: usize) {
        let view_shape = self.lowering.shape(output);
        self.push_operation(Operation {
            view_shapes: Some(Box::new([view_shape; 2])),
            ..self.lowering.operation(Action::Copy, &[input], output)
        });
    }

    /// A separate hyperbolic tangent: Ethos-U85 looks it up in a table, the others support it as an operation.
    fn activate(&mut self, input: usize, output: usize) {
        let accelerator = self.lowering.accelerator;
        if !accelerator.is_u85() {
            return self.copy(input, output);
        }
        let view_shape = self.lowering.shape(output);
        self.push_operation(Operation {
            view_shapes: Some(Box::new([view_shape; 2])),
            ..self.lowering.operation(Action::Table, &[input], output)
        });
    }

    fn push_operation(&mut self, operation: Operation) {
        self.lowering.push(operation);
        self.repeat_last();
    }

    fn repeat_last(&mut self) {
        if let Some(last) = self.lowering.program.operations.last_mut() {
            last.repeats = self.repeats;
        }
    }
}
