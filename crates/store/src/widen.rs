//! Elements of any type as f32, always the same f32.

use half::{bf16, f16};

use crate::ElementType;
use crate::layout::Layout;

/// A value as the file has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Raw {
    Float(f64),
    Signed(i64),
    Unsigned(u64),
}

impl Raw {
    /// Rounded to the nearest f32, ties to even; out of range becomes infinite.
    pub(crate) fn to_f32(self) -> f32 {
        match self {
            Self::Float(v) => v as f32,
            Self::Signed(v) => v as f32,
            Self::Unsigned(v) => v as f32,
        }
    }

    /// Whether f32 holds the value exactly.
    pub(crate) fn is_f32(self) -> bool {
        let v = self.to_f32();
        match self {
            Self::Float(x) => f64::from(v) == x || x.is_nan(),
            // f32 integers up to 2^64 are exact in i128.
            Self::Signed(x) => v as i128 == i128::from(x),
            Self::Unsigned(x) => v as i128 == i128::from(x),
        }
    }

    /// Equal for equal values; 0 and -0 are one.
    pub(crate) fn key(self) -> u64 {
        match self {
            Self::Float(x) => (x + 0.0).to_bits(),
            Self::Signed(x) => x.cast_unsigned(),
            Self::Unsigned(x) => x,
        }
    }
}

/// Appends the elements of `layout` to `out`, row by row.
pub(crate) fn widen(bytes: &[u8], layout: &Layout, out: &mut Vec<f32>) {
    let big = layout.big_endian;
    match layout.element {
        ElementType::F16 => each(bytes, layout, |b| f16::from_bits(u16_of(b, big)).to_f32(), out),
        ElementType::Bf16 => each(bytes, layout, |b| bf16::from_bits(u16_of(b, big)).to_f32(), out),
        ElementType::F32 => each(bytes, layout, |b| f32::from_bits(u32_of(b, big)), out),
        ElementType::F64 => each(bytes, layout, |b| f64::from_bits(u64_of(b, big)) as f32, out),
        ElementType::I8 => each(bytes, layout, |[b]: [u8; 1]| f32::from(b.cast_signed()), out),
        ElementType::U8 => each(bytes, layout, |[b]: [u8; 1]| f32::from(b), out),
        ElementType::I16 => each(bytes, layout, |b| f32::from(u16_of(b, big).cast_signed()), out),
        ElementType::U16 => each(bytes, layout, |b| f32::from(u16_of(b, big)), out),
        ElementType::I32 => each(bytes, layout, |b| u32_of(b, big).cast_signed() as f32, out),
        ElementType::U32 => each(bytes, layout, |b| u32_of(b, big) as f32, out),
        ElementType::I64 => each(bytes, layout, |b| u64_of(b, big).cast_signed() as f32, out),
        ElementType::U64 => each(bytes, layout, |b| u64_of(b, big) as f32, out),
    }
}

/// The value at (`row`, `column`) as the file has it.
pub(crate) fn raw(bytes: &[u8], layout: &Layout, row: usize, column: usize) -> Raw {
    let at = layout.offset + row * layout.row_stride + column * layout.column_stride;
    let bytes = &bytes[at..];
    let big = layout.big_endian;
    match layout.element {
        ElementType::F16 => Raw::Float(f16::from_bits(u16_of(first(bytes), big)).to_f64()),
        ElementType::Bf16 => Raw::Float(bf16::from_bits(u16_of(first(bytes), big)).to_f64()),
        ElementType::F32 => Raw::Float(f32::from_bits(u32_of(first(bytes), big)).into()),
        ElementType::F64 => Raw::Float(f64::from_bits(u64_of(first(bytes), big))),
        ElementType::I8 => Raw::Signed(bytes[0].cast_signed().into()),
        ElementType::U8 => Raw::Unsigned(bytes[0].into()),
        ElementType::I16 => Raw::Signed(u16_of(first(bytes), big).cast_signed().into()),
        ElementType::U16 => Raw::Unsigned(u16_of(first(bytes), big).into()),
        ElementType::I32 => Raw::Signed(u32_of(first(bytes), big).cast_signed().into()),
        ElementType::U32 => Raw::Unsigned(u32_of(first(bytes), big).into()),
        ElementType::I64 => Raw::Signed(u64_of(first(bytes), big).cast_signed()),
        ElementType::U64 => Raw::Unsigned(u64_of(first(bytes), big)),
    }
}

