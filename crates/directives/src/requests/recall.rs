//! Takes over what an earlier snapshot says was asked for, where the messages it stands for are lost.

use longhaul_conversation::Ordinal;
use longhaul_snapshot::{DONE, IN_PROGRESS, Section, Snapshot, TODO};

use super::topic::RequestSubject;
use super::{Evidence, EvidenceKind, RequestState, UserRequest, UserRequests};

impl UserRequests {
    /// Takes over the goal and the state of the task. The newest requests stand first there and come last here.
    pub fn take_over(&mut self, snapshot: &Snapshot) {
        let through = snapshot.through().unwrap_or(Ordinal(self.last));
        self.last = self.last.max(through.0);
        let read = |section: Section| {
            let entries = snapshot.entries(section).iter();
            entries.flat_map(move |entry| {
                let at = entry.marks().last().copied().unwrap_or(through);
                entry.lines().iter().map(move |line| (line.as_str(), at))
            })
        };
        let mut requests: Vec<UserRequest> =
            read(Section::TaskState).filter_map(|(line, at)| read_request(line, at)).collect();
        requests.reverse();
        let goal: Vec<(&str, Ordinal)> = read(Section::OverallGoal).collect();
        for (nth, (text, at)) in goal.into_iter().enumerate().rev() {
            // A goal that has a state stands among the others, too; one that has none is still to be reached.
            let place = requests.iter().position(|request| is_same_beginning(&request.text, text));
            let state =
                place.map_or(RequestState::Open { reason: None }, |place| requests.remove(place).state);
            let request = UserRequest { opens_stretch: nth == 0, ..UserRequest::taken_over(text, at, state) };
            requests.insert(0, request);
        }
        requests.sort_by_key(|request| request.messages.last().copied());
        let is_open = |request: &&UserRequest| matches!(request.state, RequestState::Open { .. });
        let newest =
            requests.iter().filter(is_open).filter_map(|request| request.messages.last()).max().copied();
        let from = self.requests.len();
        self.focus = requests
            .iter()
            .enumerate()
            .filter(|(_, request)| is_open(request) && request.messages.last().copied() == newest)
            .map(|(place, _)| from + place)
            .collect();
        self.requests.append(&mut requests);
    }
}

/// Reads `[TODO] Fix the upload.`
fn read_request(line: &str, at: Ordinal) -> Option<UserRequest> {
    let evidence = || Evidence::new(at, EvidenceKind::Statement, "says an earlier snapshot");
    let (text, state) = if let Some(text) = line.strip_prefix(TODO) {
        (text, RequestState::Open { reason: None })
    } else if let Some(text) = line.strip_prefix(IN_PROGRESS) {
        (text, RequestState::Open { reason: None })
    } else {
        (line.strip_prefix(DONE)?, RequestState::Done(evidence()))
    };
    let text = text.trim();
    (!text.is_empty()).then(|| UserRequest::taken_over(text, at, state))
}

impl UserRequest {
    fn taken_over(text: &str, at: Ordinal, state: RequestState) -> Self {
        let is_telling = RequestSubject::of(text).is_telling();
        Self { text: text.to_string(), messages: vec![at], state, opens_stretch: false, is_telling }
    }
}

/// Returns true if two texts say the same as far as the shorter one goes, which may have been cut.
fn is_same_beginning(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_end_matches('…'), other.trim_end_matches('…'));
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use longhaul_snapshot::parse_snapshot;

    use super::*;

    #[track_caller]
    fn check(goal: &str, task: &str, expected: &[&str]) {
        let text = format!(
            "<state_snapshot through=\"m40\">\n<overall_goal>\n{goal}\n</overall_goal>\n<task_state>\n{task}\n\
             </task_state>\n</state_snapshot>"
        );
        let mut requests = UserRequests::default();
        requests.take_over(&parse_snapshot(&text).expect("a snapshot"));
        let shown: Vec<String> = requests
            .all()
            .iter()
            .map(|request| {
                let state = match &request.state {
                    RequestState::Open { reason: None } => "open",
                    RequestState::Open { reason: Some(_) } => "left",
                    RequestState::Done(_) => "done",
                    RequestState::Replaced { .. } => "replaced",
                };
                format!("{state} {} {}", request.messages[0], request.text)
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn goal_and_states_are_read() {
        check("[m1] Fix the upload.", "", &["open m1 Fix the upload."]);
        check(
            "[m1] Fix the upload.",
            "[m9] [TODO] Add a test.\n[m7] [IN PROGRESS] Name it.\n[m1] [DONE] Fix the up…",
            &["done m1 Fix the upload.", "open m7 Name it.", "open m9 Add a test."],
        );
        check("", "[m3] [DONE] One.\n[DONE] Two.\nsomething else", &["done m3 Two.", "done m3 One."]);
    }

    #[test]
    fn the_newest_open_asks_are_worked_on() {
        let text = "<state_snapshot through=\"m9\">\n<task_state>\n[m8] [TODO] Add a test.\n[m2] [TODO] Name it.\n\
                    </task_state>\n</state_snapshot>";
        let mut requests = UserRequests::default();
        requests.take_over(&parse_snapshot(text).expect("a snapshot"));
        assert_eq!(requests.focus, [1]);
        assert_eq!(requests.current().map(|request| request.text.as_str()), Some("Add a test."));
    }
}
