//! Files of several tensors with a description: models.

use std::path::Path;

use crate::bytes::{Io, Source};
use crate::error::{Need, shown};
use crate::format::safetensors::Tensors;
use crate::{ElementType, StoreError};

/// A named array of f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its name in the file.
    pub name: String,
    /// Its axes.
    pub shape: Vec<usize>,
    /// Its values, the last axis running fastest.
    pub values: Vec<f32>,
}

/// What a file of tensors holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorFile {
    /// What its metadata say under the key `mnno`.
    pub description: Option<String>,
    /// In the order of the file.
    pub tensors: Vec<Tensor>,
}

/// Reads every tensor of a safetensors file, all of them f32, into memory. [`crate::output::prepare_tensors`] writes such files.
///
/// # Errors
/// [`StoreError`] if the file cannot be read, is malformed, has a tensor of another type, or needs more than `budget` bytes.
pub fn read_tensors(path: &Path, budget: u64) -> Result<TensorFile, StoreError> {
    let source = Source::open(path, Io::Read, budget / 2)?;
    let (bytes, file) = (source.bytes(), path.display().to_string());
    let needed = 2 * bytes.len() as u64;
    if needed > budget {
        return Err(StoreError::OverBudget { file, needed, need: Need::Read, budget });
    }
    let parsed = Tensors::open(&file, bytes, budget - needed)?;
    let description = parsed.description(bytes)?;
    let mut tensors = Vec::new();
    for member in parsed.members()? {
        let header = member.header;
        if header.element != ElementType::F32 {
            let file = format!("{file}::{}", shown(&member.name));
            let descr = header.element.to_string();
            return Err(StoreError::ElementKind {
                file,
                descr,
                what: "numbers that are not f32, as those of a model are",
            });
        }
        // The parser has compared shapes with the length of the file.
        let shape: Vec<usize> = header.shape.iter().map(|&axis| axis as usize).collect();
        let values = &bytes[header.offset..header.offset + 4 * shape.iter().product::<usize>()];
        let values = values.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        tensors.push(Tensor { name: member.name, shape, values });
    }
    Ok(TensorFile { description, tensors })
}
