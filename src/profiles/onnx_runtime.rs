//! ONNX Runtime's profile: a JSON list of events, of which those of the category `Node` are runs of operators.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::{MAX_ROWS, ProfileError};
use super::profile::{MeasuredInference, MeasuredOperator, Profile, is_of_accelerator, median};

#[derive(serde::Deserialize)]
struct Event<'t> {
    #[serde(borrow, default)]
    cat: Cow<'t, str>,
    #[serde(borrow, default)]
    name: Cow<'t, str>,
    /// In microseconds.
    #[serde(default)]
    dur: f64,
    #[serde(borrow, default)]
    args: Args<'t>,
}

#[derive(Default, serde::Deserialize)]
struct Args<'t> {
    #[serde(borrow, default)]
    op_name: Cow<'t, str>,
    /// What ran the node.
    #[serde(borrow, default)]
    provider: Cow<'t, str>,
    #[serde(borrow, default)]
    node_index: Cow<'t, str>,
    #[serde(default)]
    output_type_shape: FirstShape,
}

/// The sizes of the first output, from a list that has those of each by its element type.
#[derive(Default)]
struct FirstShape(Vec<u32>);

/// Sizes of one output that are kept.
const MAX_RANK: usize = 32;

impl<'de> Deserialize<'de> for FirstShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self::default())
    }
}

/// Lists and objects in each other: the first value of each, and of the innermost list the numbers.
impl<'de> Visitor<'de> for FirstShape {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of shapes by element type")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<Self, A::Error> {
        while let Some(Self(sizes)) = entries.next_element()? {
            if self.0.len() < MAX_RANK {
                self.0.extend(sizes);
            }
        }
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        let first = entries.next_entry::<IgnoredAny, Self>()?;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(first.map_or(self, |(_, shape)| shape))
    }

    fn visit_u64<E>(self, size: u64) -> Result<Self, E> {
        Ok(Self(vec![u32::try_from(size).unwrap_or(u32::MAX)]))
    }

    fn visit_f64<E>(self, size: f64) -> Result<Self, E> {
        Ok(Self(vec![size as u32]))
    }
}

/// Ends of the names of events that are parts of a node's run.
const PARTS: [&str; 2] = ["_fence_before", "_fence_after"];

/// What is kept of the events, one after the other: a profile has many of each operator.
#[derive(Default)]
struct Runs {
    places: HashMap<(String, String), usize>,
    operators: Vec<(MeasuredOperator, Vec<f64>)>,
    /// Of the whole network.
    runs_us: Vec<f64>,
}

impl Runs {
    fn add(&mut self, event: Event) {
        if event.name == "model_run" {
            self.runs_us.push(event.dur);
        }
        if event.cat != "Node" || PARTS.iter().any(|part| event.name.ends_with(part)) {
            return;
        }
        let name = event.name.trim_end_matches("_kernel_time").to_owned();
        let next = self.operators.len();
        let key = (event.args.node_index.into_owned(), name);
        let place = match self.places.get(&key) {
            Some(&place) => place,
            // One more than what is allowed tells that there are too many.
            None if next > MAX_ROWS => return,
            None => {
                // A part that was compiled for an accelerator has a made-up kind.
                let kind = match is_of_accelerator(&event.args.provider) {
                    true => event.args.provider,
                    false => event.args.op_name,
                };
                let operator = MeasuredOperator {
                    name: key.1.clone(),
                    kind: kind.into_owned(),
                    output_shape: event.args.output_type_shape.0,
                    ..MeasuredOperator::default()
                };
                self.operators.push((operator, Vec::new()));
                self.places.insert(key, next);
                next
            }
        };
        self.operators[place].1.push(event.dur);
    }
}

impl<'de> Visitor<'de> for &mut Runs {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element()? {
            self.add(event);
        }
        Ok(())
    }
}

/// The median run of each operator, and of the whole network: the first runs are slower.
pub fn read(text: &str) -> Result<Profile, ProfileError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut runs = Runs::default();
    let read = json.deserialize_seq(&mut runs).and_then(|()| json.end());
    match read {
        // The list ends with the session, which not every process reaches.
        Err(error) if !error.is_eof() || runs.runs_us.is_empty() => {
            return Err(ProfileError::Json(error.to_string()));
        }
        _ => {}
    }
    let Runs {
        operators,
        mut runs_us,
        ..
    } = runs;
    let n_runs = runs_us.len().max(1) as f64;
    let operators = operators.into_iter().map(|(operator, mut runs_us)| {
        // The body of a loop runs several times in one inference.
        let n_times = (runs_us.len() as f64 / n_runs).round().max(1.0);
        MeasuredOperator {
            duration_ms: median(&mut runs_us) * n_times / 1e3,
            ..operator
        }
    });
    let operators: Vec<MeasuredOperator> = operators.collect();
    let inferences = (!runs_us.is_empty()).then(|| MeasuredInference {
        name: String::new(),
        duration_ms: median(&mut runs_us) / 1e3,
    });
    Ok(Profile {
        tool: "ONNX Runtime",
        is_of_accelerator: operators.iter().any(|one| is_of_accelerator(&one.kind)),
        operators,
        inferences: inferences.into_iter().collect(),
        ..Profile::default()
    })
}
