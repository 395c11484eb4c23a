//! The progress of a labelling run, for a terminal or a log.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::record::Outcome;

/// Interval between two lines if standard error is not a terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Counts graphs and outcomes of one run.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    started: Instant,
    last_log: Instant,
    n_graphs: u64,
    /// Graphs that an earlier run labelled.
    n_skipped: u64,
    n_done: u64,
    statuses: BTreeMap<&'static str, u64>,
}

impl Progress {
    pub fn new(n_graphs: u64) -> Self {
        let bar = ProgressBar::new(n_graphs);
        let template = "{bar:30} {pos}/{len} graphs, {msg}";
        bar.set_style(
            ProgressStyle::with_template(template).expect("a template that indicatif knows"),
        );
        let now = Instant::now();
        Self {
            bar,
            is_terminal: stderr().is_terminal(),
            started: now,
            last_log: now,
            n_graphs,
            n_skipped: 0,
            n_done: 0,
            statuses: BTreeMap::new(),
        }
    }

    /// Counts a finished graph; `outcomes` are those of this run.
    pub fn finish_graph(&mut self, outcomes: &[Outcome]) {
        self.n_done += 1;
        self.n_skipped += u64::from(outcomes.is_empty());
        for outcome in outcomes {
            *self.statuses.entry(outcome.status()).or_default() += 1;
        }
        self.show();
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
        eprintln!("{}", self.line());
    }

    fn show(&mut self) {
        self.bar.set_position(self.n_done);
        if self.is_terminal {
            self.bar.set_message(self.rate_and_rest());
        } else if self.last_log.elapsed() >= LOG_INTERVAL {
            self.last_log = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    fn line(&self) -> String {
        format!(
            "{}/{} graphs, {}",
            self.n_done,
            self.n_graphs,
            self.rate_and_rest()
        )
    }

    fn rate_and_rest(&self) -> String {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        let n_labelled = self.n_done - self.n_skipped;
        let rate = n_labelled as f64 / elapsed_s.max(1e-3);
        let rest_s = (self.n_graphs - self.n_done) as f64 / rate.max(1e-6);
        let rest = match n_labelled {
            0 => "unknown".to_string(),
            _ => HumanDuration(Duration::from_secs_f64(rest_s.min(1e9))).to_string(),
        };
        let statuses: Vec<String> = self
            .statuses
            .iter()
            .map(|(status, n)| format!("{n} {status}"))
            .collect();
        format!(
            "{rate:.2} graphs/s, {rest} left, {} skipped, labels: {}",
            self.n_skipped,
            statuses.join(", ")
        )
    }
}
