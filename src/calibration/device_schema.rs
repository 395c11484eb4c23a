//! The JSON Schema of a device's document, derived from its types.

use schemars::Schema;
use schemars::generate::SchemaSettings;

use crate::targets::measured_device::Device;

/// The expected contents of [`DEVICE_SCHEMA`](super::DEVICE_SCHEMA).
pub fn derived_device_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<Device>()
}
