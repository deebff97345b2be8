import { expect, it } from "vitest";
import { followTab, setTitle } from "./title";

it("names tool and run", () => {
  setTitle(["Overview", "train"]);
  expect(document.title).toBe("Overview · train · Profile");
  setTitle([undefined, "train"]);
  expect(document.title).toBe("train · Profile");
});

it("is the tab's while TensorBoard shows the plugin, then TensorBoard's again", () => {
  setTitle(["Overview", "train"]);
  const tab = { location: { search: "", hash: "#profile" }, document: { title: "TensorBoard" } };
  const own = { parent: tab } as unknown as Window;
  followTab(own);
  expect(tab.document.title).toBe("Overview · train · Profile");
  tab.location.hash = "#scalars";
  followTab(own);
  expect(tab.document.title).toBe("TensorBoard");
});
