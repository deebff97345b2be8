// The explanation for profiles without compiled programs, shown by pages that need them.
import type { Explanation } from "./explain";

export const NO_PROGRAMS: Explanation = {
  tone: "empty",
  title: "This profile contains no compiled programs",
  why: "The page needs HloProto messages, stats named Hlo Proto on the plane /host:metadata; this profile has none.",
  todo: [
    "Let the profile include at least one run of a compiled program: jax.jit in JAX, jit_compile=True in TensorFlow.",
    'Capture with HLO protos on, which is the default: profiler_options={"enable_hlo_proto": True}.',
  ],
  technical: null,
};
