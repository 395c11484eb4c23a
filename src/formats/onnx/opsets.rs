//! Versions of operator sets (`OperatorSetIdProto`), which a file and its functions import by domain.

use super::limits::LAST_KNOWN_OPSETS;
use super::wire::{Fields, Malformed, Read};

/// The domain of ONNX's own operators, which has an empty name as well.
pub(super) const ONNX: &str = "ai.onnx";

/// Of [`LAST_KNOWN_OPSETS`] a domain with its last opset, and the opset of that domain that a file has instead.
pub(super) type UnknownOpset = (&'static (&'static str, i64), i64);

/// Domain and version.
pub(super) fn opset_import(message: &[u8]) -> Read<(&str, i64)> {
    let mut domain_and_version = (ONNX, 1);
    for field in Fields::new(message) {
        match field? {
            (1, domain) => {
                let domain = domain.text().ok_or(Malformed)?;
                domain_and_version.0 = if domain.is_empty() { ONNX } else { domain };
            }
            (2, version) => domain_and_version.1 = version.integer().ok_or(Malformed)?,
            _ => {}
        }
    }
    Ok(domain_and_version)
}

pub(super) fn unknown(domain: &str, version: i64) -> Option<UnknownOpset> {
    let known = LAST_KNOWN_OPSETS.iter().find(|(name, _)| *name == domain)?;
    (!(1..=known.1).contains(&version)).then_some((known, version))
}
