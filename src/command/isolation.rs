//! Estimates files in a separate process, so that a file that exhausts the memory or takes too long does not cost other
//! files their report.
//!
//! The command starts itself as a worker, which estimates one file after the other and writes a [`Message`] for each to
//! its standard output. If a worker ends early after other files, its current file is tried again in a process of its
//! own. A file that takes too long is given up at once: it costs its time limit, and not several.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use litecast::report::Failure;
use serde::Serialize;

use super::inputs::is_stdin;

/// A message of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The worker starts the next file.
    Begin,
    /// The next file leaves these dimensions open, of those that a size was given for.
    Matched(Vec<String>),
    /// The next file's report, or another requested result, as JSON.
    Report(Text),
    /// Why the next file has none.
    Failure(Failure),
}

/// A text in the parts in which it came: joined, a large one would be copied several times while it grows.
pub type Text = Vec<String>;

/// What a part of the stream between the processes is.
mod tag {
    pub const BEGIN: u8 = 0;
    /// Ends a report, whose text came before it.
    pub const REPORT: u8 = 1;
    /// Instead of a report, some of whose text may have come before it.
    pub const FAILURE: u8 = 2;
    /// Text of a report.
    pub const TEXT: u8 = 3;
    pub const MATCHED: u8 = 4;
}

/// Of a report at a time: neither process holds the text of a large one twice.
const TEXT_BYTES: usize = 1 << 16;

/// A tag, the length in four bytes, and as many bytes.
fn write_part(to: &mut impl Write, tag: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&[tag])?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)
}

/// Writes text of a report, as many parts as there are calls. Each is text, because nothing divides what the serializer
/// writes at once.
struct TextWriter<'w, W>(&'w mut W);

impl<W: Write> Write for TextWriter<'_, W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        write_part(self.0, tag::TEXT, text)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes the result for a file as its [`Message`].
///
/// # Errors
/// Of `to`. What cannot be written as JSON becomes a failure.
pub fn write_json(told: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    let mut text = BufWriter::with_capacity(TEXT_BYTES, TextWriter(to));
    let written = serde_json::to_writer(&mut text, told);
    text.flush()?;
    drop(text);
    match written {
        Ok(()) => {
            write_part(to, tag::REPORT, &[])?;
            to.flush()
        }
        Err(error) if error.is_io() => Err(error.into()),
        Err(error) => {
            let failure = Failure::new("serialization", error.to_string());
            Message::Failure(failure).write(to)
        }
    }
}

impl Message {
    /// As [`Self::read`] reads it.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Begin => write_part(to, tag::BEGIN, &[])?,
            Self::Matched(names) => write_part(to, tag::MATCHED, &serde_json::to_vec(names)?)?,
            Self::Report(text) => {
                for part in text {
                    write_part(to, tag::TEXT, part.as_bytes())?;
                }
                write_part(to, tag::REPORT, &[])?;
            }
            Self::Failure(failure) => {
                write_part(to, tag::FAILURE, &serde_json::to_vec(failure)?)?;
            }
        }
        to.flush()
    }

    fn read(from: &mut impl Read) -> Option<Self> {
        let mut text = Text::new();
        loop {
            let mut head = [0; 5];
            from.read_exact(&mut head).ok()?;
            let [tag, length @ ..] = head;
            let mut part = vec![0; u32::from_le_bytes(length) as usize];
            from.read_exact(&mut part).ok()?;
            let part = String::from_utf8(part).ok()?;
            match tag {
                tag::TEXT => text.push(part),
                tag::BEGIN => return Some(Self::Begin),
                tag::MATCHED => return Some(Self::Matched(serde_json::from_str(&part).ok()?)),
                tag::REPORT => return Some(Self::Report(text)),
                _ => return Some(Self::Failure(serde_json::from_str(&part).ok()?)),
            }
        }
    }
}

/// Time limit until a worker begins with its first file. It first loads the network.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Runs workers until each of `files` has a result, and hands those out in order. `arguments` are the worker's own. Returns
/// what the files matched of the sizes that were given.
///
/// # Errors
/// A process that does not start, and what `hand_out` fails with.
pub fn run(
    files: &[PathBuf],
    arguments: &[String],
    time_limit: Duration,
    hand_out: impl FnMut(&Path, Result<Text, Failure>) -> io::Result<()>,
) -> io::Result<Matched> {
    let mut queue = Queue {
        matched: Matched::default(),
        pending: files,
        hand_out,
    };
    while let Some(first) = queue.pending.first() {
        let mut worker = Worker::start(queue.pending, arguments)?;
        let end = queue.take_results(&worker, time_limit)?;
        let status = worker.end()?;
        // The standard input can be read only once.
        let is_again =
            |file: &PathBuf| end.is_none() && !std::ptr::eq(file, first) && !is_stdin(file);
        if queue.pending.first().is_some_and(is_again) {
            continue;
        }
        let failure = end.unwrap_or_else(|| {
            let words = format!(
                "the process that estimated it ended early ({status}): perhaps it ran out of memory"
            );
            Failure::new("process-ended", words)
        });
        queue.finish(Err(failure))?;
    }
    Ok(queue.matched)
}

