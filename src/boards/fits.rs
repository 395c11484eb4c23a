//! Whether a model fits on each board, which memory is too small if it does not, and how fast it runs.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::graph::analysis::unplannable::Unplannable;
use crate::provenance::Evidence;
use crate::target::ETHOS_U;
use crate::target::boards::{self, Board, BoardMemory, LatencySource};
use crate::targets::cortex_m::{self, Constants, Latency, Refusal};
use crate::targets::tflite_micro::{
    self, Bytes, Kernels, Pointers, Refused, allocation_obstacle, code_flash_bytes,
    ethos_u_of_file, file_bytes, max_arena_bytes, refused, resolver_calls,
};

/// Memory that the application keeps for itself, beside the model and the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Application {
    /// RAM for its data.
    pub ram_bytes: u64,
    /// Flash for its code.
    pub flash_bytes: u64,
}

/// What Mbed OS gives to the thread that runs `main`. Nobody measured how much of it the interpreter takes.
const STACK_BYTES: u64 = 4096;

/// What a model needs under TensorFlow Lite Micro.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Need {
    /// The whole arena; absent where the interpreter does not run the model.
    pub arena_bytes: Option<u64>,
    /// Upper end of its interval; absent where it is not known.
    #[serde(default)]
    pub max_arena_bytes: Option<u64>,
    /// RAM for the stack beside the arena, an assumption.
    #[serde(default)]
    pub stack_bytes: u64,
    /// The `.tflite` file, which is in flash: the file itself, or an estimate where another has to be written first,
    /// because the model is of another format or precision.
    pub file_bytes: u64,
    /// Upper end of that estimate; absent for the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub max_file_bytes: Option<u64>,
    /// Code of the interpreter and the kernels in flash, an estimate with its range.
    pub code_bytes: Bytes,
    /// Calls that register the kernels with a `MicroMutableOpResolver`, for example `AddConv2D`; none where the
    /// interpreter does not run the model.
    #[serde(default)]
    pub kernels: Vec<String>,
    /// Operators that no kernel runs. With any, no board runs the model.
    #[serde(default)]
    pub refused: Vec<Refused>,
    /// Why the interpreter does not run the model on any board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub obstacle: Option<String>,
    /// The accelerator that Vela compiled operators for: its id, or `ethos-u` where the file does not tell which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub accelerator: Option<Cow<'static, str>>,
}

impl Need {
    /// Quadratic in activations, up to a limit.
    pub fn new(graph: &Graph, analysis: &Analysis) -> Result<Self, Unplannable> {
        let accelerator = ethos_u_of_file(graph.model);
        let refused = refused(graph.model);
        let obstacle = allocation_obstacle(graph, analysis, &refused);
        let obstacle = obstacle.map(|reason| reason.to_string());
        let (arena_bytes, kernels) = match obstacle {
            Some(_) => (None, Vec::new()),
            None => (
                Some(tflite_micro::arena_bytes(
                    graph,
                    Kernels::CmsisNnDsp,
                    Pointers::Bits32,
                )?),
                resolver_calls(graph.model),
            ),
        };
        let file = file_bytes(graph.model);
        Ok(Self {
            arena_bytes,
            max_arena_bytes: arena_bytes.map(|bytes| max_arena_bytes(bytes as f64) as u64),
            stack_bytes: STACK_BYTES,
            file_bytes: file.value,
            max_file_bytes: (file.hi > file.value).then_some(file.hi),
            code_bytes: code_flash_bytes(graph),
            kernels,
            obstacle,
            refused,
            accelerator: accelerator.map(|id| id.unwrap_or(ETHOS_U).into()),
        })
    }

    /// Why a board does not run the model, whatever its memory.
    fn reason(&self, board: &Board) -> Option<String> {
        if self.obstacle.is_some() {
            return self.obstacle.clone();
        }
        let accelerator = self.accelerator.as_deref()?;
        let id = Some(accelerator).filter(|id| *id != ETHOS_U);
        let words = id.unwrap_or("an Ethos-U");
        (!board.runs_compiled(id))
            .then(|| format!("compiled for {words}, which the board does not have"))
    }
}

/// [`Need::arena_bytes`] alone; `None` also where its plan would take too long.
pub fn arena_bytes(graph: &Graph, analysis: &Analysis) -> Option<u64> {
    tflite_micro::arena_or_reason(graph, analysis).ok()
}

