//! A hash by which a result names the content that it was computed from.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// Files up to this size are hashed whole.
const FULL_UP_TO: usize = 1 << 30;
/// Pieces taken of larger files.
const PIECES: usize = 64;
const PIECE: usize = 1 << 20;

/// How much of a file went into its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every byte.
    Full,
    /// The length and 64 pieces of 1 MiB, the first and the last among them.
    Sampled,
}

/// XXH3-128 of a file's bytes: not a guard against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The hash.
    pub hash: u128,
    /// What it covers.
    pub coverage: Coverage,
}

impl Fingerprint {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut hasher = Xxh3::new();
        if bytes.len() <= FULL_UP_TO {
            hasher.update(bytes);
            return Self { hash: hasher.digest128(), coverage: Coverage::Full };
        }
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        for piece in 0..PIECES {
            let start = (bytes.len() - PIECE) / (PIECES - 1) * piece;
            let start = if piece == PIECES - 1 { bytes.len() - PIECE } else { start };
            hasher.update(&bytes[start..start + PIECE]);
        }
        Self { hash: hasher.digest128(), coverage: Coverage::Sampled }
    }

    /// One for several files, in their order.
    pub(crate) fn of_all(each: &[Self]) -> Self {
        if let [only] = each {
            return *only;
        }
        let mut hasher = Xxh3::new();
        for fingerprint in each {
            hasher.update(&fingerprint.hash.to_le_bytes());
        }
        let sampled = each.iter().any(|fingerprint| fingerprint.coverage == Coverage::Sampled);
        Self { hash: hasher.digest128(), coverage: if sampled { Coverage::Sampled } else { Coverage::Full } }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coverage = match self.coverage {
            Coverage::Full => "full",
            Coverage::Sampled => "sampled",
        };
        write!(f, "xxh3:{:032x} ({coverage})", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_as_the_reference_implementation_shows_it() {
        // XXH3_128bits of nothing, from the xxHash test suite.
        assert_eq!(Fingerprint::of(b"").to_string(), "xxh3:99aa06d3014798d86001c324468d497f (full)");
    }
}
