//! One process of the labelling tool, restarted by its owner after a time-out or a crash.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use super::record::{Outcome, Tool};
use super::target::Target;
use super::tool::LabellingTool;

/// On a quiet machine Vela is ready after 1 s and the emulated LiteRT after 4 s; with the lowest priority on a busy
/// machine they need a hundred times as long.
const START_LIMIT: Duration = Duration::from_secs(600);

/// A running tool. Dropping it ends the process.
pub struct Worker {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    /// The program that runs, with its version.
    pub tool: Tool,
}

/// An answer of the tool, or the event that occurred instead.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// The label, or why there is none.
    pub outcome: Outcome,
    /// Seconds of processor that it took.
    pub cpu_s: f64,
}

impl Answer {
    fn without_label(outcome: Outcome) -> Self {
        Self {
            outcome,
            cpu_s: 0.0,
        }
    }

    /// Whether the worker can answer further requests.
    pub fn leaves_worker_alive(&self) -> bool {
        matches!(self.outcome, Outcome::Ok(_) | Outcome::Rejected { .. })
    }
}

#[derive(Deserialize)]
struct Document {
    label: Outcome,
    cpu_s: f64,
}

impl Worker {
    /// Starts a process of `tool` for `targets`.
    pub fn start(tool: &dyn LabellingTool, targets: &[Target]) -> Result<Self> {
        let mut command = tool.command(targets).with_context(|| not_started(tool))?;
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| not_started(tool))?;
        let requests = process
            .stdin
            .take()
            .context("expected a pipe to the tool")?;
        let stdout = process
            .stdout
            .take()
            .context("expected a pipe from the tool")?;
        let answers = lines(stdout);
        let greeting = answers
            .recv_timeout(START_LIMIT)
            .map_err(|_| no_greeting(tool, &mut process))?;
        let tool = serde_json::from_str(&greeting).context("the labelling tool's first line")?;
        Ok(Self {
            process,
            requests,
            answers,
            tool,
        })
    }

    /// Labels one file on the target with this index in the list that the worker was started with.
    ///
    /// After an answer that does not leave the worker alive, all further answers are of this kind.
    pub fn label(&mut self, target_idx: usize, model: &[u8], limit: Duration) -> Answer {
        match self.ask(target_idx, model, limit) {
            Ok(answer) => answer,
            Err(error) => Answer::without_label(Outcome::Crashed {
                reason: format!("{error:#}"),
            }),
        }
    }

    fn ask(&mut self, target_idx: usize, model: &[u8], limit: Duration) -> Result<Answer> {
        if self.send(target_idx, model).is_err() {
            bail!(self.exit_reason());
        }
        match self.answers.recv_timeout(limit) {
            Ok(line) => read_answer(&line),
            Err(RecvTimeoutError::Timeout) => Ok(self.give_up(limit)),
            Err(RecvTimeoutError::Disconnected) => bail!(self.exit_reason()),
        }
    }

    fn send(&mut self, target_idx: usize, model: &[u8]) -> Result<()> {
        self.requests
            .write_all(&u32::try_from(target_idx)?.to_le_bytes())?;
        self.requests
            .write_all(&u32::try_from(model.len())?.to_le_bytes())?;
        self.requests.write_all(model)?;
        Ok(self.requests.flush()?)
    }

    fn give_up(&mut self, limit: Duration) -> Answer {
        // An error means that the process has just ended by itself.
        let _ = self.process.kill();
        Answer::without_label(Outcome::TimedOut {
            limit_s: limit.as_secs_f64(),
        })
    }

    fn exit_reason(&mut self) -> String {
        match self.process.wait() {
            Ok(status) => format!("the labelling tool ended with {status}"),
            Err(error) => format!("the labelling tool is gone: {error}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read_answer(line: &str) -> Result<Answer> {
    let document: Document =
        serde_json::from_str(line).context("an answer of the labelling tool")?;
    Ok(Answer {
        outcome: document.label,
        cpu_s: document.cpu_s,
    })
}

/// The lines of `stdout`; the channel closes with the stream.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn no_greeting(tool: &dyn LabellingTool, process: &mut Child) -> anyhow::Error {
    let _ = process.kill();
    let status = process.wait();
    anyhow!(
        "{} ({})",
        not_started(tool),
        status.map_or_else(|error| error.to_string(), |status| status.to_string()),
    )
}

fn not_started(tool: &dyn LabellingTool) -> String {
    format!(
        "`{}` did not start the labelling tool; install what it needs with `{}`",
        tool.program().display(),
        tool.how_to_install(),
    )
}
