//! Errors on design spaces that were left out of the training, stored as a table. Intervals use them, because a user's
//! file belongs to no design space.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use litecast_trainer::dataset::LabelKey;

use super::intervals::GraphErrors;

/// Maximum number of graphs of one design space, so that all spaces have the same weight. Together they stay few
/// relative to the held-out graphs of known spaces, whose intervals would otherwise be too wide.
const MAX_GRAPHS: usize = 12;

/// Selects graphs that are spread evenly over those of a space.
pub fn evenly_spread(graphs: &[GraphErrors]) -> impl Iterator<Item = &GraphErrors> {
    let step = graphs.len().div_ceil(MAX_GRAPHS).max(1);
    graphs.iter().step_by(step)
}

fn header(outputs: &[LabelKey]) -> Vec<String> {
    let of_outputs = outputs
        .iter()
        .map(|key| format!("{} {}", key.target, key.metric));
    ["space".to_owned(), "distance".to_owned()]
        .into_iter()
        .chain(of_outputs)
        .collect()
}

/// Writes one row for each graph: space, distance, then an error for each output, empty without label.
pub fn write(path: &Path, outputs: &[LabelKey], graphs: &[&GraphErrors]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    writer.write_record(header(outputs))?;
    for graph in graphs {
        let errors = graph.log_errors.iter().map(|error| {
            if error.is_nan() {
                String::new()
            } else {
                format!("{error:.5}")
            }
        });
        let start = [graph.space.clone(), format!("{:.4}", graph.distance)];
        writer.write_record(start.into_iter().chain(errors))?;
    }
    Ok(writer.flush()?)
}

/// Reads a table that `write` wrote for the same outputs.
pub fn read(path: &Path, outputs: &[LabelKey]) -> Result<Vec<GraphErrors>> {
    let place = || path.display().to_string();
    let mut reader = csv::Reader::from_path(path).with_context(place)?;
    let columns: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let expected = header(outputs);
    ensure!(
        columns == expected,
        "{}: expected columns {expected:?}, found {columns:?}",
        place()
    );
    let mut graphs = Vec::new();
    for record in reader.records() {
        let record = record.with_context(place)?;
        let number = |column: usize| -> Result<f32> {
            match &record[column] {
                "" => Ok(f32::NAN),
                text => text.parse().with_context(|| format!("{}: {text}", place())),
            }
        };
        graphs.push(GraphErrors {
            space: record[0].to_owned(),
            distance: number(1)?,
            log_errors: (2..record.len()).map(number).collect::<Result<_>>()?,
        });
    }
    Ok(graphs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("left-out.csv");
        let key = |metric: &str| LabelKey {
            target: "t".into(),
            metric: metric.into(),
        };
        let outputs = [key("latency"), key("sram_peak")];
        let graphs: Vec<GraphErrors> = (0..250)
            .map(|idx| GraphErrors {
                space: "s".into(),
                distance: idx as f32,
                log_errors: vec![0.5, f32::NAN],
            })
            .collect();
        let some: Vec<&GraphErrors> = evenly_spread(&graphs).collect();
        assert!(some.len() <= MAX_GRAPHS && some.len() > MAX_GRAPHS / 2);
        write(&path, &outputs, &some).unwrap();
        let read_again = read(&path, &outputs).unwrap();
        assert_eq!(read_again.len(), some.len());
        assert_eq!(read_again[1].distance, some[1].distance);
        assert!(read_again[1].log_errors[1].is_nan());
        assert!(read(&path, &outputs[..1]).is_err());
    }
}
