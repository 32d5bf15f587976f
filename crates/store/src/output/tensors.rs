//! Files of several tensors with a description.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{AtomicFile, Prepared, WriteError, Written};
use crate::TensorFile;

/// Writes a safetensors file beside `path`; [`Prepared::publish`] puts it into place. The description becomes the metadata's only
/// entry, under the key `mnno`, so that the same tensors give the same bytes.
///
/// # Errors
/// [`WriteError`] if the file cannot be written.
///
/// # Panics
/// If a shape is not that of its values.
///
/// # Examples
/// ```
/// use mnno_store::output::prepare_tensors;
/// use mnno_store::{Tensor, TensorFile, read_tensors};
/// let path = tempfile::tempdir()?.keep().join("model.safetensors");
/// let weights = Tensor { name: "weights".to_owned(), shape: vec![2, 1], values: vec![0.5, -1.0] };
/// let model = TensorFile { description: Some("two weights".to_owned()), tensors: vec![weights] };
/// prepare_tensors(&model, "model", &path)?.publish()?;
/// assert_eq!(read_tensors(&path, 1 << 20)?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare_tensors(content: &TensorFile, what: &'static str, path: &Path) -> Result<Prepared, WriteError> {
    let mut file = AtomicFile::create(path)?;
    write(content, &mut file).map_err(|e| WriteError::io(path, e))?;
    file.sync()?;
    let values = content.tensors.iter().map(|tensor| tensor.values.len()).sum();
    let written = Written { path: path.to_owned(), what, shape: vec![values], dtype: "f32" };
    Ok(Prepared::new(vec![file], vec![written]))
}

fn write(content: &TensorFile, out: &mut impl Write) -> io::Result<()> {
    let mut header = Map::new();
    if let Some(description) = &content.description {
        header.insert("__metadata__".to_owned(), json!({ "mnno": description }));
    }
    let mut begin = 0;
    for tensor in &content.tensors {
        assert_eq!(tensor.shape.iter().product::<usize>(), tensor.values.len(), "the shape of {}", tensor.name);
        let end = begin + 4 * tensor.values.len();
        let entry = json!({ "dtype": "F32", "shape": tensor.shape, "data_offsets": [begin, end] });
        header.insert(tensor.name.clone(), entry);
        begin = end;
    }
    let json = Value::Object(header).to_string();
    // Padded, so that the values are aligned in a map of the file.
    let padded = json.len().next_multiple_of(8);
    out.write_all(&(padded as u64).to_le_bytes())?;
    out.write_all(json.as_bytes())?;
    out.write_all(&b"        "[..padded - json.len()])?;
    for value in content.tensors.iter().flat_map(|tensor| &tensor.values) {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}
