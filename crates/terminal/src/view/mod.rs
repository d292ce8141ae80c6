//! The view: pure functions from the state to styled lines.

mod blocks;
mod card;
mod dialog;
mod field;
mod frame;
mod hints;
mod meter;
mod review;
mod status;
mod tool;

use std::time::Duration;

pub(crate) use blocks::{
    approval_request, decision, help, notice, resumed_session, rewrite, thoughts, turn_end, user_message,
};
#[cfg(test)]
pub(crate) use card::report;
pub(crate) use card::{CompactionCard, stage};
pub(crate) use field::Frame;
pub(crate) use frame::{frame, input_width};
pub(crate) use review::waiting_page;
pub(crate) use status::title;
pub(crate) use tool::{command_output, describe_call, finished_tool, unfolded};

/// The lines of the current dialog.
pub(crate) fn dialog_lines(state: &crate::state::UiState) -> Vec<longhaul_display::StyledLine> {
    state.dialogs.front().map(|dialog| dialog::frame(state, dialog).lines).unwrap_or_default()
}

/// A duration for people, such as `1 min 5 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{} ms", time.as_millis()),
        (0, 0, 1..10) => format!("{:.1} s", time.as_secs_f64()),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A share as a percentage, such as `64 %`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 1.0 => "<1 %".to_string(),
        percent => format!("{percent:.0} %"),
    }
}

/// A short token count, such as `12k`.
pub(crate) fn short_tokens(tokens: longhaul_conversation::TokenCount) -> String {
    match tokens.0 {
        0..1_000 => tokens.0.to_string(),
        1_000..10_000 => format!("{:.1}k", tokens.0 as f64 / 1_000.0),
        10_000..1_000_000 => format!("{}k", tokens.0 / 1_000),
        _ => format!("{:.1}M", tokens.0 as f64 / 1_000_000.0),
    }
}

/// A count with its noun, such as `1 line` or `2 lines`.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", longhaul_conversation::grouped(count as u64), if count == 1 { one } else { many })
}

/// An amount in dollars.
pub(crate) fn money(dollars: f64) -> String {
    if dollars < 0.1 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::TokenCount;

    #[test]
    fn figures_are_short() {
        let seconds = |seconds| duration(Duration::from_secs_f64(seconds));
        assert_eq!(
            [0.12, 3.25, 12.0, 75.0, 7_260.0].map(seconds),
            ["120 ms", "3.2 s", "12 s", "1 min 15 s", "2 h 1 min"]
        );
        let tokens = [0, 999, 1_250, 12_900, 1_048_576].map(|n| short_tokens(TokenCount(n)));
        assert_eq!(tokens, ["0", "999", "1.2k", "12k", "1.0M"]);
        assert_eq!([0.0, 0.004, 0.5, 1.0].map(percent), ["0 %", "<1 %", "50 %", "100 %"]);
        assert_eq!(money(0.0123), "$0.0123");
    }
}
