//! Prints the JSON Schema of the protocol.

fn main() {
    println!("{:#}", ludex_protocol::schema::document());
}
