//! The file of a map: weights and biases by layer, and a description, in safetensors.

use std::path::Path;

use mnno::store::{StoreError, Tensor, TensorFile, read_tensors};
use mnno::train::{Activation, Layer, Map, MapError};
use serde::{Deserialize, Serialize};

use crate::program::failure::Failure;
use crate::program::report::{FileReport, shown};

/// What is known of a map beside its weights. In the file it is JSON, under the key `mnno` of the metadata.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    /// The version of mnno that wrote it.
    pub(super) version: String,
    /// `lin`, `nn-1` and so on, or `ridge`.
    pub(super) map: String,
    /// Dimensions of its input, of each hidden layer, and of its output.
    pub(super) widths: Vec<usize>,
    pub(super) activation: Activation,
    pub(super) x: FileReport,
    pub(super) y: FileReport,
    /// The labels that negatives were told by.
    pub(super) labels: Option<FileReport>,
    /// The rows of the files that were used, if not all.
    pub(super) rows: Option<[usize; 2]>,
    /// The share of them that was set aside, drawn with the seed.
    pub(super) test_share: Option<f64>,
    /// Rows trained on.
    pub(super) train_rows: usize,
    /// How it was found.
    pub(super) training: Training,
}

/// How a map was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Training {
    Batches {
        loss: String,
        margin: Option<f64>,
        optimizer: String,
        learning_rate: f64,
        batch: usize,
        dropout: f64,
        init: String,
        bias: f64,
        /// Those that the weights have seen.
        epochs: usize,
        seed: u64,
    },
    Ridge {
        lambda: f64,
        leave_one_out: Option<f64>,
    },
}

/// A hint for what is no safetensors file.
const NO_MAP: &str =
    "the map, a safetensors file of mnno map fit, comes before the rows; is this another file, or a damaged one?";

/// The content of the file of a map.
pub(super) fn content(map: &Map, description: &Description) -> Result<TensorFile, Failure> {
    let json = serde_json::to_string(description)
        .map_err(|e| Failure::bad_data(format!("the description of the map cannot be written: {e}")))?;
    let mut tensors = Vec::new();
    for (number, layer) in map.layers().iter().enumerate() {
        let (weights, biases) = (layer.weights.clone(), layer.biases.clone());
        let shape = vec![layer.outputs(), layer.inputs()];
        tensors.push(Tensor { name: format!("layers.{number}.weight"), shape, values: weights });
        tensors.push(Tensor { name: format!("layers.{number}.bias"), shape: vec![layer.outputs()], values: biases });
    }
    Ok(TensorFile { description: Some(json), tensors })
}

/// Reads a map and what is known of it.
pub(super) fn read(path: &Path, memory: u64) -> Result<(Map, Description), Failure> {
    let file = read_tensors(path, memory).map_err(|error| {
        let is_malformed = matches!(error, StoreError::Malformed { .. });
        let failure = Failure::from(error);
        if is_malformed { failure.hint(NO_MAP) } else { failure }
    })?;
    let bad = |what: String| {
        Failure::bad_data(format!("{}: {what}", path.display())).hint("mnno map fit writes files of maps")
    };
    let Some(json) = file.description else {
        return Err(bad("the file describes no map: its metadata have no entry 'mnno'".to_owned()));
    };
    let description: Description =
        serde_json::from_str(&json).map_err(|e| bad(format!("the description of the map cannot be read: {e}")))?;
    let mut layers = Vec::new();
    for pair in description.widths.windows(2) {
        let number = layers.len();
        let tensor = |name: String, shape: &[usize]| {
            let Some(tensor) = file.tensors.iter().find(|tensor| tensor.name == name) else {
                return Err(bad(format!("tensor {name} is missing")));
            };
            if tensor.shape != shape {
                return Err(bad(format!(
                    "tensor {} is of shape {:?}, but the description of the map asks for {shape:?}",
                    shown(&name),
                    tensor.shape
                )));
            }
            Ok(tensor.values.clone())
        };
        let weights = tensor(format!("layers.{number}.weight"), &[pair[1], pair[0]])?;
        let biases = tensor(format!("layers.{number}.bias"), &[pair[1]])?;
        layers.push(Layer { weights, biases });
    }
    if file.tensors.len() != 2 * layers.len() {
        let (found, expected) = (file.tensors.len(), 2 * layers.len());
        return Err(bad(format!("the file holds {found} tensors, but the map of its description has {expected}")));
    }
    let map = Map::from_layers(layers, description.activation).map_err(|error| match error {
        MapError::Layers => bad(format!("widths {:?} make no map", description.widths)),
        error => bad(error.to_string()),
    })?;
    Ok((map, description))
}
