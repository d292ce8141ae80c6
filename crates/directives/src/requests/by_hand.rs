//! Requests that the user adds and ends by hand.

use super::{Evidence, EvidenceKind, RequestState, UserRequest, UserRequests};
use crate::RuleId;
use longhaul_conversation::Ordinal;

impl UserRequest {
    /// Names it for as long as its words stay the same, as a rule is named.
    pub fn id(&self) -> RuleId {
        RuleId::of(&self.text)
    }
}

impl UserRequests {
    /// Opens a request because the user says so; nothing if it says nothing.
    pub fn add_by_hand(&mut self, text: &str) -> Option<RuleId> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let id = RuleId::of(text);
        match self.requests.iter_mut().find(|request| request.id() == id) {
            Some(known) => known.state = RequestState::Open { reason: None },
            None => {
                let (text, messages) = (text.to_string(), vec![Ordinal(self.last.max(1))]);
                let state = RequestState::Open { reason: None };
                let opens_stretch = self.requests.is_empty();
                self.requests.push(UserRequest { text, messages, state, is_telling: true, opens_stretch });
            }
        }
        Some(id)
    }

    /// Marks a request as done because the user says so; tells whether it was open until now.
    pub fn finish_by_hand(&mut self, id: RuleId) -> bool {
        let done = Evidence::new(Ordinal(self.last), EvidenceKind::Accepted, "marked as done by the user");
        self.end_by_hand(id, &RequestState::Done(done))
    }

    /// Takes a request out of the open ones because the user says so; tells whether it was open until now.
    pub fn remove_by_hand(&mut self, id: RuleId) -> bool {
        self.end_by_hand(id, &RequestState::Replaced { by: Ordinal(self.last) })
    }

    fn end_by_hand(&mut self, id: RuleId, state: &RequestState) -> bool {
        let is_open = |request: &&mut UserRequest| matches!(request.state, RequestState::Open { .. });
        let named = self.requests.iter_mut().filter(|request| request.id() == id).filter(is_open);
        named.map(|request| request.state = state.clone()).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role};

    use super::*;

    #[test]
    fn requests_are_added_and_ended_by_hand() {
        let mut requests = UserRequests::default();
        requests.observe(&Message::new("u", Role::User, vec![Part::user_text("Fix the upload.")]));
        let upload = requests.all()[0].id();
        let docs = requests.add_by_hand(" Write the docs ").expect("it says something");
        assert_eq!(requests.add_by_hand("  "), None);
        assert_eq!(requests.open_requests().count(), 2);
        assert!(requests.finish_by_hand(upload) && !requests.finish_by_hand(upload));
        assert!(requests.remove_by_hand(docs) && !requests.remove_by_hand(docs));
        assert_eq!(requests.open_requests().count(), 0);
        requests.add_by_hand("write the docs");
        assert_eq!(requests.current().map(|request| request.text.as_str()), Some("Write the docs"));
    }
}
