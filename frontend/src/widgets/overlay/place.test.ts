import { expect, it } from "vitest";
import { placeBeside } from "./place";

const view = { width: 720, height: 450 };
const box = { width: 200, height: 150 };

it("places a box below its element", () => {
  expect(placeBeside({ left: 100, top: 40, bottom: 60 }, box, view)).toEqual({ left: 100, top: 64, bottom: null, room: 378 });
});

it("keeps it from the left and the right edge", () => {
  expect(placeBeside({ left: 690, top: 40, bottom: 60 }, box, view).left).toBe(512);
  expect(placeBeside({ left: -20, top: 40, bottom: 60 }, box, view).left).toBe(8);
  expect(placeBeside({ left: 300, top: 40, bottom: 60 }, { width: 900, height: 10 }, view).left).toBe(8);
});

it("places it above if there is too little room below, and more above", () => {
  expect(placeBeside({ left: 100, top: 400, bottom: 420 }, box, view)).toEqual({ left: 100, top: null, bottom: 54, room: 388 });
  // Neither side has room for it: the larger one is taken and the box scrolls.
  expect(placeBeside({ left: 100, top: 200, bottom: 220 }, { width: 200, height: 900 }, view)).toMatchObject({ top: 224, room: 218 });
});
