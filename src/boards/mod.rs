//! Boards that people buy, with the memory and the clock of each: `boards.json`, from the makers' data
//! sheets. [`fits`] says on which a model has room.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::graph::analysis::memory_plan::Unplannable;
use crate::targets::tflite_micro::{Kernels, Pointers, arena_bytes};

/// One board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Board {
    /// Stable identifier, kebab-case.
    pub id: String,
    /// As its maker calls it.
    pub name: String,
    /// The microcontroller.
    pub chip: String,
    /// The core that runs models.
    pub core: String,
    /// Of that core.
    pub clock_mhz: f64,
    /// All RAM on the chip, tightly coupled memory included.
    pub sram_kib: u64,
    /// Tightly coupled memory.
    pub tcm_kib: u64,
    /// On the chip; 0 where programs lie in external flash.
    pub flash_kib: u64,
    /// On the board beside the chip.
    pub external_ram_kib: u64,
    /// On the board beside the chip.
    pub external_flash_kib: u64,
    /// The neural accelerator, where the chip has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub npu: Option<String>,
    /// Absent where no board with its core was measured under a runtime that is modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyOf>,
    /// The documents that the numbers come from.
    pub source: String,
}

/// The target that estimates a board's latency, at the board's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyOf {
    /// Id of the target.
    pub target: String,
    /// Whether the target's constants come from other boards with the same core.
    pub is_transferred: bool,
}

/// Every board, in the order of the file.
pub fn boards() -> &'static [Board] {
    static BOARDS: LazyLock<Vec<Board>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("boards.json"))
            .expect("the shipped file is a table of boards")
    });
    &BOARDS
}

/// Memory that a model needs under TensorFlow Lite Micro.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The whole arena.
    pub ram_bytes: u64,
    /// The file. Code is part of the application.
    pub flash_bytes: u64,
}

impl Need {
    /// Quadratic in activations, up to a limit.
    pub fn of(graph: &Graph) -> Result<Self, Unplannable> {
        Ok(Self {
            ram_bytes: arena_bytes(graph, Kernels::CmsisNnDsp, Pointers::Bits32)?,
            flash_bytes: graph.model.file_bytes as u64,
        })
    }
}

/// Memory that the application keeps for itself: its code in flash, the runtime's included, and its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Application {
    /// Its data.
    pub ram_bytes: u64,
    /// Its code.
    pub flash_bytes: u64,
}

/// Whether a model has room on a board.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The board.
    pub board: &'static Board,
    /// Of the arena.
    pub ram: Room,
    /// Of the file.
    pub flash: Room,
}

impl Fit {
    /// Whether there is room for both.
    pub fn is_fitting(&self) -> bool {
        !matches!(self.ram, Room::Short { .. }) && !matches!(self.flash, Room::Short { .. })
    }
}

/// Where a part of the model lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "room")]
pub enum Room {
    /// In the memory of the chip.
    OnChip {
        /// Free beside it.
        left_bytes: u64,
    },
    /// Not on the chip, but in memory beside it, which is slower.
    External {
        /// Free beside it.
        left_bytes: u64,
    },
    /// Nowhere.
    Short {
        /// More than the larger of the two memories has.
        missing_bytes: u64,
    },
}

impl Room {
    fn of(needed_bytes: u64, on_chip_kib: u64, external_kib: u64) -> Self {
        let left = |kib: u64| (kib << 10).checked_sub(needed_bytes);
        match (left(on_chip_kib), left(external_kib)) {
            (Some(left_bytes), _) => Self::OnChip { left_bytes },
            (None, Some(left_bytes)) => Self::External { left_bytes },
            (None, None) => Self::Short {
                missing_bytes: needed_bytes - (on_chip_kib.max(external_kib) << 10),
            },
        }
    }
}

/// Each board, in the order of [`boards`].
pub fn fits(need: &Need, application: &Application) -> Vec<Fit> {
    let ram_bytes = need.ram_bytes.saturating_add(application.ram_bytes);
    let flash_bytes = need.flash_bytes.saturating_add(application.flash_bytes);
    let fit = |board: &'static Board| Fit {
        board,
        ram: Room::of(ram_bytes, board.sram_kib, board.external_ram_kib),
        flash: Room::of(flash_bytes, board.flash_kib, board.external_flash_kib),
    };
    boards().iter().map(fit).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_is_sound() {
        let boards = boards();
        assert!(boards.len() >= 30, "{} boards", boards.len());
        let ids: BTreeSet<&str> = boards.iter().map(|board| board.id.as_str()).collect();
        assert_eq!(ids.len(), boards.len(), "identifiers are unique");
        for board in boards {
            assert!(
                board.sram_kib > 0 && board.tcm_kib <= board.sram_kib,
                "{}",
                board.id
            );
            assert!(
                board.flash_kib + board.external_flash_kib > 0,
                "{}",
                board.id
            );
            assert!((1.0..=1200.0).contains(&board.clock_mhz), "{}", board.id);
            assert!(!board.source.is_empty(), "{}", board.id);
            if let Some(latency) = &board.latency {
                let known = crate::targets::cortex_m::Constants::shipped();
                assert!(known.target(&latency.target).is_some(), "{}", board.id);
            }
        }
    }

    #[test]
    fn what_is_short_is_said_in_bytes() {
        let need = Need {
            ram_bytes: 300 << 10,
            flash_bytes: 1 << 20,
        };
        let on = |id: &str, application: &Application| {
            let mut fits = fits(&need, application).into_iter();
            fits.find(|fit| fit.board.id == id).unwrap()
        };
        let nothing = Application::default();
        let nano = on("arduino-nano-33-ble", &nothing);
        assert_eq!(
            nano.ram,
            Room::Short {
                missing_bytes: 44 << 10
            }
        );
        assert_eq!(nano.flash, Room::OnChip { left_bytes: 0 });
        assert!(!nano.is_fitting());
        let code = Application {
            ram_bytes: 0,
            flash_bytes: 1,
        };
        let nano = on("arduino-nano-33-ble", &code);
        assert_eq!(nano.flash, Room::Short { missing_bytes: 1 });
        let disco = on(
            "stm32f746g-disco",
            &Application {
                ram_bytes: 100 << 10,
                ..code
            },
        );
        let left_bytes = (8 << 20) - (400 << 10);
        assert_eq!(disco.ram, Room::External { left_bytes });
        assert!(disco.is_fitting());
    }
}
