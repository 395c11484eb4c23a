//! A result of a report's JSON as the command's tables print it.

use serde_json::Value;

#[path = "../../src/command/quantity.rs"]
#[expect(dead_code)]
mod quantity;

/// The name of a result, and its value and interval in the words of the command's tables.
pub fn estimate(result: &Value) -> Option<(String, String)> {
    let field = |name: &str| result[name].as_f64();
    let (value, unit) = (field("value")?, result["unit"].as_str()?);
    let name = format!(
        "{} {}",
        result["target"].as_str()?,
        result["metric"].as_str()?
    );
    let printed = quantity::measure(value, unit);
    let interval = field("lo").zip(field("hi"));
    let interval = interval.map(|(lo, hi)| quantity::interval(lo, hi, unit, value));
    Some((name, format!("{printed}, {}", interval.unwrap_or_default())))
}
