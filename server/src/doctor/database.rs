//! Checks of a PostgreSQL server.

use ludex_store::{DatabaseFacts, LeaseFacts, Standby, Store};

use super::Finding;
use super::store::failure;

const CHECK: &str = "database";

/// Offset of the database's clock in milliseconds that is unusual where clocks follow NTP.
const MAX_OFFSET_MS: i64 = 1_000;

/// Bytes of the log from which a standby counts as late.
const LATE_BYTES: i64 = 64 << 20;

/// Number of tables whose sizes are listed.
const LARGEST: usize = 3;

/// Checks the database of a store: durability, standbys, clock, owner and sizes. Returns nothing for an SQLite file.
pub(super) async fn check(store: &Store) -> Vec<Finding> {
    match store.database_facts().await {
        Ok(None) => Vec::new(),
        Ok(Some(facts)) => of(&facts),
        Err(error) => vec![failure(&error)],
    }
}

fn of(facts: &DatabaseFacts) -> Vec<Finding> {
    let schema = Finding::ok(CHECK, format!("the store has schema version {}", facts.schema));
    let mut findings = vec![schema, durability(facts)];
    findings.extend(standbys(&facts.standbys));
    findings.extend([clock(facts.clock_ahead_ms), owner(&facts.leases), sizes(facts)]);
    findings
}

fn durability(facts: &DatabaseFacts) -> Finding {
    let DatabaseFacts { synchronous_commit: commit, fsync, standby_names: names, standbys, .. } = facts;
    let lost = "acknowledged moves are lost if the database fails";
    if !matches!(&**commit, "on" | "remote_apply") {
        let remedy = "set synchronous_commit = on for the database or its user";
        return Finding::problem(CHECK, format!("synchronous_commit is {commit}: {lost}"), remedy);
    }
    if fsync != "on" {
        return Finding::problem(CHECK, format!("fsync is {fsync}: {lost}"), "set fsync = on");
    }
    match (standbys.len(), names.is_empty()) {
        (0, true) => Finding::ok(CHECK, "commits are on disk before they are acknowledged; no standby is connected"),
        (0, false) => {
            let text = format!("no standby is connected, but synchronous_standby_names is {names}: commits wait");
            Finding::problem(CHECK, text, "start a standby, or clear synchronous_standby_names")
        }
        (count, true) => {
            let text = format!("{count} standbys, none of them synchronous: a failover loses acknowledged moves");
            Finding::problem(CHECK, text, "set synchronous_standby_names, such as ANY 1 (*)")
        }
        (count, false) => Finding::ok(CHECK, format!("commits wait for {names}; {count} standbys are connected")),
    }
}

fn standbys(standbys: &[Standby]) -> impl Iterator<Item = Finding> {
    standbys.iter().filter_map(|Standby { name, state, kind, behind_bytes }| {
        let text = match () {
            () if !matches!(&**state, "" | "streaming") => format!("standby {name} ({kind}) is in state {state}"),
            () if *behind_bytes > LATE_BYTES => {
                format!("standby {name} ({kind}) is {} MiB behind", behind_bytes >> 20)
            }
            () => return None,
        };
        Some(Finding::warning(CHECK, text, "check the standby and its network"))
    })
}

fn clock(ahead_ms: i64) -> Finding {
    let seconds = ahead_ms.abs() as f64 / 1e3;
    let side = if ahead_ms < 0 { "behind" } else { "ahead of" };
    let text = format!("the database's clock is {seconds:.3} s {side} the clock of this machine");
    match ahead_ms.abs() > MAX_OFFSET_MS {
        true => Finding::warning(
            CHECK,
            text,
            "keep both clocks right by NTP; the times of tokens and seasons are this machine's",
        ),
        false => Finding::ok(CHECK, text),
    }
}

fn owner(leases: &[LeaseFacts]) -> Finding {
    if leases.is_empty() {
        return Finding::ok(CHECK, "no server owns the store");
    }
    let one =
        |lease: &LeaseFacts| format!("cell {}: {}, for {:.1} s", lease.cell, lease.node, lease.left.as_secs_f64());
    let owners: Vec<String> = leases.iter().map(one).collect();
    Finding::ok(CHECK, format!("owners of the store: {}", owners.join("; ")))
}

fn sizes(facts: &DatabaseFacts) -> Finding {
    let mib = |bytes: i64| bytes as f64 / f64::from(1 << 20);
    let all: i64 = facts.tables.iter().map(|table| table.bytes).sum();
    let largest: Vec<String> =
        facts.tables.iter().take(LARGEST).map(|table| format!("{} {:.1} MiB", table.name, mib(table.bytes))).collect();
    Finding::ok(CHECK, format!("the tables have {:.1} MiB, of these {}", mib(all), largest.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus::{self, Ok, Problem, Warning};
    use super::*;

    fn facts() -> DatabaseFacts {
        DatabaseFacts {
            schema: 5,
            synchronous_commit: "on".to_owned(),
            fsync: "on".to_owned(),
            standby_names: String::new(),
            clock_ahead_ms: 3,
            standbys: Vec::new(),
            leases: Vec::new(),
            tables: Vec::new(),
        }
    }

    fn standby(state: &str, behind_bytes: i64) -> Standby {
        Standby { name: "b".to_owned(), state: state.to_owned(), kind: "sync".to_owned(), behind_bytes }
    }

    #[test]
    fn unsafe_settings_of_the_database_are_problems() {
        let status = |change: fn(&mut DatabaseFacts)| {
            let mut facts = facts();
            change(&mut facts);
            durability(&facts).status
        };
        assert_eq!(status(|_| {}), Ok);
        assert_eq!(status(|facts| facts.synchronous_commit = "off".to_owned()), Problem);
        assert_eq!(status(|facts| facts.fsync = "off".to_owned()), Problem);
        assert_eq!(status(|facts| facts.standbys.push(standby("streaming", 0))), Problem);
        assert_eq!(status(|facts| facts.standby_names = "ANY 1 (*)".to_owned()), Problem);
        let is_ok = status(|facts| {
            facts.standby_names = "ANY 1 (*)".to_owned();
            facts.standbys.push(standby("streaming", 0));
        });
        assert_eq!(is_ok, Ok);
    }

    #[test]
    fn late_standbys_and_different_clocks_are_warnings() {
        let late = [standby("streaming", 0), standby("catchup", 0), standby("streaming", 100 << 20)];
        let found: Vec<CheckStatus> = standbys(&late).map(|finding| finding.status).collect();
        assert_eq!(found, [Warning, Warning]);
        assert_eq!([3, 5_000, -5_000].map(|ms| clock(ms).status), [Ok, Warning, Warning]);
    }
}
