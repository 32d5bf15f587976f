//! Large buffers in large pages.

use std::marker::PhantomData;

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::SearchError;

/// Bytes of a large page on most systems.
const LARGE: usize = 2 << 20;

/// A buffer that grows, for what is written and read by the megabyte: in large pages, where the system has them, its parts
/// are found with fewer walks through page tables, and fresh memory comes in fewer steps.
#[derive(Debug)]
pub struct Pages<T> {
    map: Option<MmapMut>,
    /// Where the first large page begins.
    start: usize,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { map: None, start: 0, len: 0, of: PhantomData }
    }
}

impl<T: Pod> Pages<T> {
    /// A buffer that holds `values`.
    ///
    /// # Errors
    /// [`SearchError::Allocation`] if the system has no such buffer.
    pub fn of(values: &[T]) -> Result<Self, SearchError> {
        let mut pages = Self::default();
        pages.resize(values.len())?;
        pages.as_mut_slice().copy_from_slice(values);
        Ok(pages)
    }

    /// Makes it `len` long. What it holds then is anything, zeros at first.
    ///
    /// # Errors
    /// [`SearchError::Allocation`] if the system has no such buffer.
    pub fn resize(&mut self, len: usize) -> Result<(), SearchError> {
        let bytes = len.saturating_mul(size_of::<T>());
        if self.map.as_ref().is_none_or(|map| map.len() - self.start < bytes) {
            *self = Self::default();
            let whole = if bytes < LARGE { bytes } else { bytes.saturating_add(LARGE) };
            let map = MmapMut::map_anon(whole).map_err(|source| SearchError::Allocation { bytes: whole, source })?;
            if bytes >= LARGE {
                self.start = map.as_ptr().align_offset(LARGE);
                // Only faster, and not everywhere to be had. What is less than a large page stays in small ones.
                #[cfg(target_os = "linux")]
                let _ = map.advise_range(memmap2::Advice::HugePage, self.start, bytes / LARGE * LARGE);
            }
            self.map = Some(map);
        }
        self.len = len;
        Ok(())
    }

    /// What it holds.
    pub fn as_slice(&self) -> &[T] {
        let bytes = self.start..self.start + self.len * size_of::<T>();
        self.map.as_ref().map_or(&[], |map| bytemuck::cast_slice(&map[bytes]))
    }

    /// What it holds, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let bytes = self.start..self.start + self.len * size_of::<T>();
        self.map.as_mut().map_or(&mut [], |map| bytemuck::cast_slice_mut(&mut map[bytes]))
    }
}

impl<T: Pod + PartialEq> PartialEq for Pages<T> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_the_length_asked_for_and_grow() {
        let mut pages = Pages::<u64>::default();
        assert!(pages.as_slice().is_empty() && pages.as_mut_slice().is_empty());
        for len in [0, 3, 1000, LARGE / 8 - 1, LARGE / 8, 5, LARGE / 8 + 1, LARGE] {
            pages.resize(len).unwrap();
            pages.as_mut_slice().fill(len as u64);
            assert_eq!(pages.as_slice().len(), len);
            assert!(pages.as_slice().iter().all(|&value| value == len as u64));
        }
        assert!(pages.as_slice().as_ptr().addr().is_multiple_of(LARGE));
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        let error = Pages::<u64>::default().resize(1 << 60).unwrap_err();
        assert!(matches!(error, SearchError::Allocation { .. }), "{error}");
    }
}
