//! Families of the networks of `trainer/data/accelerators`.

use crate::targets::gpu::family as letters;

/// Words before a name that say where its weights are from, or which part is exchanged.
const BEFORE: [&str; 5] = ["gluon_", "legacy_", "ig_", "ens_adv_", "ese_"];

/// The letters at the start of a model's name; of YOLO, the generation too.
pub fn family(model: &str) -> String {
    let name = BEFORE.iter().fold(model, |name, before| {
        name.strip_prefix(before).unwrap_or(name)
    });
    let letters = letters(name);
    if letters.starts_with("yolo") {
        let generation = name[letters.len()..].trim_start_matches("-").chars();
        let generation: String = generation.take_while(char::is_ascii_digit).collect();
        return format!("yolo{generation}");
    }
    // Packages write the same name in two ways.
    match letters {
        "mobilenet" => "mobilenetv".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn a_family_does_not_depend_on_how_a_package_writes_it() {
        for (model, expected) in [
            ("mobilenet_v2", "mobilenetv"),
            ("mobilenetv3_large_100", "mobilenetv"),
            ("gluon_resnet50_v1d", "resnet"),
            ("legacy_seresnext26_32x4d", "seresnext"),
            ("yolov8n-seg", "yolo8"),
            ("yolo11s", "yolo11"),
            ("yoloe-11s-seg", "yolo11"),
            ("vit_b_16", "vit"),
        ] {
            assert_eq!(family(model), expected);
        }
    }
}
