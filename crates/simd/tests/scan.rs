//! The filter's scan: what its bounds say, for each product on its own.

use std::collections::HashMap;

use mnno_simd::{Cell, Element, GROUP, Hit, Kernels, Side};

/// Numbers from a linear congruence.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    /// From -1 to 1.
    fn uniform(&mut self) -> f32 {
        (self.bits() as f64 / (1u64 << 30) as f64 - 1.0) as f32
    }

    fn positive(&mut self) -> f32 {
        0.1 + self.uniform().abs()
    }
}

/// The numbers of a side.
struct Numbers {
    step: Vec<f32>,
    offset: Vec<f32>,
    residual: Vec<f32>,
    norm: Vec<f32>,
    on_residual: Vec<f32>,
    on_norm: Vec<f32>,
    group_residual: Vec<f32>,
    group_norm: Vec<f32>,
}

impl Numbers {
    /// The last two of `n` rows only pad, and one is out of range.
    fn new(n: usize, scale: f32, random: &mut Random) -> Self {
        let mut list = |of: &dyn Fn(&mut Random) -> f32| (0..n).map(|_| of(random)).collect::<Vec<f32>>();
        let mut numbers = Self {
            step: list(&|r| r.positive()),
            offset: list(&|r| scale * r.uniform()),
            residual: list(&|r| 0.01 * scale * r.positive()),
            norm: list(&Random::positive),
            on_residual: list(&Random::positive),
            on_norm: list(&|r| 0.02 * scale * r.positive()),
            group_residual: Vec::new(),
            group_norm: Vec::new(),
        };
        numbers.offset[n - 2..].fill(f32::NEG_INFINITY);
        let lost = n / 2 + 3;
        numbers.offset[lost] = 0.0;
        for infinite in [&mut numbers.residual, &mut numbers.on_residual, &mut numbers.on_norm] {
            infinite[lost] = f32::INFINITY;
        }
        let largest = |values: &[f32]| values.chunks(GROUP).map(|g| g.iter().copied().fold(0.0, f32::max)).collect();
        numbers.group_residual = largest(&numbers.residual);
        numbers.group_norm = largest(&numbers.norm);
        numbers
    }

    fn len(&self) -> usize {
        self.step.len()
    }

    fn side(&self) -> Side<'_> {
        Side {
            step: &self.step,
            offset: &self.offset,
            residual: &self.residual,
            norm: &self.norm,
            on_residual: &self.on_residual,
            on_norm: &self.on_norm,
            group_residual: &self.group_residual,
            group_norm: &self.group_norm,
        }
    }

    /// The error of a pair, in which these rows ask, as f32 gives it.
    fn error(&self, asking: usize, other: &Self, asked: usize) -> f32 {
        self.on_residual[asking] * other.residual[asked] + self.on_norm[asking] * other.norm[asked]
    }
}

/// The bounds of a pair.
#[derive(Clone, Copy)]
struct Pair {
    /// As f32 gives it.
    upper: f32,
    exact_upper: f64,
    exact_lower: f64,
    /// What f32 loses on the way to a bound, at most: three roundings of the product and one with the offset, two of the
    /// error. The errors that a search gives pay for that.
    lost: f64,
}

/// A cell and its numbers.
struct Problem {
    element: Element,
    words: Vec<u32>,
    stride: usize,
    rows: Numbers,
    columns: Numbers,
}

const FIRST_ROW: usize = 1000;
const FIRST_COLUMN: usize = 70_000;

impl Problem {
    fn new(element: Element, rows: usize, columns: usize, gap: usize, random: &mut Random) -> Self {
        let stride = columns + gap;
        // Integers beyond 2^24 are rounded when they become f32.
        let scale = if element == Element::Int8 { 1e8 } else { 1.0 };
        let words = (0..rows * stride).map(|_| {
            let value = scale * random.uniform();
            if element == Element::Int8 {
                (value as i32 + i32::from(random.below(4) as u8)).cast_unsigned()
            } else {
                value.to_bits()
            }
        });
        let words = words.collect();
        Self {
            element,
            words,
            stride,
            rows: Numbers::new(rows, scale, random),
            columns: Numbers::new(columns, scale, random),
        }
    }

