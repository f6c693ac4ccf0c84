// programs/pipeline.rs - a program in Rust on the CUDA driver API that knows nothing of weir: pipeline.c in another
// language, with the same output. It needs no crate: what it uses of the driver is declared here.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void, CStr};
use std::ptr::{null, null_mut};

mod driver {
    use super::*;

    pub type Stream = *mut c_void;
    pub type Event = *mut c_void;
    pub type Graph = *mut c_void;
    pub type Exec = *mut c_void;
    pub type Pool = *mut c_void;
    pub type Address = c_ulonglong;
    pub type HostFn = extern "C" fn(*mut c_void);

    #[repr(C)]
    #[derive(Default)]
    pub struct Location {
        pub kind: c_int,
        pub id: c_int,
    }

    #[repr(C)]
    pub struct PoolProps {
        pub alloc_type: c_int,
        pub handle_types: c_int,
        pub location: Location,
        pub security: *mut c_void,
        pub max_size: usize,
        pub usage: u16,
        pub reserved: [u8; 54],
    }

    #[link(name = "cuda")]
    #[allow(non_snake_case)]
    extern "C" {
        pub fn cuInit(flags: c_uint) -> c_int;
        pub fn cuGetErrorName(error: c_int, text: *mut *const c_char) -> c_int;
        pub fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int;
        pub fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int;
        pub fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int;
        pub fn cuCtxSetCurrent(context: *mut c_void) -> c_int;
        pub fn cuStreamCreate(stream: *mut Stream, flags: c_uint) -> c_int;
        pub fn cuStreamDestroy_v2(stream: Stream) -> c_int;
        pub fn cuStreamQuery(stream: Stream) -> c_int;
        pub fn cuStreamSynchronize(stream: Stream) -> c_int;
        pub fn cuStreamWaitEvent(stream: Stream, event: Event, flags: c_uint) -> c_int;
        pub fn cuStreamWaitValue32_v2(stream: Stream, address: Address, value: u32, flags: c_uint) -> c_int;
        pub fn cuStreamWriteValue32_v2(stream: Stream, address: Address, value: u32, flags: c_uint) -> c_int;
        pub fn cuLaunchHostFunc(stream: Stream, function: HostFn, data: *mut c_void) -> c_int;
        pub fn cuEventCreate(event: *mut Event, flags: c_uint) -> c_int;
        pub fn cuEventDestroy_v2(event: Event) -> c_int;
        pub fn cuEventRecord(event: Event, stream: Stream) -> c_int;
        pub fn cuEventSynchronize(event: Event) -> c_int;
        pub fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: Event, end: Event) -> c_int;
        pub fn cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int;
        pub fn cuMemFreeHost(memory: *mut c_void) -> c_int;
        pub fn cuMemHostGetDevicePointer_v2(address: *mut Address, memory: *mut c_void, flags: c_uint) -> c_int;
        pub fn cuMemAlloc_v2(address: *mut Address, bytes: usize) -> c_int;
        pub fn cuMemFree_v2(address: Address) -> c_int;
        pub fn cuMemsetD32Async(to: Address, value: c_uint, count: usize, stream: Stream) -> c_int;
        pub fn cuMemcpyHtoDAsync_v2(to: Address, from: *const c_void, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: Address, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemPoolCreate(pool: *mut Pool, properties: *const PoolProps) -> c_int;
        pub fn cuMemPoolDestroy(pool: Pool) -> c_int;
        pub fn cuMemPoolGetAttribute(pool: Pool, attribute: c_int, value: *mut c_void) -> c_int;
        pub fn cuMemPoolSetAttribute(pool: Pool, attribute: c_int, value: *mut c_void) -> c_int;
        pub fn cuMemAllocFromPoolAsync(address: *mut Address, bytes: usize, pool: Pool, stream: Stream) -> c_int;
        pub fn cuMemFreeAsync(address: Address, stream: Stream) -> c_int;
        pub fn cuStreamBeginCapture_v2(stream: Stream, mode: c_int) -> c_int;
        pub fn cuStreamEndCapture(stream: Stream, graph: *mut Graph) -> c_int;
        pub fn cuGraphGetNodes(graph: Graph, nodes: *mut *mut c_void, count: *mut usize) -> c_int;
        pub fn cuGraphInstantiateWithFlags(exec: *mut Exec, graph: Graph, flags: c_ulonglong) -> c_int;
        pub fn cuGraphLaunch(exec: Exec, stream: Stream) -> c_int;
        pub fn cuGraphExecDestroy(exec: Exec) -> c_int;
        pub fn cuGraphDestroy(graph: Graph) -> c_int;
    }
}
use driver::*;