fn each<const SIZE: usize>(bytes: &[u8], layout: &Layout, convert: impl Fn([u8; SIZE]) -> f32, out: &mut Vec<f32>) {
    for i in 0..layout.n {
        let start = layout.offset + i * layout.row_stride;
        if layout.column_stride == SIZE {
            let row = bytes[start..start + layout.d * SIZE].as_chunks::<SIZE>().0;
            out.extend(row.iter().map(|&b| convert(b)));
        } else {
            out.extend((0..layout.d).map(|j| convert(first(&bytes[start + j * layout.column_stride..]))));
        }
    }
}

fn first<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    *bytes.first_chunk().expect("the layout was checked against the length of the bytes")
}

fn u16_of(bytes: [u8; 2], big: bool) -> u16 {
    if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

fn u32_of(bytes: [u8; 4], big: bool) -> u32 {
    if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

fn u64_of(bytes: [u8; 8], big: bool) -> u64 {
    if big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_by_one(element: ElementType, big_endian: bool) -> Layout {
        Layout { n: 1, d: 1, offset: 0, row_stride: 0, column_stride: element.size(), element, big_endian }
    }

    fn value(bytes: &[u8], element: ElementType, big_endian: bool) -> f32 {
        let mut out = Vec::new();
        widen(bytes, &one_by_one(element, big_endian), &mut out);
        out[0]
    }

    #[test]
    fn every_half_precision_number_widens_exactly() {
        for bits in 0..=u16::MAX {
            for big in [false, true] {
                let bytes = if big { bits.to_be_bytes() } else { bits.to_le_bytes() };
                let f16_value = value(&bytes, ElementType::F16, big);
                // Sign, exponent (bias 15), fraction of 10 bits.
                let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
                let magnitude = match exponent {
                    0 => fraction * 2.0_f32.powi(-24),
                    31 if fraction == 0.0 => f32::INFINITY,
                    31 => f32::NAN,
                    _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
                };
                assert!(f16_value.abs() == magnitude || f16_value.is_nan() && magnitude.is_nan(), "{bits:#x}");
                assert!(f16_value.is_nan() || f16_value.is_sign_negative() == (sign == 1));
            }
        }
    }

    #[test]
    fn a_bf16_is_the_upper_half_of_an_f32() {
        for bits in 0..=u16::MAX {
            let widened = value(&bits.to_le_bytes(), ElementType::Bf16, false);
            let expected = f32::from_bits(u32::from(bits) << 16);
            assert!(widened.to_bits() == expected.to_bits() || widened.is_nan() && expected.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn wide_types_round_to_nearest_even_once() {
        let of = |x: i64| value(&x.to_le_bytes(), ElementType::I64, false);
        assert_eq!(of((1 << 24) + 1), 16_777_216.0);
        assert_eq!(of((1 << 24) + 3), 16_777_220.0);
        // By way of f64 this would fall on a halfway point and go down.
        assert_eq!(of((1 << 60) + (1 << 36) + 1), ((1_u64 << 60) + (1 << 37)) as f32);
        assert_eq!(value(&u64::MAX.to_be_bytes(), ElementType::U64, true), 18_446_744_073_709_551_616.0);
    }

    #[test]
    fn what_f32_holds_is_told_from_what_it_does_not() {
        for (raw, exact) in [
            (Raw::Float(0.5), true),
            (Raw::Float(0.1), false),
            (Raw::Float(-0.0), true),
            (Raw::Float(1e-46), false),
            (Raw::Signed(i64::MIN), true),
            (Raw::Signed(i64::MAX), false),
            (Raw::Unsigned(u64::MAX), false),
            (Raw::Unsigned(1 << 63), true),
        ] {
            assert_eq!(raw.is_f32(), exact, "{raw:?}");
        }
        assert_eq!(Raw::Float(0.0).key(), Raw::Float(-0.0).key());
    }
}
