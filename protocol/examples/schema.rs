//! Prints the JSON Schema of the protocol:
//! `cargo run -p ludex-protocol --features schema --example schema > docs/protocol.schema.json`

fn main() {
    println!("{:#}", ludex_protocol::schema::document());
}
