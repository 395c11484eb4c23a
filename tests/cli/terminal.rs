//! What a terminal, a pipe and a shell get.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

#[test]
fn what_is_printed_fits_its_columns_and_has_no_colours_in_a_pipe() {
    let [one, two] =
        ["cifar10-s7-i9", "kws-s7-i43"].map(|name| format!("www/examples/cnn-{name}.tflite"));
    let [one, two] = [one.as_str(), two.as_str()];
    let limits = [
        "--target",
        NPU,
        "--max-latency",
        "1us",
        "--max-sram",
        "1GiB",
    ];
    let commands: Vec<Vec<&str>> = vec![
        vec!["predict", one],
        vec!["predict", "--details", two],
        vec!["predict", "--operators", one],
        vec!["facts", one],
        vec!["facts", "--operators", two],
        vec!["compare", one, two],
        [vec!["check", one, two], limits.to_vec()].concat(),
        vec!["boards", one],
        vec!["sweep", "--max-latency", "10ms", one],
        vec!["targets"],
        vec!["targets", "--details"],
        vec!["check", "--help"],
        vec!["predict", "--help"],
        vec![
            "sweep",
            "--group",
            "phones-and-boards",
            "--max-latency",
            "10ms",
            one,
        ],
    ];
    for (args, columns) in commands.iter().flat_map(|args| [(args, 80), (args, 60)]) {
        let output = in_columns(columns, args);
        let text = stdout(&output);
        assert!(text.lines().count() > 3, "{args:?}: {text}");
        assert!(!text.contains('\u{1b}'), "{args:?}");
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= columns, "{args:?}: {width} columns in\n{line}");
        }
    }
    // What has no room is not left out in silence.
    let narrow = stdout(&in_columns(60, &commands[0]));
    let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!words.contains("evidence energy"), "{narrow}");
    assert!(
        words.contains("energy has no room here; --details lists it"),
        "{narrow}"
    );
    // Ids can be copied.
    for (args, id) in [
        (&commands[0], "cortex-a7-stm32mp157 "),
        (&commands[8], "ethos-u85-1024 "),
    ] {
        let text = stdout(&in_columns(60, args));
        assert!(text.contains(id), "{args:?}: {text}");
    }
}

#[test]
fn an_error_of_a_configuration_has_its_line_and_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("litecast.toml");
    fs::write(&config, "[[check]]\nmax = { latancy = \"1 ms\" }\n").unwrap();
    let output = litecast(&["check", "--config", path(&config)]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    let words = "litecast.toml: line 2: unknown field, expected one of `latency`";
    assert!(errors.contains(words), "{errors}");
}

