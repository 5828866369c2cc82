//! Validation of agent names.

/// Returns true if `name` is a valid agent name: 1 to 40 characters of `A-Za-z0-9._-`.
pub fn is_agent_name(name: &str) -> bool {
    (1..=40).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}
