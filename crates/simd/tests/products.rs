//! Block products of every tier: what a plain loop over the values gives, wherever operands and products lie.

use bytemuck::cast_slice_mut;
use mnno_simd::{Element, Kernels, Operand, Products, TILE, Tier, Tile};

const ROWS: usize = 64;
const COLUMNS: usize = 96;

/// A not-a-number in f32 and in both halves as bfloat16: what lies around operands and products.
const FOREIGN: u32 = 0x7fc1_7fc1;

/// Integers from a linear congruence.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// An integer from `-limit` to `limit`.
    fn integer(&mut self, limit: u64) -> f32 {
        self.below(2 * limit + 1) as f32 - limit as f32
    }
}

/// Values of mixed size and sign that `element` can hold.
fn mixed(element: Element, random: &mut Random) -> f32 {
    match element {
        Element::Int8 => random.below(256) as f32 - 128.0,
        Element::Bf16 => {
            let value = random.integer(10_000) * 2f32.powi(random.below(24) as i32 - 12);
            f32::from_bits(value.to_bits() & 0xffff_0000)
        }
        Element::Float32 => random.integer(10_000_000) * 2f32.powi(random.below(24) as i32 - 12),
    }
}

/// The words that hold the values of a row, filled up with zeros to `depth` tiles.
fn words(element: Element, row: &[f32], depth: usize) -> Vec<u32> {
    let per_word = element.per_word();
    let mut words = vec![0; depth * TILE];
    for (j, &value) in row.iter().enumerate() {
        words[j / per_word] |= match element {
            Element::Int8 => u32::from((value as i8).cast_unsigned()) << (8 * (j % 4)),
            Element::Bf16 => value.to_bits() >> 16 << (16 * (j % 2)),
            Element::Float32 => value.to_bits(),
        };
    }
    words
}

/// Tiles of an operand, with foreign ones on both sides.
struct Packed {
    tiles: Vec<Tile>,
    start: usize,
    /// Rows or columns.
    count: usize,
}

impl Packed {
    /// The first `d` values of each of `rows`.
    fn new(kernels: Kernels, element: Element, rows: &[Vec<f32>], d: usize, columns: bool) -> Self {
        let depth = d.div_ceil(element.per_word() * TILE);
        let (start, count) = (d % 3 + usize::from(columns), rows.len());
        let mut tiles = vec![Tile([[FOREIGN; TILE]; TILE]); start + count / TILE * depth + 1];
        let operand = &mut tiles[start..][..count / TILE * depth];
        for (i, row) in rows.iter().enumerate() {
            for (j, word) in words(element, &row[..d], depth).into_iter().enumerate() {
                if kernels.interleaved() {
                    cast_slice_mut::<Tile, u32>(operand)[j * count + i] = word;
                } else {
                    let tile = &mut operand[i / TILE * depth + j / TILE];
                    let (i, j) = (i % TILE, j % TILE);
                    *(if columns { &mut tile.0[j][i] } else { &mut tile.0[i][j] }) = word;
                }
            }
        }
        Self { tiles, start, count }
    }

    fn operand(&self) -> Operand<'_> {
        Operand::new(&self.tiles[self.start..self.tiles.len() - 1], self.count / TILE)
    }
}

/// One product as it should be, and as it is.
struct Product {
    /// Values that were multiplied.
    d: usize,
    /// Sum of products, and of their magnitudes, in f64.
    sum: f64,
    magnitude: f64,
    word: u32,
}

/// Multiplies `left` and `right` to every kind of place, and holds every word of the buffer against what it must be.
fn check(
    kernels: Kernels,
    element: Element,
    left: &Packed,
    right: &Packed,
    d: usize,
    good: impl Fn(usize, usize, u32) -> bool,
) {
    let (m, n) = (left.count, right.count);
    for gap in [0, 1 + d % 40] {
        let (start, stride) = ((d + gap) % 19, n + gap);
        let needed = (m - 1) * stride + n;
        let mut buffer = vec![FOREIGN; start + needed + 20];
        let words = &mut buffer[start..start + needed];
        kernels.product(element, left.operand(), right.operand(), Products { words, stride });

        let at =
            |index: usize| format!("{}, {element:?}, d {d}, {m} x {n}, stride {stride}, word {index}", kernels.tier());
        let (before, rest) = buffer.split_at(start);
        let (words, after) = rest.split_at(needed);
        assert!(before.iter().chain(after).all(|&word| word == FOREIGN), "around: {}", at(start));
        for (i, row) in words.chunks(stride).enumerate() {
            for (j, &word) in row.iter().enumerate() {
                let good = if j < n { good(i, j, word) } else { word == FOREIGN };
                assert!(good, "{word:#x} at {}", at(i * stride + j));
            }
        }
    }
}

