//! Feature files as matrices: formats, memory maps, fingerprints, atomic writes.
//!
//! The way of the data is `file -> format (bytes become a checked layout) -> Matrix (rows of f32)`. A parser never
//! allocates on the word of a header: shapes are multiplied with overflow checks and compared with the length of the file
//! first. No parser contains unsafe code; the memory map, in one module, is the only place that does.
//!
//! A matrix is a view of the mapped file wherever the file holds aligned little-endian f32 rows; anything else is
//! converted block by block as it is read, always to the same values, so that no second copy of the data exists. Only text
//! and compressed members take memory, within a budget.
//!
//! Rejected: reading through the `npy` crates that exist (they copy, or panic on hostile headers), and unpickling.
//!
//! # Examples
//! ```no_run
//! use mnno_store::{OpenOptions, open};
//!
//! for matrix in open("features.npz::text", &OpenOptions::default())? {
//!     matrix.check(1 << 30, &())?;
//!     println!("{}: {} x {} {}", matrix.display_name(), matrix.n(), matrix.d(), matrix.element());
//! }
//! # Ok::<(), mnno_store::StoreError>(())
//! ```

mod bytes;
mod check;
mod error;
mod fault;
mod fingerprint;
mod format;
mod labels;
mod layout;
mod matrix;
mod names;
mod open;
pub mod output;
mod parts;
mod ratings;
mod scattered;
mod tensors;
mod text_fault;
mod widen;

pub use bytes::{Io, install_fault_handler, return_freed_memory};
pub use check::{Check, EqualRows, Positions, Rounding, RowList, SUMMARY_BYTES_PER_ROW, Summary, ZeroRows};
pub use error::{ErrorKind, Need, StoreError, plain};
pub use fault::{DictFault, Fault};
pub use fingerprint::{Coverage, Fingerprint};
pub use format::{Format, UnknownFormat};
pub use layout::ElementType;
pub use matrix::{Access, Matrix, Order};
pub use open::{OpenOptions, open, open_with_observer};
pub use ratings::{Rating, Ratings, read_ratings};
pub use tensors::{Tensor, TensorFile, read_tensors};
pub use text_fault::TextFault;
