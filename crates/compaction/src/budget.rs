//! Budget of a window: how much of it each thing may take.

use std::fmt;

use longhaul_conversation::TokenCount;

/// Threshold at which a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// From this share of the window on.
    Share(f64),
    /// From this many tokens on.
    Tokens(TokenCount),
    /// Never by itself.
    Off,
}

/// Half the window.
impl Default for Threshold {
    fn default() -> Self {
        Self::Share(0.5)
    }
}

/// A text or number that is no threshold; says what would be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidThreshold {
    given: String,
}

impl fmt::Display for InvalidThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { given } = self;
        write!(
            f,
            "invalid threshold {given:?}: expected a share (0.5 or 50%), a number of tokens (200k) or off"
        )
    }
}

impl std::error::Error for InvalidThreshold {}

impl Threshold {
    /// Reads a threshold that a user wrote: a share with a point or a percent sign, a whole number of tokens above 1, with
    /// `k` or `m` if wanted, or `off`.
    ///
    /// ```
    /// use longhaul_compaction::Threshold;
    /// use longhaul_conversation::TokenCount;
    /// assert_eq!(Threshold::parse("50%"), Ok(Threshold::Share(0.5)));
    /// assert_eq!(Threshold::parse("200k"), Ok(Threshold::Tokens(TokenCount(200_000))));
    /// assert_eq!(Threshold::parse("off"), Ok(Threshold::Off));
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidThreshold> {
        let word = text.trim();
        if word.eq_ignore_ascii_case("off") {
            return Ok(Self::Off);
        }
        let share = match word.strip_suffix('%') {
            Some(percent) => parse_decimal(percent.trim_end()).map(|percent| percent / 100.0),
            None => parse_decimal(word).filter(|_| word.contains('.')),
        };
        let share = share.filter(|share| *share > 0.0 && *share <= 1.0).map(Self::Share);
        let tokens = || parse_token_count(word).filter(|tokens| *tokens > TokenCount(1)).map(Self::Tokens);
        share.or_else(tokens).ok_or_else(|| InvalidThreshold { given: text.to_string() })
    }

    /// Reads a number from a settings file: up to 1 a share, above it tokens. 0 means that nothing is set.
    pub fn from_number(number: f64) -> Result<Option<Self>, InvalidThreshold> {
        if number == 0.0 {
            Ok(None)
        } else if number > 0.0 && number <= 1.0 {
            Ok(Some(Self::Share(number)))
        } else if number > 1.0 && number.fract() == 0.0 {
            Ok(Some(Self::Tokens(TokenCount(number as u64))))
        } else {
            Err(InvalidThreshold { given: number.to_string() })
        }
    }

    /// The threshold that counts: the user's setting, else what the host proposes, else the default.
    pub fn resolve(setting: Option<Self>, host: Option<Self>) -> Self {
        setting.or(host).unwrap_or_default()
    }

    /// The threshold in tokens of this window, if it is not off.
    pub fn tokens(self, window: TokenCount) -> Option<TokenCount> {
        match self {
            Self::Share(share) => Some(share_of(window, share)),
            Self::Tokens(tokens) => Some(tokens),
            Self::Off => None,
        }
    }

    /// Tells whether `used` tokens reach the threshold.
    pub(crate) fn is_reached(self, used: TokenCount, window: TokenCount) -> bool {
        self.tokens(window).is_some_and(|threshold| used >= threshold)
    }
}

/// Reads a number of tokens as users write it: `8000`, `200k`, `1.5m`, `200_000`.
pub fn parse_token_count(text: &str) -> Option<TokenCount> {
    let text = text.trim();
    let (number, scale) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'm' | 'M') => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    let tokens = (parse_decimal(number)? * scale * 1e6).round() / 1e6;
    (tokens.fract() == 0.0 && tokens <= 1e15).then_some(TokenCount(tokens as u64))
}

