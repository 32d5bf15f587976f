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
                let (products_by_step, rest) = products.as_chunks::<STEP>();
                let weights_by_step = weights.as_chunks::<STEP>().0;
                let offsets_by_step = offsets.as_chunks::<STEP>().0;
                for (step, products) in products_by_step.iter().enumerate() {
                    let (weights, offsets) = (&weights_by_step[step], &offsets_by_step[step]);
                    // A sum of integers, unlike a chain of `&&`, becomes vector code.
                    let mut all_below = 0u64;
                    for j in 0..STEP {
                        let bound = upper_bound(products[j], weights[j], offsets[j], scale, slack);
                        all_below += u64::from(bound < threshold);
                    }
                    if all_below < STEP as u64 {
                        push_hits(rows, scale, slack, threshold, step * STEP..(step + 1) * STEP, hits);
                    }
                }
                let tail = products.len() - rest.len()..products.len();
                push_hits(rows, scale, slack, threshold, tail, hits);
            },
        );
    }
}

#[inline(always)]
fn upper_bound(product: f32, weight: f64, offset: f64, scale: f64, slack: f64) -> f64 {
    scale * weight * (f64::from(product) + slack) + offset
}

fn push_hits(
    rows: ScanRows<'_>,
    scale: f64,
    slack: f64,
    threshold: f64,
    range: std::ops::Range<usize>,
    hits: &mut Vec<u32>,
) {
    let ScanRows { products, weights, offsets } = rows;
    let below = |j: usize| upper_bound(products[j], weights[j], offsets[j], scale, slack) < threshold;
    hits.extend(range.filter(|&j| !below(j)).map(|j| j as u32));
}
