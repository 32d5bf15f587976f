//! Recall against queries per second, drawn: one curve for each index and number of threads.

use std::io::Write;
use std::path::Path;

use mnno::store::output::{AtomicFile, WriteError};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::cannot_write;
use super::report::{Report, ResultReport, thousands};
use crate::program::failure::Failure;
use crate::program::report::counted;

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 800;
/// A font of its own, so that pictures are the same on a machine that has none. See `fonts/LICENSE-DejaVu`.
static FONT: &[u8] = include_bytes!("../../../fonts/DejaVuSans-ascii.ttf");
/// Colours that people who see few colours tell apart (Okabe and Ito 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// Recalls that are named on the axis.
const NAMED: [f64; 11] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0];
/// The last part of the way to recall 1.
const LAST: f64 = 1e-3;

/// The place of a recall: each tenth of what is missing takes as much room as the one before, down to one in 1,000.
fn place(recall: f64) -> f64 {
    -((1.0 - recall).max(0.0) + LAST).log10()
}

/// Refuses what is no picture.
pub(super) fn check_extension(path: &Path) -> Result<(), Failure> {
    match extension(path).as_deref() {
        Some("svg" | "png") => Ok(()),
        _ => Err(Failure::usage(format!("{}: a picture is .svg or .png", path.display()))),
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// The picture, ready to be published.
pub(super) fn draw(report: &Report, path: &Path) -> Result<AtomicFile, Failure> {
    let failure = |e: &dyn std::fmt::Display| cannot_write(path, format!("the picture cannot be drawn: {e}"));
    if register_font("sans-serif", FontStyle::Normal, FONT).is_err() {
        return Err(failure(&"the font is damaged"));
    }
    let bytes = if extension(path).as_deref() == Some("svg") {
        let mut svg = String::new();
        chart(report, &SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area())
            .map_err(|e| failure(&e))?;
        svg.into_bytes()
    } else {
        let mut pixels = vec![0; (WIDTH * HEIGHT * 3) as usize];
        chart(report, &BitMapBackend::with_buffer(&mut pixels, (WIDTH, HEIGHT)).into_drawing_area())
            .map_err(|e| failure(&e))?;
        png(&pixels).map_err(|e| failure(&e))?
    };
    let mut file = AtomicFile::create(path)?;
    file.write_all(&bytes).map_err(|e| WriteError::io(path, e))?;
    Ok(file)
}

fn png(pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// An axis: where values lie on it, and which are named.
struct Axis {
    ends: [f64; 2],
    named: Vec<f64>,
    place: fn(f64) -> f64,
    shown: fn(f64) -> String,
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

/// `41,000` for 41000, `0.5` for 0.5.
fn rate(queries: f64) -> String {
    thousands(queries).trim_end_matches(".0").to_owned()
}

/// The results of one index on one number of threads.
struct Curve<'a> {
    name: String,
    points: Vec<&'a ResultReport>,
}

fn curves(report: &Report) -> Vec<Curve<'_>> {
    let mut curves = Vec::new();
    for block in report.blocks() {
        let mut threads: Vec<usize> = block.iter().map(|result| result.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        for count in threads {
            let points: Vec<&ResultReport> = block.iter().filter(|result| result.threads == count).collect();
            let walks = points[0].traversal.map_or(String::new(), |traversal| format!(" ({traversal})"));
            curves.push(Curve { name: format!("{}{walks}, {}", points[0].index, counted(count, "thread")), points });
        }
    }
    curves
}

fn chart<B: DrawingBackend>(
    report: &Report,
    area: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let curves = curves(report);
    let all = || report.results.iter();
    let least = all().map(|result| result.recall).fold(1.0, f64::min);
    // From a named recall on, and at least the last tenth.
    let first = NAMED.into_iter().rev().find(|&named| named <= least.min(0.9)).unwrap_or(0.0);
    let slowest = all().map(|result| result.qps).fold(f64::INFINITY, f64::min);
    let fastest = all().map(|result| result.qps).fold(0.0, f64::max);
    let (bottom, top) = (rounded_down(slowest), rounded_up(fastest));
    let named: Vec<f64> = NAMED.into_iter().filter(|&named| named >= first).collect();

    area.fill(&WHITE)?;
    let font = |size: u32| ("sans-serif", size).into_font();
    let title = format!(
        "{}: {} x {}, {}",
        file_name(&report.inputs[0].path),
        report.inputs[0].rows,
        report.inputs[0].dims,
        report.metric
    );
    let mut chart = ChartBuilder::on(area)
        .caption(title, font(28))
        .margin(24)
        .x_label_area_size(70)
        .y_label_area_size(120)
        .build_cartesian_2d(
            Axis { ends: [first, 1.0], named, place, shown: |recall| recall.to_string() },
            Axis { ends: [bottom, top], named: round_numbers(bottom, top), place: f64::log10, shown: rate },
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.15))
        .x_desc(format!("recall@{}", report.k))
        .y_desc("queries per second")
        .axis_desc_style(font(24))
        .label_style(font(20))
        .draw()?;
    for (curve, colour) in curves.iter().zip(COLOURS.into_iter().cycle()) {
        let mut points: Vec<(f64, f64)> = curve.points.iter().map(|result| (result.recall, result.qps)).collect();
        chart.draw_series(points.iter().map(|&point| Circle::new(point, 5, colour.filled())))?;
        if curve.points[0].ef.is_none() {
            // Exact search is a speed to compare with, at any recall.
            points.insert(0, (first, points[0].1));
        }
        let style = colour.stroke_width(3);
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(curve.name.as_str())
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 28, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .legend_area_size(36)
        .margin(14)
        .label_font(font(20))
        .draw()?;
    area.present()
}

/// The characters that the font has; others become question marks.
fn file_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect()
}

/// 1, 2 and 5 times powers of ten.
fn round_numbers(bottom: f64, top: f64) -> Vec<f64> {
    let (first, last) = (bottom.log10().floor() as i32, top.log10().ceil() as i32);
    let numbers = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
    numbers.filter(|number| (bottom..=top).contains(number)).collect()
}

fn rounded_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].map(|digit| digit * power).into_iter().find(|&round| round <= value).unwrap_or(power)
}

fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|&round| round > value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_end_at_round_numbers_around_what_is_drawn() {
        assert_eq!((rounded_down(731.0), rounded_up(731.0)), (500.0, 1000.0));
        assert_eq!((rounded_down(1000.0), rounded_up(1000.0)), (1000.0, 2000.0));
        assert_eq!(round_numbers(500.0, 2000.0), [500.0, 1000.0, 2000.0]);
    }

    #[test]
    fn recall_takes_its_place_from_0_to_1_and_the_last_tenth_most_of_it() {
        assert!(place(0.0).abs() < 1e-3 && place(1.0) == 3.0);
        assert!(place(1.0) - place(0.9) > 2.0 * (place(0.9) - place(0.0)));
    }
}
