//! The counts of one network that all processors share.

use std::sync::OnceLock;

use super::{Costs, InstructionCount, KernelCounts, instruction_counts, kernel_counts};
use crate::target::Network;

struct OperatorCounts(Vec<KernelCounts>);

/// By index of the processor in [`Costs`].
struct ProcessorCounts(Vec<OnceLock<Vec<InstructionCount>>>);

/// The counts of each operator that determine its instructions; they are the same for all processors.
pub fn kernel_counts_of<'n>(network: &'n Network) -> &'n [KernelCounts] {
    let compute = || OperatorCounts(kernel_counts(network.graph, network.analysis));
    &network.shared(compute).0
}

/// Instructions of each operator on a processor whose kernels were counted. Several boards share them.
pub fn instruction_counts_of<'n>(
    network: &'n Network,
    processor: &str,
) -> Option<&'n [InstructionCount]> {
    let processors = &Costs::shipped().targets;
    let idx = (processors.iter()).position(|costs| costs.target == processor)?;
    let uncounted = || ProcessorCounts(vec![OnceLock::new(); processors.len()]);
    let of_processor = network.shared(uncounted).0.get(idx)?;
    let count = || instruction_counts(&processors[idx], kernel_counts_of(network));
    Some(of_processor.get_or_init(count))
}