/// Checks every tier with as many values as four tiles and a bit more hold, and every lesser number.
fn check_all(elements: &[Element], value: impl Fn(Element, &mut Random) -> f32, good: impl Fn(&Product) -> bool) {
    for &element in elements {
        let mut random = Random(7);
        let most = 4 * element.per_word() * TILE + 3;
        let mut matrix = |rows| -> Vec<Vec<f32>> {
            (0..rows).map(|_| (0..most).map(|_| value(element, &mut random)).collect()).collect()
        };
        let (rows, columns) = (matrix(ROWS), matrix(COLUMNS));
        let tiers: Vec<Kernels> =
            Kernels::available().into_iter().filter(|k| k.elements().contains(&element)).collect();
        let mut reference = vec![(0.0, 0.0); ROWS * COLUMNS];
        for d in 0..=most {
            for &kernels in &tiers {
                let [left, all_rows] = [32, ROWS].map(|m| Packed::new(kernels, element, &rows[..m], d, false));
                let [right, all_columns] = [32, COLUMNS].map(|n| Packed::new(kernels, element, &columns[..n], d, true));
                for (left, right) in
                    [(&left, &right), (&left, &all_columns), (&all_rows, &right), (&all_rows, &all_columns)]
                {
                    check(kernels, element, left, right, d, |i, j, word| {
                        let (sum, magnitude) = reference[i * COLUMNS + j];
                        good(&Product { d, sum, magnitude, word })
                    });
                }
            }
            if d < most {
                let products = rows.iter().flat_map(|x| columns.iter().map(move |y| f64::from(x[d]) * f64::from(y[d])));
                for ((sum, magnitude), product) in reference.iter_mut().zip(products) {
                    *sum += product;
                    *magnitude += product.abs();
                }
            }
        }
    }
}

#[test]
fn bytes_are_multiplied_exactly() {
    check_all(&[Element::Int8], mixed, |p| p.word.cast_signed() == p.sum as i32);
}

#[test]
fn floats_are_within_the_bound_of_summation() {
    check_all(&[Element::Bf16, Element::Float32], mixed, |p| {
        let m = (p.d + 8) as f64 * 2f64.powi(-24);
        let bound = m / (1.0 - m) * p.magnitude;
        (f64::from(f32::from_bits(p.word)) - p.sum).abs() <= bound
    });
}

#[test]
fn small_integers_are_exact_in_floats() {
    check_all(
        &[Element::Bf16, Element::Float32],
        |_, random| random.integer(9),
        |p| f64::from(f32::from_bits(p.word)) == p.sum,
    );
}

/// Values at their extremes, so many that sums in which bytes are biased by 128 pass 2^31.
#[test]
fn sums_of_bytes_wrap_and_never_saturate() {
    const DEPTH: u16 = 1100;
    for kernels in Kernels::available().into_iter().filter(|kernels| kernels.elements().contains(&Element::Int8)) {
        for (x, y) in [(-128i8, -128i8), (127, 127), (-128, 127), (127, -128)] {
            let tiles = |value: i8| {
                vec![Tile([[u32::from_ne_bytes([value.cast_unsigned(); 4]); TILE]; TILE]); 2 * usize::from(DEPTH)]
            };
            let (rows, columns) = (tiles(x), tiles(y));
            let mut words = vec![0; 32 * 32];
            let (left, right) = (Operand::new(&rows, 2), Operand::new(&columns, 2));
            kernels.product(Element::Int8, left, right, Products { words: &mut words, stride: 32 });
            let expected = (i64::from(x) * i64::from(y) * i64::from(DEPTH) * 64) as i32;
            assert!(words.iter().all(|word| word.cast_signed() == expected), "{}, {x} x {y}", kernels.tier());
        }
    }
}

/// `MNNO_REQUIRE_SIMD=amx,avx2` says what the CPU of a test machine must have, so that no tier goes untested unnoticed.
#[test]
fn tiers_that_are_required_are_available() {
    let required = std::env::var("MNNO_REQUIRE_SIMD").unwrap_or_default();
    for name in required.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if let Err(error) = name.parse().and_then(Kernels::with_tier) {
            panic!("MNNO_REQUIRE_SIMD: {error}");
        }
    }
}

/// Multiplies f32 zeros of the given shapes: tiles and blocks of rows, of columns, then words and stride.
fn multiply(rows: (usize, usize), columns: (usize, usize), words: usize, stride: usize) {
    let (left, right) = (vec![Tile::ZERO; rows.0], vec![Tile::ZERO; columns.0]);
    let (left, right) = (Operand::new(&left, rows.1), Operand::new(&right, columns.1));
    let out = Products { words: &mut vec![0; words], stride };
    Kernels::detect().product(Element::Float32, left, right, out);
}

#[test]
fn buffers_of_the_least_size_will_do() {
    multiply((4, 2), (8, 4), 31 * 70 + 64, 70);
    multiply((0, 2), (0, 2), 32 * 32, 32);
    multiply((0, 0), (4, 2), 0, 0);
    multiply((4, 2), (0, 0), 0, 0);
}

#[test]
#[should_panic(expected = "operands of different depth")]
fn operands_of_different_depth_are_refused() {
    multiply((4, 2), (2, 2), 32 * 32, 32);
}

#[test]
#[should_panic(expected = "products need 2234 words, 2233 given")]
fn too_few_words_are_refused() {
    multiply((4, 2), (8, 4), 31 * 70 + 63, 70);
}

#[test]
#[should_panic(expected = "rows of 63 words do not hold the products")]
fn a_stride_below_the_columns_is_refused() {
    multiply((4, 2), (8, 4), 10_000, 63);
}

#[test]
#[should_panic(expected = "3 blocks: they are multiplied two by two")]
fn odd_blocks_are_refused() {
    multiply((6, 3), (4, 2), 10_000, 32);
}

#[test]
#[should_panic(expected = "5 tiles do not make 2 blocks")]
fn tiles_that_cannot_be_dealt_out_are_refused() {
    multiply((5, 2), (4, 2), 10_000, 32);
}

#[test]
#[should_panic(expected = "portable has no products of Int8")]
fn an_element_that_the_tier_lacks_is_refused() {
    let portable = Kernels::with_tier(Tier::Portable).unwrap();
    let nothing = Operand::new(&[], 0);
    portable.product(Element::Int8, nothing, nothing, Products { words: &mut [], stride: 0 });
}