/// A number of plain digits with at most one point; Rust's own parser takes `inf` and `1e9` as well.
fn parse_decimal(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
    is_plain.then(|| text.replace('_', "").parse().ok()).flatten()
}

fn share_of(window: TokenCount, share: f64) -> TokenCount {
    TokenCount((window.0 as f64 * share) as u64)
}

/// Limits of tool output: how much is kept, and when masking is worth its while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// The newest tool outputs up to this are never masked.
    pub protected: TokenCount,
    /// Older ones are masked once they come to this.
    pub worthwhile: TokenCount,
    /// A single fresh output is shortened to this many characters.
    pub characters: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { protected: TokenCount(50_000), worthwhile: TokenCount(30_000), characters: 40_000 }
    }
}

impl OutputLimits {
    /// The same limits, at most 25 %, 15 % and 10 % of the window.
    #[must_use]
    pub fn capped_to(self, window: TokenCount) -> Self {
        let characters = share_of(window, 0.10).0.saturating_mul(4);
        Self {
            protected: self.protected.min(share_of(window, 0.25)),
            worthwhile: self.worthwhile.min(share_of(window, 0.15)),
            // A limit of 0 would mean none at all.
            characters: self.characters.min(usize::try_from(characters.max(1)).unwrap_or(usize::MAX)),
        }
    }
}

/// Settings of a [`Budget`] by a user or a host; what is not set follows from the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetSettings {
    /// The user's threshold.
    pub threshold: Option<Threshold>,
    /// The threshold that the host proposes.
    pub host_threshold: Option<Threshold>,
    /// Target of a compaction.
    pub target: Option<TokenCount>,
    /// The most that a compaction may add beside the tail.
    pub snapshot: Option<TokenCount>,
    /// Limits for tool output; they are capped by the window.
    pub outputs: OutputLimits,
}

/// The window and how it is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The model's window.
    pub window: TokenCount,
    /// Threshold of a compaction.
    pub threshold: Threshold,
    /// Target of a compaction: half the threshold, unless it is set.
    pub target: TokenCount,
    /// The most that a compaction may add beside the tail: 4,000 or 15 % of the window, unless it is set.
    pub snapshot: TokenCount,
    /// Limits for tool output.
    pub outputs: OutputLimits,
}

impl Budget {
    /// Divides `window` as the settings say.
    pub fn new(window: TokenCount, settings: &BudgetSettings) -> Self {
        let threshold = Threshold::resolve(settings.threshold, settings.host_threshold);
        // A forced compaction needs a target even where automatic ones are off; no target lies beyond the window.
        let reached = threshold.tokens(window).unwrap_or_else(|| share_of(window, 0.5)).min(window);
        Self {
            window,
            threshold,
            target: settings.target.unwrap_or(TokenCount(reached.0 / 2)),
            snapshot: settings.snapshot.unwrap_or_else(|| TokenCount(4_000).min(share_of(window, 0.15))),
            outputs: settings.outputs.capped_to(window),
        }
    }
}

/// The parts that no compaction can give up.
///
/// If the newest user message stands in the last group, count it once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The system instruction.
    pub system: TokenCount,
    /// The declared tools.
    pub tools: TokenCount,
    /// Memory files.
    pub memory: TokenCount,
    /// Standing instructions of the user's.
    pub rules: TokenCount,
    /// The newest user message.
    pub newest_user_message: TokenCount,
    /// The last call with its result, or the last message.
    pub last_group: TokenCount,
}

/// A part that no compaction can give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloorPart {
    /// The system instruction.
    System,
    /// The declared tools.
    Tools,
    /// Memory files.
    Memory,
    /// Standing instructions of the user's.
    Rules,
    /// The newest user message.
    NewestUserMessage,
    /// The last call with its result, or the last message.
    LastGroup,
}

/// The floor is larger than the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit {
    /// The largest part, where shortening helps most.
    pub part: FloorPart,
    /// Its size.
    pub size: TokenCount,
    /// The size of all parts.
    pub floor: TokenCount,
    /// Size of the window.
    pub window: TokenCount,
}

