//! Rows in low precision, and what is said of them: what plain f64 arithmetic finds in the words that were stored.

use mnno_simd::{Element, Frame, Kernels, Quantised, TILE};

const ELEMENTS: [Element; 3] = [Element::Int8, Element::Bf16, Element::Float32];

/// What the words hold before a row is stored: no zero in any element.
const FOREIGN: u32 = 0x7fc1_7fc1;

/// Numbers from a linear congruence.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// From -1 to 1.
    fn uniform(&mut self) -> f64 {
        self.bits() as f64 / (1u64 << 30) as f64 - 1.0
    }
}

/// Rows of `d` values of the magnitudes that f32 has, alone and mixed.
fn rows(d: usize, random: &mut Random) -> Vec<Vec<f32>> {
    let magnitudes = [0.0, 1e-45, 1e-41, 1e-38, 1e-30, 1e-27, 1e-19, 1e-10, 1.0, 1e10, 1e16, 1e18, 1e25, 3e38];
    let mut rows: Vec<Vec<f32>> =
        magnitudes.iter().map(|m| (0..d).map(|_| (m * random.uniform()) as f32).collect()).collect();
    rows.push((0..d).map(|_| 10f64.powf(30.0 * random.uniform()) as f32).collect());
    rows.push((0..d).map(|_| 10f64.powf(22.0 * random.uniform() - 22.0) as f32).collect());
    rows.push((0..d).map(|j| if j == d / 2 { 1e17 } else { random.uniform() as f32 }).collect());
    // Halfway between two integers, if the largest is 127.
    rows.push((0..d).map(|j| if j == 0 { 127.0 } else { (random.bits() % 254) as f32 - 126.5 }).collect());
    rows
}

/// The values that the words of a row stand for, all of them.
fn decoded(element: Element, words: &[u32], step: f32) -> Vec<f64> {
    let values = words.iter().flat_map(|&word| match element {
        Element::Int8 => word.to_le_bytes().map(|b| f64::from(b.cast_signed()) * f64::from(step)).to_vec(),
        Element::Bf16 => [word << 16, word & 0xffff_0000].map(|b| f64::from(f32::from_bits(b))).to_vec(),
        Element::Float32 => vec![f64::from(f32::from_bits(word))],
    });
    values.collect()
}

/// Whether the words are of numbers that the element may hold.
fn allowed(element: Element, words: &[u32]) -> bool {
    words.iter().all(|&word| match element {
        Element::Int8 => word.to_le_bytes().iter().all(|&b| b.cast_signed() != i8::MIN),
        Element::Bf16 => [word << 16, word & 0xffff_0000].iter().all(|&b| b == 0 || f32::from_bits(b).is_normal()),
        Element::Float32 => f32::from_bits(word).is_finite(),
    })
}

