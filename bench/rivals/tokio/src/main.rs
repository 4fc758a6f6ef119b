// The cases of bench/idle.c on tokio: how soon a task starts behind one that computes, and what a
// request a millisecond costs.  `idle CASE [n=N] [talk=MS] [workers=N]` prints the figures as one
// line of JSON.
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

fn argument(name: &str, otherwise: usize) -> usize {
    for word in std::env::args().skip(2) {
        if let Some(value) = word.strip_prefix(&format!("{name}=")) {
            return value.parse().expect("a number");
        }
    }
    otherwise
}

fn compute_for(span: Duration) {
    let end = Instant::now() + span;
    while Instant::now() < end {}
}

// Two tasks, this one and another, and a channel of 16 between them.
async fn talk_for(span: Duration) {
    let (tx, mut rx) = mpsc::channel::<i32>(16);
    let listener = tokio::spawn(async move { while rx.recv().await.is_some() {} });
    let end = Instant::now() + span;
    while Instant::now() < end {
        tx.send(1).await.expect("a send failed");
    }
    drop(tx);
    listener.await.expect("the listener failed");
}

async fn start_delay(name: String) {
    let ms: u64 = name.trim_start_matches("start_delay_").parse().expect("milliseconds");
    let talk = argument("talk", 0);
    let n = argument("n", if talk != 0 { 30 } else { 2000 / (4 + ms as usize) });
    let mut delays = Vec::new();
    for _ in 0..n {
        let (tx, rx) = oneshot::channel();
        if talk != 0 {
            talk_for(Duration::from_millis(talk as u64)).await;
        } else {
            compute_for(Duration::from_millis(4));
        }
        let spawned = Instant::now();
        tokio::spawn(async move { let _ = tx.send(Instant::now()); });
        compute_for(Duration::from_millis(ms));
        delays.push((rx.await.expect("no start") - spawned).as_micros());
    }
    delays.sort();
    let part = |p: f64| delays[((n - 1) as f64 * p) as usize];
    println!(
        "{{\"case\":\"{name}\",\"delay_p50_us\":{},\"delay_p90_us\":{},\"delay_p99_us\":{},\"talk_ms\":{talk}}}",
        part(0.5), part(0.9), part(0.99)
    );
}

fn cpu_us() -> f64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) as f64 * 1e6
        + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) as f64
}

// Descriptor 3 is a socket; the client (client.c) asks a byte and waits for one.
async fn light_load() {
    let socket = unsafe { UnixStream::from_raw_fd(3) };
    socket.set_nonblocking(true).expect("no such descriptor");
    let mut socket = tokio::net::UnixStream::from_std(socket).expect("no such socket");
    let (before, mut requests, mut word) = (cpu_us(), 0, [0u8; 1]);
    while socket.read(&mut word).await.expect("a read failed") != 0 {
        socket.write_all(&word).await.expect("a write failed");
        requests += 1;
    }
    println!(
        "{{\"case\":\"light_load\",\"ops\":{requests},\"cpu_us_per_request\":{:.2}}}",
        (cpu_us() - before) / requests as f64
    );
}

fn main() {
    let name = std::env::args().nth(1).expect("usage: idle CASE [n=N] [talk=MS] [workers=N]");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(argument("workers", 2))
        .enable_io()
        .build()
        .expect("no runtime");
    // On a worker, not on the thread that waits for it.
    runtime.block_on(async move {
        let task = if name == "light_load" { tokio::spawn(light_load()) } else { tokio::spawn(start_delay(name)) };
        task.await.expect("the case failed");
    });
}
