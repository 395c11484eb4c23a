//! What a conversion knows, by subject: the values of names, what may still be spent, the bodies of `If` and loops that
//! count, and the network so far.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::error::ParseError;
use super::super::limits::*;
use super::super::names::Name;
use super::super::proto::{Graph, ValueInfo};
use super::products;
use super::value::{Perm, Value};
use crate::formats::builder::{Builder, DIMENSION_BYTES};
use crate::formats::distribution;

/// The names of the file.
pub(super) struct Names<'a> {
    pub values: HashMap<Name<'a>, Value<'a>>,
    /// How often each name is read, the graph's outputs included.
    pub uses: HashMap<Name<'a>, usize>,
    /// Nodes that read a name; empty once inputs and patterns are known.
    pub readers: HashMap<Name<'a>, Vec<usize>>,
    pub outputs: HashSet<Name<'a>>,
    pub described: HashMap<Name<'a>, &'a ValueInfo<'a>>,
    /// Results of operators whose types are not known here, and what follows from them.
    pub of_guessed_type: HashSet<Name<'a>>,
}

impl<'a> Names<'a> {
    /// `captured` are read by bodies of loops once more.
    pub fn new(graph: &'a Graph<'a>, captured: impl Iterator<Item = Name<'a>>) -> Self {
        let mut uses: HashMap<Name, usize> = HashMap::new();
        let mut readers: HashMap<Name, Vec<usize>> = HashMap::new();
        for (node_idx, node) in graph.nodes.iter().enumerate() {
            for &name in node.inputs_with_values() {
                let n = uses.entry(name).or_default();
                *n = n.saturating_add(1);
                readers.entry(name).or_default().push(node_idx);
            }
        }
        let outputs = graph.outputs.iter().map(|output| output.name);
        for name in outputs.chain(captured) {
            let n = uses.entry(name).or_default();
            *n = n.saturating_add(1);
        }
        let infos = graph.value_infos.iter().chain(&graph.outputs);
        Self {
            values: HashMap::new(),
            uses,
            readers,
            outputs: graph.outputs.iter().map(|output| output.name).collect(),
            described: infos.map(|info| (info.name, info)).collect(),
            of_guessed_type: HashSet::new(),
        }
    }
}

/// What the conversion may still spend, in proportion to the file.
pub(super) struct Limits {
    max_operators: usize,
    /// Number of operator results that may still be added; `None` after the limit was exceeded.
    results_left: Option<usize>,
    layout_search_left: usize,
    known_left: usize,
    counted_bytes_left: usize,
    /// Of [`max_repeated_bytes`]; `None` after they were exceeded.
    pub repeated_left: Option<usize>,
    max_repeated: usize,
}

impl Limits {
    pub fn new(file_bytes: usize, max_operators: usize) -> Self {
        Self {
            max_operators,
            results_left: Some(max_operators),
            layout_search_left: MAX_LAYOUT_SEARCH,
            known_left: max_known_total(file_bytes),
            counted_bytes_left: max_counted_bytes(file_bytes),
            repeated_left: Some(max_repeated_bytes(file_bytes)),
            max_repeated: max_repeated_bytes(file_bytes),
        }
    }

    /// Whether `n` more known values are within the limit.
    pub fn spend_known(&mut self, n: usize) -> bool {
        match self.known_left.checked_sub(n) {
            Some(left) => {
                self.known_left = left;
                n <= MAX_KNOWN_VALUES
            }
            None => false,
        }
    }

    /// Whether one more operator with `n_results` results is within the limit. Each result takes as much memory as an
    /// operator with one result.
    pub fn spend_operator(&mut self, n_results: usize) -> Option<()> {
        let left = self.results_left;
        self.results_left = left.and_then(|left| left.checked_sub(n_results.max(1)));
        self.results_left.map(|_| ())
    }

    /// Whether iterations and copies may take `n` more bytes.
    pub fn spend_bytes(&mut self, n: usize) -> Option<()> {
        self.repeated_left = self.repeated_left.and_then(|left| left.checked_sub(n));
        self.repeated_left.map(|_| ())
    }

