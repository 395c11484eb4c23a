//! Label files: JSON lines, one file for each shard, only appended to and flushed after each line.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::record::{Labelled, Record, Run};

/// A label file open for appending.
pub struct LabelFile {
    file: File,
    path: PathBuf,
}

impl LabelFile {
    /// Opens or creates `path`. An incomplete last line of an interrupted run is removed.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .with_context(|| format!("could not open {}", path.display()))?;
        let whole = whole_lines_bytes(&file)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    /// Writes one record and flushes it.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_string(record)?;
        line.push('\n');
        self.file
            .write_all(line.as_bytes())
            .with_context(|| format!("could not write {}", self.path.display()))
    }
}

/// Length of the file up to its last line end.
fn whole_lines_bytes(file: &File) -> Result<u64> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut whole = 0;
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.last() == Some(&b'\n') {
            whole += line.len() as u64;
        }
        line.clear();
    }
    Ok(whole)
}

/// All records in the label files of a folder.
#[derive(Debug, Default)]
pub struct Labels {
    /// Distinct runs, in the order found.
    pub runs: Vec<Run>,
    /// Labels in the order of the files.
    pub labelled: Vec<Labelled>,
}

impl Labels {
    /// Reads all `*.jsonl` of `folder`, in order of their names; empty if the folder does not exist. Refuses labels of
    /// different versions or configurations of a tool.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut labels = Self::default();
        for path in label_files(folder)? {
            labels.read_file(&path)?;
        }
        for (idx, run) in labels.runs.iter().enumerate() {
            labels.runs[..idx]
                .iter()
                .try_for_each(|earlier| ensure_same_tool(earlier, run))?;
        }
        Ok(labels)
    }

    fn read_file(&mut self, path: &Path) -> Result<()> {
        let file =
            File::open(path).with_context(|| format!("could not open {}", path.display()))?;
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        let mut line_number = 0;
        while reader.read_line(&mut line)? > 0 {
            line_number += 1;
            // An incomplete line is from an interrupted run; its graph is labelled again.
            if line.ends_with('\n') {
                let record = serde_json::from_str(&line)
                    .with_context(|| format!("{}:{line_number}", path.display()))?;
                self.insert(record);
            }
            line.clear();
        }
        Ok(())
    }

    fn insert(&mut self, record: Record) {
        match record {
            Record::Run(run) if self.runs.contains(&run) => {}
            Record::Run(run) => self.runs.push(*run),
            Record::Label(labelled) => self.labelled.push(*labelled),
        }
    }

    /// Existing labels: (graph, target) → the hash of the bytes in the last record, and whether it has a label.
    pub fn done(&self) -> HashMap<(String, String), Done> {
        let key = |labelled: &Labelled| (labelled.graph_id.clone(), labelled.target.clone());
        let value = |labelled: &Labelled| Done {
            sha256: labelled.sha256.clone(),
            is_final: matches!(labelled.outcome.status(), "ok" | "rejected"),
        };
        self.labelled
            .iter()
            .map(|labelled| (key(labelled), value(labelled)))
            .collect()
    }
}

/// State of one graph on one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// SHA-256 of the labelled file.
    pub sha256: String,
    /// False after time-outs and crashes, which may not occur on a quieter machine.
    pub is_final: bool,
}

/// Refuses to mix labels that are not comparable. Labels of several tools may be in the same folder, because tools have
/// no target in common.
pub fn ensure_same_tool(expected: &Run, current: &Run) -> Result<()> {
    let (expected_tool, found_tool) = (&expected.tool, &current.tool);
    ensure!(
        expected_tool.name != found_tool.name || expected_tool.labels_like(found_tool),
        "labels made by {} {} ({:?}) lie beside labels made by {} {} ({:?}); use another folder",
        expected_tool.name,
        expected_tool.version,
        expected_tool.settings,
        found_tool.name,
        found_tool.version,
        found_tool.settings,
    );
    for target in &current.targets {
        let other = expected.targets.iter().find(|other| other.id == target.id);
        if other.is_some_and(|other| other != target) {
            bail!(
                "target {} stands for two configurations; use another folder",
                target.id
            );
        }
    }
    Ok(())
}

fn label_files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?
    {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
