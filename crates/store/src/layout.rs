//! Where the elements of a matrix lie in a run of bytes, checked before anything is allocated.

use std::fmt;

use crate::StoreError;

/// The type of the elements of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it all
pub enum ElementType {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

impl ElementType {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Whether f32 holds every value of the type exactly.
    pub fn widens_exactly(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::I8 | Self::U8 | Self::I16 | Self::U16)
    }

    /// The name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An array of one, two or three axes as a header declares it.
#[derive(Clone, Debug)]
pub(crate) struct ArrayHeader {
    pub(crate) shape: Vec<u64>,
    pub(crate) element: ElementType,
    pub(crate) big_endian: bool,
    pub(crate) fortran: bool,
    /// Where the data begins in the file.
    pub(crate) offset: usize,
}

impl ArrayHeader {
    pub(crate) fn shape_text(&self) -> String {
        if self.shape.is_empty() {
            return "one".to_owned();
        }
        self.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
    }

    /// The shape as Python writes it.
    pub(crate) fn shape_tuple(&self) -> String {
        let axes = self.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        if self.shape.len() == 1 { format!("({axes},)") } else { format!("({axes})") }
    }

    /// Bytes that the shape needs, if they can be addressed.
    pub(crate) fn bytes(&self, file: &str) -> Result<u64, StoreError> {
        let size = self.element.size() as u64;
        let declared = self.shape.iter().try_fold(size, |product, &axis| product.checked_mul(axis));
        // A zero elsewhere in the shape must not hide an axis beyond the addressable.
        let fits = |axis: &u64| isize::try_from(*axis).is_ok();
        declared.filter(|&declared| self.shape.iter().all(fits) && isize::try_from(declared).is_ok()).ok_or_else(|| {
            StoreError::TooLarge { file: file.to_owned(), shape: self.shape_text(), element: self.element }
        })
    }

    /// Checks the declared size against the `available` bytes behind the offset: exactly as many are needed.
    pub(crate) fn check_length(&self, file: &str, available: usize) -> Result<(), StoreError> {
        if self.bytes(file)? == available as u64 { Ok(()) } else { Err(self.length_error(file, available as u64)) }
    }

    /// That other than `available` bytes are needed behind the offset.
    pub(crate) fn length_error(&self, file: &str, available: u64) -> StoreError {
        match self.bytes(file) {
            Ok(declared) => StoreError::Length {
                file: file.to_owned(),
                shape: self.shape_text(),
                element: self.element,
                declared,
                offset: self.offset as u64,
                available,
                looks_like: None,
            },
            Err(error) => error,
        }
    }
}

/// A matrix `[n, d]` in a run of bytes: element `(i, j)` begins at `offset + i * row_stride + j * column_stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) offset: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
    pub(crate) element: ElementType,
    pub(crate) big_endian: bool,
}

impl Layout {
    /// The matrix of a two-axis array, or layer `layer` of a three-axis array `[n, layers, d]`. The array's length has been
    /// checked, so no product here can overflow.
    pub(crate) fn of_array(header: &ArrayHeader, layer: Option<usize>) -> Self {
        let size = header.element.size();
        let axes: Vec<usize> = header.shape.iter().map(|&a| a as usize).collect();
        let last = axes.len() - 1;
        let mut strides: Vec<usize> = (0..axes.len())
            .map(|axis| {
                let inner = if header.fortran { &axes[..axis] } else { &axes[axis + 1..] };
                inner.iter().fold(size, |product, &a| product.saturating_mul(a))
            })
            .collect();
        if axes.contains(&0) {
            // The strides of an array without elements may not fit, and lead nowhere.
            strides.fill(0);
            strides[last] = size;
        }
        let layer_offset = layer.map_or(0, |l| l * strides[1]);
        Self {
            n: axes[0],
            d: axes[last],
            offset: header.offset + layer_offset,
            row_stride: strides[0],
            column_stride: strides[last],
            element: header.element,
            big_endian: header.big_endian && size > 1,
        }
    }

    /// Rows `start..end` of this matrix.
    pub(crate) fn rows(self, start: usize, end: usize) -> Self {
        Self { n: end - start, offset: self.offset + start * self.row_stride, ..self }
    }

    /// Whether the rows can be read as slices of f32 where they lie, given aligned bytes.
    pub(crate) fn is_plain_f32(&self) -> bool {
        self.element == ElementType::F32
            && self.big_endian == cfg!(target_endian = "big")
            && (self.column_stride == 4 || self.d <= 1)
            && self.row_stride.is_multiple_of(4)
            && (self.n <= 1 || self.row_stride / 4 >= self.d)
    }
}
