//! Canonical JSON (RFC 8785) straight from text, without a tree of values.
//!
//! RFC 8785 fixes the order of keys, the spelling of numbers and strings, and drops white space. A record that this
//! program wrote differs from its canonical form in the order of keys alone, so the scanner copies tokens and sorts.
//! It gives up (`None`) on anything where copying could be wrong: then
//! [`digest::canonical`](crate::digest::canonical) decides. What it accepts has the same canonical form there; a test
//! compares the two.

use std::ops::Range;

/// Deeper values are left to serde_json, which refuses them at 128 levels.
const DEPTH: u32 = 100;

/// Longest run of digits that is a whole number below 2^53 for certain.
const DIGITS: usize = 15;

/// Reads JSON values from a text, one after the other.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// A member of an object.
pub(crate) struct Member<'a> {
    /// Its key.
    pub key: &'a str,
    /// Where its canonical form `"key":value` is in the output.
    pub form: Range<usize>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Scanner { text, at: 0 }
    }

    /// The part of the text between two places.
    pub(crate) fn between(&self, range: Range<usize>) -> &'a str {
        &self.text[range]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over white space.
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes over white space and takes `byte` if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Whether nothing but white space is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.space();
        self.at == self.text.len()
    }

    /// Reads an object. `member` gets the key and a scanner that stands before the value, which it must read.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, Token<'a>) -> Option<()>) -> Option<()> {
        if !self.take(b'{') {
            return None;
        }
        if self.take(b'}') {
            return Some(());
        }
        loop {
            self.space();
            let key = self.string()?;
            // Keys are sorted by UTF-16 units, which for ASCII is the order of bytes.
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

    /// Reads a list. `element` gets a scanner that stands before the element, which it must read.
    pub(crate) fn list(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
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

    /// Reads a value and appends its canonical form; the part of the text that it takes.
    pub(crate) fn value(&mut self, out: &mut Vec<u8>) -> Option<Range<usize>> {
        self.space();
        let from = self.at;
        self.nested(out, DEPTH)?;
        Some(from..self.at)
    }

    fn nested(&mut self, out: &mut Vec<u8>, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.space();
        match self.peek()? {
            b'{' => {
                let start = out.len();
                let mut members: Vec<Member> = Vec::new();
                self.object(|scanner, key| {
                    let from = out.len();
                    key.write(out)?;
                    out.push(b':');
                    scanner.nested(out, depth)?;
                    members.push(Member { key: key.name(), form: from..out.len() });
                    Some(())
                })?;
                sort(&mut members)?;
                let forms = out.split_off(start);
                let parts = members.iter().map(|m| &forms[m.form.start - start..m.form.end - start]);
                write_object(out, parts);
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

    /// A string with its quotes.
    fn string(&mut self) -> Option<Token<'a>> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let from = self.at;
        self.at += 1;
        let mut plain = true;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(Token { text: &self.text[from..self.at], plain }),
                b'\\' => {
                    plain = false;
                    self.peek().filter(u8::is_ascii)?;
                    self.at += 1;
                }
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Option<Token<'a>> {
        let from = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = &self.text[from..self.at];
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = digits.bytes().all(|b| b.is_ascii_digit());
        let plain = whole && digits.len() <= DIGITS && (!digits.starts_with('0') || text == "0") && !digits.is_empty();
        Some(Token { text, plain })
    }
}

/// A string or a number as it stands in the text.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// Whether the text is canonical for certain.
    plain: bool,
}

impl<'a> Token<'a> {
    /// A plain string without its quotes.
    pub(crate) fn name(&self) -> &'a str {
        self.text.trim_matches('"')
    }

    /// Appends the canonical form.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        if self.plain {
            out.extend_from_slice(self.text.as_bytes());
            return Some(());
        }
        // A fraction, an exponent, an escape: what it means decides, and that is the same wherever it stands.
        let value: serde_json::Value = serde_json::from_str(self.text).ok()?;
        out.extend(crate::digest::canonical(&value).ok()?);
        Some(())
    }
}

/// Sorts members by key. `None` if a key is there twice: which one counts is for serde_json to say.
pub(crate) fn sort(members: &mut [Member]) -> Option<()> {
    if !members.is_sorted_by(|a, b| a.key < b.key) {
        members.sort_unstable_by_key(|m| m.key);
    }
    members.is_sorted_by(|a, b| a.key < b.key).then_some(())
}

/// Writes an object of members that are canonical and in order.
pub(crate) fn write_object<'a>(out: &mut Vec<u8>, members: impl Iterator<Item = &'a [u8]>) {
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
