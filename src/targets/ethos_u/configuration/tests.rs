use super::*;

fn refusal(text: &str) -> String {
    let ini = match VelaIni::parse(text.as_bytes()) {
        Ok(ini) => ini,
        Err(error) => return error.to_string(),
    };
    let read = Configuration::read(Product::U55x128, &ini, "A", "B");
    read.expect_err("a refusal").to_string()
}

const SYSTEM: &str = "[System_Config.A]\ncore_clock=1e9\naxi0_port=Sram\naxi1_port=OffChipFlash\n\
                      Sram_clock_scale=1\nOffChipFlash_clock_scale=0.5\n";
const MODE: &str =
    "[Memory_Mode.B]\nconst_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0\n";

#[test]
fn every_default_is_in_the_file_shipped() {
    for product in Product::ALL {
        assert_eq!(Configuration::new(product).product, product);
        assert_eq!(Product::by_name(product.name()), Some(product));
    }
    assert_eq!(VelaIni::shipped().system_configurations().count(), 11);
    assert_eq!(VelaIni::shipped().memory_modes().count(), 6);
}

#[test]
fn command_streams_name_every_product() {
    use crate::target::STREAM_PRODUCTS;

    let named = STREAM_PRODUCTS.map(|(.., id)| id);
    assert_eq!(named, Product::ALL.map(Product::name));
    for ((family, macs, id), product) in STREAM_PRODUCTS.into_iter().zip(Product::ALL) {
        let expected = match product.family() {
            Family::U55 => 0,
            Family::U65 => 1,
            Family::U85 => 2,
        };
        assert_eq!(family.number, expected, "{id}");
        assert_eq!(macs, product.macs_per_cycle(), "{id}");
    }
}

#[test]
fn what_is_wrong_is_said_with_line_and_reason() {
    let whole = format!("{SYSTEM}{MODE}");
    let read = |text: &str| {
        let ini = VelaIni::parse(text.as_bytes()).unwrap();
        Configuration::read(Product::U55x128, &ini, "A", "B").unwrap()
    };
    assert_eq!(
        read(&whole).memory_mode.placement,
        Placement::Shared {
            constants: MemoryArea::OffChipFlash
        }
    );
    let changed = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        refusal(&whole.replace(from, to))
    };
    for (from, to, expected) in [
        (
            "core_clock=1e9",
            "core_clock=fast",
            "line 2: core_clock: expected a number from 1000 to 1000000000000, found `fast`",
        ),
        (
            "core_clock=1e9",
            "core_clock=-1",
            "line 2: core_clock: expected a number from 1000",
        ),
        (
            "core_clock=1e9",
            "core_clock=nan",
            "line 2: core_clock: expected a number from 1000",
        ),
        (
            "core_clock=1e9\n",
            "",
            "line 1: [System_Config.A]: expected core_clock",
        ),
        (
            "axi0_port=Sram",
            "axi0_port=SRAM",
            "line 3: axi0_port: expected a memory of Sram, Dram, OnChipFlash, OffChipFlash, found `SRAM`",
        ),
        (
            "axi1_port=OffChipFlash",
            "axi1_port=Dram",
            "line 4: axi1_port: expected a memory with figures of its own",
        ),
        (
            "Sram_clock_scale=1",
            "Sram_burst_length=0",
            "line 5: Sram_burst_length: expected a whole number from 1",
        ),
        (
            "Sram_clock_scale=1",
            "Sram_read_latency=99999999999999999999",
            "line 5: Sram_read_latency: expected a whole number",
        ),
        (
            "Sram_clock_scale=1",
            "Sram_clock_scale",
            "line 5: expected `key=value`",
        ),
        (
            "Sram_clock_scale=1",
            "core_CLOCK=1",
            "line 5: expected another key than that of line 2",
        ),
        (
            "Sram_clock_scale=1",
            "  1",
            "line 5: a line that begins with more blanks",
        ),
        (
            "Sram_clock_scale=1",
            "inherit=System_Config.A",
            "line 5: inherit: expected a section",
        ),
        (
            "[System_Config.A]",
            "[System_Config.A",
            "line 1: expected `]`",
        ),
        (
            "[System_Config.A]",
            "",
            "line 2: expected a section in brackets",
        ),
        (
            "[System_Config.A]",
            "[System_Config.C]",
            "expected a section [System_Config.A], found C",
        ),
        (
            "[Memory_Mode.B]",
            "[System_Config.A]",
            "line 7: expected another section than that of line 1",
        ),
        (
            "[Memory_Mode.B]",
            "# mine\n[Memory_Mode.B]",
            "line 7: [Memory_Mode.B]: a comment that begins with `#`",
        ),
        (
            "const_mem_area=Axi1",
            "const_mem_area=Axi2",
            "line 8: const_mem_area: expected Axi0 or Axi1, found `Axi2`",
        ),
        (
            "arena_mem_area=Axi0",
            "arena_mem_area=Axi1",
            "line 9: arena_mem_area: expected Sram or Dram, found Axi1, which is OffChipFlash in A",
        ),
        (
            "cache_mem_area=Axi0",
            "cache_mem_area=Axi1",
            "line 10: cache_mem_area: expected Sram",
        ),
        (
            "cache_mem_area=Axi0",
            "cache_mem_area=Axi0\narena_cache_size=-1",
            "line 11: arena_cache_size: expected a whole number from 0",
        ),
    ] {
        let actual = changed(from, to);
        assert!(
            actual.starts_with(expected),
            "expected {expected}, found {actual}"
        );
    }
}