/// The most that rounding `value` to `element` may lose: half a unit in its last place, and a little for the rounding on the
/// way to it.
fn largest_loss(element: Element, value: f64, step: f32) -> f64 {
    match element {
        Element::Int8 => f64::from(step) * (0.5 + 1e-4),
        Element::Bf16 => (value.abs() * (0.5 + 1e-4) * 2f64.powi(-7)).max(2f64.powi(-126)),
        Element::Float32 => (value.abs() * 2f64.powi(-24)).max(2f64.powi(-150)),
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

fn near(got: f64, expected: f64, scale: f64) -> bool {
    (got - expected).abs() <= 1e-12 * scale
}

/// Checks what is said of `row` and what is stored, in `words` that are one tile row longer than they must be.
fn check(kernels: Kernels, element: Element, row: &[f32], frame: Frame<'_>, scratch: &mut Vec<f64>, what: &str) {
    let mut words = vec![FOREIGN; (row.len().div_ceil(element.per_word()).div_ceil(TILE) + 1) * TILE];
    let Quantised { step, norm: stored, residual, squared_norm, with_centre } =
        kernels.quantise(element, row, frame, &mut words, scratch);
    let w: Vec<f64> = row.iter().zip(frame.centre).map(|(&x, c)| f64::from(x) * frame.factor - c).collect();
    let length = norm(w.iter().copied());
    assert!(
        near(squared_norm, length * length, length * length),
        "{what}: w.w {squared_norm:e}, {:e}",
        length * length
    );
    let expected: f64 = w.iter().zip(frame.centre).map(|(w, c)| w * c).sum();
    let scale = length * norm(frame.centre.iter().copied());
    assert!(near(with_centre, expected, scale), "{what}: w.centre {with_centre:e}, {expected:e}");

    if length >= 1e18 {
        assert!(words.iter().all(|&w| w == 0), "{what}: out of range, but not zero");
        assert_eq!((residual, stored, step), (f64::INFINITY, 0.0, 1.0), "{what}");
        return;
    }
    assert!(element == Element::Int8 || step == 1.0, "{what}: step {step:e}");
    assert!(step.is_normal(), "{what}: step {step:e}");
    assert!(allowed(element, &words), "{what}: {words:x?}");
    let v = decoded(element, &words, step);
    assert!(v[row.len()..].iter().all(|v| v.to_bits() == 0), "{what}: the rest is not zero");
    let expected = norm(v.iter().copied());
    assert!(near(stored, expected, expected), "{what}: norm {stored:e}, {expected:e}");
    let expected = norm(w.iter().zip(&v).map(|(w, v)| w - v));
    assert!(near(residual, expected, expected), "{what}: residual {residual:e}, {expected:e}");

    if w.iter().all(|w| w.abs() < 1e-27) {
        assert!(words.iter().all(|&w| w == 0), "{what}: tiny, but not zero");
        return;
    }
    if element == Element::Int8 {
        let largest = v.iter().fold(0.0f64, |largest, v| largest.max(v.abs()));
        assert_eq!(largest, 127.0 * f64::from(step), "{what}: not all of the range is used");
    }
    for (&w, &v) in w.iter().zip(&v) {
        assert!((w - v).abs() <= largest_loss(element, w, step), "{what}: {w:e} became {v:e}, step {step:e}");
    }
}

#[test]
fn what_is_said_of_a_row_is_what_was_stored() {
    let mut scratch = Vec::new();
    let mut random = Random(1);
    for element in ELEMENTS {
        for d in 0..=4 * TILE * element.per_word() + 3 {
            let rows = rows(d, &mut random);
            let zero = vec![0.0; d];
            let centre: Vec<f64> = (0..d).map(|_| random.uniform()).collect();
            for (i, row) in rows.iter().enumerate() {
                let frames = [
                    (Frame { factor: 1.0, centre: &zero }, "without centre"),
                    (Frame { factor: 1.0, centre: &centre }, "with centre"),
                    (Frame { factor: 1.0 / 3.0, centre: &zero }, "by a third"),
                    (Frame { factor: 2f64.powi(-40), centre: &centre }, "scaled down"),
                ];
                let (frame, name) = frames[(i + d) % frames.len()];
                for kernels in Kernels::available() {
                    let what = format!("{}, {element:?}, d {d}, row {i}, {name}", kernels.tier());
                    check(kernels, element, row, frame, &mut scratch, &what);
                }
            }
        }
    }
}

/// The largest norm in range, and those about it.
#[test]
fn rows_are_in_range_up_to_a_norm_of_1e18() {
    for kernels in Kernels::available() {
        for element in ELEMENTS {
            for (value, in_range) in [(0.99e18, true), (0.999_999e18, true), (1.000_001e18, false), (3e38, false)] {
                let mut words = [FOREIGN; TILE];
                let frame = Frame { factor: 1.0, centre: &[0.0; 3] };
                let said = kernels.quantise(element, &[0.0, value, 0.0], frame, &mut words, &mut Vec::new());
                assert_eq!(said.residual.is_finite(), in_range, "{}, {element:?}, {value:e}", kernels.tier());
                assert_eq!(words != [0; TILE], in_range, "{}, {element:?}, {value:e}", kernels.tier());
            }
        }
    }
}

/// A mapped file can change after it was checked.
#[test]
fn values_that_are_no_numbers_are_out_of_range() {
    for kernels in Kernels::available() {
        for element in ELEMENTS {
            for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                for place in [0, 20] {
                    let mut row = [1.0; 21];
                    row[place] = value;
                    let mut words = [FOREIGN; 2 * TILE];
                    let frame = Frame { factor: 1.0, centre: &[0.5; 21] };
                    let said = kernels.quantise(element, &row, frame, &mut words, &mut Vec::new());
                    assert_eq!(said.residual, f64::INFINITY, "{}, {element:?}, {value}", kernels.tier());
                    assert_eq!((said.norm, words), (0.0, [0; 2 * TILE]), "{}, {element:?}", kernels.tier());
                }
            }
        }
    }
}

fn quantise(d: usize, centre: usize, words: usize) {
    let centre = vec![0.0; centre];
    let frame = Frame { factor: 1.0, centre: &centre };
    Kernels::detect().quantise(Element::Bf16, &vec![1.0; d], frame, &mut vec![0; words], &mut Vec::new());
}

#[test]
#[should_panic(expected = "row and centre of different length")]
fn a_centre_of_another_length_is_refused() {
    quantise(5, 4, TILE);
}

#[test]
#[should_panic(expected = "too few words for a row")]
fn too_few_words_are_refused() {
    quantise(33, 33, TILE);
}

#[test]
#[should_panic(expected = "too few words for a row")]
fn parts_of_tiles_are_refused() {
    quantise(5, 5, TILE + 3);
}