/// Whether a model fits on each microcontroller board of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Fits {
    /// Memory that the model and its runtime need.
    pub need: Need,
    /// Memory that the application needs in addition.
    pub application: Application,
    /// Boards whose memory is known, in the order of the table.
    pub boards: Vec<OnBoard>,
}

/// A model on one board.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct OnBoard {
    /// Id of the board, for `--board`.
    pub id: &'static str,
    /// Name that its maker uses.
    pub name: &'static str,
    /// The microcontroller.
    pub chip: &'static str,
    /// The core that runs the model.
    pub core: &'static str,
    /// Clock of that core, in MHz.
    pub clock_mhz: Option<f64>,
    /// The neural accelerator in words, where the chip has one.
    pub npu: Option<&'static str>,
    /// The larger of its RAM on the chip and beside it; null in reports of earlier builds.
    pub ram_bytes: Option<u64>,
    /// The largest part of the RAM on the chip without a gap in its addresses, which an arena needs; absent where it
    /// is not known whether the RAM is in one piece.
    pub contiguous_ram_bytes: Option<u64>,
    /// The larger of its flash on the chip and beside it; null in reports of earlier builds.
    pub flash_bytes: Option<u64>,
    /// Whether the board runs the model, with room for it, its runtime and the application.
    pub fits: Verdict,
    /// Why it does not run the model, whatever its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub reason: Option<String>,
    /// RAM for the arena, in one piece, and the application's data; absent where the board does not run the model.
    pub ram: Option<Room>,
    /// Flash for the file, the runtime and the application's code; absent where the board does not run the model.
    pub flash: Option<Room>,
    /// On the core under TensorFlow Lite Micro, if the model has room.
    pub latency: Option<BoardLatency>,
    /// Why there is no latency on a board that runs the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub no_latency: Option<NoLatency>,
}

/// Why there is no latency on a board.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct NoLatency {
    /// The reason, in words.
    pub unavailable: String,
    /// The reason as a stable word for programs, for example `core-never-measured`.
    pub reason: &'static str,
}

/// Whether a model runs on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "FitVerdict")
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The model fits even if arena, file and code have the largest size of their ranges, beside a stack.
    Yes,
    /// The model fits if they have their estimated size, but not with the largest sizes and a stack.
    Close,
    /// The model does not fit, or does not run.
    No,
}

/// The memory that a part of the model is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case", tag = "room")]
pub enum Room {
    /// In the chip's own memory.
    OnChip {
        /// Bytes that stay free.
        left_bytes: u64,
    },
    /// Not on the chip, but in external memory, which is slower.
    External {
        /// Bytes that stay free.
        left_bytes: u64,
    },
    /// No memory has room for it.
    Short {
        /// Bytes that are missing in the larger of the two memories, or in the largest piece of it for an arena.
        missing_bytes: u64,
    },
}

/// Latency of one inference on a board.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct BoardLatency {
    /// The target with whose constants the latency is estimated.
    pub target: &'static str,
    /// Clock of the core, in MHz.
    pub clock_mhz: f64,
    /// Milliseconds.
    pub value_ms: f64,
    /// Lower end of its interval.
    pub lo_ms: f64,
    /// Upper end of its interval.
    pub hi_ms: f64,
    /// Whether only other boards with the same core were measured.
    pub is_transferred: bool,
    /// What it rests on: measurements of the board, or the assumption that it is as fast as those that were measured.
    pub evidence: Evidence,
}

impl Room {
    fn new(needed_bytes: u64, on_chip_kib: u64, external_kib: u64) -> Self {
        let left = |kib: u64| (kib << 10).checked_sub(needed_bytes);
        match (left(on_chip_kib), left(external_kib)) {
            (Some(left_bytes), _) => Self::OnChip { left_bytes },
            (None, Some(left_bytes)) => Self::External { left_bytes },
            (None, None) => Self::Short {
                missing_bytes: needed_bytes - (on_chip_kib.max(external_kib) << 10),
            },
        }
    }

    fn is_short(&self) -> bool {
        matches!(self, Self::Short { .. })
    }
}

