//! Numbers and durations as tools and spreadsheets write them.

/// With a decimal point or comma, and points, commas, spaces or apostrophes between thousands; `None` where the text is
/// no number, or could be two: `1,234` has a comma of thousands or of decimals.
pub fn number(text: &str) -> Option<f64> {
    let is_between_thousands =
        |c: &char| c.is_whitespace() || matches!(c, '\'' | '\u{a0}' | '\u{202f}');
    let is_of_number = |c: char| c.is_ascii_digit() || "+-.,eE".contains(c);
    // Most texts are none, and end here at their first letter.
    if !text
        .chars()
        .all(|c| is_of_number(c) || is_between_thousands(&c))
    {
        return None;
    }
    let plain: String = text.chars().filter(|c| !is_between_thousands(c)).collect();
    if plain.is_empty() {
        return None;
    }
    let n_commas = plain.matches(',').count();
    let last = plain.rfind(['.', ',']);
    let in_point = match (n_commas, plain.contains('.')) {
        (0, _) if plain.matches('.').count() <= 1 => plain,
        (1, false) => {
            let (whole, fraction) = plain.split_once(',')?;
            let is_open =
                fraction.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0');
            if is_open {
                return None;
            }
            format!("{whole}.{fraction}")
        }
        // The last of both is the decimal one; several of a kind are of thousands.
        _ => {
            let last = last?;
            let (whole, fraction) = plain.split_at(last);
            let separator = &fraction[..1];
            let is_decimal = plain.matches(separator).count() == 1;
            let digits = |part: &str| part.replace(['.', ','], "");
            if is_decimal {
                format!("{}.{}", digits(whole), &fraction[1..])
            } else {
                digits(&plain)
            }
        }
    };
    in_point
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
}

/// Without a unit behind it.
fn digits(duration: &str) -> &str {
    duration.trim_end_matches(|c: char| c.is_alphabetic() || c.is_whitespace())
}

/// Whether the number of a duration has a decimal comma, and no comma of thousands.
pub fn has_decimal_comma(duration: &str) -> bool {
    let digits = digits(duration);
    digits.matches(',').count() == 1
        && digits.rfind(',') > digits.rfind('.')
        && number(digits).is_some()
}

/// Whether the point in the number of a duration stands between thousands where others have a decimal comma: `1.234`.
pub fn has_open_point(duration: &str) -> bool {
    digits(duration)
        .split_once('.')
        .is_some_and(|(whole, fraction)| {
            let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            are_digits(whole)
                && are_digits(fraction)
                && fraction.len() == 3
                && (1..=3).contains(&whole.len())
                && !whole.starts_with('0')
        })
}

/// Whether the comma in the number of a duration is one of decimals or of thousands, and nothing in it tells which: `1,234`.
pub fn has_open_comma(duration: &str) -> bool {
    let digits = digits(duration);
    number(digits).is_none() && number(&with_point(digits)).is_some()
}

/// With the first comma as the decimal one.
fn with_point(text: &str) -> String {
    text.replacen(',', ".", 1)
}

/// As [`duration_ms`], where an open comma is the decimal one.
pub fn duration_with_comma_ms(text: &str, column_ms: f64) -> Option<f64> {
    duration_ms(text, column_ms).or_else(|| duration_ms(&with_point(text), column_ms))
}

/// Milliseconds of each unit of time.
const UNITS_MS: [(&str, f64); 9] = [
    ("ns", 1e-6),
    ("usec", 1e-3),
    ("us", 1e-3),
    ("µs", 1e-3),
    ("μs", 1e-3),
    ("msec", 1.0),
    ("ms", 1.0),
    ("sec", 1e3),
    ("s", 1e3),
];

/// Milliseconds of the unit that a text ends with.
pub fn unit_ms(text: &str) -> Option<f64> {
    let units = UNITS_MS.iter();
    let mut of_text = units.filter(|(unit, _)| {
        text.strip_suffix(unit)
            .is_some_and(|before| !before.ends_with(|c: char| c.is_alphabetic()))
    });
    of_text.next().map(|(_, ms)| *ms)
}

/// Milliseconds of a number, with a unit of its own or in `column_ms`.
pub fn duration_ms(text: &str, column_ms: f64) -> Option<f64> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let stated_ms = unit_ms(&text);
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    if stated_ms.is_none() && digits.len() != text.len() {
        return None;
    }
    Some(number(digits)? * stated_ms.unwrap_or(column_ms)).filter(|ms| *ms >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, expected) in [
            ("5.25", Some(5.25)),
            ("5,25", Some(5.25)),
            ("1.234,5", Some(1234.5)),
            ("1,234.5", Some(1234.5)),
            ("1 234,5", Some(1234.5)),
            ("1'234.5", Some(1234.5)),
            ("1,234,567", Some(1_234_567.0)),
            ("0,125", Some(0.125)),
            ("1e-3", Some(1e-3)),
            ("1,234", None),
            ("", None),
            ("e", None),
            (".,", None),
            ("nan", None),
            ("1e999", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn commas_tell_what_points_are() {
        for (text, has_comma, is_open) in [
            ("5,2", true, false),
            ("5,2 ms", true, false),
            ("0,125", true, false),
            ("1.234,5", true, false),
            ("1,234.5", false, false),
            ("1,234", false, false),
            ("1.234", false, true),
            ("12.500ms", false, true),
            ("0.500", false, false),
            ("1234.500", false, false),
            ("5.2", false, false),
        ] {
            assert_eq!(has_decimal_comma(text), has_comma, "{text}");
            assert_eq!(has_open_point(text), is_open, "{text}");
        }
        for (text, is_open) in [
            ("1,234", true),
            ("1,234 ms", true),
            ("0,125", false),
            ("1,23", false),
            ("1,234,567", false),
            ("a,123", false),
        ] {
            assert_eq!(has_open_comma(text), is_open, "{text}");
        }
    }

    #[test]
    fn a_unit_beside_the_number_comes_first() {
        for (text, expected) in [
            ("5.25", Some(5.25)),
            ("250 us", Some(0.25)),
            ("250µs", Some(0.25)),
            ("1.5s", Some(1500.0)),
            ("3,5 ms", Some(3.5)),
            ("12 apples", None),
            ("-1", None),
        ] {
            assert_eq!(duration_ms(text, 1.0), expected, "{text}");
        }
    }
}
