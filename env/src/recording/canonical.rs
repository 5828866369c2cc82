//! Canonical JSON (RFC 8785) directly from text, without a tree of values.
//!
//! RFC 8785 defines the order of keys and the spelling of numbers and strings, and removes white space. Records written
//! by this program differ from their canonical form only in the order of keys. The scanner therefore copies tokens and
//! sorts members. If a copied token might not be canonical, the scanner returns `None`, and the caller falls back to
//! [`canonical`](super::canonical). For accepted texts, both functions return equal results.

use std::ops::Range;

/// Maximum nesting depth for the scanner. The fallback handles deeper values and refuses values with 128 levels.
const DEPTH: u32 = 100;

/// Number of decimal digits that every double preserves.
const DIGITS: usize = 15;

/// A scanner that reads JSON values from a text, one after the other.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Members of the objects being read; the members of the innermost object are last.
    members: Vec<Member<'a>>,
    /// Scratch buffer for sorting.
    spare: Vec<u8>,
}

/// A member of an object.
pub(super) struct Member<'a> {
    /// Key without its quotes.
    pub key: &'a str,
    /// Range of the canonical form `"key":value` in the output.
    pub form: Range<usize>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Scanner { text, at: 0, members: Vec::new(), spare: Vec::new() }
    }

    /// Returns the text in `range`.
    pub(super) fn between(&self, range: Range<usize>) -> &'a str {
        &self.text[range]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Advances past white space.
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips white space. Then, if the next byte is `byte`, consumes `byte` and returns true.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Returns true if only white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// Reads an object. Calls `member` with each key; `member` must read the value from the scanner.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, Token<'a>) -> Option<()>) -> Option<()> {
        if !self.take(b'{') {
            return None;
        }
        if self.take(b'}') {
            return Some(());
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            // Keys are sorted by UTF-16 units, which for ASCII is byte order.
            if !key.plain || !key.text.is_ascii() || !self.take(b':') {
                return None;
            }
            member(self, key)?;
            if self.take(b'}') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    /// Reads a list. Calls `element` for each element; `element` must read the element from the scanner.
    pub(super) fn list(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.take(b'[') {
            return None;
        }
        if self.take(b']') {
            return Some(());
        }
        loop {
            element(self)?;
            if self.take(b']') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    /// Reads a value, appends its canonical form, and returns its range in the text.
    pub(super) fn value(&mut self, out: &mut Vec<u8>) -> Option<Range<usize>> {
        self.skip_space();
        let from = self.at;
        self.nested(out, DEPTH)?;
        Some(from..self.at)
    }

    fn nested(&mut self, out: &mut Vec<u8>, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.skip_space();
        match self.peek()? {
            b'{' => {
                let (start, outer) = (out.len(), self.members.len());
                self.object(|scanner, key| {
                    let from = out.len();
                    key.write(out)?;
                    out.push(b':');
                    scanner.nested(out, depth)?;
                    scanner.members.push(Member { key: key.name(), form: from..out.len() });
                    Some(())
                })?;
                sort(&mut self.members[outer..])?;
                self.spare.clear();
                write_object(&mut self.spare, self.members.drain(outer..).map(|m| &out[m.form]));
                out.truncate(start);
                out.extend_from_slice(&self.spare);
            }
            b'[' => {
                out.push(b'[');
                let mut first = true;
                self.list(|scanner| {
                    if !std::mem::take(&mut first) {
                        out.push(b',');
                    }
                    scanner.nested(out, depth)
                })?;
                out.push(b']');
            }
            b'"' => self.string()?.write(out)?,
            b'-' | b'0'..=b'9' => self.number()?.write(out)?,
            _ => {
                let word = ["true", "false", "null"].into_iter().find(|w| self.text[self.at..].starts_with(w))?;
                self.at += word.len();
                out.extend_from_slice(word.as_bytes());
            }
        }
        Some(())
    }

    /// Consumes `text` and returns true if the rest of the input starts with `text`.
    pub(super) fn literal(&mut self, text: &str) -> bool {
        let here = self.text.as_bytes()[self.at..].starts_with(text.as_bytes());
        self.at += if here { text.len() } else { 0 };
        here
    }

    /// Reads a nonnegative integer in canonical form. The caller checks the following character.
    pub(super) fn whole<T: TryFrom<u64>>(&mut self) -> Option<T> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = &rest[..length];
        if !is_whole(digits) || length > DIGITS {
            return None;
        }
        self.at += length;
        T::try_from(digits.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0'))).ok()
    }

    /// Calls `read`. If `read` fails, restores the position of the scanner.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let from = self.at;
        let done = read(self);
        if done.is_none() {
            self.at = from;
        }
        done
    }

    /// Reads a string with its quotes.
    fn string(&mut self) -> Option<Token<'a>> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let from = self.at;
        self.at += 1;
        let mut plain = true;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
            self.at += special + 1;
            match rest[special] {
                b'"' => return Some(Token { text: &self.text[from..self.at], plain }),
                b'\\' => {
                    plain = false;
                    self.peek().filter(u8::is_ascii)?;
                    self.at += 1;
                }
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Token<'a>> {
        let from = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = &self.text[from..self.at];
        Some(Token { text, plain: is_plain(text) })
    }
}

/// A string or number as spelled in the text.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// True if the text is certainly canonical.
    plain: bool,
}

