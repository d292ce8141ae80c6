//! The user's requests and their state.

mod by_hand;
mod checks;
mod closing;
mod commands;
mod document;
mod goal;
mod known;
mod overheard;
mod recall;
mod recognise;
mod replies;
mod sentences;
mod topic;
mod turn;
mod wishes;

use std::cell::LazyCell;

use longhaul_conversation::{Message, Ordinal};
use longhaul_snapshot::lost_before;
use longhaul_text::Subject;
use serde::{Deserialize, Serialize};

use self::known::{Compared, Known};
use self::overheard::{Typed, Wish};
use self::replies::Reply;
use self::sentences::count_words;
use self::topic::{RequestSubject, Topic};
use self::turn::{Turn, Verdict};
use self::wishes::asks_question;
use crate::annotated::AnnotatedPart;
use crate::typed_texts;

pub use self::overheard::Overheard;

/// The things a user asked for in a session, in order; the last open one says what to do now.
///
/// A turn that the model ended with an answer has done its requests, unless the model said that something is left, asked back, or
/// ended on a failure. Open are the requests of a turn that goes on, what was put off, and what such an end left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRequests {
    requests: Vec<UserRequest>,
    /// Places of the requests that the current turn works on.
    focus: Vec<usize>,
    turn: Turn,
    /// The topic of the present stretch of work.
    topic: Topic,
    last: u32,
    #[serde(skip)]
    compared: Compared,
}

/// One thing the user asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRequest {
    /// The sentences that ask for it, verbatim.
    pub text: String,
    /// The messages that ask for it, complaints about it included.
    pub messages: Vec<Ordinal>,
    /// Its state.
    pub state: RequestState,
    /// True if it opened a stretch of work: it is about something else than the requests before it.
    pub(crate) opens_stretch: bool,
    /// True if it says enough to be a goal; "commit" does not.
    pub(crate) is_telling: bool,
}

/// The state of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// It is to be done.
    Open {
        /// The reason why it is still open though its turn has ended; none while it is in work.
        reason: Option<Evidence>,
    },
    /// It was done.
    Done(Evidence),
    /// The user wanted something else, or nothing of it, in this message.
    Replaced {
        /// The message.
        by: Ordinal,
    },
}

/// Evidence that a request is done, or still open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The message that shows it.
    pub message: Ordinal,
    /// Its kind.
    pub kind: EvidenceKind,
    /// Its words: the model's sentence, or the command that went well.
    pub words: String,
}

/// The kind of evidence that a request is done or still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// The model says so at the end of its turn.
    Statement,
    /// A test run, a build or a commit went well.
    Check,
    /// The model answered a question.
    Answer,
    /// The user says so.
    Accepted,
    /// Open: the model says that it is not done.
    Unfinished,
    /// Open: the model asked back.
    Question,
    /// Done: the model asked whether to do more.
    Offer,
    /// Open: the run it ends on failed.
    Failure,
    /// Open: the user stopped the model.
    Interruption,
    /// Open: the user put it off.
    Deferral,
}

impl UserRequests {
    /// Takes the next message into account. Costs that message, whatever came before.
    pub fn observe(&mut self, message: &Message) {
        let ordinal = self.marked(message.ordinal);
        if let Some(snapshot) = lost_before(message, ordinal) {
            self.take_over(&snapshot);
        }
        let parts: Vec<_> = message.parts.iter().map(AnnotatedPart::of).collect();
        self.follow(Some(ordinal), &mut Overheard::of(message, &parts, &typed_texts(&parts)));
    }

    /// Takes the next message into account, which says this and loses what is kept of it; `own_mark` is the mark that it
    /// carries.
    pub fn follow(&mut self, own_mark: Option<Ordinal>, overheard: &mut Overheard) {
        let ordinal = self.marked(own_mark);
        if let Some(goal) = overheard.stated_goal.take() {
            self.inherit(&goal, ordinal);
        }
        self.turn.follow(&mut overheard.news, ordinal);
        self.topic.add(&overheard.news.subject);
        self.judge_turn();
        if let Some(typed) = overheard.typed.take().filter(|typed| typed.reply != Reply::Silent) {
            self.read_requests(typed, ordinal);
        }
    }

