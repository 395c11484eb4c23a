//! Estimates files in a separate process, so that a file that exhausts the memory or takes too long does not cost other
//! files their report.
//!
//! The command starts itself as a worker, which reads its [`Work`] from its standard input, estimates one file after the
//! other and writes a [`Message`] for each to its standard output. If a worker ends early after other files, its current
//! file is tried again in a process of its own. A file that takes too long is given up at once: it costs its time limit,
//! and not several, in however many requests it stands.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use litecast::report::Failure;
use serde::Serialize;

use super::inputs::{identity, is_stdin};

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
    /// An option of a request.
    pub const OPTION: u8 = 5;
    /// Ends a request, whose options came before it.
    pub const REQUEST: u8 = 6;
    /// A file of a request, whose number is in the first four bytes.
    pub const FILE: u8 = 7;
    /// Ends the work.
    pub const START: u8 = 8;
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

fn read_part(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [tag, length @ ..] = head;
    let mut part = vec![0; u32::from_le_bytes(length) as usize];
    from.read_exact(&mut part)?;
    Ok((tag, part))
}

/// A file that is estimated for one of several requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub request_idx: usize,
    pub file: PathBuf,
}

/// What a worker does. It goes through a pipe, because a system limits how long arguments are, each and together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The options of each request.
    pub requests: Vec<Vec<String>>,
    pub tasks: Vec<Task>,
}

impl Work {
    /// As [`Self::read`] reads it.
    fn write(requests: &[Vec<String>], tasks: &[Task], to: &mut impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        for options in requests {
            for option in options {
                write_part(&mut to, tag::OPTION, option.as_bytes())?;
            }
            write_part(&mut to, tag::REQUEST, &[])?;
        }
        for Task { request_idx, file } in tasks {
            let number = u32::try_from(*request_idx).map_err(io::Error::other)?;
            let path = file.as_os_str().as_encoded_bytes();
            write_part(&mut to, tag::FILE, &[&number.to_le_bytes(), path].concat())?;
        }
        write_part(&mut to, tag::START, &[])?;
        to.flush()
    }

