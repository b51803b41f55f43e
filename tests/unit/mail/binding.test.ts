import { describe, expect, test } from "bun:test";
import type { MailboxBinding, Manifest } from "../../../src/protocol/files.ts";
import {
  bindingOf,
  createMailBinding,
  isOutOfReach,
  type MailboxOpener,
} from "../../../src/services/mail/binding.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createFakeMail } from "../../support/fake-mailbox.ts";

const first: MailboxBinding = {
  transport: "filesystem",
  principal_id: "SVC-worker",
  address: "worker@svc.localhost",
  bindings_version: "2026-01-01T00:00:00.000001+00:00",
};
const second = {
  ...first,
  address: "other@svc.localhost",
  bindings_version: "2026-01-01T00:00:01.000001+00:00",
};

function setup() {
  const clock = createFakeClock();
  const mail = createFakeMail({ clock });
  let watcher: (() => void) | null = null;
  const opened: string[] = [];
  const closed: string[] = [];
  const facts: {
    binding: MailboxBinding | undefined;
    unreadable: Error | null;
    opening: () => void;
    obstacle: () => string | null;
  } = {
    binding: first,
    unreadable: null,
    opening: () => {},
    obstacle: () => null,
  };
  const opener: MailboxOpener = {
    open(binding) {
      facts.opening();
      opened.push(binding.address);
      return { ...mail.open(binding.address), close: () => void closed.push(binding.address) };
    },
    obstacle: () => facts.obstacle(),
    close: () => void closed.push("opener"),
  };
  const binding = createMailBinding({
    readBinding: () =>
      bindingOf(() => {
        if (facts.unreadable) throw facts.unreadable;
        const launch_plan = facts.binding ? { mailbox: facts.binding } : {};
        return { agent_name: "worker", launch_plan } as unknown as Manifest;
      }),
    openers: { filesystem: opener },
    clock,
    watchBinding(listener) {
      watcher = listener;
      return () => {
        watcher = null;
      };
    },
  });
  const changed = () => watcher?.();
  return { clock, mail, binding, facts, opened, closed, changed, watched: () => watcher !== null };
}

describe("the mailbox of a manifest", () => {
  test("is opened once as long as the binding stays", () => {
    const at = setup();
    const { mailbox, bindingsVersion } = at.binding.bound();
    expect([mailbox.address, bindingsVersion]).toEqual([first.address, first.bindings_version]);
    expect(at.binding.current()).toBe(mailbox);
    expect(at.opened).toEqual([first.address]);
  });

  test("changes with the next call, and what was under way in the old one may end", async () => {
    const at = setup();
    at.binding.current();
    at.facts.binding = second;
    expect(at.binding.current().address).toBe(second.address);
    expect(at.closed).toEqual([]);
    await at.clock.advance(60_000);
    expect(at.closed).toEqual([first.address]);
    at.binding.close();
    expect(at.closed).toEqual([first.address, second.address, "opener"]);
    expect(at.clock.pending()).toBe(0);
  });

  test("is to be had once it is registered, without another start", () => {
    const at = setup();
    at.facts.binding = undefined;
    expect(() => at.binding.bound()).toThrow(
      expect.objectContaining({ data: { remedy: { code: "register_mailbox", agent_name: "worker" } } }),
    );
    expect(at.binding.supported()).toEqual({
      supported: false,
      error: expect.stringContaining("it has none"),
      remedy: { code: "register_mailbox", agent_name: "worker" },
    });
    at.facts.binding = first;
    expect(at.binding.supported()).toMatchObject({ supported: true, error: null });
  });

  test.each([
    {
      id: "a manifest that cannot be read",
      change: { unreadable: new Error("not valid JSON") },
      says: "not valid JSON",
    },
    {
      id: "a transport that nobody knows",
      change: { binding: { ...first, transport: "pigeon" } },
      says: '"pigeon"',
    },
    {
      id: "a name that every object has",
      change: { binding: { ...first, transport: "constructor" } },
      says: '"constructor"',
    },
    {
      id: "a registration that is gone",
      change: { obstacle: () => "not registered any more" },
      says: "not registered",
    },
  ])("$id is refused with its reason", ({ change, says }) => {
    const at = setup();
    Object.assign(at.facts, change);
    expect(() => at.binding.bound()).toThrow(says);
    expect(() => at.binding.bound()).toThrow(expect.objectContaining({ reason: "unsupported" }));
  });

  test("is out of reach only where it is not known", () => {
    const at = setup();
    const caught = (obstacle: () => string | null) => {
      at.facts.obstacle = obstacle;
      try {
        return at.binding.bound();
      } catch (error) {
        return error;
      }
    };
    expect(isOutOfReach(caught(() => "not registered any more"))).toBe(false);
    const absent = () => {
      throw new ServiceError("precondition_failed", "there is no mailbox root");
    };
    expect(isOutOfReach(caught(absent))).toBe(true);
    expect(isOutOfReach(new ServiceError("transport_failed", "x"))).toBe(true);
    expect(isOutOfReach(new Error("x"))).toBe(false);
  });

  test.each([
    { id: "opened", fails: "opening" as const, out: {} },
    { id: "reached", fails: "obstacle" as const, out: { out_of_reach: true } },
  ])("that cannot be $id says what can be done about it", ({ fails, out }) => {
    const at = setup();
    const remedy = { code: "repair_mailboxes" };
    at.facts[fails] = () => {
      throw new ServiceError("precondition_failed", "a box is missing", { data: { remedy } });
    };
    expect(() => at.binding.bound()).toThrow(
      expect.objectContaining({ reason: "unsupported", data: { remedy, ...out } }),
    );
    expect(at.binding.supported()).toMatchObject({ supported: false, remedy });
  });

  test("notifies a caller that listens, also after it was bound again", async () => {
    const at = setup();
    let rung = 0;
    const end = at.binding.onArrival(() => {
      rung += 1;
    });
    at.mail.open(first.address);
    const sender = at.mail.open("sender@svc.localhost");
    const send = (to: string) =>
      sender.send({
        to: [to],
        cc: [],
        subject: "x",
        body: "",
        attachments: [],
        notifyBlock: null,
        notifyAuth: null,
      });
    at.binding.current();
    await send(first.address);
    await Promise.resolve();
    expect(rung).toBe(1);
    at.facts.binding = second;
    at.binding.current();
    // There may be mail in it already.
    expect(rung).toBe(2);
    await send(second.address);
    await Promise.resolve();
    expect(rung).toBe(3);
    await send(first.address);
    await Promise.resolve();
    expect(rung).toBe(3);
    end();
    await send(second.address);
    await Promise.resolve();
    expect(rung).toBe(3);
  });

  test("is bound again and notifies when the manifest names another, unasked", () => {
    const at = setup();
    let rung = 0;
    at.changed();
    expect(at.opened).toEqual([]);
    at.binding.onArrival(() => {
      rung += 1;
    });
    const seen = (binding: MailboxBinding | undefined) => {
      at.facts.binding = binding;
      at.changed();
      return [at.opened.at(-1), rung];
    };
    expect(seen(undefined)).toEqual([undefined, 0]);
    expect(seen(first)).toEqual([first.address, 1]);
    expect(seen(first)).toEqual([first.address, 1]);
    expect(seen(undefined)).toEqual([first.address, 1]);
    expect(seen(second)).toEqual([second.address, 2]);
    at.binding.close();
    expect(at.watched()).toBe(false);
  });
});
