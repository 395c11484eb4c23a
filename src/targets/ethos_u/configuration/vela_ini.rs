//! A `vela.ini`: bytes → [`SystemConfiguration`] and [`MemoryMode`] by name.
//!
//! The file is read as Vela 5.2.0 reads it, which it does twice: clock, ports, memory areas and the arena cache in
//! Python (`architecture_features.py`), and ports, memory areas and the memories' figures in its C++ core
//! (`regor.cpp`). What one of the two rejects is an error here. What one of them silently ignores is an error as well
//! if the requested section depends on it.
//!
//! If a key is above `inherit` in its section, the Python part uses its value and the core uses the parent's.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

use super::memory_mode::{MemoryMode, Placement};
use super::system::{MemoryArea, MemoryParameters, SystemConfiguration};
use crate::formats::shown;

/// A configuration file has a few kilobytes; a megabyte holds a thousand of Arm's.
pub const MAX_INI_BYTES: usize = 1 << 20;
/// Maximum number of sections that an error lists.
const MAX_NAMES: usize = 12;
/// Limits of memories and clocks. Beyond them, products of cycles and bytes lose their meaning.
const CLOCK_HZ: RangeInclusive<f64> = 1e3..=1e12;
const CLOCK_SCALE: RangeInclusive<f64> = 1e-6..=1024.0;
const MAX_PORTS: i64 = 64;
const MAX_BURST_BYTES: i64 = 1 << 16;
const MAX_LATENCY_CYCLES: i64 = 1 << 20;
const MAX_BURSTS: i64 = 1 << 16;
const MAX_CACHE_BYTES: i64 = 1 << 40;

pub(super) const SYSTEM_PREFIX: &str = "System_Config.";
pub(super) const MODE_PREFIX: &str = "Memory_Mode.";

/// Why a file, or a section of it, is rejected. A line that is none of a `vela.ini` is named and not repeated: the file
/// may be any other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IniError {
    #[error("expected at most {MAX_INI_BYTES} bytes, found {0}")]
    TooLarge(usize),
    /// Lines count from 1.
    #[error("line {line}: {reason}")]
    Line { line: usize, reason: String },
    #[error("expected a section [{section}], found {found}")]
    NoSection { section: String, found: String },
}

fn at(line: usize, reason: impl Into<String>) -> IniError {
    IniError::Line {
        line,
        reason: reason.into(),
    }
}

/// A file's sections as they stand.
#[derive(Clone, Debug, Default)]
pub struct VelaIni {
    sections: Vec<Section>,
    /// Index of each section by its name.
    position: BTreeMap<String, usize>,
    /// A line after which the compiler's core reads nothing.
    end: Option<IniError>,
}

#[derive(Clone, Debug)]
struct Section {
    name: String,
    line: usize,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    key: String,
    value: String,
    line: usize,
}

impl Entry {
    fn expected(&self, what: &str) -> IniError {
        let Self { key, value, line } = self;
        let [key, value] = [key, value].map(|text| shown(text));
        at(*line, format!("{key}: expected {what}, found `{value}`"))
    }

    fn integer(&self, least: i64, most: i64) -> Result<i64, IniError> {
        self.integer_of(&self.value, least, most)
    }

    fn integer_of(&self, value: &str, least: i64, most: i64) -> Result<i64, IniError> {
        let value = value.parse().ok();
        value
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| self.expected(&format!("a whole number from {least} to {most}")))
    }

    fn number_of(&self, value: &str, range: RangeInclusive<f64>) -> Result<f64, IniError> {
        let value = value.parse().ok();
        value.filter(|value| range.contains(value)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            self.expected(&format!("a number from {least} to {most}"))
        })
    }

    fn area(&self) -> Result<MemoryArea, IniError> {
        let names = MemoryArea::ALL.map(MemoryArea::name).join(", ");
        MemoryArea::by_name(&self.value)
            .ok_or_else(|| self.expected(&format!("a memory of {names}")))
    }

    /// Without the underscores that Python allows between digits.
    fn digits(&self) -> Cow<'_, str> {
        let is_digit = |part: &str, place: usize| {
            let byte = part.as_bytes().get(place);
            byte.is_some_and(u8::is_ascii_digit)
        };
        let parts: Vec<&str> = self.value.split('_').collect();
        let is_between = parts
            .windows(2)
            .all(|pair| is_digit(pair[0], pair[0].len().wrapping_sub(1)) && is_digit(pair[1], 0));
        if is_between {
            Cow::Owned(parts.concat())
        } else {
            Cow::Borrowed(&self.value)
        }
    }

    fn port(&self) -> Result<usize, IniError> {
        match self.value.as_str() {
            "Axi0" => Ok(0),
            "Axi1" => Ok(1),
            _ => Err(self.expected("Axi0 or Axi1")),
        }
    }
}

