//! Properties of a terminal: its width, colours, and text that must not control it.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use console::Term;

/// Width if the output is not a terminal, or if the terminal does not state its width.
const DEFAULT_WIDTH: usize = 80;
/// A narrower table would have one letter per line.
const MIN_WIDTH: usize = 40;
/// A wider sentence is hard to read.
const MAX_WIDTH: usize = 120;

/// Width of the standard output in columns; `COLUMNS` if it is not a terminal.
pub fn width() -> usize {
    let terminal = Term::stdout()
        .size_checked()
        .map(|(_, columns)| usize::from(columns));
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = terminal.or_else(columns).unwrap_or(DEFAULT_WIDTH);
    width.clamp(MIN_WIDTH, MAX_WIDTH)
}

/// Writes to the standard output; colours reach terminals alone, and none where `NO_COLOR` is set.
pub fn print(text: &str) -> io::Result<()> {
    let mut to = anstream::stdout().lock();
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Writes to the standard output as it is, for programs.
pub fn print_raw(text: &str) -> io::Result<()> {
    let mut to = io::stdout().lock();
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Prints a message, usually of one line, on the standard error stream. If the stream is closed, the message is lost.
pub fn complain(words: &str) {
    let mut to = anstream::stderr().lock();
    let lines: Vec<String> = words.trim_end().lines().map(plain).collect();
    let _ = writeln!(to, "{} {}", red("litecast:"), lines.join("\n"));
}

pub fn bold(text: impl Display) -> String {
    styled(Style::new().bold(), text)
}

pub fn dim(text: impl Display) -> String {
    styled(Style::new().dimmed(), text)
}

pub fn red(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}

pub fn green(text: impl Display) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

pub fn yellow(text: impl Display) -> String {
    styled(AnsiColor::Yellow.on_default(), text)
}

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Whether a character is not visible but controls the display of text: colours of a terminal, or the direction and the
/// lines of the text after it.
fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// JSON in which terminal control characters of names are written as escapes, which every reader decodes to the same
/// text. Those below a space are already escaped.
pub fn plain_json(mut json: String) -> String {
    let is_spelt = |character: char| character != '\n' && is_control(character);
    if json.contains(is_spelt) {
        let spelt = |character: char| {
            if is_spelt(character) {
                format!("\\u{:04x}", u32::from(character))
            } else {
                character.to_string()
            }
        };
        json = json.chars().map(spelt).collect();
    }
    json
}

/// Writes lines of JSON to the standard output.
pub fn print_json(json: String) -> io::Result<()> {
    print_raw(&plain_json(json))
}

/// A name from a file, without terminal control characters.
pub fn plain(text: &str) -> String {
    let shown = |character: char| {
        if is_control(character) {
            char::REPLACEMENT_CHARACTER
        } else {
            character
        }
    };
    text.chars().map(shown).collect()
}

/// Lines of at most `width` columns; all but the first have an indent.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    textwrap::fill(text, options(width).subsequent_indent(indent))
}

/// Names of files in bold, wrapped only between words, because a broken path cannot be copied.
pub fn heading(names: &str, width: usize) -> String {
    let options = options(width).subsequent_indent("  ").break_words(false);
    bold(textwrap::fill(&plain(names), options))
}

/// Ids such as `ethos-u55-256` stay whole.
fn options<'o>(width: usize) -> textwrap::Options<'o> {
    let options = textwrap::Options::new(width);
    let options = options.word_separator(textwrap::WordSeparator::AsciiSpace);
    options.word_splitter(textwrap::WordSplitter::NoHyphenation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_steer_the_terminal() {
        assert_eq!(
            plain("conv\x1b[2J\r\nä"),
            "conv\u{fffd}[2J\u{fffd}\u{fffd}ä"
        );
        assert_eq!(plain("a\u{202e}b\u{2028}c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn json_stays_the_same_text() {
        let name = "a\u{1b}[2J\u{9b}31m\u{202e}ä\u{7f}";
        let json = plain_json(serde_json::to_string(name).unwrap() + "\n");
        assert_eq!(json, "\"a\\u001b[2J\\u009b31m\\u202eä\\u007f\"\n");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), name);
    }
}
