//! The JSON Schema of a report, from the types that are written.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::{FailedReport, Report};

/// What `litecast predict --json` prints on a line: a report, or why a file has none.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "names the alternatives; nothing makes one")]
enum ReportLine {
    Report(Box<Report>),
    Failed(FailedReport),
}

/// What [`super::SCHEMA`] has to say.
pub fn derived_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .into_generator()
        .into_root_schema_for::<ReportLine>()
}
