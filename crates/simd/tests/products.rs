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

/// The first `d` values of `rows` as an operand that begins at tile `start`, with foreign tiles on both sides.
fn pack(kernels: Kernels, element: Element, rows: &[Vec<f32>], d: usize, columns: bool, start: usize) -> Vec<Tile> {
    let depth = d.div_ceil(element.per_word() * TILE);
    let count = rows.len() / TILE * depth;
    let mut tiles = vec![Tile([[FOREIGN; TILE]; TILE]); start + count + 1];
    let operand = &mut tiles[start..start + count];
    for (i, row) in rows.iter().enumerate() {
        for (j, word) in words(element, &row[..d], depth).into_iter().enumerate() {
            if kernels.interleaved() {
                cast_slice_mut::<Tile, u32>(operand)[j * rows.len() + i] = word;
            } else {
                let tile = &mut operand[i / TILE * depth + j / TILE];
                let (row, word_of_row) = (i % TILE, j % TILE);
                tile.0[if columns { word_of_row } else { row }][if columns { row } else { word_of_row }] = word;
            }
        }
    }
    tiles
}

/// Sums of products and of their magnitudes so far, `[ROWS][COLUMNS]`.
struct Reference {
    sums: Vec<f64>,
    magnitudes: Vec<f64>,
}

impl Reference {
    fn new() -> Self {
        Self { sums: vec![0.0; ROWS * COLUMNS], magnitudes: vec![0.0; ROWS * COLUMNS] }
    }

    /// Adds the products of value `j` of every row with that of every column.
    fn add(&mut self, rows: &[Vec<f32>], columns: &[Vec<f32>], j: usize) {
        let products = rows.iter().flat_map(|x| columns.iter().map(move |y| f64::from(x[j]) * f64::from(y[j])));
        for ((sum, magnitude), product) in self.sums.iter_mut().zip(&mut self.magnitudes).zip(products) {
            *sum += product;
            *magnitude += product.abs();
        }
    }
}

/// Shape and place of one product.
struct Case {
    rows: usize,
    columns: usize,
    stride: usize,
    accumulate: bool,
    /// Tiles before the operands, words before the products.
    start: usize,
}

/// All shapes, in different places for different `d`.
fn cases(d: usize) -> impl Iterator<Item = Case> {
    (0..16).map(move |bits| {
        let columns = if bits & 2 == 0 { 32 } else { COLUMNS };
        Case {
            rows: if bits & 1 == 0 { 32 } else { ROWS },
            columns,
            stride: columns + if bits & 4 == 0 { 0 } else { 1 + d % 40 },
            accumulate: bits & 8 != 0,
            start: (d + bits) % 19,
        }
    })
}

/// What lies in a word of products that is added to.
fn old(element: Element, i: usize, j: usize) -> u32 {
    let value = (i * COLUMNS + j) as u32;
    match element {
        Element::Int8 => value.wrapping_mul(0x0123_4567).wrapping_add(0x7fff_0000),
        Element::Bf16 | Element::Float32 => (value as f32 - 3000.0).to_bits(),
    }
}

/// Multiplies the first `d` values and holds every word of the buffer against what it must be.
fn check(
    kernels: Kernels,
    element: Element,
    (rows, columns): (&[Vec<f32>], &[Vec<f32>]),
    d: usize,
    case: &Case,
    agrees: impl Fn(usize, usize, u32) -> bool,
) {
    let (m, n, stride, start) = (case.rows, case.columns, case.stride, case.start);
    let tiles = [
        pack(kernels, element, &rows[..m], d, false, start % 3),
        pack(kernels, element, &columns[..n], d, true, start % 4),
    ];
    let depth = d.div_ceil(element.per_word() * TILE);
    let left = Operand::new(&tiles[0][start % 3..][..m / TILE * depth], m / TILE);
    let right = Operand::new(&tiles[1][start % 4..][..n / TILE * depth], n / TILE);

    let mut buffer = vec![FOREIGN; start + m * stride + 20];
    if case.accumulate {
        for i in 0..m {
            for j in 0..n {
                buffer[start + i * stride + j] = old(element, i, j);
            }
        }
    }
    let needed = (m - 1) * stride + n;
    let words = &mut buffer[start..start + needed];
    kernels.product(element, left, right, Products { words, stride, accumulate: case.accumulate });

    for (at, &word) in buffer.iter().enumerate() {
        let place = at.checked_sub(start).map(|at| (at / stride, at % stride));
        let right = match place.filter(|&(i, j)| i < m && j < n) {
            Some((i, j)) => agrees(i, j, word),
            None => word == FOREIGN,
        };
        let tier = kernels.tier();
        assert!(right, "{tier}, {element:?}, d {d}, {m} x {n}, stride {stride}, word {at} from {start}: {word:#x}");
    }
}