const PINNED: c_int = 1;
const ON_DEVICE: c_int = 1;
const RELEASE_THRESHOLD: c_int = 4;
const USED_NOW: c_int = 7;
const USED_HIGH: c_int = 8;
const THREAD_LOCAL: c_int = 1;
const AT_LEAST: c_uint = 0;

fn name_of(result: c_int) -> &'static str {
    let mut text: *const c_char = null();
    match unsafe { cuGetErrorName(result, &mut text) } {
        0 => unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("?"),
        _ => "?",
    }
}

// What has to work.
#[track_caller]
fn must(result: c_int) {
    assert!(result == 0, "{}", name_of(result));
}

// A call that gives something through its first argument.
#[track_caller]
fn made<T>(start: T, call: impl FnOnce(*mut T) -> c_int) -> T {
    let mut value = start;
    must(call(&mut value));
    value
}

struct OwnStream(Stream);
impl OwnStream {
    fn new() -> Self {
        OwnStream(made(null_mut(), |s| unsafe { cuStreamCreate(s, 1) }))
    }
    fn sync(&self) {
        must(unsafe { cuStreamSynchronize(self.0) });
    }
    fn wait(&self, event: &OwnEvent) {
        must(unsafe { cuStreamWaitEvent(self.0, event.0, 0) });
    }
    fn launch<T>(&self, function: HostFn, data: *mut T) {
        must(unsafe { cuLaunchHostFunc(self.0, function, data.cast()) });
    }
    fn set(&self, to: Address, value: u32, words: usize) {
        must(unsafe { cuMemsetD32Async(to, value, words, self.0) });
    }
    fn begin_capture(&self) {
        must(unsafe { cuStreamBeginCapture_v2(self.0, THREAD_LOCAL) });
    }
}
impl Drop for OwnStream {
    fn drop(&mut self) {
        must(unsafe { cuStreamDestroy_v2(self.0) });
    }
}

struct OwnEvent(Event);
impl OwnEvent {
    fn new() -> Self {
        OwnEvent(made(null_mut(), |e| unsafe { cuEventCreate(e, 2) }))
    }
    fn record(&self, stream: &OwnStream) {
        must(unsafe { cuEventRecord(self.0, stream.0) });
    }
}
impl Drop for OwnEvent {
    fn drop(&mut self) {
        must(unsafe { cuEventDestroy_v2(self.0) }); // what waits for it goes on waiting
    }
}

// Words of memory that the host and the device see.
struct Pinned {
    words: *mut u32,
    count: usize,
}
impl Pinned {
    fn new(count: usize) -> Self {
        let memory = made(null_mut(), |m| unsafe { cuMemHostAlloc(m, count * 4, 2) });
        Pinned { words: memory.cast(), count }
    }
    fn address(&self) -> Address {
        made(0, |a| unsafe { cuMemHostGetDevicePointer_v2(a, self.words.cast(), 0) })
    }
    // Once the device has done with them.
    fn seen(&mut self) -> &mut [u32] {
        unsafe { std::slice::from_raw_parts_mut(self.words, self.count) }
    }
}
impl Drop for Pinned {
    fn drop(&mut self) {
        must(unsafe { cuMemFreeHost(self.words.cast()) });
    }
}

const CHUNKS: usize = 8;
const WORDS: usize = 1 << 14;
const BYTES: usize = WORDS * 4;

struct Sum {
    of: *const u32,
    is: u64,
}

