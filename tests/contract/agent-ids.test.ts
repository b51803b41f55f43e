import { describe, expect, test } from "bun:test";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { surfaces } from "../support/http-surface.ts";

const longestId = `${"a".repeat(128)}@${"b".repeat(63)}`;
const many = (count: number, id: string) => Array.from({ length: count }, () => id).join(",");

describe.each(surfaces)("a list of agents in a query $surface", ({ open }) => {
  test.each([
    ["an id", "a", 200],
    ["an id of this host and one of another", "a,0b1c@build-1", 200],
    ["64 of the longest ids", many(64, longestId), 200],
    ["65 ids", many(65, "a"), 422],
    // Encoded, 8,192 of them are more than a server reads of an address.
    ["another character", "^", 422],
    ["an id that is too long", "a".repeat(129), 422],
    ["an id with no host behind it", "a@", 422],
    ["nothing", "", 422],
    ["an empty id", "a,", 422],
  ])("is %s", async (_, agents, status) => {
    await using bundle = createCoordinatorBundle();
    await using http = open((request) => bundle.app.fetch(request));
    const query = new URLSearchParams({ agents });
    expect((await http.request(`/svc/agent-states?${query}`)).status).toBe(status);
  });
});
