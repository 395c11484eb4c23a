//! The state of the repository that a result was made in.

use std::process::Command;

/// Commit of the current folder, with `-dirty` if files differ from it; `None` outside of a working tree.
pub fn commit() -> Option<String> {
    let arguments = [
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ];
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