extern "C" fn add_up(data: *mut c_void) {
    let sum = unsafe { &mut *data.cast::<Sum>() };
    sum.is = unsafe { std::slice::from_raw_parts(sum.of, WORDS) }.iter().map(|&word| u64::from(word)).sum();
}

fn pool_attribute(pool: Pool, which: c_int) -> u64 {
    made(0u64, |value| unsafe { cuMemPoolGetAttribute(pool, which, value.cast()) })
}

fn pipeline(device: c_int) {
    let (input, work, output) = (OwnStream::new(), OwnStream::new(), OwnStream::new());
    let properties = PoolProps {
        alloc_type: PINNED,
        handle_types: 0,
        location: Location { kind: ON_DEVICE, id: device },
        security: null_mut(),
        max_size: 0,
        usage: 0,
        reserved: [0; 54],
    };
    let pool = made(null_mut(), |p| unsafe { cuMemPoolCreate(p, &properties) });
    let mut keep: u64 = 64 << 20;
    must(unsafe { cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, (&mut keep as *mut u64).cast()) });
    let mut from = Pinned::new(CHUNKS * WORDS);
    let to = Pinned::new(CHUNKS * WORDS);
    let mut sums: Vec<Sum> = (0..CHUNKS).map(|c| Sum { of: unsafe { to.words.add(c * WORDS) }, is: 0 }).collect();

    for (i, word) in from.seen().iter_mut().enumerate() {
        *word = (i as u32).wrapping_mul(2654435761) >> 7;
    }
    for c in 0..CHUNKS {
        let (arrived, worked) = (OwnEvent::new(), OwnEvent::new());
        let take = |s: &OwnStream| made(0, |a| unsafe { cuMemAllocFromPoolAsync(a, BYTES, pool, s.0) });
        let there = unsafe { to.words.add(c * WORDS) };
        let a = take(&input);
        must(unsafe { cuMemcpyHtoDAsync_v2(a, from.words.add(c * WORDS).cast(), BYTES, input.0) });
        arrived.record(&input);

        work.wait(&arrived);
        let b = take(&work);
        must(unsafe { cuMemcpyDtoDAsync_v2(b, a, BYTES, work.0) });
        work.set(b, c as u32, WORDS / 2);
        must(unsafe { cuMemFreeAsync(a, work.0) });
        worked.record(&work);

        output.wait(&worked);
        must(unsafe { cuMemcpyDtoHAsync_v2(there.cast(), b, BYTES, output.0) });
        must(unsafe { cuMemFreeAsync(b, output.0) });
        output.launch(add_up, &mut sums[c]);
    }
    output.sync();
    let total: u64 = sums.iter().map(|sum| sum.is).sum();
    let was = if pool_attribute(pool, USED_HIGH) > 0 { "yes" } else { "no" };
    println!("pipeline: sum {total}, in use {}, was in use: {was}", pool_attribute(pool, USED_NOW));
    must(unsafe { cuMemPoolDestroy(pool) });
}

// Steps note their letters in the order in which they run.
#[derive(Default)]
struct Steps(String);
struct Step {
    steps: *mut Steps,
    letter: char,
}

extern "C" fn take_step(data: *mut c_void) {
    let step = unsafe { &*data.cast::<Step>() };
    unsafe { &mut *step.steps }.0.push(step.letter);
}

fn values() {
    let (s, t) = (OwnStream::new(), OwnStream::new());
    let mut word = Pinned::new(1);
    let address = word.address();
    word.seen()[0] = 0;
    let mut steps = Steps::default();
    let mut of = ['a', 'b', 'c'].map(|letter| Step { steps: &mut steps, letter });
    must(unsafe { cuStreamWaitValue32_v2(s.0, address, 1, AT_LEAST) });
    s.launch(take_step, &mut of[1]);
    must(unsafe { cuStreamWriteValue32_v2(s.0, address, 2, 0) });
    print!("values: held {}", name_of(unsafe { cuStreamQuery(s.0) }));

    t.launch(take_step, &mut of[0]);
    must(unsafe { cuStreamWriteValue32_v2(t.0, address, 1, 0) });
    must(unsafe { cuStreamWaitValue32_v2(t.0, address, 2, AT_LEAST) });
    t.launch(take_step, &mut of[2]);
    t.sync();
    s.sync();
    let then = name_of(unsafe { cuStreamQuery(s.0) });
    println!(", steps {}, word {}, then {then}", steps.0, word.seen()[0]);
}