thread_local! {
    /// What was read last, with its text: each target of a choice has the same one.
    static LAST: RefCell<Option<(String, Rc<VelaIni>)>> = const { RefCell::new(None) };
}

impl VelaIni {
    /// As [`Self::parse`], which it does not repeat for a text that was the last one.
    pub fn of_text(text: &str) -> Result<Rc<Self>, IniError> {
        LAST.with_borrow_mut(|last| {
            if let Some((known, ini)) = last
                && known.as_str() == text
            {
                return Ok(ini.clone());
            }
            let ini = Rc::new(Self::parse(text.as_bytes())?);
            *last = Some((text.to_owned(), ini.clone()));
            Ok(ini)
        })
    }

    /// Linear in bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, IniError> {
        if bytes.len() > MAX_INI_BYTES {
            return Err(IniError::TooLarge(bytes.len()));
        }
        let text = utf8(bytes)?;
        let mut ini = Self::default();
        // With their lines.
        let mut keys = BTreeMap::new();
        // Of the last key's line; none above the first key of a section.
        let mut indentation = None;
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim_end();
            let stripped = content.trim_start();
            if stripped.is_empty() || stripped.starts_with(';') {
                continue;
            }
            if stripped.starts_with('#') {
                // Python passes over it.
                let reason = "a comment that begins with `#` ends what Vela's compiler core reads: begin it with `;`";
                ini.end.get_or_insert(at(line, reason));
                continue;
            }
            let indent = content.len() - stripped.len();
            if indentation.is_some_and(|above| indent > above) {
                return Err(at(line, CONTINUED));
            }
            let content = stripped;
            if let Some(rest) = content.strip_prefix('[') {
                let no_bracket = || at(line, "expected `]` at the end");
                let name = rest.strip_suffix(']').ok_or_else(no_bracket)?;
                let position = ini.sections.len();
                if let Some(before) = ini.position.insert(name.to_owned(), position) {
                    let before = ini.sections[before].line;
                    let reason = format!("expected another section than that of line {before}");
                    return Err(at(line, reason));
                }
                keys.clear();
                indentation = None;
                ini.sections.push(Section {
                    name: name.to_owned(),
                    line,
                    entries: Vec::new(),
                });
                continue;
            }
            let entry = entry(line, content)?;
            let Some(section) = ini.sections.last_mut() else {
                return Err(at(line, "expected a section in brackets"));
            };
            if let Some(before) = keys.insert(entry.key.to_ascii_lowercase(), line) {
                let reason = format!("expected another key than that of line {before}");
                return Err(at(line, reason));
            }
            indentation = Some(indent);
            section.entries.push(entry);
        }
        Ok(ini)
    }

    /// Names of system configurations, as they stand.
    pub fn system_configurations(&self) -> impl Iterator<Item = &str> {
        self.names(SYSTEM_PREFIX)
    }

    /// Names of memory modes, as they stand.
    pub fn memory_modes(&self) -> impl Iterator<Item = &str> {
        self.names(MODE_PREFIX)
    }

    fn names<'a>(&'a self, prefix: &'static str) -> impl Iterator<Item = &'a str> {
        let sections = self.sections.iter();
        sections.filter_map(move |section| section.name.strip_prefix(prefix))
    }

    /// The section with this name, and its ancestors before it.
    fn family(&self, prefix: &'static str, name: &str) -> Result<Vec<&Section>, IniError> {
        let name = format!("{prefix}{name}");
        let mut idx = self.position.get(&name).copied().ok_or_else(|| {
            let mut section_names: Vec<String> =
                self.names(prefix).take(MAX_NAMES + 1).map(shown).collect();
            if section_names.len() > MAX_NAMES {
                section_names[MAX_NAMES] = "and others".to_owned();
            }
            let section_names = if section_names.is_empty() {
                "none of its kind".to_owned()
            } else {
                section_names.join(", ")
            };
            let section = shown(&name);
            IniError::NoSection {
                section,
                found: section_names,
            }
        })?;
        let mut family = Vec::new();
        loop {
            let section = &self.sections[idx];
            if let Some(IniError::Line { line, reason }) = &self.end
                && section.line > *line
            {
                let name = shown(&section.name);
                return Err(at(*line, format!("[{name}]: {reason}")));
            }
            family.push(section);
            let Some(inherit) = section.entry("inherit") else {
                family.reverse();
                return Ok(family);
            };
            idx = (self.position.get(&inherit.value).copied())
                .filter(|&parent| parent < idx && inherit.value.starts_with(prefix))
                .ok_or_else(|| {
                    inherit.expected(&format!("a section [{prefix}…] above this one"))
                })?;
        }
    }

    /// Linear in the sections that it inherits from.
    pub fn system_configuration(&self, name: &str) -> Result<SystemConfiguration, IniError> {
        let family = self.family(SYSTEM_PREFIX, name)?;
        let own_line = family.last().map_or(0, |section| section.line);
        let clock = find(&family, "core_clock", Reader::Python).ok_or_else(|| {
            at(
                own_line,
                format!("[{SYSTEM_PREFIX}{}]: expected core_clock", shown(name)),
            )
        })?;
        let clock_hz = clock.number_of(&clock.digits(), CLOCK_HZ)?;
        let memories = memories(&family)?;
        let ports = Self::ports(&family, name, Reader::Core)?;
        for (area, entry) in ports {
            if memories[area as usize].is_none() {
                return Err(
                    entry.expected("a memory with figures of its own, such as its clock_scale")
                );
            }
        }
        Ok(SystemConfiguration {
            name: name.to_owned(),
            clock_hz,
            ports: ports.map(|(area, _)| area),
            memories,
        })
    }

    fn ports<'a>(
        family: &[&'a Section],
        name: &str,
        reader: Reader,
    ) -> Result<[(MemoryArea, &'a Entry); 2], IniError> {
        let port = |key: &str| {
            let entry = required(family, SYSTEM_PREFIX, name, key, reader)?;
            Ok((entry.area()?, entry))
        };
        Ok([port("axi0_port")?, port("axi1_port")?])
    }

    /// The memory mode with this name, for the memories of `system`.
    pub fn memory_mode(
        &self,
        name: &str,
        system: &SystemConfiguration,
    ) -> Result<MemoryMode, IniError> {
        let family = self.family(MODE_PREFIX, name)?;
        // Vela's Python part rejects a file by the values that it reads itself.
        let seen_by_python = Self::ports(
            &self.family(SYSTEM_PREFIX, &system.name)?,
            &system.name,
            Reader::Python,
        )?;
        let seen_by_python = SystemConfiguration {
            ports: seen_by_python.map(|(area, _)| area),
            ..system.clone()
        };
        placement(&family, name, &seen_by_python, Reader::Python)?;
        let placement = placement(&family, name, system, Reader::Core)?;
        let arena_cache_bytes = find(&family, "arena_cache_size", Reader::Python)
            .map(|entry| entry.integer_of(&entry.digits(), 0, MAX_CACHE_BYTES))
            .transpose()?;
        Ok(MemoryMode {
            name: name.to_owned(),
            placement,
            arena_cache_bytes,
        })
    }
}

