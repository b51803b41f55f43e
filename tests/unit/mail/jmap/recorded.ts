/** Answers of Cyrus IMAP 3.6.1 as they came, shortened. */

export const session = {
  username: "alice@svc.localhost",
  apiUrl: "/jmap/",
  downloadUrl: "/jmap/download/{accountId}/{blobId}/{name}?accept={type}",
  uploadUrl: "/jmap/upload/{accountId}/",
  eventSourceUrl: "/jmap/eventsource/?types={types}&closeafter={closeafter}&ping={ping}",
  state: "0",
  capabilities: {
    "urn:ietf:params:jmap:core": { maxSizeUpload: 1073741824, maxObjectsInGet: 4096, maxObjectsInSet: 4096 },
    "urn:ietf:params:jmap:mail": {},
    "urn:ietf:params:jmap:submission": {},
  },
  accounts: {
    "alice@svc.localhost": {
      name: "alice@svc.localhost",
      isPrimary: true,
      accountCapabilities: {
        "urn:ietf:params:jmap:core": {},
        "urn:ietf:params:jmap:mail": { emailsListSortOptions: ["receivedAt", "from", "id", "size"] },
        "urn:ietf:params:jmap:submission": {},
      },
    },
  },
  primaryAccounts: {
    "urn:ietf:params:jmap:mail": "alice@svc.localhost",
    "urn:ietf:params:jmap:submission": "alice@svc.localhost",
  },
};

export const boxes = [
  { id: "j11ylcs62n2iyc5fme2qmqg3", name: "Inbox", parentId: null, role: "inbox" },
  { id: "169359hqcy4klfzc5dtncyd2", name: "Drafts", parentId: null, role: "drafts" },
  { id: "h74fj9bl4trqz79jcmsg2mjk", name: "Sent", parentId: null, role: "sent" },
  { id: "efm6t6qel566yg9au3s46ntj", name: "Trash", parentId: null, role: "trash" },
];

export const email = {
  id: "Md3db39d21b906bcf25c2d18f",
  threadId: "Tbf6db9a4e3d3c8e2",
  mailboxIds: { j11ylcs62n2iyc5fme2qmqg3: true },
  keywords: { $hasattachment: true },
  receivedAt: "2026-11-21T08:53:36Z",
  messageId: ["abc.1@svc.localhost"],
  references: null,
  from: [{ name: null, email: "alice@svc.localhost" }],
  to: [{ name: "Bob", email: "bob@svc.localhost" }],
  cc: null,
  replyTo: null,
  subject: "Lünch report",
  preview: "--- x --- and last ",
  bodyValues: {
    "1": { value: "---\nx\n---\n\nand last\n\n", isEncodingProblem: false, isTruncated: false },
  },
  textBody: [{ partId: "1", blobId: "G785f38", size: 65, name: null, type: "text/plain" }],
  attachments: [{ partId: "2", blobId: "Gb68e7e", size: 9, name: "report.md", type: "text/markdown" }],
};

export const missing = [
  ["Email/get", { state: "32", list: [], notFound: ["x"], accountId: "alice@svc.localhost" }, "c0"],
  ["error", { type: "invalidArguments", arguments: ["filter/inMailbox"] }, "c1"],
] as [string, unknown, string][];

export const notCreated = { s: { type: "emailNotFound" } };
