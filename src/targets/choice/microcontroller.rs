//! Choices of a microcontroller: its clock and the release of its runtime.

use super::error::ChoiceError;
use super::options::Choice;
use crate::target::Target;
use crate::targets::cortex_m;

impl Choice {
    /// Under the release that the id or the choice names.
    pub(super) fn microcontroller(&self, id: &str) -> Result<Option<Box<dyn Target>>, ChoiceError> {
        let (target, of_id) = cortex_m::split_release(id);
        let Some(fitted) = cortex_m::Constants::shipped().target(target) else {
            return Ok(None);
        };
        let release = of_id.or(self.release.as_deref());
        check_release(id, fitted, release)?;
        let id = match release {
            Some(release) => &format!("{target}@{release}"),
            None => target,
        };
        Ok(cortex_m::target(id, self.clock_mhz))
    }
}

/// Refuses a release that the runtime of `fitted` does not have.
pub(super) fn check_release(
    target: &str,
    fitted: &cortex_m::Target,
    release: Option<&str>,
) -> Result<(), ChoiceError> {
    let expected: Vec<&str> = fitted
        .releases()
        .iter()
        .map(|release| release.id.as_str())
        .collect();
    match release.filter(|id| !expected.contains(id)) {
        Some(found) => Err(ChoiceError::UnknownRelease {
            target: target.to_owned(),
            found: found.to_owned(),
            expected,
        }),
        None => Ok(()),
    }
}