/// Sizes that were given and that files leave open.
#[derive(Debug, Default)]
pub struct Matched {
    pub n_reports: usize,
    pub names: BTreeSet<String>,
}

/// The files that have no result yet.
struct Queue<'f, H> {
    pending: &'f [PathBuf],
    matched: Matched,
    /// Receives each file with its result.
    hand_out: H,
}

impl<H: FnMut(&Path, Result<Text, Failure>) -> io::Result<()>> Queue<'_, H> {
    /// Hands out results of a worker until it ends or takes too long. Returns the failure if it took too long.
    fn take_results(
        &mut self,
        worker: &Worker,
        time_limit: Duration,
    ) -> io::Result<Option<Failure>> {
        // Without an end where the limit is beyond what a clock holds.
        let mut deadline = Instant::now().checked_add(START_LIMIT);
        loop {
            let result = match worker.next(deadline) {
                Ok(Message::Begin) => {
                    deadline = Instant::now().checked_add(time_limit);
                    continue;
                }
                Ok(Message::Matched(names)) => {
                    self.matched.names.extend(names);
                    continue;
                }
                Ok(Message::Report(json)) => Ok(json),
                Ok(Message::Failure(failure)) => Err(failure),
                Err(RecvTimeoutError::Timeout) => {
                    let words = format!("took longer than {} s", time_limit.as_secs());
                    return Ok(Some(Failure::new("time-limit", words)));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            };
            if self.pending.is_empty() {
                return Ok(None);
            }
            self.finish(result)?;
        }
    }

    /// Hands out the result of the first pending file, if there is one.
    fn finish(&mut self, result: Result<Text, Failure>) -> io::Result<()> {
        if let Some((file, rest)) = self.pending.split_first() {
            self.matched.n_reports += usize::from(result.is_ok());
            (self.hand_out)(file, result)?;
            self.pending = rest;
        }
        Ok(())
    }
}

/// The allocator of a worker returns what a file needed at once, and takes no pages of 2 MB: of a small file it holds
/// half as much with them, of one with 100,000 operators a fifth less, in the same time.
const ALLOCATOR: [(&str, &str); 2] = [("MIMALLOC_PURGE_DELAY", "0"), ("MIMALLOC_ALLOW_THP", "0")];

struct Worker {
    process: Child,
    messages: Receiver<Message>,
}

impl Worker {
    fn start(files: &[PathBuf], arguments: &[String]) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .arg("--")
            .args(files)
            .envs(ALLOCATOR)
            .stdin(Stdio::inherit())
            .stdout(Stdio::piped())
            .spawn()?;
        let (sender, messages) = channel();
        if let Some(mut output) = process.stdout.take() {
            // Ends with the worker.
            std::thread::spawn(move || {
                while let Some(message) = Message::read(&mut output) {
                    if sender.send(message).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { process, messages })
    }

    fn next(&self, deadline: Option<Instant>) -> Result<Message, RecvTimeoutError> {
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        self.messages.recv_timeout(left)
    }

    /// Ends the worker, if it has not ended by itself.
    fn end(&mut self) -> io::Result<std::process::ExitStatus> {
        // A worker that has closed its output is about to end by itself, and its status says why.
        let is_closed = matches!(
            self.messages.try_recv(),
            Err(std::sync::mpsc::TryRecvError::Disconnected)
        );
        if !is_closed {
            let _ = self.process.kill();
        }
        self.process.wait()
    }
}

/// Ends the worker when it is no longer needed, for example after the output was closed.
impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let messages = [
            Message::Begin,
            Message::Matched(vec!["sequence".into(), "0.1".into()]),
            Message::Report(vec!["ä".into(), "\n".into()]),
            Message::Failure(Failure::new("batch", "ö")),
        ];
        let mut bytes = Vec::new();
        for message in &messages {
            message.write(&mut bytes).unwrap();
        }
        // A report that fails after some of its text.
        write_part(&mut bytes, tag::TEXT, b"{").unwrap();
        messages[3].write(&mut bytes).unwrap();
        let mut from = bytes.as_slice();
        for message in messages.iter().chain([&messages[3]]) {
            assert_eq!(Message::read(&mut from).as_ref(), Some(message));
        }
        assert_eq!(Message::read(&mut from), None);
        assert_eq!(Message::read(&mut &bytes[..3]), None);
    }
}