    /// Takes over the goal that the summary of another program states, where nothing else tells it.
    pub fn inherit(&mut self, goal: &str, at: Ordinal) {
        if self.requests.is_empty() && !goal.is_empty() {
            let subject = RequestSubject::of(goal);
            let wish = Wish { text: goal.to_string(), asks: true, known: Known::of(goal), subject };
            self.open(wish, true, at);
        }
    }

    /// The mark of the next message: its own, or the next one.
    fn marked(&mut self, own_mark: Option<Ordinal>) -> Ordinal {
        let ordinal = own_mark.unwrap_or(Ordinal(self.last.saturating_add(1)));
        self.last = self.last.max(ordinal.0);
        ordinal
    }

    /// Judges the requests of the current turn by what is known of it.
    fn judge_turn(&mut self) {
        if self.focus.is_empty() {
            return;
        }
        let has_ended = self.turn.has_ended();
        if has_ended {
            self.compared.catch_up(&self.requests);
        }
        for place in &self.focus {
            let request = &mut self.requests[*place];
            if matches!(request.state, RequestState::Replaced { .. }) {
                continue;
            }
            let asked_a_question = || match self.compared.known(*place) {
                Some(known) => known.is_question(&request.text),
                None => asks_question(&request.text),
            };
            request.state = match self.turn.verdict(&request.text, asked_a_question) {
                Verdict::InWork => RequestState::Open { reason: None },
                Verdict::Done(evidence) => RequestState::Done(evidence),
                Verdict::Unfinished(reason) => RequestState::Open { reason: Some(reason) },
            };
        }
    }

    fn read_requests(&mut self, mut typed: Typed, ordinal: Ordinal) {
        self.turn.settle();
        self.judge_turn();
        let has_ended = self.turn.has_ended();
        let is_in_work = !has_ended && self.focus.iter().any(|place| self.requests[*place].is_open());
        let was_asked = self.turn.question().is_some_and(|question| question.kind == EvidenceKind::Question);
        let asks = typed.wishes.iter().any(|wish| wish.asks);
        if typed.has_cleared {
            self.replace_focus(ordinal, UserRequest::is_open);
        }
        for text in std::mem::take(&mut typed.deferred) {
            self.put_off(text, ordinal);
        }
        let takes_new = match typed.reply {
            Reply::Silent => false,
            Reply::Withdraws => {
                self.replace_focus(ordinal, |_| true);
                !typed.wishes.is_empty()
            }
            Reply::Accepts | Reply::GoesOn if typed.wishes.is_empty() => {
                self.nod(&typed, ordinal);
                false
            }
            Reply::Accepts => {
                self.accept(ordinal);
                true
            }
            // "still 0!" says nothing that the request does not say; "i still don't see the button" does.
            Reply::Complains if typed.wishes.is_empty() || !asks && typed.is_terse => {
                self.reopen(ordinal);
                false
            }
            Reply::Corrects if !asks && !self.focus.is_empty() => {
                self.reopen(ordinal);
                false
            }
            Reply::Complains | Reply::Corrects => {
                if asks {
                    self.replace_corrected(&typed, ordinal);
                }
                true
            }
            Reply::MovesOn | Reply::GoesOn => {
                // What is told in the middle of the work, or in answer to a question, is for the work.
                let is_told = !asks && (is_in_work || was_asked);
                if is_told && was_asked {
                    self.reopen(ordinal);
                }
                !typed.wishes.is_empty() && !is_told
            }
        };
        if takes_new {
            self.take(typed, is_in_work, ordinal);
        }
        // What is said in the middle of the work does not end it.
        if takes_new || has_ended {
            self.turn = Turn::default();
        }
    }

    /// Opens the requests of a message, in the middle of the work of others or behind it.
    fn take(&mut self, typed: Typed, is_in_work: bool, ordinal: Ordinal) {
        let may_leave = !is_in_work && !matches!(typed.reply, Reply::Complains | Reply::Corrects);
        let is_told_by_opener = self.requests.iter().rfind(|request| request.opens_stretch);
        let has_opener = is_told_by_opener.is_some_and(|opener| opener.is_telling);
        for (nth, wish) in typed.wishes.into_iter().enumerate() {
            let opens_stretch = self.requests.is_empty()
                || !has_opener && wish.subject.is_telling() && nth == 0
                || typed.has_cleared && nth == 0
                || may_leave && self.topic.is_left_by(&wish.subject);
            if nth == 0 {
                self.leave(opens_stretch, ordinal);
            }
            if is_in_work {
                self.close_siblings(&wish, ordinal);
            }
            self.open(wish, opens_stretch, ordinal);
        }
    }

