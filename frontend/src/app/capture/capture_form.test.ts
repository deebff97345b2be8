import { beforeEach, describe, expect, it } from "vitest";
import { addressError, check, DEFAULTS, presetsOf, ready, recentAddresses, rememberAddress, requestOf } from "./capture_form";

const form = (patch: Partial<typeof DEFAULTS>) => ({ ...DEFAULTS, ...patch });

describe("validation of addresses", () => {
  it.each(["localhost:6009", "grpc://worker-0.lab:9012", "127.0.0.1:1", "[::1]:9012", "under_score:80"])("takes %s", (text) => {
    expect(addressError(text)).toBeNull();
  });
  it.each([
    ["localhost", "the port is missing"],
    ["localhost:0", "1 to 65535"],
    ["localhost:70000", "1 to 65535"],
    ["localhost:x", "1 to 65535"],
    ["::1:9012", "in brackets"],
    ["http://a:1", "the only scheme allowed"],
    ["a b:1", "not a host name"],
    [":1", "not a host name"],
  ])("refuses %s", (text, words) => {
    expect(addressError(text)).toContain(words);
  });
});

describe("the form", () => {
  it("starts with the defaults and without an address", () => {
    expect(DEFAULTS).toMatchObject({ duration: "1000", hostLevel: "2", deviceLevel: "1", pythonLevel: "0", retries: "3", kind: "ip" });
    expect(check(DEFAULTS)).toEqual({});
    expect(ready(DEFAULTS)).toBe(false);
    expect(ready(form({ service: "localhost:1, localhost:2" }))).toBe(true);
  });
  it("reports errors by field", () => {
    const errors = check(form({ service: "a:1,b", duration: "0", retries: "x", delay: "-1", extra: [{ key: "", value: "1" }] }));
    expect(Object.keys(errors).sort()).toEqual(["delay", "duration", "extra", "retries", "service"]);
    expect(errors.service).toContain("b: the port is missing");
  });
  it("distinguishes TPU names from addresses", () => {
    expect(ready(form({ kind: "tpu", service: "my-tpu" }))).toBe(true);
    expect(check(form({ kind: "tpu", service: "my-tpu, other-tpu" }))).toEqual({});
    expect(check(form({ kind: "tpu", service: "host:1" })).service).toContain("choose IP address");
    expect(check(form({ kind: "tpu", service: "my-tpu", workers: "10.0.0.2,10.0.0.3:8466" }))).toEqual({});
  });
  it("builds the request", () => {
    const made = requestOf(
      form({
        service: " a:1 , b:2,",
        retries: "0",
        extra: [
          { key: " tpu_x ", value: " 1 " },
          { key: "", value: "" },
        ],
      }),
    );
    expect(made).toMatchObject({ service_addr: "a:1,b:2", retries: 0, delay_ms: null, is_tpu_name: false, advanced: { tpu_x: "1" } });
  });
});

describe("recent addresses", () => {
  beforeEach(() => window.localStorage.clear());
  it("remembers the newest first, each once, at most eight", () => {
    for (let i = 0; i < 10; i++) rememberAddress(`h:${i + 1}`);
    rememberAddress("h:5");
    expect(recentAddresses().slice(0, 2)).toEqual(["h:5", "h:10"]);
    expect(recentAddresses()).toHaveLength(8);
  });
  it("ignores invalid values in the storage", () => {
    window.localStorage.setItem("profile-capture-recent", "{");
    expect(recentAddresses()).toEqual([]);
  });
});

it("takes levels and duration from a link, never an address", () => {
  expect(presetsOf("python_tracer_level=1&duration_ms=2000")).toEqual({ pythonLevel: "1", duration: "2000" });
  expect(presetsOf("service_addr=evil:1&python_tracer_level=9&host_tracer_level=x&on")).toEqual({});
});
