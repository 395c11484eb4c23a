//! Reports of older versions → the same numbers as this version has them.

use serde_json::Value;

use super::{Failure, OLDEST_READ_VERSION, REPORT_VERSION};

/// Brings a stored report up to [`REPORT_VERSION`]. One of this version is left as it is.
///
/// `www/package/src/migrate.ts` does the same in JavaScript; the tests of both read `tests/stored_reports`.
///
/// # Errors
/// `wrong-report` for a value without a version, and for versions outside of [`OLDEST_READ_VERSION`] to
/// [`REPORT_VERSION`].
pub fn migrate(report: &mut Value) -> Result<(), Failure> {
    let wrong = |words: String| Failure::new("wrong-report", words);
    let version = report.get("schema_version").and_then(Value::as_u64);
    let version = version.ok_or_else(|| wrong("expected a report of litecast".into()))?;
    let known = u64::from(OLDEST_READ_VERSION)..=u64::from(REPORT_VERSION);
    if !known.contains(&version) {
        return Err(wrong(format!(
            "expected a report of version {OLDEST_READ_VERSION} to {REPORT_VERSION}, found {version}"
        )));
    }
    report["schema_version"] = REPORT_VERSION.into();
    Ok(())
}
