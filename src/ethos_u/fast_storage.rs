//! Which feature maps the compiler keeps in an SRAM too small for all of them.

/// Feature maps that are weighed against each other at once.
const MAX_COMPONENT: usize = 20;
/// Steps of candidates that are looked at in all searches together, some ten milliseconds' worth:
/// beyond them the best choices so far stand. Searches of sampled networks end far below; this bounds
/// what a file made for it can cost.
const MAX_STEPS: usize = 1 << 24;

/// A feature map that may lie in SRAM.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What the caller knows it by.
    pub id: usize,
    /// Steps in which it is needed.
    pub first: usize,
    pub last: usize,
    pub bytes: f64,
    /// Bytes read and written.
    pub accesses: f64,
}

/// Ids of those that lie in SRAM, as Vela 5.2.0 chooses: whatever fits beside the weights' buffers,
/// and of those that compete for room the ones with most accesses. `buffer_bytes` are the buffers by
/// step. Proportional to the steps that the candidates span, and [`MAX_STEPS`] at worst: where they
/// span more than that, nothing is kept.
pub fn kept(mut candidates: Vec<Candidate>, limit_bytes: f64, buffer_bytes: &[f64]) -> Vec<usize> {
    let n_steps: usize = candidates.iter().map(Candidate::n_steps).sum();
    if n_steps > MAX_STEPS {
        return Vec::new();
    }
    candidates.sort_by_key(|candidate| (candidate.first, candidate.id));
    let mut usage = Usage {
        limit_bytes,
        steps_left: MAX_STEPS,
        least: buffer_bytes.to_vec(),
        most: buffer_bytes.to_vec(),
    };
    for candidate in &candidates {
        candidate.add(&mut usage.most, 1.0);
    }
    candidates.retain(|candidate| {
        let can_fit = usage.can_keep(candidate);
        if !can_fit {
            candidate.add(&mut usage.most, -1.0);
        }
        can_fit
    });
    let fits_anyway = |candidate: &Candidate| usage.always_fits(candidate);
    let (sure, competing): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits_anyway);
    let mut kept: Vec<usize> = sure.iter().map(|candidate| candidate.id).collect();
    for candidate in &sure {
        candidate.add(&mut usage.least, 1.0);
    }
    for component in components(&competing) {
        let is_kept = Search::new(component, &mut usage).best();
        for (candidate, is_kept) in component.iter().zip(is_kept) {
            match is_kept {
                true => {
                    candidate.add(&mut usage.least, 1.0);
                    kept.push(candidate.id);
                }
                false => candidate.add(&mut usage.most, -1.0),
            }
        }
    }
    kept
}

impl Candidate {
    fn n_steps(&self) -> usize {
        self.last - self.first + 1
    }

    fn add(&self, usage: &mut [f64], times: f64) {
        for bytes in &mut usage[self.first..=self.last] {
            *bytes += times * self.bytes;
        }
    }

    fn peak(&self, usage: &[f64]) -> f64 {
        let own = &usage[self.first..=self.last];
        own.iter().copied().fold(0.0, f64::max)
    }
}

/// Bytes in use by step: of what is sure to stay, and if all that is not refused yet stayed.
struct Usage {
    limit_bytes: f64,
    steps_left: usize,
    least: Vec<f64>,
    most: Vec<f64>,
}

impl Usage {
    fn can_keep(&self, candidate: &Candidate) -> bool {
        candidate.peak(&self.least) + candidate.bytes <= self.limit_bytes
    }

    fn always_fits(&self, candidate: &Candidate) -> bool {
        candidate.peak(&self.most) <= self.limit_bytes
    }
}

/// Neighbours that overlap in time.
fn components(candidates: &[Candidate]) -> Vec<&[Candidate]> {
    let mut components = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (idx, candidate) in candidates.iter().enumerate() {
        if idx > start && (candidate.first > end || idx - start > MAX_COMPONENT) {
            components.push(&candidates[start..idx]);
            start = idx;
            end = 0;
        }
        end = end.max(candidate.last);
    }
    if start < candidates.len() {
        components.push(&candidates[start..]);
    }
    components
}

struct Search<'a> {
    component: &'a [Candidate],
    usage: &'a mut Usage,
    current: Vec<bool>,
    best: Vec<bool>,
    best_score: f64,
}

impl<'a> Search<'a> {
    fn new(component: &'a [Candidate], usage: &'a mut Usage) -> Self {
        Self {
            component,
            usage,
            current: vec![false; component.len()],
            best: vec![false; component.len()],
            best_score: 0.0,
        }
    }

    /// Whether each is kept.
    fn best(mut self) -> Vec<bool> {
        let all = self.component.iter().map(|candidate| candidate.accesses);
        self.branch(0, 0.0, all.sum());
        self.best
    }

    /// Decides about the candidate at `idx` and those after it; `score` is of those before,
    /// `open_score` what the rest would add if all stayed.
    fn branch(&mut self, idx: usize, score: f64, open_score: f64) {
        let is_hopeless = self.best_score > 0.0 && score + open_score <= self.best_score;
        if is_hopeless || self.usage.steps_left == 0 {
            return;
        }
        let component = self.component;
        let Some(candidate) = component.get(idx) else {
            if score > self.best_score || self.best_score == 0.0 {
                self.best_score = score;
                self.best.copy_from_slice(&self.current);
            }
            return;
        };
        self.usage.steps_left = self.usage.steps_left.saturating_sub(candidate.n_steps());
        let open_score = open_score - candidate.accesses;
        let can_keep = self.usage.can_keep(candidate);
        if can_keep {
            self.current[idx] = true;
            candidate.add(&mut self.usage.least, 1.0);
            self.branch(idx + 1, score + candidate.accesses, open_score);
            candidate.add(&mut self.usage.least, -1.0);
        }
        if !can_keep || !self.usage.always_fits(candidate) {
            self.current[idx] = false;
            candidate.add(&mut self.usage.most, -1.0);
            self.branch(idx + 1, score, open_score);
            candidate.add(&mut self.usage.most, 1.0);
        }
    }
}