    /// Leaves what is done. What an end left open is finished along with what follows, unless that is about something else: then it
    /// stays open, but for a question of the model's that the user passed over.
    fn leave(&mut self, opens_stretch: bool, ordinal: Ordinal) {
        if opens_stretch {
            self.replace_focus(ordinal, |request| request.is_open_because(EvidenceKind::Question));
            self.focus.clear();
        }
        self.focus.retain(|place| self.requests[*place].is_open());
    }

    /// Takes the request before for done if the next is the same thing again of something else: who goes through a list one by one
    /// has the last one done, though the model did not say so.
    fn close_siblings(&mut self, wish: &Wish, ordinal: Ordinal) {
        let subject = Subject::of(&wish.text);
        for place in &self.focus {
            let request = &mut self.requests[*place];
            let is_sibling = request.is_open() && is_alike(&wish.text, &request.text, &subject);
            if is_sibling && self.turn.has_worked() {
                let evidence = Evidence::new(ordinal, EvidenceKind::Accepted, "the user went on to the next");
                request.state = RequestState::Done(evidence);
            }
        }
        self.focus.retain(|place| self.requests[*place].is_open());
    }

    /// Takes "yes" and "thanks": the work goes on as the model proposed, or is accepted.
    fn nod(&mut self, typed: &Typed, ordinal: Ordinal) {
        let question = self.turn.question().map(|question| question.words.clone());
        let is_done = self.focus.iter().all(|place| !self.requests[*place].is_open());
        match (typed.reply, question) {
            (Reply::GoesOn, Some(question)) if is_done => {
                let text = format!("{question} {}", typed.nod);
                let (known, subject) = (Known::of(&text), RequestSubject::of(""));
                self.focus.clear();
                self.open(Wish { text, asks: true, known, subject }, false, ordinal);
            }
            (Reply::GoesOn, _) => self.reopen(ordinal),
            _ => self.accept(ordinal),
        }
    }

    /// Takes the work of the turn for done, as the user does, if the model has ended it.
    fn accept(&mut self, ordinal: Ordinal) {
        if !self.turn.has_ended() {
            return;
        }
        for place in &self.focus {
            let request = &mut self.requests[*place];
            if request.is_open() {
                let evidence = Evidence::new(ordinal, EvidenceKind::Accepted, "accepted by the user");
                request.state = RequestState::Done(evidence);
            }
        }
    }

    /// Goes on with the newest request of the turn, or with all that are open.
    fn reopen(&mut self, ordinal: Ordinal) {
        let newest = self.focus.last().copied();
        for place in &self.focus {
            let request = &mut self.requests[*place];
            let is_wanted = !matches!(request.state, RequestState::Replaced { .. });
            if request.is_open() || Some(*place) == newest && is_wanted {
                request.state = RequestState::Open { reason: None };
                if !request.is_of(ordinal) {
                    request.messages.push(ordinal);
                }
            }
        }
        self.focus.retain(|place| self.requests[*place].is_open());
    }

    /// Replaces the requests of the turn that a correction or a complaint puts differently.
    fn replace_corrected(&mut self, typed: &Typed, ordinal: Ordinal) {
        let new = LazyCell::new(|| {
            let texts: Vec<&str> = typed.wishes.iter().map(|wish| wish.text.as_str()).collect();
            Subject::of(&texts.join("\n"))
        });
        let is_only = self.focus.len() == 1 && typed.reply == Reply::Corrects;
        self.replace_focus(ordinal, |request| {
            is_only && request.is_open() || new.shared(&Subject::of(&request.text)) > 0
        });
    }

    fn replace_focus(&mut self, by: Ordinal, is_replaced: impl Fn(&UserRequest) -> bool) {
        for place in &self.focus {
            let request = &mut self.requests[*place];
            if is_replaced(request) {
                request.state = RequestState::Replaced { by };
            }
        }
    }

    /// Notes what is wanted later. It is open until it is asked for again.
    fn put_off(&mut self, text: String, ordinal: Ordinal) {
        let focus = self.focus.clone();
        let reason = Evidence::new(ordinal, EvidenceKind::Deferral, &text);
        let (known, subject) = (Known::of(&text), RequestSubject::of(&text));
        self.open(Wish { text, asks: true, known, subject }, false, ordinal);
        if let Some(request) = self.requests.last_mut() {
            request.state = RequestState::Open { reason: Some(reason) };
        }
        let last = self.requests.len().saturating_sub(1);
        self.focus = focus.into_iter().filter(|place| *place < last).collect();
    }

