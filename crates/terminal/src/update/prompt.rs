//! Keys in the input.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{UiEffect, cancel, leave, print_apart, submit};
use crate::editor::CursorMove;
use crate::files::matching;
use crate::image::{self, PastedImage};
use crate::notice::Notice;
use crate::slash;
use crate::state::{Completion, Dialog, FileList, HistorySearch, UiState};
use crate::vim::{VimKey, VimMode};

/// The most pasted images that are kept.
const MAX_IMAGES: usize = 20;
/// The most completions offered.
const MAX_OFFERED: usize = 200;

pub(super) fn press(state: &mut UiState, key: KeyEvent) -> Vec<UiEffect> {
    if state.preferences.is_vim
        && let Some(effects) = press_vim(state, key)
    {
        return effects;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_alt = key.modifiers.contains(KeyModifiers::ALT);
    if state.completion.is_some() && !is_control && !is_alt {
        match key.code {
            KeyCode::Tab => return accept(state),
            KeyCode::Enter => return accept_and_submit(state),
            KeyCode::Up => return select(state, false),
            KeyCode::Down => return select(state, true),
            KeyCode::Esc => {
                state.completion = None;
                return Vec::new();
            }
            _ => {}
        }
    }
    match key.code {
        KeyCode::Enter if is_alt || key.modifiers.contains(KeyModifiers::SHIFT) => state.editor.insert("\n"),
        KeyCode::Char('j') if is_control => state.editor.insert("\n"),
        KeyCode::Enter => return enter(state),
        KeyCode::Esc => return escape(state),
        KeyCode::Tab if state.editor.text().starts_with('/') => {}
        KeyCode::Tab => state.editor.insert("\t"),
        KeyCode::BackTab => return submit::next_mode(state),
        KeyCode::Up => return up(state),
        KeyCode::Down => return down(state),
        KeyCode::Char('p') if is_control => return up(state),
        KeyCode::Char('n') if is_control => return down(state),
        KeyCode::Char('d') if is_control && state.editor.is_empty() => return leave(state),
        KeyCode::Char('r') if is_control => {
            state.completion = None;
            state.dialogs.push_front(Dialog::Search(HistorySearch::default()));
            return Vec::new();
        }
        KeyCode::Char('v') if is_control => return vec![UiEffect::PasteImage],
        KeyCode::Char('g' | 'x') if is_control => return vec![UiEffect::Edit(state.editor.expanded())],
        _ => {
            type_into(&mut state.editor, key);
        }
    }
    complete(state)
}

/// Handles a key by the vim keys; none if they leave it to the others.
fn press_vim(state: &mut UiState, key: KeyEvent) -> Option<Vec<UiEffect>> {
    // Esc closes the list of completions first.
    if state.completion.is_some() && key.code == KeyCode::Esc {
        state.completion = None;
    }
    match state.vim.press(&mut state.editor, key) {
        VimKey::Taken => {}
        VimKey::Rows(rows) => {
            for _ in 0..rows.unsigned_abs().min(state.editor.text().len() + 1) {
                if rows > 0 {
                    down(state)
                } else {
                    up(state)
                };
            }
        }
        VimKey::Passed if state.vim.mode() == VimMode::Normal && key.code == KeyCode::Esc => {
            return Some(if state.is_busy() { cancel(state) } else { Vec::new() });
        }
        VimKey::Passed => return None,
    }
    Some(if state.vim.mode() == VimMode::Insert { complete(state) } else { Vec::new() })
}

/// Inserts pasted text; the path of an image becomes the image.
pub(super) fn paste(state: &mut UiState, text: String) -> Vec<UiEffect> {
    if let Some(path) = image::pasted_path(&text) {
        return vec![UiEffect::LoadImage(path, text)];
    }
    state.editor.paste(&text);
    complete(state)
}

/// Inserts the placeholder of a pasted image. Without an image, the pasted text is inserted, and the reason is told.
pub(super) fn take_image(
    state: &mut UiState,
    image: Result<PastedImage, Notice>,
    text: &str,
) -> Vec<UiEffect> {
    let image = match image {
        Ok(image) => image,
        Err(notice) => {
            state.editor.paste(text);
            let lines = crate::view::notice(&notice, state.width());
            return vec![print_apart(state, lines)];
        }
    };
    state.pasted_images += 1;
    let name = format!("[image {}: {}]", state.pasted_images, image.describe());
    state.editor.insert_placeholder(&name);
    state.images.push((name, image));
    if state.images.len() > MAX_IMAGES {
        state.images.remove(0);
    }
    Vec::new()
}

/// Handles the editing keys common to all text fields; returns false for any other key.
pub(super) fn type_into(editor: &mut crate::editor::Editor, key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('a') if is_control => editor.move_to(CursorMove::LineStart),
        KeyCode::Char('e') if is_control => editor.move_to(CursorMove::LineEnd),
        KeyCode::Char('b') if is_control => editor.move_to(CursorMove::Left),
        KeyCode::Char('f') if is_control => editor.move_to(CursorMove::Right),
        KeyCode::Char('k') if is_control => editor.cut(CursorMove::LineEnd),
        KeyCode::Char('u') if is_control => editor.cut(CursorMove::LineStart),
        KeyCode::Char('w') if is_control => editor.cut(CursorMove::WordLeft),
        KeyCode::Char('y') if is_control => editor.yank(),
        KeyCode::Char('d') if is_control => editor.delete(),
        KeyCode::Char('h') if is_control => editor.backspace(),
        KeyCode::Char('b') if is_alt => editor.move_to(CursorMove::WordLeft),
        KeyCode::Char('f') if is_alt => editor.move_to(CursorMove::WordRight),
        KeyCode::Char('d') if is_alt => editor.cut(CursorMove::WordRight),
        KeyCode::Backspace if is_alt || is_control => editor.cut(CursorMove::WordLeft),
        KeyCode::Left if is_alt || is_control => editor.move_to(CursorMove::WordLeft),
        KeyCode::Right if is_alt || is_control => editor.move_to(CursorMove::WordRight),
        KeyCode::Home if is_control => editor.move_to(CursorMove::Start),
        KeyCode::End if is_control => editor.move_to(CursorMove::End),
        KeyCode::Left => editor.move_to(CursorMove::Left),
        KeyCode::Right => editor.move_to(CursorMove::Right),
        KeyCode::Home => editor.move_to(CursorMove::LineStart),
        KeyCode::End => editor.move_to(CursorMove::LineEnd),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Char(character) if !is_control && !is_alt => {
            editor.insert(character.encode_utf8(&mut [0; 4]));
        }
        _ => return false,
    }
    true
}

