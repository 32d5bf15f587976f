//! Spaces that no sample of the rows would give.

use super::support::{Data, Random};
use crate::space::Space;
use crate::{Kernels, Metric, SliceRows};

/// Powers of two that a scale is off by: up to most rows being out of range, or down to most of them being stored as zero, or
/// only their products below the normal range.
const OFF: [i32; 12] = [0, 1, -1, 7, -13, 30, -30, 57, -57, 63, -64, -95];

fn with_centre(space: &Space, scale: f64, centre: Vec<f64>) -> Space {
    let centre_norm = centre.iter().map(|c| c * c).sum::<f64>().sqrt();
    Space { scale, centre, centre_norm, ..space.clone() }
}

/// A space with a random centre, about ten times as far off as the rows lie apart, and a scale off by a power of two.
pub(super) fn wild(data: &Data, metric: Metric, turn: usize) -> Space {
    let space = Space::new(&SliceRows::new(&data.values, data.d), metric, Kernels::detect());
    let mut random = Random::new(turn as u64);
    let off = 2f64.powi(OFF[turn % OFF.len()]);
    let far = 10.0 / (data.d as f64).sqrt();
    let centre = space.centre.iter().map(|c| off * (c + far * random.normal())).collect();
    with_centre(&space, off * space.scale, centre)
}

/// Spaces for data, whether f64 has no error in them, and their names.
pub(super) fn spaces(data: &Data, metric: Metric, turn: usize) -> Vec<(Space, bool, &'static str)> {
    let found = Space::new(&SliceRows::new(&data.values, data.d), metric, Kernels::detect());
    let exact = metric != Metric::Cosine;
    let zero = with_centre(&found, found.scale, vec![0.0; data.d]);
    let mut spaces = vec![(zero, exact, "no centre")];
    if ["small integers", "bits, many zero rows"].contains(&data.name) {
        let mut random = Random::new(turn as u64);
        let centre = (0..data.d).map(|_| random.below(9) as f64 - 4.0).collect();
        spaces.push((with_centre(&found, 0.25, centre), exact, "centre of integers"));
    }
    spaces.push((wild(data, metric, turn), false, "wild"));
    spaces.push((found, false, "as found"));
    spaces
}