#[test]
fn hostile_bytes_are_refused() {
    assert_eq!(
        VelaIni::parse(b"[a]\n\xff").unwrap_err().to_string(),
        "line 2: expected UTF-8"
    );
    let large = vec![b';'; 2 << 20];
    assert!(matches!(VelaIni::parse(&large), Err(IniError::TooLarge(_))));
    // A chain of sections as long as a file can have.
    let mut text = "[System_Config.0]\n".to_owned();
    for n in 1..10_000 {
        text += &format!("[System_Config.{n}]\ninherit=System_Config.{}\n", n - 1);
    }
    let ini = VelaIni::parse(text.as_bytes()).unwrap();
    let error = ini.system_configuration("9999").unwrap_err().to_string();
    assert!(error.contains("expected core_clock"), "{error}");
}

#[test]
fn sections_inherit_what_they_do_not_say() {
    let text = format!(
        "{SYSTEM}[System_Config.C]\nSram_read_latency=7\ninherit=System_Config.A\ncore_clock=2e9\n"
    );
    let system = VelaIni::parse(text.as_bytes())
        .unwrap()
        .system_configuration("C")
        .unwrap();
    assert_eq!(system.clock_hz, 2e9);
    // What stands above `inherit` is lost in the compiler's core.
    let sram = system.memory(MemoryArea::Sram);
    assert_eq!([sram.read_latency_cycles, sram.burst_bytes], [1, 64]);
    assert_eq!(system.bytes_per_cycle(MemoryArea::Sram), 16.0);
}