    /// Opens a request at the end. One in the same words is opened again there, one that it says anew is replaced.
    fn open(&mut self, wish: Wish, opens_stretch: bool, ordinal: Ordinal) {
        let Wish { text, known: mut own, subject, .. } = wish;
        self.compared.catch_up(&self.requests);
        let mut messages = Vec::new();
        let mut opens_stretch = opens_stretch;
        while let Some(place) = self.place_of_same(&text, &own, ordinal) {
            let earlier = self.take_out(place);
            opens_stretch |= earlier.opens_stretch;
            let mut earlier = earlier.messages;
            // The list moves along, it is not copied: the same words may come a million times.
            if messages.is_empty() {
                messages = earlier;
            } else {
                messages.append(&mut earlier);
            }
        }
        messages.push(ordinal);
        let from = self.requests.len() - self.compared.len();
        for (earlier, known) in self.requests[from..].iter_mut().zip(self.compared.newest()) {
            let is_said_anew = earlier.is_open()
                && if earlier.is_put_off() {
                    own.is_about(&text, known, &earlier.text)
                } else {
                    own.restates(&text, known, &earlier.text)
                };
            if is_said_anew {
                earlier.state = RequestState::Replaced { by: ordinal };
                opens_stretch |= earlier.opens_stretch;
            }
        }
        if opens_stretch {
            self.topic = Topic::default();
        }
        self.topic.add(&subject.keys);
        self.compared.add(own);
        self.focus.push(self.requests.len());
        let is_telling = subject.is_telling();
        let state = RequestState::Open { reason: None };
        self.requests.push(UserRequest { text, messages, state, opens_stretch, is_telling });
    }

    /// The place of an earlier request in the same words, if that still stands.
    fn place_of_same(&mut self, text: &str, own: &Known, ordinal: Ordinal) -> Option<usize> {
        let from = self.requests.len() - self.compared.len();
        let mut newest = self.requests[from..].iter().zip(self.compared.newest());
        let place = newest.position(|(earlier, known)| {
            !matches!(earlier.state, RequestState::Replaced { .. })
                && own.is_equal(text, known, &earlier.text)
                && !earlier.is_of(ordinal)
        })?;
        Some(from + place)
    }

    /// Takes one of the newest requests out.
    fn take_out(&mut self, place: usize) -> UserRequest {
        self.compared.take_out(place);
        self.focus.retain(|other| *other != place);
        for other in self.focus.iter_mut().filter(|other| **other > place) {
            *other -= 1;
        }
        self.requests.remove(place)
    }

    /// Everything that was asked for, in order.
    pub fn all(&self) -> &[UserRequest] {
        &self.requests
    }

    /// The open requests, the newest last.
    pub fn open_requests(&self) -> impl DoubleEndedIterator<Item = &UserRequest> {
        self.requests.iter().filter(|request| request.is_open())
    }

    /// The request that says what to do now: the newest that is open, else the newest.
    pub fn current(&self) -> Option<&UserRequest> {
        self.open_requests().next_back().or(self.requests.last())
    }
}

impl UserRequest {
    /// Returns true if it is to be done.
    pub fn is_open(&self) -> bool {
        matches!(self.state, RequestState::Open { .. })
    }

    fn is_open_because(&self, kind: EvidenceKind) -> bool {
        matches!(&self.state, RequestState::Open { reason: Some(reason) } if reason.kind == kind)
    }

    /// Returns true if it is wanted later.
    fn is_put_off(&self) -> bool {
        self.is_open_because(EvidenceKind::Deferral)
    }

    /// Returns true if this message was the last to ask for it.
    fn is_of(&self, message: Ordinal) -> bool {
        self.messages.last() == Some(&message)
    }
}

/// Returns true if two texts begin and go on in the same words but for a name or a number.
fn is_alike(text: &str, other: &str, subject: &Subject) -> bool {
    let first = |text: &str| text.split_whitespace().take(2).map(str::to_lowercase).collect::<Vec<_>>();
    first(text) == first(other) && count_words(text) == count_words(other) && {
        let other = Subject::of(other);
        subject.shared(&other) * 2 >= subject.size().min(other.size())
    }
}

#[cfg(test)]
mod tests;
