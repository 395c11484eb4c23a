//! Labels made on a Dask cluster compared with those of one local process.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use litecast_trainer::labels::plan::{Shard, SpaceCount};
use litecast_trainer::labels::{LabelArgs, ToolChoice, run};
use litecast_trainer::spaces::{Space, Weights};
use litecast_trainer::writer::Precision;
use serde::Deserialize;
use serde_json::json;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/label_on_dask.py");
const TRAINER: &str = env!("CARGO_BIN_EXE_litecast-trainer");
const N_GRAPHS: u64 = 6;
const SEED: u64 = 3;

/// A cluster of two worker processes, in which the script runs once for each line of the input: its arguments, and whether
/// one of the workers is killed while it has a shard. A line of the output has what the script printed, and its exit code.
const CLUSTER: &str = r#"
import json, os, signal, subprocess, sys, time
from dask.distributed import Client, LocalCluster

def kill_a_busy_worker(client, script):
    busy = []
    while not busy:
        assert script.poll() is None, "the script ended before a worker had a shard"
        busy = [address for address, tasks in client.processing().items() if tasks]
        time.sleep(0.01)
    (pid,) = client.run(os.getpid, workers=busy[:1]).values()
    os.kill(pid, signal.SIGKILL)

def run(cluster, client, arguments, kills):
    command = [sys.executable, *arguments, "--scheduler", cluster.scheduler_address]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    script = subprocess.Popen(command, **pipes)
    if kills:
        kill_a_busy_worker(client, script)
    stdout, stderr = script.communicate()
    return {"code": script.returncode, "stdout": stdout, "stderr": stderr}

if __name__ == "__main__":
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**workers, dashboard_address=None) as cluster, Client(cluster) as client:
        for line in sys.stdin:
            print(json.dumps(run(cluster, client, **json.loads(line))), flush=True)
"#;

/// What one run of the script said.
#[derive(Deserialize)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

struct Fixture {
    folder: tempfile::TempDir,
    python: PathBuf,
    cluster: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Fixture {
    fn make() -> Option<Self> {
        let python = litecast_needs::python("ethosu.regor, pyarrow, dask.distributed")?;
        let folder = tempfile::tempdir().unwrap();
        // A program of its own, because worker processes import the main module by its path.
        let program = folder.path().join("cluster.py");
        fs::write(&program, CLUSTER).unwrap();
        let mut command = Command::new(&python);
        let command = command.arg(program);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut cluster = command.spawn().unwrap();
        let lines = BufReader::new(cluster.stdout.take().unwrap()).lines();
        Some(Self {
            folder,
            python,
            cluster,
            lines,
        })
    }

    /// Ends the cluster.
    fn close(mut self) {
        drop(self.cluster.stdin.take());
        assert!(self.cluster.wait().unwrap().success());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn label_on_dask(&mut self, kills: bool, n_graphs: u64) -> Ran {
        let (out, spaces) = (self.path("dask"), format!("cnn-kws:{n_graphs}"));
        let request = json!({"kills": kills, "arguments": [
            SCRIPT, "--shards", "3", "--trainer", TRAINER, "--out", out, "--spaces", spaces,
            "--seed", SEED.to_string(), "--time-limit-s", "300",
        ]});
        let input = self.cluster.stdin.as_mut().unwrap();
        writeln!(input, "{request}").unwrap();
        let answer = self.lines.next().expect("an answer").unwrap();
        let ran: Ran = serde_json::from_str(&answer).unwrap();
        println!("{}{}", ran.stdout, ran.stderr);
        ran
    }

    fn label_locally(&self) {
        run(&LabelArgs {
            tool: ToolChoice::Vela,
            targets: Vec::new(),
            spaces: vec![SpaceCount {
                space: Space::CNN_KWS,
                n: N_GRAPHS,
            }],
            seed: SEED,
            precision: Precision::Int8,
            weights: Weights::Drawn,
            batches: vec![1],
            files: Vec::new(),
            jobs: 1,
            shard: Shard { index: 0, n: 1 },
            time_limit_s: 300.0,
            python: self.python.clone(),
            emulator: PathBuf::new(),
            out: self.path("local"),
        })
        .unwrap();
    }
}

/// Every label of a folder's files, sorted, as it is written but for the processor's time.
fn labels(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for path in label_files(folder) {
        let text = fs::read_to_string(path).unwrap();
        let labels = text
            .lines()
            .filter(|line| line.starts_with(r#"{"record":"label""#));
        lines.extend(labels.map(without_cpu_s));
    }
    lines.sort();
    lines
}

fn label_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    paths.sort();
    paths
}

fn without_cpu_s(line: &str) -> String {
    let (before, after) = line.split_once(r#""cpu_s":"#).unwrap();
    let (_, after) = after.split_once(',').unwrap();
    format!("{before}{after}")
}

/// A worker dies on the way, the labels are the same; a second run has nothing to do but for the
/// shard whose file is gone; another request is refused.
#[test]
fn labels_on_dask_are_those_of_a_local_run() {
    if std::env::var_os("LITECAST_CLUSTER").is_none() {
        return litecast_needs::skip(
            litecast_needs::Need::Cluster,
            "no LITECAST_CLUSTER; `make test-long` sets it",
        );
    }
    let Some(mut fixture) = Fixture::make() else {
        return;
    };
    let first = fixture.label_on_dask(true, N_GRAPHS);
    assert_eq!(first.code, 0);
    assert!(first.stderr.contains("3 of 3 shards to label"));
    fixture.label_locally();
    let (actual, expected) = (
        labels(&fixture.path("dask")),
        labels(&fixture.path("local")),
    );
    assert_eq!(expected.len() as u64, 3 * N_GRAPHS);
    assert_eq!(actual, expected);
    println!("{} labels, difference 0 bytes", actual.len());

    let files = label_files(&fixture.path("dask"));
    let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let times: Vec<_> = files.iter().map(|path| modified(path)).collect();
    fs::remove_file(&files[1]).unwrap();
    let second = fixture.label_on_dask(false, N_GRAPHS);
    assert_eq!(second.code, 0);
    assert!(second.stderr.contains("1 of 3 shards to label"));
    assert_eq!(labels(&fixture.path("dask")), expected);
    assert_eq!(modified(&files[0]), times[0]);
    assert_ne!(modified(&files[1]), times[1]);
    assert_eq!(modified(&files[2]), times[2]);

    let other = fixture.label_on_dask(false, N_GRAPHS + 1);
    assert_eq!(other.code, 1);
    assert!(other.stderr.contains("found another request"));
    fixture.close();
}
