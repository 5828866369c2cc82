//! Benchmark of durable moves per second, on both engines in one run. As in rated matches, each of the concurrent writers
//! waits for the commit of a move before it sends the next move.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ludex_store::testing::PostgresServer;
use ludex_store::{MatchRow, Store, StoreLocation, Write};
use tokio::runtime::Runtime;

fn durable_moves(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // Placed in the build directory, since /tmp is often in memory, where a sync costs nothing.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let server = PostgresServer::start_in(env!("CARGO_TARGET_TMPDIR").as_ref());
    let file = StoreLocation::in_folder(folder.path());
    let database = server.as_ref().map(|server| server.database("bench"));
    for (engine, location) in [("SQLite", Some(file)), ("PostgreSQL", database)] {
        let Some(location) = location else { continue };
        let store = runtime.block_on(Store::open(location)).expect("a store");
        measure(criterion, engine, &runtime, &store);
        runtime.block_on(store.close()).expect("the store closes");
    }
}

fn measure(criterion: &mut Criterion, engine: &str, runtime: &Runtime, store: &Store) {
    let mut group = criterion.benchmark_group(engine);
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(8));
    for (name, writers, durable) in [
        ("durable moves, 512 writers", 512, true),
        ("durable moves, 64 writers", 64, true),
        ("durable moves, 1 writer", 1, true),
        ("moves behind", 1, false),
    ] {
        let mut games = 0;
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|moves| {
                games += 1;
                runtime.block_on(async {
                    let ids: Vec<String> = (0..writers).map(|k| format!("m_{name}_{games}_{k}")).collect();
                    store.write(ids.iter().map(|id| start(id)).collect()).await.expect("the write succeeds");
                    let begun = Instant::now();
                    let play = ids.iter().zip(0..).map(|(id, k)| play(store, id, share(moves, writers, k), durable));
                    futures_util::future::join_all(play).await;
                    store.flush().await.expect("no failed write");
                    begun.elapsed()
                })
            });
        });
    }
    group.finish();
}

/// Returns the number of moves that writer `k` of `writers` makes.
fn share(moves: u64, writers: u64, k: u64) -> u64 {
    moves / writers + u64::from(k < moves % writers)
}

async fn play(store: &Store, id: &str, moves: u64, durable: bool) {
    for n in 0..moves {
        let body = format!(
            r#"{{"kind":"move","seat":{},"turn":{},"action":{},"ms":{},"notes":{{}},"bank_ms":[60000,60000]}}"#,
            n % 2,
            n / 2,
            n % 7,
            n % 1_000
        );
        let act = vec![Write::Act { id: id.to_owned(), n, body }];
        let kept = if durable { store.write(act).await } else { store.write_behind(act).await };
        kept.expect("the write succeeds");
    }
}

fn start(id: &str) -> Write {
    Write::MatchStart(MatchRow {
        id: id.to_owned(),
        game: "connect_four".to_owned(),
        string: "connect_four(rows=6,columns=7)".to_owned(),
        rated: true,
        run: None,
        seats: vec!["ann".into(), "bob".into()],
        header: "{}".to_owned(),
        secret: "{}".to_owned(),
        started_ms: 0,
    })
}

criterion_group!(benches, durable_moves);
criterion_main!(benches);
