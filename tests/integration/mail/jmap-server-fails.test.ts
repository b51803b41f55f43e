import { describe, expect, test } from "bun:test";
import { isOutOfReach } from "../../../src/services/mail/binding.ts";
import { watchArrivals } from "../../../src/services/mail/jmap/changes.ts";
import { createJmapClient } from "../../../src/services/mail/jmap/client.ts";
import { createSubmission } from "../../../src/services/mail/jmap/submission.ts";
import { EmailState } from "../../../src/services/mail/jmap/wire.ts";
import { createClock } from "../../../src/system/clock.ts";
import { messageOf, ServiceError } from "../../../src/system/errors.ts";
import { createIds } from "../../../src/system/ids.ts";
import { type ScriptedJmap, startScriptedJmap } from "../../support/scripted-jmap.ts";
import { createTestSignal } from "../../support/until.ts";
import * as recorded from "../../unit/mail/jmap/recorded.ts";

const state = [["Email/get", { ids: [] }, "s"]] as const;
const message = {
  to: ["ben@svc.localhost"],
  cc: [],
  subject: "S",
  body: "secret words",
  attachments: [],
  inReplyTo: [],
  references: [],
};
const sentId = "h74fj9bl4trqz79jcmsg2mjk";
const draftsId = "169359hqcy4klfzc5dtncyd2";

async function failure(work: Promise<unknown>): Promise<ServiceError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ServiceError)) throw new Error(`not refused: ${messageOf(error)}`);
  return error;
}

function submissionOf({ client }: ScriptedJmap) {
  return createSubmission({ client, ids: createIds(), address: "ada@svc.localhost" });
}

/** A server that takes a draft and says `submitted` to its submission. */
function takingDrafts(fixture: ScriptedJmap, submitted: object | object[]): Record<string, unknown>[] {
  const sets: Record<string, unknown>[] = [];
  fixture.answers["Email/set"] = (args) => {
    sets.push(args);
    return "create" in args ? { created: { draft: { id: "M1" } } } : { destroyed: ["M1"] };
  };
  fixture.answers["EmailSubmission/set"] = () => submitted as never;
  fixture.answers["Email/get"] = () => ({
    state: "1",
    list: [{ ...recorded.email, id: "M1", mailboxIds: { [sentId]: true } }],
  });
  return sets;
}

describe("a JMAP server that fails", () => {
  test("is read once more when it is overloaded, and written to only once", async () => {
    await using fixture = startScriptedJmap();
    fixture.answers["Email/get"] = () => ({ state: "7", list: [] });
    let turnedAway = 0;
    fixture.beforeCall = () => (turnedAway++ < 2 ? new Response("", { status: 503 }) : null);
    const answers = await fixture.client.call(state, { safe: true });
    expect([answers.of(EmailState, "Email/get", "s").state, turnedAway]).toEqual(["7", 3]);
    turnedAway = 0;
    const error = await failure(fixture.client.call(state, { safe: false }));
    expect([error.reason, error.data?.["reached"], turnedAway]).toEqual(["transport_failed", true, 1]);
  });

  test("by silence is given up in time", async () => {
    await using fixture = startScriptedJmap({ timeoutMs: 100 });
    fixture.beforeCall = () => new Promise<Response>(() => {});
    const error = await failure(fixture.client.call(state, { safe: true }));
    expect([error.reason, error.message]).toEqual([
      "transport_failed",
      expect.stringContaining("no answer within 100 ms"),
    ]);
  });

  test("by nonsense, an error page or the wrong login is a failure of the transport that keeps the password", async () => {
    await using fixture = startScriptedJmap();
    for (const body of ["<html>", "[]", '{"methodResponses": 1}', '{"methodResponses": []}']) {
      fixture.beforeCall = () => new Response(body);
      const work = fixture.client
        .call(state, { safe: true })
        .then((found) => found.of(EmailState, "Email/get", "s"));
      expect((await failure(work)).reason).toBe("transport_failed");
    }
    await using other = startScriptedJmap({ session: { primaryAccounts: {} } });
    expect((await failure(other.client.session())).message).toContain("no mail account");
    const login = () => ({ identity: "ada", password: "not-the-secret" });
    const wrong = createJmapClient({ clock: createClock(), url: fixture.url, login });
    const error = await failure(wrong.session());
    expect(error.message).toContain("refuses the login");
    expect(JSON.stringify([error.message, error.data, String(error.cause)])).not.toContain("secret");
  });
});

