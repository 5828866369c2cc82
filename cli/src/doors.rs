//! Doors of `ludex serve`: other protocols on its port.

use std::sync::Arc;

use ludex_client::LocalConnector;
use ludex_doors::openenv;
use ludex_server::door::Door;

/// Returns all doors.
pub fn doors() -> Vec<Door> {
    vec![Door {
        prefix: openenv::PREFIX,
        body_bytes: openenv::BODY_BYTES,
        routes: Arc::new(|connect| openenv::routes(LocalConnector::new(connect))),
    }]
}