/// As Vela 5.2.0 reads them: its compiler core loses ports and memory areas above `inherit`, its Python part keeps the
/// clock and the arena cache.
#[test]
fn keys_above_inherit_are_those_of_the_parent_or_lost() {
    let system = |lines: &str| {
        let text = format!("{SYSTEM}Dram_clock_scale=0.5\n[System_Config.C]\n{lines}{MODE}");
        VelaIni::parse(text.as_bytes())
            .unwrap()
            .system_configuration("C")
            .unwrap()
    };
    let above = system("axi1_port=Dram\nCore_Clock=2_0e8\ninherit=System_Config.A\n");
    assert_eq!(above.ports, [MemoryArea::Sram, MemoryArea::OffChipFlash]);
    assert_eq!(above.clock_hz, 2e9);
    let below = system("inherit=System_Config.A\naxi1_port=Dram\n");
    assert_eq!(below.ports, [MemoryArea::Sram, MemoryArea::Dram]);
    let mode = |lines: &str| {
        let text = format!("{SYSTEM}{MODE}[Memory_Mode.D]\n{lines}");
        let ini = VelaIni::parse(text.as_bytes()).unwrap();
        let read = Configuration::read(Product::U55x128, &ini, "A", "D").unwrap();
        (
            read.memory_mode.placement,
            read.memory_mode.arena_cache_bytes,
        )
    };
    let constants = MemoryArea::OffChipFlash;
    let above = mode("const_mem_area=Axi0\narena_cache_size=16_384\ninherit=Memory_Mode.B\n");
    assert_eq!(above, (Placement::Shared { constants }, Some(16_384)));
    let below = mode("inherit=Memory_Mode.B\nconst_mem_area=Axi0\narena_cache_size=16384\n");
    assert_eq!(below, (Placement::SramOnly, Some(16_384)));
    let without_port = SYSTEM.replace("axi1_port=OffChipFlash\n", "");
    assert_eq!(
        refusal(&format!(
            "{}[System_Config.A]\naxi1_port=OffChipFlash\ninherit=System_Config.P\n{MODE}",
            without_port.replace("System_Config.A", "System_Config.P")
        )),
        "line 7: [System_Config.A]: Vela's compiler core passes over this axi1_port: expected axi1_port below `inherit`"
    );
    // Both ports are seen by the Python part, which finds constants in SRAM beside an arena of flash.
    let swapped = format!(
        "{}[System_Config.A]\naxi0_port=OffChipFlash\naxi1_port=Sram\ninherit=System_Config.P\n{MODE}",
        SYSTEM.replace("System_Config.A", "System_Config.P")
    );
    let error = refusal(&swapped);
    assert!(error.contains("cache_mem_area: expected Sram"), "{error}");
}

/// Blanks before a key matter only where there are more of them than before the one above.
#[test]
fn indented_keys_are_read() {
    let indented = |text: &str| text.replace('\n', "\n  ");
    let [system, mode] = [SYSTEM, MODE].map(|text| format!("{}\n", indented(text.trim_end())));
    let ini = VelaIni::parse(format!("{system}{mode}").as_bytes()).unwrap();
    let read = Configuration::read(Product::U55x128, &ini, "A", "B").unwrap();
    let whole = VelaIni::parse(format!("{SYSTEM}{MODE}").as_bytes()).unwrap();
    let expected = Configuration::read(Product::U55x128, &whole, "A", "B").unwrap();
    assert_eq!(read.system, expected.system);
    assert_eq!(read.memory_mode, expected.memory_mode);
}

/// A configuration may come from anyone: what it says of itself is cut and escaped.
#[test]
fn errors_show_the_beginning_of_what_they_found() {
    let long = format!("\u{1b}[31m{}", "x".repeat(100_000));
    let sections = format!("{SYSTEM}{MODE}");
    for text in [
        long.clone(),
        format!("[{long}"),
        format!("[{long}]\n[{long}]"),
        format!("[A]\nb={long}\nb=1"),
        format!("[A]\n{long}=1"),
        sections.replace("axi0_port=Sram", &format!("axi0_port={long}")),
        sections.replace("cache_mem_area=Axi0", &format!("cache_mem_area={long}")),
        sections.replace("System_Config.A", &format!("System_Config.{long}")),
    ] {
        let error = refusal(&text);
        println!("{error}");
        assert!(error.len() < 400, "{} bytes", error.len());
        assert!(!error.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn the_text_of_several_targets_is_read_once() {
    let [first, again] = [(); 2].map(|()| VelaIni::of_text("[A]\nkey=1\n").unwrap());
    assert!(std::rc::Rc::ptr_eq(&first, &again));
    assert!(VelaIni::of_text("[A").is_err());
    let other = VelaIni::of_text("[System_Config.B]\nkey=1\n").unwrap();
    assert_eq!(other.system_configurations().collect::<Vec<_>>(), ["B"]);
}