    /// # Errors
    /// Of `from`, and where it is no work.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut work = Self::default();
        let mut options = Vec::new();
        loop {
            let (tag, part) = read_part(from)?;
            match tag {
                tag::OPTION => options.push(String::from_utf8(part).map_err(io::Error::other)?),
                tag::REQUEST => work.requests.push(std::mem::take(&mut options)),
                tag::FILE => {
                    let (number, path) =
                        part.split_first_chunk().ok_or(io::ErrorKind::InvalidData)?;
                    work.tasks.push(Task {
                        request_idx: u32::from_le_bytes(*number) as usize,
                        file: path_from(path.to_vec()),
                    });
                }
                tag::START => return Ok(work),
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

#[cfg(unix)]
fn path_from(bytes: Vec<u8>) -> PathBuf {
    let path: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
    path.into()
}

#[cfg(not(unix))]
fn path_from(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
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
            let (tag, part) = read_part(from).ok()?;
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

/// Runs workers until each of the tasks has a result, and hands those out in order. Returns what the files matched of the
/// sizes that were given.
///
/// # Errors
/// A process that does not start, and what `hand_out` fails with.
pub fn run(
    work: &Work,
    time_limit: Duration,
    hand_out: impl FnMut(&Task, Result<Text, Failure>) -> io::Result<()>,
) -> io::Result<Matched> {
    let mut queue = Queue {
        matched: Matched::default(),
        pending: &work.tasks,
        given_up: HashMap::new(),
        hand_out,
    };
    while let Some(first) = queue.pending.first() {
        let mut worker = Worker::start(&work.requests, &queue.tasks())?;
        let end = queue.take_results(&mut worker, time_limit)?;
        let status = worker.end()?;
        // The standard input can be read only once.
        let is_again =
            |task: &Task| end.is_none() && !std::ptr::eq(task, first) && !is_stdin(&task.file);
        if queue.pending.first().is_some_and(is_again) {
            continue;
        }
        let failure = end.unwrap_or_else(|| {
            let words = format!(
                "the process that estimated it ended early ({status}): perhaps it ran out of memory"
            );
            Failure::new("process-ended", words)
        });
        queue.give_up(failure)?;
    }
    Ok(queue.matched)
}

/// Sizes that were given and that files leave open.
#[derive(Debug, Default)]
pub struct Matched {
    pub n_reports: usize,
    pub names: BTreeSet<String>,
}

/// The tasks that have no result yet.
struct Queue<'t, H> {
    pending: &'t [Task],
    matched: Matched,
    /// Files that no process finished, by their [`identity`], with what is said of them in further tasks.
    given_up: HashMap<PathBuf, Failure>,
    /// Receives each task with its result.
    hand_out: H,
}

impl<H: FnMut(&Task, Result<Text, Failure>) -> io::Result<()>> Queue<'_, H> {
    /// Hands out results of a worker until it ends or takes too long. Returns the failure if it took too long.
    fn take_results(
        &mut self,
        worker: &mut Worker,
        time_limit: Duration,
    ) -> io::Result<Option<Failure>> {
        // Without an end where the limit is beyond what a clock holds.
        let mut deadline = Instant::now().checked_add(START_LIMIT);
        loop {
            let result = match worker.next(deadline) {
                Ok(Message::Begin) => {
                    deadline = Instant::now().checked_add(time_limit);
                    if (self.pending.first()).is_some_and(|task| is_stdin(&task.file)) {
                        worker.pass_on_input();
                    }
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

    /// The pending tasks of files that were not given up.
    fn tasks(&self) -> Vec<Task> {
        let tasks = self.pending.iter();
        tasks
            .filter(|task| self.known_failure(task).is_none())
            .cloned()
            .collect()
    }

    fn known_failure(&self, task: &Task) -> Option<&Failure> {
        // Paths are followed for nothing where no file was given up.
        if self.given_up.is_empty() {
            return None;
        }
        self.given_up.get(&identity(&task.file))
    }

    /// Hands out the failure of the first pending task, whose file is not tried again.
    fn give_up(&mut self, failure: Failure) -> io::Result<()> {
        if let Some(task) = self.pending.first() {
            let words = format!("not tried again: {}", failure.message);
            let again = Failure::new(&failure.kind, words);
            self.given_up.insert(identity(&task.file), again);
        }
        self.finish(Err(failure))
    }

    /// Hands out the result of the first pending task, if there is one, and failures of tasks behind it whose files were
    /// given up.
    fn finish(&mut self, result: Result<Text, Failure>) -> io::Result<()> {
        let mut next = Some(result);
        while let (Some((task, rest)), Some(result)) = (self.pending.split_first(), next) {
            self.matched.n_reports += usize::from(result.is_ok());
            (self.hand_out)(task, result)?;
            self.pending = rest;
            let known = rest.first().and_then(|task| self.known_failure(task));
            next = known.cloned().map(Err);
        }
        Ok(())
    }
}

/// The allocator of a worker returns what a file needed at once, and takes no pages of 2 MB: of a small file it holds
/// half as much with them, of one with 100,000 operators a fifth less, in the same time.
const ALLOCATOR: [(&str, &str); 2] = [("MIMALLOC_PURGE_DELAY", "0"), ("MIMALLOC_ALLOW_THP", "0")];

struct Worker {
    process: Child,
    /// Absent once the standard input of this process goes there.
    input: Option<ChildStdin>,
    messages: Receiver<Message>,
}

impl Worker {
    fn start(requests: &[Vec<String>], tasks: &[Task]) -> io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("worker")
            .envs(ALLOCATOR)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = process.stdin.take();
        if let Some(input) = &mut input {
            // It reads all of it before it writes anything. Of one that has ended, the status says why.
            let _ = Work::write(requests, tasks, input);
        }
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
        Ok(Self {
            process,
            input,
            messages,
        })
    }

    /// The worker reads a model from the standard input of this process, behind its work.
    fn pass_on_input(&mut self) {
        if let Some(mut to) = self.input.take() {
            // Ends with its source or with the worker.
            std::thread::spawn(move || io::copy(&mut io::stdin().lock(), &mut to));
        }
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
    fn work_is_read_as_it_was_written() {
        let work = Work {
            requests: vec![vec!["--target=ä\0".into(), "".into()], vec![]],
            tasks: [(1, "a\n"), (0, "-")]
                .map(|(request_idx, file)| Task {
                    request_idx,
                    file: file.into(),
                })
                .into(),
        };
        let mut bytes = Vec::new();
        Work::write(&work.requests, &work.tasks, &mut bytes).unwrap();
        assert_eq!(Work::read(&mut bytes.as_slice()).unwrap(), work);
        for length in 0..bytes.len() {
            assert!(Work::read(&mut &bytes[..length]).is_err());
        }
    }

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
