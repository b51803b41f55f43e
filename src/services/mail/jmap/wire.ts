import { type Static, Type } from "@sinclair/typebox";
import { ServiceError, type ServiceErrorCode } from "../../../system/errors.ts";

/** The parts of a server's answers that are read; there may be more. Source: RFC 8620, RFC 8621. */

const Text = Type.String();
const orNull = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

export const JmapSessionBody = Type.Object({
  apiUrl: Text,
  uploadUrl: Text,
  eventSourceUrl: orNull(Text),
  state: Text,
  primaryAccounts: Type.Record(Text, Text),
  accounts: Type.Record(Text, Type.Object({ accountCapabilities: Type.Record(Text, Type.Unknown()) })),
  capabilities: Type.Record(Text, Type.Unknown()),
});

const Address = Type.Object({ name: orNull(Text), email: Text });
export type JmapAddress = Static<typeof Address>;

const Part = Type.Object({
  partId: orNull(Text),
  blobId: orNull(Text),
  size: Type.Optional(Type.Number()),
  name: orNull(Text),
  type: Type.Optional(Text),
});

export const JmapEmail = Type.Object({
  id: Text,
  threadId: Text,
  mailboxIds: Type.Record(Text, Type.Boolean()),
  keywords: Type.Record(Text, Type.Boolean()),
  receivedAt: Text,
  messageId: orNull(Type.Array(Text)),
  references: orNull(Type.Array(Text)),
  from: orNull(Type.Array(Address)),
  to: orNull(Type.Array(Address)),
  cc: orNull(Type.Array(Address)),
  replyTo: orNull(Type.Array(Address)),
  subject: orNull(Text),
  "header:X-Svc-Hops:asText": orNull(Text),
  preview: orNull(Text),
  attachments: orNull(Type.Array(Part)),
  textBody: orNull(Type.Array(Part)),
  bodyValues: orNull(
    Type.Record(Text, Type.Object({ value: Text, isTruncated: Type.Optional(Type.Boolean()) })),
  ),
});
export type JmapEmail = Static<typeof JmapEmail>;

/** What is asked of each message: the fields of `JmapEmail`. */
export const emailProperties = Object.keys(JmapEmail.properties);

export const EmailGet = Type.Object({
  state: Text,
  list: Type.Array(JmapEmail),
  notFound: orNull(Type.Array(Text)),
});
export const BodyGet = Type.Object({ list: Type.Array(Type.Pick(JmapEmail, ["id", "bodyValues"])) });
export const EmailState = Type.Object({ state: Text });
/** `limit`: where the server allows fewer at a time than were asked for. */
export const EmailQuery = Type.Object({ ids: Type.Array(Text), limit: orNull(Type.Number()) });
export const EmailChanges = Type.Object({
  newState: Text,
  hasMoreChanges: Type.Boolean(),
  created: Type.Array(Text),
});

const SetError = Type.Object({ type: Text, description: orNull(Text) });
type SetError = Static<typeof SetError>;

export const SetReply = Type.Object({
  created: orNull(Type.Record(Text, Type.Object({ id: Text }))),
  notCreated: orNull(Type.Record(Text, SetError)),
  notUpdated: orNull(Type.Record(Text, SetError)),
  notDestroyed: orNull(Type.Record(Text, SetError)),
});
export type SetReply = Static<typeof SetReply>;

export const JmapBox = Type.Object({ id: Text, name: Text, role: orNull(Text), parentId: orNull(Text) });
export type JmapBox = Static<typeof JmapBox>;
export const MailboxGet = Type.Object({ list: Type.Array(JmapBox) });
export const boxProperties = Object.keys(JmapBox.properties);

export const IdentityGet = Type.Object({ list: Type.Array(Type.Object({ id: Text, email: Text })) });
export const Uploaded = Type.Object({ blobId: Text, size: Type.Number() });
export const MethodError = Type.Object({ type: Text, description: orNull(Text) });
export const ApiReply = Type.Object({
  methodResponses: Type.Array(Type.Tuple([Text, Type.Unknown(), Text])),
  sessionState: Type.Optional(Text),
});

/** Errors that the sender can correct; all others are the server's. */
const callers: Readonly<Record<string, ServiceErrorCode>> = {
  notFound: "not_found",
  emailNotFound: "not_found",
  invalidRecipients: "invalid_request",
  noRecipients: "invalid_request",
  tooManyRecipients: "invalid_request",
  tooLarge: "invalid_request",
  invalidEmail: "invalid_request",
  forbiddenMailFrom: "invalid_request",
  forbiddenFrom: "invalid_request",
  forbiddenToSend: "invalid_request",
};

/** An error of one thing that was to be made or changed. `what`: begins the sentence. */
export function toSetFailure(what: string, error: SetError): ServiceError {
  return new ServiceError(callers[error.type] ?? "transport_failed", `${what}: ${describeSetError(error)}`, {
    data: { jmap_error: error.type },
  });
}

/** An error of a whole method. */
export function toMethodFailure(method: string, error: SetError): ServiceError {
  return new ServiceError(
    "transport_failed",
    `the JMAP server failed at ${method}: ${describeSetError(error)}`,
    {
      data: { jmap_error: error.type },
    },
  );
}

/** The first thing that was not done, or null. */
export function firstRefusal(reply: SetReply): SetError | null {
  for (const refused of [reply.notCreated, reply.notUpdated, reply.notDestroyed]) {
    const [first] = Object.values(refused ?? {});
    if (first) return first;
  }
  return null;
}

/** Another's text: on one line, cut. */
function describeSetError({ type, description }: SetError): string {
  const text = (description ?? "").replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ").trim();
  const cut = text.length > 200 ? `${text.slice(0, 199)}…` : text;
  return cut === "" ? type : `${type} (${cut})`;
}
