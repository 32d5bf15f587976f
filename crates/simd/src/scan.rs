//! The filter of the search: which scores of a tile's row could still matter.

use crate::Kernels;

/// What [`Kernels::scan`] reads beside the approximate products of one query: per base row, the factors that turn a
/// product into an upper bound of the row's score.
#[derive(Clone, Copy, Debug)]
pub struct ScanRows<'a> {
    /// Approximate products of the query with each base row.
    pub products: &'a [f32],
    /// Multiplier of each product.
    pub weights: &'a [f64],
    /// What is added for each base row.
    pub offsets: &'a [f64],
}

impl Kernels {
    /// Pushes onto `hits` the position of every base row whose upper bound
    /// `scale * weights[j] * (products[j] + slack) + offsets[j]` is not below `threshold`, in ascending order.
    ///
    /// A bound that is NaN counts as not below: what cannot be bounded survives.
    ///
    /// # Panics
    /// If the slices of `rows` differ in length.
    pub fn scan(self, rows: ScanRows<'_>, scale: f64, slack: f64, threshold: f64, hits: &mut Vec<u32>) {
        const STEP: usize = 16;
        let ScanRows { products, weights, offsets } = rows;
        assert!(
            products.len() == weights.len() && products.len() == offsets.len(),
            "products, weights and offsets of different length"
        );
        self.run(
            #[inline(always)]
            || {
                let whole = products.len() / STEP * STEP;
                for start in (0..whole).step_by(STEP) {
                    let mut all_below = true;
                    for j in start..start + STEP {
                        all_below &= below(rows, scale, slack, threshold, j);
                    }
                    if !all_below {
                        push_hits(rows, scale, slack, threshold, start..start + STEP, hits);
                    }
                }
                push_hits(rows, scale, slack, threshold, whole..products.len(), hits);
            },
        );
    }
}

#[inline(always)]
fn below(rows: ScanRows<'_>, scale: f64, slack: f64, threshold: f64, j: usize) -> bool {
    scale * rows.weights[j] * (f64::from(rows.products[j]) + slack) + rows.offsets[j] < threshold
}

fn push_hits(
    rows: ScanRows<'_>,
    scale: f64,
    slack: f64,
    threshold: f64,
    range: std::ops::Range<usize>,
    hits: &mut Vec<u32>,
) {
    hits.extend(range.filter(|&j| !below(rows, scale, slack, threshold, j)).map(|j| j as u32));
}