fn enter(state: &mut UiState) -> Vec<UiEffect> {
    let text = state.editor.text();
    // A backslash at the end continues the message on a new line, as in a shell.
    if state.editor.cursor() == text.len() && text.ends_with('\\') {
        state.editor.backspace();
        state.editor.insert("\n");
        return Vec::new();
    }
    if text.trim().is_empty() {
        return Vec::new();
    }
    state.completion = None;
    state.vim.reset();
    let typed = state.editor.take();
    submit::submit(state, &typed)
}

fn escape(state: &mut UiState) -> Vec<UiEffect> {
    if state.is_busy() {
        return cancel(state);
    }
    // Ctrl-Y restores the cleared text.
    state.editor.move_to(CursorMove::End);
    state.editor.cut(CursorMove::Start);
    Vec::new()
}

fn up(state: &mut UiState) -> Vec<UiEffect> {
    let width = crate::view::input_width(state);
    if state.editor.move_row(false, width) {
        return Vec::new();
    }
    // The newest queued message can still be edited.
    if state.editor.is_empty()
        && let Some(typed) = state.queue.pop_back()
    {
        state.editor.set(&typed);
        return Vec::new();
    }
    let typed = state.editor.expanded();
    if let Some(older) = state.history.older(&typed) {
        let older = older.to_string();
        state.editor.set(&older);
    }
    Vec::new()
}

