// Instructions for capturing a profile from a program, for the start page and the capture dialog.
import { useState } from "preact/hooks";
import { CopyButton } from "../../widgets/content/copy_button";

const SNIPPETS: readonly { name: string; code: (logdir: string) => string }[] = [
  {
    name: "JAX",
    code: (logdir) => `import jax

with jax.profiler.trace("${logdir}"):
    for step in range(5):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            state = train_step(state, batch)
            jax.block_until_ready(state)  # else the step ends at its dispatch`,
  },
  {
    name: "TensorFlow",
    code: (logdir) => `import tensorflow as tf

tf.profiler.experimental.start("${logdir}")
for step in range(5):
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        train_step(next(batches))
tf.profiler.experimental.stop()`,
  },
  {
    name: "Keras",
    code: (logdir) => `import tensorflow as tf

tensorboard = tf.keras.callbacks.TensorBoard(
    log_dir="${logdir}", profile_batch=(10, 15))
model.fit(dataset, epochs=1, callbacks=[tensorboard])`,
  },
  {
    name: "PyTorch",
    code: (logdir) => `from torch.profiler import profile, schedule, tensorboard_trace_handler

with profile(
    schedule=schedule(wait=1, warmup=2, active=3, repeat=1),
    on_trace_ready=tensorboard_trace_handler("${logdir}", use_gzip=True),
    record_shapes=True, with_stack=True, profile_memory=True,
) as prof:
    for batch in loader:
        train_step(batch)
        prof.step()`,
  },
  {
    name: "PyTorch/XLA",
    code: (logdir) => `import torch_xla.debug.profiler as xp

server = xp.start_server(9012)      # once, before the training loop
xp.trace_detached("localhost:9012", "${logdir}", duration_ms=2000)
for batch in loader:
    train_step(batch)`,
  },
];

/** Tabs with one framework each; the server's logdir is filled in. */
export function CaptureHowTo({ logdir }: { logdir: string }) {
  const [chosen, setChosen] = useState(0);
  const snippet = SNIPPETS[chosen] ?? SNIPPETS[0];
  const code = snippet?.code(logdir || "/path/to/logdir") ?? "";
  const move = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    const next = (chosen + by + SNIPPETS.length) % SNIPPETS.length;
    setChosen(next);
    const tabs = event.currentTarget instanceof HTMLElement ? event.currentTarget.querySelectorAll("button") : [];
    tabs[next]?.focus();
  };
  return (
    <div class="howto">
      <div class="tabs" role="tablist" aria-label="Framework" onKeyDown={move}>
        {SNIPPETS.map(({ name }, i) => (
          <button
            key={name}
            type="button"
            role="tab"
            class="tab"
            aria-selected={i === chosen}
            tabIndex={i === chosen ? 0 : -1}
            onClick={() => setChosen(i)}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="howto-code" role="tabpanel" aria-label={snippet?.name}>
        <pre tabIndex={0}>{code}</pre>
        <CopyButton text={() => code} />
      </div>
    </div>
  );
}