describe("a message that the server does not send", () => {
  test("is taken back, and the caller is given the reason", async () => {
    await using fixture = startScriptedJmap();
    const refused = { notCreated: { it: { type: "invalidRecipients", description: "who is that" } } };
    const sets = takingDrafts(fixture, refused);
    const error = await failure(submissionOf(fixture).send(message));
    expect([error.reason, error.message]).toEqual([
      "invalid_request",
      "the message was not sent: invalidRecipients (who is that)",
    ]);
    expect(sets.map((one) => ("create" in one ? "create" : one["destroy"]))).toEqual(["create", ["M1"]]);
    expect(error.message).not.toContain("secret words");
  });

  test("never looks sent: it is a draft until the server took it", async () => {
    await using fixture = startScriptedJmap();
    const sets = takingDrafts(fixture, { error: { type: "serverFail" } });
    const error = await failure(submissionOf(fixture).send(message));
    expect(error.reason).toBe("transport_failed");
    expect(sets[0]?.["create"]).toMatchObject({ draft: { mailboxIds: { [draftsId]: true } } });
  });

  test("that cannot be made is refused before anything is submitted", async () => {
    await using fixture = startScriptedJmap();
    fixture.answers["Email/set"] = () => ({ notCreated: { draft: { type: "tooLarge" } } });
    fixture.answers["EmailSubmission/set"] = () => ({ notCreated: { it: { type: "invalidProperties" } } });
    const error = await failure(submissionOf(fixture).send(message));
    expect([error.reason, error.message]).toEqual([
      "invalid_request",
      expect.stringContaining("nothing was sent"),
    ]);
    expect(fixture.calls).not.toContain("Email/query");
  });

  test("but stays in drafts although it was sent is filed", async () => {
    await using fixture = startScriptedJmap();
    const sets = takingDrafts(fixture, { created: { it: { id: "S1" } } });
    const { email } = await submissionOf(fixture).send(message);
    expect(email.mailboxIds).toEqual({ [sentId]: true });
    expect(sets[1]).toMatchObject({
      update: { M1: { [`mailboxIds/${sentId}`]: true, "keywords/$draft": null } },
    });
  });

  test("whose answer is lost is found by its id, and is not sent a second time", async () => {
    await using fixture = startScriptedJmap();
    const sets = takingDrafts(fixture, { created: { it: { id: "S1" } } });
    fixture.answers["Email/query"] = () => ({ ids: ["M1"] });
    let posts = 0;
    // Boxes and identity are read before; the third request is the one that sends.
    fixture.beforeCall = () => (++posts === 3 ? Response.json({}, { status: 500 }) : null);
    const { email } = await submissionOf(fixture).send(message);
    expect([email.id, sets]).toEqual(["M1", []]);
  });
});

test("a message whose fate is not known is not handed to somebody else to send", async () => {
  await using fixture = startScriptedJmap();
  const sets = takingDrafts(fixture, { created: { it: { id: "S1" } } });
  const submission = submissionOf(fixture);
  let posts = 0;
  fixture.beforeCall = () => (++posts >= 3 ? Response.json({}, { status: 500 }) : null);
  const error = await failure(submission.send(message));
  expect([error.reason, error.message]).toEqual(["transport_failed", expect.stringContaining("not known")]);
  expect(isOutOfReach(error)).toBe(false);
  // The server works again, and it turns out that it holds the message as a draft: that one is sent.
  fixture.beforeCall = () => null;
  fixture.answers["Email/query"] = () => ({ ids: ["M1"] });
  fixture.answers["Email/get"] = () => ({
    state: "1",
    list: [{ ...recorded.email, id: "M1", mailboxIds: { [draftsId]: true } }],
  });
  await submission.send(message);
  expect(sets.filter((one) => "create" in one)).toEqual([]);
  expect(fixture.calls.filter((name) => name === "EmailSubmission/set")).toHaveLength(1);
});

test("a server that is not there did nothing", async () => {
  const gone = startScriptedJmap();
  await gone[Symbol.asyncDispose]();
  const error = await failure(submissionOf(gone).send(message));
  expect([error.reason, isOutOfReach(error), error.data?.["reached"]]).toEqual([
    "transport_failed",
    true,
    false,
  ]);
});

describe("the doorbell", () => {
  test("notifies by the server's stream, and once more whenever the stream begins again", async () => {
    await using fixture = startScriptedJmap();
    const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
    const bytes = new TextEncoder();
    const say = (text: string) => streams.at(-1)?.enqueue(bytes.encode(text));
    fixture.events = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            streams.push(controller);
            // Until something is written the answer has not begun.
            say(": welcome\n\n");
          },
        }),
        {
          headers: { "content-type": "text/event-stream" },
        },
      );
    const rings = createTestSignal<void>();
    const end = watchArrivals({
      client: fixture.client,
      clock: createClock(),
      pollMs: 60_000,
      notify: rings.emit,
    });
    await rings.until("the stream begins", () => rings.values.length === 1);
    say('event: ping\ndata: {"interval":30}\n\n: a comment\n\n');
    say('id: 5\nevent: state\ndata: {"changed"');
    say(":{}}\n\n");
    await rings.until("the event rings", () => rings.values.length === 2);
    streams.at(-1)?.close();
    await rings.until("the stream begins anew", () => streams.length === 2 && rings.values.length === 3);
    end();
    expect(rings.values.length).toBe(3);
  });

  test("notifies by looking where nothing is pushed, for new mail only", async () => {
    await using fixture = startScriptedJmap();
    let mail: string[] = [];
    const looks = createTestSignal<void>();
    fixture.answers["Email/get"] = () => ({ state: "1", list: [] });
    fixture.answers["Email/changes"] = () => {
      const created = mail;
      mail = [];
      looks.emit();
      return { newState: String(looks.values.length + 1), hasMoreChanges: false, created };
    };
    const rings = createTestSignal<void>();
    const end = watchArrivals({
      client: fixture.client,
      clock: createClock(),
      pollMs: 20,
      notify: rings.emit,
    });
    await rings.until("it begins", () => rings.values.length === 1);
    await looks.until("it looks and sees nothing", () => looks.values.length > 3);
    expect(rings.values.length).toBe(1);
    mail = ["M1"];
    await rings.until("it sees new mail", () => rings.values.length === 2);
    end();
  });
});