    fn cell(&self) -> Cell<'_> {
        Cell {
            element: self.element,
            products: &self.words,
            stride: self.stride,
            rows: self.rows.side(),
            columns: self.columns.side(),
            first_row: FIRST_ROW,
            first_column: FIRST_COLUMN,
        }
    }

    /// The estimate less the offset, in f32 and in f64.
    fn estimate(&self, row: usize, column: usize) -> (f32, f64) {
        let word = self.words[row * self.stride + column];
        if self.element != Element::Int8 {
            let product = f32::from_bits(word);
            return (product, f64::from(product));
        }
        let (product, a, b) = (word.cast_signed(), self.columns.step[column], self.rows.step[row]);
        (product as f32 * a * b, f64::from(product) * f64::from(a) * f64::from(b))
    }

    /// What is said of row and column, of which the row asks unless `turned`.
    fn pair(&self, row: usize, column: usize, turned: bool) -> Pair {
        let (asking, asked) = if turned { (&self.columns, &self.rows) } else { (&self.rows, &self.columns) };
        let (a, b) = if turned { (column, row) } else { (row, column) };
        let (estimate, exact) = self.estimate(row, column);
        let error = asking.error(a, asked, b);
        let exact_error = f64::from(asking.on_residual[a]) * f64::from(asked.residual[b])
            + f64::from(asking.on_norm[a]) * f64::from(asked.norm[b]);
        let offset = asked.offset[b];
        let lost =
            (4.0 * exact.abs() + f64::from(offset.abs()) + 2.0 * exact_error) * (0.501 * f64::from(f32::EPSILON));
        Pair {
            upper: estimate + offset + error,
            exact_upper: exact + f64::from(offset) + exact_error,
            exact_lower: exact + f64::from(offset) - exact_error,
            lost: if lost.is_finite() { lost } else { 0.0 },
        }
    }

    /// Thresholds for the rows, or the columns if `turned`: some that all reach or none, the rest the upper bound of some
    /// pair, or the next number.
    fn thresholds(&self, turned: bool, random: &mut Random) -> Vec<f32> {
        let (n, others) =
            if turned { (self.columns.len(), self.rows.len()) } else { (self.rows.len(), self.columns.len()) };
        let thresholds = (0..n).map(|i| match i % 5 {
            0 => f32::NEG_INFINITY,
            1 => f32::INFINITY,
            turn => {
                let other = random.below(others);
                let (row, column) = if turned { (other, i) } else { (i, other) };
                let upper = self.pair(row, column, turned).upper;
                if turn == 2 { upper } else { upper.next_up() }
            }
        });
        // Those of padding are not reached.
        let padding = |i: usize| if turned { self.columns.offset[i] } else { self.rows.offset[i] } == f32::NEG_INFINITY;
        thresholds.enumerate().map(|(i, t)| if padding(i) { f32::INFINITY } else { t }).collect()
    }

    /// Checks the hits of the rows, or of the columns if `turned`; the number of pairs found, but for padding.
    fn check(&self, hits: &[Hit], thresholds: &[f32], turned: bool, what: &str) -> usize {
        let mut found = HashMap::new();
        for hit in hits {
            assert!(found.insert((hit.query, hit.base), *hit).is_none(), "{what}: {hit:?} twice");
        }
        let mut known = 0;
        let mut real = 0;
        for row in 0..self.rows.len() {
            for column in 0..self.columns.len() {
                let pair = self.pair(row, column, turned);
                let (row_number, column_number) = ((FIRST_ROW + row) as u32, (FIRST_COLUMN + column) as u32);
                let number = if turned { (column_number, row_number) } else { (row_number, column_number) };
                let threshold = thresholds[if turned { column } else { row }];
                // Nothing reaches infinity, and nobody asks for padding, whose bound is minus infinity.
                let asked = threshold < f32::INFINITY && pair.upper > f32::NEG_INFINITY;
                let Some(hit) = found.get(&number) else {
                    let reaches = pair.exact_upper - pair.lost >= f64::from(threshold);
                    assert!(!(asked && reaches), "{what}: {number:?} is missing");
                    continue;
                };
                known += 1;
                real += usize::from(asked);
                let reached = pair.upper >= threshold && threshold < f32::INFINITY;
                assert!(reached, "{what}: {number:?} with {} does not reach {threshold}", pair.upper);
                assert_eq!(hit.upper.to_bits(), pair.upper.to_bits(), "{what}: {number:?}");
                let lower = f64::from(hit.lower);
                assert!(lower <= pair.exact_lower + pair.lost, "{what}: {number:?}: {hit:?}");
                let loose = lower < pair.exact_lower - 40.0 * pair.lost;
                assert!(!loose, "{what}: {number:?}: {hit:?} for {}", pair.exact_lower);
            }
        }
        assert_eq!(known, hits.len(), "{what}: hits of rows that are none");
        real
    }
}

