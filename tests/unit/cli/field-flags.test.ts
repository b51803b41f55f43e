import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { readExecution } from "../../../src/cli/agent/model-flags.ts";
import { UsageError } from "../../../src/cli/command-line/command.ts";
import { fieldFlags, wordFlag } from "../../../src/cli/command-line/field-flags.ts";
import { gatewayEndpoints } from "../../../src/protocol/endpoints.ts";
import { ReasoningPreset } from "../../../src/protocol/gateway.ts";
import { MailListRequest } from "../../../src/protocol/mail.ts";
import { NotifierUpdate } from "../../../src/protocol/notifier.ts";
import { ReminderDefinition } from "../../../src/protocol/reminders.ts";
import { TrackingTimings } from "../../../src/protocol/terminal.ts";
import { NonBlank, Nullable, SchemaVersion1, Strict, StringEnum } from "../../../src/protocol/wire.ts";

const Sample = Strict({
  schema_version: Type.Optional(SchemaVersion1),
  max_items: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: 9, default: 5, description: "at most this many" })),
  ),
  gap_seconds: Type.Number({ exclusiveMinimum: 0, description: "instead of max_items" }),
  mode: StringEnum(["all", "unread"], { description: "what counts" }),
  note: Type.Optional(NonBlank("for people", { maxLength: 10 })),
  names: Type.Optional(Type.Array(Type.String(), { description: "who" })),
  shown: Type.Optional(Type.Boolean({ description: "whether it is shown" })),
  secret: Type.Optional(Type.String({ description: "no flag" })),
});
const sample = fieldFlags(Sample, {
  gap_seconds: { flag: "gap" },
  shown: { form: "yes or no" },
  secret: null,
});

test("a field has a flag of its name, kind, range, default and description", () => {
  expect(sample.flags as object).toEqual({
    "max-items": {
      type: "string",
      valueHint: "N",
      description: "at most this many; from 1 to 9 (default 5)",
    },
    gap: { type: "string", valueHint: "SECONDS", description: "instead of --max-items; above 0" },
    mode: { type: "enum", options: ["all", "unread"], description: "what counts" },
    note: { type: "string", valueHint: "TEXT", description: "for people" },
    names: { type: "string", multiple: true, valueHint: "TEXT", description: "who" },
    shown: { type: "enum", options: ["yes", "no"], description: "whether it is shown" },
  });
});

test("the flags that were given are fields, in the form of the schema", () => {
  const given = { "max-items": "9", gap: "0.5", mode: "all", note: "x", names: ["a", "b"], shown: "no" };
  expect(sample.read(given)).toEqual({
    max_items: 9,
    gap_seconds: 0.5,
    mode: "all",
    note: "x",
    names: ["a", "b"],
    shown: false,
  });
  expect(sample.read({ names: [], mode: undefined })).toEqual({});
  expect(sample.read({ "tui-gap": "2" }, "tui-")).toEqual({ gap_seconds: 2 });
});

test.each([
  { given: { "max-items": "10" }, says: '--max-items must be a whole number from 1 to 9, not "10"' },
  { given: { "max-items": "1.5" }, says: '--max-items must be a whole number from 1 to 9, not "1.5"' },
  { given: { "max-items": "" }, says: '--max-items must be a whole number from 1 to 9, not ""' },
  { given: { gap: "0" }, says: '--gap must be a number above 0, not "0"' },
  { given: { gap: "Infinity" }, says: '--gap must be a number above 0, not "Infinity"' },
  { given: { note: " " }, says: "--note is empty" },
  { given: { note: "x".repeat(11) }, says: "--note has 11 characters; at most 10 are taken" },
])("$says", ({ given, says }) => {
  expect(() => sample.read(given)).toThrow(new UsageError(says));
});

test("a flag may be required and have values to complete", () => {
  const { flags, read } = fieldFlags(Type.Pick(Sample, ["note", "names"]), {
    note: { required: true },
    names: { offers: "addresses" },
  });
  expect(flags as object).toMatchObject({ note: { required: true }, names: { offers: "addresses" } });
  expect(read({ note: "x", names: [] })).toEqual({ note: "x" });
});

test("a closed set of words is a flag with the default of its schema, or of its command", () => {
  const Mode = StringEnum(["safe", "force"], { description: "what is in the way", default: "safe" });
  const flag = { type: "enum", options: ["safe", "force"], description: "what is in the way" } as const;
  expect(wordFlag(Mode)).toEqual({ ...flag, default: "safe" });
  expect(wordFlag(Mode, "force")).toEqual({ ...flag, default: "force" });
});

test.each([
  { id: "neither", args: {}, execution: {} },
  { id: "a model", args: { model: "big" }, execution: { execution: { model: { name: "big" } } } },
  {
    id: "a level above every preset, which the field takes",
    args: { "reasoning-level": "1001" },
    execution: { execution: { model: { reasoning: { level: 1001 } } } },
  },
])("the flags of a model say $id", ({ args, execution }) => {
  expect(readExecution({ model: undefined, "reasoning-level": undefined, ...args })).toEqual(execution);
});

test.each([
  { args: { model: " " }, says: "--model is empty" },
  {
    args: { "reasoning-level": "-1" },
    says: '--reasoning-level must be a whole number from 0, not "-1"',
  },
])("the flags of a model refuse what their fields refuse: $says", ({ args, says }) => {
  const read = () => readExecution({ model: undefined, "reasoning-level": undefined, ...args });
  expect(read).toThrow(new UsageError(says));
});

describe.each([
  { id: "NotifierUpdate", schema: NotifierUpdate },
  { id: "ReminderDefinition", schema: ReminderDefinition },
  { id: "TrackingTimings", schema: TrackingTimings },
  { id: "the query of the notifier's audit", schema: gatewayEndpoints.notifierAudit.query },
  { id: "ReasoningPreset", schema: ReasoningPreset },
  { id: "MailListRequest", schema: MailListRequest },
  { id: "the query of a wait", schema: gatewayEndpoints.wait.query },
])("the flags of $id", ({ schema }) => {
  const { flags, read } = fieldFlags(schema);
  const fields = Object.keys(schema.properties).filter((field) => field !== "schema_version");

  test("take a number exactly when the field does", () => {
    const numbers = [
      -1, 0, 0.05, 0.5, 1, 30, 59.5, 512, 513, 1000, 1001, 3600, 3601, 65_536, 65_537, 86_400, 86_401,
    ];
    let compared = 0;
    for (const field of fields) {
      const property = schema.properties[field as keyof typeof schema.properties];
      const isNumber = numbers.some((number) => Value.Check(property, number));
      if (!isNumber) continue;
      for (const number of numbers) {
        const flag = field.replaceAll("_", "-");
        const taken = () => Object.values(read({ [flag]: String(number) }));
        if (Value.Check(property, number)) expect([field, taken()]).toEqual([field, [number]]);
        else expect(taken, `${field} ${number}`).toThrow(UsageError);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(0);
  });

  test("have a description each", () => {
    const undescribed = Object.entries<{ description: string }>(flags).filter(
      ([name, { description }]) => description === "" || description === name,
    );
    expect(undescribed).toEqual([]);
  });
});
