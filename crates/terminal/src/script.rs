//! Somebody at the keyboard who follows a script, so that the program can be shown at work.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::guard::Focus;
use crate::state::{Dialog, State};

/// How long a key takes.
const KEY: Duration = Duration::from_millis(22);
/// Who has finished typing looks at it once more before they send it.
const BEFORE_SENDING: Duration = Duration::from_millis(450);
/// A line that goes on from the one before is begun after this.
const BEFORE_TYPING: Duration = Duration::from_millis(700);
/// A question is read before it is answered.
const BEFORE_ANSWERING: Duration = Duration::from_millis(1_800);

/// What somebody does at the keyboard, one act after the other. When all is done, they leave.
#[derive(Clone, Debug)]
pub struct Script {
    /// What they do.
    pub acts: Vec<Act>,
    /// How quickly.
    pub pace: Pace,
}

/// One thing that somebody does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Types a line as soon as nothing else is being done, and sends it.
    Say(String),
    /// Answers the next question with this key.
    Answer(char),
    /// Looks at what is there for a while, as soon as nothing else is being done.
    Look(Duration),
}

/// How quickly a script is played. Copies share it, so that everybody who takes part hurries together.
#[derive(Clone, Debug)]
pub struct Pace(Arc<AtomicU32>);

/// As quick as people are, in thousandths of the usual time.
const USUAL: f64 = 1_000.0;

impl Pace {
    /// So many times as quick as usual; without any waiting where that has no end.
    pub fn times(speed: f64) -> Self {
        // What is slower than a thousandth is as slow as that.
        let thousandths = (USUAL / speed.max(0.001)).round() as u32;
        Self(Arc::new(AtomicU32::new(thousandths)))
    }

    /// What takes so long usually takes this long.
    pub fn of(&self, usual: Duration) -> Duration {
        usual * self.0.load(Ordering::Relaxed) / (USUAL as u32)
    }

    /// Twice as quick from now on.
    pub fn hasten(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
    }
}

/// Plays a script.
#[derive(Debug)]
pub(crate) struct Player {
    acts: VecDeque<Act>,
    pace: Pace,
    /// How many characters of the line were typed.
    typed: usize,
    /// When the last thing was done, or could not be done yet.
    since: Duration,
}

/// What the player does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Presses a key.
    Press(KeyEvent),
    /// Goes on to the next act.
    GoOn,
    /// Leaves, as everything is done.
    Leave,
}

impl Player {
    pub(crate) fn new(script: Script) -> Self {
        Self { acts: script.acts.into(), pace: script.pace, typed: 0, since: Duration::ZERO }
    }

    /// Somebody presses a key because it takes too long.
    pub(crate) fn hasten(&self) {
        self.pace.hasten();
    }

    /// How long to wait for the next move; nothing while something else must happen first.
    pub(crate) fn wait(&mut self, state: &State, now: Duration) -> Option<Duration> {
        let is_idle = !state.is_busy() && state.dialogs.is_empty();
        let (is_ready, delay) = match self.acts.front() {
            Some(Act::Say(line)) => {
                let delay = match self.typed {
                    0 => BEFORE_TYPING,
                    typed if typed == line.chars().count() => BEFORE_SENDING,
                    _ => KEY,
                };
                (is_idle, delay)
            }
            Some(Act::Answer(_)) => {
                let is_asked =
                    matches!(state.dialogs.front(), Some(Dialog::Approval(_) | Dialog::Question(_)));
                (is_asked && state.focus() == Focus::Dialog, BEFORE_ANSWERING)
            }
            Some(Act::Look(time)) => (is_idle, *time),
            None => (is_idle, Duration::ZERO),
        };
        if !is_ready {
            self.since = now;
            return None;
        }
        Some((self.since + self.pace.of(delay)).saturating_sub(now))
    }

