//! Writes the kernels of all networks as a table, for analyses outside of this program.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use litecast::targets::gpu::kernels::Kernel;

use super::graphs::Networks;

/// One row for each kernel, in the order of the network. Counts are for one input.
pub fn write(path: &Path, networks: &Networks) -> Result<()> {
    let file = std::fs::File::create(path)
        .with_context(|| format!("could not write {}", path.display()))?;
    let mut out = std::io::BufWriter::new(file);
    writeln!(
        out,
        "model,image_size,parameters,kind,function,macs,inputs,outputs,weights,rows,columns,depth,window,in_channels,groups,scores,is_masked,side,stride,has_bias,is_permuted,broadcasts,is_scalar"
    )?;
    for ((model, image_size), network) in networks {
        for kernel in &network.kernels {
            writeln!(
                out,
                "{model},{image_size},{},{}",
                network.parameters,
                columns(kernel)
            )?;
        }
    }
    Ok(out.flush()?)
}

fn columns(kernel: &Kernel) -> String {
    let function = kernel
        .function
        .map_or(String::new(), |function| format!("{function:?}"));
    let mut columns = vec![format!("{:?}", kernel.kind), function];
    let counts = [
        kernel.macs,
        kernel.inputs,
        kernel.outputs,
        kernel.weights,
        kernel.rows,
        kernel.columns,
        kernel.depth,
        kernel.window,
        kernel.in_channels,
        kernel.groups,
        kernel.scores,
        f64::from(u8::from(kernel.is_masked)),
        kernel.side,
        kernel.stride,
        f64::from(u8::from(kernel.has_bias)),
        f64::from(u8::from(kernel.is_permuted)),
        f64::from(u8::from(kernel.broadcasts)),
        f64::from(u8::from(kernel.is_scalar)),
    ];
    columns.extend(counts.map(|count| count.to_string()));
    columns.join(",")
}
