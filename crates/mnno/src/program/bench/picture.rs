//! Recall against queries per second, drawn: one curve for each index and number of threads.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::report::{Report, ResultReport, thousands};
use crate::program::canvas::{Axis, COLOURS, Picture, printable};
use crate::program::report::counted;

/// Recalls that are named on the axis.
const NAMED: [f64; 11] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0];
/// The last part of the way to recall 1.
const LAST: f64 = 1e-3;

/// The place of a recall: each tenth of what is missing takes as much room as the one before, down to one in 1,000.
fn place(recall: f64) -> f64 {
    -((1.0 - recall).max(0.0) + LAST).log10()
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

impl Picture for Report {
    const SIZE: (u32, u32) = (1200, 800);

    fn draw_on<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let curves = curves(self);
        let all = || self.results.iter();
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
            printable(self.inputs[0].path.rsplit('/').next().unwrap_or_default()),
            self.inputs[0].rows,
            self.inputs[0].dims,
            self.metric
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
            .x_desc(format!("recall@{}", self.k))
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
