//! The user's requests and their state.

mod by_hand;
mod known;
mod recall;
mod recognise;
mod turn;

use std::cell::LazyCell;

use longhaul_conversation::{Message, Ordinal};
use longhaul_snapshot::lost_before;
use longhaul_text::Subject;
use serde::{Deserialize, Serialize};

use self::known::{Compared, Known};
use self::recognise::{Reply, StatedRequests, read_requests};
use self::turn::{News, Turn};
use crate::annotated::AnnotatedPart;
use crate::rules::asks_a_question;
use crate::typed::Said;
use crate::typed_texts;

/// The things a user asked for in a session, in order; the last open one says what to do now.
///
/// A request counts as done when the model ended its turn with words or a passed check that say so, and the user then
/// moved on without complaint. Until the user has spoken, that is only a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRequests {
    requests: Vec<UserRequest>,
    /// Places of the requests that the current turn works on.
    focus: Vec<usize>,
    turn: Turn,
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
}

/// The state of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// It is to be done.
    Open {
        /// The evidence that it may be done already; the user has not said anything since.
        claim: Option<Evidence>,
    },
    /// It was done, and the user did not object.
    Done(Evidence),
    /// The user wanted something else, or nothing of it, in this message.
    Replaced {
        /// The message.
        by: Ordinal,
    },
}

/// Evidence that a request is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The message that shows it.
    pub message: Ordinal,
    /// Its kind.
    pub kind: EvidenceKind,
    /// Its words: the model's sentence, or the command that went well.
    pub words: String,
}

/// The kind of evidence that a request is done.
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
        self.turn.follow(&mut overheard.news, ordinal);
        match overheard.typed.take() {
            None => self.note_claims(),
            Some(typed) if typed.reply != Reply::Silent => self.read_requests(typed, ordinal),
            Some(_) => {}
        }
    }

    /// The mark of the next message: its own, or the next one.
    fn marked(&mut self, own_mark: Option<Ordinal>) -> Ordinal {
        let ordinal = own_mark.unwrap_or(Ordinal(self.last.saturating_add(1)));
        self.last = self.last.max(ordinal.0);
        ordinal
    }

    /// Notes on the current requests why they may be done.
    fn note_claims(&mut self) {
        let has_closed = self.turn.closing().is_some();
        if has_closed {
            self.compared.catch_up(&self.requests);
        }
        for place in &self.focus {
            let request = &mut self.requests[*place];
            if let RequestState::Open { claim } = &mut request.state {
                let asked_a_question = || match self.compared.known(*place) {
                    Some(known) => known.is_question(&request.text),
                    None => asks_a_question(&request.text),
                };
                // While the model works nothing is claimed, and the words need not be looked at.
                *claim = has_closed.then(|| self.turn.evidence(asked_a_question)).flatten();
            }
        }
    }

    fn read_requests(&mut self, heard: Typed, ordinal: Ordinal) {
        let new = LazyCell::new(|| {
            let texts: Vec<&str> = heard.requests.iter().map(|(text, _)| text.as_str()).collect();
            Subject::of(&texts.join("\n"))
        });
        let is_corrected =
            |request: &UserRequest| !heard.requests.is_empty() && new.shared(&Subject::of(&request.text)) > 0;
        let is_only = self.focus.len() == 1;
        let has_closed = self.turn.closing().is_some();
        for place in &self.focus {
            let request = &mut self.requests[*place];
            let RequestState::Open { claim } = &mut request.state else { continue };
            let claim = claim.take();
            request.state = match heard.reply {
                Reply::Accepts if claim.is_none() && has_closed => {
                    RequestState::Done(Evidence::new(ordinal, EvidenceKind::Accepted, "accepted by the user"))
                }
                Reply::MovesOn | Reply::Accepts => {
                    claim.map_or(RequestState::Open { claim: None }, RequestState::Done)
                }
                Reply::Withdraws => RequestState::Replaced { by: ordinal },
                Reply::Corrects if is_only || is_corrected(request) => RequestState::Replaced { by: ordinal },
                Reply::Complains if is_corrected(request) => RequestState::Replaced { by: ordinal },
                Reply::Complains => {
                    request.messages.push(ordinal);
                    RequestState::Open { claim: None }
                }
                Reply::GoesOn | Reply::Corrects | Reply::Silent => RequestState::Open { claim: None },
            };
        }
        if !heard.requests.is_empty() {
            self.focus.clear();
            for (text, known) in heard.requests {
                self.open(text, known, ordinal);
            }
        }
        self.turn = Turn::default();
    }

    /// Opens a request at the end. One in the same words is opened again there, one that it says anew is replaced.
    fn open(&mut self, text: String, mut own: Known, ordinal: Ordinal) {
        self.compared.catch_up(&self.requests);
        let mut messages = Vec::new();
        while let Some(place) = self.place_of_same(&text, &own, ordinal) {
            let mut earlier = self.take_out(place).messages;
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
            let is_open = matches!(earlier.state, RequestState::Open { .. });
            if is_open && !earlier.is_of(ordinal) && own.restates(&text, known, &earlier.text) {
                earlier.state = RequestState::Replaced { by: ordinal };
            }
        }
        self.compared.add(own);
        self.focus.push(self.requests.len());
        self.requests.push(UserRequest { text, messages, state: RequestState::Open { claim: None } });
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
        self.requests.iter().filter(|request| matches!(request.state, RequestState::Open { .. }))
    }

    /// The request that says what to do now: the newest that is open, else the newest.
    pub fn current(&self) -> Option<&UserRequest> {
        self.open_requests().next_back().or(self.requests.last())
    }
}

impl UserRequest {
    /// Returns true if this message was the last to ask for it.
    fn is_of(&self, message: Ordinal) -> bool {
        self.messages.last() == Some(&message)
    }
}

/// The facts of one message that requests depend on.
pub struct Overheard {
    news: News,
    /// The text that a person typed, if they did.
    typed: Option<Typed>,
}

/// A person's judgement on the work, and their requests.
struct Typed {
    reply: Reply,
    requests: Vec<(String, Known)>,
}

impl Overheard {
    /// The facts of a message of these parts, of which `typed` was typed.
    pub fn of(message: &Message, parts: &[AnnotatedPart<'_>], typed: &[(&str, Vec<Said<'_>>)]) -> Self {
        let mut all = StatedRequests { reply: Reply::Silent, requests: Vec::new() };
        for (text, said) in typed {
            let more = read_requests(text, said);
            if all.reply == Reply::Silent {
                all.reply = more.reply;
            }
            all.requests.extend(more.requests);
        }
        let requests = all.requests.into_iter().map(|text| {
            let known = Known::of(&text);
            (text, known)
        });
        let typed = (!typed.is_empty()).then(|| Typed { reply: all.reply, requests: requests.collect() });
        Self { news: News::of(message, parts), typed }
    }
}

#[cfg(test)]
mod tests;