impl Floor {
    /// The parts with their sizes.
    pub(crate) fn parts(&self) -> [(FloorPart, TokenCount); 6] {
        [
            (FloorPart::System, self.system),
            (FloorPart::Tools, self.tools),
            (FloorPart::Memory, self.memory),
            (FloorPart::Rules, self.rules),
            (FloorPart::NewestUserMessage, self.newest_user_message),
            (FloorPart::LastGroup, self.last_group),
        ]
    }

    /// All parts together.
    pub(crate) fn total(&self) -> TokenCount {
        self.parts().into_iter().map(|(_, size)| size).sum()
    }

    /// Tells whether the floor fits in the window; if not, says what stands in the way.
    pub(crate) fn check(&self, window: TokenCount) -> Result<(), DoesNotFit> {
        let floor = self.total();
        if floor <= window {
            return Ok(());
        }
        let largest = self.parts().into_iter().max_by_key(|(_, size)| *size);
        let (part, size) = largest.expect("a floor has six parts");
        Err(DoesNotFit { part, size, floor, window })
    }
}

impl FloorPart {
    /// The part in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system instruction",
            Self::Tools => "tool declarations",
            Self::Memory => "memory files",
            Self::Rules => "rules",
            Self::NewestUserMessage => "newest user message",
            Self::LastGroup => "last message or tool call with its result",
        }
    }

    /// Remedy for a user if this part is too large.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::System => "shorten the system instruction, or use a model with a larger window",
            Self::Tools => "declare fewer tools, or use a model with a larger window",
            Self::Memory => "shorten the memory files, or use a model with a larger window",
            Self::Rules => "remove rules that no longer apply, or use a model with a larger window",
            Self::NewestUserMessage => "put the long text in a file and mention that file instead",
            Self::LastGroup => "ask for less output at once, or use a model with a larger window",
        }
    }
}

impl fmt::Display for FloorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, size, floor, window } = self;
        write!(
            f,
            "at least {floor} tokens are needed, but the window holds {window}; largest part: {part} ({size} tokens)"
        )
    }
}

