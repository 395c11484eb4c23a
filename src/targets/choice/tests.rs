use super::*;
use crate::targets::ethos_u::configuration::{Configuration, MemoryArea};

fn chosen(json: &str) -> Result<String, String> {
    let choice: Choice = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let target = choice
        .target()
        .map_err(|error| format!("{}: {error}", error.kind()))?;
    let info = target.info(None).ok_or("only with a predictor")?;
    Ok(format!("{} {}", target.id(), info.learned_from))
}

#[test]
fn every_known_id_is_a_target() {
    for id in known_targets() {
        let choice = Choice {
            target: Some(id.clone()),
            ..Choice::default()
        };
        assert_eq!(choice.target().unwrap().id(), id);
    }
    for id in known_boards() {
        let choice = Choice {
            board: Some(id.to_owned()),
            ..Choice::default()
        };
        let target = choice.target().unwrap();
        let (board, target) = target.id().split_once('/').unwrap();
        assert_eq!(board, id);
        assert!(known_targets().contains(&target.to_owned()), "{id}");
    }
}

#[test]
fn configurations_are_velas() {
    let json =
        r#"{"target": "ethos-u55-128", "memory_mode": "Sram_Only", "arena_cache_bytes": 4096}"#;
    let actual = chosen(json).unwrap();
    assert!(
        actual.contains("Sram_Only, arena cache of 4096 bytes"),
        "{actual}"
    );
    let ini = "[System_Config.Mine]\\ncore_clock=1e8\\naxi0_port=Sram\\naxi1_port=OffChipFlash\\n\
               Sram_clock_scale=1\\nOffChipFlash_clock_scale=0.1\\n[Memory_Mode.Mine]\\nconst_mem_area=Axi1\\n\
               arena_mem_area=Axi0\\ncache_mem_area=Axi0\\n";
    let json = format!(
        r#"{{"target": "ethos-u55-64", "vela_ini": "{ini}", "system_config": "Mine", "memory_mode": "Mine"}}"#
    );
    let actual = chosen(&json).unwrap();
    assert!(actual.contains("Mine"), "{actual}");
}

/// A given bandwidth does not change with the clock.
#[test]
fn clocks_and_memories_are_those_that_were_typed() {
    let json = r#"{"clock_mhz": 250, "off_chip_bytes_per_s": 1e9, "arena_cache_bytes": 4096}"#;
    let choice: Choice = serde_json::from_str(json).unwrap();
    let actual = choice.with_chosen_rates(Configuration::new(Product::U55x128));
    assert_eq!(actual.system.clock_hz, 250e6);
    assert_eq!(actual.arena_cache_bytes(), 4096);
    // A number at another clock says so; the errors are those of the compiler's configuration.
    let words = "Ethos_U55_High_End_Embedded, Shared_Sram, arena cache of 4096 bytes";
    assert_eq!(actual.in_words(), words);
    assert_eq!(
        actual.in_words_with_rates(),
        format!("{words}, at 250 MHz, 1000 MB/s off chip")
    );
    let per_cycle = actual.system.bytes_per_cycle(MemoryArea::OffChipFlash);
    let bytes_per_s = per_cycle * actual.system.clock_hz;
    assert!((bytes_per_s - 1e9).abs() < 1.0, "{bytes_per_s}");
    let json = r#"{"board": "imx93", "name": "mine", "device": "Our board", "clock_mhz": 800}"#;
    let actual = chosen(json).unwrap();
    assert!(actual.starts_with("mine "), "{actual}");
}

