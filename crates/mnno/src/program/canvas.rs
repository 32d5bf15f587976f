//! What pictures have in common: the font, the colours, an axis, and SVG or PNG by the name of the file.

use std::io::Write;
use std::path::Path;

use mnno::store::output::{AtomicFile, WriteError};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::failure::{Failure, code};

/// A font of its own, so that pictures are the same on a machine that has none. See `fonts/LICENSE-DejaVu`.
static FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans-ascii.ttf");
/// Colours that people who see few colours tell apart (Okabe and Ito 2008).
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// What can be drawn.
pub(super) trait Picture {
    /// Width and height.
    const SIZE: (u32, u32);

    /// Draws it on all of `area`.
    fn draw_on<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>>;
}

/// Refuses what is no picture.
pub(crate) fn check_extension(path: &Path) -> Result<(), Failure> {
    match extension(path).as_deref() {
        Some("svg" | "png") => Ok(()),
        _ => Err(Failure::usage(format!("{}: a picture is .svg or .png", path.display()))),
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// The picture, ready to be published.
pub(super) fn draw<P: Picture>(picture: &P, path: &Path) -> Result<AtomicFile, Failure> {
    let failure = |e: &dyn std::fmt::Display| {
        Failure::new(code::CANNOT_WRITE, format!("{}: the picture cannot be drawn: {e}", path.display()))
    };
    if register_font("sans-serif", FontStyle::Normal, FONT).is_err() {
        return Err(failure(&"the font is damaged"));
    }
    let bytes = if extension(path).as_deref() == Some("svg") {
        let mut svg = String::new();
        picture.draw_on(&SVGBackend::with_string(&mut svg, P::SIZE).into_drawing_area()).map_err(|e| failure(&e))?;
        svg.into_bytes()
    } else {
        let mut pixels = vec![0; (P::SIZE.0 * P::SIZE.1 * 3) as usize];
        picture
            .draw_on(&BitMapBackend::with_buffer(&mut pixels, P::SIZE).into_drawing_area())
            .map_err(|e| failure(&e))?;
        png(&pixels, P::SIZE).map_err(|e| failure(&e))?
    };
    let mut file = AtomicFile::create(path)?;
    file.write_all(&bytes).map_err(|e| WriteError::io(path, e))?;
    Ok(file)
}

fn png(pixels: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// The characters that the font has; others become question marks.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect()
}

/// An axis: where values lie on it, and which are named.
pub(super) struct Axis {
    pub(super) ends: [f64; 2],
    pub(super) named: Vec<f64>,
    pub(super) place: fn(f64) -> f64,
    pub(super) shown: fn(f64) -> String,
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let [from, to] = self.ends.map(self.place);
        let share = ((self.place)(*value) - from) / (to - from);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.named.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.ends[0]..self.ends[1]
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        (self.shown)(*value)
    }
}

/// With so many digits after the first.
pub(super) fn rounded(value: f64, digits: usize) -> String {
    let rounded: f64 = format!("{value:.digits$e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// 0 and at most seven equal steps, of 1, 2 or 5 times a power of ten, the last of which reaches `highest`.
pub(super) fn steps(highest: f64) -> Vec<f64> {
    let highest = if highest >= f64::MIN_POSITIVE { highest } else { 1.0 };
    let power = 10_f64.powf((highest / 7.0).log10().floor());
    let sizes = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let size = sizes.into_iter().find(|size| 7.0 * size >= highest).unwrap_or(highest);
    let count = (1..7).find(|&count| f64::from(count) * size >= highest).unwrap_or(7);
    (0..=count).map(|count| f64::from(count) * size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps_beyond_the_highest_value() {
        assert_eq!(
            steps(0.62).iter().map(|&step| rounded(step, 1)).collect::<Vec<_>>().join(" "),
            "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7"
        );
        assert_eq!(steps(1000.0), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(steps(3.1e-9).len(), 8);
        assert_eq!(steps(0.0), steps(1.0));
        assert_eq!(
            [4e-9, 0.05, 12.0, 250_000.0, 1.5e6].map(|value| rounded(value, 1)),
            ["4e-9", "0.05", "12", "250000", "1.5e6"]
        );
    }
}