fn down(state: &mut UiState) -> Vec<UiEffect> {
    let width = crate::view::input_width(state);
    if !state.editor.move_row(true, width)
        && let Some(newer) = state.history.newer()
    {
        state.editor.set(&newer);
    }
    Vec::new()
}

/// Updates the completions.
pub(super) fn complete(state: &mut UiState) -> Vec<UiEffect> {
    state.completion = None;
    let (text, cursor) = (state.editor.text(), state.editor.cursor());
    if text.starts_with('/') && cursor == text.len() && !text.contains('\n') {
        let mut items = slash::complete(text, &state.offers, &state.skills);
        let offered = state.prompts.iter().flatten().map(|(name, does)| (format!("/{name}"), does.clone()));
        items.extend(offered.filter(|(name, _)| name.starts_with(text)));
        if !items.is_empty() {
            state.completion = Some(Completion { range: 0..text.len(), items, selected: 0 });
        }
        return Vec::new();
    }
    let Some(range) = named_file(text, cursor) else { return Vec::new() };
    match &state.files {
        FileList::Unknown => {
            state.files = FileList::Looking;
            vec![UiEffect::FindFiles]
        }
        FileList::Looking => Vec::new(),
        FileList::Known(files) => {
            let found = matching(files, &text[range.start + 1..range.end], MAX_OFFERED);
            let items: Vec<(String, String)> =
                found.into_iter().map(|name| (format!("@{}", quoted(name)), String::new())).collect();
            if !items.is_empty() {
                state.completion = Some(Completion { range, items, selected: 0 });
            }
            Vec::new()
        }
    }
}

/// Escapes spaces in a file name.
fn quoted(name: &str) -> String {
    name.replace(' ', "\\ ")
}

/// The range of the `@name` that ends at the cursor.
fn named_file(text: &str, cursor: usize) -> Option<std::ops::Range<usize>> {
    let before = &text[..cursor];
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    before[start..].starts_with('@').then_some(start..cursor)
}

fn select(state: &mut UiState, down: bool) -> Vec<UiEffect> {
    if let Some(completion) = &mut state.completion {
        let count = completion.items.len();
        completion.selected = (completion.selected + if down { 1 } else { count - 1 }) % count;
    }
    Vec::new()
}

/// Inserts the selected completion.
fn accept(state: &mut UiState) -> Vec<UiEffect> {
    let Some(Completion { range, items, selected }) = state.completion.take() else { return Vec::new() };
    let chosen = &items[selected].0;
    // A space makes room for an argument.
    // A folder is gone into.
    let takes_more =
        !chosen.ends_with('/') && (chosen.starts_with('@') || chosen.contains(' ') || takes_more(chosen));
    state.editor.replace(range, &format!("{chosen}{}", if takes_more { " " } else { "" }));
    complete(state)
}

fn takes_more(chosen: &str) -> bool {
    let Some(name) = chosen.strip_prefix('/') else { return false };
    // Any text may follow the name of a skill.
    slash::find(name).is_none_or(|slash| !slash.takes.is_empty())
}

/// Inserts the selected completion, and submits it unless an argument is missing.
fn accept_and_submit(state: &mut UiState) -> Vec<UiEffect> {
    let Some(completion) = &state.completion else { return Vec::new() };
    let chosen = completion.items[completion.selected].0.clone();
    let is_typed = state.editor.text().strip_prefix('/').and_then(slash::find).is_some();
    if is_typed && completion.selected == 0 {
        return enter(state);
    }
    let effects = accept(state);
    if chosen.starts_with('@') || slash::needs_more(&chosen) { effects } else { enter(state) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_named(text: &str, expected: Option<&str>) {
        assert_eq!(named_file(text, text.len()).map(|range| &text[range]), expected, "{text}");
    }

    #[test]
    fn names_of_files_begin_with_an_at() {
        check_named("see @src/ma", Some("@src/ma"));
        check_named("@", Some("@"));
        check_named("me@home.org", None);
        check_named("see @a and", None);
        check_named("日本\u{3000}@b", Some("@b"));
    }
}