/// Calls `with` for every tier and element, with as many values as four tiles and a bit more hold.
fn for_each_element(value: fn(Element, &mut Random) -> f32, with: impl Fn(Kernels, Element, &[Vec<f32>], &[Vec<f32>])) {
    for element in [Element::Int8, Element::Bf16, Element::Float32] {
        let mut random = Random(7);
        let d = 4 * element.per_word() * TILE + 3;
        let mut matrix = |rows| -> Vec<Vec<f32>> {
            (0..rows).map(|_| (0..d).map(|_| value(element, &mut random)).collect()).collect()
        };
        let (rows, columns) = (matrix(ROWS), matrix(COLUMNS));
        for kernels in Kernels::available() {
            if kernels.elements().contains(&element) {
                with(kernels, element, &rows, &columns);
            }
        }
    }
}

#[test]
fn products_are_exact_or_within_the_bound_of_summation() {
    for_each_element(mixed, |kernels, element, rows, columns| {
        let mut reference = Reference::new();
        for d in 0..=rows[0].len() {
            for case in cases(d) {
                check(kernels, element, (rows, columns), d, &case, |i, j, word| {
                    let sum = reference.sums[i * COLUMNS + j];
                    let old = if case.accumulate { old(element, i, j) } else { 0 };
                    if element == Element::Int8 {
                        return word.cast_signed() == (sum as i32).wrapping_add(old.cast_signed());
                    }
                    let old = f64::from(f32::from_bits(old));
                    let m = (d + 8) as f64 * 2f64.powi(-24);
                    let bound = m / (1.0 - m) * (reference.magnitudes[i * COLUMNS + j] + old.abs());
                    (f64::from(f32::from_bits(word)) - (sum + old)).abs() <= bound
                });
            }
            if d < rows[0].len() {
                reference.add(rows, columns, d);
            }
        }
    });
}

#[test]
fn small_integers_are_exact_in_every_element() {
    for_each_element(
        |_, random| random.integer(9),
        |kernels, element, rows, columns| {
            let mut reference = Reference::new();
            for d in 0..=rows[0].len() {
                for case in cases(d) {
                    check(kernels, element, (rows, columns), d, &case, |i, j, word| {
                        let sum = reference.sums[i * COLUMNS + j];
                        let old = if case.accumulate { old(element, i, j) } else { 0 };
                        if element == Element::Int8 {
                            word.cast_signed() == (sum as i32).wrapping_add(old.cast_signed())
                        } else {
                            f64::from(f32::from_bits(word)) == sum + f64::from(f32::from_bits(old))
                        }
                    });
                }
                if d < rows[0].len() {
                    reference.add(rows, columns, d);
                }
            }
        },
    );
}

/// Values at their extremes, so many in two calls that sums in which bytes are biased by 128 pass 2^31.
#[test]
fn sums_of_bytes_wrap_and_never_saturate() {
    const DEPTH: usize = 1100;
    for kernels in Kernels::available().into_iter().filter(|kernels| kernels.elements().contains(&Element::Int8)) {
        for (x, y) in [(-128i8, -128i8), (127, 127), (-128, 127), (127, -128)] {
            let tiles = |value: i8| vec![Tile([[u32::from_ne_bytes([value.cast_unsigned(); 4]); TILE]; TILE]); DEPTH];
            let (rows, columns) = (tiles(x), tiles(y));
            let mut words = vec![0; 32 * 32];
            for accumulate in [false, true] {
                let (left, right) = (Operand::new(&rows, 2), Operand::new(&columns, 2));
                let out = Products { words: &mut words, stride: 32, accumulate };
                kernels.product(Element::Int8, left, right, out);
            }
            let expected = (i64::from(x) * i64::from(y) * (DEPTH * 64) as i64) as i32;
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
    let out = Products { words: &mut vec![0; words], stride, accumulate: false };
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
    portable.product(Element::Int8, nothing, nothing, Products { words: &mut [], stride: 0, accumulate: false });
}
