//! The JSON Schema of a report, derived from the serialised types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::{FailedReport, Report, Summary};

/// What `litecast predict --json` prints on a line: a report, or why a file has none. The packages return a summary where
/// one is asked for.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "names the alternatives; nothing makes one")]
enum ReportLine {
    Report(Box<Report>),
    Summary(Box<Summary<'static>>),
    Failed(FailedReport),
}

/// The expected contents of [`super::SCHEMA`].
pub fn derived_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .into_generator()
        .into_root_schema_for::<ReportLine>()
}
