//! Bars and lines made of block characters.

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for `share` of `width` columns, to an eighth of a column. A share above nothing is never invisible.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mut eighths = (share * width as f64 * 8.0).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8 - 1]);
    }
    bar
}

/// A line of at most `width` columns that follows `values`; each column shows the highest value it stands for.
pub(crate) fn sparkline(values: &[u64], width: usize) -> String {
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    let columns = width.min(values.len());
    (0..columns)
        .map(|column| {
            let from = column * values.len() / columns;
            let to = ((column + 1) * values.len() / columns).max(from + 1);
            let value = values[from..to].iter().copied().max().unwrap_or(0);
            HEIGHTS[((value as u128 * 7).div_ceil(u128::from(highest)) as usize).min(7)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_their_share() {
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(0.0001, 10), "▏");
        assert_eq!(bar(0.5, 10), "█████");
        assert_eq!(bar(0.55, 10), "█████▌");
        assert_eq!(bar(7.0, 3), "███");
        assert_eq!(bar(f64::NAN, 3), "");
    }

    #[test]
    fn sparklines_show_peaks() {
        assert_eq!(sparkline(&[], 10), "");
        assert_eq!(sparkline(&[0, 0], 10), "▁▁");
        assert_eq!(sparkline(&[0, 50, 100], 10), "▁▅█");
        assert_eq!(sparkline(&[1, 100, 1, 1], 2), "█▂");
    }
}
