import { describe, expect, it, onTestFinished } from "vitest";
import { render } from "preact";
import { unmount } from "../../base/testing";
import { endOf, LongName } from "./long_name";

describe("long names", () => {
  it("keep the last members of a path that have room", () => {
    expect(endOf("BertModel_0/BertEncoder_0/BertSelfAttention_0/Linear_1/aten::addmm")).toBe("/Linear_1/aten::addmm");
    expect(endOf("Encoder_0/Linear_25/aten::addmm/Kernel2<bf16_64x3>")).toBe("/Kernel2<bf16_64x3>");
    expect(endOf("Linear_1/aten::addmm")).toBe("");
    expect(endOf("a_very_long_name_of_a_kernel_without_a_path")).toBe("");
    expect(endOf("path/kernel_whose_own_name_is_long_as_well")).toBe("");
  });

  it("have the whole name as text", () => {
    const at = document.createElement("div");
    onTestFinished(() => unmount(at));
    render(<LongName name="BertModel_0/BertEncoder_0/Linear_1/aten::addmm" />, at);
    expect(at.textContent).toBe("BertModel_0/BertEncoder_0/Linear_1/aten::addmm");
    expect([...at.querySelectorAll("span")].map((part) => part.textContent)).toEqual([
      "BertModel_0/BertEncoder_0",
      "/Linear_1/aten::addmm",
    ]);
  });
});