impl std::error::Error for DoesNotFit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_threshold(text: &str, expected: Option<Threshold>) {
        assert_eq!(Threshold::parse(text).ok(), expected, "{text}");
    }

    fn tokens(count: u64) -> Option<Threshold> {
        Some(Threshold::Tokens(TokenCount(count)))
    }

    #[test]
    fn thresholds_are_read_as_users_write_them() {
        check_threshold("0.5", Some(Threshold::Share(0.5)));
        check_threshold(".25", Some(Threshold::Share(0.25)));
        check_threshold(" 50% ", Some(Threshold::Share(0.5)));
        check_threshold("12.5 %", Some(Threshold::Share(0.125)));
        check_threshold("1%", Some(Threshold::Share(0.01)));
        check_threshold("1.0", Some(Threshold::Share(1.0)));
        check_threshold("200k", tokens(200_000));
        check_threshold("1.5k", tokens(1_500));
        check_threshold("0.5M", tokens(500_000));
        check_threshold("2", tokens(2));
        check_threshold("200_000", tokens(200_000));
        check_threshold("OFF", Some(Threshold::Off));
    }

    #[test]
    fn what_is_no_threshold_is_refused() {
        let senseless = [
            "",
            "%",
            "k",
            ".",
            "0",
            "1",
            "0.0",
            "0%",
            "1.5",
            "101%",
            "-0.5",
            "-5",
            "+5",
            "inf",
            "nan",
            "1e9",
            "half",
            "5kk",
            "0.0001k",
            "0,5",
            "５０%",
            "999999999999999999999",
        ];
        for text in senseless {
            check_threshold(text, None);
        }
    }

    #[track_caller]
    fn check_number(number: f64, expected: Result<Option<Threshold>, ()>) {
        assert_eq!(Threshold::from_number(number).map_err(drop), expected, "{number}");
    }

    #[test]
    fn zero_in_the_settings_means_unset() {
        check_number(0.0, Ok(None));
        check_number(0.2, Ok(Some(Threshold::Share(0.2))));
        check_number(1.0, Ok(Some(Threshold::Share(1.0))));
        check_number(50_000.0, Ok(tokens(50_000)));
        check_number(-1.0, Err(()));
        check_number(1.5, Err(()));
        check_number(f64::NAN, Err(()));
        check_number(f64::INFINITY, Err(()));
    }

    #[test]
    fn the_user_wins_over_the_host_and_the_host_over_the_default() {
        let (user, host) = (Some(Threshold::Share(0.2)), Some(Threshold::Off));
        assert_eq!(Threshold::resolve(user, host), Threshold::Share(0.2));
        assert_eq!(Threshold::resolve(None, host), Threshold::Off);
        assert_eq!(Threshold::resolve(None, None), Threshold::Share(0.5));
    }

    #[test]
    fn exactly_at_the_threshold_is_reached() {
        let window = TokenCount(1_000);
        let reached = |threshold: Threshold, used| threshold.is_reached(TokenCount(used), window);
        assert!(!reached(Threshold::default(), 499));
        assert!(reached(Threshold::default(), 500));
        assert!(reached(Threshold::Tokens(TokenCount(5)), 5));
        assert!(!reached(Threshold::Off, 1_000_000));
    }

    #[track_caller]
    fn check_limits(window: u64, protected: u64, worthwhile: u64, characters: usize) {
        let limits = OutputLimits::default().capped_to(TokenCount(window));
        assert_eq!(
            (limits.protected.0, limits.worthwhile.0, limits.characters),
            (protected, worthwhile, characters)
        );
    }

    #[test]
    fn output_limits_shrink_with_the_window() {
        check_limits(1_048_576, 50_000, 30_000, 40_000);
        check_limits(200_000, 50_000, 30_000, 40_000);
        check_limits(100_000, 25_000, 15_000, 40_000);
        check_limits(8_000, 2_000, 1_200, 3_200);
        check_limits(0, 0, 0, 1);
    }

    #[track_caller]
    fn check_budget(window: u64, settings: BudgetSettings, target: u64, snapshot: u64) {
        let budget = Budget::new(TokenCount(window), &settings);
        assert_eq!((budget.target.0, budget.snapshot.0), (target, snapshot));
    }

    #[test]
    fn target_and_snapshot_follow_from_the_window() {
        let threshold = |threshold| BudgetSettings { threshold: Some(threshold), ..Default::default() };
        check_budget(200_000, BudgetSettings::default(), 50_000, 4_000);
        check_budget(8_000, BudgetSettings::default(), 2_000, 1_200);
        check_budget(200_000, threshold(Threshold::Tokens(TokenCount(30_000))), 15_000, 4_000);
        check_budget(200_000, threshold(Threshold::Tokens(TokenCount(900_000))), 100_000, 4_000);
        check_budget(200_000, threshold(Threshold::Off), 50_000, 4_000);
        let set = BudgetSettings {
            target: Some(TokenCount(7)),
            snapshot: Some(TokenCount(8)),
            ..BudgetSettings::default()
        };
        check_budget(200_000, set, 7, 8);
    }

    #[test]
    fn a_floor_that_does_not_fit_names_its_largest_part() {
        let floor = Floor {
            system: TokenCount(10),
            memory: TokenCount(30),
            newest_user_message: TokenCount(50),
            last_group: TokenCount(20),
            ..Floor::default()
        };
        assert_eq!(floor.check(TokenCount(110)), Ok(()));
        let refused = floor.check(TokenCount(109)).expect_err("one token too many");
        assert_eq!((refused.part, refused.size.0, refused.floor.0), (FloorPart::NewestUserMessage, 50, 110));
        assert_eq!(
            refused.to_string(),
            "at least 110 tokens are needed, but the window holds 109; largest part: newest user message (50 tokens)"
        );
    }
}