/// Cells of every shape that the blocks of a search can have, and of other strides.
fn problems() -> Vec<Problem> {
    let mut random = Random(3);
    let shapes = [(32, 32, 0), (32, 64, 16), (64, 32, 5), (96, 96, 1), (32, 256, 16), (96, 512, 16)];
    let elements = [Element::Int8, Element::Bf16, Element::Float32];
    let all = elements.into_iter().flat_map(|element| shapes.map(|(rows, columns, gap)| (element, rows, columns, gap)));
    all.map(|(element, rows, columns, gap)| Problem::new(element, rows, columns, gap, &mut random)).collect()
}

#[test]
fn hits_are_what_may_reach_a_threshold() {
    let mut random = Random(4);
    for problem in problems() {
        let thresholds = problem.thresholds(false, &mut random);
        let (rows, columns, element) = (problem.rows.len(), problem.columns.len(), problem.element);
        let of_columns = problem.thresholds(true, &mut random);
        for kernels in Kernels::available() {
            let what = format!("{}, {element:?}, {rows} x {columns}", kernels.tier());
            let mut hits = Vec::new();
            kernels.scan(problem.cell(), &thresholds, &mut hits);
            problem.check(&hits, &thresholds, false, &what);
            let (mut hits, mut column_hits) = (Vec::new(), Vec::new());
            kernels.scan_both(problem.cell(), &thresholds, &of_columns, &mut hits, &mut column_hits);
            problem.check(&hits, &thresholds, false, &format!("{what}, both"));
            problem.check(&column_hits, &of_columns, true, &format!("{what}, columns"));
        }
    }
}

/// Hits are added to what is there; all pairs but padding are hits of minus infinity.
#[test]
fn everything_reaches_minus_infinity() {
    for problem in problems() {
        let (rows, columns) = (problem.rows.len(), problem.columns.len());
        let everything = |n: usize| [vec![f32::NEG_INFINITY; n - 2], vec![f32::INFINITY; 2]].concat();
        for kernels in Kernels::available() {
            let what = format!("{}, {:?}, {rows} x {columns}", kernels.tier(), problem.element);
            let before = Hit { query: 7, base: 8, upper: 2.0, lower: 1.0 };
            let (mut hits, mut column_hits) = (vec![before], vec![before]);
            kernels.scan(problem.cell(), &everything(rows), &mut hits);
            assert_eq!(hits.remove(0), before, "{what}");
            let pairs = (rows - 2) * (columns - 2);
            assert_eq!(problem.check(&hits, &everything(rows), false, &what), pairs, "{what}");
            hits = vec![before];
            kernels.scan_both(problem.cell(), &everything(rows), &everything(columns), &mut hits, &mut column_hits);
            assert_eq!((hits.remove(0), column_hits.remove(0)), (before, before), "{what}");
            assert_eq!(problem.check(&hits, &everything(rows), false, &what), pairs, "{what}, both");
            assert_eq!(problem.check(&column_hits, &everything(columns), true, &what), pairs, "{what}, columns");
        }
    }
}