#[test]
fn what_is_in_force_is_that_of_the_estimate() {
    let in_force = |json: &str| {
        let choice: Choice = serde_json::from_str(json).unwrap();
        let InForce {
            clock_mhz,
            arena_cache_bytes,
        } = choice.in_force().unwrap();
        (clock_mhz, arena_cache_bytes)
    };
    for (json, expected) in [
        (r#"{"board": "imx93"}"#, (Some(1000.0), Some(384 << 10))),
        (
            r#"{"board": "imx93", "clock_mhz": 800, "arena_cache_bytes": 4096}"#,
            (Some(800.0), Some(4096)),
        ),
        (
            r#"{"target": "ethos-u65-256", "memory_mode": "Dedicated_Sram_256KB"}"#,
            (Some(1000.0), Some(256 << 10)),
        ),
        (
            r#"{"target": "ethos-u55-128"}"#,
            (Some(500.0), Some(1 << 32)),
        ),
        (r#"{"board": "arduino-nano-33-ble"}"#, (Some(64.0), None)),
        (r#"{"target": "cortex-a76-rpi5"}"#, (None, None)),
    ] {
        assert_eq!(in_force(json), expected, "{json}");
    }
}

#[test]
fn what_names_no_target_is_refused() {
    for (json, expected) in [
        ("{}", "wrong-argument: expected either"),
        (
            r#"{"target": "ethos-u55-128", "board": "imx93"}"#,
            "wrong-argument: expected either",
        ),
        (
            r#"{"target": "ethos-u55"}"#,
            "unknown-target: target ethos-u55: no target has this id; did you mean ethos-u55-",
        ),
        (r#"{"board": "nowhere"}"#, "unknown-board: board nowhere"),
        (
            r#"{"target": "edge-tpu", "memory_mode": "Sram_Only"}"#,
            "wrong-argument: target edge-tpu: `memory_mode`",
        ),
        (
            r#"{"target": "ethos-u55-128", "clock_mhz": -5.0}"#,
            "wrong-argument: target ethos-u55-128: expected a clock",
        ),
        (
            r#"{"target": "ethos-u55-128", "off_chip_bytes_per_s": 0.0}"#,
            "wrong-argument: target ethos-u55-128: expected 100000",
        ),
        (
            r#"{"target": "cortex-a76-rpi5", "clock_mhz": 5.0}"#,
            "wrong-argument: target cortex-a76-rpi5: `clock_mhz`",
        ),
        (
            r#"{"target": "cortex-a76-rpi5", "off_chip_bytes_per_s": 1e9}"#,
            "wrong-argument: target cortex-a76-rpi5: `off_chip_bytes_per_s`",
        ),
        (
            r#"{"target": "ethos-u55-128", "memory_mode": "None"}"#,
            "configuration: target ethos-u55-128",
        ),
        (r#"{"targets": "ethos-u55-128"}"#, "unknown field"),
    ] {
        let actual = chosen(json).unwrap_err();
        assert!(actual.starts_with(expected), "{json}: {actual}");
    }
}

/// What people type, and what has to be among what is offered.
#[test]
fn names_that_people_type_lead_to_targets_and_boards() {
    for (typed, is_board, expected) in [
        ("raspberry-pi-5", false, "cortex-a76-rpi5"),
        ("Raspberry Pi 4", false, "cortex-a72-rpi4"),
        ("rpi5", false, "cortex-a76-rpi5"),
        ("rasberry-pi-5", false, "cortex-a76-rpi5"),
        ("h743", true, "nucleo-h743zi"),
        ("h743", false, "the board nucleo-h743zi"),
        ("STM32H743", true, "nucleo-h743zi"),
        ("stm32h743zi", false, "nucleo-h743zi"),
        ("rp2040", true, "raspberry-pi-pico"),
        ("pico2", true, "raspberry-pi-pico-2"),
        ("nrf52840", true, "nrf52840-dk"),
        ("imx8mp", false, "cortex-a53-imx8mp"),
        ("i.MX93", true, "imx93"),
        ("ethos-u55", false, "ethos-u55-128"),
        ("u85-256", false, "ethos-u85-256"),
        ("etos-u55-128", false, "ethos-u55-128"),
        ("cortex-m7", false, "cortex-m7-stm32h747"),
        ("cortex-m7", false, "cortex-m7-tflm"),
        ("cortex-m33", false, "cortex-m33-stm32u585"),
        ("m7", false, "cortex-m7-stm32h747"),
        ("cortex-m7", true, "stm32h747i-disco"),
        ("nano33ble", true, "arduino-nano-33-ble"),
        ("teensy41", true, "teensy-4-1"),
        ("coral", false, "edgetpu"),
        ("esp32", true, "esp32-devkitc"),
        ("alif-e7", true, "alif-e7-devkit"),
    ] {
        let actual = did_you_mean(typed, is_board);
        println!("{typed}{actual}");
        assert!(actual.contains(expected), "{typed}: {actual}");
    }
    for typed in ["", "x", "quantum-computer", "🦀🦀🦀"] {
        assert_eq!(did_you_mean(typed, false), "", "{typed}");
    }
}
