//! Files that are too large, take too much memory or take too long.

use std::fs;
use std::process::Command;

use super::*;

/// The file has no bytes on the disk, and none of it is read.
#[test]
fn a_file_beyond_the_limit_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large).unwrap().set_len(3 << 30).unwrap();
    let good = examples().remove(0);
    let output = litecast(&[
        "predict",
        "--json",
        large.to_str().unwrap(),
        good.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2);
    assert!(
        lines[1].get("model").is_some(),
        "the good file has its report"
    );
    let words = lines[0]["error"]["message"].as_str().unwrap();
    assert!(words.contains("found 3221225472 bytes"), "{words}");
}

/// With less memory than the large file has bytes, the other one still has its report.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_memory_does_not_hold_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large)
        .unwrap()
        .set_len(2_000_000_000)
        .unwrap();
    let good = examples().remove(0);
    let command = format!(
        "ulimit -v 1500000; exec {} predict --json {} {}",
        env!("CARGO_BIN_EXE_litecast"),
        large.display(),
        good.display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{errors}");
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(
        lines[1].get("model").is_some(),
        "the good file has its report"
    );
    assert!(errors.contains("large.tflite"), "{errors}");
}

/// 150,000 rows of twenty columns have no more memory than the report that they are of.
#[cfg(target_os = "linux")]
#[test]
fn rows_of_operators_are_printed_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.json");
    let n_operators = 15_000;
    let tensors: Vec<String> = (0..=n_operators)
        .map(|idx| format!(r#"{{"name":"t{idx}","shape":[1,8,8,8],"type":"int8"}}"#))
        .collect();
    let operators: Vec<String> = (0..n_operators)
        .map(|idx| {
            let next = idx + 1;
            format!(r#"{{"kind":"RELU","inputs":["t{idx}"],"outputs":["t{next}"]}}"#)
        })
        .collect();
    let graph = format!(
        r#"{{"format":"litecast-graph","version":1,"name":"x","inputs":["t0"],"outputs":["t{n_operators}"],"tensors":[{}],"operators":[{}]}}"#,
        tensors.join(","),
        operators.join(",")
    );
    fs::write(&file, graph).unwrap();
    // Of the memory that is asked for, not used: one arena, however many threads there are.
    let command = format!(
        "ulimit -v 210000; MALLOC_ARENA_MAX=1 exec {} predict --csv --operators {}",
        env!("CARGO_BIN_EXE_litecast"),
        file.display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rows = String::from_utf8(output.stdout).unwrap();
    let n_targets = (rows.lines().count() - 1) / n_operators;
    println!("{n_targets} targets, {} bytes of rows", rows.len());
    assert_eq!(rows.lines().count(), 1 + n_targets * n_operators);
    assert!(n_targets >= 5, "{n_targets}");
}

/// What lies in a folder is read where it is a file; a pipe that is named is waited for.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_a_folder_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(&examples()[0], folder.path().join("good.tflite")).unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink(at("folder"), at("link.tflite")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(at("pipe.tflite"))
            .status()
            .unwrap()
            .success()
    );
    let pattern = at("*.tflite");
    for argument in [folder.path(), &pattern] {
        let output = litecast(&["facts", "--json", "--time-limit=600", path(argument)]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert_eq!(json_lines(&output).len(), 1, "{errors}");
        for name in ["pipe.tflite", "link.tflite"] {
            assert!(
                errors.contains(&format!("{name}: passed over")) || argument != folder.path(),
                "{errors}"
            );
        }
    }
}

/// A file whose bytes change while it is read ends in a report or in an error of a known kind, and costs no other file
/// its report.
#[test]
fn a_file_that_changes_while_it_is_read_costs_no_other_its_report() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let folder = tempfile::tempdir().unwrap();
    let changing = folder.path().join("changing.tflite");
    let good = examples().remove(0);
    let bytes = fs::read(&good).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let longer = bytes.repeat(16);
            for length in (0..longer.len()).step_by(997).cycle() {
                if is_done.load(Relaxed) {
                    return;
                }
                let _ = fs::write(&changing, &longer[..length]);
            }
        });
        let mut n_reports = 0;
        for _ in 0..12 {
            let output = litecast(&["facts", "--json", path(&changing), path(&good)]);
            let lines = json_lines(&output);
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(lines.len(), 2, "{errors}");
            assert!(lines[1].get("model").is_some(), "{errors}");
            n_reports += usize::from(lines[0].get("model").is_some());
            let kind = lines[0]["error"]["kind"].as_str().unwrap_or_default();
            assert!(kind != "process-ended", "{errors}");
        }
        println!("{n_reports} of 12 have a report");
        is_done.store(true, Relaxed);
    });
}

/// It is opened once, however often and under whatever names it stands: a second try would cost its time limit once more.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_takes_too_long_is_tried_once() {
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.tflite");
    assert!(
        Command::new("mkfifo")
            .arg(&endless)
            .status()
            .unwrap()
            .success()
    );
    let n_readers = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = n_readers.clone();
    let pipe = endless.clone();
    // Ends with the test's process: nobody opens the pipe any more.
    std::thread::spawn(move || {
        while let Ok(mut writer) = fs::OpenOptions::new().write(true).open(&pipe) {
            counted.fetch_add(1, Relaxed);
            while writer.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
    let examples = examples();
    let links = ["link.tflite", "again.tflite"].map(|name| folder.path().join(name));
    for link in &links {
        std::os::unix::fs::symlink(&endless, link).unwrap();
    }
    let output = litecast(&[
        "facts",
        "--json",
        "--time-limit=8",
        path(&examples[0]),
        path(&endless),
        path(&links[0]),
        path(&examples[1]),
        path(&links[1]),
    ]);
    let lines = json_lines(&output);
    assert_eq!(lines.len(), 5);
    for (idx, words) in [
        (1, "took longer than 8 s"),
        (2, "not tried again: took longer than 8 s"),
        (4, "not tried again: took longer than 8 s"),
    ] {
        assert_eq!(lines[idx]["error"]["kind"], "time-limit");
        assert_eq!(lines[idx]["error"]["message"], words);
    }
    assert!(lines[3].get("model").is_some());
    assert_eq!(n_readers.load(Relaxed), 1);
}

/// A pipe that nobody writes to never ends.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_takes_too_long_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.tflite");
    let made = Command::new("mkfifo").arg(&endless).status().unwrap();
    assert!(made.success());
    let examples = examples();
    for (command, told, seconds) in [("predict", "model", 8), ("boards", "need", 4)] {
        let output = litecast(&[
            command,
            "--json",
            &format!("--time-limit={seconds}"),
            examples[0].to_str().unwrap(),
            endless.to_str().unwrap(),
            examples[1].to_str().unwrap(),
        ]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        println!("{errors}");
        assert_eq!(output.status.code(), Some(1), "{command}");
        let lines = json_lines(&output);
        assert_eq!(lines.len(), 3, "{errors}");
        assert_eq!(lines[1]["error"]["kind"], "time-limit");
        assert!(
            lines[2].get(told).is_some(),
            "{command}: the file behind it has its line"
        );
        assert!(
            errors.contains(&format!("endless.tflite: took longer than {seconds} s")),
            "{errors}"
        );
    }
}