#[test]
fn colours_come_where_they_are_asked_for_and_go_with_no_color() {
    let coloured = |no_color: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_litecast"));
        command.args(["targets"]).env("CLICOLOR_FORCE", "1");
        no_color.map(|value| command.env("NO_COLOR", value));
        stdout(&command.output().unwrap()).contains('\u{1b}')
    };
    assert!(coloured(None));
    assert!(!coloured(Some("1")));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_panic() {
    let examples = examples();
    for args in [
        vec!["predict", path(&examples[0]), path(&examples[1])],
        vec!["man"],
        vec!["targets", "--json"],
    ] {
        let mut process = Command::new(env!("CARGO_BIN_EXE_litecast"))
            .args(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {errors}");
        assert_eq!(errors, "", "{args:?}");
    }
}

#[test]
fn folders_patterns_and_the_standard_input_are_read_like_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/examples");
    let files = examples();
    let facts_with = |args: &[&str]| json_lines(&litecast(&[&["facts", "--json"], args].concat()));
    let named = facts_with(&files.iter().map(|file| path(file)).collect::<Vec<_>>());
    assert_eq!(named.len(), 3);
    assert_eq!(facts_with(&[path(&folder)]), named);
    assert_eq!(facts_with(&[path(&folder.join("*.tflite"))]), named);
    // What the system calls it is that of this process, not of the worker that opens files.
    let names: &[&str] = if cfg!(unix) {
        &["-", "/dev/stdin", "/dev/fd/0"]
    } else {
        &["-"]
    };
    for name in names {
        let mut process = Command::new(env!("CARGO_BIN_EXE_litecast"))
            .args(["facts", "--json", "--time-limit", "20", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        input.write_all(&fs::read(&files[0]).unwrap()).unwrap();
        drop(input);
        let piped = json_lines(&process.wait_with_output().unwrap()).remove(0);
        assert_eq!(piped["file"], "-");
        assert_eq!(piped["model"], named[0]["model"]);
    }
    let output = litecast(&["facts", "no-such-*.tflite"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Files of strangers are named as they like; their folders are too.
#[cfg(unix)]
#[test]
fn names_of_files_do_not_steer_what_shows_them() {
    const NAME: &str = "a\u{1b}[31m\u{9b}2J\r\u{7f}\u{202e}b";
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join(NAME);
    fs::create_dir(&below).unwrap();
    let [model, broken] = ["", "2"].map(|n| below.join(format!("{NAME}{n}.tflite")));
    fs::copy(&examples()[0], &model).unwrap();
    fs::write(&broken, "no model").unwrap();
    let [below, model] = [path(&below), path(&model)];
    let pattern = format!("{below}/*.none");
    let steers =
        |c: char| (c.is_control() && !"\r\n".contains(c)) || ('\u{202a}'..='\u{202e}').contains(&c);
    let commands: [(&[&str], &[&str]); 8] = [
        (
            &["facts", below],
            &["--json", "--csv", "--html", "--operators"],
        ),
        (
            &["predict", below],
            &["--json", "--csv", "--html", "--details"],
        ),
        (
            &["compare", below, below],
            &["--json", "--csv", "--markdown", "--all"],
        ),
        (
            &["compare", model, model],
            &["--json", "--csv", "--markdown", "--all"],
        ),
        (
            &["check", "--target", NPU, "--max-latency", "1us", below],
            &["--json", "--csv", "--markdown"],
        ),
        (&["boards", below], &["--json"]),
        (
            &["sweep", "--max-latency", "1ms", model],
            &["--json", "--csv", "--html"],
        ),
        (&["facts", &pattern], &[]),
    ];
    for (command, formats) in commands {
        for format in formats
            .iter()
            .map(|format| vec![*format])
            .chain([Vec::new()])
        {
            let output = litecast(&[command, &format].concat());
            for text in [&output.stdout, &output.stderr] {
                let text = String::from_utf8(text.clone()).unwrap();
                let actual: Vec<char> = text.chars().filter(|&c| steers(c)).collect();
                assert!(
                    actual.is_empty(),
                    "{command:?} {format:?}: {actual:?} in {text}"
                );
                // Lines end with a return and a line feed, or a line feed.
                let returns = text.matches('\r').count();
                assert_eq!(
                    returns,
                    text.matches("\r\n").count(),
                    "{command:?} {format:?}"
                );
            }
            if format == ["--json"] {
                let line = json_lines(&output).remove(0);
                let name = line["file"].as_str().or(line["before"].as_str()).unwrap();
                assert!(name.contains(NAME), "{name}");
            }
        }
    }
}

#[test]
fn every_list_is_json_too() {
    let targets = json_lines(&litecast(&["targets", "--json"]));
    assert!(targets.iter().any(|target| target["id"] == NPU));
    let microcontrollers = litecast::targets::cortex_m::targets();
    assert!(microcontrollers.len() >= 10);
    for core in microcontrollers {
        let is_listed = targets.iter().any(|target| target["id"] == core.id());
        assert!(is_listed, "{} is not listed", core.id());
    }
    let file = examples().remove(0);
    let lines = json_lines(&litecast(&["boards", "--json", path(&file), "/nowhere"]));
    assert_eq!(lines.len(), 2);
    let boards = lines[0]["boards"].as_array().unwrap();
    assert!(boards.len() >= 30);
    for board in boards {
        let has_room = board["reason"].is_null()
            && board["ram"]["room"] != "short"
            && board["flash"]["room"] != "short";
        assert_eq!(board["fits"] != "no", has_room, "{board}");
    }
    assert_eq!(lines[1]["error"]["kind"], "file-not-found");
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let commands = ["predict", "compare", "check", "facts", "boards", "targets"];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&litecast(&["completions", shell]));
        for command in commands {
            assert!(script.contains(command), "{shell}: no {command}");
        }
    }
    let page = stdout(&litecast(&["man"]));
    assert!(page.contains(".TH"), "{page}");
    for word in commands.iter().chain(&["max\\-latency", "litecast.toml"]) {
        assert!(page.contains(word), "no {word} in {page}");
    }
    assert!(!page.contains("worker"), "what is hidden stays so");
}
