//! The picture of a context over time: areas by kind, one on the other, compactions as cuts. Drawn here, as SVG.

use std::fmt::Write;

use longhaul_compaction::Kind;
use longhaul_conversation::{Ordinal, grouped};
use maud::{Markup, html};

use crate::chronicle::{Cut, KINDS, KindCounts};
use crate::words::{percent, short};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 24.0;

/// A size of the context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChartPoint {
    /// The number of messages before it.
    pub(crate) place: usize,
    pub(crate) number: Option<Ordinal>,
    pub(crate) kinds: KindCounts,
}

/// The subject of a picture.
pub(crate) struct Chart<'c> {
    pub(crate) points: &'c [ChartPoint],
    pub(crate) cuts: &'c [Cut],
    pub(crate) window: u64,
    /// The address of the session, if anything can be opened.
    pub(crate) address: Option<&'c str>,
}

impl ChartPoint {
    fn total(&self) -> u64 {
        self.kinds.iter().sum()
    }
}

impl Chart<'_> {
    /// The picture with its legend.
    pub(crate) fn render(&self) -> Markup {
        let Some(last) = self.points.last() else { return html! { p.empty { "Nothing to draw yet." } } };
        let highest = self.points.iter().map(ChartPoint::total).max().unwrap_or_default().max(1);
        let scale = Scale { last: last.place.max(1), top: self.top(highest) };
        let shown: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| self.most(*kind) > 0).collect();
        let label = format!(
            "Context over {} messages: at most {} tokens, {} at the end, {} compactions. The table below has the figures.",
            last.place,
            grouped(highest),
            grouped(last.total()),
            self.cuts.len()
        );
        html! {
            figure.chart {
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="group" aria-label=(label) {
                    (scale.grid())
                    @for kind in &shown { path class=(class(*kind)) d=(self.area(*kind, &scale)) {} }
                    @if self.window <= scale.top {
                        line.window x1=(LEFT) x2=(WIDTH - RIGHT) y1=(scale.y(self.window)) y2=(scale.y(self.window)) {}
                        text x=(WIDTH - RIGHT) y=(scale.y(self.window) - 5.0) text-anchor="end" { "window " (short(self.window)) }
                    }
                    @for (number, cut) in self.cuts.iter().enumerate() {
                        @let x = scale.x(cut.place);
                        line.cutline x1=(x) x2=(x) y1=(TOP - 6.0) y2=(HEIGHT - BOTTOM) {}
                        @match self.address {
                            Some(address) => a href=(format!("{address}/compactions#c{}", number + 1)) {
                                text.cutname x=(x) y=(TOP - 11.0) text-anchor="middle" { "✂ " (number + 1) }
                            },
                            None => text.cutname x=(x) y=(TOP - 11.0) text-anchor="middle" { "✂ " (number + 1) },
                        }
                    }
                    (self.hits(&scale))
                }
                ul.legend {
                    @for kind in &shown {
                        li {
                            svg viewBox="0 0 12 12" aria-hidden="true" { rect class=(class(*kind)) width="12" height="12" rx="3" {} }
                            (name(*kind))
                        }
                    }
                }
            }
        }
    }

    /// The window belongs into the picture unless the context is small beside it.
    fn top(&self, highest: u64) -> u64 {
        match self.window <= highest * 2 {
            true => self.window.max(highest) + self.window / 20,
            false => highest + highest / 12,
        }
    }

    fn most(&self, kind: Kind) -> u64 {
        self.points.iter().map(|point| point.kinds[kind as usize]).max().unwrap_or_default()
    }

    /// The outline of a kind: over the kinds before it.
    fn area(&self, kind: Kind, scale: &Scale) -> String {
        let below = |point: &ChartPoint| point.kinds[..kind as usize].iter().sum::<u64>();
        let mut path = String::new();
        for (nth, point) in self.points.iter().enumerate() {
            let upper = below(point) + point.kinds[kind as usize];
            let step = if nth == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{step}{:.1} {:.1}", scale.x(point.place), scale.y(upper));
        }
        for point in self.points.iter().rev() {
            let _ = write!(path, "L{:.1} {:.1}", scale.x(point.place), scale.y(below(point)));
        }
        path.push('Z');
        path
    }

    /// Columns that name the message below the pointer, and lead to it.
    fn hits(&self, scale: &Scale) -> Markup {
        let edges: Vec<f64> = self.points.iter().map(|point| scale.x(point.place)).collect();
        html! {
            @for (nth, point) in self.points.iter().enumerate() {
                @let from = nth.checked_sub(1).map_or(LEFT, |before| f64::midpoint(edges[before], edges[nth]));
                @let to = edges.get(nth + 1).map_or(WIDTH - RIGHT, |after| f64::midpoint(edges[nth], *after));
                @if to > from && let Some(number) = point.number {
                    @let column = html! {
                        rect.hit x=(format!("{from:.1}")) width=(format!("{:.1}", to - from)) y=(TOP) height=(HEIGHT - TOP - BOTTOM) {
                            title { (number) ": " (grouped(point.total())) " tokens" (main_kinds(&point.kinds)) }
                        }
                    };
                    @match self.address {
                        // The table is for keys: hundreds of stops help nobody.
                        Some(address) => a href=(format!("{address}?at={number}#{number}")) tabindex="-1" { (column) },
                        None => (column),
                    }
                }
            }
        }
    }
}

