import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { notifierStoreOn } from "../../../src/db/gateway/notifier-store.ts";
import { openGatewayDatabase, requestStoreOn } from "../../../src/db/gateway/request-store.ts";
import { defaultNotifierConfig } from "../../../src/services/notifier/config.ts";
import { messageOf, ServiceError } from "../../../src/system/errors.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { storageFaultOf } from "../../../src/system/storage-fault.ts";
import { createSystem } from "../../../src/system/system.ts";
import { createMailRootFixture } from "../../support/mail-root.ts";
import { draft, everything } from "../../support/mail-story.ts";
import { createScratch } from "../../support/scratch.ts";

const { clock } = createSystem();
const secret = "words of a prompt";

/** `set`: one SQL assignment. */
function damage(path: string, table: string, set: string): void {
  const database = new Database(path);
  try {
    database.run(`UPDATE ${table} SET ${set}`);
  } finally {
    database.close();
  }
}

function faultOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error;
  }
  throw new Error("a damaged column was read");
}

describe("a damaged column of queue.sqlite is a damaged database, named without its value", () => {
  test.each([
    {
      id: "payload that is not JSON",
      set: `payload_json = '{"prompt": "${secret}'`,
      names: "payload_json of gwreq-1",
    },
    { id: "payload that is a list", set: `payload_json = '["${secret}"]'`, names: "payload_json of gwreq-1" },
    { id: "result that is a text", set: `result_json = '"${secret}"'`, names: "result_json of gwreq-1" },
    {
      id: "evidence that is an object",
      set: `evidence_json = '{"a": "${secret}"}'`,
      names: "evidence_json of gwreq-1",
    },
    {
      id: "evidence without its time",
      set: `evidence_json = '[{"step": "typed", "proof": "p"}]'`,
      names: "evidence_json of gwreq-1",
    },
  ])("$id", async ({ set, names }) => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    const database = openGatewayDatabase({ path, clock, steps: quietSteps });
    const store = requestStoreOn(database);
    try {
      await store.insertAccepted({
        requestId: "gwreq-1",
        kind: "submit_prompt",
        lane: "turn_boundary",
        payload: { prompt: secret },
        acceptedAtUtc: "2026-11-21T04:47:00.000+00:00",
        epoch: 1,
      });
      expect(store.get("gwreq-1")?.payload).toEqual({ prompt: secret });
      damage(path, "gateway_requests", set);
      for (const read of [() => store.get("gwreq-1"), () => store.heads()]) {
        const error = faultOf(read);
        expect(storageFaultOf(error)?.fault).toBe("damaged");
        expect(messageOf(error)).toContain(names);
        expect(messageOf(error)).not.toContain(secret);
      }
    } finally {
      store.close();
    }
  });

  test.each([
    { id: "settings that are not JSON", set: "config_json = '{'" },
    { id: "settings that are a list", set: "config_json = '[]'" },
    { id: "settings of another kind", set: `config_json = '{"enabled": "yes"}'` },
  ])("$id of the notifier", ({ set }) => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    const database = openGatewayDatabase({ path, clock, steps: quietSteps });
    const store = notifierStoreOn(database);
    try {
      store.saveConfig(defaultNotifierConfig, "2026-11-21T04:47:00.000+00:00");
      expect(store.read()?.config).toEqual(defaultNotifierConfig);
      damage(path, "gateway_mail_notifier", set);
      const error = faultOf(() => store.read());
      expect(storageFaultOf(error)?.fault).toBe("damaged");
      expect(messageOf(error)).toContain("config_json of the notifier");
    } finally {
      database.close();
    }
  });

  test("settings of an earlier and of a later version are read", () => {
    using scratch = createScratch();
    const path = scratch.path("queue.sqlite");
    const database = openGatewayDatabase({ path, clock, steps: quietSteps });
    const store = notifierStoreOn(database);
    try {
      store.saveConfig(defaultNotifierConfig, "2026-11-21T04:47:00.000+00:00");
      damage(path, "gateway_mail_notifier", "config_json = json_remove(config_json, '$.max_wakes_per_hour')");
      expect(store.read()?.config).toEqual(defaultNotifierConfig);
      damage(path, "gateway_mail_notifier", "config_json = json_set(config_json, '$.of_a_later_version', 1)");
      expect(store.read()?.config).toMatchObject(defaultNotifierConfig);
    } finally {
      database.close();
    }
  });
});

describe("a damaged row of a mailbox", () => {
  test.each([
    { id: "no JSON", value: "{" },
    { id: "no envelope", value: '{"subject": "planted"}' },
    { id: "recipients without addresses", value: '{"to": [1]}' },
  ])("is read from the file of its message: $id", async ({ value }) => {
    using fixture = createMailRootFixture();
    const [ada, ben] = [fixture.mailbox("ada"), fixture.mailbox("ben")];
    await ada.send(draft("ben", "one"));
    await ada.send(draft("ben", "two"));
    fixture.putOnDisk();
    const [first] = (await ben.list(everything)).messages;
    const state = join(fixture.path, "mailboxes/ben@svc.localhost/mailbox.sqlite");
    damage(state, "message_state", `envelope_json = '${value}' WHERE subject = 'one'`);
    expect((await ben.list(everything)).messages.map(({ subject }) => subject)).toEqual(["two", "one"]);
    expect((await ben.list(everything)).messages[0]).toEqual(first as never);
    rmSync(join(fixture.path, "messages"), { recursive: true });
    const lost = await ben.list(everything).catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(ServiceError);
    expect((lost as ServiceError).reason).toBe("transport_failed");
    expect(messageOf(lost)).toContain("a repair rebuilds it");
  });
});
