//! Overlaps and losses by epoch, drawn: the paper's Figure 2.

use std::ops::Range;
use std::path::Path;

use mnno::store::output::AtomicFile;
use mnno::train::experiment::CurvePoint;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::canvas::{self, Axis, COLOURS, Picture, printable, rounded, steps};
use super::failure::Failure;

/// Room beside the lines for their names.
const NAMES: i32 = 350;
/// From the end of a line to its name.
const LEADER: i32 = 40;
/// From one name to the next.
const LINE_HEIGHT: i32 = 30;
const MARGIN: i32 = 30;
/// The least height of what is written.
const SMALLEST: u32 = 10;
const DARK: RGBColor = RGBColor(40, 40, 40);
const GREY: RGBColor = RGBColor(110, 110, 110);

/// How a map came to be, epoch by epoch, for a reader who asks whether mapped rows get the neighbours of their targets.
pub(crate) struct LearningCurve {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) points: Vec<CurvePoint>,
    /// The epoch whose map is taken, by cross-validation or early stopping.
    pub(crate) chosen: Option<usize>,
    /// mNNO(X, Y) of the test rows.
    pub(crate) x_y: Option<f64>,
    /// The overlap of the test rows to be expected of lists drawn at random.
    pub(crate) chance: f64,
}

/// The picture, ready to be published.
pub(crate) fn draw(curve: &LearningCurve, path: &Path) -> Result<AtomicFile, Failure> {
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

impl LearningCurve {
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
        let tested = self.points.iter().any(|point| point.test.is_some());
        let [chance, shared] = if tested { ["chance, test", "mNNO(X, Y), test"] } else { ["chance", "mNNO(X, Y)"] };
        let mut lines = vec![Line::level(chance, self.chance, self.last(), GREY)];
        lines.extend(self.x_y.map(|x_y| Line::level(shared, x_y, self.last(), DARK)));
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
        Panel { heading: "What training makes smaller: the loss", axis: "loss", lines }
    }
}

impl Picture for LearningCurve {
    const SIZE: (u32, u32) = (1200, 1000);

    fn draw_on<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        write(area, &self.title, 32, BLACK, HPos::Left, (MARGIN, 40))?;
        write(area, &self.subtitle, 22, GREY, HPos::Left, (MARGIN, 80))?;
        self.draw_panel(area, &self.overlaps(), 110..600)?;
        self.draw_panel(area, &self.losses(), 620..1000)?;
        area.present()
    }
}

impl LearningCurve {
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
            .x_label_area_size(66)
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
            .label_style(font(22))
            .draw()?;
        write(area, panel.heading, 24, BLACK, HPos::Left, (MARGIN, heights.start + 24))?;
        if let Some(chosen) = self.chosen {
            let ends = [(chosen as f64, 0.0), (chosen as f64, top)];
            chart.draw_series(DashedLineSeries::new(ends, 3, 5, GREY.stroke_width(2)))?;
            let (x, y) = chart.plotting_area().map_coordinate(&ends[1]);
            let side = if ends[0].0 < last / 2.0 { HPos::Left } else { HPos::Right };
            write(area, &format!("epoch {chosen} was chosen"), 22, GREY, side, (x, y - 16))?;
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
            write(area, &line.name, 22, line.colour, HPos::Left, (x, y))?;
        }
        Ok(())
    }
}

/// Heights near those wanted, in their order, with room for a name each; within `limits` if all find room there.
fn spread(wanted: &[i32], limits: Range<i32>) -> Vec<i32> {
    let (down, up) = (pushed_down(wanted, i32::MIN), pushed_up(wanted, i32::MAX));
    let between: Vec<i32> = down.iter().zip(up).map(|(down, up)| (down + up) / 2).collect();
    pushed_up(&pushed_down(&between, limits.start), limits.end)
}

/// Each at least a line below the one before.
fn pushed_down(heights: &[i32], mut least: i32) -> Vec<i32> {
    let push = |&height: &i32| {
        let pushed = least.max(height);
        least = pushed + LINE_HEIGHT;
        pushed
    };
    heights.iter().map(push).collect()
}

/// Each at least a line above the one after.
fn pushed_up(heights: &[i32], most: i32) -> Vec<i32> {
    let upside_down: Vec<i32> = heights.iter().rev().map(|height| -height).collect();
    pushed_down(&upside_down, -most).iter().rev().map(|height| -height).collect()
}

/// Writes text on one line beside a place, smaller where it would not fit.
fn write<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    text: &str,
    size: u32,
    colour: RGBColor,
    side: HPos,
    at: (i32, i32),
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let text = printable(text);
    let style = |size: u32| ("sans-serif", size).into_font().color(&colour).pos(Pos::new(side, VPos::Center));
    let (width, _) = area.estimate_text_size(&text, &style(size))?;
    let room = if matches!(side, HPos::Right) { at.0 } else { area.get_pixel_range().0.end - at.0 - MARGIN / 2 };
    let room = room.max(0).cast_unsigned();
    let fitting = if width > room { (size * room / width).max(SMALLEST) } else { size };
    area.draw_text(&text, &style(fitting), at)
}