    /// Whether iterations and copies may take one more value that outlives what computed it.
    pub fn spend_value(&mut self, value: &Value) -> Option<()> {
        let of_shape = value.rank().unwrap_or(0).saturating_mul(DIMENSION_BYTES);
        self.spend_bytes(of_shape.saturating_add(VALUE_BYTES))
    }

    /// Whether `n` more bytes of weights may be counted.
    pub fn spend_counted(&mut self, n: usize) -> Option<()> {
        self.counted_bytes_left = self.counted_bytes_left.checked_sub(n)?;
        Some(())
    }

    /// Whether `n` more names may be looked at in search of a layout.
    pub fn spend_layout_search(&mut self, n: usize) -> bool {
        let left = self.layout_search_left.checked_sub(n);
        self.layout_search_left = left.unwrap_or(self.layout_search_left);
        left.is_some()
    }

    /// Checks that no limit was exceeded at this place.
    pub fn check(&self, place: impl Fn() -> String) -> Result<(), ParseError> {
        let (what, limit) = match (self.results_left, self.repeated_left) {
            (Some(_), Some(_)) => return Ok(()),
            (None, _) => (
                "results of operators after the conversion",
                self.max_operators,
            ),
            (_, None) => (
                "bytes for iterations of loops and copies of sequences",
                self.max_repeated,
            ),
        };
        Err(ParseError::LimitExceeded {
            place: place(),
            what,
            limit,
            found: "more".into(),
        })
    }
}

/// The bodies of `If`.
pub(super) struct Branches {
    /// By `If`: the body that counts, once it was asked for.
    pub counted: Vec<Option<usize>>,
    /// By `If`: weights that the products in its bodies read.
    pub weights: Vec<[u64; 2]>,
    /// Whether any node multiplies its operands.
    pub has_products: bool,
    /// Number of them whose condition is known only at inference.
    pub n_assumed: usize,
    /// Tensors of these conditions.
    pub conditions: Vec<usize>,
}

impl Branches {
    pub fn new(graph: &Graph) -> Self {
        Self {
            counted: vec![None; graph.branches.len()],
            weights: products::weights_by_side(graph),
            has_products: graph.nodes.iter().any(products::is_product),
            n_assumed: 0,
            conditions: Vec::new(),
        }
    }
}

/// The bodies of loops.
pub(super) struct Loops<'a> {
    /// Loops whose bodies are being converted, from the outermost inwards.
    pub running: Vec<usize>,
    /// By loop: bytes for one iteration, without the operators that it adds.
    pub iteration_bytes: Vec<usize>,
    /// [`Builder::n_bytes`] up to which iterations are paid for.
    pub paid_bytes: usize,
    /// Loops of which not all iterations are counted.
    pub partly_counted: Vec<PartlyCounted<'a>>,
}

/// A loop of which not all iterations are counted: operator, number of iterations that are, and of all if it is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartlyCounted<'a> {
    pub op_type: &'a str,
    pub n: usize,
    pub n_all: Option<usize>,
}

/// The network so far.
pub(super) struct OnnxNetwork<'a> {
    pub builder: Builder<'static>,
    /// By tensor: how often its values are still read.
    pub reads: HashMap<usize, usize>,
    /// By tensor: the operator that writes it.
    pub writers: HashMap<usize, usize>,
    /// Tensors in another order than they were computed in.
    pub arranged: HashMap<(usize, Perm), usize>,
    /// Tensors of constants by name and stored shape.
    pub constants: HashMap<(Name<'a>, Vec<i32>), usize>,
    pub default_counts: Arc<[u64; 256]>,
    /// Distributions of weights, by address in the file and number of slices.
    pub counts: HashMap<(usize, usize), Arc<[u64; 256]>>,
}

impl OnnxNetwork<'_> {
    pub fn with_capacity(n_operators: usize) -> Self {
        Self {
            builder: Builder::with_capacity(n_operators),
            reads: HashMap::new(),
            writers: HashMap::new(),
            arranged: HashMap::new(),
            constants: HashMap::new(),
            default_counts: distribution::default_counts().clone(),
            counts: HashMap::new(),
        }
    }
}
