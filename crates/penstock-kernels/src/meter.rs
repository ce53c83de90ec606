//! What each thread has read of files: bytes, and nanoseconds within the calls. Who wants those of a task asks before
//! and after it.

use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static TAKEN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Run `read`, and count its time and `bytes` to this thread.
pub fn metered<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = read();
    let spent = began.elapsed().as_nanos() as u64;
    TAKEN.with(|taken| {
        let (nanoseconds, before) = taken.get();
        taken.set((nanoseconds + spent, before + bytes as u64));
    });
    done
}

/// Nanoseconds and bytes of this thread since it began.
pub fn taken() -> (u64, u64) {
    TAKEN.with(Cell::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_counts_to_the_thread_that_read_it() {
        let before = taken();
        assert_eq!(metered(7, || 3), 3);
        assert_eq!(taken().1, before.1 + 7);
        assert!(taken().0 >= before.0);
        let other = std::thread::spawn(|| {
            metered(5, || ());
            taken().1
        });
        assert_eq!(other.join().unwrap(), 5);
        assert_eq!(taken().1, before.1 + 7);
    }
}