const CONTINUED: &str =
    "a line that begins with more blanks than the one above goes on with its value";

fn utf8(bytes: &[u8]) -> Result<&str, IniError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        at(line, "expected UTF-8")
    })
}

/// The memories of constants and arena, as one of the two readers sees them.
fn placement(
    family: &[&Section],
    name: &str,
    system: &SystemConfiguration,
    reader: Reader,
) -> Result<Placement, IniError> {
    let area = |key: &str| {
        let entry = required(family, MODE_PREFIX, name, key, reader)?;
        Ok((system.ports[entry.port()?], entry))
    };
    let (constants, constants_entry) = area("const_mem_area")?;
    let (arena, arena_entry) = area("arena_mem_area")?;
    let (cache, cache_entry) = area("cache_mem_area")?;
    let expected = |entry: &Entry, actual: MemoryArea, what: &str| {
        let area = actual.name();
        let Entry { key, line, .. } = entry;
        let [value, system] = [&entry.value, &system.name].map(|text| shown(text));
        let reason = format!("{key}: expected {what}, found {value}, which is {area} in {system}");
        at(*line, reason)
    };
    if cache != MemoryArea::Sram {
        return Err(expected(cache_entry, cache, "Sram"));
    }
    match (constants, arena) {
        // Vela takes all three at one port for this, not all three in memories of one kind.
        (MemoryArea::Sram, MemoryArea::Sram)
            if constants_entry.value == arena_entry.value
                && arena_entry.value == cache_entry.value =>
        {
            Ok(Placement::SramOnly)
        }
        (MemoryArea::Sram, _) => {
            let what = "Dram, OnChipFlash or OffChipFlash";
            Err(expected(constants_entry, constants, what))
        }
        (constants, MemoryArea::Sram) => Ok(Placement::Shared { constants }),
        (MemoryArea::Dram, MemoryArea::Dram) => Ok(Placement::Dedicated),
        (_, arena) => Err(expected(arena_entry, arena, "Sram or Dram")),
    }
}

