//! Producers and consumers of feature maps, seen through padding and views.

use super::index::{OptionalIndex, compact_up_to};
use super::order::Order;
use super::program::{Action, Alias, Program};

/// Producers and consumers by step of the order of execution. A view counts as the feature map that it shows.
pub struct Flow {
    /// By step, the step that computes its first input.
    pub source: Vec<OptionalIndex>,
    /// By step, the number of readers of its output; a caller counts as one.
    pub n_readers: Vec<u32>,
    /// By step, whether nothing is between it and its source except padding and activations that other operations
    /// perform.
    pub is_direct: Vec<bool>,
    /// By step, whether its first input was computed, that is, not written by a caller or by an operation that only
    /// moves data.
    pub is_computed: Vec<bool>,
    /// By step, the first step that reads its output, or that reads the concatenation of which the output is a part.
    pub reader_of_whole: Vec<OptionalIndex>,
    /// By step, whether its output goes through a lookup table.
    pub has_table: Vec<bool>,
    /// By map, the feature map without the padding that a window adds.
    pub unpadded: Vec<u32>,
    /// By map, the concatenation that it is a part of.
    pub joined: Vec<OptionalIndex>,
}

impl Flow {
    /// Linear in operations, maps and inputs.
    pub fn new(program: &Program, order: &Order) -> Self {
        let n_steps = order.operations.len();
        let n_maps = program.maps.len();
        let mut flow = Self::unconnected(n_steps, n_maps);
        // By map, the step that computes it, and whether there is no view in between.
        let mut writer: Vec<Option<(usize, bool)>> = vec![None; n_maps];
        for (idx, &operation_idx) in order.operations.iter().enumerate() {
            let operation = &program.operations[operation_idx];
            let first = program.activations(operation).next();
            let from = first.and_then(|input| writer[input]);
            flow.source[idx] = from.map(|(step, _)| step).into();
            flow.is_direct[idx] = from.is_none_or(|(_, is_direct)| is_direct);
            let is_view_of_input = operation.alias.is_view_of_input();
            let written = match operation.alias {
                Alias::View => from.map(|(step, _)| (step, false)),
                Alias::Fused => {
                    if let Some((step, _)) = from.filter(|_| operation.action == Action::Table) {
                        flow.has_table[step] = true;
                    }
                    from
                }
                Alias::Concat => None,
                _ => Some((idx, true)),
            };
            for &input in &operation.inputs {
                if let Some((step, _)) = writer[input].filter(|_| !is_view_of_input) {
                    flow.n_readers[step] += 1;
                }
            }
            if operation.alias == Alias::Concat {
                for &input in &operation.inputs {
                    flow.joined[input] = operation.outputs.first().copied().into();
                }
            }
            for &output in &operation.outputs {
                writer[output] = written;
                if let Some(first) =
                    first.filter(|_| is_view_of_input && operation.action == Action::Pad)
                {
                    flow.unpadded[output] = flow.unpadded[first];
                }
            }
        }
        for &output in &program.outputs {
            if let Some((step, _)) = writer[output] {
                flow.n_readers[step] += 1;
            }
        }
        flow.connect_whole_concatenations(program, order);
        flow
    }

    /// Steps that read nothing of each other.
    fn unconnected(n_steps: usize, n_maps: usize) -> Self {
        Self {
            source: vec![OptionalIndex::NONE; n_steps],
            n_readers: vec![0; n_steps],
            is_direct: vec![true; n_steps],
            is_computed: vec![false; n_steps],
            reader_of_whole: vec![OptionalIndex::NONE; n_steps],
            has_table: vec![false; n_steps],
            unpadded: compact_up_to(n_maps),
            joined: vec![OptionalIndex::NONE; n_maps],
        }
    }

    /// Finds writers and readers of whole concatenations. Linear in operations, maps and inputs, except for the
    /// logarithm of the parts of nested concatenations.
    fn connect_whole_concatenations(&mut self, program: &Program, order: &Order) {
        let n_maps = program.maps.len();
        // By map, the map of which it is a view, and the first step that writes it or a part of it.
        let mut named: Vec<usize> = (0..n_maps).collect();
        let mut first_writer: Vec<Option<usize>> = vec![None; n_maps];
        // By map, the steps that wrote it and its parts; empty after a step has read it.
        let mut written_by: Vec<Vec<usize>> = vec![Vec::new(); n_maps];
        for (idx, &operation_idx) in order.operations.iter().enumerate() {
            let operation = &program.operations[operation_idx];
            let first = program.activations(operation).next();
            let Some(&output) = operation.outputs.first() else {
                continue;
            };
            match operation.alias {
                Alias::View | Alias::Fused => {
                    for &output in &operation.outputs {
                        let shown = first.map_or(output, |input| named[input]);
                        named[output] = shown;
                        first_writer[output] = first_writer[shown];
                    }
                }
                Alias::Concat => {
                    for &input in &operation.inputs {
                        let part = named[input];
                        let writers = std::mem::take(&mut written_by[part]);
                        append(&mut written_by[output], writers);
                        let first = first_writer[output].into_iter().chain(first_writer[part]);
                        first_writer[output] = first.min();
                    }
                }
                Alias::Separate | Alias::InPlace => {
                    let from = first.and_then(|input| first_writer[named[input]]);
                    self.is_computed[idx] = from.is_some_and(|step| {
                        let action = program.operations[order.operations[step]].action;
                        let is_layout = matches!(action, Action::Copy | Action::Pad);
                        !is_layout && !matches!(action, Action::Transpose(_))
                    });
                    for &input in &operation.inputs {
                        for step in std::mem::take(&mut written_by[named[input]]) {
                            self.reader_of_whole[step] = idx.into();
                        }
                    }
                    for &output in &operation.outputs {
                        first_writer[output].get_or_insert(idx);
                        written_by[output].push(idx);
                    }
                }
            }
        }
    }
}

/// Appends the shorter list to the longer one.
fn append(list: &mut Vec<usize>, mut other: Vec<usize>) {
    if other.len() > list.len() {
        std::mem::swap(list, &mut other);
    }
    list.append(&mut other);
}
