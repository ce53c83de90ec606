//! One body, compiled twice: for the CPU that every build must run on, and for AVX2, chosen when it runs.
//!
//! Both give the same bits: no operation is fused or reordered, lanes are independent.

/// Define a function whose body is also compiled for AVX2 (and F16C) and run where the CPU has them.
macro_rules! vectorized {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $kind),*) {
            #[inline(always)]
            fn body($($argument: $kind),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,f16c")]
            fn wide($($argument: $kind),*) {
                body($($argument),*);
            }

            #[cfg(target_arch = "x86_64")]
            if crate::simd::is_wide() {
                // SAFETY: the CPU has the features, as just asked.
                unsafe { wide($($argument),*) };
                return;
            }
            body($($argument),*);
        }
    };
}

pub(crate) use vectorized;

/// Whether the CPU has AVX2 and F16C; asked once, kept by the standard library.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("f16c")
}
