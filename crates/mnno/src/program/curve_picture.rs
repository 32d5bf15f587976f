//! Overlaps and losses by epoch, drawn: the paper's Figure 2.

use std::ops::Range;
use std::path::Path;

use mnno::store::output::AtomicFile;
use mnno::train::experiment::CurvePoint;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{self, Axis, COLOURS, Picture, printable};
use super::failure::Failure;

/// Room beside the lines for their names.
const NAMES: i32 = 330;
/// From the end of a line to its name.
const LEADER: i32 = 40;
/// From one name to the next.
const LINE_HEIGHT: i32 = 28;
const MARGIN: i32 = 30;
const DARK: RGBColor = RGBColor(40, 40, 40);
const GREY: RGBColor = RGBColor(110, 110, 110);

/// How a map came to be, epoch by epoch.
pub(crate) struct LearningCurve<'a> {
    pub(crate) title: &'a str,
    pub(crate) subtitle: &'a str,
    pub(crate) points: &'a [CurvePoint],
    /// The epoch that cross-validation chose.
    pub(crate) chosen: Option<usize>,
    /// mNNO(X, Y) of the test rows.
    pub(crate) x_y: Option<f64>,
    pub(crate) chance: f64,
}

/// The picture, ready to be published.
pub(crate) fn draw(curve: &LearningCurve<'_>, path: &Path) -> Result<AtomicFile, Failure> {
    canvas::draw(curve, path)
}

/// A line, and what is written at its end.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    colour: RGBColor,
    width: u32,
    dashed: bool,
}

impl Line {
    /// What was measured on test rows.
    fn of_test(name: &str, points: Vec<(f64, f64)>, colour: RGBColor, shown: fn(f64) -> String) -> Self {
        let name = named(&format!("{name}, test"), &points, shown);
        Self { name, points, colour, width: 4, dashed: false }
    }

    /// What was measured on training rows.
    fn of_train(name: &str, points: Vec<(f64, f64)>, colour: RGBColor, shown: fn(f64) -> String) -> Self {
        let name = named(&format!("{name}, training"), &points, shown);
        Self { name, points, colour, width: 2, dashed: true }
    }

    /// What no epoch changes.
    fn level(name: &str, value: f64, last: f64, colour: RGBColor) -> Self {
        let points = vec![(0.0, value), (last, value)];
        Self { name: named(name, &points, overlap), points, colour, width: 1, dashed: false }
    }
}

/// With the value at the end.
fn named(name: &str, points: &[(f64, f64)], shown: fn(f64) -> String) -> String {
    points.last().map_or_else(String::new, |&(_, value)| format!("{name}: {}", shown(value)))
}

/// Lines over the epochs.
struct Panel {
    heading: &'static str,
    axis: &'static str,
    lines: Vec<Line>,
}

impl LearningCurve<'_> {
    /// The last epoch of the axis, which begins at 0: where no training has been.
    fn last(&self) -> f64 {
        let trained = self.points.iter().map(|point| point.epoch).max();
        trained.max(self.chosen).unwrap_or(0).max(1) as f64
    }

    /// One value by epoch, where there is one.
    fn line(&self, value: impl Fn(&CurvePoint) -> Option<f64>) -> Vec<(f64, f64)> {
        let values = self.points.iter().filter_map(|point| Some((point.epoch as f64, value(point)?)));
        values.filter(|(_, value)| value.is_finite()).collect()
    }

    fn overlaps(&self) -> Panel {
        let mut lines = vec![Line::level("chance", self.chance, self.last(), GREY)];
        lines.extend(self.x_y.map(|x_y| Line::level("mNNO(X, Y), test", x_y, self.last(), DARK)));
        let of = [("mNNO(X, f(X))", COLOURS[0]), ("mNNO(Y, f(X))", COLOURS[1])];
        for (i, (name, colour)) in of.into_iter().enumerate() {
            lines.push(Line::of_train(name, self.line(|point| Some(point.train[i])), colour, overlap));
            lines.push(Line::of_test(name, self.line(|point| Some(point.test?[i])), colour, overlap));
        }
        Panel {
            heading: "Neighbours that mapped rows f(X) share with their inputs X and with their targets Y",
            axis: "overlap (mNNO)",
            lines,
        }
    }

    fn losses(&self) -> Panel {
        let lines = vec![
            Line::of_train("loss", self.line(|point| Some(point.train_loss)), DARK, |loss| rounded(loss, 2)),
            Line::of_test("loss", self.line(|point| point.test_loss), DARK, |loss| rounded(loss, 2)),
        ];
        Panel { heading: "Loss: how far f(X) is from Y", axis: "loss", lines }
    }
}

impl Picture for LearningCurve<'_> {
    const SIZE: (u32, u32) = (1200, 1000);

    fn draw_on<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        write(area, self.title, 32, BLACK, HPos::Left, (MARGIN, 40))?;
        write(area, self.subtitle, 22, GREY, HPos::Left, (MARGIN, 80))?;
        self.draw_panel(area, &self.overlaps(), 110..600)?;
        self.draw_panel(area, &self.losses(), 620..1000)?;
        area.present()
    }
}

