//! Truth values at the ends of the network. Reproduces `ConvertBool8Tensors` of Vela.

use crate::targets::ethos_u::program::{Action, Alias, Arithmetic, FeatureMap, Operation, Program};

/// Maximum number of operations that are added. In a file made to exceed the limit, further ends stay as they are.
const MAX_CONVERSIONS: usize = 1 << 10;

/// Adds a comparison for each input of the network that operations of the accelerator read, which sets all bits of the
/// values that hold, and an operation for each output that they write, which keeps the first bit alone. Other readers of
/// an output read what callers see. Linear in maps and operations.
pub fn convert_at_ends(program: &mut Program) {
    if !program.maps.iter().any(is_end) {
        return;
    }
    let last_writers = program.writers();
    let mut ends = Ends {
        inner: vec![None; program.maps.len()],
        number: None,
        n_left: MAX_CONVERSIONS,
    };
    let operations = std::mem::take(&mut program.operations);
    for (idx, mut operation) in operations.into_iter().enumerate() {
        if operation.action == Action::Cpu {
            program.operations.push(operation);
            continue;
        }
        for input in operation.inputs.iter_mut() {
            if program.maps[*input].is_input {
                *input = ends.converted_input(program, operation.node_idx, *input);
            }
        }
        let mut written = Vec::new();
        for output in operation.outputs.iter_mut() {
            let (map, outer) = (program.maps[*output], *output);
            if map.is_output && !map.is_input {
                *output = ends.inner(program, outer);
                let is_last = *output != outer && last_writers[outer] == Some(idx);
                written.extend(is_last.then_some([*output, outer]));
            }
        }
        let node_idx = operation.node_idx;
        program.operations.push(operation);
        for [bits, output] in written {
            ends.convert(program, node_idx, bits, output);
        }
    }
}

fn is_end(map: &FeatureMap) -> bool {
    map.is_truth && (map.is_input || map.is_output)
}

/// The conversions so far.
struct Ends {
    /// By map that callers see, the map that the accelerator uses instead.
    inner: Vec<Option<usize>>,
    /// The constant that values are compared with.
    number: Option<usize>,
    n_left: usize,
}

impl Ends {
    /// What the accelerator uses instead of a map: itself if it needs no conversion, or at the limit.
    fn inner(&mut self, program: &mut Program, outer: usize) -> usize {
        if let Some(inner) = self.inner[outer] {
            return inner;
        }
        let map = program.maps[outer];
        if !is_end(&map) {
            return outer;
        }
        let Some(n_left) = self.n_left.checked_sub(1) else {
            program.hit_limit = true;
            return outer;
        };
        self.n_left = n_left;
        program.maps.push(FeatureMap {
            bytes: ((map.n_elements() * map.element_bytes()) as f64).into(),
            is_input: false,
            is_output: false,
            is_off_chip: false,
            ..map
        });
        *self.inner[outer].insert(program.maps.len() - 1)
    }

    /// The same for an input, which the first reader converts.
    fn converted_input(&mut self, program: &mut Program, node_idx: usize, outer: usize) -> usize {
        let is_new = self.inner[outer].is_none();
        let inner = self.inner(program, outer);
        if is_new && inner != outer {
            self.convert(program, node_idx, outer, inner);
        }
        inner
    }

    fn convert(&mut self, program: &mut Program, node_idx: usize, from: usize, to: usize) {
        let number = *self.number.get_or_insert_with(|| {
            program.maps.push(FeatureMap {
                shape: [1; 3],
                element_bytes: 1,
                is_constant: true,
                is_linear: true,
                is_truth: true,
                ..FeatureMap::default()
            });
            program.maps.len() - 1
        });
        program.operations.push(Operation {
            alias: Alias::InPlace,
            ..Operation::new(
                node_idx,
                Action::Binary(Arithmetic::Other),
                [from, number].as_slice(),
                to,
            )
        });
    }
}
