//! The canonical accumulation: eight interleaved f64 lanes, one reduction.

/// Number of interleaved accumulators. Part of the definition of a score: changing it changes results.
const LANES: usize = 8;

/// `sum_j term(x_j, row_j)` for each of `R` rows, in the canonical order.
///
/// All rows are as long as `x` (asserted by the callers).
#[inline(always)]
pub(crate) fn accumulate<const R: usize>(
    x: &[f32],
    rows: [&[f32]; R],
    term: impl Fn(f64, f64) -> f64 + Copy,
) -> [f64; R] {
    let mut acc = [[0.0f64; LANES]; R];
    let (x_body, x_tail) = x.as_chunks::<LANES>();
    let bodies = rows.map(|row| row.as_chunks::<LANES>().0);
    let tails = rows.map(|row| row.as_chunks::<LANES>().1);
    for (step, xs) in x_body.iter().enumerate() {
        for (acc, body) in acc.iter_mut().zip(&bodies) {
            let ys = &body[step];
            for lane in 0..LANES {
                acc[lane] += term(f64::from(xs[lane]), f64::from(ys[lane]));
            }
        }
    }
    for (acc, tail) in acc.iter_mut().zip(&tails) {
        for (lane, (&a, &b)) in x_tail.iter().zip(*tail).enumerate() {
            acc[lane] += term(f64::from(a), f64::from(b));
        }
    }
    acc.map(|l| ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7])))
}
