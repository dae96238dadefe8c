#pragma once

// A loop over lanes becomes vector code; the widest that the machine has is chosen when the library is loaded. That is
// before a sanitizer has begun, so a sanitized build has one version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LTR_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LTR_VECTOR_CLONES
#endif
