//! Values of flags: how each is read from the command line.

use std::num::NonZeroUsize;
use std::ops::Range;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use mnno::store::Format;

use crate::program::budget::LEAST;

pub(super) fn parse_rows(text: &str) -> Result<Range<usize>, String> {
    let bounds = text.split_once("..").and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match bounds {
        Some((a, b)) if a < b => Ok(a..b),
        Some((a, b)) => Err(format!("{a}..{b} holds no row")),
        None => Err("expected A..B, two row numbers from 0, such as 0..1000".to_owned()),
    }
}

/// The names of formats, which the help lists.
pub(super) fn format_names() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// More threads than any machine has cores are a mistake that would only exhaust it.
pub(super) fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse() {
        Ok(count) if count <= NonZeroUsize::MIN.saturating_add(1023) => Ok(count),
        _ => Err("expected a number from 1 to 1024".to_owned()),
    }
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.trim_end_matches("iB").trim_end_matches('B').to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(format!("unknown unit '{unit}': expected K, M, G or T (powers of 1024)")),
    };
    let count: u64 = digits.parse().map_err(|_| "expected a size such as 512M or 4G".to_owned())?;
    let size: u64 = count.checked_mul(1 << shift).ok_or_else(|| format!("{text} is more than can be addressed"))?;
    if size < LEAST { Err("expected at least 64M: the program itself takes some of it".to_owned()) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_size("67108864"), Ok(64 << 20));
        assert_eq!(parse_size("65536k"), Ok(64 << 20));
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("1TB"), Ok(1 << 40));
        for bad in ["", "G", "4X", "-1", "63M", "99999999999T", "1.5G"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn row_ranges_hold_at_least_one_row() {
        assert_eq!(parse_rows("0..9251"), Ok(0..9251));
        for bad in ["5", "3..3", "4..1", "a..b", "..3", "1..", "0..99999999999999999999999"] {
            assert!(parse_rows(bad).is_err(), "{bad}");
        }
    }
}