/// The measure of the picture.
struct Scale {
    last: usize,
    top: u64,
}

impl Scale {
    fn x(&self, place: usize) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * place as f64 / self.last as f64
    }

    fn y(&self, tokens: u64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * tokens as f64 / self.top as f64
    }

    fn grid(&self) -> Markup {
        let steps = |top: u64| round_step(top / 5);
        let (up, along) = (steps(self.top), steps(self.last as u64));
        html! {
            @for tokens in (0..=self.top).step_by(usize::try_from(up).unwrap_or(usize::MAX)) {
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(self.y(tokens)) y2=(self.y(tokens)) {}
                text x=(LEFT - 8.0) y=(self.y(tokens) + 4.0) text-anchor="end" { (short(tokens)) }
            }
            @for place in (0..=self.last).step_by(usize::try_from(along).unwrap_or(usize::MAX)) {
                text x=(self.x(place)) y=(HEIGHT - BOTTOM + 16.0) text-anchor="middle" { (grouped(place)) }
            }
            text x="0" y=(HEIGHT - BOTTOM + 16.0) { "message" }
        }
    }
}

/// A step of 1, 2 or 5 times a power of ten, at least this large.
fn round_step(least: u64) -> u64 {
    let mut power = 1;
    loop {
        for factor in [1, 2, 5] {
            if power * factor >= least {
                return power * factor;
            }
        }
        power *= 10;
    }
}

/// The two kinds that take most, in words.
fn main_kinds(kinds: &KindCounts) -> String {
    let total: u64 = kinds.iter().sum();
    let mut by_size: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kinds[*kind as usize] > 0).collect();
    by_size.sort_by_key(|kind| std::cmp::Reverse(kinds[*kind as usize]));
    let of = |kind: &Kind| {
        format!(", {} {}", name(*kind), percent(kinds[*kind as usize] as f64 / total.max(1) as f64))
    };
    by_size.iter().take(2).map(of).collect()
}

/// The class that colours a kind.
pub(crate) fn class(kind: Kind) -> String {
    format!("k-{}", kind.as_str())
}

/// A kind in the legend.
pub(crate) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Unrecorded => "not in the file",
        Kind::System => "system prompt and tools",
        Kind::User => "typed",
        Kind::Added => "added by the agent",
        kind => kind.name(),
    }
}

/// Counts in the measure of a provider.
pub(crate) fn scaled(kinds: &KindCounts, by: f64) -> KindCounts {
    let mut scaled = [0; KINDS];
    for (to, from) in scaled.iter_mut().zip(kinds) {
        *to = (*from as f64 * by).round() as u64;
    }
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(place: usize, user: u64, output: u64) -> ChartPoint {
        let mut kinds = [0; KINDS];
        kinds[Kind::User as usize] = user;
        kinds[Kind::ToolOutput as usize] = output;
        ChartPoint { place, number: Some(Ordinal(place as u32)), kinds }
    }

    fn drawn(points: &[ChartPoint], window: u64) -> String {
        Chart { points, cuts: &[], window, address: Some("/s/a") }.render().into_string()
    }

    #[test]
    fn areas_stand_on_each_other() {
        let points = [point(0, 0, 0), point(10, 100, 300)];
        let chart = Chart { points: &points, cuts: &[], window: 1_000_000, address: None };
        let scale = Scale { last: 10, top: 400 };
        let base = HEIGHT - BOTTOM;
        let quarter = base - (HEIGHT - TOP - BOTTOM) / 4.0;
        assert_eq!(
            chart.area(Kind::ToolOutput, &scale),
            format!("M{LEFT:.1} {base:.1}L988.0 {TOP:.1}L988.0 {quarter:.1}L{LEFT:.1} {base:.1}Z")
        );
        assert!(chart.area(Kind::User, &scale).contains(&format!("L988.0 {quarter:.1}L988.0 {base:.1}")));
    }

    #[test]
    fn columns_name_messages_and_lead_to_them() {
        let html = drawn(&[point(1, 10, 0), point(2, 10, 990), point(3, 10, 990)], 2_000);
        assert!(
            html.contains("href=\"/s/a?at=m2#m2\"") && html.contains("m2: 1,000 tokens, tool output 99%"),
            "{html}"
        );
        assert!(html.contains("window 2.00k"), "the window is near enough to be shown");
        assert!(!drawn(&[point(1, 10, 0)], 200_000).contains("window 200k"));
    }

    #[test]
    fn sizes_of_any_kind_can_be_drawn() {
        assert!(drawn(&[], 1).contains("Nothing to draw"));
        assert!(drawn(&[point(0, 0, 0)], 0).contains("<svg"));
        drawn(&[point(0, u64::MAX / 64, 0)], u64::MAX / 64);
        assert_eq!([0, 1, 3, 11, 201].map(round_step), [1, 1, 5, 20, 500]);
    }
}