extern "C" fn count(data: *mut c_void) {
    unsafe { *data.cast::<i32>() += 1 };
}

fn graph() {
    let (s, t) = (OwnStream::new(), OwnStream::new());
    let (fork, join) = (OwnEvent::new(), OwnEvent::new());
    let mut result = Pinned::new(WORDS);
    let mut runs = 0i32;
    let runs_at: *mut i32 = &mut runs;
    let memory = made(0, |a| unsafe { cuMemAlloc_v2(a, BYTES) });
    s.begin_capture();
    fork.record(&s);
    t.wait(&fork);
    s.set(memory, 3, WORDS / 2);
    t.set(memory + BYTES as Address / 2, 4, WORDS / 2);
    join.record(&t);
    s.wait(&join);
    must(unsafe { cuMemcpyDtoHAsync_v2(result.words.cast(), memory, BYTES, s.0) });
    s.launch(count, runs_at);
    let captured = made(null_mut(), |g| unsafe { cuStreamEndCapture(s.0, g) });
    let nodes = made(0usize, |n| unsafe { cuGraphGetNodes(captured, null_mut(), n) });
    let exec = made(null_mut(), |e| unsafe { cuGraphInstantiateWithFlags(e, captured, 0) });
    must(unsafe { cuGraphDestroy(captured) }); // the executable one stands on its own
    for _ in 0..3 {
        must(unsafe { cuGraphLaunch(exec, s.0) });
    }
    s.sync();
    let ran = unsafe { *runs_at };
    let seen = result.seen();
    println!("graph: {nodes} nodes, {ran} runs, {} and {}", seen[0], seen[WORDS - 1]);
    must(unsafe { cuGraphExecDestroy(exec) });
    must(unsafe { cuMemFree_v2(memory) });
}

fn errors() {
    let (s, t) = (OwnStream::new(), OwnStream::new());
    let (untimed, fork) = (OwnEvent::new(), OwnEvent::new());
    let (mut other, mut memory, mut captured, mut time) = (0, 0, null_mut(), 0f32);
    let mut runs = 0i32;
    let tell = |what: &str, answer| println!("{what}: {}", name_of(answer));
    tell("a device too far", unsafe { cuDeviceGet(&mut other, 1000) });
    tell("no bytes", unsafe { cuMemAlloc_v2(&mut memory, 0) });
    tell("all bytes", unsafe { cuMemAlloc_v2(&mut memory, 1 << 60) });
    tell("no event", unsafe { cuEventRecord(null_mut(), s.0) });
    untimed.record(&s);
    must(unsafe { cuEventSynchronize(untimed.0) });
    tell("time of what has none", unsafe { cuEventElapsedTime_v2(&mut time, untimed.0, untimed.0) });

    s.begin_capture();
    tell("a wait in a capture", unsafe { cuStreamSynchronize(s.0) });
    tell("the capture then", unsafe { cuStreamEndCapture(s.0, &mut captured) });

    s.begin_capture();
    fork.record(&s);
    t.wait(&fork);
    t.launch(count, &mut runs);
    tell("a capture without its join", unsafe { cuStreamEndCapture(s.0, &mut captured) });
    tell("the stream afterwards", unsafe { cuStreamSynchronize(s.0) });
}

fn main() {
    must(unsafe { cuInit(0) });
    let device = made(0, |d| unsafe { cuDeviceGet(d, 0) });
    let context = made(null_mut(), |c| unsafe { cuDevicePrimaryCtxRetain(c, device) });
    must(unsafe { cuCtxSetCurrent(context) });
    pipeline(device);
    values();
    graph();
    errors();
    must(unsafe { cuDevicePrimaryCtxRelease_v2(device) });
    println!("done");
}
