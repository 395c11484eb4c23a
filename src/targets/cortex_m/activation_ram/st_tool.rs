//! Releases of ST Edge AI Core, and the devices that it plans for in different ways.

/// Releases of the tool whose rules are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StRelease {
    /// STM32Cube.AI 7.3.
    V7_3,
    /// STM32Cube.AI 8.1.
    V8_1,
    /// STM32Cube.AI 10.0, which is ST Edge AI Core 2.0.
    V10_0,
    /// ST Edge AI Core 3.0 and 4.0, the newest.
    #[default]
    V4_0,
}

impl StRelease {
    /// The release of a version as ST's READMEs have it: `8.1.0`, or `8.1`. `None` of versions whose rules
    /// are not known.
    pub fn from_version(version: &str) -> Option<Self> {
        let mut parts = version.trim().split('.');
        match (parts.next()?, parts.next()?) {
            ("7", "3") => Some(Self::V7_3),
            ("8", "1") => Some(Self::V8_1),
            ("10", "0") | ("2", "0") => Some(Self::V10_0),
            ("3" | "4", "0") => Some(Self::V4_0),
            _ => None,
        }
    }

    /// The release whose rules apply to one that is chosen by its major version and its option, as `10-time`; `None` of
    /// the newest. Release 9, of which no layout is known, has the rules of 10.0.
    pub fn from_choice(release: &str) -> Option<Self> {
        match release.split('-').next()? {
            "7" => Some(Self::V7_3),
            "8" => Some(Self::V8_1),
            "9" => Some(Self::V10_0),
            _ => None,
        }
    }
}

/// Device families that the tool plans memory for in different ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StDevice {
    /// STM32H7, a Cortex-M7.
    Stm32H7,
    /// Any other STM32 without an accelerator.
    #[default]
    Other,
}

impl StDevice {
    /// The family of a chip, or of a board or series as ST's READMEs name it: `STM32H747XI`, `STM32H7`,
    /// `STM32H747I-DISCO`, `B-U585I-IOT02A`.
    pub fn from_board_name(board: &str) -> Self {
        if board.to_ascii_uppercase().contains("H7") {
            Self::Stm32H7
        } else {
            Self::Other
        }
    }
}

/// A release of the tool, and the device that it generates code for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StTool {
    pub release: StRelease,
    pub device: StDevice,
}

impl StTool {
    /// The newest release, for a board or series as [`StDevice::from_board_name`] takes it.
    pub fn newest_for(board: &str) -> Self {
        Self {
            release: StRelease::default(),
            device: StDevice::from_board_name(board),
        }
    }

    /// Whether outputs are written over inputs from the first layer on, by [`super::prefix`].
    pub(super) fn is_planned_by_prefix(self) -> bool {
        self.device == StDevice::Stm32H7 && self.release != StRelease::V7_3
    }

    /// Whether kernels differ from those of 7.3: in 8.1 and 10.0 on any device, later on an STM32H7 alone.
    pub(super) fn has_other_kernels(self) -> bool {
        match self.release {
            StRelease::V7_3 => false,
            StRelease::V8_1 | StRelease::V10_0 => true,
            StRelease::V4_0 => self.device == StDevice::Stm32H7,
        }
    }
}
