//! The cell: five operations, six edges, and the edges that the network needs.

use std::str::FromStr;

use crate::spaces::Choices;

/// Nodes of a cell: node 0 is its input, the last its output.
pub const NODES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    None,
    SkipConnect,
    Conv1x1,
    Conv3x3,
    AveragePool3x3,
}

/// The operations of the edges 0→1, 0→2, 1→2, 0→3, 1→3 and 2→3. The output depends on the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell([Operation; 6]);

impl Operation {
    const ALL: [(&'static str, Operation); 5] = [
        ("none", Operation::None),
        ("skip_connect", Operation::SkipConnect),
        ("nor_conv_1x1", Operation::Conv1x1),
        ("nor_conv_3x3", Operation::Conv3x3),
        ("avg_pool_3x3", Operation::AveragePool3x3),
    ];

    /// Side of the kernel, if it is a convolution.
    pub(super) fn kernel(self) -> Option<i32> {
        match self {
            Operation::Conv1x1 => Some(1),
            Operation::Conv3x3 => Some(3),
            _ => None,
        }
    }
}

impl FromStr for Cell {
    type Err = String;

    /// Reads `|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|none~0|none~1|nor_conv_3x3~2|`.
    /// A cell whose output does not depend on its input is an error: no network computes it.
    fn from_str(arch: &str) -> Result<Self, String> {
        let mut operations = Vec::new();
        for (node, edges) in arch.split('+').enumerate() {
            let edges = edges.trim_matches('|').split('|');
            for (from, edge) in edges.enumerate() {
                operations.push(parse_edge(edge, from, node + 1)?);
            }
        }
        let operations: [Operation; 6] = operations
            .try_into()
            .map_err(|all: Vec<_>| format!("`{arch}`: expected 6 edges, found {}", all.len()))?;
        Cell::new(operations)
            .ok_or_else(|| format!("`{arch}`: the cell's input does not reach its output"))
    }
}

fn parse_edge(edge: &str, from: usize, to: usize) -> Result<Operation, String> {
    let known = |(name, _): &&(&str, Operation)| edge == format!("{name}~{from}");
    Operation::ALL
        .iter()
        .find(known)
        .map(|(_, operation)| *operation)
        .ok_or_else(|| format!("edge {from}→{to}: expected OPERATION~{from}, found `{edge}`"))
}

impl Cell {
    fn new(operations: [Operation; 6]) -> Option<Self> {
        let cell = Cell(operations);
        cell.reaches_output()[0].then_some(cell)
    }

    /// One of the cells whose output depends on the input, all equally likely.
    pub(super) fn draw(choices: &mut Choices) -> Self {
        loop {
            let operations = [(); 6].map(|()| choices.pick(&Operation::ALL).1);
            if let Some(cell) = Cell::new(operations) {
                return cell;
            }
        }
    }

    fn edge(&self, from: usize, to: usize) -> Operation {
        self.0[to * (to - 1) / 2 + from]
    }

    /// By node, whether its value reaches the output.
    pub(super) fn reaches_output(&self) -> [bool; NODES] {
        let mut carries = [false, false, false, true];
        for from in (0..NODES - 1).rev() {
            carries[from] =
                (from + 1..NODES).any(|to| carries[to] && self.edge(from, to) != Operation::None);
        }
        carries
    }

    /// Edges into `to` with an operation: their sources and operations.
    pub(super) fn inputs(&self, to: usize) -> impl Iterator<Item = (usize, Operation)> {
        (0..to)
            .map(move |from| (from, self.edge(from, to)))
            .filter(|&(_, operation)| operation != Operation::None)
    }

    /// Whether only convolutions read the node, so that the ReLU before them can be fused into the operator that writes
    /// it.
    pub(super) fn is_read_by_convolutions_only(&self, from: usize) -> bool {
        let carries = self.reaches_output();
        (from + 1..NODES)
            .filter(|&to| carries[to])
            .map(|to| self.edge(from, to))
            .filter(|&operation| operation != Operation::None)
            .all(|operation| operation.kernel().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_cells_are_refused_in_words() {
        for (arch, words) in [
            ("", "edge 0→1: expected OPERATION~0, found ``"),
            ("|none~0|", "expected 6 edges, found 1"),
            ("|nor_conv_5x5~0|", "found `nor_conv_5x5~0`"),
            ("|none~1|", "expected OPERATION~0, found `none~1`"),
            (
                "|nor_conv_3x3~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|",
                "does not reach its output",
            ),
        ] {
            let error = Cell::from_str(arch).unwrap_err();
            assert!(error.contains(words), "{arch}: {error}");
        }
    }
}
