import { describe, expect, it, onTestFinished } from "vitest";
import { render } from "preact";
import { unmount } from "../../base/testing";
import { endOf, LongName } from "./long_name";

describe("long names", () => {
  it("are paths of more than four members, of which the last three are the end", () => {
    expect(endOf("BertModel_0/BertEncoder_0/SelfAttention_0/Linear_1/aten::addmm")).toBe("/SelfAttention_0/Linear_1/aten::addmm");
    expect(endOf("Encoder_0/Layer_3/Linear_25/aten::addmm/Kernel2<a, b>")).toBe("/Linear_25/aten::addmm/Kernel2<a, b>");
    expect(endOf("Encoder_0/Linear_1/aten::addmm/Kernel2")).toBe("");
    expect(endOf("a_very_long_name_of_a_kernel_without_a_path")).toBe("");
  });

  it("have the whole name as text", () => {
    const at = document.createElement("div");
    onTestFinished(() => unmount(at));
    render(<LongName name="Bert_0/Encoder_0/Layer_2/Linear_1/aten::addmm" />, at);
    expect(at.textContent).toBe("Bert_0/Encoder_0/Layer_2/Linear_1/aten::addmm");
    expect([...at.querySelectorAll("span")].map((part) => part.textContent)).toEqual(["Bert_0/Encoder_0", "/Layer_2/Linear_1/aten::addmm"]);
  });
});
