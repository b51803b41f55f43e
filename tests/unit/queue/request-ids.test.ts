import { describe, expect, test } from "bun:test";
import { createRequestIds } from "../../../src/services/queue/acceptance.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setup(...draws: string[]) {
  const clock = createFakeClock(Date.UTC(2026, 10, 21, 4, 47));
  const ids = { hex: () => draws.shift() ?? "none left", uuid: () => "" };
  return { clock, next: createRequestIds({ clock, ids }) };
}

describe("request ids", () => {
  test("contain the second and count up within it from a random start", () => {
    const { next } = setup("00000010");
    expect([next(), next(), next()]).toEqual([
      "gwreq-20261121-044700Z-00000008",
      "gwreq-20261121-044700Z-00000009",
      "gwreq-20261121-044700Z-0000000a",
    ]);
  });

  test("start again in another second", async () => {
    const { clock, next } = setup("00000010", "00000100");
    next();
    await clock.advance(1000);
    expect(next()).toBe("gwreq-20261121-044701Z-00000080");
  });

  test("have eight digits for every start of the count", () => {
    const { next } = setup("ffffffff");
    next();
    expect(next()).toBe("gwreq-20261121-044700Z-80000000");
  });
});
