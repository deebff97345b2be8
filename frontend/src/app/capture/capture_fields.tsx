// The fields of the capture dialog.
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import type { CaptureForm, FormErrors } from "./capture_form";
import { workerCount } from "./capture_form";

interface Props {
  form: CaptureForm;
  errors: FormErrors;
  recent: readonly string[];
  onChange: (patch: Partial<CaptureForm>) => void;
}

const LEVELS: Readonly<
  Record<"hostLevel" | "deviceLevel" | "pythonLevel", { label: string; help: string; choices: readonly [string, string][] }>
> = {
  hostLevel: {
    label: "Host trace (TraceMe) level",
    help: "Amount of detail recorded on the host. Some tools have no data below level info.",
    choices: [
      ["0", "disable"],
      ["1", "critical"],
      ["2", "info"],
      ["3", "verbose"],
    ],
  },
  deviceLevel: {
    label: "Device trace level",
    help: "Whether TPUs and GPUs are recorded.",
    choices: [
      ["0", "disable"],
      ["1", "enable"],
    ],
  },
  pythonLevel: {
    label: "Python trace level",
    help: "Records every Python call; this is slow and makes large profiles.",
    choices: [
      ["0", "disable"],
      ["1", "enable"],
    ],
  },
};

/** One field with its label and its error or hint. */
function Field({
  label,
  error,
  hint,
  children,
}: {
  label: string;
  error?: string | undefined;
  hint?: string | undefined;
  children: (id: string, describedBy: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="capture-field">
      <label for={id}>{label}</label>
      {children(id, `${id}-note`)}
      <p id={`${id}-note`} class={error ? "capture-error" : "capture-hint"} role={error ? "alert" : undefined}>
        {error ?? hint ?? ""}
      </p>
    </div>
  );
}

export function CaptureFields({ form, errors, recent, onChange }: Props) {
  const several = workerCount(form) > 1;
  const opening = useRef(true);
  /** The address of last time is selected when the dialog opens, so that typing replaces it. */
  const chosen = (event: FocusEvent): void => {
    if (opening.current) (event.currentTarget as HTMLInputElement).select();
    opening.current = false;
  };
  const text =
    (name: "service" | "duration" | "workers" | "retries" | "delay", extra: Record<string, unknown> = {}) =>
    (id: string, note: string) => (
      <input
        id={id}
        class="field wide-field"
        name={name}
        value={form[name]}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={errors[name] !== undefined}
        aria-describedby={note}
        onInput={(event) => onChange({ [name]: event.currentTarget.value })}
        {...extra}
      />
    );
  return (
    <>
      <Field
        label="Profile service URL(s) or TPU name(s)"
        error={errors.service}
        hint={
          form.kind === "ip"
            ? "Host and port of the profiler server in your program; several separated by commas."
            : "Names of Cloud TPUs in the zone of this server; several separated by commas."
        }
      >
        {text("service", {
          placeholder: "localhost:6009,localhost:6010",
          list: "capture-recent",
          autofocus: true,
          required: true,
          onFocus: chosen,
        })}
      </Field>
      <datalist id="capture-recent">
        {recent.map((address) => (
          <option key={address} value={address} />
        ))}
      </datalist>
      <fieldset class="capture-kind">
        <legend>Address type</legend>
        {(["ip", "tpu"] as const).map((kind) => (
          <label key={kind}>
            <input type="radio" name="kind" value={kind} checked={form.kind === kind} onChange={() => onChange({ kind })} />{" "}
            {kind === "ip" ? "IP address" : "TPU name"}
          </label>
        ))}
      </fieldset>
      {form.kind === "tpu" ? (
        <Field
          label="Subset of worker TPUs to profile (optional)"
          error={errors.workers}
          hint="Addresses of workers, separated by commas; empty means all."
        >
          {text("workers", { placeholder: "10.0.0.2,10.0.0.3" })}
        </Field>
      ) : null}
      <div class="capture-grid">
        <Field label="Profiling duration (ms)" error={errors.duration}>
          {text("duration", { inputMode: "numeric" })}
        </Field>
        {(["hostLevel", "deviceLevel", "pythonLevel"] as const).map((name) => (
          <Field key={name} label={LEVELS[name].label}>
            {(id) => (
              <select
                id={id}
                class="field wide-field"
                name={name}
                value={form[name]}
                data-tip={LEVELS[name].help}
                onChange={(event) => onChange({ [name]: event.currentTarget.value })}
              >
                {LEVELS[name].choices.map(([value, label]) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        ))}
      </div>
      <details class="capture-advanced">
        <summary>Advanced options</summary>
        <div class="capture-grid">
          <Field
            label="Retries if the profile is empty (0 to 20)"
            error={errors.retries}
            hint="Attempts after the first one, also while the program is busy or cannot be reached yet."
          >
            {text("retries", { inputMode: "numeric" })}
          </Field>
          <Field
            label="Delay the start of profiling (milliseconds)"
            error={errors.delay}
            hint={several ? "Empty: 3000, so that all workers start together." : "Empty: none."}
          >
            {text("delay", { inputMode: "numeric", placeholder: several ? "3000" : "0" })}
          </Field>
        </div>
        <ExtraOptions form={form} error={errors.extra} onChange={onChange} />
      </details>
    </>
  );
}

/** Rows of name and value that are passed to the profiler unchanged. */
function ExtraOptions({ form, error, onChange }: { form: CaptureForm; error: string | undefined; onChange: Props["onChange"] }) {
  const change = (at: number, patch: { key?: string; value?: string }): void =>
    onChange({ extra: form.extra.map((row, i) => (i === at ? { ...row, ...patch } : row)) });
  return (
    <fieldset class="capture-extra">
      <legend>Extra options, passed to the profiler unchanged</legend>
      {form.extra.map((row, i) => (
        <div key={i} class="capture-extra-row">
          <input
            class="field"
            aria-label={`Name of option ${i + 1}`}
            placeholder="tpu_trace_mode"
            value={row.key}
            onInput={(event) => change(i, { key: event.currentTarget.value })}
          />
          <input
            class="field"
            aria-label={`Value of option ${i + 1}`}
            placeholder="value"
            value={row.value}
            onInput={(event) => change(i, { value: event.currentTarget.value })}
          />
          <button
            type="button"
            class="button ghost"
            aria-label={`Remove option ${i + 1}`}
            onClick={() => onChange({ extra: form.extra.filter((_, at) => at !== i) })}
          >
            ✕
          </button>
        </div>
      ))}
      {error ? (
        <p class="capture-error" role="alert">
          {error}
        </p>
      ) : null}
      <button type="button" class="button" onClick={() => onChange({ extra: [...form.extra, { key: "", value: "" }] })}>
        Add an option
      </button>
    </fieldset>
  );
}
