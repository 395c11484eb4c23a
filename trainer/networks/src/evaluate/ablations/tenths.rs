//! Errors in each tenth of the graphs, from the fastest to the slowest.

use litecast_trainer::metrics::summarise;
use litecast_trainer::spaces::Space;

use crate::evaluate::Trained;

/// Capped mean error of [`BINNED_METRIC`] on one target in each tenth of the graphs of [`BINNED_SPACE`].
pub struct Tenths {
    pub target: String,
    pub errors: Vec<f64>,
}

/// The output and the space of PerfSAGE's Figure 3. The paper's figure is for a CPU.
const BINNED_METRIC: &str = "latency";
pub const BINNED_SPACE: Space = Space::CNN_IMAGENET;
pub const N_BINS: usize = 10;

/// Tenths by the labels of the first target; `None` if there are too few graphs.
pub fn tenths(estimates: &[Vec<f32>], trained: &Trained) -> Option<Tenths> {
    let data = &trained.data;
    let mut outputs = data.outputs.iter();
    let output = outputs.position(|key| key.metric == BINNED_METRIC)?;
    let is_there = |g: &usize| data.spaces[data.test.space_of[*g]] == BINNED_SPACE.id();
    let graphs = (0..estimates.len()).filter(is_there);
    let pair = |g: usize| (data.test.examples[g].labels[output], estimates[g][output]);
    let mut pairs: Vec<(f32, f32)> = graphs.map(pair).filter(|(y, _)| !y.is_nan()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = pairs.len();
    if n < N_BINS {
        return None;
    }
    let bin = |k: usize| &pairs[k * n / N_BINS..(k + 1) * n / N_BINS];
    let error = |pairs: &[(f32, f32)]| {
        let (labels, estimates): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        summarise(&estimates, &labels).capped_mape
    };
    Some(Tenths {
        target: data.outputs[output].target.clone(),
        errors: (0..N_BINS).map(|k| error(bin(k))).collect(),
    })
}