impl VelaIni {
    /// Refuses an arena cache beyond the addresses of an accelerator.
    pub(super) fn check_arena_cache(
        &self,
        mode: &MemoryMode,
        max_bytes: i64,
    ) -> Result<(), IniError> {
        let family = self.family(MODE_PREFIX, &mode.name)?;
        let entry = find(&family, "arena_cache_size", Reader::Python);
        match entry.filter(|_| {
            mode.arena_cache_bytes
                .is_some_and(|bytes| bytes > max_bytes)
        }) {
            Some(entry) => Err(entry.expected(&format!(
                "at most the {max_bytes} bytes that the accelerator addresses"
            ))),
            None => Ok(()),
        }
    }
}

impl Section {
    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The entries that the compiler's core sees: all of them, or those below `inherit`.
    fn below_inherit(&self) -> &[Entry] {
        let inherit = self.entries.iter().position(|one| one.key == "inherit");
        &self.entries[inherit.map_or(0, |inherit| inherit + 1)..]
    }

    fn entry_of(&self, key: &str, reader: Reader) -> Option<&Entry> {
        match reader {
            Reader::Python => (self.entries.iter()).find(|one| one.key.eq_ignore_ascii_case(key)),
            Reader::Core => self.below_inherit().iter().find(|one| one.key == key),
        }
    }
}

/// Which of Vela's two readers of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// A section's own value counts wherever it is; keys are not case-sensitive.
    Python,
    /// Entries above `inherit` in a section are ignored.
    Core,
}

fn entry(line: usize, content: &str) -> Result<Entry, IniError> {
    let (key, value) = content
        .split_once('=')
        .ok_or_else(|| at(line, "expected `key=value`"))?;
    let key = key.trim();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let starts_well = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !key.chars().all(is_word) {
        return Err(at(line, "expected a key of letters, digits and `_`"));
    }
    Ok(Entry {
        key: key.to_owned(),
        value: value.trim().to_owned(),
        line,
    })
}

/// The entry of the last section of a family that has the key for this reader.
fn find<'a>(family: &[&'a Section], key: &str, reader: Reader) -> Option<&'a Entry> {
    let mut sections = family.iter().rev();
    sections.find_map(|section| section.entry_of(key, reader))
}

fn required<'a>(
    family: &[&'a Section],
    prefix: &str,
    name: &str,
    key: &str,
    reader: Reader,
) -> Result<&'a Entry, IniError> {
    find(family, key, reader).ok_or_else(|| {
        let section = format!("[{prefix}{}]", shown(name));
        match find(family, key, Reader::Python) {
            Some(lost) => at(
                lost.line,
                format!("{section}: Vela's compiler core passes over this {}: expected {key} below `inherit`", shown(&lost.key)),
            ),
            None => {
                let own_line = family.last().map_or(0, |section| section.line);
                at(own_line, format!("{section}: expected {key}"))
            }
        }
    })
}

/// Figures of all memories, as the compiler's core combines them: entries above `inherit` in a section are ignored.
fn memories(family: &[&Section]) -> Result<[Option<MemoryParameters>; 4], IniError> {
    let mut memories = [None; 4];
    for section in family {
        for entry in section.below_inherit() {
            let Some((area, parameter)) = entry.key.split_once('_') else {
                continue;
            };
            let Some(area) = MemoryArea::by_name(area) else {
                continue;
            };
            let mut memory: MemoryParameters = memories[area as usize].unwrap_or_default();
            match parameter {
                "clock_scale" => memory.clock_scale = entry.number_of(&entry.value, CLOCK_SCALE)?,
                "ports_used" => memory.ports_used = entry.integer(1, MAX_PORTS)?,
                "burst_length" => memory.burst_bytes = entry.integer(1, MAX_BURST_BYTES)?,
                "read_latency" => {
                    memory.read_latency_cycles = entry.integer(0, MAX_LATENCY_CYCLES)?;
                }
                "write_latency" => {
                    memory.write_latency_cycles = entry.integer(0, MAX_LATENCY_CYCLES)?;
                }
                // No burst at all counts as one.
                "max_reads" => memory.max_reads = entry.integer(0, MAX_BURSTS)?.max(1),
                "max_writes" => memory.max_writes = entry.integer(0, MAX_BURSTS)?.max(1),
                _ => continue,
            }
            memories[area as usize] = Some(memory);
        }
    }
    Ok(memories)
}
