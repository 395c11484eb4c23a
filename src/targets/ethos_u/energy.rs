//! Energy of an inference on an NPU: a stated model of counted operations and bytes, not a measurement.
//!
//! No tool and no public data states the energy of an Ethos-U. The model multiplies the number of uses of each part by
//! the approximate cost of one use in a 22 nm process; clocks, leakage and idle time are left out.

use super::configuration::Family;

/// Picojoules per use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// An int8 multiply-accumulate in 22 nm.
    pub pj_per_mac: f64,
    /// A byte to or from SRAM: accesses of 16 bytes in a memory of 512 KB, of 32 bytes in one of 2 MB.
    pub pj_per_sram_byte: f64,
    /// A byte to or from off-chip memory: LPDDR4 at about 8 pJ per bit. Absent for flash, for which no such figure is
    /// known.
    pub pj_per_offchip_byte: Option<f64>,
}

/// An 8-bit multiplier and a 32-bit adder of Aladdin (Shao et al., ISCA 2014: 12.68 and 0.21 pJ for 32 bits in 40 nm)
/// scaled to 22 nm by Accelergy's library: `AladdinIntMAC` of PyPI `hwcomponents-library` 1.0.58 gives 0.339.
const PJ_PER_MAC: f64 = 0.34;
/// Reads of 16 bytes from 512 KB and of 32 bytes from 2 MB in 22 nm: CACTI 7, as PyPI `hwcomponents-cacti` 1.0.40 sets
/// it up, gives 25.1 and 92.5 pJ.
const PJ_PER_BYTE_OF_512_KB: f64 = 25.1 / 16.0;
const PJ_PER_BYTE_OF_2_MB: f64 = 92.5 / 32.0;
/// The value in Accelergy's `cacti_wrapper.py` (`LPDDR4: 8` pJ per bit).
const PJ_PER_BYTE_OF_LPDDR4: f64 = 8.0 * 8.0;

const PJ_PER_MJ: f64 = 1e9;

/// The coefficients of an Ethos-U. The Ethos-U55 has megabytes of SRAM and its weights in
/// flash, the larger ones 384 KB and DRAM.
pub fn coefficients(family: Family) -> Coefficients {
    let (pj_per_sram_byte, pj_per_offchip_byte) = match family {
        Family::U55 => (PJ_PER_BYTE_OF_2_MB, None),
        Family::U65 | Family::U85 => (PJ_PER_BYTE_OF_512_KB, Some(PJ_PER_BYTE_OF_LPDDR4)),
    };
    Coefficients {
        pj_per_mac: PJ_PER_MAC,
        pj_per_sram_byte,
        pj_per_offchip_byte,
    }
}

impl Coefficients {
    /// Millijoules of this many multiply-accumulates and bytes.
    pub fn energy_mj(&self, macs: f64, sram_bytes: f64, offchip_bytes: f64) -> f64 {
        let offchip_pj = self.pj_per_offchip_byte.unwrap_or_default() * offchip_bytes;
        let pj = self.pj_per_mac * macs + self.pj_per_sram_byte * sram_bytes + offchip_pj;
        pj / PJ_PER_MJ
    }

    /// What of the device is counted.
    pub fn scope(&self) -> &'static str {
        match self.pj_per_offchip_byte {
            Some(_) => "MACs, SRAM and DRAM, without leakage and CPU",
            None => "MACs and SRAM, without flash, leakage and CPU",
        }
    }

    /// The model in words.
    pub fn in_words(&self) -> String {
        let offchip = match self.pj_per_offchip_byte {
            Some(pj) => format!("{pj:.0} pJ a byte of DRAM"),
            None => "reads of flash not counted".to_owned(),
        };
        format!(
            "{} pJ a MAC, {:.1} pJ a byte of SRAM, {offchip}",
            self.pj_per_mac, self.pj_per_sram_byte
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_are_as_by_hand() {
        // 10⁹ MACs: 0.34 mJ; 10⁶ bytes of SRAM: 1.56875 µJ; 10⁶ bytes of DRAM: 64 µJ.
        let actual = coefficients(Family::U85).energy_mj(1e9, 1e6, 1e6);
        assert!(
            (actual - (0.34 + 0.00156875 + 0.064)).abs() < 1e-12,
            "{actual}"
        );
        let without_flash = coefficients(Family::U55).energy_mj(1e9, 0.0, 1e6);
        assert!((without_flash - 0.34).abs() < 1e-12);
    }
}