/// The verdict for each board whose memory is known, in the order of [`boards::shipped`]. Quadratic in activations, up
/// to a limit.
pub fn fits(
    graph: &Graph,
    analysis: &Analysis,
    application: Application,
) -> Result<Fits, Unplannable> {
    let need = Need::new(graph, analysis)?;
    let latencies = cortex_m::latencies(graph, analysis);
    let max_weight_bytes = analysis.costs.iter().map(|cost| cost.weight_bytes).max();
    let file_bytes = need.file_bytes;
    let compiled = need.accelerator.as_ref().map(|accelerator| NoLatency {
        unavailable: format!("already compiled for {accelerator}, which runs the network"),
        reason: "compiled",
    });
    let on = |board: &'static Board| {
        if let Some(compiled) = &compiled {
            return Err(compiled.clone());
        }
        let Some(latency_of) = board.latency_under_micro() else {
            return Err(never_measured(board));
        };
        let flash = board.flash(latency_of);
        let is_slow =
            flash.is_some_and(|flash| flash.is_slow(file_bytes, max_weight_bytes.unwrap_or(0)));
        if is_slow {
            return Err(no_latency(&Refusal::ExternalWeights));
        }
        let latencies = latencies.as_ref().map_err(no_latency)?;
        latency_on(board, latency_of, latencies)
    };
    Ok(on_boards(need, application, |board| Some(on(board))))
}

fn never_measured(board: &Board) -> NoLatency {
    let reason = cortex_m::never_measured(&board.core);
    NoLatency {
        unavailable: reason.to_string(),
        reason: reason.code(),
    }
}

fn no_latency(refusal: &Refusal) -> NoLatency {
    NoLatency {
        unavailable: refusal.to_string(),
        reason: refusal.kind(),
    }
}

/// As [`fits`], from the known memory need of a model: for another application, and without latencies.
pub fn fits_of_need(need: Need, application: Application) -> Fits {
    on_boards(need, application, |_| None)
}

