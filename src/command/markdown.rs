//! Text of strangers in Markdown.

use super::terminal::plain;

/// Text as text in Markdown: names come from files of strangers.
pub fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A mention would notify a user.
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markdown() {
        let name = "a|b <b>[x](y)</b> @all\n# t";
        let expected = "a\\|b &lt;b&gt;\\[x\\](y)&lt;/b&gt; &#64;all\u{fffd}\\# t";
        assert_eq!(markdown_text(name), expected);
    }
}
