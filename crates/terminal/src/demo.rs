//! Demo scripts: a player that types in the user's place.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::state::{Dialog, Focus, UiState};

/// The time for one key.
const KEY: Duration = Duration::from_millis(22);
/// The pause before a typed line is sent.
const BEFORE_SENDING: Duration = Duration::from_millis(450);
/// The pause before a line is typed.
const BEFORE_TYPING: Duration = Duration::from_millis(700);
/// The pause before a question is answered.
const BEFORE_ANSWERING: Duration = Duration::from_millis(1_800);

/// The steps of a demo; after the last one the player leaves.
#[derive(Clone, Debug)]
pub struct DemoScript {
    /// The steps.
    pub steps: Vec<DemoStep>,
    /// The playback speed.
    pub pace: Pace,
}

/// A step of a demo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DemoStep {
    /// Types and sends a line once the agent is idle.
    Say(String),
    /// Answers the next question with this key.
    Answer(char),
    /// Pauses once the agent is idle.
    Look(Duration),
}

/// The playback speed of a demo. Clones share it, so that all parts of a demo speed up together.
#[derive(Clone, Debug)]
pub struct Pace(Arc<AtomicU32>);

/// Normal speed: thousandths of the normal time.
const USUAL: f64 = 1_000.0;

impl Pace {
    /// Multiplies the speed; an infinite factor removes all pauses.
    pub fn times(speed: f64) -> Self {
        // The slowest factor is a thousandth.
        let thousandths = (USUAL / speed.max(0.001)).round() as u32;
        Self(Arc::new(AtomicU32::new(thousandths)))
    }

    /// Scales a duration at normal speed.
    pub fn of(&self, usual: Duration) -> Duration {
        usual * self.0.load(Ordering::Relaxed) / (USUAL as u32)
    }

    /// Doubles the speed.
    pub(crate) fn speed_up(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
    }
}

/// Plays a script.
#[derive(Debug)]
pub(crate) struct Player {
    steps: VecDeque<DemoStep>,
    pace: Pace,
    /// The number of typed characters of the current line.
    typed: usize,
    /// The time of the last move, or of the last moment in which no move was possible.
    since: Duration,
}

/// A move of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlayerMove {
    /// Presses a key.
    Press(KeyEvent),
    /// Continues with the next step.
    GoOn,
    /// Leaves after the last step.
    Leave,
}

impl Player {
    pub(crate) fn new(script: DemoScript) -> Self {
        Self { steps: script.steps.into(), pace: script.pace, typed: 0, since: Duration::ZERO }
    }

    /// Doubles the speed because the viewer pressed a key.
    pub(crate) fn speed_up(&self) {
        self.pace.speed_up();
    }

    /// The time until the next move; none while the player has to wait for something else.
    pub(crate) fn wait(&mut self, state: &UiState, now: Duration) -> Option<Duration> {
        let is_idle = !state.is_busy() && state.dialogs.is_empty();
        let (is_ready, delay) = match self.steps.front() {
            Some(DemoStep::Say(line)) => {
                let delay = match self.typed {
                    0 => BEFORE_TYPING,
                    typed if typed == line.chars().count() => BEFORE_SENDING,
                    _ => KEY,
                };
                (is_idle, delay)
            }
            Some(DemoStep::Answer(_)) => {
                let is_asked =
                    matches!(state.dialogs.front(), Some(Dialog::Approval(_) | Dialog::Question(_)));
                (is_asked && state.focus() == Focus::Dialog, BEFORE_ANSWERING)
            }
            Some(DemoStep::Look(time)) => (is_idle, *time),
            None => (is_idle, Duration::ZERO),
        };
        if !is_ready {
            self.since = now;
            return None;
        }
        Some((self.since + self.pace.of(delay)).saturating_sub(now))
    }

