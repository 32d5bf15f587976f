//! Ridge regression: the linear map that has a closed form.

use faer::{Mat, MatRef, Side};

use crate::product::view;
use crate::{Activation, Layer, Map, MapError, Pairs};

/// How strongly weights are held down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lambda {
    /// This much.
    Given(f64),
    /// The power of ten with the smallest leave-one-out error, among those from `10^-8` to `10^4` times the mean eigenvalue of the
    /// centred `x' x`: beyond, nothing or everything is held down.
    LeaveOneOut,
}

/// A map found by ridge regression.
#[derive(Clone, Debug)]
pub struct Ridge {
    /// The map, linear.
    pub map: Map<f32>,
    /// Its lambda.
    pub lambda: f64,
    /// The mean over training rows of `1/2 |f_-i(x_i) - y_i|^2`, where `f_-i` is the map of all rows but `i`. None where a row is fitted
    /// whatever its target is, as by as many dimensions as there are rows and no lambda.
    pub leave_one_out: Option<f64>,
}

/// The linear map that makes `sum_i |W x_i + b - y_i|^2 + lambda |W|^2` smallest over the rows `train`. The bias is not held down: it is
/// the regression of centred columns. In f64, on one thread, by the eigenvectors of `x' x`; the leave-one-out error is exact, from the
/// diagonal of the hat matrix (Golub, Heath and Wahba 1979).
///
/// # Errors
/// [`MapError::Rows`] for fewer than two rows, [`MapError::Unsolvable`] if the decomposition fails, [`MapError::NonFiniteWeight`] for a
/// weight beyond f32.
pub fn ridge(pairs: &Pairs<'_>, train: &[u32], lambda: Lambda) -> Result<Ridge, MapError> {
    if train.len() < 2 {
        return Err(MapError::Rows { rows: train.len(), needed: 2 });
    }
    let (x, x_means) = centred(pairs.x, pairs.dx, train);
    let (y, y_means) = centred(pairs.y, pairs.dy, train);
    let eigen = (x.transpose() * &x).self_adjoint_eigen(Side::Lower).map_err(|_| MapError::Unsolvable)?;
    // Rounding can leave a small one below 0.
    let values: Vec<f64> = eigen.S().column_vector().iter().map(|&value| value.max(0.0)).collect();
    let projected = &x * eigen.U();
    let fit = Fit { train, values, of_y: projected.transpose() * &y, projected, y };
    let lambda = match lambda {
        Lambda::Given(lambda) => lambda,
        Lambda::LeaveOneOut => {
            let middle = (fit.values.iter().sum::<f64>() / pairs.dx as f64).log10();
            // Where all rows are equal there is nothing to hold down.
            let middle = if middle.is_finite() { middle } else { 0.0 };
            let powers = (middle - 8.0).ceil() as i32..=(middle + 4.0).floor() as i32;
            let error = |lambda: f64| (fit.leave_one_out(lambda), lambda);
            let smallest = powers.map(|power| error(10_f64.powi(power))).min_by(|a, b| a.0.total_cmp(&b.0));
            smallest.map_or(0.0, |(_, lambda)| lambda)
        }
    };
    let weights = eigen.U() * fit.shrunk(lambda);
    let biases =
        (0..pairs.dy).map(|out| y_means[out] - (0..pairs.dx).map(|j| weights[(j, out)] * x_means[j]).sum::<f64>());
    let layer = Layer {
        weights: (0..pairs.dy).flat_map(|out| weights.col(out).iter().map(|&w| w as f32)).collect(),
        biases: biases.map(|b| b as f32).collect(),
    };
    let map = Map::from_layers(vec![layer], Activation::default())?;
    let leave_one_out = Some(fit.leave_one_out(lambda)).filter(|error| error.is_finite());
    Ok(Ridge { map, lambda, leave_one_out })
}

/// Some rows less their mean, and the mean.
fn centred(values: &[f32], d: usize, rows: &[u32]) -> (Mat<f64>, Vec<f64>) {
    let all = view(values, values.len() / d, d);
    let row = |i: usize| rows[i] as usize;
    let mean = |j| (0..rows.len()).map(|i| f64::from(all[(row(i), j)])).sum::<f64>() / rows.len() as f64;
    let means: Vec<f64> = (0..d).map(mean).collect();
    (Mat::from_fn(rows.len(), d, |i, j| f64::from(all[(row(i), j)]) - means[j]), means)
}

/// The regression in the directions of the eigenvectors.
struct Fit<'a> {
    train: &'a [u32],
    values: Vec<f64>,
    /// `[n, dx]`: rows along the eigenvectors.
    projected: Mat<f64>,
    /// `[dx, dy]`.
    of_y: Mat<f64>,
    y: Mat<f64>,
}

