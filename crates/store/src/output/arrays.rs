//! One matrix as bytes. All numbers are little-endian, rows follow each other.

use std::io::{self, Write};

/// A number as the files hold it.
pub(super) trait Number: Copy {
    /// The type as an npy header names it.
    const NPY: &'static str;
    fn write(self, out: &mut impl Write) -> io::Result<()>;
}

macro_rules! number {
    ($($type:ty => $npy:literal),*) => {$(
        impl Number for $type {
            const NPY: &'static str = $npy;
            fn write(self, out: &mut impl Write) -> io::Result<()> {
                out.write_all(&self.to_le_bytes())
            }
        }
    )*};
}
number!(i32 => "<i4", i64 => "<i8", f32 => "<f4", f64 => "<f8");

/// The beginning of an npy of version 1.0, C order, `[n, d]`, padded with spaces so that the data begin at a multiple of 64
/// bytes (numpy, `numpy/lib/format.py`).
pub(super) fn npy_header<T: Number>(n: usize, d: usize) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    const PREFIX: usize = MAGIC.len() + size_of::<u16>();
    let dict = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({n}, {d}), }}", T::NPY);
    let padded = (PREFIX + dict.len() + 1).next_multiple_of(64) - PREFIX;
    let mut header = MAGIC.to_vec();
    // Two shapes and a type name are far below 64 KiB.
    header.extend((padded as u16).to_le_bytes());
    header.extend(dict.bytes());
    header.resize(PREFIX + padded - 1, b' ');
    header.push(b'\n');
    header
}

/// An npy of version 1.0.
///
/// # Panics
/// If there are not `n * d` values.
pub(super) fn write_npy<T: Number>(
    out: &mut impl Write,
    n: usize,
    d: usize,
    values: impl ExactSizeIterator<Item = T>,
) -> io::Result<()> {
    assert_eq!(values.len(), n * d, "values are [n, d]");
    out.write_all(&npy_header::<T>(n, d))?;
    for value in values {
        value.write(out)?;
    }
    Ok(())
}

/// fvecs and ivecs (the TEXMEX corpus): each row is its length as i32, then its values. `d` is at most `i32::MAX`.
///
/// # Panics
/// If there are not `n * d` values.
pub(super) fn write_vecs<T: Number>(
    out: &mut impl Write,
    n: usize,
    d: u32,
    mut values: impl ExactSizeIterator<Item = T>,
) -> io::Result<()> {
    assert_eq!(values.len(), n * d as usize, "values are [n, d]");
    for _ in 0..n {
        out.write_all(&d.to_le_bytes())?;
        for value in values.by_ref().take(d as usize) {
            value.write(out)?;
        }
    }
    Ok(())
}

/// fbin and ibin (the big-ann benchmarks): n and d as u32, then the values.
///
/// # Panics
/// If there are not `n * d` values.
pub(super) fn write_bin<T: Number>(
    out: &mut impl Write,
    n: u32,
    d: u32,
    values: impl ExactSizeIterator<Item = T>,
) -> io::Result<()> {
    assert_eq!(values.len(), n as usize * d as usize, "values are [n, d]");
    out.write_all(&n.to_le_bytes())?;
    out.write_all(&d.to_le_bytes())?;
    for value in values {
        value.write(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npy_as_numpy_saves_it() {
        let mut out = Vec::new();
        write_npy(&mut out, 2, 1, [-1i64, 7].into_iter()).unwrap();
        // np.save(out, np.array([[-1], [7]])) of numpy 2.3.5
        let dict = "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 1), }";
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(format!("{dict:<117}\n").bytes());
        expected.extend([0xff; 8].into_iter().chain([7, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(out, expected);
    }

    #[test]
    fn the_data_of_any_shape_begin_at_a_multiple_of_64() {
        for digits in 0..19 {
            let mut out = Vec::new();
            write_npy(&mut out, 0, 10usize.pow(digits), std::iter::empty::<f64>()).unwrap();
            assert_eq!((out.len() % 64, out.last()), (0, Some(&b'\n')), "{digits}");
            assert_eq!(usize::from(u16::from_le_bytes([out[8], out[9]])), out.len() - 10);
        }
    }

    #[test]
    fn vecs_repeat_the_dimension_and_bin_begins_with_the_shape() {
        let mut out = Vec::new();
        write_vecs(&mut out, 2, 1, [5i32, -1].into_iter()).unwrap();
        assert_eq!(out, [1, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255]);
        out.clear();
        write_bin(&mut out, 2, 1, [1f32, -2.0].into_iter()).unwrap();
        assert_eq!(out, [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
    }
}
