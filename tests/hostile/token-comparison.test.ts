import { describe, expect, test } from "bun:test";
import { equalInConstantTime } from "../../src/routes/http/gate.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Bytes that note where they are looked at. */
function watched(text: string) {
  const looks: number[] = [];
  const shown = new Proxy(bytes(text), {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) looks.push(Number(key));
      return Reflect.get(target, key, target);
    },
  });
  return { shown, looks };
}

const token = "correct-horse";

describe("the comparison of a token", () => {
  test.each([
    { id: "the token", text: token, equal: true },
    { id: "wrong from the first byte", text: "xorrect-horse", equal: false },
    { id: "wrong in the last byte", text: "correct-horsx", equal: false },
    { id: "wrong in every byte", text: "xxxxxxxxxxxxx", equal: false },
    { id: "its beginning", text: "correct", equal: false },
    { id: "the token and more", text: `${token}x`, equal: false },
    { id: "the token twice", text: token + token, equal: false },
    { id: "nothing", text: "", equal: false },
  ])("looks at each byte shown once, in order, whatever is right: $id", ({ text, equal }) => {
    const { shown, looks } = watched(text);
    expect(equalInConstantTime(shown, bytes(token))).toBe(equal);
    expect(looks).toEqual([...text].map((_, at) => at));
  });

  test("looks at bytes of the token as often, however long it is", () => {
    for (const length of [1, 7, 13, 40]) {
      const { shown: kept, looks } = watched("k".repeat(length));
      equalInConstantTime(bytes("x".repeat(13)), kept);
      expect(looks).toHaveLength(13);
    }
  });
});