impl LearningCurve<'_> {
    fn draw_panel<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        panel: &Panel,
        heights: Range<i32>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let last = self.last();
        let values = panel.lines.iter().flat_map(|line| &line.points).map(|&(_, value)| value);
        let of_values = steps(values.fold(0.0, f64::max));
        let top = of_values[of_values.len() - 1];
        let of_epochs = steps(last).into_iter().filter(|epoch| epoch.fract() == 0.0 && *epoch <= last).collect();
        let shown = |value| rounded(value, 1);
        let mut chart = ChartBuilder::on(area)
            .margin_top(heights.start + 80)
            .margin_bottom(Self::SIZE.1.cast_signed() - heights.end)
            .margin_left(MARGIN)
            .margin_right(NAMES)
            .x_label_area_size(76)
            .y_label_area_size(100)
            .build_cartesian_2d(
                Axis { ends: [0.0, last], named: of_epochs, place: |epoch| epoch, shown },
                Axis { ends: [0.0, top], named: of_values, place: |value| value, shown },
            )?;
        let font = |size: u32| ("sans-serif", size).into_font();
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .x_desc("epoch")
            .y_desc(panel.axis)
            .axis_desc_style(font(22))
            .label_style(font(20))
            .draw()?;
        write(area, panel.heading, 24, BLACK, HPos::Left, (MARGIN, heights.start + 24))?;
        if let Some(chosen) = self.chosen {
            let ends = [(chosen as f64, 0.0), (chosen as f64, top)];
            chart.draw_series(DashedLineSeries::new(ends, 3, 5, GREY.stroke_width(2)))?;
            let (x, y) = chart.plotting_area().map_coordinate(&ends[1]);
            let side = if ends[0].0 < last / 2.0 { HPos::Left } else { HPos::Right };
            write(area, &format!("epoch {chosen}, chosen by cross-validation"), 20, GREY, side, (x, y - 16))?;
        }
        for line in &panel.lines {
            let points = line.points.iter().copied();
            let style = line.colour.stroke_width(line.width);
            if line.dashed {
                chart.draw_series(DashedLineSeries::new(points, 9, 6, style))?;
            } else {
                chart.draw_series(LineSeries::new(points, style))?;
            }
        }
        // Names stand beside the ends of their lines, or as near as they find room.
        let mut ends: Vec<_> = panel
            .lines
            .iter()
            .filter_map(|line| Some((chart.plotting_area().map_coordinate(line.points.last()?), line)))
            .collect();
        ends.sort_by_key(|((_, y), _)| *y);
        let (columns, rows) = chart.plotting_area().get_pixel_range();
        let wanted: Vec<i32> = ends.iter().map(|((_, y), _)| *y).collect();
        for ((end, line), y) in ends.iter().zip(spread(&wanted, rows)) {
            let x = columns.end + LEADER;
            area.draw(&PathElement::new(vec![*end, (x - 6, y)], line.colour.mix(0.5)))?;
            area.draw(&Circle::new(*end, line.width + 1, line.colour.filled()))?;
            write(area, &line.name, 20, line.colour, HPos::Left, (x, y))?;
        }
        Ok(())
    }
}

/// Heights near those wanted, in their order, with room for a name each; within `limits` if all find room there.
fn spread(wanted: &[i32], limits: Range<i32>) -> Vec<i32> {
    let mut heights = wanted.to_vec();
    let mut least = limits.start;
    for height in &mut heights {
        *height = least.max(*height);
        least = *height + LINE_HEIGHT;
    }
    let mut most = limits.end;
    for height in heights.iter_mut().rev() {
        *height = most.min(*height);
        most = *height - LINE_HEIGHT;
    }
    heights
}

/// Writes text on one line, from the left, around a height.
fn write<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    text: &str,
    size: u32,
    colour: RGBColor,
    side: HPos,
    at: (i32, i32),
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let style = ("sans-serif", size).into_font().color(&colour).pos(Pos::new(side, VPos::Center));
    area.draw_text(&printable(text), &style, at)
}

fn overlap(value: f64) -> String {
    format!("{value:.3}")
}

/// With so many digits after the first.
fn rounded(value: f64, digits: usize) -> String {
    let rounded: f64 = format!("{value:.digits$e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// 0 and at most six equal steps, of 1, 2 or 5 times a power of ten, the last of which reaches `highest`.
fn steps(highest: f64) -> Vec<f64> {
    let highest = if highest >= f64::MIN_POSITIVE { highest } else { 1.0 };
    let power = 10_f64.powf((highest / 6.0).log10().floor());
    let sizes = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let size = sizes.into_iter().find(|size| 6.0 * size >= highest).unwrap_or(highest);
    (0..=(highest / size).ceil() as u32).map(|count| f64::from(count) * size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look() {
        let points: Vec<CurvePoint> = (1..=60)
            .map(|epoch| {
                let t = 1.0 - (-(epoch as f64) / 15.0).exp();
                let wave = ((epoch * 7) as f64).sin() * 0.004;
                CurvePoint {
                    epoch,
                    train_loss: 0.5 - 0.35 * t,
                    test_loss: Some(0.52 - 0.2 * t + 0.001 * epoch as f64),
                    train: [0.62 - 0.2 * t + wave, 0.08 + 0.32 * t],
                    test: Some([0.6 - 0.25 * t - wave, 0.1 + 0.1 * t + wave]),
                }
            })
            .collect();
        let curve = LearningCurve {
            title: "x->y, nn-1, mse",
            subtitle: "cosine, K = 10, self excluded; 1570 training and 392 test rows",
            points: &points,
            chosen: Some(23),
            x_y: Some(0.14),
            chance: 10.0 / 391.0,
        };
        for name in ["a.svg", "a.png"] {
            draw(&curve, &Path::new("curves").join(name)).unwrap().publish().unwrap();
        }
    }
}
