import { describe, expect, test } from "bun:test";
import { createGroupCommit } from "../../../src/db/group-commit.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function recorded() {
  const batches: string[][] = [];
  const group = createGroupCommit<string, string>((items) => {
    batches.push([...items]);
    if (items.includes("bad")) throw new Error("refused");
    return items.map((item) => `stored ${item}`);
  });
  return { batches, group };
}

describe("a group commit", () => {
  test("stores what came in one turn of the event loop at once and answers each with its own", async () => {
    const { batches, group } = recorded();
    expect(await Promise.all([group.add("a"), group.add("b")])).toEqual(["stored a", "stored b"]);
    expect(batches).toEqual([["a", "b"]]);
  });

  test("goes on gathering while each turn brings more", async () => {
    const { batches, group } = recorded();
    const first = [group.add("a"), group.add("b")];
    await turn();
    const second = group.add("c");
    await Promise.all([...first, second]);
    expect(batches).toEqual([["a", "b", "c"]]);
  });

  test("lets one caller alone wait for no other", async () => {
    const { batches, group } = recorded();
    const alone = group.add("a");
    await turn();
    expect(batches).toEqual([["a"]]);
    await alone;
  });

  test("waits for nobody more once it has gathered 256", async () => {
    const { batches, group } = recorded();
    const many = Array.from({ length: 256 }, (_, index) => group.add(`${index}`));
    await turn();
    expect(batches.map(({ length }) => length)).toEqual([256]);
    await Promise.all(many);
  });

  test("refuses only what was bad", async () => {
    const { batches, group } = recorded();
    const answers = await Promise.allSettled(["a", "bad", "b"].map((item) => group.add(item)));
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(batches).toEqual([["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
  });
});