fn on_boards(
    need: Need,
    application: Application,
    latency: impl Fn(&'static Board) -> Option<Result<BoardLatency, NoLatency>>,
) -> Fits {
    let boards = boards::shipped().iter().filter_map(|board| {
        let memory = board.memory.as_ref()?;
        let mut on = on_board(board, memory, &need, &application);
        match latency(board).filter(|_| on.reason.is_none()) {
            Some(Ok(latency)) => on.latency = Some(latency),
            Some(Err(no_latency)) => on.no_latency = Some(no_latency),
            None => {}
        }
        Some(on)
    });
    let boards = boards.collect();
    Fits {
        need,
        application,
        boards,
    }
}

fn on_board(
    board: &'static Board,
    memory: &BoardMemory,
    need: &Need,
    application: &Application,
) -> OnBoard {
    let reason = need.reason(board);
    let ram = |arena_bytes: u64, stack_bytes: u64| {
        let others = stack_bytes.saturating_add(application.ram_bytes);
        let needed = arena_bytes.saturating_add(others);
        // The arena is one array; stack and application may be in another piece.
        let piece_kib = memory.contiguous_ram_kib.unwrap_or(memory.sram_kib);
        let [whole, piece] = [(needed, memory.sram_kib), (arena_bytes, piece_kib)]
            .map(|(bytes, kib)| Room::new(bytes, kib, memory.external_ram_kib));
        match (&whole, &piece) {
            (
                Room::Short { missing_bytes },
                Room::Short {
                    missing_bytes: more,
                },
            ) if more > missing_bytes => piece,
            (Room::OnChip { .. }, Room::External { .. } | Room::Short { .. }) => piece,
            _ => whole,
        }
    };
    let flash = |file_bytes: u64, code_bytes: u64| {
        let needed =
            (file_bytes.saturating_add(code_bytes)).saturating_add(application.flash_bytes);
        Room::new(needed, memory.flash_kib, memory.external_flash_kib)
    };
    let code = &need.code_bytes;
    let arena_bytes = need.arena_bytes.filter(|_| reason.is_none());
    let rooms = arena_bytes.map(|bytes| (ram(bytes, 0), flash(need.file_bytes, code.value)));
    let max_arena_bytes = need.max_arena_bytes.or(need.arena_bytes).unwrap_or(0);
    let largest = [
        ram(max_arena_bytes, need.stack_bytes),
        flash(need.max_file_bytes.unwrap_or(need.file_bytes), code.hi),
    ];
    let has_room = |(ram, flash): &(Room, Room)| !ram.is_short() && !flash.is_short();
    OnBoard {
        id: &board.id,
        name: &board.name,
        chip: &board.chip,
        core: &board.core,
        clock_mhz: board.clock_mhz,
        npu: board.npu.as_deref(),
        ram_bytes: Some(memory.sram_kib.max(memory.external_ram_kib) << 10),
        contiguous_ram_bytes: memory.contiguous_ram_kib.map(|kib| kib << 10),
        flash_bytes: Some(memory.flash_kib.max(memory.external_flash_kib) << 10),
        fits: if !rooms.as_ref().is_some_and(has_room) {
            Verdict::No
        } else if largest.iter().any(Room::is_short) {
            Verdict::Close
        } else {
            Verdict::Yes
        },
        reason,
        ram: rooms.map(|(ram, _)| ram),
        flash: rooms.map(|(_, flash)| flash),
        latency: None,
        no_latency: None,
    }
}

fn latency_on(
    board: &'static Board,
    latency_of: &'static LatencySource,
    latencies: &HashMap<&'static str, Result<Latency, Refusal>>,
) -> Result<BoardLatency, NoLatency> {
    let target =
        (Constants::shipped().target(&latency_of.target)).filter(|target| target.is_micro());
    let latency = latencies.get(latency_of.target.as_str());
    let Some((target, latency)) = target.zip(latency) else {
        return Err(never_measured(board));
    };
    let latency = latency.as_ref().map_err(no_latency)?;
    let clock_mhz = match (target.has_other_clocks, board.clock_mhz) {
        (true, Some(clock_mhz)) => clock_mhz,
        _ => latency.clock_mhz,
    };
    let slower = latency.clock_mhz / clock_mhz;
    let wider = if latency_of.is_transferred {
        target.transfer_factor()
    } else {
        1.0
    };
    Ok(BoardLatency {
        target: &target.target,
        clock_mhz,
        value_ms: latency.value_ms * slower,
        lo_ms: latency.lo_ms * slower / wider,
        hi_ms: latency.hi_ms * slower * wider,
        is_transferred: latency_of.is_transferred,
        evidence: if latency_of.is_transferred || target.core_conversion.is_some() {
            Evidence::Assumed
        } else {
            Evidence::Measured
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::boards::by_id;

    #[test]
    fn what_is_short_is_said_in_bytes() {
        let need = Need {
            arena_bytes: Some(300 << 10),
            max_arena_bytes: None,
            stack_bytes: 0,
            file_bytes: 900 << 10,
            max_file_bytes: None,
            code_bytes: Bytes {
                value: 124 << 10,
                lo: 62 << 10,
                hi: 248 << 10,
            },
            kernels: Vec::new(),
            refused: Vec::new(),
            accelerator: None,
            obstacle: None,
        };
        let on = |id: &str, application: &Application| {
            let board = by_id(id).unwrap();
            on_board(board, board.memory.as_ref().unwrap(), &need, application)
        };
        let nothing = Application::default();
        let nano = on("arduino-nano-33-ble", &nothing);
        assert_eq!(
            nano.ram,
            Some(Room::Short {
                missing_bytes: 44 << 10
            })
        );
        assert_eq!(nano.flash, Some(Room::OnChip { left_bytes: 0 }));
        assert_eq!(nano.fits, Verdict::No);
        let code = Application {
            ram_bytes: 0,
            flash_bytes: 1,
        };
        let nano = on("arduino-nano-33-ble", &code);
        assert_eq!(nano.flash, Some(Room::Short { missing_bytes: 1 }));
        let nrf = on("nrf5340-dk", &nothing);
        assert_eq!(
            nrf.fits,
            Verdict::Yes,
            "external flash holds the most that the code may take"
        );
        let f7 = on("nucleo-f746zg", &nothing);
        assert_eq!(f7.fits, Verdict::Close, "{f7:?}");
        let l4 = on("nucleo-l476rg", &nothing).ram;
        assert_eq!(
            l4,
            Some(Room::Short {
                // Of the larger of its two parts, 96 KiB.
                missing_bytes: (300 - 96) << 10
            })
        );
        let of_one_piece = |arena_kib: u64| {
            let need = Need {
                arena_bytes: Some(arena_kib << 10),
                ..need.clone()
            };
            let board = by_id("nucleo-l476rg").unwrap();
            on_board(board, board.memory.as_ref().unwrap(), &need, &nothing).ram
        };
        assert_eq!(
            of_one_piece(96),
            Some(Room::OnChip {
                left_bytes: 32 << 10
            })
        );
        assert_eq!(
            of_one_piece(100),
            Some(Room::Short {
                missing_bytes: 4 << 10
            })
        );
        let disco = on(
            "stm32f746g-disco",
            &Application {
                ram_bytes: 100 << 10,
                ..code
            },
        );
        let left_bytes = (8 << 20) - (400 << 10);
        assert_eq!(disco.ram, Some(Room::External { left_bytes }));
        assert_eq!(disco.fits, Verdict::Yes);
    }
}