    /// Makes the next move.
    pub(crate) fn make_move(&mut self, now: Duration) -> Move {
        self.since = now;
        let press = |code| Move::Press(KeyEvent::new(code, KeyModifiers::NONE));
        let made = match self.acts.front() {
            None => return Move::Leave,
            Some(Act::Say(line)) => match line.chars().nth(self.typed) {
                Some(character) => {
                    self.typed += 1;
                    return press(KeyCode::Char(character));
                }
                None => press(KeyCode::Enter),
            },
            Some(Act::Answer(key)) => press(KeyCode::Char(*key)),
            Some(Act::Look(_)) => Move::GoOn,
        };
        self.typed = 0;
        self.acts.pop_front();
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::Editor;
    use crate::guard::Guard;
    use crate::state::Picker;

    fn player(acts: &[Act], speed: f64) -> Player {
        Player::new(Script { acts: acts.to_vec(), pace: Pace::times(speed) })
    }

    /// Plays as far as it goes while nothing else happens; tells the keys and when each was pressed.
    fn played(player: &mut Player, state: &State) -> (String, Vec<u64>) {
        let (mut keys, mut times) = (String::new(), Vec::new());
        let mut now = player.since;
        while let Some(wait) = player.wait(state, now) {
            now += wait;
            match player.make_move(now) {
                Move::Press(key) => match key.code {
                    KeyCode::Char(character) => keys.push(character),
                    _ => keys.push('⏎'),
                },
                Move::GoOn => keys.push('…'),
                Move::Leave => {
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
        let acts = [Act::Say("ab".into()), Act::Look(Duration::from_secs(3)), Act::Say("/é".into())];
        let (keys, times) = played(&mut player(&acts, 1.0), &State::default());
        assert_eq!(keys, "ab⏎…/é⏎.");
        assert_eq!(times, [700, 722, 1_172, 4_172, 4_872, 4_894, 5_344]);
    }

    #[test]
    fn the_pace_is_a_value() {
        let acts = [Act::Say("ab".into()), Act::Look(Duration::from_secs(3))];
        assert_eq!(played(&mut player(&acts, 2.0), &State::default()).1, [350, 361, 586, 2_086]);
        assert_eq!(played(&mut player(&acts, f64::INFINITY), &State::default()).1, [0; 4]);
        for odd in [0.0, -1.0, f64::NAN] {
            assert!(Pace::times(odd).of(Duration::from_secs(1)) <= Duration::from_secs(1_000), "{odd}");
        }
    }

    #[test]
    fn whoever_is_in_a_hurry_is_heard() {
        let mut player = player(&[Act::Say("a".into())], 1.0);
        assert_eq!(player.wait(&State::default(), Duration::ZERO), Some(Duration::from_millis(700)));
        player.hasten();
        assert_eq!(player.wait(&State::default(), Duration::ZERO), Some(Duration::from_millis(350)));
    }

    #[test]
    fn nothing_is_typed_while_something_else_is_done() {
        let mut busy = State { pending: 1, ..State::default() };
        let mut player = player(&[Act::Say("a".into())], 1.0);
        assert_eq!(player.wait(&busy, Duration::from_secs(5)), None);
        busy.pending = 0;
        // The time for it begins when it can be done.
        assert_eq!(player.wait(&busy, Duration::from_secs(5)), Some(BEFORE_TYPING));
        let picker =
            Picker { title: "which?".into(), items: Vec::new(), query: Editor::default(), selected: 0 };
        busy.dialogs.push_back(Dialog::Picker(picker));
        assert_eq!(player.wait(&busy, Duration::from_secs(5)), None);
    }

    #[test]
    fn only_a_question_is_answered() {
        let mut player = player(&[Act::Answer('y')], 1.0);
        assert_eq!(player.wait(&State::default(), Duration::ZERO), None);
        let question = longhaul_agent::UserQuestion { text: "Which?".into(), options: Vec::new() };
        let answering = crate::state::Answering {
            id: crate::command::AskId(1),
            question,
            guard: Guard::default(),
            selected: None,
            field: Editor::default(),
        };
        let mut asked = State::default();
        asked.dialogs.push_back(Dialog::Question(Box::new(answering)));
        assert_eq!(player.wait(&asked, Duration::ZERO), None, "it is not in sight yet");
        asked.dialogs[0].guard_mut().expect("a guard").see(Duration::ZERO);
        assert_eq!(player.wait(&asked, Duration::ZERO), Some(BEFORE_ANSWERING));
        assert_eq!(
            player.make_move(BEFORE_ANSWERING),
            Move::Press(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE))
        );
    }
}