fn overlap(value: f64) -> String {
    format!("{value:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in the paper: the overlap with targets grows much among the training rows and little among the test rows.
    fn learned(epochs: usize) -> Vec<CurvePoint> {
        let point = |epoch: usize| {
            let way = 1.0 - (-(epoch as f64) / (0.25 * epochs as f64)).exp();
            let wave = (epoch as f64 * 7.0).sin() * 0.004;
            CurvePoint {
                epoch,
                train_loss: 0.5 - 0.35 * way,
                test_loss: Some(0.52 - 0.2 * way + 0.06 * epoch as f64 / epochs as f64),
                train: [0.62 - 0.2 * way + wave, 0.08 + 0.32 * way],
                test: Some([0.6 - 0.25 * way - wave, 0.1 + 0.1 * way + wave]),
            }
        };
        (1..=epochs).map(point).collect()
    }

    fn curve(points: &[CurvePoint]) -> LearningCurve {
        LearningCurve {
            title: "x->y, nn-1, mse".to_owned(),
            subtitle: "cosine, K = 10, self excluded; 1570 training and 392 test rows".to_owned(),
            points: points.to_vec(),
            chosen: Some(23),
            x_y: Some(0.14),
            chance: 10.0 / 391.0,
        }
    }

    fn drawn(curve: &LearningCurve, name: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        draw(curve, &path).unwrap().publish().unwrap();
        std::fs::read(path).unwrap()
    }

    fn svg(curve: &LearningCurve) -> String {
        String::from_utf8(drawn(curve, "a.svg")).unwrap()
    }

    /// What is written in an SVG.
    fn texts(svg: &str) -> Vec<&str> {
        svg.split("<text ").skip(1).map(|text| text.split(['>', '<']).nth(1).unwrap().trim()).collect()
    }

    /// The coordinates of what is drawn in an SVG.
    fn coordinates(svg: &str) -> Vec<(i32, i32)> {
        let lists = svg.split(" points=\"").skip(1).map(|list| list.split('"').next().unwrap());
        let pairs = lists.flat_map(str::split_whitespace).map(|pair| pair.split_once(',').unwrap());
        pairs.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).collect()
    }

    #[test]
    fn every_line_has_its_name_and_its_last_value() {
        let mut points = learned(60);
        points[59] = CurvePoint {
            epoch: 60,
            train_loss: 0.15,
            test_loss: Some(0.387_654),
            train: [0.425, 0.394],
            test: Some([0.358, 0.1]),
        };
        let svg = svg(&curve(&points));
        let texts = texts(&svg);
        for text in [
            "x-&gt;y, nn-1, mse",
            "cosine, K = 10, self excluded; 1570 training and 392 test rows",
            "mNNO(X, f(X)), test: 0.358",
            "mNNO(X, f(X)), training: 0.425",
            "mNNO(Y, f(X)), test: 0.100",
            "mNNO(Y, f(X)), training: 0.394",
            "mNNO(X, Y), test: 0.140",
            "chance, test: 0.026",
            "loss, test: 0.388",
            "loss, training: 0.15",
            "epoch 23 was chosen",
            "overlap (mNNO)",
            "loss",
            "epoch",
            "60",
        ] {
            assert!(texts.contains(&text), "{text} is not among {texts:?}");
        }
    }

    #[test]
    fn what_there_is_not_has_no_line() {
        let points: Vec<_> =
            learned(9).into_iter().map(|point| CurvePoint { test_loss: None, test: None, ..point }).collect();
        let svg = svg(&LearningCurve { chosen: None, x_y: None, ..curve(&points) });
        assert!(svg.contains("loss, training") && !svg.contains(", test:") && !svg.contains("was chosen"), "{svg}");
    }

    #[test]
    fn pictures_have_the_same_bytes_every_time() {
        let points = learned(60);
        for name in ["a.svg", "a.png"] {
            assert!(drawn(&curve(&points), name) == drawn(&curve(&points), name), "{name}");
        }
    }

    #[test]
    fn a_title_may_be_anything_and_stays_text() {
        let points = learned(3);
        let title = "<b>&\"\u{1}\u{e9}".to_owned() + &"long".repeat(100);
        let svg = svg(&LearningCurve { title, ..curve(&points) });
        assert!(texts(&svg)[0].starts_with("&lt;b&gt;&amp;&quot;??long"), "{svg}");
        assert!(!svg.contains("<b>"));
    }

    #[test]
    fn odd_curves_are_drawn_within_the_picture() {
        let with_losses = |loss: f64| -> Vec<CurvePoint> {
            let of = |point| CurvePoint { train_loss: loss, test_loss: Some(loss / 3.0), ..point };
            learned(5).into_iter().map(of).collect()
        };
        let zero =
            CurvePoint { epoch: 1, train_loss: 0.0, test_loss: Some(0.0), train: [0.0; 2], test: Some([0.0; 2]) };
        let mut curves = vec![vec![], vec![zero], learned(1), learned(2), learned(1000)];
        curves.extend([1e-9, 1e6, 1e300, f64::MIN_POSITIVE, 1e-320, f64::NAN, f64::INFINITY].map(with_losses));
        for points in &curves {
            for chosen in [None, Some(0), Some(1), Some(5000)] {
                let odd = LearningCurve { chosen, x_y: None, chance: 0.0, ..curve(points) };
                let svg = svg(&odd);
                for (x, y) in coordinates(&svg) {
                    assert!((0..1200).contains(&x) && (0..1000).contains(&y), "{x},{y} of {points:?}");
                }
                assert!(!texts(&svg).iter().any(|text| text.contains("NaN") || text.contains("inf")), "{points:?}");
                assert!(drawn(&odd, "a.png").starts_with(b"\x89PNG"));
            }
        }
    }

    #[test]
    fn names_keep_their_distance_and_their_order() {
        assert_eq!(spread(&[100, 200, 300], 0..400), [100, 200, 300]);
        assert_eq!(spread(&[100, 100], 0..400), [85, 115]);
        assert_eq!(spread(&[0, 0, 400, 400], 0..400), [0, 30, 370, 400]);
        assert_eq!(spread(&[], 0..400), [0; 0]);
    }
}
