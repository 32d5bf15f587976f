//! What the commands that train have in common.

use mnno::train::{Loss, Optimizer, Pairs};

use super::failure::Failure;

/// The name of a value in a table of names.
pub(crate) fn name_of<T: Copy + PartialEq>(table: &[(T, &'static str)], wanted: T) -> &'static str {
    table.iter().find(|(value, _)| *value == wanted).map_or("", |(_, name)| name)
}

/// Refuses batches in which no row has a negative.
pub(crate) fn check_batch(loss: &str, batch: usize) -> Result<(), Failure> {
    if batch > 1 || Loss::named(loss, 1.0).is_none_or(|loss| loss.margin().is_none()) {
        return Ok(());
    }
    Err(Failure::usage(format!("--batch {batch}: {loss} takes negatives from the other rows of a batch"))
        .hint("choose a larger --batch"))
}

/// Bytes that training a map of some widths takes: weights, what the optimizer remembers of them, a copy, and batches.
pub(crate) fn training_memory(widths: &[usize], batch: usize, optimizer: Optimizer) -> u64 {
    let weights: u64 = widths.windows(2).map(|pair| (pair[0] as u64 + 1) * pair[1] as u64).sum();
    let remembered = match optimizer {
        Optimizer::Sgd => 0,
        Optimizer::RmsProp | Optimizer::AdaGrad => 1,
        Optimizer::Adam => 2,
    };
    let units: u64 = widths.iter().map(|&width| width as u64).sum();
    4 * ((2 + remembered) * weights + 8 * units * batch as u64)
}

/// Bytes that ridge regression takes: the rows in f64, centred and along the eigenvectors, and products of their columns.
pub(crate) fn ridge_memory(pairs: &Pairs<'_>) -> u64 {
    let (n, dx, dy) = (pairs.n() as u64, pairs.dx as u64, pairs.dy as u64);
    8 * (n * (2 * dx + 2 * dy) + 4 * dx * dx + 3 * dx * dy)
}
