//! Numbers for people, by the rules of the page (`www/src/format.ts`): three significant digits and a unit
//! that they know. `quantities.json` has cases that both must meet.

/// A number and its unit, which is empty for a plain count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    pub number: String,
    pub unit: String,
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if self.unit.is_empty() {
            f.write_str(&self.number)
        } else {
            write!(f, "{} {}", self.number, self.unit)
        }
    }
}

/// Digits behind the point at most: less than a femtosecond in ms is nothing.
const MAX_DECIMALS: i32 = 8;

/// Significant digits of a number, unless two that differ would look the same.
const N_DIGITS: usize = 3;
const MAX_DIGITS: usize = 12;
/// As the page has it: what differs by less than a millionth is one number to a reader.
const MAX_INTERVAL_DIGITS: usize = 6;

/// Three significant digits, never in powers of ten.
pub fn digits(value: f64) -> String {
    significant(value, N_DIGITS)
}

fn significant(value: f64, n_digits: usize) -> String {
    if !value.is_finite() {
        return "not finite".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // Rounded before its magnitude is taken: 999.9 is 1,000.
    let n_behind = n_digits - 1;
    let rounded: f64 = format!("{value:.n_behind$e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (n_behind as i32 - magnitude).clamp(0, MAX_DECIMALS) as usize;
    let value = away_from_tie(value, decimals);
    if magnitude >= 3 {
        return match decimals {
            0 => grouped(value.round()),
            _ => with_fraction(value, decimals),
        };
    }
    format!("{value:.decimals$}")
}

/// As [`grouped`], with decimals.
fn with_fraction(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let whole: f64 = whole.parse().unwrap_or(value);
    format!("{}.{fraction}", grouped(whole))
}

/// A value that lies exactly between two numbers of so many decimals goes to the larger one, as the page rounds: bytes in
/// KiB often do. Others stay as they are.
fn away_from_tie(value: f64, decimals: usize) -> f64 {
    let exact = format!("{value:.60}");
    let tail = exact
        .split_once('.')
        .and_then(|(_, tail)| tail.get(decimals..));
    let is_tie = tail.is_some_and(|tail| {
        tail.strip_prefix('5')
            .is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'))
    });
    if is_tie { value.next_up() } else { value }
}

/// A whole number with a comma at each thousand.
pub fn grouped(value: f64) -> String {
    let plain = format!("{:.0}", value.abs());
    let mut grouped = String::new();
    for (idx, digit) in plain.chars().enumerate() {
        if idx > 0 && (plain.len() - idx) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if value < 0.0 {
        format!("-{grouped}")
    } else {
        grouped
    }
}

/// In the unit of `like`, so that rounding never shows 1024 of a unit.
fn scaled(value: f64, base: f64, units: &[&str], like: f64, n_digits: usize) -> Quantity {
    let (mut rest, mut like, mut step) = (value, like.abs(), 0);
    while step + 1 < units.len() && like >= base - 0.5 {
        like /= base;
        rest /= base;
        step += 1;
    }
    let number = match step {
        0 if rest.fract() == 0.0 => grouped(rest),
        _ => significant(rest, n_digits),
    };
    Quantity {
        number,
        unit: units[step].to_owned(),
    }
}

pub fn bytes(value: f64) -> Quantity {
    bytes_like(value, value, N_DIGITS)
}

fn bytes_like(value: f64, like: f64, n_digits: usize) -> Quantity {
    let [value, like] = [value.round(), like.round()];
    if [value, like] == [1.0, 1.0] {
        return Quantity {
            number: "1".into(),
            unit: "byte".into(),
        };
    }
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    scaled(value, 1024.0, &units, like, n_digits)
}

/// A count with a decimal prefix, for example `5.82 M`.
pub fn count(value: u64) -> Quantity {
    count_in(value as f64, N_DIGITS)
}

fn count_in(value: f64, n_digits: usize) -> Quantity {
    let units = ["", "k", "M", "G", "T", "P"];
    scaled(value, 1000.0, &units, value, n_digits)
}

fn quantity_in_thousandths(
    value: f64,
    like: f64,
    [whole, milli, micro, nano]: [&str; 4],
    n_digits: usize,
) -> Quantity {
    let (value, unit) = match like.abs() {
        like if like >= 999.5 => (value / 1000.0, whole),
        like if like != 0.0 && like < 1e-4 => (value * 1e6, nano),
        like if like != 0.0 && like < 0.1 => (value * 1000.0, micro),
        _ => (value, milli),
    };
    Quantity {
        number: significant(value, n_digits),
        unit: unit.to_owned(),
    }
}

/// A value in a unit of the report.
pub fn measure(value: f64, unit: &str) -> Quantity {
    measure_like(value, unit, value)
}

/// In the unit that suits `like`: beside a value, its interval has the same unit.
pub fn measure_like(value: f64, unit: &str, like: f64) -> Quantity {
    measure_in(value, unit, like, N_DIGITS)
}

fn measure_in(value: f64, unit: &str, like: f64, n_digits: usize) -> Quantity {
    match unit {
        "bytes" => bytes_like(value, like, n_digits),
        "ms" => quantity_in_thousandths(value, like, ["s", "ms", "µs", "ns"], n_digits),
        "mJ" => quantity_in_thousandths(value, like, ["J", "mJ", "µJ", "nJ"], n_digits),
        "" => count_in(value, n_digits),
        unit => Quantity {
            number: significant(value, n_digits),
            unit: unit.to_owned(),
        },
    }
}

/// A value beside another: with as many digits as tell them apart. The unit of a count is empty.
pub fn measure_beside(value: f64, unit: &str, other: f64) -> Quantity {
    let shown = |amount, n_digits| measure_in(amount, unit, amount, n_digits);
    let tells_apart = |n_digits: &usize| shown(value, *n_digits) != shown(other, *n_digits);
    let n_digits = (value != other).then(|| (N_DIGITS..MAX_DIGITS).find(tells_apart));
    shown(value, n_digits.flatten().unwrap_or(N_DIGITS))
}

/// The ends of an interval in the unit of its value, with as many digits as tell them apart: `136 … 142 µs`.
pub fn interval(lo: f64, hi: f64, unit: &str, value: f64) -> String {
    let ends = |n_digits| [lo, hi].map(|end| measure_in(end, unit, value, n_digits));
    let tells_apart = |n_digits: &usize| {
        let [lo, hi] = ends(*n_digits);
        lo != hi
    };
    let n_digits = (lo != hi).then(|| (N_DIGITS..=MAX_INTERVAL_DIGITS).find(tells_apart));
    let [lo, hi] = ends(n_digits.flatten().unwrap_or(N_DIGITS));
    format!("{} … {hi}", lo.number)
}

/// Two significant digits.
pub fn percent(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    let decimals = match rounded.abs() {
        0.0 => 0,
        rounded => (1 - rounded.log10().floor() as i32).clamp(0, MAX_DECIMALS) as usize,
    };
    if rounded.abs() >= 1000.0 {
        format!("{} %", grouped(value.round()))
    } else {
        format!("{value:.decimals$} %")
    }
}

/// Signed, for example `+12 %`; what rounds to nothing has no sign, and what grows from nothing no percentage.
pub fn change(before: f64, after: f64) -> String {
    let percents = 100.0 * (after / before - 1.0);
    match percents {
        percents if percents.is_nan() => "0 %".into(),
        percents if !percents.is_finite() => "from 0".into(),
        percents if percents.abs() < 0.05 => "0 %".into(),
        percents if percents > 0.0 => format!("+{}", percent(percents)),
        percents => format!("−{}", percent(-percents)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, value and what the page shows too.
    #[test]
    fn quantities_are_those_of_the_page() {
        let cases = include_str!("quantities.json");
        let cases: Vec<(String, f64, String)> = serde_json::from_str(cases).unwrap();
        for (kind, value, expected) in cases {
            let actual = match kind.as_str() {
                "count" => count(value as u64).to_string(),
                unit => measure(value, unit).to_string(),
            };
            assert_eq!(actual, expected, "{kind} {value}");
        }
    }

    #[test]
    fn a_number_beside_a_limit_is_told_apart_from_it() {
        for (value, unit, limit, shown) in [
            (20.004, "ms", 20.0, "20.004 ms"),
            (19.5, "ms", 20.0, "19.5 ms"),
            (20.0, "ms", 20.0, "20.0 ms"),
            (999.96, "ms", 1000.0, "0.99996 s"),
            (65537.0, "bytes", 65536.0, "64.001 KiB"),
            (1048577.0, "bytes", 1048576.0, "1.000001 MiB"),
            (5_821_441.0, "", 5_820_000.0, "5.821 M"),
            (12_345_100.0, "ms", 12_345_000.0, "12,345.1 s"),
            (0.20001, "mJ", 0.2, "0.20001 mJ"),
        ] {
            assert_eq!(measure_beside(value, unit, limit).to_string(), shown);
        }
    }

    #[test]
    fn intervals_have_one_unit_and_changes_a_sign() {
        assert_eq!(interval(0.098, 0.104, "ms", 0.101), "0.0980 … 0.104 ms");
        assert_eq!(interval(0.0612, 0.11, "ms", 0.08), "61.2 … 110 µs");
        assert_eq!(interval(19.98, 20.02, "ms", 20.0), "19.98 … 20.02 ms");
        assert_eq!(interval(900.0, 1100.0, "bytes", 1030.0), "0.879 … 1.07 KiB");
        assert_eq!(change(100.0, 112.3), "+12 %");
        assert_eq!(change(100.0, 98.77), "−1.2 %");
        assert_eq!(change(1e9, 1e9 + 1.0), "0 %");
        assert_eq!(change(0.0, 4.0), "from 0");
        assert_eq!(change(0.0, 0.0), "0 %");
        let cases = include_str!("percentages.json");
        let cases: Vec<(f64, String)> = serde_json::from_str(cases).unwrap();
        for (value, expected) in cases {
            assert_eq!(percent(value), expected, "{value}");
        }
    }
}
