//! Producers and consumers of feature maps, seen through padding and views.

use super::order::Order;
use super::program::{Action, Alias, Program};

/// Producers and consumers by step of the order of execution. A view counts as the feature map that it shows.
pub struct Flow {
    /// By step, the step that computes its first input.
    pub source: Vec<Option<usize>>,
    /// By step, the first step that reads its output.
    pub reader: Vec<Option<usize>>,
    /// By step, the number of readers of its output; a caller counts as one.
    pub n_readers: Vec<usize>,
    /// By step, whether only padding and activations that other operations perform are between it and its
    /// source.
    pub is_direct: Vec<bool>,
    /// By step, whether its output goes through a lookup table.
    pub has_table: Vec<bool>,
    /// By map, the feature map without the padding that a window adds.
    pub unpadded: Vec<usize>,
}

impl Flow {
    /// Linear in operations, maps and inputs.
    pub fn of(program: &Program, order: &Order) -> Self {
        let n_steps = order.operations.len();
        let n_maps = program.maps.len();
        let mut flow = Self {
            source: vec![None; n_steps],
            reader: vec![None; n_steps],
            n_readers: vec![0; n_steps],
            is_direct: vec![true; n_steps],
            has_table: vec![false; n_steps],
            unpadded: (0..n_maps).collect(),
        };
        // By map, the step that computes it, and whether without a view between.
        let mut writer: Vec<Option<(usize, bool)>> = vec![None; n_maps];
        for (idx, &operation_idx) in order.operations.iter().enumerate() {
            let operation = &program.operations[operation_idx];
            let first = program.activations(operation).next();
            let from = first.and_then(|input| writer[input]);
            flow.source[idx] = from.map(|(step, _)| step);
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
                    flow.reader[step].get_or_insert(idx);
                    flow.n_readers[step] += 1;
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
        flow
    }
}
