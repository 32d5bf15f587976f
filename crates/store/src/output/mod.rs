//! The writing side: results go to their place whole or not at all.
//!
//! [`AtomicFile`] writes beside the destination and renames. [`prepare_lists`] writes neighbour lists in the layout that
//! the output's extension names and hands back [`Prepared`] files: complete, on the disk, not yet in place. Between
//! writing and [`Prepared::publish`] a program can check that its inputs are still what they were.
//!
//! Rejected: writing to the destination itself (a full disk or a stopped program leaves half a file under a good name),
//! and temporaries in the system's temporary folder (a rename does not cross file systems).

mod arrays;
mod atomic;
mod error;
mod lists;
mod mat;
mod matrix;
mod npz;
mod tensors;

pub use atomic::{AtomicFile, same_file};
pub use error::WriteError;
pub use lists::{Lists, Prepared, Written, csv_cause, list_paths, prepare_lists};
pub use matrix::{Vectors, prepare_matrix};
pub use tensors::prepare_tensors;
