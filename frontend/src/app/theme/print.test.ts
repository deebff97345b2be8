import { expect, it } from "vitest";
import { printInLight } from "./print";

it("prints in the light theme and restores the chosen one", () => {
  const { dataset } = document.documentElement;
  dataset["theme"] = "dark";
  printInLight();
  window.dispatchEvent(new Event("beforeprint"));
  expect(dataset["theme"]).toBe("light");
  window.dispatchEvent(new Event("afterprint"));
  expect(dataset["theme"]).toBe("dark");
});