impl Fit<'_> {
    /// `1 / (value + lambda)`; nothing along directions in which rows do not differ.
    fn shrink(&self, lambda: f64) -> Vec<f64> {
        let largest = self.values.iter().fold(0.0_f64, |a, &b| a.max(b));
        let noise = largest * f64::EPSILON * self.values.len() as f64;
        let of = |&value: &f64| if value <= noise && lambda == 0.0 { 0.0 } else { 1.0 / (value + lambda) };
        self.values.iter().map(of).collect()
    }

    /// The weights along the eigenvectors, `[dx, dy]`.
    fn shrunk(&self, lambda: f64) -> Mat<f64> {
        let shrink = self.shrink(lambda);
        Mat::from_fn(self.of_y.nrows(), self.of_y.ncols(), |j, out| shrink[j] * self.of_y[(j, out)])
    }

    fn leave_one_out(&self, lambda: f64) -> f64 {
        let n = self.train.len();
        let shrink = self.shrink(lambda);
        let fitted = &self.projected * self.shrunk(lambda);
        let residual = |i: usize| {
            let projected = self.projected.row(i);
            let leverage = 1.0 / n as f64 + projected.iter().zip(&shrink).map(|(p, s)| p * p * s).sum::<f64>();
            // Rounding aside, a leverage of 1 leaves nothing to divide.
            let left = if leverage > 1.0 - 1e-12 { 0.0 } else { 1.0 - leverage };
            distance(fitted.as_ref(), self.y.as_ref(), i) / left.powi(2)
        };
        0.5 * (0..n).map(residual).sum::<f64>() / n as f64
    }
}

fn distance(a: MatRef<'_, f64>, b: MatRef<'_, f64>, i: usize) -> f64 {
    a.row(i).iter().zip(b.row(i).iter()).map(|(a, b)| (a - b).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(n: usize, d: usize, scale: f32) -> Vec<f32> {
        // Irregular, and the same everywhere.
        (0..n * d).map(|i| scale * ((i * i * 31 + i * 17) % 101) as f32 / 101.0).collect()
    }

    #[test]
    fn leave_one_out_is_the_error_of_maps_without_the_row() {
        let (n, dx, dy) = (14, 3, 2);
        let (x, mut y) = (data(n, dx, 1.0), data(n, dy, -1.0));
        // Enough of a relation that some lambda in the middle is best.
        y.iter_mut().enumerate().for_each(|(i, y)| *y += x[i / dy * dx] - x[i / dy * dx + 1]);
        let pairs = Pairs { x: &x, dx, y: &y, dy, classes: None };
        let all: Vec<u32> = (0..n as u32).collect();
        for lambda in [0.0, 0.3, 10.0] {
            let mut total = 0.0;
            for &left_out in &all {
                let others: Vec<u32> = all.iter().copied().filter(|&i| i != left_out).collect();
                let map = ridge(&pairs, &others, Lambda::Given(lambda)).unwrap().map;
                let i = left_out as usize;
                let mapped = map.apply(&x[i * dx..][..dx], crate::Pieces::InTurn);
                total += mapped.iter().zip(&y[i * dy..]).map(|(f, y)| 0.5 * f64::from(f - y).powi(2)).sum::<f64>();
            }
            let found = ridge(&pairs, &all, Lambda::Given(lambda)).unwrap().leave_one_out.unwrap();
            // The maps above are rounded to f32.
            assert!((found / (total / n as f64) - 1.0).abs() < 1e-5, "{lambda}: {found} and {}", total / n as f64);
        }
        let best = ridge(&pairs, &all, Lambda::LeaveOneOut).unwrap();
        for factor in [0.1, 10.0] {
            let other = ridge(&pairs, &all, Lambda::Given(best.lambda * factor)).unwrap();
            let (least, lambda) = (best.leave_one_out, best.lambda);
            assert!(
                least <= other.leave_one_out,
                "{least:?} at {lambda}, {:?} at {factor} of that",
                other.leave_one_out
            );
        }
    }

    #[test]
    fn a_linear_relation_is_found_through_equal_and_constant_columns() {
        // Columns 0 and 1 are equal, column 2 is constant; y = 3 x0 + 2 - x3.
        let x: Vec<f32> = (0..9u8).flat_map(|i| [f32::from(i), f32::from(i), 5.0, f32::from(i * i % 7)]).collect();
        let y: Vec<f32> = x.chunks(4).map(|x| 3.0 * x[0] + 2.0 - x[3]).collect();
        let pairs = Pairs { x: &x, dx: 4, y: &y, dy: 1, classes: None };
        let all: Vec<u32> = (0..9).collect();
        let found = ridge(&pairs, &all, Lambda::Given(0.0)).unwrap();
        let mapped = found.map.apply(&x, crate::Pieces::InTurn);
        assert!(mapped.iter().zip(&y).all(|(f, y)| (f - y).abs() < 1e-4), "{mapped:?}, expected {y:?}");
        // Of three rows and two directions, each row is fitted exactly.
        let exact = ridge(&pairs, &[0, 1, 3], Lambda::Given(0.0)).unwrap();
        assert_eq!(exact.leave_one_out, None);
        assert!(ridge(&pairs, &[0, 1, 3], Lambda::Given(0.1)).unwrap().leave_one_out.is_some());
        assert_eq!(ridge(&pairs, &[0], Lambda::Given(1.0)).unwrap_err(), MapError::Rows { rows: 1, needed: 2 });
    }
}
