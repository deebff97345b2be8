import { describe, expect, it } from "vitest";
import { ApiError, errorFromBody } from "../../api/error";
import { explain } from "./explain";

describe("explain", () => {
  const corrupt = (message: string, details = {}) =>
    explain(new ApiError(422, "corrupt_profile", message, { file: "h.xplane.pb", offset: 123456, ...details }));

  it("names file and byte", () => {
    const words = corrupt("Unknown wire type 7.");
    expect(words.title).toBe("The profile file is damaged");
    expect(words.why).toBe("Unknown wire type 7. File h.xplane.pb, byte 123,456.");
  });

  it("distinguishes truncated, empty and damaged files", () => {
    expect(corrupt("The message is truncated.").title).toBe("The profile file is truncated");
    expect(corrupt("The file is empty (0 bytes).", { offset: 0 }).title).toBe("The profile file is empty");
  });

  it("distinguishes missing data from failures", () => {
    expect(explain(new ApiError(404, "no_data", "No TPU in this profile.")).tone).toBe("empty");
    expect(explain(new ApiError(404, "run_not_found", "x"), { run: "a/b" }).title).toBe("There is no run named a/b");
    expect(explain(errorFromBody(502, "<html>Bad gateway", "u")).why).toBe("The server answered 502.");
    expect(explain(new Error("boom")).why).toBe("boom");
  });
});