    /// Makes the next move.
    pub(crate) fn make_move(&mut self, now: Duration) -> PlayerMove {
        self.since = now;
        let press = |code| PlayerMove::Press(KeyEvent::new(code, KeyModifiers::NONE));
        let made = match self.steps.front() {
            None => return PlayerMove::Leave,
            Some(DemoStep::Say(line)) => match line.chars().nth(self.typed) {
                Some(character) => {
                    self.typed += 1;
                    return press(KeyCode::Char(character));
                }
                None => press(KeyCode::Enter),
            },
            Some(DemoStep::Answer(key)) => press(KeyCode::Char(*key)),
            Some(DemoStep::Look(_)) => PlayerMove::GoOn,
        };
        self.typed = 0;
        self.steps.pop_front();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::Editor;
    use crate::guard::Guard;
    use crate::state::Picker;

    fn player(steps: &[DemoStep], speed: f64) -> Player {
        Player::new(DemoScript { steps: steps.to_vec(), pace: Pace::times(speed) })
    }

    /// Plays until something else must happen; returns the keys and the times at which they were pressed.
    fn played(player: &mut Player, state: &UiState) -> (String, Vec<u64>) {
        let (mut keys, mut times) = (String::new(), Vec::new());
        let mut now = player.since;
        while let Some(wait) = player.wait(state, now) {
            now += wait;
            match player.make_move(now) {
                PlayerMove::Press(key) => match key.code {
                    KeyCode::Char(character) => keys.push(character),
                    _ => keys.push('⏎'),
                },
                PlayerMove::GoOn => keys.push('…'),
                PlayerMove::Leave => {
                    keys.push('.');
                    break;
                }
            }
            times.push(u64::try_from(now.as_millis()).expect("short"));
        }
        (keys, times)
    }

    #[test]
    fn lines_are_typed_and_sent() {
        let steps =
            [DemoStep::Say("ab".into()), DemoStep::Look(Duration::from_secs(3)), DemoStep::Say("/é".into())];
        let (keys, times) = played(&mut player(&steps, 1.0), &UiState::default());
        assert_eq!(keys, "ab⏎…/é⏎.");
        assert_eq!(times, [700, 722, 1_172, 4_172, 4_872, 4_894, 5_344]);
    }

    #[test]
    fn the_pace_is_a_value() {
        let steps = [DemoStep::Say("ab".into()), DemoStep::Look(Duration::from_secs(3))];
        assert_eq!(played(&mut player(&steps, 2.0), &UiState::default()).1, [350, 361, 586, 2_086]);
        assert_eq!(played(&mut player(&steps, f64::INFINITY), &UiState::default()).1, [0; 4]);
        for odd in [0.0, -1.0, f64::NAN] {
            assert!(Pace::times(odd).of(Duration::from_secs(1)) <= Duration::from_secs(1_000), "{odd}");
        }
    }

    #[test]
    fn whoever_is_in_a_hurry_is_heard() {
        let mut player = player(&[DemoStep::Say("a".into())], 1.0);
        assert_eq!(player.wait(&UiState::default(), Duration::ZERO), Some(Duration::from_millis(700)));
        player.speed_up();
        assert_eq!(player.wait(&UiState::default(), Duration::ZERO), Some(Duration::from_millis(350)));
    }

    #[test]
    fn nothing_is_typed_while_something_else_is_done() {
        let mut busy = UiState { pending: 1, ..UiState::default() };
        let mut player = player(&[DemoStep::Say("a".into())], 1.0);
        assert_eq!(player.wait(&busy, Duration::from_secs(5)), None);
        busy.pending = 0;
        // The pause starts when the step can be done.
        assert_eq!(player.wait(&busy, Duration::from_secs(5)), Some(BEFORE_TYPING));
        let picker =
            Picker { title: "which?".into(), items: Vec::new(), query: Editor::default(), selected: 0 };
        busy.dialogs.push_back(Dialog::Picker(picker));
        assert_eq!(player.wait(&busy, Duration::from_secs(5)), None);
    }

    #[test]
    fn only_a_question_is_answered() {
        let mut player = player(&[DemoStep::Answer('y')], 1.0);
        assert_eq!(player.wait(&UiState::default(), Duration::ZERO), None);
        let question = longhaul_agent::UserQuestion { text: "Which?".into(), options: Vec::new() };
        let answering = crate::state::QuestionDialog {
            id: crate::protocol::PromptId(1),
            question,
            guard: Guard::default(),
            selected: None,
            field: Editor::default(),
        };
        let mut asked = UiState::default();
        asked.dialogs.push_back(Dialog::Question(Box::new(answering)));
        assert_eq!(player.wait(&asked, Duration::ZERO), None, "it is not in sight yet");
        asked.dialogs[0].guard_mut().expect("a guard").mark_drawn(Duration::ZERO);
        assert_eq!(player.wait(&asked, Duration::ZERO), Some(BEFORE_ANSWERING));
        assert_eq!(
            player.make_move(BEFORE_ANSWERING),
            PlayerMove::Press(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE))
        );
    }
}
