//! The counter's classes of instructions compared with what an independent disassembler says.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const TRAINER: &str = env!("CARGO_MANIFEST_DIR");

/// Reads instruction words, prints the class of each.
const PROGRAM: &str = r#"
#include <stdio.h>
#include "a64_classes.h"
int main(void) {
    unsigned word;
    while (scanf("%x", &word) == 1)
        puts(CLASS_NAMES[class_of(word)]);
    return 0;
}
"#;

fn build(folder: &Path) -> std::path::PathBuf {
    let (source, program) = (folder.join("classes.c"), folder.join("classes"));
    fs::write(&source, PROGRAM).unwrap();
    let status = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(Path::new(TRAINER).join("qemu"))
        .arg("-o")
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(status.success());
    program
}

fn classes_of(words: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Command::new(build(folder.path()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(words.join("\n").as_bytes()).unwrap();
    drop(stdin);
    let output = process.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Every kind of instruction in LiteRT's library is of the class that its name says.
#[test]
fn instructions_are_of_the_class_their_name_says() {
    let golden =
        fs::read_to_string(Path::new(TRAINER).join("tests/goldens/a64_classes.txt")).unwrap();
    let lines: Vec<Vec<&str>> = golden
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.splitn(3, ' ').collect())
        .collect();
    let words: Vec<&str> = lines.iter().map(|line| line[0]).collect();
    let actual = classes_of(&words);
    assert_eq!(actual.len(), lines.len());
    for (line, actual) in lines.iter().zip(&actual) {
        assert_eq!(actual, line[1], "{}", line.join(" "));
    }
    println!("{} kinds of instructions, all of their class", lines.len());
}