impl<'a> Token<'a> {
    /// Returns a plain string without its quotes.
    pub(super) fn name(&self) -> &'a str {
        &self.text[1..self.text.len() - 1]
    }

    /// Appends the canonical form.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        if self.plain {
            out.extend_from_slice(self.text.as_bytes());
            return Some(());
        }
        // A fraction, exponent or escape: the canonical form depends on the value only.
        let value: serde_json::Value = serde_json::from_str(self.text).ok()?;
        out.extend(super::canonical(&value).ok()?);
        Some(())
    }
}

/// Returns true for the digits of an integer without a leading zero.
fn is_whole(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_digit) && matches!(digits, [b'0'] | [b'1'..=b'9', ..])
}

/// Returns true if a number is certainly canonical. Different decimals of at most 15 digits are different doubles, so
/// the shortest decimal is the text itself unless the text ends with a zero. Numbers of at least one millionth have no
/// exponent in canonical form.
fn is_plain(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let Some((whole, part)) = digits.split_once('.') else {
        return is_whole(digits.as_bytes()) && digits.len() <= DIGITS && text != "-0";
    };
    is_whole(whole.as_bytes())
        && part.bytes().all(|b| b.is_ascii_digit())
        && matches!(part.as_bytes(), [.., b'1'..=b'9'])
        && whole.len() + part.len() <= DIGITS
        && (whole != "0" || part.len() <= 6)
}

/// Returns the canonical form of a complete text; `None` if the scanner cannot determine it.
pub(super) fn canonical_text(text: &str) -> Option<Vec<u8>> {
    let mut scanner = Scanner::new(text);
    let mut out = Vec::with_capacity(text.len());
    scanner.value(&mut out)?;
    scanner.is_at_end().then_some(out)
}

/// Sorts members by key. Returns `None` for a duplicate key, which serde_json must resolve.
pub(super) fn sort(members: &mut [Member]) -> Option<()> {
    if !members.is_sorted_by(|a, b| a.key < b.key) {
        members.sort_unstable_by_key(|m| m.key);
    }
    members.is_sorted_by(|a, b| a.key < b.key).then_some(())
}

/// Writes an object of canonical, sorted members.
pub(super) fn write_object<'a>(out: &mut Vec<u8>, members: impl Iterator<Item = &'a [u8]>) {
    out.push(b'{');
    for (k, member) in members.enumerate() {
        if k > 0 {
            out.push(b',');
        }
        out.extend_from_slice(member);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests;