#[test]
fn as_many_columns_reach_the_lower_bounds() {
    for problem in problems() {
        let columns = problem.columns.len();
        for kernels in Kernels::available() {
            for row in [0, 1, 18, 31] {
                let mut known: Vec<f64> = (0..columns)
                    .map(|column| problem.pair(row, column, false))
                    .map(|pair| pair.exact_lower + pair.lost)
                    .collect();
                known.sort_unstable_by(|a, b| b.total_cmp(a));
                for sets in [16, 32, 48, 80, columns] {
                    let what = format!("{}, {:?}, row {row}, {sets} of {columns}", kernels.tier(), problem.element);
                    let mut maxima = vec![7.0; sets];
                    kernels.lower_bounds(problem.cell(), row, &mut maxima);
                    maxima.sort_unstable_by(|a, b| b.total_cmp(a));
                    for (place, &maximum) in maxima.iter().enumerate() {
                        let most = known.get(place).copied().unwrap_or(f64::NEG_INFINITY);
                        assert!(f64::from(maximum) <= most, "{what}: place {place}: {maximum}, at most {most}");
                    }
                    // With the largest errors of its group, each column still counts for something.
                    let lowers = lower_bounds_of_groups(&problem, row);
                    let most = if sets == columns { sets } else { 1 };
                    assert_eq!(maxima[..most], lowers[..most], "{what}");
                }
                kernels.lower_bounds(problem.cell(), row, &mut []);
            }
        }
    }
}

/// The lower bounds of a row, largest first, each column taken to have the largest errors of its group, in f32.
fn lower_bounds_of_groups(problem: &Problem, row: usize) -> Vec<f32> {
    let Problem { rows, columns, .. } = problem;
    let lower = |column: usize| {
        let group = column / GROUP;
        let error =
            rows.on_residual[row] * columns.group_residual[group] + rows.on_norm[row] * columns.group_norm[group];
        let offset = columns.offset[column];
        let value = problem.estimate(row, column).0 + offset;
        (value - error) - (value.abs() + offset.abs()) * 2f32.powi(-20)
    };
    let mut lowers: Vec<f32> = (0..columns.len()).map(lower).collect();
    lowers.sort_unstable_by(|a, b| b.total_cmp(a));
    lowers
}

fn scan(change: impl FnOnce(&mut Cell<'_>), thresholds: usize) {
    let problem = Problem::new(Element::Float32, 32, 64, 0, &mut Random(5));
    let mut cell = problem.cell();
    change(&mut cell);
    Kernels::detect().scan(cell, &vec![0.0; thresholds], &mut Vec::new());
}

#[test]
#[should_panic(expected = "one threshold per row")]
fn thresholds_of_another_number_are_refused() {
    scan(|_| (), 31);
}

#[test]
#[should_panic(expected = "rows of 63 words do not hold 64 products")]
fn rows_that_overlap_are_refused() {
    scan(|cell| cell.stride = 63, 32);
}

#[test]
#[should_panic(expected = "2079 products are needed, 2048 given")]
fn too_few_products_are_refused() {
    scan(|cell| cell.stride = 65, 32);
}

#[test]
#[should_panic(expected = "the parts of a side differ in length")]
fn sides_of_unequal_parts_are_refused() {
    scan(|cell| cell.columns.norm = &cell.columns.norm[1..], 32);
}

#[test]
#[should_panic(expected = "17 maxima")]
fn maxima_that_fill_no_vector_are_refused() {
    let problem = Problem::new(Element::Float32, 32, 64, 0, &mut Random(5));
    Kernels::detect().lower_bounds(problem.cell(), 0, &mut [0.0; 17]);
}
